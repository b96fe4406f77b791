"""The gallery: every figure that can be run is on the page, with a picture that is small and not empty."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from unweave.reproduce.registry import REPRODUCTIONS

DOCS = Path(__file__).parents[1] / "docs"
MOST_BYTES = 3_000_000
COLUMNS = {"settings": {"order": 0.5, "name": "a"}, "numbers": [{"error": 1e-3, "curve": [1.0]}, {"error": 3e-3}]}


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_gallery"] = module
    spec.loader.exec_module(module)
    return module


MAKE = load()
FIGURES, FOUND = MAKE.read_figures(), MAKE.read_found()
PICTURES = [MAKE.GALLERY / file for found in FOUND.values() for file in found["pictures"]]


def test_every_figure_is_shown() -> None:
    assert set(FIGURES) == {name for name in REPRODUCTIONS if ":figure-" in name}
    assert list(FOUND) == list(FIGURES)


def test_the_page_is_that_of_the_files() -> None:
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == MAKE.page(FIGURES, FOUND), "python docs/make_gallery.py"


def test_lines_are_of_the_form_that_commands_name() -> None:
    assert {name: found["form"] for name, found in FOUND.items()} == {
        name: MAKE.form(figure) for name, figure in FIGURES.items()
    }


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_pictures_are_small_and_not_empty(picture: Path) -> None:
    from PIL import Image

    image = Image.open(picture)
    assert image.mode == "P"
    assert min(image.size) > 120
    shades = np.asarray(image.convert("L"))
    assert np.mean(shades < 200) > 0.002
    assert picture.stat().st_size < 150_000


def test_the_gallery_is_small_and_holds_nothing_else() -> None:
    assert set(MAKE.GALLERY.glob("*.png")) == set(PICTURES)
    assert sum(path.stat().st_size for path in PICTURES) < MOST_BYTES


def test_lines_are_filled_with_ranges() -> None:
    other = {"settings": {"order": 1.0, "name": "b"}, "numbers": [{"error": 0.5}]}
    rows = MAKE.records({"result": {"rows": [COLUMNS, other]}})
    assert MAKE.told("{error}, {error @ order = 1.0}, {error @ order = 0.5 & name = a:%}, {name}", rows) == (
        "0.002 to 0.5, 0.5, 0.2 %, a, b"
    )
    with pytest.raises(ValueError, match=r"there is no \{error @ order = 2"):
        MAKE.told("{error @ order = 2}", rows)


def test_figures_on_images_are_read_wherever_numbers_are() -> None:
    score = {"values": [0.1, 0.3], "mean": 0.2, "standard_error": 0.1}
    result = {
        "net": {"depths": [{"depth": 1, "train_only": score, "fixed": {"0": score}, "unit_correlations": [score]}]}
    }
    rows = MAKE.records({"result": result})
    assert MAKE.told("{train_only @ depth = 1:%} {fixed.0}", rows) == "20.0 % 0.2"
    assert MAKE.worded([float("inf"), 1.0]) == "1 to none"


def test_commands_are_those_of_reproduce() -> None:
    assert MAKE.command("fiedler:figure-1.2", {"quick": True, "seeds": 2}) == (
        "unweave reproduce fiedler:figure-1.2 --quick --seeds 2"
    )
    assert MAKE.form({"seeds": 2}) == "usual, 2 seeds"
    assert MAKE.form({"quick": True, "seeds": 1}) == "quick, 1 seed"


def test_the_readme_and_the_navigation_lead_to_it() -> None:
    assert "docs/gallery.md" in (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert re.search(r"- Gallery: gallery\.md", (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
