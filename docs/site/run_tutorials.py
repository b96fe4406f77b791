"""Execute the notebooks of the tutorials, and keep what they print and draw.

python docs/site/run_tutorials.py              # all of them, in place
python docs/site/run_tutorials.py theorist     # one of them
python docs/site/run_tutorials.py --check      # change nothing; fail where words are others than those that are kept
"""

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).parents[1] / "tutorials"
NUMBER = re.compile(r"[-+]?(?:\d[\d,_]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
CELL_SECONDS = 300


def executed(notebook: Path, folder: Path) -> Any:
    """Run a notebook in a folder, where it may write files."""
    cells = nbformat.read(notebook, as_version=4)
    # Kernels show pictures, whatever backend others are told to take.
    os.environ.pop("MPLBACKEND", None)
    NotebookClient(cells, timeout=CELL_SECONDS, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in cells.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = _settled(cell.outputs)
    cells.metadata["language_info"] = {"name": "python"}
    return cells


def _settled(outputs: list[Any]) -> list[Any]:
    """Outputs without what depends on chance: into how many messages a text was divided."""
    settled: list[Any] = []
    for output in outputs:
        if output.output_type == "stream" and settled and settled[-1].get("name") == output.name:
            settled[-1].text += output.text
        else:
            settled.append(output)
    return settled


def words(cells: Any) -> list[list[str]]:
    """What every cell printed, with all numbers alike, and the kinds of everything else that it gave."""
    return [[_words_of(output) for output in cell.outputs] for cell in cells.cells if cell.cell_type == "code"]


def _words_of(output: Any) -> str:
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    return f"{output.output_type}: {NUMBER.sub('#', text)}"


def check(notebook: Path, folder: Path) -> list[str]:
    """Run a notebook, and say which of its cells give other words than those that are kept."""
    kept, now = words(nbformat.read(notebook, as_version=4)), words(executed(notebook, folder))
    return [
        f"{notebook.name}, code cell {place}: kept {before}, now {after}"
        for place, (before, after) in enumerate(zip(kept, now, strict=True), 1)
        if before != after
    ]


def keep(notebook: Path, folder: Path) -> None:
    """Run a notebook and keep it."""
    cells = executed(notebook, folder)
    notebook.write_text(json.dumps(cells, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def main() -> int:
    """Run some or all notebooks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="without .ipynb; all if omitted")
    parser.add_argument("--check", action="store_true", help="compare, and change nothing")
    asked = parser.parse_args()
    notebooks = sorted(TUTORIALS.glob("*.ipynb"))
    differences: list[str] = []
    for notebook in (each for each in notebooks if not asked.names or each.stem in asked.names):
        with tempfile.TemporaryDirectory() as folder:
            if asked.check:
                differences += check(notebook, Path(folder))
            else:
                keep(notebook, Path(folder))
    sys.stdout.write("\n".join([*differences, ""]))
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
