"""First-layer neurons under unknown upper layers, read off inside their slabs.

Under upper layers a slab shows an unknown function of one neuron. Its gradient still points along the
neuron's weights, and its tails still fall off like the tails of the activation.
"""

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from jaxtyping import Float64

from unweave.activations import TANH, Activation
from unweave.arrays import Points, Values, Vector
from unweave.identification import reasons
from unweave.identification.found import FirstLayer, Found
from unweave.identification.probing import Probe
from unweave.identification.saturation.jumps import Jump, JumpSearch
from unweave.identification.saturation.tails import TailRules, read_tail
from unweave.identification.session import Session
from unweave.identification.walks.lines import Ask, Line, Search, far_line, run_searches
from unweave.networks.network import Layer
from unweave.oracles.views import StandardOracle, layer_in_oracle_units
from unweave.result import Diagnostic, at_most


@dataclass(frozen=True)
class Ridge:
    """A hyperplane across which the function changes.

    Args:
        normal: unit vector, pointing forward along the line it was found on.
        offset: distance of the origin, to about the width of the slab.
        length: of its weights, by the rate at which the tails fall off.
        length_error: of the length, relative.
        activation: whose tails they are; None if of none that is known here.
        heights: change of the answers across it, from far on one side to far on the other, where it was met and on the
            opposite side of the centre: there all other neurons are on their other sides.
    """

    normal: Vector
    offset: float
    length: float
    length_error: float
    activation: Activation | None
    heights: Float64[np.ndarray, "2 outputs"]


@dataclass(frozen=True)
class FarLayer:
    """The hyperplanes that far lines have met twice at least.

    Args:
        layer: their rows, with lengths from the tails and rough biases; None if there are none, or if their tails are
            not all of one known activation.
        ridges: how many were met twice at least.
        met_once: how many others were met on one line only.
        lines: how many lines were walked.
        jumps: how many jumps the last line has met.
        unread: how many of these told no hyperplane.
        new: how many hyperplanes the last line was the second to show.
        length_error: of the lengths, relative: the largest difference of two readings, or of samples of one tail.
        alike: share of the hyperplanes across which answers change by the same wherever they are met: in a network of
            one layer all do, whatever their profiles are, and under other layers hardly any.
    """

    layer: Layer | None
    ridges: int
    met_once: int
    lines: int
    jumps: int
    unread: int
    new: int
    length_error: float
    alike: float

    @property
    def is_complete(self) -> bool:
        """Whether nothing on the last line is evidence of another hyperplane."""
        return self.new == 0 and self.unread == 0 and self.met_once == 0

    @property
    def checks(self) -> tuple[Diagnostic, ...]:
        """Evidence that there are more hyperplanes."""
        return (
            at_most(
                "hyperplanes that the last far line was the second to show",
                self.new,
                0.0,
                "others may be missing: the first layer is not complete",
            ),
            at_most(
                "hyperplanes that one far line only has crossed, and changes along the last line that belong to none",
                self.met_once + self.unread,
                0.0,
                "others may be missing: the first layer is not complete",
                weak=float("inf"),
            ),
        )

    def as_found(self, why: str, oracle: StandardOracle, *, parallel_share: float) -> Found:
        """Say what is known of a network whose upper layers bend what its first layer says.

        Args:
            why: it is known not to be shallow.
            oracle: whose units the layer is given in.
            parallel_share: of hyperplanes that are alike, from which on there is one layer with parallel neurons.
        """
        if self.alike >= parallel_share:
            return Found(reasons.parallel_neurons(self.ridges, self.lines), checks=self.checks)
        if self.layer is None:
            return Found(f"{why} {reasons.no_first_layer(self.ridges, self.lines)}", checks=self.checks)
        first = FirstLayer(
            standard=self.layer,
            layer=layer_in_oracle_units(self.layer, oracle),
            reason=reasons.first_layer(
                self.layer,
                why,
                lines=self.lines,
                length_error=self.length_error,
                doubts=self.new + self.met_once + self.unread,
            ),
            is_last=False,
        )
        return Found(why, first_layer=first, checks=self.checks)


@dataclass(frozen=True, kw_only=True)
class FarLayerSearch:
    """Settings of the search for a first layer far out. Places and steps are in widths of a slab.

    Args:
        fewest_lines: that are walked: two to meet every hyperplane twice, and one to show nothing new.
        lines: that are walked at most; chosen, to end the search.
        sightings: lines on which a hyperplane must be met: a reading where two slabs overlap is met once.
        same_direction: two directions are one if their difference is below this. A true hyperplane is met on nearly
            every line; a reading in two slabs that overlap a little is off by as much, one where they overlap more is
            met once. 228 pairs of sightings in planted networks of two layers differed by 4e-4 at most; ten times that.
        agreement: lines are walked until the two best sightings of every hyperplane agree so well. The best
            pairs of 114 planted ones differed by 1.3e-5 at most; twice that.
        outer: angle at which lines end, before their last direction: hyperplanes are met beyond with a chance of two
            thirds of that (`walks.lines`).
        places: where the steepest place is looked for: within two widths a tanh rises by 96 % of its height.
        step: of the gradient there: central differences then err by ``step^2 / 3``, 3e-7, for a tanh.
        tail: how lengths and activations are read off tails.
        mirror: the search around the mirror image: biases up to twelve are met, which no usual network has.
        sides: where answers are far on either side of a hyperplane: all neurons of one direction have saturated there,
            also those with a hundredth of the length.
        same_height: difference of changes, relative to the larger, up to which two are the same; chosen, far above
            rounding. Under a second layer they differ by as much as that bends.
        same_share: of all pairs of changes across a hyperplane that must be the same; chosen: one of six may have been
            read beside another slab (two thirds of the pairs are left), and if all lines met it among the same others
            four of ten are, on the two sides.
    """

    fewest_lines: int = 3
    lines: int = 8
    sightings: int = 2
    same_direction: float = 5e-3
    agreement: float = 3e-5
    outer: float = 1e-2
    places: tuple[float, ...] = tuple(np.linspace(-2.0, 2.0, 9))
    step: float = 1e-3
    tail: TailRules = field(default_factory=TailRules)
    mirror: tuple[float, ...] = tuple(np.linspace(-12.0, 12.0, 25))
    sides: float = 2e3
    same_height: float = 1e-6
    same_share: float = 0.5

    def __call__(self, session: Session, probe: Probe, *, radius: float, noise: float) -> FarLayer:
        """Walk far lines until one shows no new hyperplane that was met twice."""
        oracle = probe.oracle
        found: list[list[Ridge]] = []
        new = number = 0
        jumps: list[Jump] = []
        ridges: list[Ridge] = []
        for number in range(1, self.lines + 1):
            line = far_line(oracle.inputs, session.rng_walk, radius=radius, outer=self.outer)
            jumps = JumpSearch(noise, (TANH,))(oracle.query, line)
            before = sum(len(sightings) >= self.sightings for sightings in found)
            ridges = self.ridges(oracle.query, line, jumps, noise=noise)
            for ridge in ridges:
                same = next(
                    (sightings for sightings in found if _distance(ridge, sightings[0]) < self.same_direction), None
                )
                if same is None:
                    found.append([ridge])
                else:
                    same.append(ridge)
            confirmed = [sightings for sightings in found if len(sightings) >= self.sightings]
            new = len(confirmed) - before
            is_settled = all(_best_pair(sightings)[0] < self.agreement for sightings in confirmed)
            if new == 0 and is_settled and number >= self.fewest_lines:
                break
        confirmed = [sightings for sightings in found if len(sightings) >= self.sightings]
        seen = [_mean(sightings) for sightings in confirmed]
        alike = [self._are_alike(sightings, noise) for sightings in confirmed]
        return FarLayer(
            layer=_layer(seen, oracle.inputs),
            ridges=len(seen),
            met_once=len(found) - len(seen),
            lines=number,
            jumps=len(jumps),
            unread=len(jumps) - len(ridges),
            new=new,
            length_error=max((ridge.length_error for ridge in seen), default=0.0),
            alike=float(np.mean(alike)) if alike else 0.0,
        )

    def _are_alike(self, sightings: list[Ridge], noise: float) -> bool:
        """Whether answers change by the same across a hyperplane, wherever it was met."""
        heights = np.concatenate([_sign(sightings[0], ridge) * ridge.heights for ridge in sightings])
        first, second = np.triu_indices(len(heights), 1)
        differences = np.max(np.abs(heights[first] - heights[second]), axis=1)
        sizes = np.max(np.abs(heights), axis=1)
        allowed = self.same_height * np.maximum(sizes[first], sizes[second]) + JumpSearch.margin * noise
        return bool(np.mean(differences <= allowed) > self.same_share)

    def ridges(self, ask: Ask, line: Line, jumps: list[Jump], *, noise: float) -> list[Ridge]:
        """The hyperplanes behind jumps of any profile, two queries per input and fifty-six more each."""
        return run_searches((self._ridge(line, jump, noise) for jump in jumps), ask)

    def _ridge(self, line: Line, jump: Jump, noise: float) -> Search:
        width = 1.0 / jump.rate
        places = jump.position + width * np.array([*self.places, -self.sides, self.sides])
        values = yield line.points(places)
        places, values, height = places[:-2], values[:-2], values[-1] - values[-2]
        opposite = -line.points(np.array([jump.position]))[0]
        ends = yield opposite + np.array([[-1.0], [1.0]]) * self.sides * width * line.direction
        heights = np.stack([height, ends[1] - ends[0]])
        steepest = int(np.argmax(np.max(np.abs(np.diff(values, axis=0)), axis=1)))
        point = line.points(places[steepest : steepest + 2]).mean(axis=0)
        gradient = yield from _gradient(point, self.step * width)
        size = float(np.linalg.norm(gradient))
        along = float(gradient @ line.direction) / size if size > 0 else 0.0
        if along == 0.0:
            return []
        normal = np.sign(along) * gradient / size
        tail = yield from read_tail(line, jump, noise, rules=self.tail)
        shift = yield from self._mirror_shift(line, jump, opposite)
        if tail is None or shift is None:
            return []
        # The hyperplane is met at x and near -x: half of what is missing there is its distance.
        return [Ridge(normal, -0.5 * abs(along) * shift, tail.rate / abs(along), tail.error, tail.activation, heights)]

    def _mirror_shift(self, line: Line, jump: Jump, center: Vector) -> Generator[Points, Values, float | None]:
        """Where the function changes most near the mirrored point, along the line."""
        offsets = np.array(self.mirror) / jump.rate
        values = yield center + offsets[:, None] * line.direction
        changes = np.linalg.norm(np.diff(values, axis=0), axis=1)
        total = float(np.sum(changes))
        middles = 0.5 * (offsets[1:] + offsets[:-1])
        return float(changes @ middles) / total if total > 0 else None


def _gradient(point: Vector, step: float) -> Generator[Points, Values, Vector]:
    """Gradient of the output combination that changes most, by central differences."""
    axes = step * np.eye(len(point))
    values = yield np.concatenate([point + axes, point - axes])
    table = values[: len(point)] - values[len(point) :]
    left, _, _ = np.linalg.svd(table, full_matrices=False)
    return left[:, 0]


def _layer(ridges: list[Ridge], inputs: int) -> Layer | None:
    """Give the layer of these hyperplanes, if all of them have tails of one known activation."""
    activations = {ridge.activation for ridge in ridges}
    activation = activations.pop() if len(activations) == 1 else None
    if activation is None:
        return None
    lengths = np.array([ridge.length for ridge in ridges])
    return Layer(
        weights=lengths[:, None] * np.array([ridge.normal for ridge in ridges]).reshape(-1, inputs),
        biases=lengths * np.array([ridge.offset for ridge in ridges]),
        activation=activation,
    )


def _mean(sightings: list[Ridge]) -> Ridge:
    """One reading of a hyperplane: direction and length of the two that agree best, the median offset."""
    _, one, other = _best_pair(sightings)
    normal = one.normal + _sign(one, other) * other.normal
    offset = float(np.median([_sign(one, ridge) * ridge.offset for ridge in sightings]))
    length = 0.5 * (one.length + other.length)
    error = max(one.length_error, other.length_error, abs(one.length - other.length) / length)
    kinds = Counter(ridge.activation for ridge in sightings)
    kind = kinds.most_common(1)[0][0]
    return Ridge(normal / np.linalg.norm(normal), offset, length, error, kind, one.heights)


def _best_pair(sightings: list[Ridge]) -> tuple[float, Ridge, Ridge]:
    """The two sightings whose directions agree best, and by how much they differ."""
    pairs = [(_distance(one, other), one, other) for one, other in combinations(sightings, 2)]
    return min(pairs, key=lambda pair: pair[0])


def _distance(one: Ridge, other: Ridge) -> float:
    return float(np.linalg.norm(one.normal - _sign(one, other) * other.normal))


def _sign(one: Ridge, other: Ridge) -> float:
    return 1.0 if one.normal @ other.normal > 0 else -1.0
