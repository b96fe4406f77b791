"""From what commands have written to a page: any folder of a run, or a file with a document of a measurement."""

import json
from pathlib import Path

from unweave.exceptions import UnreadableFile
from unweave.folders import read_file
from unweave.reports.files import MEASUREMENTS, SETTINGS, read_document, read_run
from unweave.reports.html.audits import audit_page
from unweave.reports.html.corrections import correction_page
from unweave.reports.html.landscapes import activations_page, landscape_page, phase_diagram_page, trainings_page
from unweave.reports.html.origin import Origin
from unweave.reports.html.page import Page
from unweave.reports.html.results import result_page
from unweave.reports.measurements import read_measurement
from unweave.writing import Document

PAGES = {
    "landscape": landscape_page,
    "phase diagram": phase_diagram_page,
    "training curves": trainings_page,
    "activation curves": activations_page,
    "audit": audit_page,
}


def page_of(folder: Path) -> Page:
    """Make the page of whatever a folder holds.

    Raises:
        UnreadableFile: if it holds nothing of Unweave, or something that is damaged.
    """
    if not folder.is_dir():
        raise UnreadableFile(f"no run at {folder}: there is no such folder, check the path.")
    if not (folder / SETTINGS).exists() and (page := _correction(folder)) is not None:
        return page
    if any((folder / name).exists() for name in MEASUREMENTS.values()):
        held = read_measurement(folder)
        origin = Origin.of_run(held.settings, held.environment, held.files)
        return PAGES[held.document["kind"]](held.document, origin)
    run = read_run(folder)
    # A folder that was written from Python may have been given none.
    settings = run.settings or run.result.settings
    return result_page(run.result, Origin.of_run(settings, run.environment, run.files))


def _correction(folder: Path) -> Page | None:
    """Make the page of a measurement of feature correction; None if the folder holds none."""
    # Imported here, because its statistics take longer than the page.
    from unweave.explore.feature_correction.result import NUMBERS
    from unweave.explore.feature_correction.store import CONFIGURATION

    if not (folder / NUMBERS).exists():
        return None
    document = read_document(folder / NUMBERS, kind="feature correction")
    return correction_page(document, Origin(folder.name, settings=_object_in(folder / CONFIGURATION)))


def _object_in(path: Path) -> Document:
    """Read settings from a file; none if they can't be read."""
    try:
        held = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}
