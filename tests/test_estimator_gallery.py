"""The page on choosing an estimator: all are on it, each with a small picture and the numbers that were measured."""

import importlib.util
import inspect
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import unweave.learn
from late import LateModule, sklearn

DOCS = Path(__file__).parents[1] / "docs"


@cache
def made() -> ModuleType:
    """The module that makes it: it imports scikit-learn and matplotlib."""
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


Image = LateModule("PIL.Image")
PICTURES = sorted((DOCS / "which-estimator").glob("*.png"))


def test_every_estimator_is_shown() -> None:
    public = [getattr(unweave.learn, name) for name in unweave.learn.__all__]
    shown = set(made().read_estimators())
    base = sklearn.base.BaseEstimator
    assert shown == {each.__name__ for each in public if inspect.isclass(each) and issubclass(each, base)}
    assert {path.stem for path in PICTURES} == shown


def test_the_page_is_that_of_the_files() -> None:
    written = (DOCS / "which-estimator.md").read_text(encoding="utf-8")
    assert written == made().page(made().read_estimators(), made().read_found()), (
        "python docs/make_estimator_gallery.py"
    )


@pytest.mark.parametrize("name", [picture.stem for picture in PICTURES])
def test_scores_are_of_all_splits_of_all_tables_of_its_kind(name: str) -> None:
    make, found = made(), made().read_found()
    tasks = make.tasks_of(make.estimator(name, make.read_estimators()[name]))
    assert len(tasks) >= 3
    for model in (name, *make.rivals(make.TASKS[tasks[0]].score)):
        assert [len(found[model][task]) for task in tasks] == [make.SPLITS.get_n_splits()] * len(tasks)


def test_the_best_other_one_is_compared_split_by_split() -> None:
    found = {rival: {"diabetes": [0.1, 0.2]} for rival in made().rivals("R2")}
    found |= {"ridge": {"diabetes": [0.2, 0.6]}, "Mine": {"diabetes": [0.3, 0.5], "halfspaces": None}}
    row = made().rows_of("Mine", found)[0]
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
