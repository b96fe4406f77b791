"""[fiedler, Alg. 4.1]: Hessians near a base point, their span, and its rank-one matrices by power steps."""

import time
from dataclasses import dataclass, field
from math import ceil, log

import numpy as np

from unweave.arrays import PackedHessians, Points
from unweave.exceptions import StageFailed
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.reproduce.fiedler.deep_labels import Architecture, EntangledRecovery
from unweave.reproduce.fiedler.derivative_sources import DerivativeSource
from unweave.reproduce.fiedler.power_ends import ManyStartsPower


@dataclass(frozen=True)
class EntangledSearch:
    """Settings of [fiedler, Alg. 4.1]; the defaults are those of [fiedler, Sec. 4.4].

    Args:
        hessians_per_neuron: points for Hessians near the base point, per neuron.
        spread: root mean square distance of these points to the base point.
        starts_factor: ascents of the power method, per ``m log m`` of m neurons.
        power: the subspace power method.
    """

    hessians_per_neuron: int = 4
    spread: float = 0.1
    starts_factor: float = 5.0
    power: ManyStartsPower = field(default_factory=ManyStartsPower)

    def __call__(
        self, derivatives: DerivativeSource, architecture: Architecture, rng: np.random.Generator
    ) -> tuple[EntangledRecovery, dict[str, float]]:
        """Find entangled weights at zero, in no order, and the CPU seconds of the span and of the power method.

        Raises:
            StageFailed: if there are too few Hessians for the span.
        """
        began = time.process_time()
        points = self.points(architecture, rng)
        hessians, subspace = measured_span(derivatives, points, rank=architecture.visible)
        spanned = time.process_time()
        ends = self.power(subspace, rng, starts=self.starts(architecture.neurons))
        seconds = {"span": spanned - began, "power method": time.process_time() - spanned}
        center = np.zeros(architecture.inputs)
        gradients = derivatives.gradients(center[None])[0]
        return EntangledRecovery(center, points, hessians, subspace, ends, gradients), seconds

    def points(self, architecture: Architecture, rng: np.random.Generator, *, shrunk: float = 1.0) -> Points:
        """Gaussian points around zero [fiedler, Alg. 4.1, line 1], nearer by the factor `shrunk`."""
        count = self.hessians_per_neuron * architecture.neurons
        spread = shrunk * self.spread / np.sqrt(architecture.inputs)
        return spread * rng.standard_normal((count, architecture.inputs))

    def starts(self, neurons: int) -> int:
        """Independent ascents, which meet all directions with high probability (coupon collector)."""
        return ceil(self.starts_factor * neurons * log(max(neurons, 2)))


def measured_span(derivatives: DerivativeSource, points: Points, *, rank: int) -> tuple[PackedHessians, MatrixSubspace]:
    """Hessians of all outputs at all points, and their leading left singular vectors [fiedler, Alg. 4.1, lines 2, 3].

    Raises:
        StageFailed: if there are fewer numbers than dimensions.
    """
    hessians = derivatives.hessians(points)
    matrices = hessians.reshape(-1, hessians.shape[2])
    if min(matrices.shape) < rank:
        raise StageFailed(f"{matrices.shape} numbers of Hessians can't span {rank} dimensions.")
    return hessians, span_of_hessians(matrices, inputs=points.shape[1], rank=rank)
