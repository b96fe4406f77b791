"""The figures of [allenzhu] on images for `unweave reproduce`: from a folder to numbers, words and pictures."""

from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.image_data import load_images
from unweave.explore.feature_correction.torch_extra import need_torch
from unweave.reports import text
from unweave.reports.correction import report
from unweave.reproduce.allenzhu.images.configurations import FIGURES, Measured
from unweave.reproduce.allenzhu.images.figure_results import CorrectionTables, FigureRun, MethodTable, PhaseTables
from unweave.reproduce.allenzhu.images.miniatures import configuration_at
from unweave.reproduce.experiment import Scale
from unweave.writing import Document, as_json, for_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unweave.reproduce.registry import Request

PICTURE = "figure.png"
# Of a miniature, at least.
IMAGES_PER_CLASS = 2


@dataclass(frozen=True)
class ReproducedFigure:
    """A figure that was run, as `unweave reproduce` shows it.

    Args:
        run: what was found.
    """

    run: FigureRun

    @property
    def is_complete(self) -> bool:
        """Whether all trainings were done."""
        return self.run.is_complete

    def as_document(self) -> Document:
        """Its numbers, as a dictionary for JSON."""
        return self.run.as_document()

    def headline(self) -> Text:
        """What it is, on a line."""
        complete = "" if self.is_complete else ", not complete"
        return Text(f"{self.run.name}: {self.run.label}, on {self.run.source}{complete}")

    def report(self) -> RenderableType:
        """Its numbers in words and tables."""
        parts: list[RenderableType] = [self.headline()]
        if isinstance(self.run.result, CorrectionTables):
            for name, table in self.run.result.tables.items():
                parts += [Text(name, "bold"), report(table)]
        elif isinstance(self.run.result, PhaseTables):
            parts.append(_phases(self.run.result))
        elif isinstance(self.run.result, MethodTable):
            parts.append(_methods(self.run.result))
        elif self.run.result is not None:
            parts.append(Text(as_json(for_json(self.run.result.as_json()))))
        return text.spaced([*parts, *map(Text, self.run.notes)])

    def pictures(self) -> "dict[str, Figure]":
        """Pictures by the names of their files."""
        if self.run.result is None:
            return {}
        if not isinstance(self.run.result, CorrectionTables):
            from unweave.reproduce.allenzhu.images.pictures import draw_figure

            return {PICTURE: draw_figure(self.run)}
        tables = self.run.result.tables
        if FIGURES[self.run.name].measured is Measured.GAP:
            from unweave.reproduce.allenzhu.images.pictures import draw_gap

            return {PICTURE: draw_gap(tables)}
        if self.run.name == "figure-10":
            from unweave.reproduce.allenzhu.images.pictures import draw_unit_correlations

            return {PICTURE: draw_unit_correlations(tables)}
        from unweave.reports.pictures.correction import draw_feature_correction

        drawn = [draw_feature_correction(table) for table in tables.values()]
        if len(drawn) == 1:
            return {PICTURE: drawn[0]}
        return {f"figure-{number}.png": figure for number, figure in enumerate(drawn, start=1)}

    def save(self, folder: Path) -> tuple[Path, ...]:
        """Write its numbers."""
        return self.run.save(folder)


def _phases(found: PhaseTables) -> Table:
    """Mean accuracies over seeds, a line per network and way."""
    depths = sorted({phase.depth for phases in found.tables.values() for phase in phases})
    table = Table("network", "accuracy, %", *(f"l = {depth}" for depth in depths), box=None, pad_edge=False)
    for name in found.tables:
        for way in ("layer-wise", "joint"):
            means = {depth: 100 * fmean(each) for depth, each in found.accuracies(name, way).items()}
            table.add_row(name, way, *(f"{means[depth]:.1f}" if depth in means else "-" for depth in depths))
    return table


def _methods(found: MethodTable) -> Table:
    """Accuracies of single models and of ensembles."""
    table = Table("accuracy, %", "mean", "best", "ensemble", box=None, pad_edge=False)
    for row in found.rows:
        numbers = (fmean(row.singles), row.best, row.ensemble)
        table.add_row(row.network, *(f"{100 * each:.1f}" for each in numbers))
    return table


def run_image_figure(number: str, request: "Request") -> ReproducedFigure:
    """Run the experiment of a figure: a miniature on digits or on a folder of images, or the published size.

    Raises:
        InvalidInput: if images are missing, or torch is.
    """
    need_torch()
    if request.data is None and request.scale is Scale.FULL:
        raise InvalidInput(
            f"{number} at its published size needs --data, a folder of images: name one, or leave --full out for a "
            "miniature on digits."
        )
    configuration = configuration_at(number, request.scale, request.sizes)
    from unweave.reproduce.allenzhu.images.costs import cost_of
    from unweave.reproduce.allenzhu.images.figures import run_figure
    from unweave.reproduce.allenzhu.images.image_sets import as_two_classes, digit_images

    images = digit_images() if request.data is None else load_images(request.data)
    images = as_two_classes(images) if request.is_two_classes else images
    if configuration.images is not None and "images" not in request.sizes:
        # Miniatures are made for ten classes.
        configuration = replace(configuration, images=max(configuration.images, IMAGES_PER_CLASS * images.classes))
    if not configuration.is_miniature:
        cost = cost_of(configuration)
        request.say(f"{number}: {cost.trainings} trainings, about {cost.gpu_hours:.2g} hours of a V100")
    run = run_figure(
        configuration,
        images,
        request.out,
        seed=request.seed,
        max_seconds=request.max_seconds,
        on_progress=request.tell,
    )
    return ReproducedFigure(run)
