"""Algorithms, tables and figures of published work, one folder per key of `docs/references.bib`; no method uses it."""
