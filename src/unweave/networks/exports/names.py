"""The numbers of a network under the names that the parameters of its torch module have."""

import numpy as np

from unweave.networks.network import Network


def state_of(network: Network) -> dict[str, np.ndarray]:
    """Give what `load_state_dict` of the torch module takes, as arrays."""
    prefix = "" if network.skip is None else "layers."
    state = {}
    for index, layer in enumerate(network.layers):
        # Layers and activations take turns.
        state[f"{prefix}{2 * index}.weight"] = layer.weights
        state[f"{prefix}{2 * index}.bias"] = layer.biases
    return state if network.skip is None else state | {"skip.weight": network.skip}
