"""Directions of the neurons of a shallow network from its Hermite tensors, up to sign, and the space that they span.

The Hermite tensors of a shallow network under Gaussian inputs are ``T_k = sum_i c_ki w_i (x) ... (x) w_i`` (k
factors). If the powers of order l are linearly independent, tensors of orders ``2l, 2l + 1, 2l + 2`` flattened to
``(l, l, rest)`` and laid side by side along the last axis have one rank-one term per neuron, as long as not all three
of its coefficients vanish.

Power steps refine directions that are not orthogonal: in a tensor of order ``k >= 2l + 1`` all axes but one are
contracted with duals, tensors D_i of order l and D'_i of order ``k - 1 - l`` with ``<D_i, w_j (x) ...> = 1`` for
``i = j`` and 0 otherwise. Then ``T(., D_i, D'_i) = c_i w_i``, and because both duals are nearly orthogonal to the other
terms, one step squares the error of the directions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb, factorial, sqrt

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, PerNeuron
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.jennrich import Jennrich, RankOneTerms
from unweave.numerics.symmetric_tensors import (
    Tensor,
    fit_directions,
    flattened,
    leading_directions,
    misfit_of,
    packed_powers,
)
from unweave.samples.hermite.moments import HermiteMoments
from unweave.samples.sums import Halved


@dataclass(frozen=True, kw_only=True)
class DirectionRules:
    """How many directions the tensor of order 2 shows, and how many a power holds.

    Args:
        noise_factor: an eigenvalue counts if it is this many times the spectral norm of the noise; chosen: eigenvalues
            of noise alone rarely reach it.
        safe_share: of the dimension of the powers up to which those of generic directions are taken to be independent.
            They are up to all of it, and well conditioned up to any share below it (smoothed analysis); chosen: nearly
            all.
    """

    noise_factor: float = 2.0
    safe_share: float = 0.99


@dataclass(frozen=True, eq=False)
class ActiveSubspace:
    """Leading eigenvectors of ``T_2`` by the absolute value of their eigenvalues.

    Args:
        basis: orthonormal columns.
        eigenvalues: all of them, descending by absolute value.
        noise: spectral norm of the error of ``T_2``, from the two halves.
        linear_outside: length of the part of ``T_1`` outside; units of large bias are linear functions, which ``T_2``
            does not see.
    """

    basis: Float64[np.ndarray, "rank smaller"]
    eigenvalues: Float64[np.ndarray, "rank"]
    noise: float
    linear_outside: float

    @property
    def rank(self) -> int:
        """Dimension of the subspace."""
        return self.basis.shape[1]


def active_subspace(
    moments: Halved[HermiteMoments], *, rank: int | None = None, rules: DirectionRules
) -> ActiveSubspace:
    """Estimate the span of the weights.

    ``T_2 = sum_i a_i phi(b_i) w_i w_i^T`` has no coefficient that vanishes, and coefficients of both signs, so the
    eigenvectors of its m eigenvalues of largest absolute value span the weights of m units.

    Args:
        moments: orders 0 to 2 or more, with halves.
        rank: dimension of the span; eigenvalues above the noise if not given.
        rules: how far above.

    Assumes: the weights are linearly independent.
    Guarantees: an angle of order ``noise / (|smallest eigenvalue| - noise)`` [wedin1972]; the chosen rank is heuristic.

    Raises:
        InvalidInput: if `rank` is not between 1 and the dimension of the moments.
    """
    dimension = moments.whole.rank
    if rank is not None and not 1 <= rank <= dimension:
        raise InvalidInput(f"the active subspace has a dimension from 1 to {dimension}, got rank={rank}.")
    eigenvalues, vectors = np.linalg.eigh(moments.whole.tensor(2))
    descending = np.argsort(-np.abs(eigenvalues))
    eigenvalues, vectors = eigenvalues[descending], vectors[:, descending]
    noise = float(np.linalg.norm(moments.noise(lambda half: half.tensor(2)), ord=2))
    if rank is None:
        rank = int(np.count_nonzero(np.abs(eigenvalues) > rules.noise_factor * noise))
    basis = vectors[:, :rank]
    linear = moments.whole.entries(1)
    outside = linear - basis @ (basis.T @ linear)
    return ActiveSubspace(basis, eigenvalues, noise, float(np.linalg.norm(outside)))


@dataclass(frozen=True)
class TensorDirections:
    """Directions found in Hermite tensors, with the evidence.

    Args:
        directions: unit vectors, one per row; every sign is arbitrary.
        misfit: relative misfit of the tensors of orders ``max(2, l)`` to ``2l + 2`` by powers of the directions.
        start_misfit: the same before power steps and fit.
        qualities: how near every factor was to a power of one vector; below 0.8 a direction has failed.
        condition: condition number of the powers of order l.
        terms: what the simultaneous diagonalisation reported.
    """

    directions: Atoms
    misfit: float
    start_misfit: float
    qualities: PerNeuron
    condition: float
    terms: RankOneTerms


@dataclass(frozen=True)
class PooledDirections:
    """Settings of the decomposition of several Hermite tensors at once.

    Args:
        order: the l from which on the powers of the directions are independent; 1 if the directions are.
        diagonalisation: finds the terms of the pooled tensor.
        power_steps: largest number of tensor power steps, taken while the misfit falls.
        fit_steps: largest number of steps of the joint fit.
    """

    order: int = 1
    diagonalisation: Jennrich = field(default_factory=lambda: Jennrich(draws=40))
    power_steps: int = 6
    fit_steps: int = 60

    def __call__(
        self, tensors: Sequence[Tensor], rng: np.random.Generator, *, rank: int | None = None, floor: float = 0.0
    ) -> TensorDirections:
        """Find the directions.

        Args:
            tensors: ``tensors[k]`` is the Hermite tensor of order k, full and symmetric, for k up to
                ``2 order + 2``; un-normalised polynomials, ``T_k = E[f(x) He_k(x)]``.
            rng: for the contractions.
            rank: number of neurons; found from the largest gap of the singular values if omitted.
            floor: singular value of the pooled tensor that errors of the tensors explain.

        Raises:
            InvalidInput: if a tensor is missing.

        Assumes: independent powers of this order; for every neuron one of the coefficients of orders
            ``2l, 2l + 1, 2l + 2`` is not zero (true of relu with any bias).
        Guarantees: exact for exact tensors, with probability 1; misfit never above that of the diagonalisation.
        """
        check_orders(tensors, highest=2 * self.order + 2)
        pooled = pooled_tensor(tensors, order=self.order)
        # The tensor of order 2 of a relu network has no vanishing coefficient, and the smallest error.
        anchor = pooled[:, :, 0] if self.order == 1 else None
        terms = self.diagonalisation(pooled, rng, rank=rank, floor=floor, anchor=anchor)
        start, qualities = leading_directions(terms.factors, tensors[1].shape[0], self.order)
        fitted = [tensors[k] for k in range(max(2, self.order), 2 * self.order + 3)]
        powered = powered_directions(tensors, start, order=self.order, steps=self.power_steps)
        fit = fit_directions(fitted, powered, steps=self.fit_steps)
        values = np.linalg.svd(packed_powers(fit.directions, self.order), compute_uv=False)
        return TensorDirections(
            directions=fit.directions,
            misfit=fit.misfit,
            start_misfit=misfit_of(fitted, start),
            qualities=qualities,
            condition=float(values[0] / values[-1]) if len(values) and values[-1] > 0 else np.inf,
            terms=terms,
        )


def check_orders(tensors: Sequence[Tensor], *, highest: int) -> None:
    """Raise `InvalidInput` unless there is a tensor for every order up to `highest`, with axes of one length."""
    if len(tensors) <= highest:
        raise InvalidInput(f"Hermite tensors of orders 0 to {highest} are needed, got {len(tensors)} tensors.")
    inputs = tensors[1].shape[0] if tensors[1].ndim else 0
    for order, tensor in enumerate(tensors[: highest + 1]):
        if tensor.shape != (inputs,) * order:
            raise InvalidInput(f"the tensor of order {order} needs shape {(inputs,) * order}, got {tensor.shape}.")


def smallest_order(inputs: int, neurons: int, *, rules: DirectionRules) -> int:
    """Smallest l for which powers of generic directions are safely independent.

    That is ``neurons <= inputs`` for l = 1, and ``neurons <= safe_share (inputs + l - 1 choose l)`` above.

    Raises:
        InvalidInput: for several neurons on one input, whose powers are always parallel.
    """
    if inputs < 2 and neurons > inputs:
        raise InvalidInput(f"{neurons} neurons on {inputs} input are parallel: their powers are never independent.")
    order = 1
    while neurons > (inputs if order == 1 else rules.safe_share * comb(inputs + order - 1, order)):
        order += 1
    return order


def pooled_tensor(tensors: Sequence[Tensor], *, order: int) -> Float64[np.ndarray, "entries entries slices"]:
    """Tensors of orders ``2l, 2l + 1, 2l + 2``, flattened and scaled by ``1 / sqrt(k!)``, along one last axis."""
    parts = [
        flattened(tensors[2 * order + rest], (order, order, rest)) / sqrt(factorial(2 * order + rest))
        for rest in range(3)
    ]
    return np.concatenate(parts, axis=2)


def powered_directions(tensors: Sequence[Tensor], directions: Atoms, *, order: int, steps: int) -> Atoms:
    """Power steps with the tensors of orders ``2l + 1`` and ``2l + 2``, taken while the misfit of these falls."""
    used = [tensors[2 * order + 1], tensors[2 * order + 2]]
    misfit = misfit_of(used, directions)
    for _ in range(steps if len(directions) else 0):
        moved = power_step(used, directions, order=order)
        trial = misfit_of(used, moved)
        if not trial < misfit:
            break
        directions, misfit = moved, trial
    return directions


def power_step(tensors: Sequence[Tensor], directions: Atoms, *, order: int) -> Atoms:
    """One step on all directions at once, with every tensor weighted by its coefficients and ``1 / k!``.

    Args:
        tensors: symmetric, of orders k of at least ``2 order + 1``, with the same directions.
        directions: unit vectors near the true ones, up to sign, one per row.
        order: the l from which on the powers of the directions are linearly independent.

    Assumes: powers of this order are linearly independent. A coefficient that vanishes in one tensor is no loss if it
        does not in another: its image there has no weight.
    Guarantees: the true directions are fixed points for exact tensors, with quadratic convergence nearby.
    """
    moved = np.zeros_like(directions)
    for tensor in tensors:
        rest = tensor.ndim - 1 - order
        images = np.einsum(
            "apq,pi,qi->ia",
            flattened(tensor, (1, order, rest)),
            _duals(directions, order),
            _duals(directions, rest),
            optimize=True,
        )
        coefficients = np.einsum("ia,ia->i", images, directions)
        moved += coefficients[:, None] * images / factorial(tensor.ndim)
    sizes = np.linalg.norm(moved, axis=1, keepdims=True)
    # A direction that no tensor sees stays where it is.
    return np.where(sizes > 0, moved / np.where(sizes > 0, sizes, 1.0), directions)


def _duals(directions: Atoms, order: int) -> Float64[np.ndarray, "packed neurons"]:
    """Packed tensors whose inner products with the powers of the directions are those of the unit matrix."""
    return np.linalg.pinv(packed_powers(directions, order))
