"""Put a network together from neurons that were read one by one, far from the centre."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Points, Values
from unweave.networks.network import Network

# Neurons whose weights and biases differ by less than this, relative to the weights, are the same.
SAME = 1e-3
# A neuron that later lines have corrected to less than this share of what was read is not there.
VANISHED = 1e-3


@dataclass(frozen=True)
class FarNeuron:
    """A neuron ``height g(weights x + bias)`` in standard coordinates."""

    weights: Float64[np.ndarray, "inputs"]
    bias: float
    height: Float64[np.ndarray, "outputs"]


def merged(neurons: list[FarNeuron], more: list[FarNeuron]) -> list[FarNeuron]:
    """Neurons and what a later line adds to them: a neuron that was met before is corrected, not doubled."""
    result = list(neurons)
    for neuron in more:
        same = _index_of(neuron, result)
        if same is None:
            result.append(neuron)
            continue
        other = result[same]
        sign = 1.0 if other.weights @ neuron.weights > 0 else -1.0
        height = other.height + sign * neuron.height
        if np.linalg.norm(height) < VANISHED * np.linalg.norm(other.height):
            del result[same]
        else:
            result[same] = replace(other, height=height)
    return result


def _index_of(neuron: FarNeuron, others: list[FarNeuron]) -> int | None:
    """The neuron with the same weights and bias, up to sign, if there is one."""
    if not others:
        return None
    weights = np.array([other.weights for other in others])
    signs = np.where(weights @ neuron.weights > 0, 1.0, -1.0)
    differences = np.linalg.norm(weights - signs[:, None] * neuron.weights, axis=1)
    shifts = np.abs(np.array([other.bias for other in others]) - signs * neuron.bias)
    same = np.maximum(differences, shifts) < SAME * np.linalg.norm(weights, axis=1)
    return int(np.argmax(same)) if np.any(same) else None


def network_of(
    neurons: list[FarNeuron], activation: Activation, *, slope: Float64[np.ndarray, "outputs inputs"]
) -> Network:
    """The network of these neurons, with an affine part of this slope if it has one."""
    outputs, inputs = slope.shape
    return Network.shallow(
        weights=np.array([neuron.weights for neuron in neurons]).reshape(-1, inputs),
        biases=np.array([neuron.bias for neuron in neurons]),
        output_weights=np.array([neuron.height for neuron in neurons]).reshape(-1, outputs).T,
        offset=np.zeros(outputs),
        activation=activation,
        skip=slope if np.any(slope) else None,
    )


def with_affine_part(network: Network, points: Points, values: Values) -> Network:
    """The network with what fits the answers best: a constant, or an affine part where tails have slopes."""
    hidden, output = network.layers
    rest = values - network(points)
    if hidden.activation.bend == 0.0:
        offset = output.biases + np.mean(rest, axis=0)
        return replace(network, layers=(hidden, replace(output, biases=offset)))
    lifted = np.hstack([points, np.ones((len(points), 1))])
    affine = np.linalg.lstsq(lifted, rest, rcond=None)[0]
    return Network((hidden, replace(output, biases=output.biases + affine[-1])), skip=affine[:-1].T)
