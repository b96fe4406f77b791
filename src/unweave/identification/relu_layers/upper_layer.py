"""Lines and points in the orthant of positive values.

A hyperplane with weights of both signs separates the far ends of two axes of the orthant, and one with weights
of one sign cuts off its corner. So lines between neighbours in a round of all axes meet the first kind at least
twice and rays from the corner meet the second kind, while lines between random points of a box meet only
hyperplanes near its middle.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU
from unweave.arrays import Atoms, Points, Values, Vector
from unweave.exceptions import StageFailed
from unweave.identification.probing import Probe, Probing
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.relu_layers.peeled_oracle import PeeledReluOracle
from unweave.identification.session import Session
from unweave.identification.walks.hyperplanes import hyperplanes_between, measure_sides
from unweave.identification.walks.kinked_terms import KinkedTerms, refined_with_signs
from unweave.identification.walks.kinks import KinkSearch
from unweave.identification.walks.lines import Line, random_line
from unweave.networks.network import Layer, Network
from unweave.networks.signs import explain_kinks
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.oracles.oracle import Box
from unweave.oracles.views import in_oracle_units


@dataclass(frozen=True, kw_only=True)
class Orthant:
    """Where lines and points lie among positive values. Distances are values, in units of the domain.

    Args:
        size: length of the rays along every axis, and of the box of values that are asked at random; chosen.
        axis: length of the axes: a neuron with one weight of its sign, and that a thousandth of the others, switches
            only so far out on that axis.
        rays: from the corner, in different directions. Each meets all hyperplanes that cut the corner off within its
            length; the second shows those whose kinks are too close together to be read on the first.
        beside: how close lines between the axes are to them; chosen. And how near to the corner rays begin, relative to
            their length: what cuts off less is not met.
        beside_plane: standard deviation of the distance of points from the hyperplane that they are asked for: less
            than the values of about one that they have elsewhere, so that the hyperplane decides where they are.
    """

    size: float = 30.0
    axis: float = 3_000.0
    rays: int = 2
    beside: tuple[float, float] = (0.3, 1e-3)
    beside_plane: float = 0.5

    def edge_lines(self, inputs: int, rng: np.random.Generator) -> Iterator[Line]:
        """A round of all axes in random order, then rays from the corner."""
        order = rng.permutation(inputs)
        for pair in zip(order, np.roll(order, 1), strict=True) if inputs > 1 else ():
            ends = self.beside[0] * rng.random((2, inputs))
            ends[[0, 1], pair] = self.axis * rng.uniform(0.5, 1.0, 2)
            yield segment(ends[0], ends[1])
        for _ in range(self.rays):
            yield segment(self.beside[1] * self.size * rng.random(inputs), self.size * rng.random(inputs))

    def points_beside(self, normal: Vector, offset: float, count: int, rng: np.random.Generator) -> Points:
        """Points on both sides of a hyperplane, as near to the corner as it comes.

        Random points are moved along the axis that leads fastest across, away from the corner; if there is no such
        axis they are moved towards it.
        """
        points = np.abs(rng.standard_normal((count, len(normal))))
        targets = self.beside_plane * rng.standard_normal(count)
        missing = targets - offset - points @ normal
        steepest = np.where(missing > 0.0, np.argmax(normal), np.argmin(normal))
        slopes = normal[steepest]
        is_possible = missing * slopes > 0.0
        rows = np.flatnonzero(is_possible)
        points[rows, steepest[rows]] += missing[rows] / slopes[rows]
        # With weights of one sign the hyperplane cuts the corner off: a factor leads to it, and as far beyond.
        factors = (-offset / (points[~is_possible] @ normal)) * rng.uniform(0.0, 2.0, np.count_nonzero(~is_possible))
        points[~is_possible] *= np.maximum(factors, 0.0)[:, None]
        return points


def segment(start: Vector, end: Vector) -> Line:
    """The line from one point to another, and no farther."""
    length = float(np.linalg.norm(end - start))
    return Line(start, (end - start) / length, unit=length, first=0.0, last=np.pi / 4)


@dataclass(frozen=True, kw_only=True)
class UpperRules:
    """Settings of the search for a second layer.

    Args:
        orthant: where it looks among the values of the first layer.
        step: of gradients, relative to the distance of the next kink, as for the first layer.
        answers_per_unknown: around the kink of a neuron: three equations per unknown; chosen.
        quiet_lines: in a space without end, that show nothing new before it is enough; chosen.
        lines: the largest number of them; chosen, to end the search.
        sign_tols: tolerances of signs relative to the terms, tried in turn; chosen: fresh answers of the whole network
            judge the choice in the end.
        last_steps: of the fit after the first layer was read exactly. It begins so near that the first step leaves
            rounding alone (errors of 784-32-32-1: 2.1e-12 after one step, and after any more).
        largest_misfit: what a network without an affine part may miss, relative to the spread, for errors of the first
            layer alone: as much as `TwoLayerSearch` allows of fresh answers.
    """

    orthant: Orthant = field(default_factory=Orthant)
    step: float = 0.01
    answers_per_unknown: float = 3.0
    quiet_lines: int = 2
    lines: int = 16
    sign_tols: tuple[float, ...] = (1e-8, 1e-6, 1e-4)
    last_steps: int = 2
    largest_misfit: float = 1e-8


class UpperReluLayer:
    """The search for the second hidden layer and the output layer, and what it has found so far.

    Args:
        whole: the whole network.
        first: its first layer, of full row rank and in the same coordinates.
        rng: the randomness of the search.
        refine: how the upper layers are refined.
        first_error: of the hyperplanes of the first layer.
        rules: where it looks, and what it believes.
    """

    def __init__(
        self,
        whole: Probe,
        first: Layer,
        rng: np.random.Generator,
        refine: LevenbergMarquardt,
        *,
        first_error: float,
        rules: UpperRules,
    ) -> None:
        self._rules, self._orthant = rules, rules.orthant
        self._peeled = PeeledReluOracle(whole.oracle, first, size=self._orthant.size)
        self._has_corner = isinstance(self._peeled.domain, Box)
        self.session = Session(self._peeled, rng)
        self._first, self._probe = first, Probing()(self.session)
        # The same coordinates, as far as the axes reach.
        far = PeeledReluOracle(whole.oracle, first, size=self._orthant.axis)
        self._oracle = replace(self._probe.oracle, oracle=far)
        self._refine, self._noise = refine, float(np.max(whole.scale.noise / self._oracle.size))
        noise = max(self._probe.scale.noise, self._noise)
        if not self._has_corner:
            # Where values change their sign the answers bend beside the place that an inexact first layer tells, by
            # its error times the size of the inputs that small values below zero need.
            noise = max(noise, first_error / abs(float(first.activation(np.array([-1.0]), 1)[0])))
        self._refiner = Refiner(self._probe.answers, refine, noise)
        # Inputs that give the values are larger than the values, and so is their rounding.
        rounding = self._probe.rounding * float(np.linalg.cond(first.weights))
        self._settings = KinkSearch(noise=noise, rounding=rounding, step=self._rules.step)
        self._terms = KinkedTerms.none(first.neurons, whole.oracle.outputs)

    def walk(self) -> None:
        """Walk where every neuron is met: along the edges of the orthant, or on lines through all of space."""
        neurons, rng = self._first.neurons, self.session.rng_walk
        if self._has_corner:
            for line in self._orthant.edge_lines(neurons, rng):
                self._walk(self._in_standard(line))
            return
        quiet = 0
        for _ in range(self._rules.lines):
            before = len(self._terms.offsets)
            self._walk(random_line(self.session.oracle.domain, neurons, rng))
            quiet = quiet + 1 if len(self._terms.offsets) == before else 0
            if quiet == self._rules.quiet_lines:
                break

    def walk_between(self, starts: Points, ends: Points) -> None:
        """Walk between values of the first layer."""
        for start, end in zip(starts, ends, strict=True):
            self._walk(self._in_standard(segment(start, end)))

    def rough(self) -> Network:
        """What the kinks tell, before refinement, as a function of the values of the first layer.

        Raises:
            StageFailed: if no kink was read.
        """
        return in_oracle_units(self._rough(), self._probe.oracle)

    def refined(self) -> Candidate:
        """The same network refined, with the signs that leave no affine part where there are some.

        Raises:
            StageFailed: if no kink was read.
        """
        network, answers = self._rough(), self._probe.answers
        misfit = float(np.sqrt(np.mean((answers.values - network(answers.points)) ** 2)))
        error = float(np.max(self._terms.errors))
        candidate = refined_with_signs(
            self.session, self._refiner, Start(network, misfit), error=error, activation=self._first.activation
        )
        if candidate.network.skip is not None:
            candidate = self._without_skip(candidate)
        if not candidate.certificate.is_isolated:
            # Twice as many answers tell more often than not.
            self._ask_beside(range(len(self._terms.offsets)))
            candidate = self._refiner.again(candidate, candidate.network)
        return candidate

    def network(self, candidate: Candidate) -> Network:
        """The upper layers as a function of the values of the first."""
        return in_oracle_units(candidate.network, self._probe.oracle)

    def fitted(self, candidate: Candidate, first: Layer) -> Network:
        """The upper layers fitted again, with what a better reading of the first makes of the same inputs."""
        oracle, answers = self._probe.oracle, self._probe.answers
        inputs, _ = self.answers()
        values = oracle.to_standard(first.activation(first.preactivations(inputs)))
        fit = replace(self._refine, steps=self._rules.last_steps)(
            candidate.network, values, answers.values, floor=self._noise
        )
        return in_oracle_units(fit.network, oracle)

    def answers(self) -> tuple[Points, Values]:
        """All answers that were fitted, as answers of the whole network."""
        oracle, answers = self._probe.oracle, self._probe.answers
        values = oracle.center + oracle.half_width * answers.points
        return self._peeled.origins(values), oracle.offset + oracle.size * answers.values

    def _in_standard(self, line: Line) -> Line:
        """A line of values in standard coordinates, which have the same unit along all axes."""
        base = self._oracle.to_standard(line.base[None])[0]
        return replace(line, base=base, unit=line.unit / float(self._oracle.half_width[0]))

    def _walk(self, line: Line) -> None:
        """Read the kinks of a line that are not known yet, and ask around them."""
        ask = self._oracle.query
        walked = self._settings(ask, line)
        points = line.points(np.array([kink.position for kink in walked.kinks]))
        known = self._terms.at(points, np.array([kink.width for kink in walked.kinks]))
        pieces = {side for index in np.flatnonzero(known < 0) for side in (int(index), int(index) + 1)}
        met = hyperplanes_between(measure_sides(ask, walked, self._settings, sorted(pieces)), walked, self._settings)
        met = met.chosen([row for row, kink in enumerate(met.kinks) if known[kink] < 0])
        before = len(self._terms.offsets)
        self._terms = self._terms.extended(met)
        self._ask_beside(range(before, len(self._terms.offsets)))

    def _ask_beside(self, numbers: Iterable[int]) -> None:
        """Ask on both sides of the hyperplanes of some terms."""
        for number in numbers:
            beside = self._points_beside(self._terms.normals[number], float(self._terms.offsets[number]))
            self._probe.answers.keep(beside, self._oracle.query(beside), are_spread=True)

    def _points_beside(self, normal: Vector, offset: float) -> Points:
        """Points on both sides of a hyperplane."""
        count, rng = (
            int(self._rules.answers_per_unknown * (len(normal) + 1 + self._oracle.outputs)),
            self.session.rng_walk,
        )
        if not self._has_corner:
            points = rng.standard_normal((count, len(normal)))
            return points + (rng.standard_normal(count) - points @ normal - offset)[:, None] * normal
        center, half_width = self._oracle.center, self._oracle.half_width
        values = self._orthant.points_beside(normal, float(half_width[0] * offset - normal @ center), count, rng)
        return (np.minimum(values, self._orthant.axis) - center) / half_width

    def _rough(self) -> Network:
        if len(self._terms.offsets) == 0:
            raise StageFailed("no kink above the first layer could be read: none, or none that is clear.")
        answers = self._probe.answers
        return self._terms.fitted(answers.points, answers.values)

    def _without_skip(self, candidate: Candidate) -> Candidate:
        """Signs that leave no affine part, where errors of the first layer have hidden them."""
        for tolerance in self._rules.sign_tols:
            explained = explain_kinks(candidate.network, relative_tol=tolerance, activation=self._first.activation)
            if explained.solutions == 1:
                without = self._refiner.again(candidate, explained.network)
                return without if without.certificate.rms_error <= self._rules.largest_misfit else candidate
        return candidate


def join(first: Layer, upper: Network) -> Network:
    """The network that applies `upper` to the values of `first`.

    Under relu these values are positive, so that neurons with positive weights are linear there: an affine part
    of `upper` becomes neurons that are always active.

    Raises:
        StageFailed: if `upper` has an affine part and the first layer is not one of relu.
    """
    hidden, output = upper.layers
    if upper.skip is None:
        return Network((first, hidden, output))
    if first.activation != RELU or hidden.activation != RELU:
        raise StageFailed(f"an affine part above a layer of {first.activation} can't be written without a skip.")
    always, outgoing = _positive_factors(upper.skip)
    return Network(
        (
            first,
            Layer(np.vstack([hidden.weights, always]), np.append(hidden.biases, np.zeros(len(always))), RELU),
            Layer(np.hstack([output.weights, outgoing]), output.biases, output.activation),
        )
    )


def _positive_factors(
    slopes: Float64[np.ndarray, "outputs inputs"],
) -> tuple[Atoms, Float64[np.ndarray, "outputs neurons"]]:
    """Slopes as a product of outgoing weights with positive ones, by few neurons."""
    outputs, inputs = slopes.shape
    if 2 * outputs >= inputs:
        return np.eye(inputs), slopes
    parts, signs = np.vstack([np.maximum(slopes, 0.0), np.maximum(-slopes, 0.0)]), np.eye(outputs)
    is_used = np.any(parts > 0.0, axis=1)
    return parts[is_used], np.hstack([signs, -signs])[:, is_used]
