"""The bounds of [soltanolkotabi, Prop. 7.1 to 7.4 and Cor. 7.5] as numbers, beside the spectra that they are about.

The rows of the Jacobian J belong to samples here: row i is the Kronecker product of ``v o g'(W x_i)`` and ``x_i``. The
centred Jacobian has ``g'(W x_i) - mu`` instead, with ``mu_l = E g'(|w_l| z)``; Gamma is the diagonal matrix of
``gamma_l = E g''(|w_l| z)``; L bounds ``|g''|``. Constants that [soltanolkotabi] leaves open are measured: the number
that would make an equation of a bound.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import PerNeuron, Points, pack_squares
from unweave.learn.overparameterized.conditions import mean_curvature, mean_slope
from unweave.learn.overparameterized.jacobian import TrainingPoint


@dataclass(frozen=True)
class Ends:
    """The n-th and the first singular value of a matrix with n rows."""

    smallest: float
    largest: float

    @classmethod
    def of(cls, matrix: Float64[np.ndarray, "rows columns"]) -> "Ends":
        """Singular values of a dense matrix; the smallest is 0 if there are fewer columns than rows."""
        values = scipy.linalg.svdvals(matrix)
        return cls(float(values[-1]) if len(values) == len(matrix) else 0.0, float(values[0]))


@dataclass(frozen=True, eq=False)
class SpectrumBounds:
    """Both sides of the propositions at one network and its samples.

    Args:
        point: the network, whose hidden weights are trained.
    """

    point: TrainingPoint

    @cached_property
    def jacobian(self) -> Ends:
        """Of J."""
        return Ends.of(_products(self._slopes * self.point.output_weights, self.point.points))

    @cached_property
    def centred(self) -> Ends:
        """Of the centred Jacobian."""
        return Ends.of(_products((self._slopes - self.mean_slopes) * self.point.output_weights, self.point.points))

    @cached_property
    def mean_slopes(self) -> PerNeuron:
        """The vector mu."""
        return _by_norm(mean_slope, self.point)

    @cached_property
    def curved(self) -> Ends:
        """The smallest and the largest singular value of ``D_v Gamma W``; all zero for an odd activation."""
        return self._ends_of(self.point.output_weights)

    @cached_property
    def curved_unweighted(self) -> Ends:
        """The same of ``Gamma W``."""
        return self._ends_of(np.ones(self.point.neurons))

    @cached_property
    def weights(self) -> Ends:
        """Of W."""
        return Ends.of(self.point.weights.T)

    @property
    def curvature_bound(self) -> float:
        """L."""
        return self.point.activation.supremum(2)

    @property
    def lower_by_centring(self) -> float:
        """``s_min(J~)^2 - 4 sqrt 3 n (L |v|_inf |W|)^2``: the part of (7.4) whose constants are given."""
        return self.centred.smallest**2 - 4.0 * np.sqrt(3.0) * self.point.samples * self._scale

    @property
    def centring_constant(self) -> float:
        """The least C with which (7.4) holds here; 0 if it does without."""
        samples, inputs = self.point.points.shape
        lacking = (self.lower_by_centring - self.jacobian.smallest**2) / self._scale
        return max(0.0, float(lacking / (inputs**1.5 + np.sqrt(inputs * samples))))

    @property
    def upper_by_centring(self) -> float:
        """``s_max(J~) + 3 sqrt n |D_v mu|`` of (7.5), which has no open constant."""
        mean = float(np.linalg.norm(self.point.output_weights * self.mean_slopes))
        return self.centred.largest + 3.0 * np.sqrt(self.point.samples) * mean

    @property
    def lower_of_centred(self) -> float:
        """``d s_min(D_v Gamma W) / 2`` of (7.7), and ``d / 2`` of Remark 7.3 where Gamma is zero."""
        return self.point.points.shape[1] / 2.0 * (self.curved.smallest if self.curved.largest > 0.0 else 1.0)

    @property
    def centred_constant(self) -> float:
        """The least C of (7.8), ``s_max(J~) <= C (d + sqrt(n d) s_max(D_v Gamma W))``."""
        samples, inputs = self.point.points.shape
        return float(self.centred.largest / (inputs + np.sqrt(samples * inputs) * self.curved.largest))

    @property
    def sample_constant(self) -> float:
        """The least c of the condition (7.6) or (7.9) on the number of samples."""
        steep = self.curvature_bound**4 * self.weights.largest**4 + 1.0
        curved = self.curved_unweighted.smallest**2 if self.curved.largest > 0.0 else 1.0
        return float(np.sqrt(self.point.samples) * steep / (curved * self.point.points.shape[1]))

    @property
    def lower_constant(self) -> float:
        """The largest c of (7.12), ``s_min(J) >= c s_min(W) d``, without ``s_min(W)`` where Gamma is zero."""
        narrow = self.weights.smallest if self.curved.largest > 0.0 else 1.0
        return self.jacobian.smallest / (narrow * self.point.points.shape[1])

    @property
    def upper_constant(self) -> float:
        """The least C of (7.13), ``s_max(J) <= C s_max(W) sqrt(n k)``."""
        return float(self.jacobian.largest / (self.weights.largest * np.sqrt(self.point.samples * self.point.neurons)))

    @property
    def _slopes(self) -> np.ndarray:
        return self.point.activation(self.point.preactivations, 1)

    @property
    def _scale(self) -> float:
        heights = float(np.max(np.abs(self.point.output_weights)))
        return (self.curvature_bound * heights * self.weights.largest) ** 2

    def _ends_of(self, heights: PerNeuron) -> Ends:
        curvatures = _by_norm(mean_curvature, self.point)
        # Of odd activations the mean is zero up to rounding.
        curvatures = np.where(np.abs(curvatures) > 1e-12, curvatures, 0.0)
        return Ends.of(((heights * curvatures)[:, None] * self.point.weights).T)


def product_spectrum(points: Points) -> Ends:
    """The spectrum of ``X * X`` of [soltanolkotabi, Cor. 7.5]: of the squares of the points, one row per point."""
    return Ends.of(pack_squares(points))


def planted_point(activation: Activation, *, inputs: int, neurons: int, samples: int, seed: int) -> TrainingPoint:
    """Gaussian points and a planted network that explains its labels: weights N(0, 1) / sqrt(d), output weights 1."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((samples, inputs))
    weights = rng.standard_normal((neurons, inputs)) / np.sqrt(inputs)
    labels = np.sum(activation(points @ weights.T), axis=1)
    return TrainingPoint(points, labels, np.ones(neurons), weights, activation)


def _products(slopes: np.ndarray, points: np.ndarray) -> np.ndarray:
    return (slopes[:, :, None] * points[:, None, :]).reshape(len(points), -1)


def _by_norm(mean, point: TrainingPoint) -> PerNeuron:
    return np.array([mean(point.activation, float(norm)) for norm in np.linalg.norm(point.weights, axis=1)])
