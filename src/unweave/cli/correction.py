"""`unweave correction`: how much lower features are corrected when the units above them train."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli.console import (
    COMPLETE,
    INCOMPLETE,
    AsJson,
    Number,
    Quiet,
    Seed,
    numbers,
    progress,
    show,
    show_json,
)
from unweave.cli.figures import deliver_figure, figure_run
from unweave.cli.imports import named_object
from unweave.exceptions import InvalidInput

if TYPE_CHECKING:
    from unweave.explore.feature_correction.result import FeatureCorrection


def correction(
    model: Annotated[
        str | None,
        typer.Option(metavar="MODULE:NAME", help="A torch module, or a function from a seed to one; else digits."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="PATH", help="An .npz file of x_train, ..., y_test, or a folder of images.")
    ] = None,
    units: Annotated[str | None, typer.Option(help="Names of submodules, lowest first: conv1,conv2.")] = None,
    depths: Annotated[str | None, typer.Option(help="Depths to look at, such as 1,2,4; all if omitted.")] = None,
    windows: Annotated[str | None, typer.Option(help="How many of the frozen units are thawed, such as 0,1,2.")] = None,
    prox: Annotated[str | None, typer.Option(help="Strengths of the pull of train-all, such as 5e-4,7e-4.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions, 5 if omitted; fewer conclude nothing.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Of every training.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Keep trainings here, and go on there.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Stop after this time, with what is done.")] = None,
    figure: Annotated[
        str | None, typer.Option(metavar="NAME", help="An experiment of Allen-Zhu and Li, such as figure-9, on --data.")
    ] = None,
    width: Annotated[float | None, typer.Option(help="Of a figure's networks, in place of the published ones.")] = None,
    layers: Annotated[int | None, typer.Option(help="Of a figure's networks, in place of the published ones.")] = None,
    batch: Annotated[int | None, typer.Option(min=2, help="Images per step, in place of the published ones.")] = None,
    images: Annotated[int | None, typer.Option(min=2, help="Of a figure's training, in place of all.")] = None,
    two_classes: Annotated[
        bool, typer.Option("--two-classes", help="CIFAR-10 as bird, cat, deer, dog and horse against the rest.")
    ] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure what freezing lower units costs, and how far joint training moves them.

    Without a model it runs an example: a small convolutional network on handwritten digits. The same command with the
    same folder goes on after it was stopped. It leaves with 0 if all trainings are done, with 4 if some are missing.
    """
    settings: dict[str, Any] = {
        "units": None if units is None else units.split(","),
        "windows": _optional_numbers(windows, int, "--windows"),
    }
    shared = {
        "depths": _optional_numbers(depths, int, "--depths"),
        "prox": _optional_numbers(prox, float, "--prox"),
        "seeds": seeds,
    }
    if figure is not None:
        if model is not None or any(value is not None for value in settings.values()):
            raise InvalidInput("a figure has its own model: leave --model, --units and --windows out.")
        scale = {"width": width, "layers": layers, "epochs": epochs, "batch": batch, "images": images} | shared
        with progress(is_shown=not quiet, unit="trainings done") as tell:
            run = figure_run(
                figure, data, out, scale=scale, two_classes=two_classes, seed=seed, max_seconds=max_seconds, tell=tell
            )
        deliver_figure(run, Path(out or "."), as_json=as_json)
        raise typer.Exit(COMPLETE if run.is_complete else INCOMPLETE)
    if two_classes or any(value is not None for value in (width, layers, batch, images)):
        raise InvalidInput(
            "--width, --layers, --batch, --images and --two-classes change a --figure: name one, or leave them out."
        )
    given = {name: value for name, value in (settings | shared).items() if value is not None}
    with progress(is_shown=not quiet, unit="trainings done") as tell:
        tell("loading", 0)
        given |= {"folder": out, "max_seconds": max_seconds, "random_state": seed, "on_progress": tell}
        # What a model prints must not get between the results.
        with redirect_stdout(sys.stderr):
            result = _measured(model, data, epochs, given)
    _deliver(result, out, as_json=as_json, quiet=quiet)
    raise typer.Exit(COMPLETE if result.is_complete else INCOMPLETE)


def _measured(
    model: str | None, data: Path | None, epochs: int | None, settings: dict[str, Any]
) -> "FeatureCorrection":
    import unweave
    from unweave.explore.feature_correction.recipes import Recipe
    from unweave.explore.feature_correction.torch_extra import need_torch

    need_torch()
    if model is None:
        if data is not None:
            raise InvalidInput("--data needs --model, the model that is trained on it: name one as module:name.")
        from unweave.explore.feature_correction.digits import (
            DIGITS_PROX,
            DIGITS_RECIPE,
            DIGITS_WINDOWS,
            DigitsNetwork,
            digits_data,
        )

        settings = {"prox": DIGITS_PROX, "windows": DIGITS_WINDOWS} | settings
        subject, samples, recipe = DigitsNetwork(), digits_data(), DIGITS_RECIPE
    else:
        if data is None:
            raise InvalidInput("--model needs --data: an .npz file of x_train, y_train, x_test and y_test.")
        subject, samples, recipe = named_object(model, name="--model"), _read(data), Recipe()
    recipe = recipe if epochs is None else recipe.shortened(epochs)
    return unweave.measure_feature_correction(subject, samples, recipe=recipe, **settings)


def _read(path: Path) -> tuple[Any, ...]:
    """Samples of an .npz file, or images of a folder as numbers from 0 to 1."""
    if path.is_dir():
        from unweave.explore.feature_correction.image_data import load_images

        return load_images(path).as_floats()
    import zipfile

    import numpy as np
    from numpy.lib.npyio import NpzFile

    from unweave.explore.feature_correction.samples import PARTS

    try:
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, NpzFile):
            raise ValueError("it holds a single array")
        with found as arrays:
            return tuple(arrays[name] for name in PARTS)
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"--data needs an .npz file with {', '.join(PARTS)}, got {path}: {error}.") from error


def _optional_numbers(words: str | None, kind: type[Number], option: str) -> tuple[Number, ...] | None:
    return None if words is None else numbers(words, kind, option)


def _deliver(result: "FeatureCorrection", out: Path | None, *, as_json: bool, quiet: bool) -> None:
    from unweave.reports.correction import report, save_with_picture, verdicts

    if as_json:
        show_json(result.as_json())
    else:
        show(verdicts(result) if quiet else report(result))
    if out is not None:
        # After the report, so that a full disk does not cost the result.
        save_with_picture(result, out)
        if not (quiet or as_json):
            typer.echo(f"Table, numbers and picture are in {out}", err=True)
