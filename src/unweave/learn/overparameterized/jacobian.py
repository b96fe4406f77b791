"""A one-hidden-layer network at a point of its training: loss, derivatives, and products with the Jacobian.

The model is ``f(x) = sum_l v_l g(<w_l, x>)``, the loss ``L = |r|^2 / 2n`` with residuals ``r = f(x) - y``. The
gradient of the answer to sample i in the hidden weights is the Kronecker product of ``v o g'(W x_i)`` and ``x_i``; the
matrix J of all of them is a column-wise (Khatri-Rao) product, so products with it cost as much as one evaluation of the
network, and its Gram matrix is an entrywise product of two small ones. Vectors of parameters hold the output weights
first, if they are trained, then the hidden weights row by row.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
from jaxtyping import Float64
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from unweave.activations import Activation
from unweave.arrays import PerNeuron, PerPoint, Points, as_float64
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network

Array = np.ndarray
Labels = PerPoint
OutputWeights = PerNeuron
Weights = Float64[np.ndarray, "neurons inputs"]
Parameters = Float64[np.ndarray, "parameters"]


@dataclass(frozen=True, eq=False)
class TrainingPoint:
    """Samples, a network, and which of its parameters are trained.

    Args:
        points: one sample per row.
        labels: one per sample.
        output_weights: v, one per neuron.
        weights: W, one row per neuron.
        activation: the scalar function g.
        trains_outputs: whether v moves, too.
        roots: square roots of the weights of the samples, by which answers are multiplied and labels were, so that the
            squares of residuals are weighted; None if all samples count alike.

    Raises:
        InvalidInput: if shapes do not fit, or a number is not finite.
    """

    points: Points
    labels: Labels
    output_weights: OutputWeights
    weights: Weights
    activation: Activation
    trains_outputs: bool = True
    roots: PerPoint | None = None

    def __post_init__(self) -> None:
        for name, ndim in (("points", 2), ("labels", 1), ("output_weights", 1), ("weights", 2)):
            object.__setattr__(self, name, as_float64(getattr(self, name), name=f"TrainingPoint.{name}", ndim=ndim))
        if len(self.labels) != len(self.points) or len(self.points) == 0:
            raise InvalidInput(
                f"TrainingPoint needs one label per sample, got {len(self.labels)} for {len(self.points)}."
            )
        needed = (len(self.output_weights), self.points.shape[1])
        if self.weights.shape != needed:
            raise InvalidInput(
                f"TrainingPoint.weights needs shape {needed} (neurons, inputs), got {self.weights.shape}."
            )

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.points)

    @property
    def neurons(self) -> int:
        """Number of hidden neurons."""
        return len(self.output_weights)

    @property
    def parameters(self) -> int:
        """Number of trained parameters."""
        return self.weights.size + (self.neurons if self.trains_outputs else 0)

    @cached_property
    def preactivations(self) -> Float64[Array, "points neurons"]:
        """Arguments of the activation."""
        return self.points @ self.weights.T

    @cached_property
    def hidden(self) -> Float64[Array, "points neurons"]:
        """Values of the hidden neurons."""
        return self._weighed(self.activation(self.preactivations))

    @cached_property
    def scaled_slopes(self) -> Float64[Array, "points neurons"]:
        """Slopes of the hidden neurons times their output weights."""
        return self._weighed(self.activation(self.preactivations, 1)) * self.output_weights

    @cached_property
    def residuals(self) -> Labels:
        """Answers minus labels."""
        return self.hidden @ self.output_weights - self.labels

    @property
    def loss(self) -> float:
        """Half the mean squared residual."""
        return float(self.residuals @ self.residuals) / (2 * self.samples)

    @cached_property
    def gradient(self) -> Parameters:
        """Of the loss in the trained parameters."""
        return self.pull_back(self.residuals) / self.samples

    @property
    def network(self) -> Network:
        """The network, without biases and offset."""
        return Network.shallow(
            self.weights, np.zeros(self.neurons), self.output_weights[None], np.zeros(1), self.activation
        )

    def rows(self, chosen: Array) -> "TrainingPoint":
        """The same network on some of the samples."""
        roots = None if self.roots is None else self.roots[chosen]
        return replace(self, points=self.points[chosen], labels=self.labels[chosen], roots=roots)

    @property
    def unweighed(self) -> "TrainingPoint":
        """The same network where every sample counts once, as claims have it."""
        return self if self.roots is None else replace(self, labels=self.labels / self.roots, roots=None)

    def _weighed(self, values: Array) -> Array:
        return values if self.roots is None else values * self.roots[:, None]

    def moved(self, step: Parameters) -> "TrainingPoint":
        """The point after adding `step` to the parameters."""
        outward, inward = self._split(step)
        return replace(self, output_weights=self.output_weights + outward, weights=self.weights + inward)

    def pull_back(self, shares: Labels) -> Parameters:
        """``J shares``: the sum of the samples' gradients with these shares."""
        inward = (self.scaled_slopes * shares[:, None]).T @ self.points
        return self._join(self.hidden.T @ shares if self.trains_outputs else None, inward)

    def push_forward(self, direction: Parameters) -> Labels:
        """``J^T direction``: how the answers change to first order."""
        outward, inward = self._split(direction)
        change = np.sum(self.scaled_slopes * (self.points @ inward.T), axis=1)
        return change + self.hidden @ outward if self.trains_outputs else change

    def hessian_product(self, direction: Parameters) -> Parameters:
        """The Hessian of the loss times a direction, at the cost of about three gradients.

        With the values, slopes and curvatures of the hidden neurons P0, P1, P2, residuals r, a direction (q, U) and
        ``D = U X``: ``s = P0^T q + (D_v P1 o D)^T 1``, and ``n H (q, U) = (P0 s + (P1 o D) r, [D_v P1 diag(s) +
        D_q P1 diag(r) + D_v (P2 o D) diag(r)] X^T)``.
        """
        outward, inward = self._split(direction)
        shift = self.points @ inward.T
        response = self.push_forward(direction)
        slopes = self._weighed(self.activation(self.preactivations, 1))
        bends = self._weighed(self.activation(self.preactivations, 2)) * shift * self.output_weights
        inside = self.scaled_slopes * response[:, None] + (slopes * outward + bends) * self.residuals[:, None]
        outside = self.hidden.T @ response + (slopes * shift).T @ self.residuals
        return self._join(outside if self.trains_outputs else None, inside.T @ self.points) / self.samples

    def gram(self) -> Float64[Array, "points points"]:
        """``J^T J``, from two small Gram matrices."""
        gram = (self.scaled_slopes @ self.scaled_slopes.T) * (self.points @ self.points.T)
        return gram + self.hidden @ self.hidden.T if self.trains_outputs else gram

    def dense_jacobian(self) -> Float64[Array, "points parameters"]:
        """``J^T`` with all its entries."""
        inward = (self.scaled_slopes[:, :, None] * self.points[:, None, :]).reshape(self.samples, -1)
        return np.hstack([self.hidden, inward]) if self.trains_outputs else inward

    def _join(self, outward: Array | None, inward: Array) -> Parameters:
        return inward.ravel() if outward is None else np.concatenate([outward, inward.ravel()])

    def _split(self, direction: Parameters) -> tuple[OutputWeights, Weights]:
        if direction.shape != (self.parameters,):
            raise InvalidInput(f"a direction needs {self.parameters} entries, got shape {direction.shape}.")
        first = self.neurons if self.trains_outputs else 0
        outward = direction[:first] if first else np.zeros(self.neurons)
        return outward, direction[first:].reshape(self.weights.shape)


@dataclass(frozen=True)
class SingularValues:
    """The ends of the Jacobian's spectrum.

    Args:
        smallest: the n-th one, for n samples; 0 if there are fewer parameters than samples.
        largest: the first one.
        error: bound of the rounding error of `smallest`.
    """

    smallest: float
    largest: float
    error: float


@dataclass(frozen=True, kw_only=True)
class SpectrumSearch:
    """How the ends of a spectrum are found.

    Args:
        dense_operations: samples^2 x parameters up to which the Jacobian is factorised: about ten times as many
            operations, some seconds on one core.
        gram_limit: samples up to which the Gram matrix is factorised where the Jacobian is too large; above, there are
            only products.
        vectors: that Lanczos keeps. The small end of the spectrum is crowded, so it needs many.
        tol: relative error of eigenvalues by Lanczos, which is part of the error that is stated.
    """

    dense_operations: float = 1e9
    gram_limit: int = 3_000
    vectors: int = 80
    tol: float = 1e-8

    def end(self, operator: LinearOperator, which: str) -> float:
        """The smallest ("SA") or largest ("LA") eigenvalue, by Lanczos.

        Raises:
            InvalidInput: if that does not converge.
        """
        size = operator.shape[0]
        # The start is fixed so that the same point gives the same number.
        start = np.random.default_rng(0).standard_normal(size)
        try:
            found = eigsh(
                operator,
                k=1,
                which=which,
                ncv=min(size, self.vectors),
                v0=start,
                return_eigenvectors=False,
                tol=self.tol,  # type: ignore[arg-type]
            )
        except ArpackNoConvergence as error:
            raise InvalidInput(f"Lanczos did not converge for {size} unknowns: use the dense factorisation.") from error
        return float(found[0])


SEARCH = SpectrumSearch()


def jacobian_spectrum(
    point: TrainingPoint, *, is_matrix_free: bool | None = None, search: SpectrumSearch = SEARCH
) -> SingularValues:
    """Smallest and largest singular value of the Jacobian.

    Args:
        point: where.
        is_matrix_free: whether to use products only (Lanczos); by default for many samples. Both this and the dense
            Gram matrix, which serves a large Jacobian, can't resolve singular values below 1e-8 times the largest one.
        search: up to which size what is factorised, and how Lanczos goes on.

    Raises:
        InvalidInput: if Lanczos does not converge.
    """
    has_full_rank = point.parameters >= point.samples
    if is_matrix_free is None:
        is_matrix_free = point.samples > search.gram_limit
    if point.samples < 3 or (not is_matrix_free and point.samples**2 * point.parameters <= search.dense_operations):
        values = scipy.linalg.svdvals(point.dense_jacobian())
        rounding = float(values[0] * np.finfo(float).eps * np.sqrt(point.samples))
        return SingularValues(float(values[-1]) if has_full_rank else 0.0, float(values[0]), rounding)
    if is_matrix_free:
        operator = _symmetric(point.samples, lambda shares: point.push_forward(point.pull_back(shares)))
        ends = [search.end(operator, "SA") if has_full_rank else 0.0, search.end(operator, "LA")]
    else:
        ends = np.linalg.eigvalsh(point.gram())[[0, -1]]
    smallest, largest = np.sqrt(np.maximum(ends, 0.0))
    rounding = search.tol * smallest + largest * np.sqrt(np.finfo(float).eps * np.sqrt(point.samples))
    return SingularValues(float(smallest) if has_full_rank else 0.0, float(largest), float(rounding))


def largest_curvature(point: TrainingPoint) -> float:
    """Largest eigenvalue of the Hessian of the loss, by Lanczos with Hessian products."""
    if point.parameters < 3:
        columns = [point.hessian_product(unit) for unit in np.eye(point.parameters)]
        return float(np.linalg.eigvalsh(np.array(columns))[-1])
    return SEARCH.end(_symmetric(point.parameters, point.hessian_product), "LA")


def _symmetric(size: int, product) -> LinearOperator:
    return LinearOperator((size, size), matvec=product, dtype=np.float64)  # type: ignore[call-arg]
