"""Whole measurements of what users have: datasets, other optimisers, transformers, devices, workers, and stops."""

import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import unweave
from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.runner import MeasurementProgress
from unweave.jobs import LocalProcesses


@pytest.fixture
def given() -> ModuleType:
    import correction_datasets

    return correction_datasets


def measured(given: ModuleType, model: Any, data: Any, **changed: Any) -> unweave.FeatureCorrection:
    return unweave.measure_feature_correction(model, data, **given.QUICK | changed)


class Immediately(Executor):
    """An executor that is none of Python's own: it runs at once."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_datasets_give_the_table_of_their_arrays(given: ModuleType, seed: int) -> None:
    wanted = {"prox": (1e-3, 1e-2), "recipe": given.ADAM}
    tables = [
        given.told(measured(given, given.convolutions(), data, **wanted))
        for data in (given.small_images(seed), given.tensor_datasets(seed))
    ]
    assert tables[0] == tables[1]


def test_a_loader_says_how_many_rows_a_step_has(given: ModuleType, seed: int) -> None:
    train, test = given.tensor_datasets(seed)
    loaders = given.loader(train, batch_size=8, shuffle=True), given.loader(test, batch_size=20)
    tables = []
    for data, batch in ((loaders, 40), ((train, test), 8), ((train, test), 40)):
        recipe = given.Recipe(epochs=1, batch=batch)
        tables.append(given.told(measured(given, given.convolutions(), data, recipe=recipe)))
    assert tables[0] == tables[1] != tables[2]


@pytest.mark.parametrize("stop", [1, 3, 4])
def test_a_run_that_was_stopped_within_a_training_goes_on_there(
    stop: int, given: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int
) -> None:
    monkeypatch.setattr("unweave.explore.feature_correction.torch_subject.CHECKPOINT_RULES", given.ALWAYS)
    monkeypatch.setattr(given, "STEPS", {"done": 0, "stop": 0})
    data = given.Jittered(seed), given.Jittered(seed, is_test=True)

    def run(folder: Path) -> unweave.FeatureCorrection:
        settings = {"recipe": given.ADAM, "prepare_train": given.counted, "folder": folder}
        return measured(given, given.Dropping(), data, units=("0",), **settings | {"windows": (), "prox": ()})

    whole, steps = run(tmp_path / "whole"), given.STEPS["done"]
    given.STEPS |= {"done": 0, "stop": stop}
    with pytest.raises(given.Killed):
        run(tmp_path / "stopped")
    assert given.told(run(tmp_path / "stopped")) == given.told(whole)
    # The step at which it was stopped is done again, and no other.
    assert given.STEPS["done"] == steps + 1
    assert not list((tmp_path / "stopped" / "trainings").glob("*halfway*"))


def test_time_that_is_over_within_a_training_loses_nothing(given: ModuleType, tmp_path: Path, seed: int) -> None:
    def run(**changed: Any) -> unweave.FeatureCorrection:
        return measured(given, given.convolutions(), given.small_images(seed), **changed)

    def told_and_slow(_: Any, inputs: Any, *__: object) -> Any:
        time.sleep(0.01)
        return inputs

    settings: dict[str, Any] = {"prepare_train": told_and_slow, "recipe": given.Recipe(epochs=5, batch=20)}
    short = run(folder=tmp_path, seconds=0.05, **settings)
    assert short.missing
    assert list((tmp_path / "trainings").glob("*halfway*"))
    assert given.told(run(folder=tmp_path, **settings)) == given.told(run(**settings))


def test_progress_tells_totals_and_what_is_left(given: ModuleType, seed: int) -> None:
    seen: list[MeasurementProgress] = []
    began = time.monotonic()
    measured(given, given.convolutions(), given.small_images(seed), seeds=3, on_progress=seen.append)
    seconds = time.monotonic() - began
    assert {each.total for each in seen} == {12}
    assert [each.done for each in seen] == list(range(13))
    assert seen[0].seconds_left is None
    assert seen[-1] == MeasurementProgress("done", 12, 12, 0.0)
    assert all(each.seconds_left is not None and 0 < each.seconds_left < 20 * seconds for each in seen[1:-1])


@pytest.mark.parametrize("kind", ["immediately", "threads"])
@pytest.mark.parametrize("has_folder", [False, True])
def test_executors_give_the_same_table(
    kind: str, has_folder: bool, given: ModuleType, tmp_path: Path, seed: int
) -> None:
    import torch

    def run(**changed: Any) -> unweave.FeatureCorrection:
        model = torch.nn.Sequential(*list(given.Dropping())[:-1], torch.nn.Linear(16, 5), torch.nn.Linear(5, 3))
        wanted = {"depths": None, "units": ("0", "5"), "seeds": 2, **changed}
        return measured(given, model, given.small_images(seed), **wanted)

    executor = Immediately() if kind == "immediately" else ThreadPoolExecutor(2)
    with executor:
        there = run(workers=executor, folder=tmp_path if has_folder else None)
    assert there.is_complete
    assert given.told(there) == given.told(run())


@pytest.mark.slow
def test_processes_give_the_same_table_though_one_is_killed(given: ModuleType, tmp_path: Path, seed: int) -> None:
    data, seen = given.tensor_datasets(seed), []

    def run(folder: Path, prepare: Any, **changed: Any) -> unweave.FeatureCorrection:
        settings = {"prepare_train": prepare, "folder": folder, **changed}
        return measured(given, given.convolutions(), data, seeds=2, **settings)

    mark = tmp_path / "mark"
    there = run(
        tmp_path / "there", given.KillsOnce(mark), workers=LocalProcesses(2), on_progress=lambda each: seen.append(each)
    )
    assert mark.exists()
    assert given.told(there) == given.told(run(tmp_path / "here", given.KillsOnce(mark)))
    assert [each.done for each in seen] == [*range(1, 9), 8]


def test_what_cannot_be_sent_is_noticed_before_any_training(given: ModuleType, seed: int) -> None:
    def local(_: Any, inputs: Any, *__: object) -> Any:
        pytest.fail("something was trained")
        return inputs

    with pytest.raises(InvalidInput, match=r"can't be: .* define them at the top of a module"):
        measured(given, given.convolutions(), given.small_images(seed), prepare_train=local, workers=LocalProcesses(2))


def test_a_cluster_is_not_sent_large_arrays(given: ModuleType, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    class Client:
        def get_executor(self) -> None:
            pytest.fail("something was sent")

    monkeypatch.setattr("unweave.explore.feature_correction.runner.MOST_SENT_BYTES", 1_000)
    with pytest.raises(InvalidInput, match="give datasets that read files"):
        measured(given, given.convolutions(), given.small_images(seed), workers=Client())


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda:99", "'cuda:99' can't be used: .*: there are cpu"),
        ("warp", "'warp' can't be used: .*: there are cpu"),
        (7.5, "7.5 can't be used"),
    ],
)
def test_devices_that_are_not_there_are_named_before_any_training(
    device: Any, message: str, given: ModuleType, seed: int
) -> None:
    with pytest.raises(InvalidInput, match=message):
        measured(
            given, given.convolutions(), given.small_images(seed), device=device,
            on_progress=lambda _: pytest.fail("it trains"),
        )  # fmt: skip


def test_a_model_that_a_device_does_not_take_is_named_before_any_training(given: ModuleType, seed: int) -> None:
    with pytest.raises(InvalidInput, match="can't be moved to the device cpu: it stays"):
        measured(given, lambda _: given.Staying(), given.small_images(seed), device="cpu")


def test_the_processor_by_its_name_is_where_models_are(given: ModuleType, seed: int) -> None:
    tables = [
        given.told(measured(given, given.convolutions(), given.small_images(seed), device=device))
        for device in (None, "cpu")
    ]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("is_batch_first", [True, False])
def test_a_transformer_with_a_class_token_and_positions_is_measured(
    is_batch_first: bool, given: ModuleType, seed: int
) -> None:
    wanted = {"depths": None, "recipe": given.ADAM}
    model = given.TokenTransformer(is_batch_first=is_batch_first)
    result = measured(given, model, given.small_images(seed), **wanted)
    assert result.is_complete
    assert result.units == ("patches", "encoder.layers.0", "encoder.layers.1")
    assert all(np.isfinite(row.train_only.mean) for row in result.depths)


def test_tokens_stay_whole_numbers(given: ModuleType, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 11, (60, 6))
    labels = (words[:, 0] > 5).astype(int)
    data = words[:40], labels[:40], words[40:], labels[40:]
    # Cut, too: what a new head reads are no whole numbers.
    assert measured(given, given.bag_of_words(), data, units=("0", "1")).is_complete


def test_a_quadratic_network_needs_arrays_and_no_device(given: ModuleType, seed: int) -> None:
    from unweave.networks.quadratic.wiring import Wiring

    wiring = Wiring(16, (2, 2), ((1,), (2,)))
    with pytest.raises(InvalidInput, match="give four arrays"):
        measured(given, wiring, given.tensor_datasets(seed))
    with pytest.raises(InvalidInput, match="leave device out"):
        measured(given, wiring, given.small_images(seed), device="cpu")
