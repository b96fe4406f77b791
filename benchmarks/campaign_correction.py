"""Verdicts of feature correction on models that learnt and such that did not: does a verdict follow from nothing?

Models at chance, labels of noise, and whole models that are trained worse than their parts must end without a verdict.
Of classes that every model tells apart no verdict may say that correction is needed.
"""

from typing import Any

import numpy as np
import torch
from torch import nn

import unweave
from campaigns import Family, Judged, Verdict

DOOR = "feature correction"
SETTINGS: dict[str, Any] = {"seeds": 5, "windows": (0,), "prox": (1e-4,)}
INPUTS, WIDTH = 4, 8


def blobs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Two classes that a line tells apart, unequal in number."""
    labels = (rng.random(160) < rng.uniform(0.3, 0.7)).astype(int)
    labels[:4] = (0, 1, 0, 1)
    labels[100:104] = (0, 1, 0, 1)
    points = rng.standard_normal((160, INPUTS)) + 2.0 * labels[:, None]
    return points[:100], labels[:100], points[100:], labels[100:]


def layers(_seed: int) -> nn.Module:
    """Two units and a head."""
    first, second = nn.Linear(INPUTS, WIDTH), nn.Linear(WIDTH, WIDTH)
    return nn.Sequential(nn.Sequential(first, nn.ReLU()), nn.Sequential(second, nn.ReLU()), nn.Linear(WIDTH, 2))


def dead(seed: int) -> nn.Module:
    """The same without a neuron that is ever on."""
    model: Any = layers(seed)
    with torch.no_grad():
        model[0][0].bias.fill_(-1e3)
        model[1][0].bias.fill_(-1e3)
    return model


def judged_silent(found: unweave.FeatureCorrection) -> Judged:
    """Nothing may be said about freezing."""
    said = [row.verdict for row in found.depths if row.freezing is not None]
    said += [row.layerwise_verdict for row in found.depths if row.greedy is not None]
    is_silent = all(each.startswith("no conclusion") for each in said)
    return Judged(Verdict.HONEST_NO if is_silent else Verdict.WRONG, "; ".join(said)[:300])


def at_chance(seed: int) -> Judged:
    """Models that can't learn, or whose learning rate is next to nothing."""
    rng = np.random.default_rng([21, seed])
    is_dead = bool(rng.random() < 0.5)
    recipe = unweave.Recipe(epochs=4, learning_rate=0.01 if is_dead else 1e-9, batch=50)
    build = dead if is_dead else layers
    return judged_silent(
        unweave.measure_feature_correction(build, blobs(rng), recipe=recipe, random_state=10 * seed, **SETTINGS)
    )


def noise_labels(seed: int) -> Judged:
    """Labels that have nothing to do with the inputs."""
    rng = np.random.default_rng([22, seed])
    points, labels, test_points, test_labels = blobs(rng)
    data = points, rng.permutation(labels), test_points, rng.permutation(test_labels)
    recipe = unweave.Recipe(epochs=10, learning_rate=0.05, batch=50)
    return judged_silent(
        unweave.measure_feature_correction(layers, data, recipe=recipe, random_state=10 * seed, **SETTINGS)
    )


def below_parts(seed: int) -> Judged:
    """A training loop that fails for the whole model with nothing frozen."""
    rng = np.random.default_rng([23, seed])
    data = blobs(rng)
    inputs, classes = torch.tensor(data[0], dtype=torch.float32), torch.tensor(data[1])
    limit = float(rng.uniform(0.5, 1.5))

    def train(model: nn.Module, parameters: list[nn.Parameter], penalty: Any, _seed: int, rows: np.ndarray) -> None:
        is_whole = isinstance(model, nn.Sequential) and len(parameters) == 6
        target = torch.where(inputs[rows, 0] > limit, 0, classes[rows]) if is_whole else classes[rows]
        optimiser = torch.optim.Adam(parameters, lr=0.05)
        for _ in range(40):
            optimiser.zero_grad()
            (nn.functional.cross_entropy(model(inputs[rows]), target) + penalty()).backward()
            optimiser.step()

    found = unweave.measure_feature_correction(
        layers, data, train=train, has_layerwise=False, random_state=10 * seed, **SETTINGS
    )
    return judged_silent(found)


def trained(seed: int) -> Judged:
    """Blobs that any model tells apart: freezing costs nothing, so "needed" would be wrong."""
    rng = np.random.default_rng([24, seed])
    recipe = unweave.Recipe(epochs=20, learning_rate=0.05, batch=20, milestones=(14,))
    found = unweave.measure_feature_correction(layers, blobs(rng), recipe=recipe, random_state=10 * seed, **SETTINGS)
    row = found.depths[0]
    if row.verdict.startswith("needed") and row.freezing_gap.mean < 0.01:
        return Judged(Verdict.WRONG, row.verdict)
    is_said = not row.verdict.startswith("no conclusion")
    return Judged(Verdict.RIGHT if is_said else Verdict.HONEST_NO, f"{row.verdict}, gap {row.freezing_gap.mean:.3f}")


FAMILIES = Family.of(
    DOOR,
    {
        "at chance": at_chance,
        "labels of noise": noise_labels,
        "whole model below its parts": below_parts,
        "trained": trained,
    },
)
