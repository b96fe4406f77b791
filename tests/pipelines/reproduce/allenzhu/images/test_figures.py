"""End to end in miniature: digits of 8 x 8 pixels, tiny networks, an epoch or two."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from late import LateModule, torch
from unweave import cli
from unweave.exceptions import InvalidInput, NotWritten
from unweave.reproduce.allenzhu.images import reproduction
from unweave.reproduce.allenzhu.images.configurations import FigureConfiguration, figure_configuration
from unweave.reproduce.allenzhu.images.figure_results import (
    CorrectedFeatures,
    CorrectionTables,
    FigureRun,
    FilterPhases,
    MethodTable,
    PhaseTables,
    UnitFeatures,
    mean_cosine,
)
from unweave.reproduce.allenzhu.images.image_sets import digit_images

figures = LateModule("unweave.reproduce.allenzhu.images.figures")

digits = cache(digit_images)
# Figure 4 is the middle of figure 11.
DRAWN = ["figure-1", "figure-2", pytest.param("figure-4", marks=pytest.mark.slow), "figure-11", "figure-12"]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def tiny(name: str) -> FigureConfiguration:
    depths = (2, 3) if name == "figure-11" else (2,) if name == "figure-4" else None
    return figure_configuration(name).scaled(
        width=0.125, layers=10, epochs=1, batch=20, images=60, seeds=2, depths=depths, ascent_steps=3
    )


@dataclass(frozen=True)
class Trained:
    """A figure whose networks were trained once for all tests: its folder, which no test changes, and what it told."""

    folder: Path
    run: FigureRun
    told: tuple[str, ...]

    def weights(self, name: str) -> dict[str, np.ndarray]:
        return load_file(min(self.folder.glob(f"{name}*.safetensors")))

    def copied_to(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.folder, folder))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, seed: int) -> Callable[[str], Trained]:
    @cache
    def train(name: str) -> Trained:
        folder, told = tmp_path_factory.mktemp(name), []
        run = figures.run_figure(tiny(name), digits(), folder, seed=seed, on_progress=lambda what, _: told.append(what))
        return Trained(folder, run, tuple(told))

    return train


@pytest.mark.parametrize("name", DRAWN)
def test_figures_run_and_are_drawn(name: str, trained: Callable[[str], Trained], tmp_path: Path) -> None:
    from unweave.reproduce.allenzhu.images.pictures import draw_figure

    run = trained(name).run
    assert run.is_complete
    assert trained(name).told
    written = run.save(tmp_path / "out")
    saved = json.loads(written[0].read_text())
    assert (saved["number"], saved["label"], saved["is_complete"], saved["published"]) == (name, "miniature", True, [])
    picture = tmp_path / "picture.png"
    draw_figure(run).savefig(picture)
    assert picture.stat().st_size > 5_000


def test_the_first_phase_moves_the_first_layer_only(trained: Callable[[str], Trained]) -> None:
    result = trained("figure-2").run.result
    assert isinstance(result, FilterPhases)
    moved = [np.abs(result.alone - result.random).max(), np.abs(result.together - result.alone).max()]
    assert min(moved) > 0
    before, after = (trained("figure-2").weights(name) for name in ("first-layer", "all-layers"))
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert not any(name.startswith("linear") for name in changed), "the read-out keeps its random weights"
    assert any(name.startswith("layers.4") for name in changed)


def test_every_unit_is_visualised(trained: Callable[[str], Trained]) -> None:
    result = trained("figure-1").run.result
    assert isinstance(result, UnitFeatures)
    assert [each.unit for each in result.features] == ["stem", "blocks.0", "blocks.1", "blocks.2"]
    assert [len(each.images) for each in result.features] == [2, 2, 4, 8]


def test_features_before_and_after_are_of_the_same_channels(trained: Callable[[str], Trained]) -> None:
    result = trained("figure-11").run.result
    assert isinstance(result, CorrectedFeatures)
    assert [each.depth for each in result.units] == [2, 3]
    for each in result.units:
        assert (each.before.unit, each.before.channels) == (each.after.unit, each.after.channels)
        assert -1 <= each.correlation <= 1
        assert not np.array_equal(each.before.images, each.after.images)


@pytest.mark.slow
def test_features_before_correction_repeat_and_leave_torch_alone(tmp_path: Path, seed: int) -> None:
    found = []
    for number in range(2):
        torch.manual_seed(number)
        drawn = torch.random.get_rng_state()
        figures.run_figure(tiny("figure-4"), digits(), tmp_path / str(number), seed=seed)
        assert torch.equal(torch.random.get_rng_state(), drawn)
        found.append(load_file(next((tmp_path / str(number)).glob("depth-2-only*"))))
    assert all(np.array_equal(value, found[1][name]) for name, value in found[0].items())


def test_methods_have_all_their_models(trained: Callable[[str], Trained]) -> None:
    result = trained("figure-12").run.result
    assert isinstance(result, MethodTable)
    tangent = "finite-width tangent kernel of WRN-10-0.125"
    names = ["WRN-10-0.125", "quadratic WRN-10-0.125", tangent, f"{tangent}, ZCA"]
    assert [row.network for row in result.rows] == names
    assert all(len(row.singles) == 2 and row.best == max(row.singles) for row in result.rows)


@pytest.mark.parametrize(
    "name",
    ["figure-3", *(pytest.param(name, marks=pytest.mark.slow) for name in ("figure-9", "figure-14-linf"))],
)
def test_tables_come_from_the_measurement(name: str, tmp_path: Path, seed: int) -> None:
    configuration = figure_configuration(name).scaled(
        width=0.125, layers=10, epochs=1, batch=30, images=60, seeds=1, depths=(1, 2)
    )
    run = figures.run_figure(configuration, digits(), tmp_path, seed=seed)
    assert isinstance(run.result, CorrectionTables)
    assert run.is_complete
    run.save(tmp_path / "out")
    notes = " ".join(run.notes)
    assert ("80 % of the training images" in notes) == (name in ("figure-9", "figure-14-linf"))
    for table in run.result.tables.values():
        row = table.depths[1]
        assert not row.layerwise.values
        assert bool(row.fixed) == bool(row.train_all.values) == (name in ("figure-9", "figure-14-linf"))
        assert row.train_only.values


def test_what_is_trained_is_not_trained_again(trained: Callable[[str], Trained], tmp_path: Path, seed: int) -> None:
    first = trained("figure-12")
    folder = first.copied_to(tmp_path / "copy")
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")}
    again = figures.run_figure(tiny("figure-12"), digits(), folder, seed=seed)
    assert again.result == first.run.result
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")} == kept
    assert len(kept) == 8


def test_a_stop_says_so_and_can_go_on(tmp_path: Path, seed: int) -> None:
    from unweave.reproduce.allenzhu.images.pictures import draw_figure

    stopped = figures.run_figure(tiny("figure-12"), digits(), tmp_path, seed=seed, max_seconds=1e-9)
    assert not stopped.is_complete
    assert stopped.notes[0].startswith("A miniature")
    assert "same folder to go on" in stopped.notes[-1]
    with pytest.raises(InvalidInput, match="needs filters, features or methods"):
        draw_figure(stopped)
    assert figures.run_figure(tiny("figure-12"), digits(), tmp_path, seed=seed).is_complete


def tiny_tables() -> FigureConfiguration:
    """Two tables of one depth."""
    small = figure_configuration("figure-3").scaled(
        width=0.125, layers=10, epochs=1, batch=30, images=60, seeds=1, depths=(1,)
    )
    (network,) = small.networks
    wider = replace(network, blueprint=network.blueprint.resized(width=0.25, layers=None))
    return replace(small, networks=(network, wider))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, seed: int) -> Trained:
    folder = tmp_path_factory.mktemp("tables")
    run = figures.run_figure(replace(tiny_tables(), is_miniature=False), digits(), folder, seed=seed)
    return Trained(folder, run, ())


def tiny_phases() -> FigureConfiguration:
    small = figure_configuration("figure-13").scaled(
        width=0.125, layers=10, epochs=1, batch=30, images=60, seeds=1, depths=(1, 2)
    )
    return replace(small, networks=small.networks[-1:])


def test_every_phase_has_the_better_weight_decay(tmp_path: Path, seed: int) -> None:
    run = figures.run_figure(tiny_phases(), digits(), tmp_path, seed=seed)
    assert isinstance(run.result, PhaseTables)
    assert "better on 20 % of the training images" in " ".join(run.notes)
    (phases,) = run.result.tables.values()
    assert [(each.way, each.depth) for each in phases] == [
        (way, depth) for way in ("layer-wise", "joint") for depth in (1, 2)
    ]
    # The first phase has nothing below it, so that both ways share it.
    assert replace(phases[0], way="joint") == phases[2]
    for phase, kind in zip(phases, ("train only", "layer-wise", "train only", "joint"), strict=True):
        scores = {}
        for decay in ("0.0001", "0.0005"):
            (folder,) = tmp_path.glob(f"*-decay-{decay}")
            name = f"seed-{seed}-depth-{phase.depth}-{kind.replace(' ', '-')}-*.json"
            record = json.loads(next((folder / "trainings").glob(name)).read_text())
            scores[float(decay)] = (record["validation_score"], record["score"])
        assert scores[phase.weight_decay][0] == max(score for score, _ in scores.values())
        assert scores[phase.weight_decay][1] == phase.accuracy


def test_phases_go_on_after_a_stop(tmp_path: Path, seed: int) -> None:
    stopped = figures.run_figure(tiny_phases(), digits(), tmp_path, seed=seed, max_seconds=0.0)
    assert not stopped.is_complete
    first = figures.run_figure(tiny_phases(), digits(), tmp_path, seed=seed)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert figures.run_figure(tiny_phases(), digits(), tmp_path, seed=seed).result == first.result
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")} == kept
    assert len(kept) == 6


def test_several_tables_are_not_compared(tables: Trained) -> None:
    run = tables.run
    assert isinstance(run.result, CorrectionTables)
    assert len(run.result.tables) == 2
    assert run.is_complete
    assert run.differences == ()
    assert "no numbers of this figure" in run.notes[-1]


@pytest.mark.parametrize("max_seconds", [0.0, 1e-9])
def test_tables_stop_without_time(max_seconds: float, tmp_path: Path, seed: int) -> None:
    run = figures.run_figure(tiny_tables(), digits(), tmp_path, seed=seed, max_seconds=max_seconds)
    assert not run.is_complete
    assert run.notes[0].startswith("A miniature")
    assert run.notes[-1].startswith("The time was over")


def test_a_complete_table_survives_the_end_of_time(tables: Trained, tmp_path: Path, seed: int) -> None:
    folder = tables.copied_to(tmp_path / "copy")
    shutil.rmtree(sorted(folder.iterdir())[1])
    run = figures.run_figure(tiny_tables(), digits(), folder, seed=seed, max_seconds=1e-9)
    assert isinstance(run.result, CorrectionTables)
    assert not run.is_complete
    assert [table.is_complete for table in run.result.tables.values()] == [True, False]


@pytest.mark.parametrize("max_seconds", [-1.0, float("nan")])
def test_impossible_times_are_refused(max_seconds: float, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="max_seconds needs to be a number from 0 on"):
        figures.run_figure(tiny("figure-12"), digits(), tmp_path, max_seconds=max_seconds)


def phases() -> FilterPhases:
    filters = np.full((2, 3, 4, 4), np.nan, dtype=np.float32)
    return FilterPhases("made", filters, filters, filters, 0.5, 0.5)


def test_what_diverged_is_saved_as_proper_json(tmp_path: Path) -> None:
    written = FigureRun("made", "miniature", "made", phases()).save(tmp_path)
    assert json.loads(written[0].read_text(), parse_constant=pytest.fail)["result"]["correlation_alone_random"] == "nan"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.json", "figure.npz"]
    with np.load(written[1], allow_pickle=False) as arrays:
        assert sorted(arrays) == ["alone", "random", "together"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = FigureRun("made", "miniature", "made", phases())
    (document, _) = run.save(tmp_path)
    before = document.read_text()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(NotWritten, match=r"could not be written to .*: disk full"):
        replace(run, name="other").save(tmp_path)
    assert document.read_text() == before


def test_a_picture_that_cannot_be_written_leaves_with_five(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    filters = np.zeros((2, 3, 4, 4), dtype=np.float32)
    run = FigureRun("figure-2", "miniature", "made", FilterPhases("made", filters, filters, filters, 0.5, 0.5))
    monkeypatch.setattr(reproduction, "run_image_figure", lambda *_: reproduction.ReproducedFigure(run))
    (tmp_path / reproduction.PICTURE).mkdir()
    assert cli.run(["reproduce", "allenzhu:figure-2", "--out", str(tmp_path)]) == 5
    captured = capsys.readouterr()
    assert '"accuracy_alone": 0.5' in captured.out, "a full disk does not cost the result"
    assert "figure.png" in captured.err
    assert (tmp_path / "figure.json").exists()


def test_spoilt_weights_are_refused(trained: Callable[[str], Trained], tmp_path: Path, seed: int) -> None:
    folder = trained("figure-2").copied_to(tmp_path / "copy")
    next(folder.glob("first-layer*")).write_bytes(b"spoilt")
    with pytest.raises(InvalidInput, match="needs to hold weights"):
        figures.run_figure(tiny("figure-2"), digits(), folder, seed=seed)


def test_a_montage_holds_every_image_in_its_place() -> None:
    from unweave.reproduce.allenzhu.images.pictures import montage

    images = np.zeros((3, 3, 4, 4), dtype=np.float32)
    images[1, 0], images[2, 2] = 1.0, -1.0
    whole = montage(images, across=2)
    assert whole.shape == (9, 9, 3)
    assert (whole[:4, :4] == 0.5).all(), "zero is grey"
    assert (whole[:4, 5:] == [1.0, 0.5, 0.5]).all()
    assert (whole[5:, :4] == [0.5, 0.5, 0.0]).all()
    assert (whole[5:, 5:] == 1.0).all(), "an empty place is white"


def test_mean_cosine_by_hand() -> None:
    one, two = np.array([[1.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 2.0], [-3.0, -4.0]])
    assert mean_cosine(one, two) == pytest.approx(-0.5)
