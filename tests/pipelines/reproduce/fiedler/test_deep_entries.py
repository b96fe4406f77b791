"""Every numbered item of [fiedler, Ch. 4] in its quick form: what it claims holds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import pytest

from reproductions import assert_finite, quick_run
from unweave.reproduce.entries import Entry, entries_of
from unweave.reproduce.experiment import Row

DEEP = [entry for entry in entries_of("fiedler") if "-4." in entry.number]
Rows = Sequence[Row]


def each(rows: Rows, column: str) -> list[float]:
    """A column of all rows and seeds."""
    return [value for row in rows for value in row.values(column)]


def errors_are_small(rows: Rows) -> bool:
    errors = [value for layer in range(1, 5) for value in each(rows, f"error_{layer}")]
    return median(errors) < 0.05 and max(each(rows, "false_positives"), default=0.0) < 0.1


def final_matrices_are_right(rows: Rows) -> bool:
    last = [value for row in rows for value in row.values(f"error_{1 + str(row.settings['neurons']).count('-')}")]
    return max(last) < 1e-5 and sum(each(rows, "is_right")) >= 0.5 * len(each(rows, "is_right"))


def labels_are_right(rows: Rows) -> bool:
    shares = each(rows, "is_right"), each(rows, "is_right_radii"), each(rows, "is_right_null_space")
    return all(sum(share) >= 0.8 * len(share) for share in shares) and min(each(rows, "share_1")) >= 0.8


def drift_is_bounded(rows: Rows) -> bool:
    gaps = [median(row.values("gap")) for row in rows]
    pairs = zip(each(rows, "drift"), each(rows, "bound"), strict=True)
    # The span does not come nearer with the radius.
    return all(drift <= bound for drift, bound in pairs) and max(gaps[:3]) < 1.5 * min(gaps[:3])


def errors_jump(rows: Rows) -> bool:
    """Near a point the error is small up to inputs times outputs, and large behind; far away it always is."""
    near = [row for row in rows if row.settings["radius"] == 0.01]
    far = [row for row in rows if row.settings["radius"] == 10.0]
    load = {id(row): float(row.settings["neurons"]) / 80.0 for row in rows}
    before = each([row for row in near if load[id(row)] <= 0.9], "subspace")
    behind = each([row for row in near if load[id(row)] >= 1.2], "subspace")
    return median(before) < 0.15 and min(behind) > 0.3 and min(each(far, "subspace"), default=1.0) > 0.3


def recovery_breaks_down(rows: Rows) -> bool:
    near = [row for row in rows if row.settings["radius"] == 0.01 and row.settings["layers"] == 2]
    first, last = near[1], near[-1]
    is_found = first.values("recovered")[0] == 1.0 and first.values("false_positives")[0] == 0.0
    return is_found and last.values("recovered")[0] < 0.3 and last.values("false_positives")[0] > 0.5


def found_directions_have_a_floor(rows: Rows) -> bool:
    """With true directions the descent ends lower than with found ones, and both far below where they began."""
    ends = {row.settings["directions"]: row.values("mean_error")[0] for row in rows if row.values("mean_error")}
    fall = all(
        row.curves("mean_errors")[0][-1] < 0.3 * row.curves("mean_errors")[0][0] for row in rows if row.curves("steps")
    )
    return fall and all(ends["true"] < end for source, end in ends.items() if source != "true") and len(ends) > 1


def both_sides_agree(rows: Rows) -> bool:
    return max(each(rows, "gradient_defect")) < 1e-9 and max(each(rows, "hessian_defect")) < 1e-5


def ratios_are_at_most_one(rows: Rows) -> bool:
    return all(value <= 1.0 + 1e-12 for row in rows for numbers in row.numbers for value in numbers.values())  # type: ignore[operator]


def bound_holds(rows: Rows) -> bool:
    pairs = zip(each(rows, "error"), each(rows, "bound"), strict=True)
    lemmas = (
        max(each(rows, "difference")) <= 1.0 and min(each(rows, "exact_value") + each(rows, "measured_value")) >= 1.0
    )
    # Somewhere the condition is met, and the bound means something.
    is_met = any(met and bound < 1.0 for met, bound in zip(each(rows, "is_met"), each(rows, "bound"), strict=True))
    return all(error <= bound for error, bound in pairs) and lemmas and is_met


def nothing_is_lost(rows: Rows) -> bool:
    return max(value for name in ("first", "second", "signs", "left", "permuted") for value in each(rows, name)) < 1e-10


def queries_are_as_published(rows: Rows) -> bool:
    return all(row.values(name) == [row.published[name]] for row in rows for name in ("near_queries", "parameters"))


def directions_are_found(rows: Rows) -> bool:
    return median(each(rows, "worst")) < 0.1 and max(each(rows, "outputs")) < 1e-5


CLAIMS: dict[str, Callable[[Rows], bool]] = {
    "algorithm-4.1": directions_are_found,
    "algorithm-4.2": labels_are_right,
    "table-4.1": queries_are_as_published,
    **dict.fromkeys(("table-4.2", "table-4.3"), errors_are_small),
    **dict.fromkeys(("table-4.4", "table-4.5"), labels_are_right),
    **dict.fromkeys(("table-4.6", "table-4.7"), final_matrices_are_right),
    "figure-4.1": drift_is_bounded,
    **dict.fromkeys(("figure-4.2", "figure-4.4"), errors_jump),
    "figure-4.3": recovery_breaks_down,
    **dict.fromkeys(("figure-4.5", "figure-4.6", "figure-4.7"), found_directions_have_a_floor),
    **dict.fromkeys(("lemma-4.1", "proposition-4.1"), both_sides_agree),
    "lemma-4.2": ratios_are_at_most_one,
    **dict.fromkeys(("theorem-4.1", "proposition-4.2", "lemma-4.3", "lemma-4.4"), bound_holds),
    **dict.fromkeys(("lemma-4.5", "proposition-4.3", "proposition-4.4"), nothing_is_lost),
}


@pytest.mark.slow
@pytest.mark.parametrize("entry", [entry for entry in DEEP if not entry.reason], ids=lambda entry: entry.number)
def test_what_an_item_claims_holds(entry: Entry, tmp_path: Path) -> None:
    found = quick_run("fiedler", entry.file, tmp_path)
    assert_finite(found)
    assert CLAIMS[entry.number](found.rows)


def test_every_item_has_a_claim() -> None:
    assert {entry.number for entry in DEEP} == CLAIMS.keys()
    assert len(DEEP) == len(CLAIMS)
