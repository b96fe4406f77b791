"""The page on choosing an estimator: all are on it, each with a small picture and the numbers that were measured."""

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image
from sklearn.base import BaseEstimator

import unweave.learn

DOCS = Path(__file__).parents[1] / "docs"


def load() -> ModuleType:
    sys.path.insert(0, str(DOCS))
    try:
        spec = importlib.util.spec_from_file_location("make_estimator_gallery", DOCS / "make_estimator_gallery.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["make_estimator_gallery"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(DOCS))
    return module


MAKE = load()
SHOWN, FOUND = MAKE.read_estimators(), MAKE.read_found()
PICTURES = sorted(MAKE.FOLDER.glob("*.png"))


def test_every_estimator_is_shown() -> None:
    public = [getattr(unweave.learn, name) for name in unweave.learn.__all__]
    assert set(SHOWN) == {each.__name__ for each in public if inspect.isclass(each) and issubclass(each, BaseEstimator)}
    assert {path.stem for path in PICTURES} == set(SHOWN)


def test_the_page_is_that_of_the_files() -> None:
    written = (DOCS / "which-estimator.md").read_text(encoding="utf-8")
    assert written == MAKE.page(SHOWN, FOUND), "python docs/make_estimator_gallery.py"


@pytest.mark.parametrize("name", SHOWN)
def test_scores_are_of_all_splits_of_all_tables_of_its_kind(name: str) -> None:
    tasks = MAKE.tasks_of(MAKE.estimator(name, SHOWN[name]))
    assert len(tasks) >= 3
    for model in (name, *MAKE.rivals(MAKE.TASKS[tasks[0]].score)):
        assert [len(FOUND[model][task]) for task in tasks] == [MAKE.SPLITS.get_n_splits()] * len(tasks)


def test_the_best_other_one_is_compared_split_by_split() -> None:
    found = {rival: {"diabetes": [0.1, 0.2]} for rival in MAKE.rivals("R2")}
    found |= {"ridge": {"diabetes": [0.2, 0.6]}, "Mine": {"diabetes": [0.3, 0.5], "halfspaces": None}}
    row = MAKE.rows_of("Mine", found)[0]
    assert (row["rival_name"], row["task"]) == ("ridge", "diabetes")
    assert (row["own"], row["rival"], row["worst"]) == pytest.approx((0.4, 0.4, 0.3))
    assert (row["gain"], row["error"]) == pytest.approx((0.0, 0.1))


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_pictures_are_small_and_not_empty(picture: Path) -> None:
    image = Image.open(picture)
    assert image.mode == "P"
    assert np.mean(np.asarray(image.convert("L")) < 200) > 0.002
    assert picture.stat().st_size < 60_000


def test_readers_are_led_to_it() -> None:
    assert "which-estimator.md" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert "(which-estimator.md)" in (DOCS / "samples.md").read_text(encoding="utf-8")
