"""A measurement of feature correction as tables for the terminal, and as files with a picture."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from unweave.explore.feature_correction.result import cell, percent
from unweave.folders import write_file
from unweave.reports import text

if TYPE_CHECKING:
    from unweave.explore.feature_correction.result import FeatureCorrection
    from unweave.explore.feature_correction.statistics import Scores

PICTURE = "correction.png"


def report(result: "FeatureCorrection") -> RenderableType:
    """Verdicts first, then scores, then correlations."""
    parts: list[RenderableType] = [verdicts(result)]
    parts.append(_table(result, f"{result.score_name}, %", result.rows, factor=100, decimals=1))
    parts.append(_table(result, "correlation", result.correlation_rows, factor=1, decimals=2))
    full = f"Whole model from random weights: {cell(result.full, 100, 1)} %"
    if result.full_ensemble is not None and len(result.seeds) > 1:
        full += f", answers of all seeds averaged: {100 * result.full_ensemble:.1f} %"
    added = ", ".join(percent(gap) for gap in result.gap_by_depth)
    gaps = f"Information gap: training only so many units, depth after depth adds {added} points."
    words = [f"{full}.", gaps, *(words for row in result.depths for words in row.sentences), *result.notes]
    return text.spaced([*parts, Text("\n".join(words))])


def verdicts(result: "FeatureCorrection") -> RenderableType:
    """Whether lower units need correction: one line per depth."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("depth", "unit", "correction of frozen units", "correction, layer-wise"):
        table.add_column(name)
    for row in result.depths:
        table.add_row(str(row.depth), Text(row.unit), Text(row.verdict), Text(row.layerwise_verdict))
    return table


def save_with_picture(result: "FeatureCorrection", folder: str | Path) -> None:
    """Write JSON, text and picture to a folder.

    Raises:
        NotWritten: if the folder can't be written.
    """
    from unweave.reports.pictures.correction import draw_feature_correction

    result.save(folder)
    drawn = BytesIO()
    draw_feature_correction(result).savefig(drawn, dpi=150, format="png")
    write_file(Path(folder) / PICTURE, drawn.getvalue())


def _table(
    result: "FeatureCorrection",
    name: str,
    rows: "list[tuple[str, list[Scores | None]]]",
    *,
    factor: float,
    decimals: int,
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(name)
    for depth in result.depths:
        table.add_column(f"l = {depth.depth}", justify="right")
    for words, values in rows:
        table.add_row(words, *(cell(value, factor, decimals) for value in values))
    return table
