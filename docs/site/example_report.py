"""The report that a tutorial links to, made by the tutorial's own code when the site is built."""

import contextlib
import io
import json
import platform
import tempfile
from pathlib import Path

REPORT = "report.html"


def report_of(notebook: Path) -> str:
    """Run the code of a notebook until it has written its report.

    Raises:
        FileNotFoundError: if it never does.
    """
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code" and not Path(REPORT).exists():
                exec("".join(cell["source"]), names)
        page = Path(REPORT).read_text(encoding="utf-8")
    # Of the machine that it was made on, a page that everybody reads names no more than the kind.
    return page.replace(platform.platform(), f"{platform.system()} {platform.machine()}")
