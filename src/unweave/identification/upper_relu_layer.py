"""The layer above a known first layer: with the first one peeled off, the rest is a shallow network.

On the values of the first layer, the rest of a network with two hidden layers is shallow. For relu these values
are positive, so its kinks are looked for along the edges of the orthant; for leaky relu every value is possible,
and the walk is that of any shallow network.
"""

import numpy as np

from unweave.arrays import Points, Values
from unweave.assembly.kinked import KinkedTerms
from unweave.assembly.signs import explain_kinks
from unweave.exceptions import StageFailed
from unweave.identification.candidates import Candidate, Judge, Start
from unweave.identification.kink_route import refined_with_signs
from unweave.identification.run import Run
from unweave.identification.verdicts import in_oracle_units
from unweave.measurements.walks.hyperplanes import hyperplanes_between, measure_sides
from unweave.measurements.walks.kinks import KinkWalk
from unweave.measurements.walks.lines import Line, line_between, random_line
from unweave.measurements.walks.orthants import edge_lines, scattered_around
from unweave.networks import Layer, Network
from unweave.oracles.domains import Box
from unweave.oracles.peeled import PeeledOracle
from unweave.oracles.standard import StandardOracle
from unweave.refinement import LevenbergMarquardt

# Size of the box of first-layer values, in units of the domain: neurons above switch at values of a few units,
# and between axes of the orthant only if the axes are longer.
SIZE = 30.0
# Steps of gradients, relative to the distance of the next kink.
STEP = 0.01
# Answers around the kink of a neuron, per unknown of it.
ANSWERS_PER_UNKNOWN = 3.0
# Lines in a space without end: those that show nothing new before it is enough, and the largest number.
QUIET_LINES, LINES = 2, 16
# Tolerance of signs relative to the terms: what rounding leaves of them after refinement, with room to spare.
SIGN_TOL = 1e-8
# Distance from the faces of the orthant, in half-widths: on them a line has no inside.
OFF_FACES = 1e-5


class UpperReluLayer:
    """The search for the second hidden layer and the output layer, and what it has found so far.

    Args:
        oracle: the whole network.
        first: its first layer, of full row rank and in the coordinates of `oracle`.
        rng: the randomness of the search.
        refine: how the upper layers are refined.
    """

    def __init__(
        self, oracle: StandardOracle, first: Layer, rng: np.random.Generator, refine: LevenbergMarquardt
    ) -> None:
        self._peeled = PeeledOracle(oracle, first, size=SIZE)
        self.run = Run(self._peeled, rng, lambda *_: None, activation=first.activation, neurons=None)
        self._first, self._probe = first, self.run.probe()
        self._judge = Judge(self._probe.answers, refine, self._probe.scale.noise)
        self._settings = KinkWalk(noise=self._probe.scale.noise, rounding=self._probe.rounding, step=STEP)
        self._terms = KinkedTerms.none(first.neurons, oracle.outputs)

    def search(self) -> Candidate:
        """Walk all edges and fit what was found.

        Raises:
            StageFailed: if nothing bends.
        """
        domain, neurons, rng = self.run.oracle.domain, self._first.neurons, self.run.rng_walk
        if isinstance(domain, Box):
            for line in edge_lines(domain, neurons, rng):
                self._walk(line)
            return self._fitted()
        quiet = 0
        for _ in range(LINES):
            before = len(self._terms.offsets)
            self._walk(random_line(domain, neurons, rng))
            quiet = quiet + 1 if len(self._terms.offsets) == before else 0
            if quiet == QUIET_LINES:
                break
        return self._fitted()

    def search_between(self, starts: Points, ends: Points) -> Candidate:
        """Walk through pairs of values of the first layer, and fit again."""
        inside = OFF_FACES - 1.0
        for start, end in zip(starts, ends, strict=True):
            pair = self._probe.oracle.to_standard(np.stack([start, end]))
            pair = np.clip(pair, inside * (1.0 - OFF_FACES * self.run.rng_walk.random(pair.shape)), -inside)
            self._walk(line_between(pair[0], pair[1], self.run.oracle.domain))
        return self._fitted()

    def network(self, candidate: Candidate) -> Network:
        """The upper layers as a function of the values of the first, without an affine part if signs remove it."""
        network, tolerance = candidate.network, max(SIGN_TOL, candidate.skip_tol)
        if network.skip is not None:
            explained = explain_kinks(network, relative_tol=tolerance, activation=self._first.activation)
            network = explained.network if explained.solutions == 1 else network
        return in_oracle_units(network, self._probe.oracle)

    def answers(self) -> tuple[Points, Values]:
        """All answers that were fitted, as answers of the whole network."""
        oracle, answers = self._probe.oracle, self._probe.answers
        values = oracle.center + oracle.half_width * answers.points
        return self._peeled.origins(values), oracle.offset + oracle.size * answers.values

    def _walk(self, line: Line) -> None:
        """Read the kinks of a line that are not known yet, and ask around them."""
        ask, rng = self._probe.oracle.query, self.run.rng_walk
        walked = self._settings(ask, line)
        points = line.points(np.array([kink.position for kink in walked.kinks]))
        known = self._terms.at(points, np.array([kink.width for kink in walked.kinks]))
        pieces = {side for index in np.flatnonzero(known < 0) for side in (int(index), int(index) + 1)}
        met = hyperplanes_between(measure_sides(ask, walked, self._settings, sorted(pieces)), walked)
        met = met.chosen([row for row, kink in enumerate(met.kinks) if known[kink] < 0])
        before = len(self._terms.offsets)
        self._terms = self._terms.extended(met)
        count = int(ANSWERS_PER_UNKNOWN * (self._first.neurons + 1 + self._probe.oracle.outputs))
        for kink in met.kinks if len(self._terms.offsets) > before else ():
            if isinstance(self.run.oracle.domain, Box):
                around = scattered_around(points[kink], count, rng)
            else:
                around = points[kink] + rng.standard_normal((count, len(points[kink])))
            self._probe.answers.keep(around, ask(around), are_spread=True)

    def _fitted(self) -> Candidate:
        if len(self._terms.offsets) == 0:
            raise StageFailed("above its first layer the function does not bend: the network is shallow.")
        answers = self._probe.answers
        network = self._terms.fitted(answers.points, answers.values)
        misfit = float(np.sqrt(np.mean((answers.values - network(answers.points)) ** 2)))
        error = float(np.max(self._terms.errors))
        return refined_with_signs(self.run, self._judge, Start(network, misfit), error=error)
