"""The last fit of a relu network to noisy labels: to all rows, read in passes, however many there are."""

from dataclasses import dataclass, replace

import numpy as np

from unweave.arrays import Points
from unweave.learn.relu_network.candidates import Finisher, JudgedNetwork
from unweave.learn.relu_network.evidence import errors_by_system
from unweave.learn.relu_network.pattern_fit import PatternSystem, changed, pattern_system
from unweave.learn.relu_network.units import unknowns_of
from unweave.networks.network import Network
from unweave.samples.hermite.inputs import CoordinateStatistic
from unweave.samples.sources import Labels, Source
from unweave.samples.sums import Arrays, Engine, HalfRows, accumulate


@dataclass(frozen=True, eq=False)
class SummedSystem:
    """Normal equations of a network over all rows.

    Args:
        system: the equations.
        squares: sum of the squares that the network leaves.
        rows: how many there are.
    """

    system: PatternSystem
    squares: float
    rows: int


@dataclass(frozen=True, eq=False)
class PatternSums(CoordinateStatistic[SummedSystem]):
    """Normal equations in slopes and constants, within the activation pattern of a network.

    Cost per row: the square of the unknowns. Memory: as many numbers per half.

    Args:
        coordinates: those of the network.
        network: shallow relu network with one output.
        spread: unit of the labels.
    """

    network: Network
    spread: float

    @property
    def features(self) -> int:
        """Numbers that are computed from a row."""
        return max(unknowns_of(self.network), 1)

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:  # noqa: ARG002 - both halves alike
        """Products of the columns of the Jacobian with each other and with what is left, and squares of that."""
        rows = np.ascontiguousarray(self.coordinates.rows_of(points).T)
        values = (labels / self.spread)[:, None]
        system = pattern_system(self.network, rows, values)
        return system.gram, system.products, np.array([np.sum((values - self.network(rows)) ** 2)])

    def moments_from(self, sums: Arrays, rows: HalfRows) -> SummedSystem:
        """The equations as they were summed."""
        gram, products, squares = sums
        return SummedSystem(PatternSystem(gram, products), float(squares[0]), int(rows.sum()))


@dataclass(frozen=True, kw_only=True)
class AllRowsFit:
    """Settings of the fit.

    Args:
        steps: of Gauss-Newton at most, each of which reads all rows once. The fit to the rows in memory is as near as
            noise lets it be, so that the first step does nearly all; others are for rows that change their pattern.
        least_gain: of the squares, in units of the square of the noise, below which a further step is not worth a pass:
            parameters that are off by a third of their standard error together cost that.
    """

    steps: int = 4
    least_gain: float = 0.1

    def __call__(
        self, candidate: JudgedNetwork, source: Source, finisher: Finisher, *, spread: float, engine: Engine | None
    ) -> JudgedNetwork:
        """Fit a network that was fitted to some rows to all of them.

        Args:
            candidate: of noisy labels.
            source: all rows that may be fitted.
            finisher: has judged the candidate, and knows coordinates and limits.
            spread: unit of the labels.
            engine: where rows are summed; this process if None.

        Guarantees: never larger squares on all rows.

        The test whether noise is all that is left stays the one of the candidate: it does not depend, to first order,
        on small changes of the parameters, whose effects are taken out of it.
        """
        network, current = candidate.network, self._summed(candidate.network, source, finisher, spread, engine)
        fraction = 1.0
        for _ in range(self.steps):
            moved = changed(network, fraction * current.system.step())
            after = self._summed(moved, source, finisher, spread, engine)
            if not after.squares < current.squares:
                fraction /= 2.0
                continue
            gain = (current.squares - after.squares) / (after.squares / after.rows)
            network, current = moved, after
            if gain < self.least_gain:
                break
        noise = float(np.sqrt(current.squares / max(current.rows - unknowns_of(network), 1)))
        errors = errors_by_system(network, current.system, noise=noise, coordinates=finisher.coordinates)
        is_seen = finisher.seen(network, errors, is_exact=False)
        return replace(candidate, network=network, noise=noise, errors=errors, is_seen=is_seen, rows=current.rows)

    def _summed(
        self, network: Network, source: Source, finisher: Finisher, spread: float, engine: Engine | None
    ) -> SummedSystem:
        sums = PatternSums(finisher.coordinates, network, spread)
        return accumulate(source, sums, engine=engine).finalise().whole
