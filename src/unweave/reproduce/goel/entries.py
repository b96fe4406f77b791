"""The numbered items of [goel]."""

from unweave.reproduce.entries import Entry

ENTRIES: tuple[Entry, ...] = ()
