"""[soltanolkotabi, Cor. 7.5]: the spectrum of the Khatri-Rao product of Gaussian points with themselves."""

from collections.abc import Sequence

import numpy as np

from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.soltanolkotabi.spectrum_bounds import product_spectrum

# Samples per square of inputs: up to d (d + 1) / 2 points have independent squares.
SHARES = (0.1, 0.25, 0.4)


def settings(scale: Scale) -> Sequence[Settings]:
    """Inputs and samples, at fixed shares of the squared inputs."""
    inputs = {Scale.QUICK: (10, 20), Scale.USUAL: (10, 20, 30), Scale.FULL: (10, 20, 40, 80)}[scale]
    return [
        {"inputs": each, "samples of d^2": share, "samples": max(each, round(share * each**2))}
        for share in SHARES
        for each in inputs
    ]


def measure(cell: Cell) -> Numbers:
    """The constants with which (7.14) and (7.15) are equations."""
    inputs, samples = int(cell.settings["inputs"]), int(cell.settings["samples"])
    ends = product_spectrum(np.random.default_rng(cell.seed).standard_normal((samples, inputs)))
    return {
        "smallest": ends.smallest,
        "lower": ends.smallest / inputs,
        "largest": ends.largest,
        "upper": ends.largest / float(np.sqrt(samples * inputs)),
    }


TITLE = "the spectrum of the squares of Gaussian points"
COLUMNS = {
    "smallest": "s_min(X*X)",
    "lower": "c of (7.14)",
    "largest": "s_max(X*X)",
    "upper": "C of (7.15)",
}
NOTES = ("[soltanolkotabi] prints no numbers for this statement: sizes are ours.",)
