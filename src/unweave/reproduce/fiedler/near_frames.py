"""Atoms near a tight frame, spans at an exact distance to theirs, and the local maximisers of ``Phi`` in a span."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, PerNeuron, pack_squares, unpack
from unweave.networks.planted import conditioned_rows
from unweave.numerics import power_steps as kernel
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.reproduce.fiedler.subspace_power import distinct_directions

# Ascent is proved up to this step [fiedler, Thm. 2.5, read as a step size].
STEP = 1.0


class Maximisers(NamedTuple):
    """Local maximisers of ``Phi``, up to sign: vectors, values, and how many starts had not come to rest."""

    vectors: Atoms
    values: PerNeuron
    unconverged: int


def near_frame(rng: np.random.Generator, *, inputs: int, neurons: int, noise: float) -> Atoms:
    """Draw unit vectors: orthonormal ones, or where there are more than inputs a nearly tight frame, and noise on them.

    Args:
        rng: source of the numbers.
        inputs: number of entries.
        neurons: number of vectors.
        noise: length of what is added to every vector, about.
    """
    if neurons <= inputs:
        vectors = np.linalg.qr(rng.standard_normal((inputs, neurons)))[0].T
    else:
        vectors = conditioned_rows(rng, neurons, inputs, condition=1.0)
    vectors = vectors + noise * rng.standard_normal((neurons, inputs)) / np.sqrt(inputs)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class PlantedSpan:
    """Atoms near a tight frame, and a span at an exact distance to that of their squares.

    Args:
        atoms: the directions.
        span: the perturbed span.
        error: its distance.
    """

    atoms: Atoms
    span: MatrixSubspace
    error: float

    @classmethod
    def of(cls, settings: Mapping[str, str | int | float], rng: np.random.Generator) -> "PlantedSpan":
        """Plant what the settings of a cell say: inputs, neurons, noise of the frame, error of the span."""
        inputs, neurons = int(settings["inputs"]), int(settings["neurons"])
        atoms, error = (
            near_frame(rng, inputs=inputs, neurons=neurons, noise=float(settings["noise"])),
            settings["error"],
        )
        return cls(atoms, rotated_span(span_of_squares(atoms), rng, error=float(error)), float(error))


def random_atoms(rng: np.random.Generator, *, inputs: int, neurons: int) -> Atoms:
    """Draw directions uniformly."""
    vectors = rng.standard_normal((neurons, inputs))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def span_of_squares(atoms: Atoms) -> MatrixSubspace:
    """The span of the rank-one matrices of atoms."""
    return span_of_hessians(pack_squares(atoms), inputs=atoms.shape[1], rank=len(atoms))


def rotated_span(span: MatrixSubspace, rng: np.random.Generator, *, error: float) -> MatrixSubspace:
    """Turn a span into random directions outside, by one angle, whose sine is the error."""
    count = min(span.rank, span.complement.shape[1])
    inside = np.linalg.qr(rng.standard_normal((span.rank, span.rank)))[0]
    outside = np.linalg.qr(rng.standard_normal((span.complement.shape[1], count)))[0]
    basis = span.basis @ inside
    basis[:, :count] = np.sqrt(1.0 - error**2) * basis[:, :count] + error * (span.complement @ outside)
    return span_of_hessians(basis.T, inputs=span.inputs, rank=span.rank)


def spurious_span(atoms: Atoms, *, error: float) -> tuple[MatrixSubspace, Float64[np.ndarray, "inputs"]]:
    """Bend one atom so that a maximiser near no atom appears [fiedler, Lemma 2.19]; give the span and this maximiser.

    The maximiser u is orthogonal to all atoms, and the first of these becomes ``cos w w^T - sin u u^T``, where the sine
    is the error. Needs fewer atoms than inputs.
    """
    aside = np.linalg.svd(atoms)[2][-1]
    squares = pack_squares(atoms)
    squares[0] = np.sqrt(1.0 - error**2) * squares[0] - error * pack_squares(aside)
    return span_of_hessians(squares, inputs=atoms.shape[1], rank=len(atoms)), aside


def local_maximisers(
    span: MatrixSubspace, starts: Atoms, *, steps: int = 5_000, residual_tol: float = 1e-10, distance: float = 0.05
) -> Maximisers:
    """Ascend from all starts by power steps, and give the different ends that came to rest."""
    points, moving = starts.copy(), np.arange(len(starts))
    defects = np.empty(len(starts))
    for _ in range(0, steps, 25):
        if len(moving) == 0:
            break
        ascent = kernel.ascend(points[moving], span.basis, is_complement=False, step=STEP, steps=25)
        points[moving], defects[moving] = ascent.points, ascent.defects
        moving = moving[ascent.residuals > residual_tol]
    rests = np.setdiff1d(np.arange(len(starts)), moving)
    vectors, _ = distinct_directions(points[rests], defects[rests], distance=distance)
    return Maximisers(vectors, values_at(span, vectors), len(moving))


def values_at(span: MatrixSubspace, vectors: Atoms) -> PerNeuron:
    """``Phi`` of unit vectors."""
    return np.sum((pack_squares(vectors) @ span.basis) ** 2, axis=1)


def ascent_left(span: MatrixSubspace, vector: Float64[np.ndarray, "inputs"]) -> float:
    """Largest difference of both sides of the second-order condition [fiedler, (2.38)]: not positive at a maximiser."""
    images = unpack(span.basis.T, span.inputs) @ vector
    projected = unpack(span.basis @ (span.basis.T @ pack_squares(vector)), span.inputs)
    form = 2.0 * images.T @ images + projected
    tangent = np.linalg.svd(vector[None])[2][1:]
    value = float(values_at(span, vector[None])[0])
    return float(np.linalg.eigvalsh(tangent @ form @ tangent.T)[-1]) - value


def coefficients_of(
    matrix: Float64[np.ndarray, "packed"], span: MatrixSubspace, atoms: Atoms
) -> Float64[np.ndarray, "neurons"]:
    """Express a matrix of the span by the projections of the atoms' squares, as in [fiedler, Thm. 2.1]."""
    projected = span.basis.T @ pack_squares(atoms).T
    return np.linalg.solve(projected, span.basis.T @ matrix)
