import json
from pathlib import Path

import pytest

from unweave.exceptions import NotWritten
from unweave.explore.feature_correction.result import DepthResult, FeatureCorrection
from unweave.explore.feature_correction.statistics import Scores, conclude
from unweave.reports.correction import save_with_picture

NOTHING = Scores(())


def around(mean: float, spread: float = 0.001) -> Scores:
    return Scores(tuple(mean + spread * step for step in (-2, -1, 0, 1, 2)))


def depth(number: int = 2, *, frozen: float = 0.9, correlation: float = 0.95, window: int | None = 1) -> DepthResult:
    train_all, fixed = around(0.97), Scores(tuple(reversed(around(frozen).values)))
    joint, layerwise = around(0.95), around(0.91)
    return DepthResult(
        depth=number, unit=f"conv{number}", train_only=around(0.93), joint=joint, layerwise=layerwise,
        fixed={0: fixed}, train_all=train_all, prox=(1e-3,) * 5, with_start=around(0.4),
        with_train_all=around(correlation), with_random=around(0.3), with_layerwise=around(0.6),
        unit_correlations=(around(correlation),) * number, alignment=around(0.9), unexplained=around(0.1),
        ensemble=0.98, freezing=conclude(train_all.minus(fixed), tolerance=0.002),
        greedy=conclude(joint.minus(layerwise), tolerance=0.002), window=window, is_last=False,
    )  # fmt: skip


def result(*depths: DepthResult) -> FeatureCorrection:
    units = tuple(f"conv{number}" for number in range(1, 5))
    return FeatureCorrection(
        units, tuple(range(5)), (0, 1), True, depths, around(0.97), 0.98, (), ("a note.",), seconds=12.0
    )


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "needed and local"),
        ({"correlation": 0.5}, "needed, not local"),
        ({"frozen": 0.973}, "not needed"),
        ({"frozen": 0.99}, "frozen is better"),
        ({"frozen": 0.967}, "no conclusion: "),
    ],
)
def test_verdicts_follow_gap_and_correlation(row: dict[str, float], verdict: str) -> None:
    assert depth(**row).verdict.startswith(verdict)


def test_sentences_say_what_to_do() -> None:
    greedy, freezing = depth().sentences
    assert greedy == "Training the first 2 units one after the other, lower ones frozen, costs 4.0 +- 0.0 points."
    assert freezing == "Freezing the first 2 units costs 7.0 +- 0.4 points; thaw at least the last 1 of them."
    assert depth(window=None).sentences[1].endswith("no measured window wins it back.")
    assert depth(frozen=0.99).sentences[1] == "Freezing the first 2 units gains 2.0 +- 0.4 points."
    assert depth(1).sentences[-1] == "Freezing the first unit costs 7.0 +- 0.4 points; thaw it."


def test_the_table_holds_every_row_and_means_with_errors() -> None:
    table = result(depth(2), depth(3)).as_table()
    assert "| train only <= l | 93.0 +- 0.1 | 93.0 +- 0.1 |" in table
    assert "| weights with train-all | 0.95 +- 0.00 | 0.95 +- 0.00 |" in table
    assert "fix <= l-1" not in table


def test_the_information_gap_is_what_each_depth_adds() -> None:
    gaps = result(depth(1), depth(2)).gap_by_depth
    assert gaps == pytest.approx((0.93, 0.0))


def test_it_is_written_with_its_picture(tmp_path: Path) -> None:
    save_with_picture(result(depth(1), depth(2)), tmp_path / "new")
    document = json.loads((tmp_path / "new" / "correction.json").read_text())
    assert document["depths"][1]["verdict"] == "needed and local"
    assert len(document["depths"][0]["train_all"]["values"]) == 5
    assert (tmp_path / "new" / "correction.txt").read_text().startswith("| depth l | 1 | 2 |")
    assert (tmp_path / "new" / "correction.png").stat().st_size > 10_000


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritten, match="could not be written"):
        result(depth()).save(tmp_path / "file")
