import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unweave
from late import LateModule, torch
from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.recipes import Recipe
from unweave.explore.feature_correction.runner import MeasurementProgress
from unweave.explore.feature_correction.samples import check_samples

models = LateModule("correction_models")

QUICK: dict[str, Any] = {
    "recipe": Recipe(epochs=1, batch=20),
    "seeds": 2,
    "windows": (0, 1),
    "prox": (1e-3, 1e-2),
}


def told(result: unweave.FeatureCorrection) -> dict[str, Any]:
    """Everything but times."""
    return {name: value for name, value in result.as_json().items() if name != "seconds"}


@dataclass(frozen=True)
class Measured:
    """One whole measurement, which was kept in a folder."""

    seed: int
    result: unweave.FeatureCorrection
    folder: Path


@pytest.fixture(scope="module")
def whole(seed: int, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Measure once what most tests compare with or read."""
    folder = tmp_path_factory.mktemp("whole")
    result = unweave.measure_feature_correction(
        models.SmallConvolutions(), models.small_images(seed), folder=folder, **QUICK
    )
    return Measured(seed, result, folder)


def test_a_measurement_is_complete(whole: Measured) -> None:
    result = whole.result
    assert result.is_complete
    assert result.units == ("conv1", "conv2", "conv3")
    assert [row.depth for row in result.depths] == [1, 2, 3]
    for row in result.depths:
        assert len(row.train_only.values) == len(row.joint.values) == len(row.layerwise.values) == 2
        assert 0 < row.with_random.mean < 1
    for row in result.depths[:2]:
        assert len(row.train_all.values) == len(row.fixed[0].values) == 2
        assert set(row.prox) <= {1e-3, 1e-2}
        assert len(row.unit_correlations) == row.depth
        averaged = np.mean([each.mean for each in row.unit_correlations])
        assert row.with_train_all.mean == pytest.approx(averaged)
        assert row.verdict == "no conclusion: 3 more seeds needed"
    assert result.depths[2].verdict == "nothing above it"
    assert result.full == result.depths[2].train_only
    assert [row.layerwise_verdict.split(":")[0] for row in result.depths] == [
        "nothing below it", "no conclusion", "no conclusion",
    ]  # fmt: skip
    json.dumps(result.as_json(), allow_nan=False)
    assert "3 more seeds needed" in result.as_table()


def test_the_ensemble_averages_probabilities(whole: Measured) -> None:
    from safetensors.numpy import load_file

    files = sorted((whole.folder / "trainings").glob("seed-*-depth-2-train-only-*.safetensors"))
    shares = [torch.softmax(torch.tensor(load_file(path)["test_outputs"]), dim=1) for path in files]
    assert len(shares) == 2
    answers = torch.stack(shares).mean(0).argmax(1).numpy()
    assert whole.result.depths[1].ensemble == np.mean(answers == models.small_images(whole.seed)[3])


class Killed(Exception):
    pass


@pytest.mark.parametrize("last", [5, *(pytest.param(last, marks=pytest.mark.slow) for last in (1, 12))])
def test_a_killed_run_goes_on_to_the_same_table(last: int, whole: Measured, tmp_path: Path) -> None:
    def kill(seen: MeasurementProgress) -> None:
        if seen.done >= last:
            raise Killed

    model, data = models.SmallConvolutions(), models.small_images(whole.seed)
    with pytest.raises(Killed):
        unweave.measure_feature_correction(model, data, folder=tmp_path, on_progress=kill, **QUICK)
    trained = []
    again = unweave.measure_feature_correction(
        model, data, folder=tmp_path, on_progress=lambda seen: trained.append(seen.name), **QUICK
    )
    assert told(again) == told(whole.result)
    assert len(trained) - 1 == len(list((whole.folder / "trainings").glob("*.json"))) - last


def test_memory_and_folder_give_the_same_table(whole: Measured) -> None:
    in_memory = unweave.measure_feature_correction(models.SmallConvolutions(), models.small_images(whole.seed), **QUICK)
    assert told(in_memory) == told(whole.result)


def test_time_that_is_over_gives_a_partial_report_and_goes_on(whole: Measured, tmp_path: Path) -> None:
    model, data = models.SmallConvolutions(), models.small_images(whole.seed)
    partial = unweave.measure_feature_correction(model, data, folder=tmp_path, seconds=0.01, **QUICK)
    assert not partial.is_complete
    assert f"{len(partial.missing)} of" in " ".join(partial.notes)
    assert told(unweave.measure_feature_correction(model, data, folder=tmp_path, **QUICK)) == told(whole.result)


def test_more_seeds_go_on_in_the_same_folder(whole: Measured, tmp_path: Path) -> None:
    folder = shutil.copytree(whole.folder, tmp_path / "copy")
    model, data = models.SmallConvolutions(), models.small_images(whole.seed)
    more = unweave.measure_feature_correction(model, data, folder=folder, **QUICK | {"seeds": 3})
    assert more.full.values[:2] == whole.result.full.values
    with pytest.raises(InvalidInput, match="other settings"):
        unweave.measure_feature_correction(model, models.small_images(whole.seed + 1), folder=folder, **QUICK)


def test_real_labels_are_scored_by_explained_variance(seed: int) -> None:
    x_train, _, x_test, _ = models.small_points(seed)
    labels = [np.sin(x).sum(axis=1).astype(np.float64) * 100 for x in (x_train, x_test)]
    data = (x_train, labels[0], x_test, labels[1])
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    settings = QUICK | {"recipe": Recipe(epochs=40, batch=20, learning_rate=0.05)}
    result = unweave.measure_feature_correction(model, data, **settings)
    assert result.score_name == "explained variance"
    assert result.full.mean > 0.5


def test_ones_own_loop_gets_what_trains_and_the_penalty(seed: int) -> None:
    calls = []

    def loop(_: torch.nn.Module, parameters: list, penalty: Any, number: int, rows: np.ndarray) -> None:
        assert np.array_equal(rows, np.arange(40))
        calls.append((len(parameters), penalty().item(), number))

    unweave.measure_feature_correction(
        models.perceptron(), models.small_points(seed), train=loop, seeds=1, windows=(0,), prox=(2.0,), random_state=7
    )
    # The last of them are: first unit frozen, and all trained from another start, pulled to the first unit.
    assert [count for count, _, _ in calls[-2:]] == [4, 6]
    assert {number for _, _, number in calls[:-1]} == {7}
    assert calls[-1][2] > 1_000
    assert all(penalty == 0 for _, penalty, _ in calls[:-1])
    assert calls[-1][1] > 0


def test_ones_own_loop_is_told_which_rows_are_held_out(seed: int) -> None:
    told_rows = []
    settings = QUICK | {"seeds": 1, "depths": (1,)}
    unweave.measure_feature_correction(
        models.perceptron(), models.small_points(seed), train=lambda *given: told_rows.append(given[4]), **settings
    )
    samples = check_samples(models.small_points(seed), has_validation=True, random_state=0)
    for rows in told_rows:
        assert np.array_equal(models.small_points(seed)[0][rows], samples.train_inputs)
        assert len(rows) == 32


def test_without_a_pull_training_all_owes_nothing_to_training_alone(seed: int) -> None:
    # Wide filters: those of two random starts have cosines near 0, while a common start would show.
    model = torch.nn.Sequential(*(torch.nn.Linear(*sizes) for sizes in ((400, 8), (8, 8), (8, 3))))
    rng, labels = np.random.default_rng(seed), np.arange(60) % 3
    points = rng.standard_normal((60, 400)).astype(np.float32)
    data = (points[:40], labels[:40], points[40:], labels[40:])
    settings = QUICK | {"prox": (0.0,), "recipe": Recipe(epochs=1, batch=20, learning_rate=1e-3), "depths": (1,)}
    result = unweave.measure_feature_correction(model, data, **settings)
    assert result.depths[0].with_start.mean > 0.9
    assert abs(result.depths[0].with_train_all.mean) < 0.2


def test_features_of_wide_units_are_not_compared(seed: int) -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(*sizes) for sizes in ((4, 30), (30, 5), (5, 2))))
    for test, is_compared in ((100, False), (120, True)):
        result = unweave.measure_feature_correction(model, models.small_points(seed, test=test), depths=(1,), **QUICK)
        assert bool(result.depths[0].alignment.values) == is_compared
        assert any("wide units were not compared" in note for note in result.notes) != is_compared


def test_trainings_that_diverge_are_told_and_nothing_is_concluded(seed: int) -> None:
    settings = QUICK | {"recipe": Recipe(epochs=6, batch=10, learning_rate=1e20), "seeds": 5}
    result = unweave.measure_feature_correction(models.perceptron(), models.small_points(seed), depths=(1,), **settings)
    assert any("diverged: lower the learning rate" in note for note in result.notes)
    assert result.depths[0].verdict == "no conclusion: a training diverged"
    assert "nan" not in result.as_table()
    assert "seeds needed" not in result.as_table()
    json.dumps(result.as_json(), allow_nan=False)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"units": ("conv9",)}, "there is no unit 'conv9'"),
        ({"depths": (0, 1)}, "numbers from 1 to 3"),
        ({"depths": (4,)}, "numbers from 1 to 3"),
        ({"windows": (-1,)}, "windows need"),
        ({"prox": (-1.0,)}, "prox needs"),
        ({"windows": (0.5,)}, "windows need"),
        ({"depths": (1.5,)}, "whole numbers"),
        ({"prox": (float("nan"),)}, "prox needs"),
        ({"prox": (float("inf"), 1.0)}, "prox needs"),
        ({"seconds": float("nan")}, "above 0"),
        ({"tolerance": float("nan")}, "tolerance needs"),
        ({"random_state": -1}, "random_state needs"),
        ({"seeds": 1.0}, "at least 1 seed"),
        ({"recipe": Recipe(learning_rate=-1)}, "learning rate"),
        ({"recipe": Recipe(learning_rate=float("nan"))}, "learning rate"),
        ({"seeds": 0}, "at least 1 seed"),
        ({"seconds": 0.0}, "above 0"),
        ({"train": lambda _, __, ___, ____: None}, "too many positional arguments"),
        ({"thawed": "frozen"}, "thawed needs to be one of"),
        ({"recipe": Recipe(epochs=0)}, "at least 1 epoch"),
    ],
)
def test_wrong_use_is_refused_before_any_training(changed: dict[str, Any], message: str) -> None:
    def never(_: MeasurementProgress) -> None:
        pytest.fail("something was trained")

    with pytest.raises(InvalidInput, match=message):
        unweave.measure_feature_correction(
            models.SmallConvolutions(), models.small_images(0), on_progress=never, **QUICK | changed
        )


def test_models_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"each of 3 classes, got \(2, 5\)"):
        unweave.measure_feature_correction(
            torch.nn.Sequential(torch.nn.Conv2d(1, 5, 3), torch.nn.Flatten(), torch.nn.Linear(20, 5)),
            models.small_images(0),
        )
    with pytest.raises(InvalidInput, match="is a class"):
        unweave.measure_feature_correction(models.SmallConvolutions, models.small_images(0))
    with pytest.raises(InvalidInput, match="got str"):
        unweave.measure_feature_correction("resnet", models.small_images(0))
    with pytest.raises(InvalidInput, match="return a torch module"):
        unweave.measure_feature_correction(lambda seed: seed, models.small_images(0))


@pytest.mark.parametrize(("way", "came"), [("name", "nothing"), ("tuple", "tuple")])
def test_units_that_cannot_be_cut_are_refused(way: str, came: str) -> None:
    with pytest.raises(InvalidInput, match=f"one tensor of a row per input, but {came} is given"):
        unweave.measure_feature_correction(models.OddArguments(way), models.small_points(0), units=("first", "second"))


def test_a_function_that_returns_one_module_for_all_seeds_is_refused() -> None:
    model = models.perceptron()
    with pytest.raises(InvalidInput, match="same weights for two seeds"):
        unweave.measure_feature_correction(lambda _: model, models.small_points(0))


def test_precisions_that_numpy_has_not_are_refused() -> None:
    with pytest.raises(InvalidInput, match="bfloat16"):
        unweave.measure_feature_correction(models.perceptron().to(torch.bfloat16), models.small_points(0))


def test_without_torch_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unweave.extras.find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match=r"pip install 'unweave\[torch\]'"):
        unweave.measure_feature_correction(models.SmallConvolutions(), models.small_images(0))


@pytest.mark.slow
def test_digits_lose_by_layerwise_training() -> None:
    from unweave.explore.feature_correction.digits import DIGITS_RECIPE, DigitsNetwork, digits_data

    result = unweave.measure_feature_correction(
        DigitsNetwork(), digits_data(), recipe=DIGITS_RECIPE, depths=(3, 4), windows=(0, 1), prox=(1e-2,), seeds=2
    )
    assert result.is_complete
    assert all(row.layerwise_gap.mean > 0.01 for row in result.depths)
