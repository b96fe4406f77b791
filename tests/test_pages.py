"""Pages name files that exist, and describe what results hold."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import unweave

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "unweave"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
# Pages that the site makes of references.bib and of the code, beside those of notebooks.
GENERATED = (ROOT / "docs" / "bibliography.md", ROOT / "docs" / "code" / "index.md")
# `learn/quadratic/problem.py`, `oracles/` or `docs/references.bib`, in backticks.
NAMED_PATH = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_0-9-]+\.(?:py|md|bib|json))?|[a-z_]+\.py)`")


def missing_paths(text: str) -> list[str]:
    """Paths in a text that are neither below the package nor below the repository."""
    return [path for path in NAMED_PATH.findall(text) if not ((SOURCE / path).exists() or (ROOT / path).exists())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    assert missing_paths(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_linked_pages_exist(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not is_there(page.parent / link)] == []


def is_there(path: Path) -> bool:
    """Whether a file exists, or is a page that the site makes of something that exists."""
    return path.exists() or path.with_suffix(".ipynb").exists() or path.resolve() in GENERATED


def test_missing_files_are_noticed() -> None:
    text = "see `oracles/oracle.py`, `oracles/`, `docs/references.bib`, `lost/oracle.py`, `gone.py` and `x / y`"
    assert missing_paths(text) == ["lost/oracle.py", "gone.py"]


def test_the_page_of_commands_describes_every_field_of_results() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [field.name for field in fields(unweave.Result) if f"`{field.name}`" not in page] == []
