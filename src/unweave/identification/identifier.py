"""The query door: point Unweave at a black box and get the network back.

Routes are tried in the order of a table, each if it suits what is known by then. One that fails says why, and the next
one is tried; a network is judged by fresh answers, so that none is given that is wrong.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unweave.activations import IDENTITY, QUADRATIC, Activation, activation_named
from unweave.arrays import limited_threads, threads_for
from unweave.certificates.certify import RULES, Certificate, fresh_needed
from unweave.certificates.claims import ClaimRules, network_quality
from unweave.exceptions import BudgetExhausted, InvalidInput, OracleError, StageFailed
from unweave.identification import reasons
from unweave.identification.estimate import budget_needed
from unweave.identification.examination import Examination, Examined
from unweave.identification.found import Found, Settled
from unweave.identification.hessians.route import HessianRoute
from unweave.identification.kinks.route import KinkWalk
from unweave.identification.peeling.route import LayerPeeling
from unweave.identification.plateaus.route import PlateauWalk
from unweave.identification.plateaus.search import LowestLayerSearch
from unweave.identification.refiner import Candidate, Refiner
from unweave.identification.relu_layers.route import KinksBend, TwoLayerKinkWalk
from unweave.identification.routes import (
    Known,
    Route,
    Survey,
    has_kinks,
    has_kinks_far_out,
    has_layers_above,
    hides_kinks,
    is_constant_at_the_centre,
    is_constant_in_parts,
    is_smooth,
    is_straight_after_all,
    plateaus_end_in_bends,
)
from unweave.identification.saturation.route import SaturationWalk, is_affine_far_out, is_constant_far_out
from unweave.identification.session import Probing, Progress, Session
from unweave.networks.network import Network
from unweave.numerics.least_squares import ending_after
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.numerics.subspace_power import SubspacePower
from unweave.oracles.entry import as_oracle
from unweave.oracles.journal.oracle import Journal
from unweave.oracles.oracle import Box, Domain, Oracle
from unweave.result import Outcome, Result, RouteChoice, RouteEnd

SPENT = "the budget was spent before."


def identify(
    model: Any,
    *,
    inputs: int | None = None,
    outputs: int | None = None,
    output: str | None = None,
    activation: str | Activation | None = None,
    neurons: int | None = None,
    domain: Domain | None = None,
    budget: int | None = None,
    confidence: float = RULES.confidence,
    coverage: float | None = None,
    seconds: float | None = None,
    seed: int = 0,
    journal: str | Path | Journal | None = None,
    progress: Progress | None = None,
) -> Result[Network, Certificate]:
    """Recover the network behind a black box from its answers.

    Args:
        model: a callable on a batch (points x inputs -> points x outputs), a torch module, a fitted estimator of
            scikit-learn, the path of an ONNX file or of a saved network, or an `Oracle`.
        inputs: number of inputs; needed for a plain callable.
        outputs: number of outputs; learnt from the first answer if omitted.
        output: name of the output of an ONNX file that is asked, if it has several.
        activation: the hidden activation, by name or as an object; chosen by evidence if omitted.
        neurons: the number of hidden neurons; found if omitted.
        domain: where the model may be asked, `Everywhere(scale=...)` or `Box(lower, upper)`.
        budget: the largest number of queries; never exceeded. If omitted, one that grows with what was explained.
        confidence: probability that the claim on `coverage` holds; more of it costs more fresh queries.
        coverage: share of the domain that the claim is to cover; 0.99 in a box and 0.95 elsewhere if omitted.
        seconds: the time after which the run ends with the best that was found; no limit if omitted.
        seed: the same seed gives the same queries and the same result.
        journal: file in which every answer is kept before it is used; the same call goes on there after it was ended.
        progress: called with the name of the stage and the queries so far.

    Returns:
        The outcome, the network with its certificate, the diagnostics and the cost.

    Raises:
        InvalidInput: wrong arguments; nothing was queried.
        OracleError: the model raised or gave a bad answer.

    Assumes: one hidden layer, smooth or piecewise linear; or several of tanh or sigmoid, none wider than its previous.
    Other functions end as "not identified", or as partly identified with the first layer, as functions of steps do.
    """
    if isinstance(activation, str):
        activation = activation_named(activation)
    if activation is not None and not isinstance(activation, Activation):
        raise InvalidInput(f"identify needs an activation by name or as an Activation, got {activation!r}.")
    if progress is not None and not callable(progress):
        raise InvalidInput(f"identify needs progress to be a function of a stage and a number, got {progress!r}.")
    if seconds is not None and (not isinstance(seconds, int | float) or not seconds > 0):
        raise InvalidInput(f"identify needs seconds to be a positive number, got {seconds!r}.")
    if activation in (IDENTITY, QUADRATIC):
        raise InvalidInput(f"identify needs an activation that determines its neurons, got {activation}: it does not.")
    if neurons is not None and (isinstance(neurons, bool) or not isinstance(neurons, int) or neurons < 1):
        raise InvalidInput(f"identify needs neurons to be a whole number of at least 1, got {neurons!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"identify needs a seed of at least 0, got {seed!r}.")
    for name, share in (("confidence", confidence), ("coverage", coverage)):
        if share is not None and (not isinstance(share, float) or not 0.0 < share < 1.0):
            raise InvalidInput(f"identify needs {name} to be a number between 0 and 1, got {share!r}.")
    if coverage is not None and (needed := fresh_needed(coverage, confidence=confidence)) > Examination.most_fresh:
        raise InvalidInput(
            f"identify needs {needed:,} fresh points for coverage={coverage!r} with confidence={confidence!r}, which "
            f"is more than {Examination.most_fresh:,}: ask for less."
        )
    oracle = as_oracle(
        model, inputs=inputs, outputs=outputs, domain=domain, budget=budget, output=output, journal=journal
    )
    examination = Examination(confidence=confidence, coverage=coverage)
    identifier = Identifier(activation=activation, neurons=neurons, examination=examination)
    found = identifier(oracle, seconds=seconds, seed=seed, progress=progress)
    if found.is_identified or not oracle.ledger.refused:
        return found
    is_in_box = isinstance(oracle.domain, Box)
    plan = budget_needed(inputs=oracle.inputs, is_in_box=is_in_box, neurons=neurons, spent=oracle.ledger.sent)
    return replace(found, reason=f"{found.reason} {plan}")


@dataclass(frozen=True)
class Identifier:
    """Settings of the query pipeline.

    Args:
        activation: the activation, if it is known.
        neurons: the number of neurons, if it is known.
        walks: whether neurons may be read off along paths; if not, Hessians are the only way.
        power: how directions are found in the span of the Hessians.
        refine: how the network is refined.
        probing: how the answers are looked at first.
        examination: how a network that explains the answers is tried where it could still be wrong.
        rules: what may be claimed on which evidence.
        free_queries, free_queries_per_input: what a route may cost, without a budget, that has seen no neuron yet. Ten
            times what looking at a function takes on the routes that explain nothing.
    """

    activation: Activation | None = None
    neurons: int | None = None
    walks: bool = True
    power: SubspacePower = field(default_factory=SubspacePower)
    refine: LevenbergMarquardt = field(default_factory=LevenbergMarquardt)
    probing: Probing = field(default_factory=Probing)
    examination: Examination = field(default_factory=Examination)
    rules: ClaimRules = field(default_factory=ClaimRules)
    free_queries: int = 10_000
    free_queries_per_input: int = 50

    @property
    def routes(self) -> tuple[Route, ...]:
        """The table of routes: they are tried in this order, each if it suits what is known by then."""
        return (
            PlateauWalk(suits=is_constant_in_parts),
            KinkWalk(suits=plateaus_end_in_bends),
            SaturationWalk(suits=is_constant_far_out),
            TwoLayerKinkWalk(suits=KinksBend()),
            KinkWalk(suits=has_kinks),
            LayerPeeling(suits=has_layers_above, power=self.power),
            SaturationWalk(suits=is_affine_far_out),
            KinkWalk(suits=has_kinks_far_out),
            HessianRoute(suits=is_smooth, power=self.power),
            KinkWalk(suits=is_straight_after_all),
            KinkWalk(suits=hides_kinks),
            PlateauWalk(suits=is_constant_at_the_centre, search=LowestLayerSearch(homes=0)),
        )

    def __call__(
        self, oracle: Oracle, *, seconds: float | None = None, seed: int = 0, progress: Progress | None = None
    ) -> Result:
        """Recover the network behind `oracle`, or say why that is not possible."""
        session = Session(oracle, np.random.default_rng(seed), progress)
        free = self.free_queries + self.free_queries_per_input * oracle.inputs
        oracle.ledger.allowance = oracle.ledger.sent + free
        with limited_threads(), threads_for(10 * oracle.inputs), ending_after(seconds) as deadline:
            oracle.ledger.deadline = deadline
            try:
                with session.stage("probing the answers"):
                    probe = self.probing(session)
            except StageFailed as failure:
                return session.finish(Outcome.NOT_IDENTIFIED, str(failure))
            except BudgetExhausted as failure:
                return session.finish(Outcome.NOT_IDENTIFIED, f"the budget is too small: {failure}")
            survey = Survey(session, probe, self.activation, self.neurons, self.walks)
            refiner = Refiner(probe.answers, self.refine, probe.scale.noise)
            trail = Trail(survey, replace(self.examination, asks_far=self.walks), free)
            for route in self.routes:
                trail = trail.after(route, refiner)
            return self._result(trail)

    def _result(self, trail: "Trail") -> Result:
        """Judge what the routes have found.

        Raises:
            OracleError: if the model has failed on the only route there is: it is not unidentifiable then.
        """
        first, best = trail.known.first_layer, trail.best
        if trail.spent is not None:
            if first is None:
                return trail.result(Outcome.NOT_IDENTIFIED, f"the budget is too small: {trail.spent}")
            reason = f"{first.reason} The budget is too small for more: {trail.spent}"
            return trail.result(Outcome.PARTLY_IDENTIFIED, reason)
        if trail.settled is not None:
            settled = trail.settled
            return trail.result(settled.outcome, settled.reason, settled.network, settled.certificate)
        if first is not None and (best is None or not best.is_right):
            return replace(trail, route=trail.layer_route).result(Outcome.PARTLY_IDENTIFIED, first.reason)
        if best is not None:
            return self._judged(replace(trail, route=trail.best_route), best)
        if isinstance(trail.failure, OracleError):
            raise trail.failure
        if trail.survey.steps is not None:
            said = f" {trail.failure[0].upper()}{trail.failure[1:]}" if trail.failure else ""
            return trail.result(Outcome.NOT_IDENTIFIED, trail.survey.steps.reason + said)
        return trail.result(Outcome.NOT_IDENTIFIED, trail.failure or "no way to the neurons of this function is known.")

    def _judged(self, trail: "Trail", examined: Examined) -> Result:
        """Judge the best network by fresh answers, and say what a user should know about it."""
        session, probe = trail.survey.session, trail.survey.probe
        spreads = probe.spreads
        best = examined.relative_to(spreads).candidate.with_delivered_radius()
        examined = replace(examined, candidate=best)
        session.diagnostics += [*best.start.checks, *network_quality(best.network, best.certificate)]
        contradiction = self._contradiction(best.network, trail.survey)
        evidence = examined.evidence(probe, largest_noise=self.rules.largest_noise, contradiction=contradiction)
        outcome, reason = self.rules(evidence)
        session.diagnostics.append(self.rules.right_share_check(evidence))
        if not best.explains and session.oracle.ledger.left < best.network.parameters:
            session.notes.append("The budget was used up before anything else could be tried: raise it.")
        if outcome is Outcome.NOT_IDENTIFIED:
            return trail.result(outcome, reason)
        if np.any(np.isinf(spreads)):
            session.notes += reasons.rounded_constants(spreads, probe.digits.unit, probe.may_hide_changes)
        network = best.delivered(self.activation)
        if network.skip is not None and network.layers[0].activation.reflected_slope != 0.0:
            session.notes.append(reasons.affine_part())
        return trail.result(outcome, reason, network, self.rules.certificate(evidence))

    def _contradiction(self, network: Network, survey: Survey) -> str:
        """Say how the network contradicts what the user has given; empty if it does not."""
        said = []
        if self.neurons is not None and network.widths[0] != self.neurons:
            said.append(reasons.other_width(network.widths[0], self.neurons))
        if self.activation is not None and network.widths[0]:
            hides_bends = survey.is_in_box or not survey.has_fine_answers
            said.append(reasons.other_activation(network, self.activation, hides_bends=hides_bends))
        return " ".join(said).strip()


@dataclass(frozen=True)
class Trail:
    """What the routes tried so far have found.

    Args:
        survey: what is known of the function.
        examination: how networks are tried that explain the answers.
        free_queries: what a route may cost, without a budget, before it has seen a neuron.
        known: what later routes may build on.
        best: the network that meets fresh answers best, as its examination has left it.
        settled: a network whose outcome is known already.
        failure: why the first route that failed did.
        spent: what the oracle said when the budget ended before there was any network.
        end: why no other route is tried; empty if others may be.
        choices: which routes were taken, and why.
        route: the route that was taken last.
        best_route: the one that led to the best network.
        layer_route: the one that led to the first layer.
    """

    survey: Survey
    examination: Examination = field(default_factory=Examination)
    free_queries: int = 10_000
    known: Known = field(default_factory=Known)
    best: Examined | None = None
    settled: Settled | None = None
    failure: str | OracleError = ""
    spent: BudgetExhausted | None = None
    end: str = ""
    choices: tuple[RouteChoice, ...] = ()
    route: str = ""
    best_route: str = ""
    layer_route: str = ""

    def after(self, route: Route, refiner: Refiner) -> "Trail":
        """Try another route, if it suits and is still needed.

        Raises:
            OracleError: if the model fails where every model must answer.
        """
        if self.end:
            return self._leaving(route, self.end)
        try:
            decision = route.suits(self.survey, self.known)
        except BudgetExhausted as problem:
            # Nothing is shown that was not compared with all that could explain more.
            return replace(self, spent=problem, end=SPENT)._leaving(route, SPENT)
        except OracleError as problem:
            # A look at the answers has failed, far out for example; a route with other looks may not.
            return replace(self, failure=self.failure or problem)._leaving(route, str(problem))
        if not decision.is_taken:
            return self._leaving(route, decision.because)
        self.survey.session.notes.append(f"Route: {route.name}, because {decision.because}")
        # What one route has spent in vain is no reason not to try another.
        self.survey.session.oracle.ledger.allow(self.free_queries)
        try:
            found = route(self.survey, self.known, refiner)
        except (BudgetExhausted, OracleError) as problem:
            found = Found(stopped=problem)
        return self._having(found, route, decision.because, refiner)

    def _leaving(self, route: Route, because: str) -> "Trail":
        return replace(self, choices=(*self.choices, RouteChoice(route.name, RouteEnd.NOT_TAKEN, because)))

    def _having(self, found: Found, route: Route, because: str, refiner: Refiner) -> "Trail":
        """Add what a route has found, and put its failure into words."""
        session, name = self.survey.session, route.name
        examined = self._examined(found.candidate, refiner) if found.candidate is not None else None
        session.diagnostics += found.checks
        session.notes += found.notes
        reason, failure = found.reason, found.reason or self.failure
        if examined is not None and not examined.is_right:
            reason = "the best network does not explain the answers."
        if isinstance(found.stopped, OracleError):
            if not route.asks_far:
                raise found.stopped
            reason, failure = str(found.stopped), found.stopped
            session.notes.append(
                f"The model does not answer far from the centre, so no {name} was made: {found.stopped}"
            )
        elif found.stopped is not None:
            reason = str(found.stopped)
            failure = reason if found.stopped.is_default else failure
        elif found.reason:
            session.notes.append(f"The {name} ended without a network: {reason}")
        known = Known(
            found.first_layer or self.known.first_layer,
            (*self.known.tried, name),
            self.known.misses or (examined is not None and not examined.is_right),
        )
        trail = replace(
            self,
            known=known,
            settled=found.settled,
            failure=self.failure or failure,
            choices=(*self.choices, RouteChoice(name, _end_of(found), because, reason)),
            route=name,
            layer_route=name if found.first_layer is not None else self.layer_route,
        )
        return trail._judging(found, examined)

    def _examined(self, candidate: Candidate, refiner: Refiner) -> Examined:
        """Try a network where it could still be wrong, unless it is known to be."""
        if not candidate.explains:
            return self.examination.of_known_fault(candidate, refiner)
        with self.survey.session.stage("examining the network"):
            return self.examination(candidate, refiner)

    def _judging(self, found: Found, examined: Examined | None) -> "Trail":
        """Keep the better network, and say whether another route is needed."""
        if isinstance(found.stopped, BudgetExhausted) and not found.stopped.is_default:
            return replace(self, end=SPENT, spent=found.stopped if self.best is None else None)
        if found.settled is not None:
            return replace(self, end="an earlier route has settled the outcome.")
        if examined is None:
            return self
        end = "the network of an earlier route explains the answers." if examined.is_right else ""
        if self.best is not None and not end and examined.error >= self.best.error:
            return self
        return replace(self, best=examined, best_route=self.route, end=end)

    def result(
        self,
        outcome: Outcome,
        reason: str,
        network: Network | None = None,
        certificate: Certificate | None = None,
    ) -> Result:
        """End with this outcome; without a network, with the first layer if there is one."""
        first = self.known.first_layer
        if network is not None and self.survey.probe.gives_logits:
            reason = f"{reason} {reasons.gives_logits()}"
        return self.survey.session.finish(
            outcome,
            reason,
            network,
            certificate,
            route=self.route,
            routes=self.choices,
            first_layer=first.layer if first is not None and network is None else None,
        )


def _end_of(found: Found) -> RouteEnd:
    if found.candidate is not None or found.settled is not None:
        return RouteEnd.NETWORK
    return RouteEnd.NOTHING if found.first_layer is None else RouteEnd.FIRST_LAYER
