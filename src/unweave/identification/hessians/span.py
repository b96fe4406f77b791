"""The stages of the shallow pipeline that decide how much to measure, and when to give up."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import packed_size, unpack
from unweave.exceptions import StageFailed
from unweave.identification.session import FunctionScale
from unweave.networks.network import Network
from unweave.numerics.finite_differences import HessianSample, measure_hessians
from unweave.numerics.matrix_subspace import MatrixSubspace, rank_at_gap, span_of_hessians
from unweave.oracles.views import StandardOracle

# Hessians measured in all directions before a smaller set of directions is believed to be enough.
FIRST_HESSIANS = 2
# Matrices per dimension of their span: seen before the rank is believed, and measured in the end.
BELIEVED_SURPLUS = 1.12
FINAL_SURPLUS = 1.27
# With noisy answers the gap is sharpened by more matrices, as long as it is smaller than this.
CLEAR_GAP = 1e3
NOISY_SURPLUSES = (2.0, 3.5)
# Along few directions Hessians are cheap and profiles want points; in any case they need some, which
# matters where several outputs give several Hessians per point.
CHEAP_DIRECTIONS, CHEAP_POINTS = 3, 14
PROFILE_POINTS = 8
# Distance of a Hessian to the span of those before, in expected errors and relative to the typical
# distance: above both it is surely new, and the singular values need not be computed.
SCREENING_MARGIN = 30.0
SCREENING_SHARE = 1e-3
# Size of a singular value, in expected errors of matrices, up to which a direction does not bend.
BENDS_NOT = 10.0


@dataclass(frozen=True)
class Span:
    """Measured Hessians and the matrix subspace that they span."""

    sample: HessianSample
    subspace: MatrixSubspace


def active_frame(sample: HessianSample, *, error: float) -> Float64[np.ndarray, "inputs directions"]:
    """Orthonormal directions along which the function bends: the column space of the Hessians.

    With fewer neurons than inputs this is a proper subspace, and all further Hessians need only be
    measured along it.
    """
    inputs = sample.points.shape[1]
    matrices = unpack(sample.hessians.reshape(-1, sample.hessians.shape[2]), inputs)
    left, values, _ = scipy.linalg.svd(np.hstack(list(matrices)), full_matrices=False)
    bending = rank_at_gap(values, error * (np.sqrt(inputs) + np.sqrt(matrices.shape[0] * inputs)))
    return left[:, :bending] if bending < inputs else np.eye(inputs)


def are_one_sided(sample: HessianSample, frame: Float64[np.ndarray, "inputs directions"], *, error: float) -> bool:
    """Whether single Hessians have fewer directions than all together: some neurons bend at some points only."""
    inputs = len(frame)
    matrices = unpack(sample.hessians.reshape(-1, sample.hessians.shape[2]), inputs)
    sizes = np.linalg.svd(matrices, compute_uv=False)
    return bool(np.any(sizes[:, frame.shape[1] - 1] < BENDS_NOT * error * np.sqrt(inputs)))


def measure_span(
    oracle: StandardOracle,
    first: HessianSample,
    scale: FunctionScale,
    rng: np.random.Generator,
    *,
    neurons: int | None,
    model: Network | None = None,
) -> Span:
    """Measure Hessians until their span has shown its dimension, and then some more.

    Raises:
        StageFailed: if the span is too large for its rank-one matrices to be determined.
    """
    directions, outputs = first.frame.shape[1], oracle.outputs
    is_cheap = directions < oracle.inputs or directions <= CHEAP_DIRECTIONS
    wanted = -(-int(1.25 * (neurons or directions)) // outputs)
    if is_cheap:
        wanted = max(wanted, CHEAP_POINTS)
    sample = first
    while True:
        sample = _grow(oracle, sample, rng, wanted - len(sample.points), model)
        flat = sample.hessians.reshape(sample.matrices, -1)
        if _may_be_complete(flat, scale.hessian_error):
            subspace = span_of_hessians(flat, inputs=directions, floor=scale.hessian_error)
            if sample.matrices >= max(subspace.rank + 1, BELIEVED_SURPLUS * subspace.rank):
                break
        _check_size(min(sample.matrices, packed_size(directions)), directions, is_certain=False)
        wanted = len(sample.points) + max(1, int(0.12 * len(sample.points)))
    for surplus in (FINAL_SURPLUS, *NOISY_SURPLUSES):
        wanted = max(int(surplus * subspace.rank) // outputs, min(PROFILE_POINTS, int(surplus * subspace.rank)))
        sample = _grow(oracle, sample, rng, wanted - len(sample.points), model)
        subspace = span_of_hessians(
            sample.hessians.reshape(sample.matrices, -1),
            inputs=directions,
            rank=_possible_rank(neurons, sample.matrices, directions),
            floor=scale.hessian_error,
        )
        if subspace.gap >= CLEAR_GAP:
            break
    _check_size(subspace.rank, directions, is_certain=True)
    return Span(sample, subspace)


def _possible_rank(neurons: int | None, matrices: int, directions: int) -> int | None:
    """A given number of neurons, unless so few matrices or directions can't have it as their rank."""
    return neurons if neurons is not None and neurons <= min(matrices, packed_size(directions)) else None


def _grow(
    oracle: StandardOracle, sample: HessianSample, rng: np.random.Generator, more: int, model: Network | None
) -> HessianSample:
    if more <= 0:
        return sample
    points = oracle.sample(rng, more, margin=2 * sample.step)
    return sample.extended(measure_hessians(oracle, points, step=sample.step, frame=sample.frame, model=model))


def _may_be_complete(hessians: Float64[np.ndarray, "matrices packed"], error: float) -> bool:
    """Cheap screening: whether the last Hessians lie in the span of the ones before."""
    size = hessians.shape[1]
    if len(hessians) > size:
        return True
    distances = np.abs(np.diag(np.asarray(np.linalg.qr(hessians.T, mode="r"))))
    nearest = np.min(distances[-max(1, len(hessians) // 12) :])
    return bool(nearest < max(SCREENING_MARGIN * error * np.sqrt(size), SCREENING_SHARE * np.median(distances)))


def _check_size(rank: int, directions: int, *, is_certain: bool) -> None:
    """Refuse spans whose rank-one matrices are not determined, as soon as that is sure."""
    limit = max(directions, directions * (directions - 1) // 2 - 1)
    if rank <= limit or (not is_certain and rank < packed_size(directions)):
        return
    raise StageFailed(
        f"the Hessians span at least {rank} dimensions along the {directions} directions in which the function "
        f"bends, and neurons are determined by them only up to {limit}: the function is a shallow network with "
        "more neurons than second derivatives can separate, or not a shallow network (for example a deep one)."
    )
