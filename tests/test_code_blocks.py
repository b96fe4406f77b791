"""Python in the README and on the pages runs, and commands there name options that exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from page_blocks import (
    add_torch_names,
    commands,
    planted_names,
    python_blocks,
    served_addresses,
    write_files,
)
from unweave.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = typer.main.get_command(app)
WITH_PYTHON = [page for page in PAGES if python_blocks(page.read_text(encoding="utf-8"))]


def run_page(text: str, name: str, folder: Path) -> int:
    """Run all blocks of a page in turn, in one namespace as a reader would; gives the number of those that ran."""
    names = planted_names()
    write_files(folder, names)
    blocks = [block for block in python_blocks(text) if not block.needs]
    if any(re.search(r"\b(torch_module|data)\b", block.code) for block in blocks):
        add_torch_names(names)
    with served_addresses() as addresses:
        for block in blocks:
            code = block.code
            for written, address in addresses.items():
                code = code.replace(written, address)
            # Lines are those of the page, so that a traceback leads there.
            exec(compile("\n" * block.line + code, name, "exec"), names)
    return len(blocks)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which a reader works."""
    import matplotlib as mpl

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKEN", "a key")
    mpl.use("Agg")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_python_run(page: Path, reader: Path) -> None:
    assert run_page(page.read_text(encoding="utf-8"), page.name, reader) > 0 or page.name in NOTHING_RUNS


# Pages all of whose blocks need what no test has.
NOTHING_RUNS = ("feature-correction-figures.md",)


def test_a_block_that_fails_is_noticed(reader: Path) -> None:
    page = "text\n\n```python\nanswer = model.predict(np.zeros((2, 20)))\n```\n\n```python\nanswer.no\n```\n"
    with pytest.raises(AttributeError) as failure:
        run_page(page, "page.md", reader)
    assert failure.traceback[-1].lineno == 7


def test_a_block_that_needs_more_is_left_out(reader: Path) -> None:
    page = "<!-- needs: a telescope -->\n```python\nlook()\n```\n\n```python\nseen = 1\n```\n"
    assert run_page(page, "page.md", reader) == 1


def wrong_words(words: list[str]) -> list[str]:
    """Commands and options in the words of a command line that there are not."""
    command: Any = COMMAND
    known, left = {"--help", "-h"}, list(words)
    while True:
        known |= {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        inside = getattr(command, "commands", None)
        if inside is None:
            break
        # Options of a group come before its command, with their values.
        place = next((place for place, word in enumerate(left) if word in inside), None)
        if place is None:
            return [word for word in left if not word.startswith("-")][:1] or sorted(set(left) - known)
        command, left = inside[left[place]], left[:place] + left[place + 1 :]
    return sorted({word.split("=")[0] for word in left if re.match(r"--?[a-z]", word)} - known)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_have_options_that_exist(page: Path) -> None:
    asked = commands(page.read_text(encoding="utf-8"))
    assert [(words, wrong) for words in asked if (wrong := wrong_words(words))] == []


def test_commands_are_found_and_wrong_ones_noticed() -> None:
    text = "```sh\n.venv/bin/pip install . && .venv/bin/unweave demo\nunweave learn relu a.csv --no-such  # why\n```\n"
    assert commands(text) == [["demo"], ["learn", "relu", "a.csv", "--no-such"]]
    assert [wrong_words(words) for words in commands(text)] == [[], ["--no-such"]]
    assert wrong_words(["identify", "m.onnx", "--box", "-1", "1", "--out", "run/"]) == []
    assert wrong_words(["recognise", "m.onnx"]) == ["recognise"]
