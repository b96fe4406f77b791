"""All ends of the subspace power method, duplicates included, as [fiedler, Alg. 4.1] collects them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.numerics import power_steps as kernel
from unweave.numerics.matrix_subspace import MatrixSubspace


@dataclass(frozen=True)
class PowerEnds:
    """Where independent ascents of ``Phi`` ended.

    Args:
        vectors: ends whose ``Phi`` is above the threshold, unit vectors with arbitrary signs.
        values: ``Phi`` of each.
        starts: number of ascents.
        unconverged: ascents that still moved after the last step (they are kept, as in [fiedler, Alg. 4.1]).
    """

    vectors: Float64[np.ndarray, "ends inputs"]
    values: Float64[np.ndarray, "ends"]
    starts: int
    unconverged: int

    @property
    def rejected_share(self) -> float:
        """Share of the ascents that ended below the threshold."""
        return 1.0 - len(self.vectors) / self.starts


@dataclass(frozen=True)
class ManyStartsPower:
    """Settings of the subspace power method with many simultaneous starts [fiedler, Alg. 4.1, lines 4 to 12].

    [fiedler] takes all steps from every start; here a start that has come to rest is left alone, which
    changes nothing but the time.

    Args:
        step: step size; ascent is proved up to 1, [fiedler, Sec. 4.4] computes with 1.5 to 2.
        steps: largest number of power steps.
        steps_per_round: steps between two looks at who has come to rest.
        residual_tol: stationarity residual at which a start has come to rest.
        threshold: smallest accepted ``Phi`` (beta of [fiedler, Alg. 4.1]).
    """

    step: float = 2.0
    steps: int = 10_000
    steps_per_round: int = 50
    residual_tol: float = 1e-9
    threshold: float = 0.5

    def __call__(self, subspace: MatrixSubspace, rng: np.random.Generator, *, starts: int) -> PowerEnds:
        """Ascend from `starts` uniform directions.

        Guarantees: a local maximiser from almost every start for steps up to 1 [fiedler, Thm. 2.5 with its
        condition read as ``step <= 1``]; that larger steps ascend too is experience.
        """
        points = rng.standard_normal((starts, subspace.inputs))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        values, moving = np.zeros(starts), np.arange(starts)
        for _ in range(0, self.steps, self.steps_per_round):
            if len(moving) == 0:
                break
            ascent = kernel.ascend(
                points[moving], subspace.basis, is_complement=False, step=self.step, steps=self.steps_per_round
            )
            points[moving], values[moving] = ascent.points, 1.0 - ascent.defects
            moving = moving[ascent.residuals > self.residual_tol]
        accepted = values > self.threshold
        return PowerEnds(points[accepted], values[accepted], starts, len(moving))
