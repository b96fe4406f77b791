"""What the last layer may do to its arguments, judged by the range of the answers, and how to undo it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unweave.activations import IDENTITY, SIGMOID, TANH, Activation, Rewriting, inverse_of
from unweave.arrays import PerOutput, Values
from unweave.networks.network import Layer, Network

# Ranges in which all answers must lie, ends excluded.
RANGES = {TANH: (-1.0, 1.0), SIGMOID: (0.0, 1.0)}


@dataclass(frozen=True)
class OutputGuess:
    """An output activation, and the units of answers that are not changed by anything else.

    Args:
        activation: of the output layer.
        offset, size: an answer is ``offset + size`` times what is measured.
    """

    activation: Activation
    offset: PerOutput
    size: PerOutput

    def allows(self, values: np.ndarray) -> bool:
        """Whether the activation can give these measured answers."""
        low, high = RANGES.get(self.activation, (-np.inf, np.inf))
        answers = self.offset + self.size * values
        return bool(np.min(answers) > low and np.max(answers) < high)

    @property
    def undo(self) -> Callable[[np.ndarray], np.ndarray]:
        """From measured answers to the arguments of the output layer; affine activations keep their units."""
        if self.activation == IDENTITY:
            return np.positive
        inverse = inverse_of(self.activation)
        return lambda values: inverse(self.offset + self.size * values)


def as_output_activation(
    network: Network, offset: np.ndarray, size: np.ndarray, *, whole_tol: float
) -> tuple[Network, Activation] | None:
    """A last hidden layer that only feeds one output each, unchanged, is the activation of the output layer.

    Args:
        network: with an identity output layer, in measured units.
        offset, size: an answer is ``offset + size`` times what is measured.
        whole_tol: difference of output weights from a permutation that is taken for an error.

    Returns:
        The network without that hidden layer, to the arguments of its output layer, and the output activation; None
        if the last hidden layer is more than that.
    """
    *below, hidden, output = network.layers
    pull, rest = size[:, None] * output.weights, offset + size * output.biases
    partners = np.argmax(np.abs(pull), axis=1)
    if not below or len(pull) != hidden.neurons or len(set(partners)) != len(partners):
        return None
    signs = np.sign(pull[np.arange(len(pull)), partners])
    matrix = np.zeros_like(pull)
    matrix[np.arange(len(pull)), partners] = signs
    for activation in RANGES:
        law = activation.rewriting or Rewriting(base=activation, inner=1.0, outer=1.0, offset=0.0)
        is_whole = np.allclose(pull, law.outer * matrix, atol=whole_tol)
        is_whole = is_whole and np.allclose(rest, law.offset, atol=whole_tol)
        if is_whole and hidden.activation == law.base:
            last = Layer(matrix @ hidden.weights / law.inner, matrix @ hidden.biases / law.inner, IDENTITY)
            return Network((*below, last)), activation
    return None


def output_guesses(values: Values, offset: np.ndarray, size: np.ndarray) -> tuple[OutputGuess, ...]:
    """Every output activation that can give these answers (as they are measured)."""
    guesses = (OutputGuess(activation, offset, size) for activation in (IDENTITY, *RANGES))
    return tuple(guess for guess in guesses if guess.allows(values))
