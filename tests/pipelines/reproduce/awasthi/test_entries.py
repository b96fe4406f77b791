"""Every numbered item of [awasthi] in quick form: it runs, and what it claims holds."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from reproductions import assert_finite, quick_run
from unweave.reproduce.entries import entries_of
from unweave.reproduce.experiment import Row

Claim = Callable[[Sequence[Row]], bool]


def last(rows: Sequence[Row], column: str, **settings: object) -> float:
    """The median of a column with these settings and the most samples."""
    chosen = [row for row in rows if settings.items() <= row.settings.items()]
    return float(np.median(chosen[-1].values(column)))


def column(rows: Sequence[Row], name: str) -> np.ndarray:
    return np.array([np.median(row.values(name)) for row in rows])


CLAIMS: dict[str, Claim] = {
    "exact_recovery": lambda rows: bool(
        np.all(column(rows, "largest error") < 1e-9) and np.all(column(rows, "risk") < 1e-5)
    ),
    "printed_scalars": lambda rows: bool(
        np.all(column(rows, "bias") < 1e-10) and np.all(column(rows[1:], "printed bias") > 0.1)
    ),
    "sign_rules": lambda rows: bool(
        column(rows, "printed")[0] == 0 and np.all(column(rows, "nearest") <= column(rows, "printed"))
    ),
    "sampled_units": lambda rows: all(
        last(rows, "found", inputs=d, moments=moments) == m
        for d, m in ((5, 3), (4, 5))
        for moments in ("plain", "controlled")
    ),
    "sampled_networks": lambda rows: all(
        last(rows, "found", moments=moments, noise=noise) == 3
        and last(rows, "risk", moments=moments, noise=noise) < 0.2
        for moments, noise in (("plain", 0.0), ("controlled", 0.0), ("controlled", 0.5))
    ),
    "sampled_predictors": lambda rows: bool(
        np.all(column(rows, "risk") < 0.5 * column(rows, "empty"))
        and np.all(column(rows, "units") <= column(rows, "neurons") + 2)
        and last(rows, "risk", biases="two large", moments="controlled") < 0.1
    ),
    "smoothed": lambda rows: all(
        np.median(row.values("smallest")) > np.median(row.values("bound"))
        and np.median(row.values("exact error")) < 1e-6
        for row in rows
        if float(row.settings["tau"]) > 0
    ),
    "sign_freedom": lambda rows: bool(
        np.all(column(rows, "difference")[:2] < 1e-7)
        and column(rows, "difference")[2] > 1e-3
        and np.all(column(rows, "mended offset")[:2] < 1e-12)
        and column(rows, "printed offset")[1] > 1e-3
    ),
    "risk_orders": lambda rows: bool(
        np.allclose(column(rows, "risk"), column(rows, "samples"), rtol=0.05)
        and np.all(np.abs(column(rows, "last")) < 1e-3)
    ),
    "root_separation": lambda rows: bool(np.all(column(rows, "minimum") >= column(rows, "proven"))),
    "tensor_errors": lambda rows: bool(
        np.all(column(rows, "error") < 3 * column(rows, "expected"))
        and np.all(column(rows, "controlled") < column(rows, "error"))
    ),
    "affine_units": lambda rows: bool(np.all(column(rows, "error") <= column(rows, "bound"))),
    "diagonalisation_noise": lambda rows: bool(
        np.all(column(rows, "error")[:3] < 1e-4)
        and np.all(column(rows, "ratio")[:4] < 1e3)
        # Linear in the noise: four decades of it change the ratio by less than one.
        and 0.1 < column(rows, "ratio")[1] / column(rows, "ratio")[3] < 10
    ),
    "power_conditioning": lambda rows: bool(np.all(column(rows, "ratio") >= column(rows, "sharper"))),
}
MAY_BE_INFINITE = {"median error", "largest error"}
FILES = sorted({entry.file for entry in entries_of("awasthi") if not entry.reason})


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_an_entry_in_quick_form(file: str, tmp_path: Path) -> None:
    found = quick_run("awasthi", file, tmp_path)
    assert_finite(found, but=MAY_BE_INFINITE)
    assert CLAIMS[file](found.rows)


def test_every_file_has_a_claim() -> None:
    assert set(FILES) == set(CLAIMS)
