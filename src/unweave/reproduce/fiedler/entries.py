"""The numbered items of [fiedler]."""

from unweave.reproduce.entries import Entry
from unweave.reproduce.fiedler.entries_deep import DEEP
from unweave.reproduce.fiedler.entries_shallow import SHALLOW

ENTRIES: tuple[Entry, ...] = (*SHALLOW, *DEEP)
