"""Algorithms, tables, figures and statements of [fiedler, Ch. 4], one file each, and what they share."""
