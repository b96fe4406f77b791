"""Which layer an entangled weight (the gradient of a neuron's argument) belongs to, by a null space, for any depth.

For every hidden layer alone, the gradients of all outputs at the base point are
``J = sum_k alpha_k v_k a_k^T`` over the neurons of that layer, where ``a_k`` is the direction of the neuron's
effect on the outputs. It is known from the Hessians, whose coefficients are multiples of it. The matrix with
columns ``vec(v_k a_k^T)`` and ``-vec(J)`` therefore has one null vector per hidden layer, and a neuron's entries in
a basis of them are a multiple of a vector that depends on its layer only.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from unweave.arrays import Atoms, PackedHessians, PerNeuron, pack_squares
from unweave.exceptions import InvalidInput

# Directions of the neurons of every layer.
LayerRows = tuple[Float64[np.ndarray, "_ inputs"], ...]


@dataclass(frozen=True)
class LayerAssignment:
    """The layer of every direction and the evidence for it.

    Args:
        labels: hidden layer of each direction, counted from 0; -1 where it is open.
        gap: how clearly layers are told apart: a ratio of singular values, or a difference of scores.
        strengths: per direction, by how much its line is nearer than the next, or its score.
        spectrum: the singular values, or the sorted scores.
        layers: number of hidden layers told apart.
        order_margin: how clearly the order of the layers follows from their nesting (1 if there is no doubt).
    """

    labels: Int[np.ndarray, "neurons"]
    gap: float
    strengths: PerNeuron
    spectrum: Float64[np.ndarray, "_"]
    layers: int
    order_margin: float = 1.0

    def groups(self, directions: Atoms) -> LayerRows:
        """The directions of every layer, in order."""
        return tuple(directions[self.labels == layer] for layer in range(self.layers))

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of directions in every layer."""
        return tuple(int(np.count_nonzero(self.labels == layer)) for layer in range(self.layers))


@dataclass(frozen=True, kw_only=True)
class NullSpaceRules:
    """How layers are counted by singular values, and how their directions are told apart.

    Args:
        deepest: most hidden layers that are looked for among the smallest singular values.
        smallest_share: singular values below this share of the largest are not compared: errors of the vectors dwarf
            their differences.
        restarts: of the search for one line per layer; chosen.
        steps: of each; chosen: it ends when the lines do not move any more.
    """

    deepest: int = 8
    smallest_share: float = 0.01
    restarts: int = 60
    steps: int = 50


RULES = NullSpaceRules()


def effects_on_outputs(
    directions: Atoms, hessians: PackedHessians, output_directions: Float64[np.ndarray, "outputs inputs"] | None
) -> tuple[Float64[np.ndarray, "neurons outputs"], Float64[np.ndarray, "neurons points outputs"]]:
    """Direction ``a_k`` of every neuron's effect on the outputs, and its Hessian coefficients at every point.

    The coefficients vary from point to point along one direction only, to leading order, so that neurons that do not
    bend at the base point itself are seen, too.

    Args:
        directions: all hidden entangled weights, unit vectors.
        hessians: at points near the base point.
        output_directions: those of the output layer if it bends, else None.
    """
    known = directions if output_directions is None else np.concatenate([directions, output_directions])
    solved = np.linalg.lstsq(pack_squares(known).T, hessians.reshape(-1, hessians.shape[2]).T, rcond=None)[0]
    series = solved[: len(directions)].reshape(len(directions), *hessians.shape[:2])
    moments = np.einsum("kpo,kpq->koq", series, series)
    return np.ascontiguousarray(np.linalg.eigh(moments)[1][:, :, -1]), series


def null_space_layers(
    directions: Atoms,
    effects: Float64[np.ndarray, "neurons outputs"],
    gradients: Float64[np.ndarray, "outputs inputs"],
    *,
    rng: np.random.Generator,
    layers: int | None = None,
    rules: NullSpaceRules = RULES,
) -> LayerAssignment:
    """Labels of all hidden layers at once, for any depth.

    Args:
        directions: all hidden entangled weights at the base point, unit vectors, in any order.
        effects: their directions in the outputs, see `effects_on_outputs`.
        gradients: of all outputs at the base point.
        rng: for the restarts of the clustering.
        layers: number of hidden layers; found from the singular values if omitted.
        rules: how layers are counted and told apart.

    Raises:
        InvalidInput: if there are no more equations (inputs times outputs) than directions.

    Assumes: no other dependence between the columns than one per layer, which is generic.
    Guarantees: exact labels for exact vectors; with errors heuristic, and the gap says how clear the case is.
    """
    if gradients.size < len(directions) + 1:
        raise InvalidInput(
            f"null_space_layers needs more than {len(directions)} equations (inputs times outputs), got "
            f"{gradients.size}: the gradients of more outputs are needed."
        )
    products = (directions[:, :, None] * effects[:, None, :]).reshape(len(directions), -1)
    matrix = np.vstack([products, -gradients.T.reshape(1, -1) / np.linalg.norm(gradients)])
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    layers = hidden_layers_from(values, rules=rules) if layers is None else layers
    labels, strengths = lines_through(left[:-1, -layers:], lines=layers, rng=rng, rules=rules)
    order, margin = nesting_order(tuple(directions[labels == line] for line in range(layers)))
    ranks = np.argsort(order)
    gap = float(values[-layers - 1] / max(values[-layers], np.finfo(float).tiny))
    return LayerAssignment(ranks[labels], gap, strengths, values, layers, margin)


def hidden_layers_from(values: Float64[np.ndarray, "values"], *, rules: NullSpaceRules = RULES) -> int:
    """Number of small singular values at the end: the largest ratio of neighbours."""
    bounded = np.maximum(values, rules.smallest_share * values[0])[-rules.deepest - 1 :]
    return len(bounded) - 1 - int(np.argmax(bounded[:-1] / bounded[1:]))


def lines_through(
    rows: Float64[np.ndarray, "neurons axes"],
    *,
    lines: int,
    rng: np.random.Generator,
    rules: NullSpaceRules = RULES,
) -> tuple[Int[np.ndarray, "neurons"], PerNeuron]:
    """Group rows into lines through the origin: k-means for lines, where long rows count more.

    Returns the line of every row, and the difference of its cosines with the nearest and the second nearest.
    """
    lengths = np.linalg.norm(rows, axis=1)
    best, captured = np.tile(np.eye(rows.shape[1])[0], (lines, 1)), -np.inf
    for _ in range(rules.restarts):
        chosen = rng.choice(len(rows), size=lines, replace=False, p=lengths**2 / np.sum(lengths**2))
        axes = rows[chosen] / lengths[chosen, None]
        for _ in range(rules.steps):
            labels = np.argmax(np.abs(rows @ axes.T), axis=1)
            moved = np.array([_top_direction(rows[labels == line], axes[line]) for line in range(lines)])
            is_still = np.allclose(moved, axes, atol=1e-12)
            axes = moved
            if is_still:
                break
        total = float(np.sum(np.max(np.abs(rows @ axes.T), axis=1) ** 2))
        if total > captured:
            best, captured = axes, total
    cosines = np.abs(rows @ best.T) / lengths[:, None]
    ordered = np.sort(cosines, axis=1)
    margins = ordered[:, -1] - ordered[:, -2] if lines > 1 else ordered[:, -1]
    return np.argmax(cosines, axis=1), margins


def nesting_residual(outer: Float64[np.ndarray, "outer inputs"], inner: Float64[np.ndarray, "inner inputs"]) -> float:
    """Share of `inner` outside the row space of `outer`: zero if `inner` is a later layer."""
    if len(outer) == 0 or len(inner) == 0:
        return 1.0
    basis = np.linalg.svd(outer, full_matrices=False)[2]
    return float(np.linalg.norm(inner - (inner @ basis.T) @ basis) / np.linalg.norm(inner))


def nesting_order(groups: LayerRows) -> tuple[Int[np.ndarray, "layers"], float]:
    """Order of layers in which each lies in the row space of the one before, and the smallest margin.

    The margin of two neighbours is the difference of the nesting residuals of both orders. It is near zero for
    layers of the same width, whose row spaces are equal: their order is then open.
    """
    count = len(groups)
    table = np.array([[nesting_residual(outer, inner) for inner in groups] for outer in groups])
    order = np.argsort(np.sum(table, axis=1) - np.diag(table), kind="stable")
    margins = [table[order[i + 1], order[i]] - table[order[i], order[i + 1]] for i in range(count - 1)]
    return order, float(min(margins, default=1.0))


def _top_direction(rows: np.ndarray, fallback: np.ndarray) -> np.ndarray:
    """Direction that captures most of the rows."""
    if len(rows) == 0:
        return fallback
    top = np.linalg.eigh(rows.T @ rows)[1][:, -1]
    return top if top @ fallback >= 0 else -top
