"""The figures of [allenzhu] for `unweave correction --figure`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unweave.cli.console import show
from unweave.exceptions import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from unweave.reproduce.allenzhu.images.figure_results import FigureRun

PICTURE = "figure.png"


def figure_run(
    name: str,
    data: Path | None,
    out: Path | None,
    *,
    scale: dict[str, Any],
    two_classes: bool,
    seed: int,
    max_seconds: float | None,
    tell: "Callable[[str, int], None]",
) -> "FigureRun":
    """Run the experiment of a figure on a folder of images, or a miniature of it on digits.

    Args:
        scale: sizes in place of the published ones; those that are None stay as they are.
        two_classes: whether the ten classes of CIFAR-10 become two.

    Raises:
        InvalidInput: if a folder is missing.
    """
    from unweave.explore.feature_correction.image_data import load_images
    from unweave.explore.feature_correction.torch_extra import need_torch
    from unweave.reproduce.allenzhu.images.configurations import figure_configuration

    need_torch()
    configuration = figure_configuration(name)
    smaller = {word: value for word, value in scale.items() if value is not None}
    if out is None:
        raise InvalidInput("--figure needs --out, the folder in which its trainings are kept.")
    if data is None and not smaller:
        raise InvalidInput(
            "--figure needs --data, a folder of images; or make it a miniature, which runs on digits, by --width, "
            "--layers, --epochs, --batch, --images, --prox or --seeds."
        )
    if smaller:
        configuration = configuration.scaled(**smaller)
    from unweave.reproduce.allenzhu.images.costs import cost_of
    from unweave.reproduce.allenzhu.images.figures import run_figure
    from unweave.reproduce.allenzhu.images.image_sets import as_two_classes, digit_images

    images = digit_images() if data is None else load_images(data)
    images = as_two_classes(images) if two_classes else images
    if not configuration.is_miniature:
        cost = cost_of(configuration)
        typer.echo(f"{name}: {cost.trainings} trainings, about {cost.gpu_hours:.2g} hours of a V100", err=True)
    return run_figure(configuration, images, out, seed=seed, max_seconds=max_seconds, on_progress=tell)


def deliver_figure(run: "FigureRun", out: Path, *, as_json: bool) -> None:
    """Print the figure's numbers, and write them and its picture.

    Raises:
        InvalidInput: if the folder cannot be written.
    """
    from unweave.reports.correction import report
    from unweave.reproduce.allenzhu.images.figure_results import CorrectionTables

    written = run.save(out)
    if as_json:
        typer.echo(written[0].read_text(encoding="utf-8").rstrip())
    elif isinstance(run.result, CorrectionTables):
        for name, table in run.result.tables.items():
            typer.echo(f"{run.name}, {name}: {run.label}, on {run.source}")
            show(report(table))
    else:
        typer.echo(f"{run.name}: {run.label}, on {run.source}")
        typer.echo("not complete" if run.result is None else json.dumps(run.result.as_json(), indent=2))
    if not as_json:
        for note in run.notes:
            typer.echo(note)
        typer.echo(f"Numbers and pictures are in {out}", err=True)
    try:
        _draw(run, out)
    except OSError as error:
        raise InvalidInput(f"the picture could not be written to {out}: {error}.") from error


def _draw(run: "FigureRun", out: Path) -> None:
    from unweave.reports.pictures.correction import draw_feature_correction
    from unweave.reproduce.allenzhu.images.figure_results import CorrectionTables
    from unweave.reproduce.allenzhu.images.pictures import draw_figure

    if run.result is None:
        return
    if not isinstance(run.result, CorrectionTables):
        draw_figure(run).savefig(out / PICTURE, dpi=150)
        return
    for number, table in enumerate(run.result.tables.values(), start=1):
        name = PICTURE if len(run.result.tables) == 1 else f"figure-{number}.png"
        draw_feature_correction(table).savefig(out / name, dpi=150)
