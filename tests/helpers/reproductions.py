"""Quick forms of reproductions, run as the command runs them."""

from collections.abc import Set
from math import isfinite
from pathlib import Path

from unweave.reproduce.experiment import Scale, experiment_in
from unweave.reproduce.measured import MeasuredRows, run_experiment
from unweave.reproduce.registry import Request


def quick_run(work: str, file: str, out: Path) -> MeasuredRows:
    """The experiment of a file of a work; its pictures and files are made, too."""
    found = run_experiment(experiment_in(work, file), work, file, Request(out=out, scale=Scale.QUICK))
    assert found.is_complete
    assert found.report() is not None
    assert all(path.exists() for path in found.save(out))
    for picture, figure in found.pictures().items():
        assert figure.axes
        figure.savefig(out / picture)
    return found


def assert_finite(found: MeasuredRows, *, but: Set[str] = frozenset()) -> None:
    """All numbers of all rows are numbers, but for columns that may be infinite."""
    for row in found.rows:
        for name in set(found.experiment.columns) - but:
            assert all(map(isfinite, row.values(name))), (row.settings, name)
