"""The lowest layer that was found, with the evidence that its rows are exact and complete."""

from dataclasses import dataclass

import numpy as np

from unweave.arrays import PerNeuron
from unweave.networks.network import Layer
from unweave.result import Diagnostic, at_least, at_most


@dataclass(frozen=True, eq=False)
class PlateauLayer:
    """Hyperplanes of the lowest layer, in the coordinates that were asked.

    Args:
        layer: unit weights that point away from the plateau they were seen from, and thresholds as biases.
        errors: expected error of every row.
        lines: number of lines walked.
        quiet_lines: lines at the end that met no other hyperplane.
        is_complete: whether there is no evidence of another row.
        checks: the assumptions that were checked.
        parallel_tol: difference of a cosine from 1 up to which rows have one direction: as for rows that are exact.
    """

    layer: Layer
    errors: PerNeuron
    lines: int
    quiet_lines: int
    is_complete: bool
    checks: tuple[Diagnostic, ...]
    parallel_tol: float = 1e-10

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.layer.neurons

    @property
    def is_parallel(self) -> bool:
        """Whether there are several rows, all with one direction."""
        overlaps = np.abs(self.layer.weights @ self.layer.weights[0]) if self.rows else np.empty(0)
        return self.rows > 1 and bool(np.all(overlaps > 1.0 - self.parallel_tol))


def rows_are_exact(
    error: float, *, unread: int, exact_error: float = 1e-10, rough_error: float = 1e-6
) -> tuple[Diagnostic, ...]:
    """How good the rows are, and how many edges were not.

    Args:
        error: the largest one that is expected of a row.
        unread: edges that could not be read.
        exact_error: up to which rows count as exact: far above the 1.5e-12 that readings had at most (`FacetReading`).
        rough_error: from which on they are of no use; chosen.
    """
    exact = at_most(
        "largest expected error of a row of the lowest layer",
        error,
        exact_error,
        "a unit hardly changes the answers, or its hyperplane is seen only near others or far out",
        weak=rough_error,
    )
    all_read = at_most(
        "edges of plateaus that could not be read",
        unread,
        0.0,
        "hyperplanes close together; another line may have shown them apart",
        weak=float("inf"),
    )
    return exact, all_read


def rows_are_all(*, elsewhere: int, dependence: int, mixed: int, quiet: int, wanted: int) -> tuple[Diagnostic, ...]:
    """Whether other rows are missing.

    Args:
        elsewhere: hyperplanes that were read and are not those of rows.
        dependence: places where answers change along directions that no row sees.
        mixed: fresh answers that differ from most others on the same side of all rows.
        quiet: lines at the end that met nothing new.
        wanted: lines that must meet nothing new.
    """
    once = at_most(
        "hyperplanes that were read and not seen again elsewhere",
        elsewhere,
        0.0,
        "they are left out: they end where upper layers switch, or other units hide them almost everywhere",
        weak=float("inf"),
    )
    unseen = at_most(
        "places where answers change in directions that no row sees",
        dependence,
        0.0,
        "a row is missing that nothing shows where the others are off, such as one that acts only in products",
    )
    same_sides = at_most(
        "fresh answers that differ from others on the same side of all rows",
        mixed,
        0.0,
        "boundaries are curved, or rows are missing",
    )
    ends_quiet = at_least(
        "lines at the end that met no other hyperplane",
        quiet,
        wanted,
        "others may be missing: raise the budget, or change the scale of the domain",
        weak=1.0,
    )
    return once, unseen, same_sides, ends_quiet
