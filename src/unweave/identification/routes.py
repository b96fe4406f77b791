"""What a route to the neurons is, what it may know before it is taken, and the trail of those that were tried.

A route is a frozen value. The trail asks whether it suits what is known so far, and calls it if it does; what one route
has found and another one needs is passed on by the trail. Conditions lie with their routes, or beside the table if they
come before all walks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from unweave.activations import RELU, STEP, Activation
from unweave.arrays import Points
from unweave.exceptions import BudgetExhausted, OracleError
from unweave.identification.examination import Examination, Examined
from unweave.identification.found import FirstLayer, Found, Settled
from unweave.identification.probing import BendLook, Flatness, Probe
from unweave.identification.refiner import Candidate, Refiner
from unweave.identification.session import Session
from unweave.identification.steps import PlateauLook, Steps
from unweave.identification.walks.lines import TailBehaviour, Tails, measure_tails
from unweave.networks.network import Network
from unweave.networks.parameters import is_shallow
from unweave.oracles.oracle import Box
from unweave.result import RouteChoice, RouteEnd, at_most

# Names that several modules know: kinks are walked along far out where the first one has not read them, for example.
SATURATION = "saturation walk"
KINK_WALK = "kink walk"
POLE_WALK = "pole walk"
STUDENT_FIT = "student fit"
COARSE_FIT = "coarse fit"
HESSIANS = "Hessians"
SPENT = "the budget was spent before."


@dataclass(frozen=True)
class Decision:
    """Whether a route is taken, and why, in words that end a sentence."""

    is_taken: bool
    because: str


def take(because: str) -> Decision:
    """Take a route."""
    return Decision(True, because)


def leave(because: str) -> Decision:
    """Leave a route out."""
    return Decision(False, because)


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of the function before a route is taken: its first answers, and further looks.

    A look is made once, when a route asks for it first, so that no query is spent on what no route needs.

    Args:
        session: the oracle, the random streams and the record.
        probe: what the first answers say.
        activation: the activation, if it was given.
        neurons: the number of neurons, if it was given.
        may_walk: whether neurons may be read off along paths.
        mostly_flat: share of places that are straight nearby and bent farther away, above which there are kinks.
            Piecewise linear networks are near 1, smooth ones at 0.
        smooth_roughness: relative change of second differences between two fine steps above which kinks are looked for
            before Hessians are tried.
        visible_bend: second differences, in units of the noise, below which kinks are looked for, too: the function
            then hardly bends at the first places.
        fine_noise: noise up to which far kinks are told from smooth bends: with three decimals a walk along what looks
            like kinks costs 10,000 queries in vain.
        bends: how it is seen whether the function is straight nearby and bent farther away.
        plateaus: how it is seen whether answers are constant around places.
    """

    session: Session
    probe: Probe
    activation: Activation | None = None
    neurons: int | None = None
    may_walk: bool = True
    mostly_flat: float = 0.25
    smooth_roughness: float = 0.2
    visible_bend: float = 1e3
    fine_noise: float = 1e-6
    bends: BendLook = field(default_factory=BendLook)
    plateaus: PlateauLook = field(default_factory=PlateauLook)

    @property
    def has_fine_answers(self) -> bool:
        """Whether the noise, relative to the spread of the answers, is small enough to tell kinks from bends."""
        return self.probe.scale.noise <= self.fine_noise

    @property
    def is_in_box(self) -> bool:
        """Whether the domain is a box."""
        return isinstance(self.session.oracle.domain, Box)

    @property
    def near_only(self) -> str:
        """Why no path leads far away; empty if one may."""
        if not self.may_walk:
            return "walks are switched off."
        if self.is_in_box:
            return "the domain is a box, which excludes far paths."
        return "with one input there are no far lines." if self.session.oracle.inputs == 1 else ""

    @property
    def without_plateaus(self) -> str:
        """Why no plateau can be left; empty if one may be."""
        if not self.may_walk or self.is_in_box:
            return self.near_only
        return "" if self.activation in (None, STEP, RELU) else f"{self.activation} is constant nowhere."

    @cached_property
    def tails(self) -> Tails | None:
        """What the function does far from the centre; None if it can't be asked there."""
        if self.near_only:
            return None
        try:
            with self.session.stage("probing the answers"):
                return measure_tails(self.probe, self.session.rng_walk)
        except OracleError as problem:
            self.session.notes.append(
                f"The model does not answer far from the centre, so no far path was walked: {problem}"
            )
            return None

    @property
    def bends_far(self) -> bool:
        """Whether the function was seen to bend far from the centre, where an affine function does not."""
        return self.tails is not None and self.tails.behaviour is TailBehaviour.KINKS

    @cached_property
    def has_kinks(self) -> bool | None:
        """Whether the function is straight nearby and bent farther away; None if the first answers speak against it."""
        if self.activation is not None:
            return self.activation.is_piecewise_linear
        scale = self.probe.scale
        is_smooth = not scale.is_straight and scale.roughness <= self.smooth_roughness
        if is_smooth and scale.second >= self.visible_bend * scale.noise:
            return None
        with self.session.stage("probing the answers"):
            return self.look_for_kinks()

    @cached_property
    def flatness(self) -> Flatness:
        """How straight and how level the function is around random places."""
        return self.bends.flatness(self.probe.oracle, self.probe.scale.noise, self.session.rng_probe)

    def look_for_kinks(self) -> bool:
        """Whether the function is straight nearby and bent farther away at many of some random places."""
        flatness = self.flatness.share
        self.session.diagnostics.append(
            at_most(
                "share of places that are straight nearby and bent farther away",
                flatness,
                self.mostly_flat,
                "piecewise linear activations (ReLU) have kinks instead of curvature: they are walked along",
                weak=1.0,
            )
        )
        return flatness > self.mostly_flat

    @cached_property
    def is_constant_in_parts(self) -> bool:
        """Whether answers are constant, first on the lines that have told the noise, then around random places."""
        lines = self.probe.lines
        error = self.probe.answer_error + self.probe.rounding * float(np.max(np.abs(lines)))
        changes = np.max(np.abs(np.diff(lines, axis=1)), axis=2)
        if np.all(changes > self.plateaus.margin * error):
            # Parts that are smaller than the distance between neighbours would be too rough to go on with.
            return False
        rng, nearby = self.session.rng_walk, self.plateaus.distance(self.probe.answer_error)
        with self.session.stage("probing the answers"):
            if all(np.any(np.ptp(line, axis=0) > 0.0) for line in lines):
                # Parts may be smaller than these lines are long: one place tells of nearly all other functions.
                first = self.probe.oracle.sample(rng.spawn(1)[0], 1, margin=nearby)
                if not self.is_constant_around(first, rng.spawn(1)[0]):
                    return False
            return self.is_constant_around(self.probe.oracle.sample(rng, self.plateaus.places, margin=nearby), rng)

    def is_constant_around(self, points: Points, rng: np.random.Generator) -> bool:
        """Whether answers are constant around all of some points: two queries each."""
        return self.plateaus.is_constant_around(points, self.probe, rng)

    @cached_property
    def steps(self) -> Steps | None:
        """The jumps of a function that is constant around random places and differs between them; None if it rises."""
        if not self.is_constant_in_parts:
            return None
        with self.session.stage("probing the answers"):
            return self.plateaus.steps(self.probe, self.session.rng_walk.spawn(1)[0])


@dataclass(frozen=True)
class Known:
    """What earlier routes have found.

    Args:
        first_layer: the first layer of a network that is not shallow.
        tried: the names of the routes that were taken.
        misses: whether a network was found that misses some of the places where it was tried.
        network: the shallow network that meets fresh answers best so far, in standard coordinates.
    """

    first_layer: FirstLayer | None = None
    tried: tuple[str, ...] = ()
    misses: bool = False
    network: Network | None = None

    def closes(self, survey: Survey) -> str:
        """Say why no route that needs slopes is left; empty if one may be."""
        if self.first_layer is not None and self.first_layer.is_last:
            return "the first layer was found, and no other route goes on from it."
        if survey.activation == STEP:
            return "steps have no slopes."
        return "" if survey.steps is None else survey.steps.reason


Condition = Callable[[Survey, Known], Decision]


@runtime_checkable
class Route(Protocol):
    """A way to the neurons, with its settings."""

    name: str
    # Whether the model may fail far from the centre and answer on other routes.
    asks_far: bool

    @property
    def suits(self) -> Condition:
        """When it is taken."""
        ...

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:
        """Look for the network."""
        ...


Crossings = Callable[[Candidate, Refiner, Probe, Session], Candidate]


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
        crossings: makes networks more exact than rounded answers are; None to take them as they are.
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
    crossings: Crossings | None = None

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
        survey = self.survey
        if self.crossings is not None and survey.probe.rounded_to is not None:
            # Before it is tried elsewhere: what rounding hides of a wrong network shows there.
            candidate = self.crossings(candidate, refiner, survey.probe, survey.session)
        if not candidate.explains and not candidate.start.is_student:
            return self.examination.of_known_fault(candidate, refiner)
        with survey.session.stage("examining the network"):
            return self.examination.of_any(candidate, refiner)

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


def _end_of(found: Found) -> RouteEnd:
    if found.candidate is not None or found.settled is not None:
        return RouteEnd.NETWORK
    return RouteEnd.NOTHING if found.first_layer is None else RouteEnd.FIRST_LAYER
