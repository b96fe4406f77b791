"""The site: every public name is on it, equations lead to functions that exist, and it builds without a warning."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import unweave
import unweave.learn

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.ipynb"))
# Pages about one method, each with a table of at least five functions: one that was lost is noticed.
METHODS = """
    shallow-identification walks deep-identification deep-reference lowest-layer-queries imprecise-answers
    hermite-moments relu-from-samples lowest-layer quadratic-training overparameterized-training hierarchical-learning
    feature-correction
"""


def site_module(name: str) -> ModuleType:
    """A module of `docs/site`, whose neighbours it imports by their bare names."""
    sys.path.insert(0, str(DOCS / "site"))
    try:
        spec = importlib.util.spec_from_file_location(name, DOCS / "site" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(DOCS / "site"))
    return module


NAMES = site_module("names")


def test_every_public_name_is_in_the_reference() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    shown = re.findall(r"^::: (\S+)$", pages, flags=re.MULTILINE)
    public = [f"unweave.{name}" for name in unweave.__all__] + [
        f"unweave.learn.{name}" for name in unweave.learn.__all__
    ]
    assert sorted(shown) == sorted(public)


def named_functions(text: str) -> list[str]:
    return [name for name in re.findall(r"`([^`\n]+)`", text) if NAMES.DOTTED.fullmatch(name)]


HEADING = "\n## Equations and functions\n"


def equations(text: str) -> list[str]:
    """The rows of the table of equations of a page, without its head."""
    section = text.split(HEADING)[1].split("\n## ")[0]
    return [line for line in section.split("\n") if line.startswith("|")][2:]


def rows_without_code(text: str) -> list[str]:
    """Equations that lead nowhere: to no function, or to one that is not there."""
    return [row for row in equations(text) if not (named := named_functions(row)) or not all(map(NAMES.exists, named))]


@pytest.mark.parametrize("page", METHODS.split())
def test_equations_lead_to_functions(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert len(equations(text)) >= 5
    assert rows_without_code(text) == []


def test_a_row_that_leads_nowhere_is_noticed() -> None:
    good = "| (1) | `unweave.numerics.matrix_subspace.MatrixSubspace.error` |"
    bad = ["| (2) | a function |", "| (3) | `unweave.numerics.matrix_subspace.no_such` |"]
    text = "\n".join([HEADING, "| equation | code |", "| --- | --- |", good, *bad, "", "## Next", "| (4) | none |"])
    assert equations(text) == [good, *bad]
    assert rows_without_code(text) == bad


def cited_numbers(row: str) -> list[str]:
    """What a row cites of a work: numbers of equations as `(4.27)`, theorems as `Thm. 2.1` of a name in brackets."""
    return re.findall(r"`(\(\d+\.\d+\))`", row) + re.findall(r"\[[a-z]+, ([^],]+)", row)


def documented(name: str) -> str:
    """What is written about a dotted name: its own docstring, and those of what it is defined in."""
    module, inside = NAMES.split_name(name)
    owner: Any = importlib.import_module(module)
    texts = [owner.__doc__ or ""]
    for part in inside:
        owner = getattr(owner, part)
        texts.append(owner.__doc__ or "")
    return "\n".join(texts)


def uncited_rows(text: str) -> list[str]:
    """Rows with a number of a work that no function of theirs names: the way back from the code is missing."""
    cited = [(row, cited_numbers(row)) for row in equations(text)]
    return [
        row
        for row, numbers in cited
        if numbers and not any(number in documented(name) for number in numbers for name in named_functions(row))
    ]


@pytest.mark.parametrize("page", METHODS.split())
def test_functions_lead_back_to_equations(page: str) -> None:
    assert uncited_rows((DOCS / f"{page}.md").read_text(encoding="utf-8")) == []


def test_a_function_without_its_number_is_noticed() -> None:
    good = "| error [fiedler, SNM3] | `unweave.numerics.matrix_subspace.MatrixSubspace.error` |"
    free = "| no number | `unweave.numerics.matrix_subspace.MatrixSubspace.error` |"
    bad = [
        "| `(4.99)` | `unweave.numerics.matrix_subspace.MatrixSubspace.error` |",
        "| [fiedler, Thm. 9.9] | `unweave.numerics.matrix_subspace.MatrixSubspace.error` |",
    ]
    assert uncited_rows("\n".join([HEADING, "| equation | code |", "| --- | --- |", good, free, *bad])) == bad


def test_every_table_of_equations_is_looked_at() -> None:
    with_table = {path.stem for path in DOCS.rglob("*.md") if HEADING in path.read_text(encoding="utf-8")}
    assert with_table == set(METHODS.split())


def test_every_table_of_equations_is_one_click_from_the_theory() -> None:
    page = (DOCS / "theory.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([\w-]+)\.md", page))
    assert set(METHODS.split()) <= linked
    assert "theory.md" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")


def test_names_are_told_from_others() -> None:
    assert NAMES.exists("unweave.numerics.matrix_subspace.MatrixSubspace.error")
    assert NAMES.exists("unweave.Result")
    assert not NAMES.exists("unweave.numerics.matrix_subspace.no_such")
    assert not NAMES.exists("unweave.no_such_module")
    assert NAMES.named_module("numerics/matrix_subspace.py") == "unweave.numerics.matrix_subspace"
    assert NAMES.named_module("identification/poles/") == "unweave.identification.poles"
    assert NAMES.named_module("benchmarks/peers.py") is None
    assert NAMES.shown_path("unweave.identification.poles") == "identification/poles/"


def test_the_bibliography_holds_every_work() -> None:
    bibliography = site_module("bibliography")
    page = bibliography.page()
    assert all(f"## {key} {{#work-{key}}}" in page for key in bibliography.entries())
    assert "Yuji Nakatsukasa, Olivier Sète and Lloyd N. Trefethen" in page
    assert not re.search(r"\\|\{\\", page)


def cells_of(notebook: Path) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("notebook", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_are_kept_with_what_they_print(notebook: Path) -> None:
    cells = cells_of(notebook)
    assert all(cell["execution_count"] == place for place, cell in enumerate(cells, 1))
    printing = [cell for cell in cells if re.search(r"^ *print\(", "".join(cell["source"]), flags=re.MULTILINE)]
    assert all(cell["outputs"] for cell in printing)
    page = site_module("notebooks").page(notebook)
    assert all("".join(output.get("text", "")).strip() in page for cell in cells for output in cell["outputs"])


def test_notebooks_with_errors_are_refused(tmp_path: Path) -> None:
    failed = {"output_type": "error", "ename": "ValueError", "evalue": "no"}
    cell = {"cell_type": "code", "source": ["1 / 0"], "outputs": [failed]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell]}))
    with pytest.raises(ValueError, match="holds an error: ValueError"):
        site_module("notebooks").page(tmp_path / "a.ipynb")


@pytest.mark.slow
@pytest.mark.parametrize("notebook", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_say_the_same_again(notebook: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    command = [sys.executable, str(DOCS / "site" / "run_tutorials.py"), "--check", notebook.stem]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


def links_of(page: Path) -> list[str]:
    return re.findall(r'href="([^"]+)"', page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site; warnings, such as of links that lead nowhere, end the build."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return folder


def test_pages_that_the_navigation_does_not_name_stand_at_its_end() -> None:
    pytest.importorskip("mkdocs")
    named = [str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob("*.md"))]
    generated = site_module("generated")
    complete = generated.on_config(SimpleNamespace(nav=[{"Pages": list(named)}])).nav
    assert complete == [{"Pages": named}]
    assert generated.on_config(SimpleNamespace(nav=[{"Pages": named[2:]}])).nav[-1] == {"More": named[:2]}


@pytest.mark.slow
def test_an_onnx_file_is_two_clicks_from_a_report(site: Path) -> None:
    assert "tutorials/onnx-and-apis/" in links_of(site / "index.html")
    assert "../onnx-report.html" in links_of(site / "tutorials" / "onnx-and-apis" / "index.html")
    assert "<title>" in (site / "tutorials" / "onnx-report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("page", METHODS.split())
def test_equations_are_one_click_from_their_code(site: Path, page: str) -> None:
    named = named_functions((DOCS / f"{page}.md").read_text(encoding="utf-8").split("## Equations and functions")[1])
    links = {link.partition("#")[2]: link for link in links_of(site / page / "index.html") if "#unweave." in link}
    assert set(named) <= links.keys()
    for name in named:
        target = (site / page / links[name].partition("#")[0] / "index.html").resolve()
        assert f'id="{name}"' in target.read_text(encoding="utf-8")


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in (site / "index.html", site / "reference" / "identify" / "index.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="https?://[^"]*"', text) == []
