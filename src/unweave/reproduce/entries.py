"""What a work's figures, tables, algorithms and statements are called, and which file measures each."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A numbered item of a work.

    Args:
        number: as in `table-3.2`, `figure-4.5`, `algorithm-2.1` or `theorem-2.6`.
        shows: what it is about, in a few words.
        file: below `reproduce/`, such as `fiedler.sizes`, that measures it by its `EXPERIMENT`; several items may share
            one. Empty if it can't be run, or runs in another way.
        quick_seconds: CPU seconds of its quick form, as seen on one core.
        usual_seconds: CPU seconds without `--quick` and `--full`.
        published_cost: what the published size takes, in words.
        reason: why it can't be run; empty if it can.
    """

    number: str
    shows: str
    file: str = ""
    quick_seconds: float | None = None
    usual_seconds: float | None = None
    published_cost: str = ""
    reason: str = ""
