"""The query door: point Unweave at a black box and get the network back.

Routes are tried in the order of a table, each if it suits what is known by then. One that fails says why, and the next
one is tried; a network is judged by fresh answers, so that none is given that is wrong.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unweave.activations import IDENTITY, QUADRATIC, RELU, STEP, Activation, activation_named
from unweave.arrays import limited_threads, threads_for
from unweave.certificates.certify import RULES, Certificate, fresh_needed
from unweave.certificates.claims import ClaimRules, network_quality
from unweave.exceptions import BudgetExhausted, InvalidInput, OracleError, StageFailed, UnusableAnswer
from unweave.identification import answer_reasons, reasons
from unweave.identification.coarse.route import CoarseFit, MayBeFitted
from unweave.identification.crossings.stage import CrossingStage
from unweave.identification.estimate import plan_of
from unweave.identification.examination import Examination, Examined
from unweave.identification.found import FirstLayer
from unweave.identification.hessians.route import HessianRoute, is_smooth
from unweave.identification.kinks.route import (
    KinkWalk,
    has_kinks,
    has_kinks_far_out,
    hides_kinks,
    is_straight_after_all,
)
from unweave.identification.peeling.route import LayerPeeling, has_layers_above
from unweave.identification.plateaus.route import PlateauWalk, is_constant_at_the_centre
from unweave.identification.plateaus.search import LowestLayerSearch
from unweave.identification.poles.route import HasSteepNeurons, IsLevelInParts, PoleWalk, was_not_explained
from unweave.identification.probing import Probing
from unweave.identification.refiner import Refiner
from unweave.identification.relu_layers.route import KinksBend, TwoLayerKinkWalk
from unweave.identification.routes import (
    Condition,
    Decision,
    Known,
    Route,
    Survey,
    Trail,
    leave,
    take,
)
from unweave.identification.saturation.route import SaturationWalk, is_affine_far_out, is_constant_far_out
from unweave.identification.session import Progress, Session, recording_settings
from unweave.identification.students.route import StudentFit, Unexplained
from unweave.networks.network import Network
from unweave.numerics.least_squares import ending_after
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.numerics.subspace_power import SubspacePower
from unweave.oracles.clipped_inputs import ClipLook
from unweave.oracles.journal.oracle import Journal
from unweave.oracles.oracle import Domain, Oracle, as_oracle
from unweave.result import Outcome, Result, RouteEnd


@recording_settings
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
        coverage: share of the domain that the claim is to cover; if omitted, 0.99 in a box and where
            the model does not answer farther out, 0.95 elsewhere.
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
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0):
        raise InvalidInput(f"identify needs seconds to be a positive number, got {seconds!r}.")
    if activation in (IDENTITY, QUADRATIC):
        raise InvalidInput(f"identify needs an activation that determines its neurons, got {activation}: it does not.")
    if neurons is not None and (isinstance(neurons, bool) or not isinstance(neurons, int) or neurons < 1):
        raise InvalidInput(f"identify needs neurons to be a whole number of at least 1, got {neurons!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"identify needs a seed of at least 0, got {seed!r}.")
    shares = {"confidence": confidence} | ({} if coverage is None else {"coverage": coverage})
    for name, share in shares.items():
        if not isinstance(share, float) or not 0.0 < share < 1.0:
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
    return replace(found, reason=f"{found.reason} {_plan(found, oracle, neurons)}")


def _plan(found: Result[Network, Certificate], oracle: Oracle, neurons: int | None) -> str:
    """Say what a run would have taken whose budget has ended."""
    if neurons is None and found.network is not None and not found.is_imitation:
        # There are at least as many.
        neurons = found.network.widths[0] or None
    tried = [each.route for each in found.routes if each.end is not RouteEnd.NOT_TAKEN]
    plan = plan_of(oracle, neurons=neurons, tried=tried)
    return plan if "budget" in found.reason else f"The budget did not allow all that could be tried. {plan}"


def is_constant_in_parts(survey: Survey, known: Known) -> Decision:  # noqa: ARG001
    """Suit functions whose answers are constant around every one of some random places."""
    if why := survey.without_plateaus:
        return leave(why)
    if survey.activation == STEP or survey.is_constant_in_parts:
        # Looked at before the walk, which may use up what may be asked.
        _ = survey.steps
        return take("the answers are constant around every place that was looked at.")
    return leave("the answers change around the places that were looked at.")


def plateaus_end_in_bends(survey: Survey, known: Known) -> Decision:  # noqa: ARG001
    """Suit functions whose plateaus have ended at ReLU units."""
    if known.first_layer is not None and known.first_layer.standard.activation == RELU:
        return take("the answers are constant around some points, and bend where they begin to change.")
    return leave("no region of constant answers was seen to end in a bend.")


@dataclass(frozen=True)
class IfRounded:
    """Let a route for rounded answers decide where the answers of a single output are; elsewhere it is left out.

    Args:
        least: error of an answer, relative to the spread, from which on it is asked. Fits to finer answers take long
            to meet them, and routes that go by small differences do not need that.
        suits: what the route itself asks for.
    """

    least: float
    suits: Condition

    def __call__(self, survey: Survey, known: Known) -> Decision:
        """Decide without any query for exact answers."""
        if survey.probe.scale.noise < self.least:
            return leave("the answers are not coarsely rounded.")
        if survey.probe.rounded_to is None:
            return leave("no single output is rounded to a known grid.")
        return self.suits(survey, known)


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
        crossings: how a network is made more exact than rounded answers are.
        clip_look: how a model that was not explained is looked at once more: it may cut its inputs off.
        single_input: share of a neuron's weights, beside the largest, up to which it looks at one input; chosen, far
            above errors of hyperplanes and far below weights that random ones have.
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
    crossings: CrossingStage = field(default_factory=CrossingStage)
    clip_look: ClipLook = field(default_factory=ClipLook)
    single_input: float = 1e-3
    free_queries: int = 10_000
    free_queries_per_input: int = 50

    @property
    def routes(self) -> tuple[Route, ...]:
        """The table of routes: they are tried in this order, each if it suits what is known by then."""
        return (
            CoarseFit(suits=IfRounded(1e-6, MayBeFitted())),
            PlateauWalk(suits=is_constant_in_parts),
            KinkWalk(suits=plateaus_end_in_bends),
            SaturationWalk(suits=is_constant_far_out),
            PoleWalk(suits=IsLevelInParts()),
            CoarseFit(suits=IfRounded(1e-7, MayBeFitted(only_kinked=True))),
            TwoLayerKinkWalk(suits=KinksBend()),
            KinkWalk(suits=has_kinks),
            LayerPeeling(suits=has_layers_above, power=self.power),
            SaturationWalk(suits=is_affine_far_out),
            KinkWalk(suits=has_kinks_far_out),
            PoleWalk(suits=HasSteepNeurons()),
            HessianRoute(suits=is_smooth, power=self.power),
            PoleWalk(suits=was_not_explained),
            KinkWalk(suits=is_straight_after_all),
            KinkWalk(suits=hides_kinks),
            PlateauWalk(suits=is_constant_at_the_centre, search=LowestLayerSearch(homes=0)),
            CoarseFit(suits=IfRounded(1e-7, MayBeFitted())),
            StudentFit(suits=Unexplained(), largest_error=self.rules.partly_explained),
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
                return session.finish(Outcome.NOT_IDENTIFIED, failure.reason)
            survey = Survey(session, probe, self.activation, self.neurons, self.walks)
            refiner = Refiner(probe.answers, self.refine, probe.scale.noise)
            examination = replace(self.examination, asks_far=self.walks)
            trail = Trail(survey, examination, free, crossings=self.crossings)
            for route in self.routes:
                trail = trail.after(route, refiner)
            return self._result(trail, refiner)

    def _result(self, trail: Trail, refiner: Refiner) -> Result:
        """Judge what the routes have found.

        Raises:
            OracleError: if the model has failed on the only route there is: it is not unidentifiable then.
        """
        first, best = trail.known.first_layer, trail.best
        if trail.spent is not None:
            if first is None:
                return ended(trail, Outcome.NOT_IDENTIFIED, trail.spent.reason)
            reason = f"{first.reason} More was not found: {trail.spent.reason}"
            return ended(trail, Outcome.PARTLY_IDENTIFIED, reason)
        if trail.settled is not None:
            settled = trail.settled
            return ended(trail, settled.outcome, settled.reason, settled.network, settled.certificate)
        if first is not None and (best is None or not best.is_right):
            reason = self._beside_bounds(trail, first)
            return ended(replace(trail, route=trail.layer_route), Outcome.PARTLY_IDENTIFIED, reason)
        if best is not None:
            with trail.survey.session.stage("examining the network"):
                best = trail.examination.of_rest(best, refiner, largest_error=self.rules.partly_explained)
            return self._judged(replace(trail, route=trail.best_route), best)
        if trail.imitation is not None:
            return self._judged(trail, trail.imitation)
        if isinstance(trail.failure, OracleError) and not isinstance(trail.failure, UnusableAnswer):
            raise trail.failure
        failure = str(trail.failure)
        if trail.survey.steps is not None:
            said = f" {failure[0].upper()}{failure[1:]}" if failure else ""
            return ended(trail, Outcome.NOT_IDENTIFIED, trail.survey.steps.reason + said)
        reason = failure or "no way to the neurons of this function is known."
        return ended(trail, Outcome.NOT_IDENTIFIED, self._unexplained(trail, reason))

    def _unexplained(self, trail: Trail, reason: str) -> str:
        """Say why nothing was found: first what the user may have said wrongly."""
        session = trail.survey.session
        reason = f"{reasons.nothing_with(self.activation, self.neurons)} {reason}".lstrip()
        with session.stage("looking for bounds of the inputs"):
            bounds = self.clip_look(session.oracle, session.rng_probe.spawn(1)[0])
        if bounds is None:
            return reason
        return f"{answer_reasons.clipped_inputs(*bounds, session.oracle.inputs)} {reason[0].upper()}{reason[1:]}"

    def _beside_bounds(self, trail: Trail, first: FirstLayer) -> str:
        """Say what a first layer is, and first that its neurons may be bounds of the inputs, if each looks at one."""
        sizes = np.abs(first.standard.weights)
        is_single = np.sum(sizes, axis=1) < (1.0 + self.single_input) * np.max(sizes, axis=1)
        return self._unexplained(trail, first.reason) if np.all(is_single) else first.reason

    def _judged(self, trail: Trail, examined: Examined) -> Result:
        """Judge the best network by fresh answers, and say what a user should know about it."""
        session, probe, spreads = trail.survey.session, trail.survey.probe, trail.survey.probe.spreads
        # An imitation is claimed by its error alone, which has to be in the right unit.
        judged = (
            examined.relative_to(spreads, misjudged=0.0) if examined.is_imitation else examined.relative_to(spreads)
        )
        best = judged.candidate.with_delivered_radius()
        session.fresh_errors = judged.fresh_errors
        judged = replace(judged, candidate=best).as_delivered(probe)
        # What a network does not explain may be the neurons that were given.
        contradiction = self._contradiction(best.network, trail.survey) if judged.is_right else ""
        evidence = judged.evidence(probe, largest_noise=self.rules.largest_noise, contradiction=contradiction)
        outcome, reason = self.rules(evidence)
        if outcome is Outcome.NOT_IDENTIFIED and trail.imitation not in (None, examined):
            return self._judged(replace(trail, route=trail.imitation_route), trail.imitation)
        is_imitation = self.rules.is_imitation(evidence)
        if is_imitation:
            reason = f"{reasons.nothing_with(self.activation, self.neurons)} {reason}".lstrip()
            session.diagnostics += self.rules.imitation_checks(evidence)
        else:
            session.diagnostics += [*best.start.checks, *network_quality(best.network, best.certificate)]
            session.diagnostics.append(self.rules.right_share_check(evidence))
        if not best.explains and session.oracle.ledger.left < best.network.parameters:
            session.notes.append("The budget was used up before anything else could be tried: raise it.")
        if outcome is Outcome.NOT_IDENTIFIED:
            return ended(trail, outcome, self._unexplained(trail, reason))
        if np.any(np.isinf(spreads)):
            session.notes += answer_reasons.rounded_constants(spreads, probe.digits.unit, probe.may_hide_changes)
        network = probe.with_constants(best.delivered(self.activation))
        if network.skip is not None and network.layers[0].activation.reflected_slope != 0.0 and not is_imitation:
            session.notes.append(reasons.affine_part())
        return ended(trail, outcome, reason, network, self.rules.certificate(evidence), is_imitation=is_imitation)

    def _contradiction(self, network: Network, survey: Survey) -> str:
        """Say how the network contradicts what the user has given; empty if it does not."""
        said = []
        if self.neurons is not None and network.widths[0] != self.neurons:
            said.append(reasons.other_width(network.widths[0], self.neurons))
        if self.activation is not None and network.widths[0]:
            hides_bends = survey.is_in_box or not survey.has_fine_answers
            said.append(reasons.other_activation(network, self.activation, hides_bends=hides_bends))
        return " ".join(said).strip()


def ended(
    trail: Trail,
    outcome: Outcome,
    reason: str,
    network: Network | None = None,
    certificate: Certificate | None = None,
    *,
    is_imitation: bool = False,
) -> Result:
    """End with this outcome; without a network, with the first layer if there is one."""
    first = trail.known.first_layer
    if network is not None and trail.survey.probe.gives_logits:
        reason = f"{reason} {answer_reasons.gives_logits()}"
    return trail.survey.session.finish(
        outcome,
        reason,
        network,
        certificate,
        route=trail.route,
        routes=trail.choices,
        first_layer=first.layer if first is not None and network is None else None,
        is_imitation=is_imitation,
    )
