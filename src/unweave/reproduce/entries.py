"""What a work's figures, tables, algorithms and statements are called, and which file measures each."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A numbered item of a work.

    Args:
        number: as in `table-3.2`, `figure-4.5`, `algorithm-2.1` or `theorem-2.6`.
        shows: what it is about, in a few words; empty if its figure on images says so.
        file: in the folder of the work, such as `sizes`, that measures it; several items may share one. Empty if it
            can't be run, or is a figure on images.
        quick_seconds: CPU seconds of its quick form, as seen on one core.
        usual_seconds: CPU seconds without `--quick` and `--full`.
        published_cost: what the published size takes, in words.
        reason: why it can't be run; empty if it can.
    """

    number: str
    shows: str = ""
    file: str = ""
    quick_seconds: float | None = None
    usual_seconds: float | None = None
    published_cost: str = ""
    reason: str = ""


def entries_of(work: str) -> tuple[Entry, ...]:
    """Read the numbered items of a work, whose bibliography key is the name of its folder."""
    items = tomllib.loads((files("unweave.reproduce") / work / "items.toml").read_text(encoding="utf-8"))
    common = {"published_cost": items.pop("published_cost", "")}
    return tuple(Entry(number=number, **common | item) for number, item in items.items())
