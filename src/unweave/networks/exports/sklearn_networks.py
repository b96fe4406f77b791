"""A network as scikit-learn's: `coefs_` and `intercepts_` in the original units."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.activations import IDENTITY
from unweave.exceptions import InvalidInput
from unweave.extras import need
from unweave.networks.network import Network

if TYPE_CHECKING:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

ACTIVATIONS = {"tanh": "tanh", "sigmoid": "logistic", "relu": "relu", "identity": "identity"}


def sklearn_network(network: Network, *, classes: Sequence | None = None) -> "MLPRegressor | MLPClassifier":
    """Make a fitted `MLPRegressor` of a network, or an `MLPClassifier` whose logits it gives.

    Args:
        network: with layers only, all of one activation that scikit-learn has.
        classes: what its outputs are the logits of; two for one output.

    Raises:
        InvalidInput: for what scikit-learn's networks can't hold.
    """
    need("sklearn", purpose="a network of scikit-learn")
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    _check(network)
    hidden = {activation.name for activation in network.activations[:-1]} or {"identity"}
    settings = {"hidden_layer_sizes": network.widths, "activation": ACTIVATIONS[hidden.pop()]}
    if classes is None:
        model, output = MLPRegressor(**settings), "identity"
        # Trained on zeros of the right shape for one step, so that all that it needs is there.
        labels = np.zeros((2, network.outputs)) if network.outputs > 1 else np.zeros(2)
    else:
        names = _checked_classes(classes, network.outputs)
        model, output = MLPClassifier(**settings), "logistic" if network.outputs == 1 else "softmax"
        labels = names
    return _filled(model, network, labels, output)


def _check(network: Network) -> None:
    """Name what scikit-learn's networks can't hold."""
    if network.skip is not None:
        raise InvalidInput(
            "scikit-learn's networks have no affine part beside their layers, this one has: use to_torch."
        )
    if network.layers[-1].activation != IDENTITY:
        raise InvalidInput(
            f"scikit-learn's networks have no {network.layers[-1].activation} at their output, this one has: use "
            "to_torch, or give the logits and their classes."
        )
    hidden = {activation.name for activation in network.activations[:-1]}
    if len(hidden) > 1:
        raise InvalidInput(
            f"scikit-learn's networks have one activation for all layers, this one has {', '.join(sorted(hidden))}: "
            "use to_torch."
        )
    if not hidden <= set(ACTIVATIONS):
        raise InvalidInput(f"scikit-learn's networks have no activation {hidden.pop()}: use to_torch.")
    if 0 in network.widths:
        raise InvalidInput("scikit-learn's networks have no layers without neurons, this one has: use to_torch.")


def _checked_classes(classes: Sequence, outputs: int) -> np.ndarray:
    names = np.asarray(classes)
    needed = 2 if outputs == 1 else outputs
    if names.shape != (needed,) or len(np.unique(names)) != needed or not np.array_equal(np.unique(names), names):
        raise InvalidInput(
            f"the logits of {outputs} outputs need {needed} different classes in order, got {classes!r}."
        )
    return names


def _filled(
    model: "MLPRegressor | MLPClassifier", network: Network, labels: np.ndarray, output: str
) -> "MLPRegressor | MLPClassifier":
    """Give a model the numbers of a network; one pass over nothing sets all else that it needs."""
    points = np.zeros((len(labels), network.inputs))
    if output == "identity":
        model.partial_fit(points, labels)
    else:
        model.partial_fit(points, labels, classes=labels)
    model.coefs_ = [layer.weights.T.copy() for layer in network.layers]
    model.intercepts_ = [layer.biases.copy() for layer in network.layers]
    model.out_activation_ = output
    return model
