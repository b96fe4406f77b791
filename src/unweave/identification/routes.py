"""What a route to the neurons is: it says whether it suits, and ends with what it has found.

A route is a frozen value. The identifier asks whether it suits what is known so far, and calls it if it does; what one
route has found and another one needs is passed on by the identifier. The conditions at the end are those of routes that
need no look of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from unweave.activations import RELU, STEP, Activation
from unweave.arrays import Points
from unweave.exceptions import OracleError
from unweave.identification.found import FirstLayer, Found
from unweave.identification.probing import BendLook, Flatness, Probe
from unweave.identification.refiner import Refiner
from unweave.identification.session import Session
from unweave.identification.steps import PlateauLook, Steps
from unweave.identification.walks.lines import TailBehaviour, Tails, measure_tails
from unweave.networks.network import Network
from unweave.oracles.oracle import Box
from unweave.result import at_most

# Names that several modules know: kinks are walked along far out where the first one has not read them, for example.
SATURATION = "saturation walk"
KINK_WALK = "kink walk"
POLE_WALK = "pole walk"
STUDENT_FIT = "student fit"
COARSE_FIT = "coarse fit"
HESSIANS = "Hessians"


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
        level_slope: typical change of the answers over a half-width of the domain, going by their slopes, relative to
            their spread, below which they are level; chosen: in an even function it is about one.
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
    level_slope: float = 0.05
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

    @property
    def is_straight_everywhere(self) -> bool:
        """Whether none of the random places was bent, however far away: kinks are few, or there are none."""
        return self.flatness.telling == 0

    @property
    def is_level_at_most_places(self) -> bool:
        """Whether the function hardly changes around most of the random places."""
        return self.flatness.slope < self.level_slope

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


def is_constant_in_parts(survey: Survey, known: Known) -> Decision:  # noqa: ARG001
    """Suit functions whose answers are constant around every one of some random places."""
    if why := _without_plateaus(survey):
        return leave(why)
    if survey.activation == STEP or survey.is_constant_in_parts:
        # Looked at before the walk, which may use up what may be asked.
        _ = survey.steps
        return take("the answers are constant around every place that was looked at.")
    return leave("the answers change around the places that were looked at.")


def is_constant_at_the_centre(survey: Survey, known: Known) -> Decision:
    """Suit functions that nothing else explains, and that are constant next to the centre."""
    if why := known.closes(survey) or _without_plateaus(survey):
        return leave(why)
    if known.first_layer is not None:
        return leave("a first layer was found already.")
    inputs = survey.session.oracle.inputs
    centre = survey.plateaus.beside_centre * survey.session.rng_walk.standard_normal((1, inputs))
    places = np.repeat(centre, survey.plateaus.places, axis=0)
    if not survey.is_constant_around(places, survey.session.rng_walk):
        return leave("the answers change around the centre.")
    return take("nothing explains the answers, which are constant around the centre.")


def _without_plateaus(survey: Survey) -> str:
    """Say why no plateau can be left; empty if one may be."""
    if not survey.may_walk or survey.is_in_box:
        return survey.near_only
    return "" if survey.activation in (None, STEP, RELU) else f"{survey.activation} is constant nowhere."


def plateaus_end_in_bends(survey: Survey, known: Known) -> Decision:  # noqa: ARG001
    """Suit functions whose plateaus have ended at ReLU units."""
    if known.first_layer is not None and known.first_layer.standard.activation == RELU:
        return take("the answers are constant around some points, and bend where they begin to change.")
    return leave("no region of constant answers was seen to end in a bend.")


def has_kinks(survey: Survey, known: Known) -> Decision:
    """Suit functions that are straight nearby and bent farther away."""
    if why := known.closes(survey):
        return leave(why)
    if not survey.has_kinks:
        return leave("no kinks were seen in the first answers.")
    if not survey.may_walk:
        return leave("walks are switched off.")
    return take("the function is affine over short distances and not over longer ones, as kinks make it.")


def has_kinks_far_out(survey: Survey, known: Known) -> Decision:
    """Suit functions whose kinks, far out, the saturation walk could not read."""
    if why := known.closes(survey):
        return leave(why)
    if not survey.bends_far or survey.has_kinks or SATURATION not in known.tried:
        return leave("no kinks far from the centre were left unexplained.")
    return take("far from the centre the answers have sharp kinks.")


def is_straight_after_all(survey: Survey, known: Known) -> Decision:
    """Suit functions that were taken for smooth ones, and that Hessians do not explain."""
    if why := known.closes(survey):
        return leave(why)
    if survey.has_kinks is not None:
        return leave("it is known already whether there are kinks.")
    if not survey.may_walk:
        return leave("walks are switched off.")
    if not survey.look_for_kinks():
        return leave("the function is not affine over short distances.")
    return take("the Hessians do not explain a function that is affine over short distances.")


def hides_kinks(survey: Survey, known: Known) -> Decision:
    """Suit functions that are straight nearly everywhere: kinks may cut off corners of a box, or be far away."""
    if why := known.closes(survey):
        return leave(why)
    may_be_corners = survey.is_in_box and (known.misses or survey.is_straight_everywhere)
    may_be_far = not survey.is_in_box and survey.has_fine_answers and survey.is_straight_everywhere
    if not (may_be_corners or may_be_far):
        return leave("no network was found that is wrong in corners only, and the function bends at many places.")
    if KINK_WALK in known.tried or not survey.may_walk:
        return leave("kinks were walked along already, or walks are switched off.")
    return take(
        "the function is affine around most points and not around others: kinks may be far out, or cut off corners."
    )


def has_layers_above(survey: Survey, known: Known) -> Decision:
    """Suit networks whose first layer was read off far from the centre, under layers that bend it."""
    if why := known.closes(survey):
        return leave(why)
    if known.first_layer is None:
        return leave("no first layer of a deeper network was seen.")
    return take("the jumps far out are not those of single neurons: there are layers above.")


def is_smooth(survey: Survey, known: Known) -> Decision:
    """Suit functions without kinks to which no walk has led."""
    if why := known.closes(survey):
        return leave(why)
    if survey.has_kinks and survey.may_walk:
        return leave("the function has kinks, where second derivatives tell nothing.")
    if survey.is_in_box:
        return take("the domain is a box, so that the model may not be asked far outside.")
    if survey.near_only:
        return take("no walk was tried.")
    return take("no walk has led to a network: far out the answers are not constant or affine, or the walk failed.")
