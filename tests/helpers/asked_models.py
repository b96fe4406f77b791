"""How tests ask models: as an oracle that is told nothing else, at some points."""

from typing import Any

import numpy as np

from unweave.oracles.oracle import Oracle, as_oracle


def oracle_of(model: object, **given: Any) -> Oracle:
    """The oracle of a model."""
    return as_oracle(model, **{"inputs": None, "outputs": None, "domain": None, "budget": None} | given)


def some_points(inputs: int, count: int = 9) -> np.ndarray:
    """The same points for every test."""
    return np.random.default_rng(0).standard_normal((count, inputs))
