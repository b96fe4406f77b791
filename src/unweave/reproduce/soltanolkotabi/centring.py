"""[soltanolkotabi, Prop. 7.1]: what centring takes from the smallest singular value of the Jacobian, and adds to it."""

from unweave.reproduce.experiment import Cell, Numbers
from unweave.reproduce.soltanolkotabi.planted_settings import OTHER_SIZES, bounds_of, spectrum_settings


def measure(cell: Cell) -> Numbers:
    """Both sides of (7.4) and (7.5)."""
    bounds = bounds_of(cell)
    return {
        "smallest": bounds.jacobian.smallest**2,
        "lower": bounds.lower_by_centring,
        "constant": bounds.centring_constant,
        "largest": bounds.jacobian.largest,
        "upper": bounds.upper_by_centring,
    }


settings = spectrum_settings
TITLE = "the spectrum of the Jacobian and of the centred one"
COLUMNS = {
    "smallest": "s_min(J)^2",
    "lower": "(7.4) with C = 0",
    "constant": "C needed in (7.4)",
    "largest": "s_max(J)",
    "upper": "(7.5)",
}
NOTES = (
    OTHER_SIZES,
    "The bound (7.4) holds here with C = 0, and is below zero: it says nothing at sizes like these, because its "
    "first term 4 sqrt 3 n L^2 |v|^2 |W|^2 is larger than s_min(J~)^2. (7.5) has no open constant.",
)
