"""The numbered items of [fiedler, Ch. 1 to 3]."""

from unweave.reproduce.entries import Entry

SHALLOW: tuple[Entry, ...] = ()
