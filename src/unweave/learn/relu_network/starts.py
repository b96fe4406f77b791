"""Starts for a relu network from Hermite moments: which tensors, in which subspace, for how many neurons.

Moments come from least squares on all Hermite features where there are rows enough, which frees every order of the
variance of all others at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import comb, factorial

import numpy as np
from jaxtyping import Float64
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from unweave.activations import RELU
from unweave.arrays import Points, Vector
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.directions import (
    ActiveSubspace,
    DirectionRules,
    PooledDirections,
    active_subspace,
    pooled_tensor,
    smallest_order,
)
from unweave.learn.relu_network.moment_networks import ScalarRules, assemble_relu, coefficient_table
from unweave.networks.network import Network
from unweave.numerics.symmetric_tensors import Tensor, factorials, series_count
from unweave.samples.hermite.inputs import Coordinates, CoordinateStatistic, Gaussianity, GaussianityCheck, lines_for
from unweave.samples.hermite.moments import (
    HIGHEST_ORDER,
    Control,
    HermiteMoments,
    LabelMoments,
    hermite_features,
    residual_of,
)
from unweave.samples.sources import Labels, Source
from unweave.samples.sums import Arrays, Engine, HalfRows, Halved, Together, accumulate


@dataclass(frozen=True, eq=False)
class FittedMoments:
    """Moments that a regression found.

    Args:
        moments: the orders 0 to the degree of the regression.
        residual_rms: what the polynomial does not explain of the labels, with the degrees of freedom taken off.
    """

    moments: HermiteMoments
    residual_rms: float


@dataclass(frozen=True, eq=False)
class HermiteRegression(CoordinateStatistic[FittedMoments]):
    """Least squares of the labels on all normalised features ``He_alpha / sqrt(alpha!)`` up to a degree.

    The Gram matrix of the features is near the identity once there are many more rows than features; solving with it
    instead of with the identity is what takes the variance of the explained part away.

    Cost per row, with ``F = binom(rank + degree, degree)``: ``F^2`` operations for the symmetric product and about
    ``3 F`` for the features. Memory: ``F^2`` numbers per half, so F up to about 2000 (rank 10, degree 4: 1001).

    Args:
        coordinates: in which the inputs are standard Gaussian.
        degree: the highest order.
        control: a polynomial that is subtracted from the labels first; useful if it knows more coordinates.
        rank_tol: singular values of dependent features, relative to the largest; well above rounding.

    Guarantees: the bias is of order 1/N; the error of order k has the variance of the residual, not of the labels.
    Error bars from halves do not see the bias: with 70 features it is half of the error of order 3 at 4000 rows, and a
    quarter at 32 000.
    """

    degree: int
    control: Control | None = None
    rank_tol: float = 1e-10

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise InvalidInput(f"a regression needs degree 1 or more, got {self.degree}.")

    @property
    def features(self) -> int:
        """Number of features."""
        return series_count(self.coordinates.rank, self.degree)

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:
        """Gram matrix of the features, their products with the labels, and the square of the labels."""
        left = residual_of(self.control, points, labels, half=half)
        features = hermite_features(self.coordinates.rows_of(points), self.degree)
        return features @ features.T, features @ left, np.array([left @ left])

    def moments_from(self, sums: Arrays, rows: HalfRows) -> FittedMoments:
        """The solution of the normal equations.

        Raises:
            InvalidInput: if there are not more rows than features, in a half, too.
        """
        gram, products, square = sums
        count = int(rows.sum())
        if count <= self.features:
            raise InvalidInput(
                f"a regression on {self.features} features needs more rows than that in each half, got {count}: "
                "give more rows, or lower the degree or the dimension of the subspace."
            )
        scale = np.sqrt(factorials(self.coordinates.rank, self.degree))
        try:
            normalised = cho_solve(cho_factor(gram / np.outer(scale, scale)), products / scale)
        except LinAlgError:
            # The square of an input of two values depends on the input: the shortest of many solutions is a start.
            normalised = np.linalg.lstsq(gram / np.outer(scale, scale), products / scale, rcond=self.rank_tol)[0]
        explained = float(normalised @ (products / scale))
        residual = np.sqrt(max(float(square[0]) - explained, 0.0) / (count - self.features))
        moments = HermiteMoments(self.coordinates.rank, self.degree, normalised * scale)
        if self.control is not None:
            moments = moments.plus(self.control.moments_in(self.coordinates, rows))
        return FittedMoments(moments, float(residual))


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What moments of order up to two say.

    Args:
        moments: orders 0 to 2, in coordinates of all inputs.
        gaussianity: of the inputs in these coordinates.
        rows: number of rows.
    """

    moments: Halved[HermiteMoments]
    gaussianity: Gaussianity
    rows: int

    def subspace(self, rank: int | None = None, *, rules: DirectionRules) -> ActiveSubspace:
        """The span of the weights."""
        return active_subspace(self.moments, rank=rank, rules=rules)

    def outside_subspace(self, network: Network, subspace: ActiveSubspace) -> Network:
        """The network for all coordinates, with the slope that the moments have outside of the subspace."""
        hidden, output = network.layers
        slope = self.moments.whole.entries(1)
        outside = slope - subspace.basis @ (subspace.basis.T @ slope)
        inside = np.zeros(subspace.rank) if network.skip is None else network.skip[0]
        skip = (subspace.basis @ inside + outside)[None]
        weights = hidden.weights @ subspace.basis.T
        return Network.shallow(weights, hidden.biases, output.weights, output.biases, RELU, skip)


@dataclass(frozen=True, eq=False)
class Attempt:
    """How many neurons are looked for, and where.

    Args:
        neurons: their number, or None to find it.
        order: the power from which on directions are taken to be independent.
        rank: dimension of the subspace in which they are looked for.
    """

    neurons: int | None
    order: int
    rank: int


@dataclass(frozen=True, kw_only=True)
class StartRules:
    """How moments are measured, and how many neurons are looked for in them.

    Args:
        most_features: up to which least squares on all of them is affordable.
        rows_per_feature: from which on it is sound; chosen.
        most_numbers: of a full tensor up to which it is formed: 512 MB.
        most_hidden: independent directions that are tried beyond those that stand out from the noise of order two;
            chosen, for the time.
        most_surplus: neurons that are tried beyond the dimension of their span, where the gap does not tell; chosen,
            for the time.
        noise_factor: singular values of noise are rarely this many times larger than those of half the difference of
            two halves; chosen.
        sign_tol: what signs may leave of the affine part. It decides signs in the finish; here a rough choice is better
            than none.
        directions: how many of them tensors show and hold.
        scalars: how biases are looked for.
    """

    most_features: int = 2_000
    rows_per_feature: int = 4
    most_numbers: int = 2**26
    most_hidden: int = 3
    most_surplus: int = 8
    noise_factor: float = 1.2
    sign_tol: float = 0.3
    directions: DirectionRules = field(default_factory=DirectionRules)
    scalars: ScalarRules = field(default_factory=ScalarRules)


START_RULES = StartRules()


@dataclass(frozen=True, eq=False)
class Moments:
    """Passes over samples in given coordinates, each statistic measured once.

    Args:
        source: the samples.
        coordinates: in which the inputs are standard Gaussian.
        engine: where sums are computed.
        rules: when moments come from least squares.
    """

    source: Source
    coordinates: Coordinates
    engine: Engine | None = None
    rules: StartRules = START_RULES
    _measured: dict[tuple[int, int], Halved[HermiteMoments]] = field(default_factory=dict, init=False, repr=False)

    def look(self, rng: np.random.Generator, *, rows: int) -> FirstLook:
        """Orders 0 to 2, and the check of the inputs, in one pass."""
        coordinates = self.coordinates
        check = GaussianityCheck(coordinates, lines_for(rng, rank=coordinates.rank))
        if self._can_regress(coordinates.rank, 2, rows):
            both = accumulate(self.source, Together((check, HermiteRegression(coordinates, 2))), engine=self.engine)
            found = both.finalise()
            return FirstLook(found.of(lambda pair: pair[1].moments), found.whole[0], rows)
        both = accumulate(self.source, Together((check, LabelMoments(coordinates, 2))), engine=self.engine).finalise()
        return FirstLook(both.of(lambda pair: pair[1]), both.whole[0], rows)

    def within(self, subspace: ActiveSubspace, look: FirstLook, *, degree: int) -> Halved[HermiteMoments]:
        """Orders 0 to `degree` in the subspace."""
        key = (subspace.rank, degree)
        if key not in self._measured:
            inside = self.coordinates.within(subspace.basis)
            if self._can_regress(subspace.rank, degree, look.rows):
                sums = accumulate(self.source, HermiteRegression(inside, degree), engine=self.engine)
                self._measured[key] = sums.finalise().of(lambda fit: fit.moments)
            else:
                control = Control.crossed(self.coordinates, look.moments)
                sums = accumulate(self.source, LabelMoments(inside, degree, control), engine=self.engine)
                self._measured[key] = sums.finalise()
        return self._measured[key]

    def _can_regress(self, rank: int, degree: int, rows: int) -> bool:
        features = series_count(rank, degree)
        return features <= self.rules.most_features and rows >= 2 * self.rules.rows_per_feature * features


def attempts(look: FirstLook, *, neurons: int | None, rules: StartRules = START_RULES) -> Iterator[Attempt]:
    """What to try, likeliest first.

    Weights are independent where their number is the dimension of their span. If it is larger, powers of them have to
    be independent, and the number is read from the singular values; where these have no clear gap, numbers are tried.
    """
    inputs = look.moments.whole.rank
    rank = look.subspace(rules=rules.directions).rank
    if neurons is not None and neurons <= inputs:
        yield Attempt(neurons, 1, neurons)
        if neurons > 1:
            yield from _feasible(Attempt(neurons, 2, min(max(rank, 2), neurons)), rules)
        return
    if neurons is not None:
        if inputs > 1:
            order = smallest_order(inputs, neurons, rules=rules.directions)
            yield from _feasible(Attempt(neurons, order, inputs), rules)
        return
    if rank == 0:
        return
    for independent in range(rank, min(inputs, rank + rules.most_hidden) + 1):
        yield Attempt(independent, 1, independent)
    if rank > 1:
        yield from _feasible(Attempt(None, 2, rank), rules)
        for surplus in range(1, rules.most_surplus + 1):
            if smallest_order(rank, rank + surplus, rules=rules.directions) == 2:
                yield from _feasible(Attempt(rank + surplus, 2, rank), rules)


def _feasible(attempt: Attempt, rules: StartRules) -> Iterator[Attempt]:
    """The attempt, if its tensors are of an order that is measured and fit into memory."""
    highest = 2 * attempt.order + 2
    if highest <= HIGHEST_ORDER and attempt.rank**highest <= rules.most_numbers:
        yield attempt


def start_of(
    attempt: Attempt,
    moments: Halved[HermiteMoments],
    rng: np.random.Generator,
    *,
    rules: StartRules = START_RULES,
) -> Network | None:
    """A network in the coordinates of the moments; None if no neuron stands out.

    Args:
        attempt: how many neurons to look for.
        moments: up to order ``2 order + 2``.
        rng: for the decomposition.
        rules: what is taken for noise.
    """
    highest = 2 * attempt.order + 2
    tensors = _tensors(moments.whole, highest)
    noise = [np.asarray(moments.noise(lambda half, k=k: half.tensor(k))) for k in range(highest + 1)]
    floor = _largest_singular(pooled_tensor(noise, order=attempt.order))
    most = comb(attempt.rank + attempt.order - 1, attempt.order)
    if attempt.neurons is not None and attempt.neurons > most:
        return None
    pooled = PooledDirections(attempt.order)
    found = pooled(tensors, rng, rank=attempt.neurons, floor=rules.noise_factor * floor)
    if not len(found.directions):
        return None
    orders = tuple(range(max(2, attempt.order), highest + 1))
    table = coefficient_table(noise, found.directions, orders=orders)
    error = float(np.sqrt(np.mean([np.mean(row**2) / factorial(k) for k, row in zip(orders, table, strict=True)])))
    assembly = assemble_relu(
        tensors,
        found.directions,
        order=attempt.order,
        sign_tol=rules.sign_tol,
        noise=error,
        rules=rules.scalars,
    )
    return assembly.network


def affine_network(slope: Vector, offset: Float64[np.ndarray, "1"]) -> Network:
    """An affine function, as a network without neurons."""
    nothing = np.zeros((0, len(slope)))
    return Network.shallow(nothing, np.zeros(0), np.zeros((1, 0)), offset, RELU, slope[None])


def _tensors(moments: HermiteMoments, highest: int) -> list[Tensor]:
    return [np.asarray(moments.tensor(k), dtype=np.float64) for k in range(highest + 1)]


def _largest_singular(pooled: np.ndarray) -> float:
    return float(np.linalg.norm(pooled.reshape(len(pooled), -1), ord=2))
