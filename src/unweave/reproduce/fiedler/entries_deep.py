"""The numbered items of [fiedler, Ch. 4]."""

from unweave.reproduce.entries import Entry

DEEP: tuple[Entry, ...] = ()
