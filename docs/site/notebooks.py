"""Executed notebooks as pages in Markdown, so that their links are checked and searched like those of other pages."""

import html
import json
from pathlib import Path
from typing import Any

DOWNLOAD = '\n[Notebook]({name}){{ .md-button download="{name}" }}\n'


def page(notebook: Path) -> str:
    """Write a notebook as a page: text as it is, code, and what it printed and drew."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n".join(map(_cell, cells)) + DOWNLOAD.format(name=notebook.name)


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source + "\n"
    return _fenced(source, "python") + "".join(map(_output, cell["outputs"]))


def _output(output: dict[str, Any]) -> str:
    """What a cell has printed, drawn or ended with."""
    if output["output_type"] == "stream":
        return _fenced("".join(output["text"]).rstrip("\n"), "text", kind="output")
    if output["output_type"] == "error":
        raise ValueError(f"the notebook holds an error: {output['ename']}: {output['evalue']}")
    data = output["data"]
    if "image/png" in data:
        words = html.escape("".join(data["text/plain"]), quote=True)
        picture = "".join(data["image/png"]).replace("\n", "")
        return f'\n<img alt="{words}" src="data:image/png;base64,{picture}">\n\n'
    return _fenced("".join(data["text/plain"]), "text", kind="output")


def _fenced(text: str, language: str, *, kind: str = "") -> str:
    """A block of code or of output."""
    fence = "````" if "```" in text else "```"
    head = f"{{ .{language} .{kind} }}" if kind else language
    return f"\n{fence} {head}\n{text}\n{fence}\n"
