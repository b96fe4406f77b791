"""The layer above a known first layer: with the first one peeled off, the rest is a shallow network.

On the values of the first layer, the rest of a network with two hidden layers is shallow. For relu these values
are positive, so its kinks are looked for along the edges of the orthant; for leaky relu every value is possible,
and the walk is that of any shallow network.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from unweave.arrays import Points, Values, Vector
from unweave.exceptions import StageFailed
from unweave.identification.reasons import in_oracle_units
from unweave.identification.refiner import Candidate, Judge, Start
from unweave.identification.relu_layers.orthants import edge_lines, points_beside, segment
from unweave.identification.session import Probe, Run
from unweave.identification.walks.hyperplanes import hyperplanes_between, measure_sides
from unweave.identification.walks.kink_signs import refined_with_signs
from unweave.identification.walks.kinked_terms import KinkedTerms
from unweave.identification.walks.kinks import KinkWalk
from unweave.identification.walks.lines import Line, random_line
from unweave.networks.network import Layer, Network
from unweave.networks.signs import explain_kinks
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.oracles.domains import Box
from unweave.oracles.peeled_relu import PeeledReluOracle

# Size of the box of first-layer values that are asked at random, in units of the domain.
SIZE = 30.0
# Length of the axes of the orthant: a neuron with one small weight of its sign switches only far out on that axis.
# Lines between the axes are this close to them.
AXIS, BESIDE_AXIS = 3_000.0, 0.3
# Steps of gradients, relative to the distance of the next kink.
STEP = 0.01
# Answers around the kink of a neuron, per unknown of it.
ANSWERS_PER_UNKNOWN = 3.0
# Lines in a space without end: those that show nothing new before it is enough, and the largest number.
QUIET_LINES, LINES = 2, 16
# Tolerances of signs relative to the terms, and what a network may miss for errors of the first layer alone. Fresh
# answers of the whole network judge it in the end.
SIGN_TOLS = (1e-8, 1e-6, 1e-4)
LARGEST_MISFIT = 1e-8


class UpperReluLayer:
    """The search for the second hidden layer and the output layer, and what it has found so far.

    Args:
        whole: the whole network.
        first: its first layer, of full row rank and in the same coordinates.
        rng: the randomness of the search.
        refine: how the upper layers are refined.
        first_error: of the hyperplanes of the first layer.
    """

    def __init__(
        self,
        whole: Probe,
        first: Layer,
        rng: np.random.Generator,
        refine: LevenbergMarquardt,
        *,
        first_error: float,
    ) -> None:
        self._peeled = PeeledReluOracle(whole.oracle, first, size=SIZE)
        self._has_corner = isinstance(self._peeled.domain, Box)
        self.run = Run(self._peeled, rng, lambda *_: None, activation=first.activation, neurons=None)
        self._first, self._probe = first, self.run.probe()
        # The same coordinates, as far as the axes reach.
        self._oracle = replace(self._probe.oracle, oracle=PeeledReluOracle(whole.oracle, first, size=AXIS))
        noise = max(self._probe.scale.noise, float(np.max(whole.scale.noise / self._oracle.size)))
        if not self._has_corner:
            # Where values change their sign the answers bend beside the place that an inexact first layer tells, by
            # its error times the size of the inputs that small values below zero need.
            noise = max(noise, first_error / abs(float(first.activation(np.array([-1.0]), 1)[0])))
        self._judge = Judge(self._probe.answers, refine, noise)
        # Inputs that give the values are larger than the values, and so is their rounding.
        rounding = self._probe.rounding * float(np.linalg.cond(first.weights))
        self._settings = KinkWalk(noise=noise, rounding=rounding, step=STEP)
        self._terms = KinkedTerms.none(first.neurons, whole.oracle.outputs)

    def walk(self) -> None:
        """Walk where every neuron is met: along the edges of the orthant, or on lines through all of space."""
        neurons, rng = self._first.neurons, self.run.rng_walk
        if self._has_corner:
            for line in edge_lines(neurons, rng, axis=AXIS, ray=SIZE, beside=BESIDE_AXIS):
                self._walk(self._in_standard(line))
            return
        quiet = 0
        for _ in range(LINES):
            before = len(self._terms.offsets)
            self._walk(random_line(self.run.oracle.domain, neurons, rng))
            quiet = quiet + 1 if len(self._terms.offsets) == before else 0
            if quiet == QUIET_LINES:
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
        candidate = refined_with_signs(self.run, self._judge, Start(network, misfit), error=error)
        if candidate.network.skip is not None:
            candidate = self._without_skip(candidate)
        if not candidate.certificate.is_isolated:
            # Twice as many answers tell more often than not.
            self._ask_beside(range(len(self._terms.offsets)))
            candidate = self._judge.again(candidate, candidate.network)
        return candidate

    def network(self, candidate: Candidate) -> Network:
        """The upper layers as a function of the values of the first."""
        return in_oracle_units(candidate.network, self._probe.oracle)

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
        met = hyperplanes_between(measure_sides(ask, walked, self._settings, sorted(pieces)), walked)
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
        count, rng = int(ANSWERS_PER_UNKNOWN * (len(normal) + 1 + self._oracle.outputs)), self.run.rng_walk
        if not self._has_corner:
            points = rng.standard_normal((count, len(normal)))
            return points + (rng.standard_normal(count) - points @ normal - offset)[:, None] * normal
        center, half_width = self._oracle.center, self._oracle.half_width
        values = points_beside(normal, float(half_width[0] * offset - normal @ center), count, rng)
        return (np.minimum(values, AXIS) - center) / half_width

    def _rough(self) -> Network:
        if len(self._terms.offsets) == 0:
            raise StageFailed("no kink above the first layer could be read: none, or none that is clear.")
        answers = self._probe.answers
        return self._terms.fitted(answers.points, answers.values)

    def _without_skip(self, candidate: Candidate) -> Candidate:
        """Signs that leave no affine part, where errors of the first layer have hidden them."""
        for tolerance in SIGN_TOLS:
            explained = explain_kinks(candidate.network, relative_tol=tolerance, activation=self._first.activation)
            if explained.solutions == 1:
                without = self._judge.again(candidate, explained.network)
                return without if without.certificate.rms_error <= LARGEST_MISFIT else candidate
        return candidate
