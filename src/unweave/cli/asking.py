"""How commands ask a model: opened, with progress shown, and with words on what was kept if it ends early."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unweave.cli.console import Tell, query_progress
from unweave.cli.resume import removing_what_is_empty, telling_what_is_kept
from unweave.cli.targets import domain_of, oracle_of_target
from unweave.folders import made

if TYPE_CHECKING:
    from unweave.oracles.journal.oracle import Journal
    from unweave.oracles.oracle import Oracle


@contextmanager
def opened(
    target: str,
    settings: Mapping[str, Any],
    *,
    headers: Mapping[str, str],
    journal: "Journal | None",
    out: Path | None,
    is_shown: bool,
) -> Iterator[tuple["Oracle", Tell]]:
    """Open a model, show how far it is, and say what was kept if it ends early.

    Args:
        target: that names it.
        settings: all options of the command.
        headers: for a server.
        journal: where answers are kept.
        out: folder of the run, which is made for a journal in it.
        is_shown: whether progress is.
    """
    # What a model prints must not get between the results.
    folder = made(out) if out is not None and journal is not None else nullcontext()
    is_new = journal is not None and not Path(journal.path).exists()
    with query_progress(is_shown=is_shown) as progress, redirect_stdout(sys.stderr), folder:
        domain = domain_of(settings)
        oracle = oracle_of_target(target, settings, headers=headers, domain=domain, journal=journal)
        progress.watch(oracle, neurons=settings.get("neurons"))
        with telling_what_is_kept(oracle), removing_what_is_empty(oracle, is_new=is_new):
            yield oracle, progress.tell
