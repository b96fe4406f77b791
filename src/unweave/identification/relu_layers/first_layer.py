"""Signs of first-layer neurons, and their activation, from gradients on both sides of their kinks.

A gradient of the network is a combination ``sum_k c_k n_k`` of the weights of its first layer. If these are
linearly independent the coefficients are unique, and crossing the hyperplane of neuron k changes only c_k:
from 0 to something for relu, by the ratio of its slopes for leaky relu. The side with the larger
coefficient is the active one.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float64, Int

from unweave.activations import RELU, Activation, leaky_relu
from unweave.arrays import Atoms, PerNeuron, Points, Vector
from unweave.exceptions import StageFailed
from unweave.identification.probing import Probe
from unweave.identification.relu_layers.crossings import (
    Accuracy,
    CrossingRules,
    Plane,
    continues_everywhere,
    locate_nearby,
)
from unweave.identification.relu_layers.slices import SliceLook
from unweave.identification.session import Session
from unweave.identification.walks.hyperplanes import Hyperplanes, Side, hyperplanes_between, measure_sides
from unweave.identification.walks.kinked_terms import KinkedTerms
from unweave.identification.walks.kinks import KinkedLine, KinkSearch
from unweave.identification.walks.lines import Line, far_line, run_searches
from unweave.networks.network import Layer
from unweave.result import Diagnostic, Verdict, at_most


@dataclass(frozen=True, kw_only=True)
class SignRules:
    """Limits that decide what bends tell of a first layer.

    Args:
        dependent: smallest singular value of unit normals below which they count as dependent: readings that tell signs
            have errors up to this (`Readings.clear`).
        same_slope: slopes of neurons of one layer that differ by more are different: a hundred times the error of
            readings that tell signs.
        slope_decimals: slopes are chosen by people: so few decimals within the error are no accident.
        slope_error: that error: by accident a slope is so near to six decimals in 2 % of all cases.
    """

    dependent: float = 1e-6
    same_slope: float = 1e-4
    slope_decimals: int = 6
    slope_error: float = 1e-8


@dataclass(frozen=True)
class Bend:
    """Gradients on both sides of a kink of one first-layer neuron.

    Args:
        neuron: its number.
        direction: from the one side to the other.
        before, after: the gradients.
    """

    neuron: int
    direction: Vector
    before: Float64[np.ndarray, "outputs inputs"]
    after: Float64[np.ndarray, "outputs inputs"]


def orient(
    normals: Atoms,
    offsets: PerNeuron,
    bends: list[Bend],
    *,
    rules: SignRules,
) -> Layer:
    """The layer of unit weights on these hyperplanes, with the signs and the activation that the bends show.

    Raises:
        StageFailed: if the weights are linearly dependent, a neuron has no bend, or the neurons do not agree on a
            relu or leaky relu.

    Assumes: no neuron of the layer is missing.
    """
    neurons, inputs = normals.shape
    if neurons > inputs or np.linalg.matrix_rank(normals, tol=rules.dependent) < neurons:
        raise StageFailed(
            f"the {neurons} hyperplanes that were read in {inputs} inputs are linearly dependent: signs of neurons, "
            "and what is above them, are not determined by gradients."
        )
    if len({bend.neuron for bend in bends}) < neurons:
        raise StageFailed("some kinks of the first layer were not read well enough to tell the signs of their neurons.")
    dual = np.linalg.pinv(normals)
    signs, slopes = np.zeros(neurons), np.zeros(len(bends))
    for index, bend in enumerate(bends):
        before, after = bend.before @ dual[:, bend.neuron], bend.after @ dual[:, bend.neuron]
        is_forward = np.linalg.norm(after) >= np.linalg.norm(before)
        larger = after if is_forward else before
        slopes[index] = (before @ after) / (larger @ larger)
        forward = np.sign(normals[bend.neuron] @ bend.direction)
        sign = forward if is_forward else -forward
        if signs[bend.neuron] == -sign:
            raise StageFailed(
                f"neuron {bend.neuron} of the first layer bends both ways: it is no relu neuron, or kinks of several "
                "neurons were taken for one."
            )
        signs[bend.neuron] = sign
    return Layer(signs[:, None] * normals, signs * offsets, _activation_of(slopes, rules))


def _activation_of(slopes: Float64[np.ndarray, "bends"], rules: SignRules) -> Activation:
    slope = float(np.median(slopes))
    if np.max(np.abs(slopes - slope)) > rules.same_slope or abs(slope) > 1.0 - rules.same_slope:
        raise StageFailed(
            f"the neurons of the first layer have slopes between {np.min(slopes):.3g} and {np.max(slopes):.3g} on "
            "their flatter side: they are no layer of relu or leaky relu, or some of it is missing."
        )
    if abs(slope) <= rules.slope_error:
        return RELU
    rounded = round(slope, rules.slope_decimals)
    return leaky_relu(rounded if abs(rounded - slope) <= rules.slope_error else slope)


@dataclass(frozen=True)
class FirstReluLayer:
    """Hyperplanes of a first layer, up to sign and scale.

    Args:
        terms: one per neuron, at its best reading; the errors are those of the hyperplane near the centre.
        bends: gradients on both sides of kinks of its neurons.
        later_kinks: kinks on the lines that are not of the first layer: without any the network is shallow.
        checks: whether the layer is complete.
    """

    terms: KinkedTerms
    bends: tuple[Bend, ...]
    later_kinks: int
    checks: tuple[Diagnostic, ...]

    @property
    def neurons(self) -> int:
        """Number of neurons."""
        return len(self.terms.offsets)

    @property
    def is_complete(self) -> bool:
        """Whether no neuron seems to be missing."""
        return all(check.verdict is Verdict.OK for check in self.checks)


@dataclass(frozen=True, kw_only=True)
class Readings:
    """How exactly hyperplanes are read.

    Args:
        exact: those with a larger expected error are read again where another line meets them: what refinement makes of
            errors up to this is rounding; chosen.
        clear: a worse reading does not tell the sign of a neuron: six digits; chosen.
        lines: the largest number on which they are read again.
    """

    exact: float = 1e-11
    clear: float = 1e-6
    lines: int = 4


@dataclass(frozen=True)
class FirstReluLayerSearch:
    """Settings of the search.

    Args:
        lines: the largest number of lines on which neurons are looked for.
        outer: angle at which lines end, before their last direction: kinks farther out, more than 50 units, are read
            with as many times the error. A hyperplane is met beyond with a chance of two thirds of it.
        step: of gradients, relative to the distance of the next kink; chosen: the function is straight up to there, and
            steps that cross another hyperplane are noticed.
        quiet_lines: that show nothing new, after which no more are walked if nothing else tells that all were found;
            chosen.
        readings: when hyperplanes are read again.
        looks_per_input: places at which a hyperplane is located exactly; chosen: upper layers hide it at some, and a
            third may be hidden.
        invariance_points: at which the function is compared along directions that no neuron sees: what depends on them
            in 17 % of all places shows with a confidence of 95 %.
        invariance_scales: distances of these, the smallest and the largest; chosen.
        crossings: when a kink lies on a full hyperplane.
        slices: how kinks of later layers are told before their gradients are asked.
        signs: what bends tell.
    """

    lines: int = 24
    outer: float = 0.02
    step: float = 0.01
    quiet_lines: int = 2
    readings: Readings = field(default_factory=Readings)
    looks_per_input: float = 1.5
    invariance_points: int = 16
    invariance_scales: tuple[float, float] = (1.0, 3.0)
    crossings: CrossingRules = field(default_factory=CrossingRules)
    slices: SliceLook = field(default_factory=SliceLook)
    signs: SignRules = field(default_factory=SignRules)

    def __call__(self, session: Session, probe: Probe) -> FirstReluLayer:
        """Walk lines until the first layer is complete.

        Raises:
            StageFailed: if the function is not piecewise linear, or has one input only.

        Assumes: the domain has no end.
        """
        if probe.oracle.inputs == 1:
            raise StageFailed("with one input every kink is a point: the layers can't be told apart.")
        progress = _Progress(self, session, probe)
        for number in range(self.lines):
            try:
                progress.walk(progress.next_line())
            except StageFailed:
                # Where nothing depends on the direction of a later line, rounding looks like kinks.
                if number == 0:
                    raise
                break
            if progress.is_complete():
                break
        return progress.result()

    def oriented(self, found: FirstReluLayer) -> Layer:
        """The layer with signs and activation, as `orient` tells them from what was found."""
        return orient(found.terms.normals, found.terms.offsets, list(found.bends), rules=self.signs)

    def read_again(self, session: Session, probe: Probe, found: FirstReluLayer) -> FirstReluLayer:
        """The hyperplanes at their best readings on some lines more, and others that appear there.

        Neurons that depend linearly on others show in no direction of their own, only on further lines.
        """
        progress = _Progress(self, session, probe, list(found.bends), found.later_kinks)
        progress.terms = found.terms
        for number in range(self.readings.lines):
            if number > 0 and progress.quiet > 0 and np.all(progress.terms.errors <= self.readings.exact):
                break
            progress.walk(progress.random_line())
        return replace(found, terms=progress.terms, bends=tuple(progress.bends))

    def sharpened(self, session: Session, probe: Probe, found: FirstReluLayer) -> FirstReluLayer:
        """The same neurons to the last digits, by least squares through exactly located points of their hyperplanes.

        About seven queries per weight: for layers that no refinement follows. Neurons that are seen at too few places
        are left as they are.
        """
        terms, inputs = found.terms, probe.oracle.inputs
        slope = max((float(np.max(np.abs([bend.before, bend.after]))) for bend in found.bends), default=1.0)
        accuracy = Accuracy(probe.scale.noise, probe.rounding, slope, self.crossings)
        planes = [
            Plane(number, -terms.offsets[number] * terms.normals[number], terms.normals[number], terms.errors[number])
            for number in range(found.neurons)
        ]
        looks = int(self.looks_per_input * (inputs + 2))
        searches = [locate_nearby(plane, accuracy, session.rng_walk) for plane in planes for _ in range(looks)]
        located = run_searches(searches, probe.oracle.query)
        for plane in planes:
            points = np.array([point for index, point in located if index == plane.index])
            if len(points) >= inputs + 2:
                terms = terms.through(plane.index, points)
        return replace(found, terms=terms)


@dataclass
class _Progress:
    """What the lines have shown so far."""

    search: FirstReluLayerSearch
    session: Session
    probe: Probe
    bends: list[Bend] = field(default_factory=list)
    later_kinks: int = 0
    lines: int = 0
    quiet: int = 0
    slope: float = 0.0
    dependence: float = np.inf

    def __post_init__(self) -> None:
        self.terms = KinkedTerms.none(self.probe.oracle.inputs, self.probe.oracle.outputs)
        self.settings = KinkSearch(noise=self.probe.scale.noise, rounding=self.probe.rounding, step=self.search.step)

    def random_line(self) -> Line:
        """A line near the centre, in any direction."""
        inputs = self.probe.oracle.inputs
        return far_line(inputs, self.session.rng_walk, radius=float(np.sqrt(inputs)), outer=self.search.outer)

    def next_line(self) -> Line:
        """A random line, or after the first one that known neurons do not see, if there is one."""
        inputs, rng, line = self.probe.oracle.inputs, self.session.rng_walk, self.random_line()
        self.session.saw(len(self.terms.offsets))
        unseen = self._unseen_directions()
        if self.lines == 0 or len(unseen) == 0:
            return line
        direction = rng.standard_normal(len(unseen)) @ unseen
        return replace(line, base=rng.standard_normal(inputs), direction=direction / np.linalg.norm(direction))

    def walk(self, line: Line) -> None:
        """Read the kinks of a line that are not known exactly, and keep those of the first layer."""
        ask = self.probe.oracle.query
        walked = self.settings(ask, line)
        self.session.saw(len(self.terms.offsets) + len(walked.kinks))
        points = _places(walked)
        known = self.terms.at(points, np.array([kink.width for kink in walked.kinks]))
        is_open = self._open(walked, known)
        pieces = {side for index in np.flatnonzero(is_open) for side in (int(index), int(index) + 1)}
        sides = measure_sides(ask, walked, self.settings, sorted(pieces))
        met = hyperplanes_between(sides, walked, self.settings)
        met = met.chosen([row for row, kink in enumerate(met.kinks) if is_open[kink]])
        self.slope = max([self.slope, *(float(np.max(np.abs(side.gradient))) for side in sides.values())])
        self._keep(met, walked, sides, [int(known[kink]) for kink in met.kinks])
        self.lines += 1

    def _open(self, walked: KinkedLine, known: Int[np.ndarray, "kinks"]) -> Bool[np.ndarray, "kinks"]:
        """Kinks whose gradients are worth asking: not known exactly, and with many inputs seen to go on in a slice."""
        is_new, is_resolved = known < 0, np.array([kink.is_resolved for kink in walked.kinks], dtype=bool)
        if self.probe.oracle.inputs >= self.search.slices.fewest:
            new = [int(index) for index in np.flatnonzero(is_new & is_resolved)]
            likely = self.search.slices(
                self.probe.oracle.query, walked, self.settings, new, self._accuracy(), rng=self.session.rng_walk
            )
            self.later_kinks += len(new) - len(likely)
            is_new = np.isin(np.arange(len(known)), list(likely))
        is_rough = np.isin(known, np.flatnonzero(self.terms.errors > self.search.readings.exact))
        return is_resolved & (is_new | is_rough)

    def _accuracy(self) -> Accuracy:
        return Accuracy(self.settings.noise, self.settings.rounding, self.slope, self.search.crossings)

    def _keep(self, met: Hyperplanes, walked: KinkedLine, sides: dict[int, Side], known: list[int]) -> None:
        before = len(self.terms.offsets)
        points = _places(walked)[list(met.kinks)]
        confirmed = self._confirmed(met, points, [row for row, number in enumerate(known) if number < 0])
        self.later_kinks += known.count(-1) - len(confirmed)
        rows = sorted(confirmed | {row for row, number in enumerate(known) if number >= 0})
        reach = 1.0 + np.linalg.norm(points, axis=1)
        self.terms = self.terms.extended(replace(met, errors=met.errors * reach).chosen(rows))
        numbers = self.terms.at(points, np.zeros(len(points)))
        for row in rows:
            if met.errors[row] < self.search.readings.clear and numbers[row] >= 0:
                kink = met.kinks[row]
                bend = Bend(int(numbers[row]), walked.line.direction, sides[kink].gradient, sides[kink + 1].gradient)
                self.bends.append(bend)
        self.quiet = self.quiet + 1 if len(self.terms.offsets) == before else 0
        self.dependence = np.inf

    def _confirmed(self, met: Hyperplanes, points: Points, rows: list[int]) -> set[int]:
        """Readings that go on everywhere."""
        accuracy = self._accuracy()
        planes = [Plane(row, points[row], met.normals[row], float(met.errors[row])) for row in rows]
        searches = [continues_everywhere(plane, accuracy, self.session.rng_walk) for plane in planes]
        return set(run_searches(searches, self.probe.oracle.query))

    def is_complete(self) -> bool:
        """Whether nothing depends on directions that no neuron sees; if there are none, whether lines stay quiet."""
        if len(self._unseen_directions()) == 0:
            return self.quiet >= self.search.quiet_lines
        if not np.isfinite(self.dependence):
            self.dependence = self._measured_dependence()
        return self.dependence <= 1.0

    def _measured_dependence(self) -> float:
        """Largest change of the answers along directions that no neuron sees, in expected errors."""
        unseen, rng, inputs = self._unseen_directions(), self.session.rng_walk, self.probe.oracle.inputs
        count = self.search.invariance_points
        scales = np.linspace(*self.search.invariance_scales, count)[:, None]
        points = scales * rng.standard_normal((count, inputs))
        moves = scales * rng.standard_normal((count, len(unseen))) @ unseen
        values = self.probe.oracle.query(np.concatenate([points, points + moves]))
        changes = np.max(np.abs(values[:count] - values[count:]), axis=1)
        lengths = np.linalg.norm(moves, axis=1)
        error = self.settings.noise + self.settings.rounding * (np.max(np.abs(values)) + self.slope * lengths)
        blur = self.slope * lengths * float(np.sum(self.terms.errors))
        return float(np.max(changes / (self.settings.margin * (error + blur))))

    def _unseen_directions(self) -> Points:
        neurons, inputs = self.terms.normals.shape
        if neurons >= inputs:
            return np.empty((0, inputs))
        return np.linalg.qr(self.terms.normals.T, mode="complete")[0].T[neurons:]

    def result(self) -> FirstReluLayer:
        """The layer, with the evidence for it."""
        check = at_most(
            "first-layer neurons that the last lines have shown for the first time",
            0.0 if self.is_complete() else 1.0,
            0.0,
            "others may be missing: the function depends on directions that no neuron sees, or each line shows more",
        )
        return FirstReluLayer(self.terms, tuple(self.bends), self.later_kinks, (check,))


def _places(walked: KinkedLine) -> Points:
    """The points of the kinks on a line."""
    return walked.line.points(np.array([kink.position for kink in walked.kinks]))
