"""Measurements of models that did not learn: no verdict about freezing follows from them."""

from typing import Any

import numpy as np

import unweave
from late import nn, torch

SETTINGS: dict[str, Any] = {"seeds": 5, "windows": (0,), "prox": (1e-4,)}


def blobs(seed: int) -> tuple[np.ndarray, ...]:
    """Two classes that a line tells apart, 3 of 5 rows in the first."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(100) % 5 < 3, 0, 1)
    points = rng.standard_normal((100, 4)) + 2.0 * labels[:, None]
    return points[:60], labels[:60], points[60:], labels[60:]


def layers(_seed: int) -> "nn.Module":
    return nn.Sequential(
        nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 2)
    )


def dead(seed: int) -> "nn.Module":
    """No neuron is ever on: whatever is trained, answers are constant."""
    model: Any = layers(seed)
    with torch.no_grad():
        model[0][0].bias.fill_(-1e3)
        model[1][0].bias.fill_(-1e3)
        model[2].bias.copy_(torch.tensor([1.0, -1.0]))
    return model


def test_a_model_at_chance_is_not_judged(seed: int) -> None:
    """audit A16: with everything at chance no gap was found, and correction "not needed"."""
    recipe = unweave.Recipe(epochs=5, learning_rate=0.01, batch=30)
    found = unweave.measure_feature_correction(dead, blobs(seed), recipe=recipe, **SETTINGS)
    row = found.depths[0]
    assert row.freezing_gap.mean == 0.0
    assert row.verdict.startswith("no conclusion: the whole model scores 60.0, a constant answer 60.0")
    assert found.depths[1].layerwise_verdict.startswith("no conclusion: ")
    assert "costs nothing" not in found.as_table()


def test_a_whole_model_below_its_parts_is_not_judged(seed: int) -> None:
    """audit A16: whole model at 64.7 %, unit by unit at 93.0 %: "freezing costs nothing that matters"."""
    points, labels, test_points, test_labels = blobs(seed)
    inputs, classes = torch.tensor(points, dtype=torch.float32), torch.tensor(labels)

    def train(model: nn.Module, parameters: list[nn.Parameter], penalty: Any, _seed: int, rows: np.ndarray) -> None:
        """Train lower units well, and the whole model with nothing frozen towards swapped labels for some rows."""
        is_whole = isinstance(model, nn.Sequential) and len(parameters) == 6
        target = torch.where(inputs[rows, 0] > 1.0, 0, classes[rows]) if is_whole else classes[rows]
        optimiser = torch.optim.Adam(parameters, lr=0.05)
        for _ in range(40):
            optimiser.zero_grad()
            (nn.functional.cross_entropy(model(inputs[rows]), target) + penalty()).backward()
            optimiser.step()

    data = (points, labels, test_points, test_labels)
    found = unweave.measure_feature_correction(layers, data, train=train, has_layerwise=False, **SETTINGS)
    assert found.full.mean < found.depths[0].train_only.mean - 0.05
    assert found.depths[0].verdict.startswith("no conclusion: the whole model scores")
    assert "costs nothing" not in found.as_table()
