"""The numbered items of [allenzhu]; figures on images have configurations of their own."""

from unweave.reproduce.allenzhu.images.configurations import FIGURES
from unweave.reproduce.entries import Entry

ENTRIES: tuple[Entry, ...] = tuple(
    Entry(number=number, shows=f"{figure.measured}; {' and '.join(figure.datasets)}")
    for number, figure in FIGURES.items()
)
