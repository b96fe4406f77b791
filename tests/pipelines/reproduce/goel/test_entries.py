"""Every numbered item of [goel] in quick form: it runs, and what it claims holds."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from reproductions import assert_finite, quick_run
from unweave.reproduce.entries import entries_of
from unweave.reproduce.experiment import Row

Claim = Callable[[Sequence[Row]], bool]


def column(rows: Sequence[Row], name: str, **settings: object) -> np.ndarray:
    """Medians of a column, of the rows with these settings."""
    return np.array([np.median(row.values(name)) for row in rows if settings.items() <= row.settings.items()])


def claims_hold(rows: Sequence[Row], claimed: str, right: Callable[[dict[str, float]], bool]) -> bool:
    """Whether nothing was claimed that is not right."""
    return all(right(numbers) for row in rows for numbers in row.numbers if numbers[claimed] == 1.0)


CLAIMS: dict[str, Claim] = {
    "refinement": lambda rows: bool(
        np.all(column(rows, "accepted", method="exact angle, printed test") == 0)
        and np.all(column(rows, "end", method="exact angle, mended test") < 0.1 * column(rows, "start")[0])
        and np.all(column(rows, "end", method="band on samples") < 1.0)
    ),
    "tangents": lambda rows: bool(
        np.allclose(column(rows, "quiet"), column(rows, "tangent"), rtol=0.3)
        and np.all(column(rows, "quantile") > 1.0)
        and all(abs(np.median(row.values("threshold")) - float(row.settings["threshold"])) < 0.1 for row in rows)
    ),
    "unit_products": lambda rows: bool(
        np.all(column(rows, "log joint") <= column(rows, "log mended"))
        # The erratum: the printed bound is exceeded.
        and np.any(column(rows, "log joint") > column(rows, "log printed"))
        and column(rows, "difference", cosine=0.0, threshold=2.0)[0]
        <= column(rows, "difference bound", cosine=0.0, threshold=2.0)[0]
    ),
    "moment_rows": lambda rows: bool(
        np.all(column(rows, "power 3", threshold=2.5) < 6)
        and np.all(column(rows, "one by one", threshold=2.5) < 12)
        and np.all(column(rows, "at once", threshold=2.5) < 12)
        and column(rows, "power 3", unit="sigmoid")[0] < 10
    ),
    "transfer": lambda rows: (
        all(
            numbers["gradient"] <= numbers["gradient bound"] + 1e-9
            and numbers["eigenvalue"] >= numbers["eigenvalue bound"] - 1e-6
            for row in rows
            for numbers in row.numbers
        )
        and bool(np.all(column(rows, "angle", threshold=4.0) < 0.1 * column(rows, "angle", threshold=2.0)))
    ),
    "halfspace_faces": lambda rows: bool(
        np.all(column(rows, "found") == 3)
        and np.all(column(rows, "largest angle") < 3)
        and np.all(column(rows, "wrong") < 0.01)
    ),
    "jump_search": lambda rows: bool(
        column(rows, "claimed", case="nothing")[0] == 0
        and column(rows, "claimed", case="pairs only")[0] == 1
        and claims_hold(rows, "claimed", lambda numbers: numbers["largest angle"] < 10)
        and np.allclose(column(rows, "jump")[:2], column(rows, "predicted")[:2], rtol=0.2)
    ),
    "indicator_rows": lambda rows: bool(
        np.all(column(rows, "tensors") == 1)
        and column(rows, "graph", sets="disjoint")[0] == 1
        and column(rows, "graph", sets="chain")[0] == 0
        and column(rows, "cliques", sets="chain")[0] == 1
        and column(rows, "cliques", sets="ring")[0] == 0
        and claims_hold(rows, "tensors claimed", lambda numbers: numbers["tensors"] == 1)
    ),
    "free_exponentials": lambda rows: bool(
        np.all(column(rows, "hessian") == 1)
        and np.all(column(rows, "simplex") == 1)
        and np.all(column(rows, "printed end") >= 8)
    ),
    "even_activations": lambda rows: bool(
        np.all(column(rows, "largest angle", activation="|a|") < 8)
        and claims_hold(rows, "claimed", lambda numbers: numbers["largest angle"] < 20)
    ),
    "cut_learning": lambda rows: bool(
        column(rows, "median angle", above="sum and pairs", threshold=1.5)[0] < 1
        and column(rows, "left", above="sum and pairs", threshold=1.5)[0] < 0.01
        and claims_hold(rows, "claimed", lambda numbers: numbers["median angle"] < 5)
    ),
}
FILES = sorted({entry.file for entry in entries_of("goel") if not entry.reason})


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_an_entry_in_quick_form(file: str, tmp_path: Path) -> None:
    found = quick_run("goel", file, tmp_path)
    assert_finite(found)
    assert CLAIMS[file](found.rows)


def test_every_file_has_a_claim() -> None:
    assert set(FILES) == set(CLAIMS)
