"""The command line: arguments -> library call -> report. No numerics: they are imported by the commands."""

from unweave.cli.app import run

__all__ = ["run"]
