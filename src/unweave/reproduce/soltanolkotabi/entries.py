"""The numbered items of [soltanolkotabi]."""

from unweave.reproduce.entries import Entry

ENTRIES: tuple[Entry, ...] = ()
