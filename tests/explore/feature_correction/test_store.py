from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.explore.feature_correction.plan import Kind, Training
from unweave.explore.feature_correction.records import Record
from unweave.explore.feature_correction.store import FolderStore, MemoryStore, Store
from unweave.explore.feature_correction.subjects import TrainedModel
from unweave.folders import PREFIX
from unweave.seals import UNSEALED, seal_tensors

TRAINING = Training(Kind.ONLY, seed=3, depth=2, length=2)
RECORD = Record(0.1 + 0.2, None, (0.5, 1 / 3), (), float("nan"), None, 1.5)
CONFIGURATION = {"model": "m", "recipe": {"epochs": 3}}


def trained(seed: int) -> TrainedModel:
    rng = np.random.default_rng(seed)
    arrays = {"conv.weight": rng.standard_normal((2, 3)).astype(np.float32), "norm.num_batches_tracked": np.array(7)}
    return TrainedModel({"conv": arrays}, rng.standard_normal((4, 2)), np.zeros((0, 2)), rng.standard_normal((5, 3)))


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else FolderStore.open(tmp_path / "new", CONFIGURATION)


def test_what_is_kept_comes_back_bit_by_bit(store: Store, seed: int) -> None:
    assert store.record(TRAINING) is None
    store.keep(TRAINING, RECORD, trained(seed), is_needed=True)
    assert repr(store.record(TRAINING)) == repr(RECORD)
    found, given = store.trained(TRAINING), trained(seed)
    for name, array in given.weights["conv"].items():
        assert np.array_equal(found.weights["conv"][name], array)
        assert found.weights["conv"][name].dtype == array.dtype
        assert found.weights["conv"][name].shape == array.shape
    assert np.array_equal(found.features, given.features)
    assert found.validation_outputs.shape == (0, 2)


def test_other_trainings_are_not_confused(store: Store, seed: int) -> None:
    store.keep(TRAINING, RECORD, trained(seed), is_needed=False)
    for other in (replace(TRAINING, seed=4), replace(TRAINING, depth=1), replace(TRAINING, kind=Kind.JOINT)):
        assert store.record(other) is None


def test_a_folder_goes_on_with_the_same_settings(tmp_path: Path, seed: int) -> None:
    FolderStore.open(tmp_path, CONFIGURATION).keep(TRAINING, RECORD, trained(seed), is_needed=True)
    assert FolderStore.open(tmp_path, dict(CONFIGURATION)).record(TRAINING) is not None


def test_a_folder_of_other_settings_is_refused_by_their_names(tmp_path: Path) -> None:
    FolderStore.open(tmp_path, CONFIGURATION)
    with pytest.raises(
        InvalidInput, match=r"other settings \(recipe\); recipe is {'epochs': 3} there and {'epochs': 4}"
    ):
        FolderStore.open(tmp_path, CONFIGURATION | {"recipe": {"epochs": 4}})


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InvalidInput, match="left alone"):
        FolderStore.open(tmp_path, CONFIGURATION)
    with pytest.raises(InvalidInput, match="left alone"):
        FolderStore.open(tmp_path / "thesis.tex", CONFIGURATION)


def test_what_was_being_written_does_not_count(tmp_path: Path, seed: int) -> None:
    store = FolderStore.open(tmp_path, CONFIGURATION)
    store.keep(TRAINING, RECORD, trained(seed), is_needed=False)
    (done,) = (tmp_path / "trainings").glob("*.json")
    done.rename(done.with_name(f"{PREFIX}1-abc-{done.name}"))
    assert store.record(TRAINING) is None


def test_damaged_files_are_named(tmp_path: Path, seed: int) -> None:
    store = FolderStore.open(tmp_path, CONFIGURATION)
    store.keep(TRAINING, RECORD, trained(seed), is_needed=True)
    for path in (tmp_path / "trainings").iterdir():
        path.write_text("{}")
    with pytest.raises(UnreadableFile, match="not the record of a training"):
        store.record(TRAINING)
    with pytest.raises(UnreadableFile, match="can't be read"):
        store.trained(TRAINING)


def test_a_run_that_was_killed_before_its_first_file_goes_on(tmp_path: Path, seed: int) -> None:
    (tmp_path / "trainings").mkdir()
    (tmp_path / f"{PREFIX}1-abc-configuration.json").write_text("{")
    store = FolderStore.open(tmp_path, CONFIGURATION)
    store.keep(TRAINING, RECORD, trained(seed), is_needed=True)
    for path in (tmp_path / "trainings").iterdir():
        path.unlink()
    (tmp_path / "trainings").rmdir()
    again = FolderStore.open(tmp_path, CONFIGURATION)
    again.keep(TRAINING, RECORD, trained(seed), is_needed=True)
    assert again.record(TRAINING) is not None


@pytest.mark.parametrize("text", ["[]", "3", "null", '{"score": "x"}', RECORD.as_json().replace("1.5", "[1.5]")])
def test_foreign_records_are_named(text: str, tmp_path: Path, seed: int) -> None:
    store = FolderStore.open(tmp_path, CONFIGURATION)
    store.keep(TRAINING, RECORD, trained(seed), is_needed=True)
    (path,) = (tmp_path / "trainings").glob("*.json")
    path.write_text(text)
    with pytest.raises(UnreadableFile, match="not the record of a training"):
        store.record(TRAINING)
    (arrays,) = (tmp_path / "trainings").glob("*.safetensors")
    arrays.write_bytes(seal_tensors(save({"other": np.zeros(2)}, UNSEALED)))
    with pytest.raises(UnreadableFile, match="has no test_outputs"):
        store.trained(TRAINING)


def test_flipped_bits_of_kept_trainings_are_noticed(tmp_path: Path, seed: int) -> None:
    """audit B6."""
    store = FolderStore.open(tmp_path, CONFIGURATION)
    store.keep(TRAINING, RECORD, trained(seed), is_needed=True)
    for ending, read in (("json", store.record), ("safetensors", store.trained)):
        (path,) = (tmp_path / "trainings").glob(f"*.{ending}")
        whole = path.read_bytes()
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            with pytest.raises(UnreadableFile, match="remove it"):
                read(TRAINING)
        path.write_bytes(whole)


def test_two_stores_of_one_folder_do_not_disturb_each_other(tmp_path: Path, seed: int) -> None:
    """audit B6: a fixed temporary name gave 40 `FileNotFoundError` in 4,000 writes."""
    stores = [FolderStore.open(tmp_path, CONFIGURATION) for _ in range(2)]
    model = trained(seed)

    def keep(store: FolderStore) -> None:
        for _ in range(40):
            store.keep(TRAINING, RECORD, model, is_needed=True)
            assert store.record(TRAINING) is not None

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(keep, store) for store in stores]:
            done.result()
    assert len(list((tmp_path / "trainings").iterdir())) == 2


def test_a_configuration_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "configuration.json").write_text("[1]")
    with pytest.raises(InvalidInput, match="other settings"):
        FolderStore.open(tmp_path, CONFIGURATION)
