"""The numbered items of [fiedler]."""

from unweave.reproduce.entries import Entry

ENTRIES: tuple[Entry, ...] = ()
