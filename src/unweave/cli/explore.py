"""`unweave correction`: what freezing lower units costs."""

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli.console import (
    AsJson,
    Quiet,
    Seed,
    Trainings,
    check_kept,
    leave_when_measured,
    optional_numbers,
    show,
    show_json,
    shown,
)
from unweave.cli.options import Scheduler
from unweave.exceptions import InvalidInput
from unweave.extras import need
from unweave.oracles.models.names import is_object, named_object

if TYPE_CHECKING:
    from unweave.explore.feature_correction.recipes import Recipe
    from unweave.explore.feature_correction.result import FeatureCorrection

# Of the first epoch, where no other is named; the usual one of Adam.
ADAM_LEARNING_RATE = 1e-3


class OptimiserName(StrEnum):
    """What makes the steps of a training."""

    SGD = "sgd"
    ADAM = "adam"
    ADAMW = "adamw"


class ScheduleName(StrEnum):
    """How the learning rate falls."""

    COSINE = "cosine"
    LINEAR = "linear"


def correction(
    model: Annotated[
        str | None,
        typer.Option(metavar="MODULE:NAME", help="A torch module, or a function from a seed to one; else digits."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="An .npz file of x_train, ..., y_test, a folder of images, or MODULE:NAME of two torch datasets.",
        ),
    ] = None,
    units: Annotated[str | None, typer.Option(help="Names of submodules, lowest first: conv1,conv2.")] = None,
    depths: Annotated[str | None, typer.Option(help="Depths to look at, such as 1,2,4; all if omitted.")] = None,
    windows: Annotated[str | None, typer.Option(help="How many of the frozen units are thawed, such as 0,1,2.")] = None,
    prox: Annotated[str | None, typer.Option(help="Strengths of the penalty of train-all, such as 5e-4,7e-4.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions, 5 if omitted; fewer conclude nothing.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs of every training.")] = None,
    batch: Annotated[int | None, typer.Option(min=2, help="Rows of a step; those of a loader if it is one.")] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help=f"The largest one; 0.1 if omitted, {ADAM_LEARNING_RATE:g} for Adam.")
    ] = None,
    optimiser: Annotated[OptimiserName | None, typer.Option(help="What makes the steps; sgd if omitted.")] = None,
    schedule: Annotated[
        ScheduleName | None, typer.Option(help="How the learning rate falls to 0; it is constant if omitted.")
    ] = None,
    warmup: Annotated[
        float | None, typer.Option(help="Share of a training in which the learning rate rises, before a schedule.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Where models train: cpu, cuda, cuda:1, mps; where they are, if omitted.")
    ] = None,
    scheduler: Scheduler = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Keep trainings here, and go on there.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Stop after this time, with what is done.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure what freezing lower units costs, and how far joint training moves them.

    Without a model it runs an example: a small convolutional network on handwritten digits. The same command with the
    same folder resumes a run that was stopped. It exits with 0 if all trainings are done, with 4 if some are missing.
    """
    settings: dict[str, Any] = {
        "units": None if units is None else units.split(","),
        "windows": optional_numbers(windows, int, "--windows"),
        "depths": optional_numbers(depths, int, "--depths"),
        "prox": optional_numbers(prox, float, "--prox"),
        "seeds": seeds,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    steps = {"batch": batch, "learning_rate": learning_rate, "optimiser": optimiser}
    steps |= {"epochs": epochs, "schedule": schedule, "warmup": warmup}
    from unweave.jobs import opened_workers

    with shown(Trainings(), is_shown=not quiet) as seen, opened_workers(scheduler) as workers:
        given |= {"folder": out, "seconds": max_seconds, "random_state": seed, "on_progress": seen.tell}
        given |= {"device": device, "workers": workers}
        # What a model prints must not get between the results.
        with redirect_stdout(sys.stderr):
            result = _measured(model, data, steps, given)
    _deliver(result, out, as_json=as_json, quiet=quiet)
    leave_when_measured(is_complete=result.is_complete)


def _measured(
    model: str | None, data: str | None, steps: dict[str, Any], settings: dict[str, Any]
) -> "FeatureCorrection":
    import unweave
    from unweave.explore.feature_correction.recipes import Recipe
    from unweave.explore.feature_correction.torch_extra import need_torch

    need_torch()
    if settings["folder"] is not None:
        need("matplotlib", purpose="the picture in --out")
        check_kept(settings["folder"])
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
            raise InvalidInput(
                "--model needs --data: an .npz file of x_train, y_train, x_test and y_test, a folder of images, or "
                "MODULE:NAME of two datasets."
            )
        subject, samples, recipe = named_object(model, name="--model"), _read(data), Recipe()
    return unweave.measure_feature_correction(subject, samples, recipe=_recipe(recipe, **steps), **settings)


def _recipe(
    recipe: "Recipe",
    *,
    epochs: int | None,
    schedule: ScheduleName | None,
    warmup: float | None,
    optimiser: OptimiserName | None,
    learning_rate: float | None,
    batch: int | None,
) -> "Recipe":
    """A recipe with what was asked for."""
    from unweave.explore.feature_correction.recipes import CosineSchedule, LinearSchedule

    recipe = recipe if epochs is None else recipe.shortened(epochs)
    given: dict[str, Any] = {"batch": batch, "learning_rate": learning_rate}
    if optimiser is OptimiserName.ADAM or optimiser is OptimiserName.ADAMW:
        import torch

        given["optimiser"] = torch.optim.Adam if optimiser is OptimiserName.ADAM else torch.optim.AdamW
        given["learning_rate"] = ADAM_LEARNING_RATE if learning_rate is None else learning_rate
    if schedule is not None:
        falling = CosineSchedule if schedule is ScheduleName.COSINE else LinearSchedule
        given |= {"schedule": falling(warmup or 0.0), "milestones": ()}
    elif warmup is not None:
        raise InvalidInput("--warmup belongs to --schedule: name one, or leave it out.")
    return replace(recipe, **{name: value for name, value in given.items() if value is not None})


def _read(named: str) -> tuple[Any, ...]:
    """Samples of an .npz file, images of a folder as numbers from 0 to 1, or datasets of somebody's module."""
    if is_object(named):
        found = named_object(named, name="--data")
        if callable(found):
            try:
                found = found()
            # Whatever somebody's function raises.
            except Exception as error:
                raise InvalidInput(f"--data {named!r} raised {type(error).__name__}: {error}.") from error
        if not isinstance(found, tuple | list):
            raise InvalidInput(
                f"--data {named!r} needs to be two datasets, (train, test), or a function that returns them, got "
                f"{type(found).__name__}."
            )
        return tuple(found)
    path = Path(named)
    if path.is_dir():
        from unweave.explore.feature_correction.image_data import load_images

        return load_images(path).as_floats()
    from unweave.explore.feature_correction.image_data import read_archive
    from unweave.explore.feature_correction.samples import PARTS

    needs = f"--data needs an .npz file with {', '.join(PARTS)}"
    try:
        found = read_archive(path)
    except InvalidInput as error:
        raise InvalidInput(f"{needs}, but {error}") from error
    missing = [name for name in PARTS if name not in found]
    if missing:
        raise InvalidInput(f"{needs}, but {path} has no {missing[0]}.")
    return tuple(found[name] for name in PARTS)


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
