"""Experiments by cells: what is kept, what is measured again, and what stands beside the published numbers."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.reproduce.experiment import CELLS, Cell, Experiment, Numbers, Scale, Settings
from unweave.reproduce.measured import NUMBERS, TABLE, MeasuredRows, run_experiment
from unweave.reproduce.registry import Request

SIZES = {Scale.QUICK: 1, Scale.USUAL: 2, Scale.FULL: 3}


def settings(scale: Scale) -> Sequence[Settings]:
    return [{"inputs": inputs, "method": "walk"} for inputs in range(1, 1 + SIZES[scale])]


class Squares:
    """Measures squares of inputs and a curve, and counts how often it was asked."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []

    def __call__(self, cell: Cell) -> Numbers:
        self.cells.append(cell)
        inputs = float(cell.settings["inputs"])
        return {"square": inputs**2 + 10.0 * cell.seed, "curve": [inputs, float("inf")]}


def planted(measure: Squares) -> Experiment:
    return Experiment(
        title="squares",
        settings=settings,
        measure=measure,
        columns={"square": "square of the inputs"},
        published=lambda given: {"square": 1.5} if given["inputs"] == 1 else {},
    )


def request(out: Path, **changed: object) -> Request:
    asked = Request(
        out=out,
        data=None,
        scale=Scale.USUAL,
        workers=None,
        sizes={},
        is_two_classes=False,
        seed=4,
        max_seconds=None,
        tell=lambda *_: None,
        say=lambda _: None,
    )
    return replace(asked, **changed)


def run(measure: Squares, asked: Request) -> MeasuredRows:
    return run_experiment(planted(measure), "fiedler", "table-0", asked)


def test_every_row_is_measured_with_every_seed(tmp_path: Path) -> None:
    found = run(measure := Squares(), request(tmp_path))
    assert found.is_complete
    assert [row.settings["inputs"] for row in found.rows] == [1, 2]
    assert [row.values("square") for row in found.rows] == [[41.0, 51.0, 61.0], [44.0, 54.0, 64.0]]
    assert found.rows[0].curves("curve") == [[1.0, float("inf")]] * 3
    # Repetition by repetition: a run that is stopped has tried all settings.
    assert [cell.settings["inputs"] for cell in measure.cells] == [1, 2, 1, 2, 1, 2]


def test_what_is_kept_is_not_measured_again(tmp_path: Path) -> None:
    first = run(Squares(), request(tmp_path, sizes={"seeds": 1}))
    again = run(measure := Squares(), request(tmp_path, sizes={"seeds": 2}))
    assert [cell.seed for cell in measure.cells] == [5, 5]
    assert again.rows[0].values("square")[:1] == first.rows[0].values("square")
    # A larger size goes on from a smaller one, and a smaller one needs nothing more.
    assert len(run(measure := Squares(), request(tmp_path, scale=Scale.FULL, sizes={"seeds": 2})).rows) == 3
    assert [cell.settings["inputs"] for cell in measure.cells] == [3, 3]
    run(measure := Squares(), request(tmp_path, scale=Scale.QUICK))
    assert measure.cells == []


def test_a_run_ends_in_time_and_goes_on(tmp_path: Path) -> None:
    found = run(measure := Squares(), request(tmp_path, max_seconds=0.0))
    assert not found.is_complete
    assert len(measure.cells) == 1
    assert "run it again" in found.notes[-1]
    assert run(measure, request(tmp_path)).is_complete
    assert len(measure.cells) == 6


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    run(Squares(), request(tmp_path))
    with pytest.raises(InvalidInput, match="reproduction is fiedler:table-0 there and fiedler:table-1 here"):
        run_experiment(planted(Squares()), "fiedler", "table-1", request(tmp_path))
    held = next(path for path in (tmp_path / CELLS).iterdir() if path.name != "configuration.json")
    held.write_text(held.read_text().replace("41", "42").replace("44", "45"))
    (tmp_path / CELLS / "note").touch()
    for path in (tmp_path / CELLS).glob("*.json"):
        if path.name != "configuration.json":
            path.write_text(path.read_text().replace("inputs", "outputs"))
    with pytest.raises(UnreadableFile, match="does not hold what was measured"):
        run(Squares(), request(tmp_path))


def test_options_of_other_experiments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="fiedler:table-0 takes no --width"):
        run(measure := Squares(), request(tmp_path, sizes={"width": 0.5}))
    assert measure.cells == []


def test_numbers_are_written_beside_those_published(tmp_path: Path) -> None:
    found = run(Squares(), request(tmp_path, scale=Scale.QUICK))
    found.save(tmp_path)
    document = json.loads((tmp_path / NUMBERS).read_text())
    assert (document["work"], document["number"], document["label"]) == ("fiedler", "table-0", "quick")
    assert document["result"]["rows"][0]["numbers"] == [{"square": 41.0, "curve": [1.0, "inf"]}]
    assert document["published"] == [{"settings": {"inputs": 1, "method": "walk"}, "numbers": {"square": 1.5}}]
    table = list(csv.DictReader(io.StringIO((tmp_path / TABLE).read_text())))
    assert [(line["source"], float(line["square"])) for line in table] == [("measured", 41.0), ("published", 1.5)]
