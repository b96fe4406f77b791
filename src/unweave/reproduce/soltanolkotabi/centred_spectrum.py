"""[soltanolkotabi, Prop. 7.2 and Rem. 7.3]: the ends of the spectrum of the centred Jacobian."""

from unweave.reproduce.experiment import Cell, Numbers
from unweave.reproduce.soltanolkotabi.planted_settings import OTHER_SIZES, bounds_of, spectrum_settings


def measure(cell: Cell) -> Numbers:
    """Both sides of (7.7), and the constants of (7.6) and (7.8)."""
    bounds = bounds_of(cell)
    return {
        "smallest": bounds.centred.smallest,
        "lower": bounds.lower_of_centred,
        "ratio": bounds.centred.smallest / bounds.lower_of_centred,
        "largest": bounds.centred.largest,
        "constant": bounds.centred_constant,
        "condition": bounds.sample_constant,
    }


settings = spectrum_settings
TITLE = "the spectrum of the centred Jacobian"
COLUMNS = {
    "smallest": "s_min(J~)",
    "lower": "(7.7), for tanh Rem. 7.3",
    "ratio": "measured over bound",
    "largest": "s_max(J~)",
    "constant": "C needed in (7.8)",
    "condition": "c needed in (7.6), for tanh (7.9)",
}
NOTES = (
    OTHER_SIZES,
    "The statement asks for a sufficiently small c in (7.6); those needed here are far above 1, so that it "
    "promises nothing at these sizes. Where the measured value is below the bound, that is no contradiction.",
    "The bound d / 2 of Remark 7.3 does not know how long weights are and how steep the activation is, and can't "
    "hold for small ones: see the errata.",
)
