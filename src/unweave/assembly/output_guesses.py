"""What the last layer may do to its arguments, judged by the range of the answers, and how to undo it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY, SIGMOID, TANH, Activation, inverse_of
from unweave.arrays import Values

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
    offset: Float64[np.ndarray, "outputs"]
    size: Float64[np.ndarray, "outputs"]

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


def output_guesses(values: Values, offset: np.ndarray, size: np.ndarray) -> tuple[OutputGuess, ...]:
    """Every output activation that can give these answers (as they are measured)."""
    guesses = (OutputGuess(activation, offset, size) for activation in (IDENTITY, *RANGES))
    return tuple(guess for guess in guesses if guess.allows(values))
