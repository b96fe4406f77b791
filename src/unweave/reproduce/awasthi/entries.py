"""The numbered items of [awasthi]."""

from unweave.reproduce.entries import Entry

ENTRIES: tuple[Entry, ...] = ()
