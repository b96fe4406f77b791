"""`unweave verify`: whether a recovered network is the true one."""

from pathlib import Path
from typing import Annotated

import typer

from unweave.cli.console import IDENTIFIED, NOT_IDENTIFIED, TOLERANCE, AsJson, show, show_json
from unweave.exceptions import InvalidInput
from unweave.writing import envelope


def verify(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or a saved network file.")],
    against: Annotated[Path, typer.Option(metavar="FILE", help="The true network: a file, or another run.")],
    tolerance: Annotated[float, typer.Option(help="Largest relative error of a parameter.")] = TOLERANCE,
    as_json: AsJson = False,
) -> None:
    """Compare a recovered network with the true one, up to the symmetries that no answer can tell."""
    if not 0.0 <= tolerance < float("inf"):
        raise InvalidInput(f"verify needs a tolerance of at least 0, got {tolerance}.")
    from unweave.reports.comparison import compare, match_document, verify_report
    from unweave.reports.files import read_network

    recovered, truth = read_network(folder), read_network(against)
    if truth is None:
        raise InvalidInput(f"the run {against} holds no network: compare with another one.")
    found = None if recovered is None else compare(recovered, truth)
    is_same = found is not None and found.largest_error <= tolerance
    if as_json:
        show_json(envelope("verification") | {"is_same": is_same, "tolerance": tolerance} | match_document(found))
    else:
        show(verify_report(found, tolerance=tolerance))
    raise typer.Exit(IDENTIFIED if is_same else NOT_IDENTIFIED)
