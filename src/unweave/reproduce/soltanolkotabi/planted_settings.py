"""The networks at which the propositions of [soltanolkotabi, Sect. 7] are measured."""

from collections.abc import Sequence

from unweave.activations import SOFTPLUS, TANH, Activation, softplus
from unweave.reproduce.experiment import Cell, Scale, Settings
from unweave.reproduce.soltanolkotabi.spectrum_bounds import SpectrumBounds, planted_point

ACTIVATIONS: dict[str, Activation] = {
    "softplus": SOFTPLUS,
    "softplus, b = 4": softplus(4.0),
    "softplus, b = 10": softplus(10.0),
    "tanh": TANH,
}
OTHER_SIZES = (
    "[soltanolkotabi] prints no numbers for this statement: sizes are ours. Weights are N(0, 1) / sqrt(d), output "
    "weights 1, inputs Gaussian."
)


def spectrum_settings(scale: Scale) -> Sequence[Settings]:
    """Growing inputs d with 2 d neurons and d^2 / 3 samples, for activations of both cases of Assumption 2.3."""
    inputs = {Scale.QUICK: (8, 12), Scale.USUAL: (8, 16, 24), Scale.FULL: (10, 20, 40, 60)}[scale]
    names = ("softplus, b = 4", "tanh") if scale is Scale.QUICK else ACTIVATIONS
    return [
        {"activation": name, "inputs": each, "neurons": 2 * each, "samples": each**2 // 3}
        for name in names
        for each in inputs
    ]


def bounds_of(cell: Cell) -> SpectrumBounds:
    """Both sides of the propositions at the network of a cell."""
    sizes = {name: int(cell.settings[name]) for name in ("inputs", "neurons", "samples")}
    return SpectrumBounds(planted_point(ACTIVATIONS[str(cell.settings["activation"])], **sizes, seed=cell.seed))
