"""[soltanolkotabi, Prop. 7.4]: how the ends of the spectrum of the Jacobian go with the sizes of a network."""

import numpy as np

from unweave.reproduce.experiment import Cell, Numbers
from unweave.reproduce.soltanolkotabi.planted_settings import OTHER_SIZES, bounds_of, spectrum_settings


def measure(cell: Cell) -> Numbers:
    """The constants with which (7.12) and (7.13) are equations."""
    bounds = bounds_of(cell)
    neurons, inputs = bounds.point.weights.shape
    return {
        "smallest": bounds.jacobian.smallest,
        "lower": bounds.lower_constant,
        "by_width": bounds.jacobian.smallest / float(np.sqrt(neurons * inputs)),
        "largest": bounds.jacobian.largest,
        "upper": bounds.upper_constant,
    }


settings = spectrum_settings
TITLE = "the spectrum of the Jacobian against the sizes of the network"
COLUMNS = {
    "smallest": "s_min(J)",
    "lower": "c of (7.12)",
    "by_width": "s_min(J) / sqrt(k d)",
    "largest": "s_max(J)",
    "upper": "C of (7.13)",
}
NOTES = (
    OTHER_SIZES,
    "A constant that stays where it is while d grows is one. For odd activations (tanh) c is without s_min(W).",
)
