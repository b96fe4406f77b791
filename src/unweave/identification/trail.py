"""What the routes tried so far have found, and what they make of the next one."""

from dataclasses import dataclass, field, replace

from unweave.certificates.certify import Certificate
from unweave.exceptions import BudgetExhausted, OracleError
from unweave.identification import answer_reasons
from unweave.identification.crossings.stage import CrossingStage
from unweave.identification.examination import Examination, Examined
from unweave.identification.found import Found, Settled
from unweave.identification.refiner import Candidate, Refiner
from unweave.identification.routes import Known, Route, Survey
from unweave.networks.network import Network
from unweave.networks.parameters import is_shallow
from unweave.result import Outcome, Result, RouteChoice, RouteEnd

SPENT = "the budget was spent before."


@dataclass(frozen=True)
class Trail:
    """What the routes tried so far have found.

    Args:
        survey: what is known of the function.
        examination: how networks are tried that explain the answers.
        free_queries: what a route may cost, without a budget, before it has seen a neuron.
        known: what later routes may build on.
        best: the network that meets fresh answers best, as its examination has left it.
        imitation: a network that only answers like the model, which is shown where no other may be.
        settled: a network whose outcome is known already.
        failure: why the first route that failed did.
        spent: what the oracle said when the budget ended before there was any network.
        end: why no other route is tried; empty if others may be.
        choices: which routes were taken, and why.
        route: the route that was taken last.
        best_route: the one that led to the best network.
        layer_route: the one that led to the first layer.
        imitation_route: the one that led to the imitation.
        crossings: how networks are known more exactly than rounded answers are.
    """

    survey: Survey
    examination: Examination = field(default_factory=Examination)
    free_queries: int = 10_000
    known: Known = field(default_factory=Known)
    best: Examined | None = None
    imitation: Examined | None = None
    settled: Settled | None = None
    failure: str | OracleError = ""
    spent: BudgetExhausted | None = None
    end: str = ""
    choices: tuple[RouteChoice, ...] = ()
    route: str = ""
    best_route: str = ""
    layer_route: str = ""
    imitation_route: str = ""
    crossings: CrossingStage = field(default_factory=CrossingStage)

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
        reason, failure = found.reason, "" if found.is_tentative else found.reason
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
            self._nearest(examined),
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

    def _nearest(self, examined: Examined | None) -> Network | None:
        """Give the better network of the best so far and another one, if it is shallow and in standard coordinates."""
        either = [each for each in (self.best, examined) if each is not None]
        if not either:
            return None
        candidate = min(either, key=lambda each: each.error).candidate
        is_standard = candidate.units is self.survey.probe.oracle
        return candidate.network if is_standard and is_shallow(candidate.network) else None

    def _examined(self, candidate: Candidate, refiner: Refiner) -> Examined:
        """Try a network where it could still be wrong, unless it is known to be."""
        is_student, examination = candidate.start.is_student, self.examination
        if self.survey.probe.rounded_to is not None:
            # Before it is tried elsewhere: what rounding hides of a wrong network shows there.
            candidate = self.crossings(candidate, refiner, self.survey.probe, self.survey.session)
        if not candidate.explains and not is_student:
            return examination.of_known_fault(candidate, refiner)
        with self.survey.session.stage("examining the network"):
            if candidate.explains:
                examined = examination(candidate, refiner)
                if not examined.is_imitation:
                    return examined
                # Fresh answers that have changed it were given up, and others are there now.
                candidate = examined.candidate
            return examination.of_imitation(candidate, refiner)

    def _judging(self, found: Found, examined: Examined | None) -> "Trail":
        """Keep the better network, and say whether another route is needed."""
        if isinstance(found.stopped, BudgetExhausted) and not found.stopped.is_default:
            return replace(self, end=SPENT, spent=found.stopped if self.best is None else None)
        if found.settled is not None:
            return replace(self, end="an earlier route has settled the outcome.")
        if found.is_conclusive:
            return replace(self, end="an earlier route has shown that the answers determine no neurons.")
        if examined is None:
            return self
        if examined.is_imitation:
            return replace(self, imitation=examined, imitation_route=self.route)
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
        *,
        is_imitation: bool = False,
    ) -> Result:
        """End with this outcome; without a network, with the first layer if there is one."""
        first = self.known.first_layer
        if network is not None and self.survey.probe.gives_logits:
            reason = f"{reason} {answer_reasons.gives_logits()}"
        return self.survey.session.finish(
            outcome,
            reason,
            network,
            certificate,
            route=self.route,
            routes=self.choices,
            first_layer=first.layer if first is not None and network is None else None,
            is_imitation=is_imitation,
        )


def _end_of(found: Found) -> RouteEnd:
    if found.candidate is not None or found.settled is not None:
        return RouteEnd.NETWORK
    return RouteEnd.NOTHING if found.first_layer is None else RouteEnd.FIRST_LAYER
