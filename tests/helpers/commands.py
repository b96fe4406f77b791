"""How tests run commands: in this process, with their exit codes checked."""

import json
from typing import Any

import pytest

from unweave.cli import run


def output(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> tuple[str, str]:
    """Run the command, check its exit code and return what it wrote to stdout and stderr."""
    result = run(list(arguments))
    captured = capsys.readouterr()
    assert result == code, captured
    return captured.out, " ".join(captured.err.split())


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> Any:
    """The JSON that the command writes."""
    return json.loads(output(capsys, *arguments, "--json", code=code)[0])
