"""The stages of the shallow pipeline that decide how much to measure, and when to give up."""

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.arrays import packed_size, unpack
from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification.probing import FunctionScale
from unweave.networks.network import Network
from unweave.numerics.finite_differences import HessianSample, measure_hessians
from unweave.numerics.matrix_subspace import MatrixSubspace, rank_at_gap, span_of_hessians
from unweave.oracles.views import StandardOracle


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


@dataclass(frozen=True, kw_only=True)
class Surplus:
    """How many matrices are measured for every dimension of their span.

    Args:
        first: at first, where neurons that are given, or directions, stand for the dimension.
        growth: share by which the matrices grow until the rank is believed; chosen: what is measured in vain is less
            than an eighth.
        believed: that were seen before the rank is believed: a ninth of them has added nothing. Of 24 planted networks
            in a box 23 were identified with 1, 1.12 and 1.3 alike.
        final: in the end; chosen, for noise. Without noise, 23 of those 24 networks were identified with 1, 1.27 and
            1.6 alike, with 828, 833 and 866 queries on average.
        noisy: the same, in turn, as long as the gap of singular values is not clear: their noise falls with the root of
            the number of matrices.
    """

    first: float = 1.25
    growth: float = 0.12
    believed: float = 1.12
    final: float = 1.27
    noisy: tuple[float, ...] = (2.0, 3.5)


@dataclass(frozen=True, kw_only=True)
class Screening:
    """A cheap look at Hessians before singular values are computed.

    Args:
        margin: distance of a Hessian to the span of those before, in expected errors, above which it is surely new: far
            beyond six standard deviations; chosen.
        share: the same relative to the typical distance; both must be exceeded.
    """

    margin: float = 30.0
    share: float = 1e-3

    def may_be_complete(self, hessians: Float64[np.ndarray, "matrices packed"], error: float) -> bool:
        """Whether the last Hessians lie in the span of the ones before."""
        size = hessians.shape[1]
        if len(hessians) > size:
            return True
        distances = np.abs(np.diag(np.asarray(np.linalg.qr(hessians.T, mode="r"))))
        nearest = np.min(distances[-max(1, len(hessians) // 12) :])
        return bool(nearest < max(self.margin * error * np.sqrt(size), self.share * np.median(distances)))


@dataclass(frozen=True, kw_only=True)
class ProfilePoints:
    """How many points the profiles of neurons want, whatever the span needs.

    Args:
        cheap_directions: up to so many, Hessians are cheap; chosen: ten queries each.
        cheap: points that are then measured at least; chosen.
        fewest: in any case: where several outputs give several Hessians per point, a profile of a neuron still needs
            more points than its two unknowns, scale and bias; chosen, four times as many.
    """

    cheap_directions: int = 3
    cheap: int = 14
    fewest: int = 8

    def at_first(self, directions: int, inputs: int) -> int:
        """The points of the first round: none beyond those of the span, unless Hessians are cheap."""
        return self.cheap if directions < inputs or directions <= self.cheap_directions else 0


@dataclass(frozen=True, kw_only=True)
class SpanSearch:
    """Settings of the measurement of Hessians, which end where their span has shown its dimension.

    Args:
        first: Hessians measured in all directions before a smaller set of directions is believed to be enough: the
            second one shows whether the first had all of them.
        surplus: how many are measured for every dimension of their span.
        clear_gap: of singular values, from which on more matrices are not needed; chosen.
        profiles: how many points the profiles of neurons want.
        screening: when singular values need not be computed.
        bends_not: size of a singular value, in expected errors of matrices, up to which a direction does not bend;
            chosen, beyond six standard deviations. A wrong answer costs queries only.
    """

    first: int = 2
    surplus: Surplus = field(default_factory=Surplus)
    clear_gap: float = 1e3
    profiles: ProfilePoints = field(default_factory=ProfilePoints)
    screening: Screening = field(default_factory=Screening)
    bends_not: float = 10.0

    def __call__(
        self,
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
        wanted = -(-int(self.surplus.first * (neurons or directions)) // outputs)
        wanted = max(wanted, self.profiles.at_first(directions, oracle.inputs))
        sample = first
        while True:
            sample = _grow(oracle, sample, rng, wanted - len(sample.points), model)
            flat = sample.hessians.reshape(sample.matrices, -1)
            if self.screening.may_be_complete(flat, scale.hessian_error):
                subspace = span_of_hessians(flat, inputs=directions, floor=scale.hessian_error)
                if sample.matrices >= max(subspace.rank + 1, self.surplus.believed * subspace.rank):
                    break
            _check_size(min(sample.matrices, packed_size(directions)), directions, is_certain=False)
            wanted = len(sample.points) + max(1, int(self.surplus.growth * len(sample.points)))
        for surplus in (self.surplus.final, *self.surplus.noisy):
            matrices = int(surplus * subspace.rank)
            wanted = max(matrices // outputs, min(self.profiles.fewest, matrices))
            try:
                sample = _grow(oracle, sample, rng, wanted - len(sample.points), model)
            except BudgetExhausted:
                if surplus == self.surplus.final:
                    raise
                # A gap that is not clear may do: fresh answers judge what comes of it.
                break
            subspace = span_of_hessians(
                sample.hessians.reshape(sample.matrices, -1),
                inputs=directions,
                rank=_possible_rank(neurons, sample.matrices, directions),
                floor=scale.hessian_error,
            )
            if subspace.gap >= self.clear_gap:
                break
        _check_size(subspace.rank, directions, is_certain=True)
        return Span(sample, subspace)

    def are_one_sided(
        self, sample: HessianSample, frame: Float64[np.ndarray, "inputs directions"], *, error: float
    ) -> bool:
        """Whether single Hessians have fewer directions than all together: some neurons bend at some points only."""
        inputs = len(frame)
        matrices = unpack(sample.hessians.reshape(-1, sample.hessians.shape[2]), inputs)
        sizes = np.linalg.svd(matrices, compute_uv=False)
        return bool(np.any(sizes[:, frame.shape[1] - 1] < self.bends_not * error * np.sqrt(inputs)))


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
