"""Every item of [soltanolkotabi] in its quick form: numbers are finite, and what the item claims holds for them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from reproductions import quick_run
from unweave.reproduce.entries import entries_of
from unweave.reproduce.experiment import Row

ENTRIES = entries_of("soltanolkotabi")
Claim = Callable[[Sequence[Row]], bool]
# Curves of three networks per size cross one half within this of the published size.
NEAR = 2.0


def all_of(rows: Sequence[Row], holds: Callable[[dict[str, float]], bool]) -> bool:
    """Whether something holds for every repetition of every row."""
    return all(
        holds({name: value for name, value in numbers.items() if isinstance(value, float)})
        for row in rows
        for numbers in row.numbers
    )


def crosses(rows: Sequence[Row]) -> bool:
    return all_of(rows, lambda found: abs(found["crossing"] - rows[0].published["crossing"]) < NEAR)


def is_assumed_as_printed(rows: Sequence[Row]) -> bool:
    return [row.values("case") for row in rows] == [[1.0], [2.0], [2.0], [2.0], [0.0]]


def signs_reach_lower_losses(rows: Sequence[Row]) -> bool:
    errors = {(row.settings["part"], row.settings["outputs"]): row.values("error")[0] for row in rows}
    return all(errors[part, "random signs"] < 0.1 * errors[part, "ones"] for part in "ab")


def has_no_spurious_minima(rows: Sequence[Row]) -> bool:
    *inside, _ = rows
    return all_of(inside, lambda found: found["excess"] < 1e-9 and found["curvature"] < -0.99)


def is_bounded(rows: Sequence[Row]) -> bool:
    return all_of(rows, lambda found: found["loss"] <= found["sharper"] * (1 + 1e-9) <= found["bound"])


def converges_as_promised(rows: Sequence[Row]) -> bool:
    return all_of(rows, lambda found: found["seen"] >= found["promised"] > 0)


CLAIMS: dict[str, Claim] = {
    "figure-1": is_assumed_as_printed,
    **dict.fromkeys(("figure-2a", "figure-2b", "figure-3a", "figure-3b"), crosses),
    "figure-4": signs_reach_lower_losses,
    "theorem-2.1": has_no_spurious_minima,
    "theorem-2.2": is_bounded,
    "theorem-2.5": converges_as_promised,
    "proposition-7.1": lambda rows: all_of(rows, lambda found: found["largest"] <= found["upper"]),
    "proposition-7.2": lambda rows: all_of(rows, lambda found: found["ratio"] > 0.1 and found["constant"] < 2),
    "remark-7.3": lambda rows: all_of(rows, lambda found: found["ratio"] > 0.1 and found["constant"] < 2),
    "proposition-7.4": lambda rows: all_of(rows, lambda found: found["lower"] > 0.05 and found["upper"] < 1),
    "corollary-7.5": lambda rows: all_of(rows, lambda found: found["lower"] > 0.02 and found["upper"] < 3),
}
# Infinite where no size, or no step, has reached it.
MAY_BE_INFINITE = {"all_from", "steps", "error"}


def test_every_item_has_a_claim() -> None:
    assert set(CLAIMS) == {entry.number for entry in ENTRIES}


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.number)
def test_items_run_and_their_claims_hold(entry, tmp_path: Path) -> None:
    found = quick_run("soltanolkotabi", entry.file, tmp_path)
    assert found.is_complete
    for row in found.rows:
        for name in found.experiment.columns:
            assert len(row.values(name)) == len(row.numbers)
            assert name in MAY_BE_INFINITE or np.all(np.isfinite(row.values(name)))
    assert CLAIMS[entry.number](found.rows)
    for file, picture in found.pictures().items():
        picture.savefig(tmp_path / file)
