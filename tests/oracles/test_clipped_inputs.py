"""Bounds beyond which a model does not look at its inputs."""

from collections.abc import Callable

import numpy as np
import pytest

from unweave.networks.planted import general_network
from unweave.oracles.clipped_inputs import ClipLook
from unweave.oracles.oracle import Box, CallableOracle, Domain, Everywhere

INPUTS = 4


def bounds_of(
    model: Callable[..., np.ndarray], domain: Domain | None = None, budget: int | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    oracle = CallableOracle(model, inputs=INPUTS, domain=domain, budget=budget)
    return ClipLook()(oracle, np.random.default_rng(0))


@pytest.fixture
def secret() -> Callable[..., np.ndarray]:
    return general_network(np.random.default_rng(3), inputs=INPUTS, neurons=3)


@pytest.mark.parametrize(
    ("lower", "upper", "type_"),
    [
        (-1.0, 1.0, np.float64),
        (0.0, 1.0, np.float64),
        (np.array([-1.0, 0.0, -3.0, 2.0]), 4.0, np.float64),
        (0.0, 1.0, np.float32),
    ],
)
def test_bounds_are_found(lower: object, upper: object, type_: type, secret: Callable[..., np.ndarray]) -> None:
    found = bounds_of(lambda points: secret(np.clip(points, lower, upper)).astype(type_))
    assert found is not None
    for each, truth in zip(found, (lower, upper), strict=True):
        np.testing.assert_allclose(each, np.full(INPUTS, truth)[: len(each)], atol=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        lambda points: np.tanh(points).sum(axis=1),
        lambda points: np.tanh(points @ np.array([0.5, -1.0, 0.7, 2.0])),
        lambda points: np.maximum(points, 0.0).sum(axis=1),
        lambda points: np.clip(points @ np.array([0.5, -1.0, 0.7, 2.0]), -1.0, 1.0),
        lambda points: np.zeros(len(points)),
        lambda points: np.where(np.abs(points).max(axis=1) > 50.0, np.nan, 1.0),
    ],
)
def test_saturated_neurons_are_no_bounds(model: Callable[..., np.ndarray]) -> None:
    assert bounds_of(model) is None


def test_nothing_is_asked_outside_of_a_box_or_beyond_a_budget(secret: Callable[..., np.ndarray]) -> None:
    def clipped(points: np.ndarray) -> np.ndarray:
        return secret(np.clip(points, -1.0, 1.0))

    assert bounds_of(clipped, Box(-2.0, 2.0)) is None
    assert bounds_of(clipped, Everywhere(), budget=100) is None
