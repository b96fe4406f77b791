"""Quick forms of reproductions, run as the command runs them."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from unweave.reproduce.experiment import Row, Scale
from unweave.reproduce.measured import run_experiment
from unweave.reproduce.registry import Request


def quick_rows(file: str, out: Path) -> Sequence[Row]:
    """All rows of the experiment of a file below `reproduce`; its pictures and files are made, too."""
    experiment = import_module(f"unweave.reproduce.{file}").EXPERIMENT
    work, _, name = file.partition(".")
    request = Request(
        out=out,
        data=None,
        scale=Scale.QUICK,
        workers=None,
        sizes={},
        is_two_classes=False,
        seed=0,
        max_seconds=None,
        tell=lambda *_: None,
        say=lambda _: None,
    )
    found = run_experiment(experiment, work, name, request)
    assert found.is_complete
    assert found.report() is not None
    assert all(path.exists() for path in found.save(out))
    for picture, figure in found.pictures().items():
        figure.savefig(out / picture)
    return found.rows
