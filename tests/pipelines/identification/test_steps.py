"""Labels and other functions of steps: they end soon, with what was seen, and steep neurons are not taken for them."""

from collections.abc import Callable

import numpy as np
import pytest

import unweave
from unweave import Box, Everywhere, Outcome
from unweave.activations import IDENTITY, activation_named
from unweave.identification.steps import JumpLook
from unweave.networks.network import Layer, Network

Model = Callable[[np.ndarray], np.ndarray]


def curved(points: np.ndarray) -> np.ndarray:
    return points.sum(axis=1) + 0.3 * (points**2).sum(axis=1) > 0.2


def split(points: np.ndarray) -> np.ndarray:
    return np.where(points[:, 0] > 0.1, points[:, 1] > 0.3, points[:, 1] <= -0.4)


@pytest.mark.parametrize("boundary", [curved, split])
@pytest.mark.parametrize("labels", [(0.0, 1.0), (1.0, 2.0), (0.0, 0.37)], ids=str)
def test_labels_in_a_box_end_at_once_with_what_was_seen(boundary: Model, labels: tuple[float, float]) -> None:
    """They were called straight nearby and bent farther away, without a kink, after 4,000 queries."""
    found = unweave.identify(lambda x: np.where(boundary(x), *labels)[:, None], inputs=2, domain=Box(-1.0, 1.0))
    assert found.outcome is Outcome.NOT_IDENTIFIED
    assert found.queries < 300
    assert "around each of 16 random points the answers are constant" in found.reason
    assert "2 different values" in found.reason
    assert f"jump by {labels[1] - labels[0]:.3g}" in found.reason


@pytest.mark.parametrize("kind", ["quadratic", "network", "neighbours"])
def test_labels_without_an_end_of_the_domain_end_within_5000_queries(kind: str, seed: int) -> None:
    """Curved boundaries took the whole allowance of one route after the other, up to 90,000 queries."""
    rng = np.random.default_rng([seed, 5])
    inputs = {"quadratic": 5, "network": 8, "neighbours": 15}[kind]
    rows, above, centres = rng.standard_normal((8, inputs)), rng.standard_normal(8), rng.standard_normal((50, inputs))

    def model(x: np.ndarray) -> np.ndarray:
        if kind == "quadratic":
            return curved(x).astype(float)
        if kind == "network":
            return (np.tanh(x @ rows.T / np.sqrt(inputs)) @ above > 0.0).astype(float)
        nearest = np.argsort(((x[:, None] - centres) ** 2).sum(axis=2), axis=1)[:, :3]
        return (np.sin(9.0 * centres[nearest].sum(axis=2)).mean(axis=1) > 0.0).astype(float)

    found = unweave.identify(model, inputs=inputs, domain=Everywhere(), seed=seed)
    assert found.outcome is Outcome.NOT_IDENTIFIED
    assert found.queries <= 5_000
    assert "2 different values" in found.reason
    assert "budget" not in found.reason


def test_a_rare_label_is_seen(seed: int) -> None:
    # One answer in ten is another one: none of 16 places may show it.
    model = lambda x: (x.sum(axis=1, keepdims=True) > 1.1).astype(float)  # noqa: E731
    assert "2 different values" in unweave.identify(model, inputs=2, domain=Box(-1.0, 1.0), seed=seed).reason


@pytest.mark.parametrize("steepness", [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_rises_are_no_jumps_however_steep(steepness: float, offset: float) -> None:
    finest = JumpLook().finest * max(1.0, offset)

    def rise(points: np.ndarray) -> np.ndarray:
        # A box far from the origin leaves fewer digits for the place in it.
        return np.clip(steepness * ((points + offset) - offset - 0.3), -1.0, 1.0)

    def jump(points: np.ndarray) -> np.ndarray:
        return np.where(rise(points) < 0.0, -1.0, 1.0)

    ends = np.array([-1.0]), np.array([1.0])
    assert JumpLook()(rise, *ends, tolerance=1e-14, finest=finest) is None
    seen = JumpLook()(jump, *ends, tolerance=1e-14, finest=finest)
    assert seen is not None
    assert abs(seen.point[0] - 0.3) < 1e-12 * (1.0 + offset)
    assert seen.change[0] == 2.0


def test_steep_neurons_that_saturate_nearly_everywhere_are_no_steps() -> None:
    """Answers with more than two values at 16 places were steps, whatever lies between them."""
    rng = np.random.default_rng(3)
    hidden = Layer(1e4 * rng.standard_normal((3, 2)), 2e3 * rng.standard_normal(3), activation_named("hard_sigmoid"))
    truth = Network((hidden, Layer(rng.standard_normal((1, 3)), np.zeros(1), IDENTITY)))
    found = unweave.identify(truth, domain=Box(-1.0, 1.0))
    assert found.network is not None
    assert found.network.widths == (3,)
    points = rng.uniform(-1.0, 1.0, (10_000, 2))
    assert np.mean(np.abs(found.network(points) - truth(points)) < 1e-9) > 0.99
