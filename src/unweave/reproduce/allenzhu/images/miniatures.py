"""How small the figures of [allenzhu] on images are made, so that each has numbers from one core: all sizes are here.

`--full` is the published size; the usual size takes about a minute on digits, `--quick` some seconds. What a user asks
for by name (`--epochs`, `--width`, ...) counts more than what is here.
"""

from collections.abc import Mapping
from typing import Any

from unweave.reproduce.allenzhu.images.configurations import (
    FIGURES,
    FigureConfiguration,
    Measured,
    figure_configuration,
)
from unweave.reproduce.experiment import Scale

# Ten layers are four units; short trainings need stronger pulls than the published ones, few images small batches.
_QUICK: Mapping[str, Any] = {
    "width": 0.125, "layers": 10, "epochs": 1, "batch": 20, "images": 60, "seeds": 1, "ascent_steps": 3,
}  # fmt: skip
_USUAL: Mapping[str, Any] = {
    "width": 0.25, "layers": 10, "epochs": 12, "batch": 20, "images": 200, "seeds": 5, "ascent_steps": 100,
}  # fmt: skip
# One training takes all the time that five seeds would.
_ONE_TRAINING = {"seeds": 1, "images": 300}
_BY_MEASURED: Mapping[Measured, Mapping[Scale, Mapping[str, Any]]] = {
    Measured.CORRECTION: {
        Scale.QUICK: {"depths": (1, 2), "prox": (5e-2,)},
        Scale.USUAL: {"depths": (1, 2), "prox": (5e-2,), "images": 150, "epochs": 8},
    },
    # The first units of long networks, too: a phase per unit, with every weight decay.
    Measured.LAYERWISE: {Scale.QUICK: {"depths": (1, 2)}, Scale.USUAL: {"depths": (1, 2, 3, 4), "width": 0.125}},
    Measured.CORRECTED_FEATURES: {Scale.QUICK: {"prox": (5e-2,)}, Scale.USUAL: {"prox": (5e-2,), **_ONE_TRAINING}},
    Measured.FEATURES: {Scale.USUAL: _ONE_TRAINING},
    # The first layer of AlexNet moves slowly at the published learning rate.
    Measured.FILTERS: {Scale.USUAL: {"seeds": 1, "images": 500, "epochs": 60, "batch": 10}},
}
# Attackers take nine times as long; units at the published place, of networks of four units.
_BY_FIGURE: Mapping[str, Mapping[Scale, Mapping[str, Any]]] = {
    # Networks of 19 and 22 layers, of which the first units train: with fewer it would be Figure 13 again.
    "figure-6": {Scale.QUICK: {"layers": 22}, Scale.USUAL: {"layers": 22}},
    "figure-4": {Scale.QUICK: {"depths": (2,)}, Scale.USUAL: {"depths": (3,), "epochs": 8}},
    "figure-13": {Scale.USUAL: {"depths": (1, 2, 3)}},
    "figure-11": {Scale.QUICK: {"depths": (2,)}, Scale.USUAL: {"depths": (2, 3), "epochs": 6}},
    "figure-14-l2": {Scale.USUAL: {"depths": (2,), "epochs": 4, "images": 100}},
    "figure-14-linf": {Scale.USUAL: {"depths": (2,), "epochs": 4, "images": 100}},
}


def sizes_at(name: str, scale: Scale) -> dict[str, Any]:
    """List what is made smaller than published, as arguments of `FigureConfiguration.scaled`; nothing at full size."""
    if scale is Scale.FULL:
        return {}
    base = _QUICK if scale is Scale.QUICK else _USUAL
    by_measured = _BY_MEASURED.get(FIGURES[name].measured, {}).get(scale, {})
    return {**base, **by_measured, **_BY_FIGURE.get(name, {}).get(scale, {})}


def configuration_at(name: str, scale: Scale, asked: Mapping[str, Any]) -> FigureConfiguration:
    """Make a figure as large as the scale says, but for what was asked for by name.

    Raises:
        InvalidInput: if there is no figure of this name, or sizes do not fit it.
    """
    published = figure_configuration(name)
    sizes = {**sizes_at(name, scale), **asked}
    return published.scaled(**sizes) if sizes else published
