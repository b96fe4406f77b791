"""What the answers of a network leave undetermined: its symmetries, a normal form, and matching.

Five changes of the parameters leave the function as it is: the order of the neurons of a hidden
layer; the sign of a neuron, by the reflection law of its activation, if it has one; the scale of a
neuron with a homogeneous activation; half periods in the bias of a sine; and the writing of one
activation by another. Two networks are compared only after all of these have been taken out.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Bool, Float64, Int

from unweave.activations import IDENTITY, Activation, base_of
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network

Array = np.ndarray

# Weights that agree to this many decimals, relative to the largest, are in no order: the next decide.
ORDER_DECIMALS = 9


@dataclass(frozen=True)
class ParameterErrors:
    """Relative errors of the parameters of an aligned network; see `match` for their scales.

    Args:
        weights: largest error of a hidden weight.
        biases: largest error of a hidden bias.
        output_weights: largest error of a weight of the output layer.
        offset: largest error of a bias of the output layer.
        skip: largest error of a slope of the linear part.
        neurons: for every hidden layer, the largest error of all parameters of each neuron.
    """

    weights: float
    biases: float
    output_weights: float
    offset: float
    skip: float
    neurons: tuple[Array, ...]

    @property
    def largest(self) -> float:
        """Largest of all errors."""
        return max(self.weights, self.biases, self.output_weights, self.offset, self.skip)


@dataclass(frozen=True, eq=False)
class Match:
    """Compare a recovered network, moved by symmetries onto the true one, with it.

    Args:
        aligned: the recovered network, with neurons in the order and with the signs of the truth.
        truth: the true network in the same normal form (rewritten, rescaled, phases reduced).
        errors: what is left; infinite if the networks cannot be compared.
        reason: why they cannot be compared, or None.
    """

    aligned: Network
    truth: Network
    errors: ParameterErrors
    reason: str | None = None

    @property
    def is_comparable(self) -> bool:
        """Tell whether both networks have the same architecture."""
        return self.reason is None

    @property
    def largest_error(self) -> float:
        """Return the largest relative error of a parameter."""
        return self.errors.largest


def rewrite(network: Network) -> Network:
    """Express every hidden layer by the simplest activation (sigmoid by tanh, softplus(b) by softplus)."""
    for index in range(len(network.widths)):
        while (law := network.layers[index].activation.rewriting) is not None:
            layer, following = network.layers[index : index + 2]
            network = _replaced(
                network,
                index,
                Layer(law.inner * layer.weights, law.inner * layer.biases, law.base),
                law.outer * following.weights,
                following.biases + law.offset * following.weights.sum(axis=1),
            )
    return network


def express(network: Network, activation: Activation) -> Network:
    """Write a network with `activation` in its hidden layers, where both share the same base (tanh as sigmoid).

    Raises:
        InvalidInput: if the hidden layers can't be written with it.
    """
    network = rewrite(network)
    law = activation.rewriting
    if any(layer.activation != base_of(activation) for layer in network.layers[:-1]):
        raise InvalidInput(f"a network of {network.layers[0].activation} can't be written with {activation}.")
    if law is None:
        return network
    for index in range(len(network.layers) - 1):
        hidden, following = _hidden_and_following(network, index)
        moved = Layer(hidden.weights / law.inner, hidden.biases / law.inner, activation)
        outgoing = following.weights / law.outer
        network = _replaced(network, index, moved, outgoing, following.biases - law.offset * outgoing.sum(axis=1))
    return network


def permute(network: Network, layer: int, order: Int[Array, "neurons"]) -> Network:
    """Put the neurons of a hidden layer into another order.

    Raises:
        InvalidInput: if there is no such hidden layer, or `order` is not a permutation.
    """
    hidden, following = _hidden_and_following(network, layer)
    if not np.array_equal(np.sort(order), np.arange(hidden.neurons)):
        raise InvalidInput(f"permute needs each index below {hidden.neurons} once, got {order}.")
    moved = replace(hidden, weights=hidden.weights[order], biases=hidden.biases[order])
    return _replaced(network, layer, moved, following.weights[:, order], following.biases)


def is_reflectable(network: Network, layer: int) -> bool:
    """Whether the signs of the neurons of a hidden layer are a symmetry.

    Without a reflection law they are not. A law with a slope leaves an affine part in the input of the layer, which
    only a single hidden layer with an affine output can move into the linear part `skip`.
    """
    law = network.layers[layer].activation.reflection
    is_affine_around = len(network.layers) == 2 and network.layers[1].activation == IDENTITY
    return law is not None and (law.slope == 0.0 or is_affine_around)


def reflect(network: Network, layer: int, flipped: Bool[Array, "neurons"]) -> Network:
    """Negate incoming weights and bias of the `flipped` neurons; the reflection law moves the rest.

    With ``g(-t) = sign g(t) + slope t + offset`` and ``s = -t``, a neuron is
    ``a g(t) = a sign g(s) + a slope s + a offset``.

    Raises:
        InvalidInput: if there is no such hidden layer, or its signs are not a symmetry.
    """
    hidden, following = _hidden_and_following(network, layer)
    law = hidden.activation.reflection
    if law is None:
        raise InvalidInput(f"reflect needs a symmetry, but {hidden.activation} has no reflection law: keep its signs.")
    if not is_reflectable(network, layer):
        raise InvalidInput(
            f"reflect needs a symmetry, but {hidden.activation} leaves an affine part that layer {layer} of "
            f"{len(network.widths)} hidden layers cannot pass on: keep its signs."
        )
    signs = np.where(flipped, -1.0, 1.0)
    moved = replace(hidden, weights=signs[:, None] * hidden.weights, biases=signs * hidden.biases)
    outgoing = np.where(flipped, following.weights, 0.0)
    biases = following.biases + outgoing.sum(axis=1) * law.offset + law.slope * (outgoing @ moved.biases)
    reflected = _replaced(network, layer, moved, np.where(flipped, law.sign, 1.0) * following.weights, biases)
    if law.slope == 0.0 or not flipped.any():
        return reflected
    return replace(reflected, skip=_skip(network) + law.slope * (outgoing @ moved.weights))


def rescale(network: Network, layer: int, factors: Float64[Array, "neurons"]) -> Network:
    """Divide incoming weights and bias by positive factors and multiply the outgoing weights.

    Raises:
        InvalidInput: if there is no such hidden layer, it is not homogeneous, or a factor is not positive.
    """
    hidden, following = _hidden_and_following(network, layer)
    degree = hidden.activation.homogeneity
    if degree is None or not np.all(factors > 0.0):
        raise InvalidInput(
            f"rescale needs a homogeneous activation and positive factors, got {hidden.activation}, {factors}"
        )
    scaled = replace(hidden, weights=hidden.weights / factors[:, None], biases=hidden.biases / factors)
    return _replaced(network, layer, scaled, following.weights * factors**degree, following.biases)


def shift_phases(network: Network, layer: int, half_periods: Int[Array, "neurons"]) -> Network:
    """Add half periods to the biases of a layer of sines; each one negates the outgoing weights.

    Raises:
        InvalidInput: if there is no such hidden layer, or it is not periodic.
    """
    hidden, following = _hidden_and_following(network, layer)
    if hidden.activation.period is None:
        raise InvalidInput(f"shift_phases needs a periodic activation, got {hidden.activation}.")
    shifted = replace(hidden, biases=hidden.biases + half_periods * (hidden.activation.period / 2))
    signs = 1.0 - 2.0 * (half_periods % 2)
    return _replaced(network, layer, shifted, following.weights * signs, following.biases)


def canonical(network: Network) -> Network:
    """Bring a network to its normal form: the same function, and the same parameters for the same class.

    Hidden layers are rewritten and rescaled to unit incoming weights where they are homogeneous;
    phases lie in ``(-pi/2, pi/2]``; where signs are a symmetry, the incoming weight of largest
    absolute value is positive (the bias, if all are zero); neurons are in lexicographic order.
    Neurons that do nothing are kept.

    Guarantees: function values change by rounding only. Equal classes give equal parameters unless
        a choice (largest weight, order) is a tie: to compare networks, use `match`.
    """
    network = _normalised(network)
    for index in range(len(network.widths)):
        if is_reflectable(network, index):
            network = reflect(network, index, _leading_entries(network.layers[index]) < 0.0)
            network = _with_reduced_phases(network, index)
        network = permute(network, index, _lexicographic_order(network, index))
    return network


def match(recovered: Network, truth: Network) -> Match:
    """Move a recovered network by symmetries onto the true one and measure what remains.

    Errors are relative, each to a scale of the true network in normal form: weights and bias of a
    hidden neuron to the norm of its incoming weights; a weight of the output layer to the norm of
    its column, the outgoing weights of one neuron; the offset to the largest absolute output weight
    or offset; the linear part to its largest absolute slope or, if larger, the product over all
    layers of the largest absolute weight. A scale of zero is replaced by the largest of its kind, or
    by 1. So the errors do not change if both networks are given in other units of their outputs.

    Neurons are paired layer by layer. The cost of a pair is ``d / (1 + d)`` with d its error under
    the best sign, for the incoming parameters and, in the last hidden layer, plus the same for the
    outgoing weights; it saturates, so that one wrong neuron cannot upset the pairing of the others.

    Returns:
        Both networks in normal form and the errors; `largest_error` is infinite, with a `reason`,
        if the architectures differ.

    Guarantees: the pairing has the smallest possible total cost in each layer, given the layers before.
    """
    aligned, truth = _normalised(recovered), _normalised(truth)
    reason = _difference(aligned, truth)
    if reason is not None:
        infinite = float("inf")
        return Match(aligned, truth, ParameterErrors(*[infinite] * 5, neurons=()), reason)
    for index in range(len(truth.widths)):
        aligned = _aligned(aligned, truth, index)
    if aligned.skip is not None or truth.skip is not None:
        aligned, truth = replace(aligned, skip=_skip(aligned)), replace(truth, skip=_skip(truth))
    return Match(aligned, truth, _errors(aligned, truth))


def _replaced(network: Network, index: int, hidden: Layer, outgoing: Array, biases: Array) -> Network:
    layers = list(network.layers)
    layers[index] = hidden
    layers[index + 1] = replace(layers[index + 1], weights=outgoing, biases=biases)
    return replace(network, layers=tuple(layers))


def _hidden_and_following(network: Network, index: int) -> tuple[Layer, Layer]:
    if not 0 <= index < len(network.widths):
        raise InvalidInput(f"layer needs to be one of {len(network.widths)} hidden layers, got {index}.")
    return network.layers[index], network.layers[index + 1]


def _skip(network: Network) -> Array:
    return np.zeros((network.outputs, network.inputs)) if network.skip is None else network.skip


def _normalised(network: Network) -> Network:
    """Everything of the normal form that depends on one neuron alone and needs no choice of sign."""
    network = rewrite(network)
    for index in range(len(network.widths)):
        layer = network.layers[index]
        if layer.activation.homogeneity is not None:
            norms = np.linalg.norm(layer.weights, axis=1)
            # A neuron without incoming weights is a constant, whose scale is that of its bias.
            sizes = np.where(norms > 0.0, norms, np.abs(layer.biases))
            network = rescale(network, index, np.where(sizes > 0.0, sizes, 1.0))
        network = _with_reduced_phases(network, index)
    return network


def _with_reduced_phases(network: Network, index: int) -> Network:
    layer = network.layers[index]
    if layer.activation.period is None:
        return network
    # The only periodic activation is the sine, which half a period negates.
    half_periods = np.ceil(layer.biases / (layer.activation.period / 2) - 0.5)
    return shift_phases(network, index, -half_periods.astype(np.int64))


def _leading_entries(layer: Layer) -> Array:
    """Of every neuron the incoming weight of largest absolute value, or its bias if all are zero."""
    fallback = np.where(np.any(layer.weights, axis=1), 0.0, layer.biases)
    entries = np.column_stack([layer.weights, fallback])
    return entries[np.arange(layer.neurons), np.argmax(np.abs(entries), axis=1)]


def _incoming(layer: Layer) -> Array:
    return np.column_stack([layer.weights, layer.biases])


def _lexicographic_order(network: Network, index: int) -> Array:
    """Order of the neurons by incoming weights, then bias, then outgoing weights, all rounded."""
    parts = (_incoming(network.layers[index]), network.layers[index + 1].weights.T)
    keys = np.hstack([np.round(part / _or_one(_largest(part)), ORDER_DECIMALS) for part in parts])
    return np.lexsort(keys.T[::-1])


def _largest(array: Array) -> float:
    return float(np.max(np.abs(array), initial=0.0))


def _or_one(scale: float) -> float:
    return scale if scale > 0.0 else 1.0


def _norms(vectors: Array) -> Array:
    """Norm of every row; a zero is replaced by the largest one, or by 1."""
    norms = np.linalg.norm(vectors, axis=1)
    return np.where(norms > 0.0, norms, _or_one(_largest(norms)))


def _difference(recovered: Network, truth: Network) -> str | None:
    """In which way two architectures differ, if they do."""
    for name in ("inputs", "outputs", "widths", "activations"):
        found, needed = getattr(recovered, name), getattr(truth, name)
        if found != needed:
            return f"the {name} differ: the truth has {needed}, the recovered network has {found}."
    return None


def _aligned(recovered: Network, truth: Network, index: int) -> Network:
    """Pair the neurons of one hidden layer, the layers before being aligned, and move them."""
    neurons = truth.widths[index]
    moves = [
        (flipped, half_periods)
        for flipped in ((False, True) if is_reflectable(recovered, index) else (False,))
        for half_periods in ((0,) if truth.layers[index].activation.period is None else (-1, 0, 1))
    ]
    costs, chosen = np.full((neurons, neurons), np.inf), np.zeros((neurons, neurons), dtype=np.int64)
    for number, (flipped, half_periods) in enumerate(moves):
        moved = _flip_and_shift(recovered, index, np.full(neurons, flipped), np.full(neurons, half_periods))
        cost = _pair_costs(moved, truth, index)
        chosen[cost < costs] = number
        costs = np.minimum(costs, cost)
    targets, order = scipy.optimize.linear_sum_assignment(costs)
    flips, shifts = np.array(moves, dtype=np.int64)[chosen[targets, order]].T
    return _flip_and_shift(permute(recovered, index, order), index, flips.astype(bool), shifts)


def _flip_and_shift(network: Network, index: int, flipped: Array, half_periods: Array) -> Network:
    if flipped.any():
        network = reflect(network, index, flipped)
    return shift_phases(network, index, half_periods) if half_periods.any() else network


def _pair_costs(recovered: Network, truth: Network, index: int) -> Float64[Array, "neurons neurons"]:
    """Cost of every pair: one row per neuron of the truth, one column per recovered neuron."""
    layer = truth.layers[index]
    distances = scipy.spatial.distance.cdist(_incoming(layer), _incoming(recovered.layers[index]), "chebyshev")
    costs = _saturated(distances / _norms(layer.weights)[:, None])
    if index == len(truth.widths) - 1:
        outgoing = truth.layers[-1].weights.T
        distances = scipy.spatial.distance.cdist(outgoing, recovered.layers[-1].weights.T, "chebyshev")
        costs += _saturated(distances / _norms(outgoing)[:, None])
    return costs


def _saturated(distances: Array) -> Array:
    return 1.0 - 1.0 / (1.0 + distances)


def _errors(aligned: Network, truth: Network) -> ParameterErrors:
    weights, biases, neurons = [], [], []
    for layer, true in zip(aligned.layers[:-1], truth.layers[:-1], strict=True):
        norms = _norms(true.weights)
        weights.append(np.max(np.abs(layer.weights - true.weights), axis=1, initial=0.0) / norms)
        biases.append(np.abs(layer.biases - true.biases) / norms)
        neurons.append(np.maximum(weights[-1], biases[-1]))
    layer, true = aligned.layers[-1], truth.layers[-1]
    columns = np.max(np.abs(layer.weights - true.weights), axis=0) / _norms(true.weights.T)
    if neurons:
        neurons[-1] = np.maximum(neurons[-1], columns)
    offset_scale = max(_largest(true.weights), _largest(true.biases))
    slope_scale = float(np.prod([_largest(each.weights) for each in truth.layers]))
    skip_scale = max(_largest(_skip(truth)), slope_scale)
    return ParameterErrors(
        weights=max(map(_largest, weights), default=0.0),
        biases=max(map(_largest, biases), default=0.0),
        output_weights=_largest(columns),
        offset=_largest(layer.biases - true.biases) / _or_one(offset_scale),
        skip=_largest(_skip(aligned) - _skip(truth)) / _or_one(skip_scale),
        neurons=tuple(neurons),
    )
