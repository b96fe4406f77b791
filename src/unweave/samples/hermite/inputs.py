"""The inputs: mean and covariance, coordinates in which they are standard Gaussian, and whether they are Gaussian.

Hermite tensors are equivariant: for orthonormal columns U, ``He_k(z)(U, .., U) = He_k(U^T z)``. Moments in the
coordinates of a subspace are therefore the projections of the moments, exactly and with no bias.

The check is of what vanishes for Gaussian inputs: means of Hermite polynomials, divided by their standard deviation
under the Gaussian, which is the effect of a deviation on a normalised coefficient. In whitened coordinates the orders 1
and 2 vanish by construction, order 3 is skewness and order 4 excess kurtosis; fully contracted they are of Mardia's
type, ``E|z|^4 - n (n + 2)`` for the latter.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64
from scipy.linalg import solve_triangular

from unweave.arrays import Atoms, PerNeuron, Points, Vector
from unweave.exceptions import InvalidInput
from unweave.result import Diagnostic, at_most
from unweave.samples.sources import Labels
from unweave.samples.sums import Arrays, HalfRows, Moments, Statistic

# One row per coordinate: every step of building features then runs through contiguous memory.
Rows = Float64[np.ndarray, "rank points"]
Directions = Float64[np.ndarray, "directions rank"]

ORDERS = (1, 2, 3, 4)
NAMES = {
    1: "mean of the inputs along lines",
    2: "variance of the inputs along lines",
    3: "skewness of the inputs along lines",
    4: "excess kurtosis of the inputs along lines",
}


@dataclass(frozen=True, kw_only=True)
class GaussianityRules:
    """Which deviations from Gaussian inputs are chance, which do not matter, and which do.

    Args:
        false_alarm: chance that Gaussian inputs exceed the noise level of one diagnostic; chosen, so that all six
            together raise a false alarm in less than one run of a thousand.
        tolerated: deviations below this do not matter however significant they are: a coefficient is off by at most
            this share of the root mean square of the labels; heuristic.
        weak_factor: up to this multiple of the threshold moments are doubtful, beyond they are wrong; chosen.
    """

    false_alarm: float = 1e-4
    tolerated: float = 0.02
    weak_factor: float = 3.0


GAUSSIANITY_RULES = GaussianityRules()
ADVICE = "the inputs are not Gaussian enough, so that Hermite moments are biased: transform them, or draw others"


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The map ``z = axes^T (x - origin)``.

    Args:
        origin: the mean of the inputs.
        axes: one column per coordinate.
    """

    origin: Vector
    axes: Float64[np.ndarray, "inputs rank"]

    @classmethod
    def identity(cls, inputs: int) -> "Coordinates":
        """The inputs as they are."""
        return cls(np.zeros(inputs), np.eye(inputs))

    @classmethod
    def whitening(cls, mean: Vector, covariance: Float64[np.ndarray, "inputs inputs"]) -> "Coordinates":
        """Coordinates of mean zero and covariance one: ``z = L^{-1} (x - mean)`` with ``L L^T`` the covariance.

        Raises:
            InvalidInput: if the covariance is not positive definite.
        """
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError as error:
            raise InvalidInput(
                "the covariance of the inputs needs to be positive definite: "
                "drop inputs that are constant or combinations of others, or give more rows."
            ) from error
        return cls(mean, solve_triangular(factor, np.eye(len(mean)), lower=True).T)

    @classmethod
    def varying(cls, mean: Vector, covariance: Float64[np.ndarray, "inputs inputs"]) -> "Coordinates":
        """Those of all inputs, or of what varies of them where some depend on others."""
        spanned = cls.spanned(mean, covariance)
        return cls.whitening(mean, covariance) if spanned.rank == spanned.inputs else spanned

    @classmethod
    def spanned(
        cls, mean: Vector, covariance: Float64[np.ndarray, "inputs inputs"], *, dependent: float = 1e-12
    ) -> "Coordinates":
        """Coordinates of mean zero and covariance one of the part of the inputs that varies.

        They are fewer than the inputs if some of these are constant or combinations of others, such as all columns of
        a one-hot code; weights that are pulled back leave out what no sample tells.

        Args:
            mean: of the inputs.
            covariance: of the inputs.
            dependent: variance of a combination of inputs with variance one, relative to the largest, below which it is
                rounding: a sum of some million products leaves about 1e-13. Inputs that spread by less than this share
                of their mean are constant.
        """
        variances = np.diag(covariance)
        is_constant = variances <= (dependent * mean) ** 2
        scale = np.where(is_constant, 0.0, 1.0 / np.sqrt(np.where(is_constant, 1.0, variances)))
        values, vectors = np.linalg.eigh(covariance * np.outer(scale, scale))
        kept = values > dependent * np.max(values, initial=0.0)
        return cls(mean, scale[:, None] * vectors[:, kept] / np.sqrt(values[kept]))

    @property
    def inputs(self) -> int:
        """Columns of the points."""
        return self.axes.shape[0]

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return self.axes.shape[1]

    def within(self, basis: Float64[np.ndarray, "rank smaller"], *, orthonormal_tol: float = 1e-8) -> "Coordinates":
        """Coordinates inside the subspace that orthonormal columns span.

        Args:
            basis: the columns.
            orthonormal_tol: how far their products may be from those of orthonormal ones: about the root of the
                rounding of one number, while eigenvectors in float64 stay near 1e-15. Chosen.

        Raises:
            InvalidInput: if the columns are not orthonormal; projected moments would be wrong.
        """
        if basis.shape[0] != self.rank:
            raise InvalidInput(f"a basis needs {self.rank} rows here, got {basis.shape[0]}.")
        if not np.allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=orthonormal_tol):
            raise InvalidInput("a basis of the active subspace needs orthonormal columns.")
        return Coordinates(self.origin, self.axes @ basis)

    def rows_of(self, points: Points) -> Rows:
        """The coordinates of points, one row per coordinate."""
        return self.axes.T @ (points - self.origin).T

    def pulled_back(self, weights: Float64[np.ndarray, "neurons rank"], biases: PerNeuron) -> tuple[Atoms, PerNeuron]:
        """Weights and biases for the inputs of units that were found in these coordinates."""
        original = weights @ self.axes.T
        return original, biases - original @ self.origin


@dataclass(frozen=True, eq=False)
class InputSummary:
    """First and second moments of the rows.

    Args:
        mean: of the inputs.
        covariance: of the inputs, with division by the number of rows.
        label_mean: of the labels.
        label_rms: root mean square of the labels about zero.
    """

    mean: Vector
    covariance: Float64[np.ndarray, "inputs inputs"]
    label_mean: float
    label_rms: float

    def coordinates(self) -> Coordinates:
        """The coordinates in which mean and covariance are those of a standard Gaussian."""
        return Coordinates.whitening(self.mean, self.covariance)


@dataclass(frozen=True, eq=False)
class CoordinateStatistic(Statistic[Moments]):
    """A statistic of points in other coordinates than their own.

    Args:
        coordinates: in which the inputs are, or should be, standard Gaussian.
    """

    coordinates: Coordinates

    @property
    def inputs(self) -> int:
        """Columns of the points."""
        return self.coordinates.inputs


@dataclass(frozen=True, eq=False)
class InputMoments(Statistic[InputSummary]):
    """Mean and covariance of inputs, and the size of labels.

    Cost per row: ``inputs^2`` operations. Memory: ``inputs^2`` numbers per half.

    Args:
        origin: a point near the mean, such as the first row: a covariance loses ``(mean - origin)^2 / variance``
            times the precision of float64. Zeros will do for inputs that are roughly centred.
    """

    origin: Vector

    @property
    def inputs(self) -> int:
        """Columns of the points."""
        return len(self.origin)

    @property
    def features(self) -> int:
        """Numbers that are computed from a row."""
        return self.inputs

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:  # noqa: ARG002 - both halves alike
        """Sums of inputs and their products, of labels and their squares."""
        shifted = points - self.origin
        return shifted.sum(axis=0), shifted.T @ shifted, np.array([labels.sum(), labels @ labels])

    def moments_from(self, sums: Arrays, rows: HalfRows) -> InputSummary:
        """Means, with the square of the mean taken off the products."""
        total, products, (label_sum, label_square) = sums
        count = rows.sum()
        mean = total / count
        covariance = products / count - np.outer(mean, mean)
        return InputSummary(
            self.origin + mean, covariance, float(label_sum / count), float(np.sqrt(label_square / count))
        )


@dataclass(frozen=True, eq=False)
class Gaussianity:
    """Normalised means that vanish for Gaussian inputs.

    Args:
        along_lines: means of ``He_k(<u, z>) / sqrt(k!)``, k = 1 to 4, for every line u.
        skewness: mean of ``He_3(z)(., I)``, every entry divided by its standard deviation.
        kurtosis: mean of ``He_4(z)(I, I)``, divided by its standard deviation.
        rows: number of rows.
    """

    along_lines: Float64[np.ndarray, "orders lines"]
    skewness: Float64[np.ndarray, "rank"]
    kurtosis: float
    rows: int

    def diagnostics(self, *, rules: GaussianityRules = GAUSSIANITY_RULES) -> list[Diagnostic]:
        """Every number with its threshold: what chance explains, but at least what does not matter.

        Assumes: enough rows for the means to be normal; order 4 has heavy tails below some thousand rows.
        """
        lines, rank = self.along_lines.shape[1], len(self.skewness)
        one_of_many = scipy.stats.norm.isf(rules.false_alarm / (2 * lines))
        entries = np.sqrt(scipy.stats.chi2.isf(rules.false_alarm, rank) / rank)
        one = scipy.stats.norm.isf(rules.false_alarm / 2)
        numbers = [
            *((NAMES[k], np.abs(self.along_lines[k - 1]).max(), one_of_many) for k in ORDERS),
            ("skewness of the inputs, all directions", np.sqrt(np.mean(self.skewness**2)), entries),
            ("excess kurtosis of the inputs, all directions", abs(self.kurtosis), one),
        ]
        thresholds = [max(rules.tolerated, chance / np.sqrt(self.rows)) for _, _, chance in numbers]
        return [
            at_most(name, value, threshold, ADVICE, weak=rules.weak_factor * threshold)
            for (name, value, _), threshold in zip(numbers, thresholds, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class GaussianityCheck(CoordinateStatistic[Gaussianity]):
    """Hermite means of the inputs of orders 1 to 4 along lines and contracted; labels do not matter.

    Cost per row: ``2 n (L + 1)`` operations for L lines in n coordinates, and about ``10 L``.

    Args:
        coordinates: in which the inputs should be standard Gaussian.
        lines: unit vectors in these coordinates, as rows; axes find what random directions average out, and the
            reverse, so `lines_for` takes both.
    """

    lines: Directions

    def __post_init__(self) -> None:
        if self.lines.shape[1] != self.coordinates.rank or not len(self.lines):
            raise InvalidInput(f"a check needs lines with {self.coordinates.rank} columns, got {self.lines.shape}.")

    @property
    def features(self) -> int:
        """Numbers that are computed from a row."""
        return len(self.lines) + self.coordinates.rank

    def sums_of(self, points: Points, labels: Labels, *, half: int) -> Arrays:  # noqa: ARG002 - inputs only
        """Sums of Hermite polynomials along lines, and of the two contractions."""
        rows = self.coordinates.rows_of(points)
        t = self.lines @ rows
        square = t * t
        third = t * (square - 3)
        along = np.array(
            [t.sum(axis=1), (square - 1).sum(axis=1), third.sum(axis=1), (t * third - 3 * square + 3).sum(axis=1)]
        )
        rank, length = len(rows), np.einsum("ip,ip->p", rows, rows)
        kurtosis = np.sum(length**2 - (2 * rank + 4) * length + rank * (rank + 2))
        return along, rows @ (length - rank - 2), np.array([kurtosis])

    def moments_from(self, sums: Arrays, rows: HalfRows) -> Gaussianity:
        """Means in units of standard deviations of one row."""
        along, skewness, kurtosis = sums
        count, rank = int(rows.sum()), self.coordinates.rank
        deviations = np.sqrt([factorial(k) for k in ORDERS])
        return Gaussianity(
            along / count / deviations[:, None],
            skewness / count / np.sqrt(2 * (rank + 2)),
            float(kurtosis[0] / count / np.sqrt(8 * rank * (rank + 2))),
            count,
        )


def lines_for(rng: np.random.Generator, *, rank: int) -> Directions:
    """All axes, and as many random directions."""
    random = rng.standard_normal((rank, rank))
    return np.concatenate([np.eye(rank), random / np.linalg.norm(random, axis=1, keepdims=True)])
