"""Find the rank-one matrices of a matrix subspace: the directions of the neurons.

The default form of the subspace power method. Restart rounds first ascend with the found atoms
projected out, which leads away from what is known, and then in the whole span; a few power steps
choose an atom, damped Gauss-Newton steps reach it to rounding. The fixed schedule of [fiedler] is
in `reproduce/fiedler/`.
"""

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from jaxtyping import Int

from unweave.arrays import Atoms, PerNeuron, pack_squares
from unweave.numerics import power_steps as kernel
from unweave.numerics.matrix_subspace import MatrixSubspace


@dataclass(frozen=True)
class Directions:
    """Unit vectors whose squares lie in a matrix subspace, up to sign, and how they were found.

    Args:
        atoms: one direction per neuron.
        defects: ``1 - Phi`` of each, zero for an exact member of the span.
        residuals: stationarity residual of each.
        hits: how many starts ended at each.
        rank: number of atoms that the subspace must hold.
        starts: number of ascents.
        rejected: ascents that converged to something that is no atom.
        unconverged: ascents that did not converge.
        defect_tol: largest accepted defect.
    """

    atoms: Atoms
    defects: PerNeuron
    residuals: PerNeuron
    hits: Int[np.ndarray, "neurons"]
    rank: int
    starts: int
    rejected: int
    unconverged: int
    defect_tol: float

    @property
    def is_complete(self) -> bool:
        """Whether as many atoms were found as the subspace has dimensions."""
        return len(self.atoms) == self.rank


@dataclass(frozen=True)
class SubspacePower:
    """Settings of the default subspace power method.

    Args:
        step: step size of the power iteration; 2 is the choice of [fiedler].
        power_steps: power steps in the whole span, before Gauss-Newton takes over.
        residual_tol: stationarity residual at which an ascent has converged.
        rounds_without_news: restart rounds without a new atom after which the search ends.
        polishing: damping and judgement of the Gauss-Newton steps.
        deflated_steps: power steps with the found atoms projected out, before those in the whole span. Chosen: half as
            many again as `power_steps`, because the span without the atoms holds no exact atom to be drawn to.
        newton_steps: largest number of Gauss-Newton steps. Chosen: a bound for starts that do not converge, far above
            the few that quadratic convergence needs.
    """

    step: float = 2.0
    power_steps: int = 20
    residual_tol: float = 1e-11
    rounds_without_news: int = 6
    polishing: kernel.SphereRules = kernel.RULES
    deflated_steps: int = 30
    newton_steps: int = 90

    def __call__(self, subspace: MatrixSubspace, rng: np.random.Generator) -> Directions:
        """Find the atoms of `subspace`.

        Assumes: the atoms are independent, and fewer than D(D-1)/2 or linearly independent as
        vectors; generic subspaces then hold no other rank-one matrix [fiedler, Thm. 2.5].
        Guarantees: each returned atom is a converged maximiser whose defect the measured subspace
        error explains; completeness is a count, see `is_complete`. Termination is heuristic.
        """
        found = _Collection(subspace)
        quiet_rounds = 0
        while len(found.atoms) < subspace.rank and quiet_rounds < self.rounds_without_news:
            missing = subspace.rank - len(found.atoms)
            starts = _random_directions(rng, max(8, missing + missing // 4), subspace.inputs)
            if len(found.atoms):
                columns, is_complement = _smaller(*_without(subspace, found.atoms))
                starts = kernel.ascend(
                    starts, columns, is_complement=is_complement, step=self.step, steps=self.deflated_steps
                ).points
            columns, is_complement = _smaller(subspace.basis, subspace.complement)
            ends = self.climb(starts, columns, is_complement=is_complement)
            news = found.add(ends, residual_tol=self.residual_tol)
            quiet_rounds = 0 if news else quiet_rounds + 1
        return found.directions()

    def climb(
        self, starts: np.ndarray, columns: np.ndarray, *, is_complement: bool, by: ModuleType = kernel
    ) -> kernel.Ascent:
        """Ascend from all starts to maximisers, with the steps `by` that module."""
        warm = by.ascend(starts, columns, is_complement=is_complement, step=self.step, steps=self.power_steps)
        return by.polish(
            warm.points,
            columns,
            is_complement=is_complement,
            residual_tol=self.residual_tol,
            steps=self.newton_steps,
            rules=self.polishing,
        )


def accepted_defect(
    subspace: MatrixSubspace, *, margin: float = 50.0, least: float = 1e-11, largest: float = 0.1
) -> float:
    """Largest ``1 - Phi`` of a true atom: at most the squared subspace error, with a margin. Heuristic.

    Args:
        subspace: which knows its error.
        margin: times the squared error. Chosen: a factor of 7 in the error, which is only known through the gap of the
            singular values.
        least: of spans without error. Chosen: far above the rounding of ``1 - Phi``.
        largest: of spans with large errors. Chosen: 1 is a direction that has nothing to do with the span.
    """
    return float(np.clip(margin * subspace.error**2, least, largest))


def merging_angle(subspace: MatrixSubspace, *, margin: float = 3.0, least: float = 1e-5, largest: float = 0.3) -> float:
    """Distance below which two maximisers are the same atom: well above their error. Heuristic.

    Args:
        subspace: which knows its error.
        margin: times the error. Chosen: two maximisers with an error each, and half as much again.
        least: of spans without error. Chosen: far above where ascents end.
        largest: of spans with large errors. Chosen: 17 degrees, so that different neurons rarely count as one.
    """
    return float(np.clip(margin * subspace.error, least, largest))


class _Collection:
    """The distinct atoms found so far. Lives inside one call only."""

    def __init__(self, subspace: MatrixSubspace) -> None:
        self._subspace = subspace
        self._angle = merging_angle(subspace)
        self._defect_tol = accepted_defect(subspace)
        self.atoms = np.empty((0, subspace.inputs))
        self._defects: list[float] = []
        self._residuals: list[float] = []
        self._hits: list[int] = []
        self._starts = self._rejected = self._unconverged = 0

    def add(self, ascent: kernel.Ascent, *, residual_tol: float) -> int:
        """Keep the converged members of the span, merge what is known, and count the new ones."""
        before = len(self.atoms)
        converged = ascent.residuals <= residual_tol
        accepted = converged & (ascent.defects <= self._defect_tol)
        self._starts += len(ascent.points)
        self._unconverged += int(np.count_nonzero(~converged))
        self._rejected += int(np.count_nonzero(converged & ~accepted))
        order = np.flatnonzero(accepted)[np.argsort(ascent.defects[accepted])]
        closeness = 1.0 - 0.5 * self._angle**2
        for index in order:
            point = ascent.points[index]
            overlaps = np.abs(self.atoms @ point)
            nearest = int(np.argmax(overlaps)) if len(overlaps) else -1
            if nearest >= 0 and overlaps[nearest] > closeness:
                self._hits[nearest] += 1
                continue
            self.atoms = np.vstack([self.atoms, point])
            self._defects.append(float(ascent.defects[index]))
            self._residuals.append(float(ascent.residuals[index]))
            self._hits.append(1)
        return len(self.atoms) - before

    def directions(self) -> Directions:
        # More atoms than dimensions cannot all be right: the best fitting ones stay.
        keep = np.argsort(np.array(self._defects), kind="stable")[: self._subspace.rank].astype(int)
        return Directions(
            atoms=self.atoms[keep],
            defects=np.array(self._defects)[keep],
            residuals=np.array(self._residuals)[keep],
            hits=np.array(self._hits, dtype=np.int64)[keep],
            rank=self._subspace.rank,
            starts=self._starts,
            rejected=self._rejected,
            unconverged=self._unconverged,
            defect_tol=self._defect_tol,
        )


def _random_directions(rng: np.random.Generator, count: int, inputs: int) -> Atoms:
    vectors = rng.standard_normal((count, inputs))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _smaller(basis: np.ndarray, complement: np.ndarray) -> tuple[np.ndarray, bool]:
    """The cheaper of the two ways to give a subspace; an empty complement would leave nothing to project."""
    is_complement = 0 < complement.shape[1] < basis.shape[1]
    return (complement, True) if is_complement else (basis, False)


def _without(subspace: MatrixSubspace, atoms: Atoms) -> tuple[np.ndarray, np.ndarray]:
    """Basis and complement of the part of the span that is orthogonal to the atoms' squares."""
    inside = subspace.basis.T @ pack_squares(atoms).T
    rotation = np.linalg.qr(inside, mode="complete")[0]
    taken = subspace.basis @ rotation[:, : len(atoms)]
    return subspace.basis @ rotation[:, len(atoms) :], np.hstack([subspace.complement, taken])
