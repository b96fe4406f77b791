"""Every item of [allenzhu] in its quick form: numbers are finite, and what the item claims holds for them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unweave.reproduce.allenzhu.images.configurations import FIGURES
from unweave.reproduce.entries import entries_of
from unweave.reproduce.experiment import Row, Scale
from unweave.reproduce.measured import MeasuredRows
from unweave.reproduce.registry import REPRODUCTIONS, Request

Claim = Callable[[Sequence[Row]], bool]


def quick(folder: Path) -> Request:
    return Request(out=folder, scale=Scale.QUICK)


def by(rows: Sequence[Row], setting: str, column: str) -> dict[object, float]:
    """The median of a column by the value of a setting."""
    return {row.settings[setting]: float(np.median(row.values(column))) for row in rows}


def joint_beats_layer_wise(rows: Sequence[Row]) -> bool:
    errors = by(rows, "training", "error")
    return errors["second order, joint"] < 1e-15 and errors["staged, joint"] < 0.01 * errors["layer-wise"]


def kernels_stay_behind(rows: Sequence[Row]) -> bool:
    errors = by(rows, "method", "error")
    joint = errors.pop("all levels, second order")
    return joint < 1e-15 and all(each > 0.01 for each in errors.values())


def constants_are_absolute(rows: Sequence[Row]) -> bool:
    """The corollary's constant stays small if kappa is at least 2, and grows with the levels if it is 1."""
    small = [row.values("holds") == [1.0] for row in rows if float(row.settings["kappa"]) >= 2]
    alone = [row.values("constant")[0] for row in rows if row.settings["kappa"] == 1.0]
    return all(small) and alone[-1] > 10 * alone[0]


def only_terms_in_j_fit(rows: Sequence[Row]) -> bool:
    return all(
        row.values("holds") == [float(row.settings["product"] == "terms in j")]
        for row in rows
        if int(row.settings["levels"]) > 3
    )


def neurons_below_the_rank_do_not_suffice(rows: Sequence[Row]) -> bool:
    few, enough = rows[:-1], rows[-1]
    return (
        all(row.values("holds") == [1.0] and row.values("error")[0] > 0.5 for row in few)
        and enough.values("bound") == [0.0]
        and enough.values("error")[0] < 0.01
    )


def constants_are_bounded(rows: Sequence[Row]) -> bool:
    gaussian = [row for row in rows if row.settings["distribution"] == "Gaussian"]
    return all(
        row.values("fourth") <= row.values("fourth_bound")
        # For the sample, which has a few percent of error.
        and row.values("kept")[0] <= 1.1 * row.values("kept_bound")[0]
        for row in gaussian
    )


CLAIMS: dict[str, Claim] = {
    "algorithm-1": lambda rows: all(max(row.values("objective")) < 0.5 for row in rows),
    # The features of level 2 get better when levels above are on.
    "figure-5": lambda rows: all(row.values("lower_end") < row.values("lower_alone") for row in rows),
    "figure-7": lambda rows: all(max(row.values("difference")) < 1e-12 for row in rows),
    "figure-8": lambda rows: all(row.values("inside") == row.values("fall") == [0.0] for row in rows),
    "theorem-1": joint_beats_layer_wise,
    **dict.fromkeys(
        ("theorem-2", "corollary-f.3"),
        lambda rows: all(1.7 < row.values("slope")[0] < 2.1 and row.values("constant")[0] < 1 for row in rows),
    ),
    "theorem-3": lambda rows: all(1.0 < row.values("ratio")[0] < 6.0 for row in rows),
    "theorem-4": lambda rows: all(row.values("both") < row.values("alone") < row.values("given") for row in rows),
    "proposition-5.1": constants_are_bounded,
    "lemma-c.6": lambda rows: all(max(row.values("largest")) < 5 and min(row.values("scaled")) > 1e-4 for row in rows),
    **dict.fromkeys(("theorem-i.1", "theorem-i.3", "theorem-i.6"), kernels_stay_behind),
    "theorem-i.7": neurons_below_the_rank_do_not_suffice,
    **dict.fromkeys(("theorem-1'", "theorem-3'"), lambda rows: all(row.values("holds") == [1.0] for row in rows)),
    "corollary-b.1": constants_are_absolute,
    "corollary-b.2": only_terms_in_j_fit,
}


def test_every_item_has_a_claim() -> None:
    assert {*CLAIMS, *FIGURES} == {entry.number for entry in entries_of("allenzhu")}


@pytest.mark.slow
@pytest.mark.parametrize("number", [entry.number for entry in entries_of("allenzhu")])
def test_items_run_and_their_claims_hold(number: str, tmp_path: Path) -> None:
    import torch

    torch.set_num_threads(1)
    found = REPRODUCTIONS[f"allenzhu:{number}"].run(quick(tmp_path))
    assert found.is_complete
    assert found.save(tmp_path)
    pictures = found.pictures()
    for file, picture in pictures.items():
        picture.savefig(tmp_path / file)
    if not isinstance(found, MeasuredRows):
        assert pictures
        assert found.as_document()["label"] == "miniature"
        return
    for row in found.rows:
        for name in found.experiment.columns:
            assert len(row.values(name)) == len(row.numbers)
            # A short run of Algorithm 1 may not come to level 3.
            assert name == "level_3" or np.all(np.isfinite(row.values(name)))
    assert CLAIMS[number](found.rows)


def test_many_classes_get_images_of_each(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(120, 8, 8, 3), dtype=np.uint8)
    labels = np.arange(120) % 40
    (tmp_path / "images").mkdir()
    np.savez(tmp_path / "images" / "made.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    request = replace(quick(tmp_path / "run"), data=tmp_path / "images", max_seconds=0.0)
    found = REPRODUCTIONS["allenzhu:figure-2"].run(request)
    assert "80 and 80 random images" in found.as_document()["images"]
