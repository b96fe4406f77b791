"""How far the values of a network of any depth bend when its parameters move: a rigorous bound.

Along a step with parts ``D_m`` (weights and bias of layer m) the arguments ``t_l`` of the neurons move by
``dt_l = sum_m T_ml D_m y_m`` with ``T_ml = dt_l / dt_m`` and y_m the values that come in, 1 for the bias
included. Differentiating once more, the values f have the second derivative

    sum_l  2 (df/dt_l) D_l dy_(l-1)  +  (df/dy_l) (g''(t_l) dt_l dt_l).

With spectral norms of the tables, and ``|D_m y_m| <= |D_m| |y_m|``, every term is a number of the point
times ``|D_l| |D_m|``. Over the points, ``sum c^2 |D y|^2 <= |D|^2 lambda_max(sum c^2 y y^T)``, so the norm
of the second derivative is at most ``sum_lm C_lm |D_l| |D_m|``. The numbers are those at the network
itself; inside a ball around it each is enlarged by what the arguments, and with them slopes and tables,
can move at most. Piecewise linear layers do not bend as long as no argument reaches a kink.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import CHUNK_NUMBERS, PerPoint, Points
from unweave.networks.network import Layer, Network
from unweave.networks.parameters import ParameterVector

PerLayer = Float64[np.ndarray, "layers"]
Table = Float64[np.ndarray, "points layers layers"]
# A step so small that arguments move in proportion to it.
TINY_STEP = 1e-9


@dataclass(frozen=True)
class _Tables:
    """Norms at every point. Sizes of neurons are included, so that they belong to relative steps.

    Args:
        arguments: of ``dt_l / dt_m`` at ``[:, m, l]``.
        carried: of ``dy_l / dt_m`` at ``[:, m, l]``; outputs in the last column.
        pulls: of the largest column of ``df / dy_l``.
        bends: of the largest column of ``df / dy_l`` times ``g''(t_l)``.
        gaps: distance of the arguments of every layer from the nearest kink.
    """

    arguments: Table
    carried: Table
    pulls: Float64[np.ndarray, "points layers"]
    bends: Float64[np.ndarray, "points layers"]
    gaps: Float64[np.ndarray, "points layers"]


class LayeredCurvature:
    """Bounds on the second derivative of the values at some points in the relative parameters.

    Args:
        network: the network; its activations are smooth or piecewise linear.
        points: where its values are known.
    """

    def __init__(self, network: Network, points: Points) -> None:
        self._network = network
        self._depth = len(network.layers)
        vector = ParameterVector(network)
        ones = [np.ones(layer.inputs) for layer in network.layers]
        self._rows = [*(vector.sizes(index) for index in range(self._depth - 1)), np.ones(network.outputs)]
        self._columns = [*ones[:-1], vector.output_sizes if self._depth > 1 else ones[-1]]
        parts = np.array_split(points, max(1, len(points) * self._numbers() // CHUNK_NUMBERS))
        found = [self._tables_at(part) for part in parts]
        self._tables = _Tables(*(np.concatenate([vars(each)[name] for each in found]) for name in vars(found[0])))
        self._incoming = self._incoming_values(points)
        self._lengths = [np.linalg.norm(values, axis=1) for values in self._incoming]
        self._spectral = np.array([np.linalg.norm(layer.weights, 2) for layer in network.layers])
        self._suprema = np.array(
            [[layer.activation.supremum(order) for order in (1, 2, 3)] for layer in network.layers]
        )
        self._row_sizes = np.array([np.max(sizes, initial=0.0) for sizes in self._rows])
        self._column_sizes = np.array([np.max(sizes, initial=0.0) for sizes in self._columns])

    @property
    def is_bounded(self) -> bool:
        """Whether all derivatives of all activations are: without that there is no bound."""
        return bool(np.all(np.isfinite(self._suprema)))

    @property
    def weights(self) -> PerLayer:
        """One weight per layer: at the network itself, the values bend by at most ``|weights * step|^2``."""
        bends = np.sum(self.bends(np.zeros(self._depth)), axis=1)
        largest = float(np.max(bends))
        # A layer that does not bend at all (an affine network) needs some weight.
        return np.sqrt(np.where(bends > 0, bends, largest if largest > 0 else 1.0))

    @property
    def reaches(self) -> PerPoint:
        """For every point the relative step, the same in all layers, that brings an argument to a kink."""
        moves = np.stack(self._moves(np.full(self._depth, TINY_STEP)), axis=1)
        return TINY_STEP * np.min(self._tables.gaps / np.maximum(moves, np.finfo(float).tiny), axis=1)

    def excess(self, weights: PerLayer, ball: float) -> float:
        """By which factor values may bend more than ``|weights * step|^2`` within ``|weights * step| <= ball``.

        Infinite if an argument may reach a kink.
        """
        bends = self.bends(ball / weights)
        if not np.all(np.isfinite(bends)):
            return np.inf
        return float(np.linalg.eigvalsh(bends / np.outer(weights, weights))[-1])

    def bends(self, radii: PerLayer) -> Float64[np.ndarray, "layers layers"]:
        """The matrix C of the bound, for all networks within a step of these norms per layer."""
        tables, moves = self._enlarged(radii), self._moves(radii)
        if any(np.any(move >= gap) for move, gap in zip(moves, self._tables.gaps.T, strict=True)):
            return np.full((self._depth, self._depth), np.inf)
        shifts = [np.zeros(len(moves[0]))] + [
            self._column_sizes[index] * self._suprema[index - 1, 0] * moves[index - 1]
            for index in range(1, self._depth)
        ]
        lengths = [length + shift for length, shift in zip(self._lengths, shifts, strict=True)]

        def over_points(factors: np.ndarray, layer: int) -> float:
            incoming = factors[:, None] * self._incoming[layer]
            return _spectral_norm(incoming) + float(np.linalg.norm(factors * shifts[layer]))

        bends = np.zeros((self._depth, self._depth))
        for below in range(self._depth):
            for above in range(below, self._depth):
                factors = np.sum(tables.bends * tables.arguments[:, below] * tables.arguments[:, above], axis=1)
                bends[below, above] = min(
                    over_points(factors * lengths[above], below), over_points(factors * lengths[below], above)
                )
                if below < above:
                    bends[below, above] += over_points(
                        tables.carried[:, above, -1] * tables.carried[:, below, above - 1], below
                    )
                bends[above, below] = bends[below, above]
        return bends

    def _moves(self, radii: PerLayer) -> list[PerPoint]:
        """How far the arguments of every layer can move."""
        moves: list[np.ndarray] = []
        for index in range(self._depth):
            own = self._row_sizes[index] * radii[index] * self._lengths[index]
            if index > 0:
                passed = self._suprema[index - 1, 0] * moves[-1]
                own = (
                    own
                    + (self._row_sizes[index] * radii[index] * self._column_sizes[index] + self._spectral[index])
                    * passed
                )
            moves.append(own)
        return moves

    def _enlarged(self, radii: PerLayer) -> _Tables:
        """The tables with everything added that they can gain within the radii."""
        tables, moves, depth = self._tables, self._moves(radii), self._depth
        first, second, third = self._suprema.T
        slope_moves = [second[index] * moves[index] for index in range(depth)]
        turns = self._row_sizes * self._column_sizes * radii
        arguments, carried = tables.arguments.copy(), tables.carried.copy()
        pulls, bends = tables.pulls.copy(), tables.bends.copy()
        for below in range(depth):
            product, enlarged, carried_gain = 1.0, np.ones(len(pulls)), np.zeros(len(pulls))
            for above in range(below, depth):
                if above > below:
                    factor = self._spectral[above] * first[above - 1]
                    product = product * factor
                    enlarged = enlarged * (
                        factor + turns[above] * first[above - 1] + self._spectral[above] * slope_moves[above - 1]
                    )
                gained = enlarged - product
                after = 1.0 if above + 1 == depth else self._column_sizes[above + 1]
                carried_gain = first[above] * gained + slope_moves[above] * product
                arguments[:, below, above] += self._row_sizes[below] * gained
                carried[:, below, above] += after * self._row_sizes[below] * carried_gain
            if below > 0:
                gain = carried_gain * (self._spectral[below] + turns[below]) + first[-1] * product * turns[below]
                bend_moves = third[below - 1] * moves[below - 1]
                bends[:, below - 1] += pulls[:, below - 1] * bend_moves + gain * (second[below - 1] + bend_moves)
        bends[:, -1] += third[-1] * moves[-1]
        return _Tables(arguments, carried, pulls, bends, tables.gaps)

    def _incoming_values(self, points: Points) -> list[np.ndarray]:
        """The values that come into every layer in the units of its weights, with the 1 of the bias."""
        incoming, values = [], points
        for layer, sizes in zip(self._network.layers, self._columns, strict=True):
            incoming.append(np.hstack([values * sizes, np.ones((len(values), 1))]))
            values = layer.activation(layer.preactivations(values))
        return incoming

    def _numbers(self) -> int:
        widest = max(layer.neurons for layer in self._network.layers)
        return 4 * widest * widest

    def _tables_at(self, points: Points) -> _Tables:
        layers, depth = self._network.layers, self._depth
        arguments, values = [], points
        for layer in layers:
            arguments.append(layer.preactivations(values))
            values = layer.activation(arguments[-1])
        slopes = [layer.activation(t, 1) for layer, t in zip(layers, arguments, strict=True)]
        moved, carried = np.zeros((2, len(points), depth, depth))
        pulls, bends = np.ones((len(points), depth)), np.zeros((len(points), depth))
        for below in range(depth):
            jacobian = np.broadcast_to(
                np.diag(self._rows[below]), (len(points), layers[below].neurons, layers[below].neurons)
            )
            for above in range(below, depth):
                if above > below:
                    jacobian = layers[above].weights @ (slopes[above - 1][:, :, None] * jacobian)
                after = self._columns[above + 1] if above + 1 < depth else np.ones(layers[above].neurons)
                moved[:, below, above] = _spectral_norms(jacobian)
                carried[:, below, above] = _spectral_norms((slopes[above] * after)[:, :, None] * jacobian)
            if below > 0:
                pulled = (slopes[-1][:, :, None] * jacobian) / self._rows[below] @ layers[below].weights
                columns = np.linalg.norm(pulled, axis=1)
                pulls[:, below - 1] = np.max(columns, axis=1, initial=0.0)
                bends[:, below - 1] = np.max(
                    columns * _second(layers[below - 1], arguments[below - 1]), axis=1, initial=0.0
                )
        bends[:, -1] = np.max(_second(layers[-1], arguments[-1]), axis=1)
        gaps = np.stack([_gaps(layer, t) for layer, t in zip(layers, arguments, strict=True)], axis=1)
        return _Tables(moved, carried, pulls, bends, gaps)


def _second(layer: Layer, arguments: np.ndarray) -> np.ndarray:
    return np.abs(layer.activation(arguments, 2))


def _gaps(layer: Layer, arguments: np.ndarray) -> PerPoint:
    if layer.activation.is_smooth:
        return np.full(len(arguments), np.inf)
    distances = [np.min(np.abs(arguments - kink), axis=1, initial=np.inf) for kink in layer.activation.breaks(3)]
    return np.min(distances, axis=0)


def _spectral_norm(matrix: np.ndarray) -> float:
    return float(np.sqrt(max(np.linalg.eigvalsh(matrix.T @ matrix)[-1], 0.0)))


def _spectral_norms(matrices: Float64[np.ndarray, "points rows columns"]) -> PerPoint:
    """Spectral norm of every matrix, by the eigenvalues of the smaller product with itself."""
    if min(matrices.shape[1:]) == 0:
        return np.zeros(len(matrices))
    transposed = np.swapaxes(matrices, 1, 2)
    products = matrices @ transposed if matrices.shape[1] <= matrices.shape[2] else transposed @ matrices
    return np.sqrt(np.maximum(np.linalg.eigvalsh(products)[:, -1], 0.0))
