"""Tables of [allenzhu, Fig. 9, 10, 12 and 14], in percent; the numbers themselves are in `published.json`.

Columns are numbers of convolutions ``l = 2 t + 1``. Two readings are uncertain and flagged in the titles: [allenzhu]
does not say how many models the ensembles hold, and the captions of the two adversarial tables are in the opposite
order of the tables' own titles, which are followed here. Figure 12 has the best single model of 10, and the averaged
answers of all 10.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

Row = tuple[float | None, ...]

TRAIN_ONLY, TRAIN_ALL = "train only", "train all"
CORRELATION_INIT, CORRELATION_ALL = "correlation with init", "correlation with train all"
SINGLE, ENSEMBLE = "single", "ensemble"


@dataclass(frozen=True)
class PublishedTable:
    """One table.

    Attributes:
        columns: what the entries of a row belong to.
        rows: by their names; accuracies in percent, correlations as numbers up to 1.
        is_ensemble: whether accuracies are of averaged answers of several models.
    """

    title: str
    dataset: str
    columns: tuple[int | str, ...]
    rows: dict[str, Row]
    is_ensemble: bool = False

    def entry(self, row: str, column: int | str) -> float | None:
        """Look up one published number, if there is one."""
        return self.rows[row][self.columns.index(column)] if row in self.rows and column in self.columns else None


def fixed(window: int) -> str:
    """Name the row in which the first l convolutions but ``2 window`` are frozen."""
    return "fix <= l" if window == 0 else f"fix <= l-{2 * window}"


@lru_cache
def published_table(name: str) -> PublishedTable:
    """Read a table, such as "figure-9" or "figure-14-l2"."""
    table = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))[name]
    rows = {row: tuple(entries) for row, entries in table["rows"].items()}
    return PublishedTable(table["title"], table["dataset"], tuple(table["columns"]), rows, table["is_ensemble"])
