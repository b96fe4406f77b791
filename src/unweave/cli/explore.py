"""Commands that measure what training does: `unweave landscape` and `unweave correction`."""

import sys
from contextlib import redirect_stdout
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli.console import (
    AsJson,
    Overwrite,
    Quiet,
    Seed,
    check_kept,
    check_out,
    check_picture,
    leave_when_measured,
    named_object,
    optional_numbers,
    progress,
    save_picture,
    show,
    show_json,
)
from unweave.exceptions import InvalidInput
from unweave.extras import need

if TYPE_CHECKING:
    from unweave.explore.feature_correction.result import FeatureCorrection
    from unweave.explore.landscape.sweeps import LandscapeCurve


class SearchName(StrEnum):
    """How a run looks for a minimum."""

    NEWTON = "newton"
    GRADIENT = "gradient"


def landscape(
    neurons: Annotated[str, typer.Option(help="Hidden neurons: a number, or a range such as 8:14.")] = "8:14",
    inputs: Annotated[str, typer.Option(help="Inputs: a number, or a range; one of the two is a range.")] = "10",
    activation: Annotated[str, typer.Option(help="Activation of planted and learnt networks.")] = "softplus",
    samples: Annotated[int, typer.Option(min=1, help="Samples of every planted network.")] = 100,
    planted: Annotated[int, typer.Option(min=1, help="Planted networks per size.")] = 10,
    starts: Annotated[int, typer.Option(min=1, help="Random starts per network.")] = 10,
    search: Annotated[SearchName, typer.Option(help="How a run looks for a minimum.")] = SearchName.NEWTON,
    random_labels: Annotated[bool, typer.Option("--random-labels", help="Random labels, no planted network.")] = False,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the curve.")] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write the curve and its settings here.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Count how often random starts reach a global minimum, and find the size at which they begin to."""
    many, few = _sizes(neurons, inputs)
    check_picture(picture)
    check_out(out, overwrite=overwrite)
    with progress(is_shown=not quiet, unit="sizes done") as tell:
        tell("compiling", 0)
        from unweave.activations import activation_named
        from unweave.explore.landscape.experiment import (
            GradientSearch,
            LandscapeDesign,
            NewtonSearch,
        )
        from unweave.explore.landscape.sweeps import sweep

        design = LandscapeDesign(
            activation_named(activation), samples, planted, starts, has_random_labels=random_labels
        )
        done = count(1)
        settings: dict[str, Any] = {
            "search": NewtonSearch() if search is SearchName.NEWTON else GradientSearch(),
            "seed": seed,
            "progress": lambda _: tell("training", next(done)),
        }
        curve = sweep(design, neurons=many, inputs=few, **settings)
    _deliver_curve(curve, picture, as_json=as_json)
    if out is not None:
        from unweave.reports.landscape import as_document
        from unweave.reports.measurements import write_measurement

        asked = {"neurons": neurons, "inputs": inputs, "activation": activation, "samples": samples, "planted": planted}
        asked |= {"starts": starts, "search": search.value, "random_labels": random_labels, "seed": seed}
        write_measurement(out, as_document(curve), {"command": "landscape"} | asked, overwrite=overwrite)


def _deliver_curve(curve: "LandscapeCurve", picture: Path | None, *, as_json: bool) -> None:
    from unweave.reports.landscape import as_document, report

    if as_json:
        show_json(as_document(curve))
    else:
        show(report(curve))
    if picture is not None:
        from unweave.reports.pictures.landscape import draw_landscape

        save_picture(draw_landscape(curve), picture)


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
    prox: Annotated[str | None, typer.Option(help="Strengths of the penalty of train-all, such as 5e-4,7e-4.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions, 5 if omitted; fewer conclude nothing.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs of every training.")] = None,
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
    with progress(is_shown=not quiet, unit="trainings done") as tell:
        tell("loading", 0)
        given |= {"folder": out, "max_seconds": max_seconds, "random_state": seed, "on_progress": tell}
        # What a model prints must not get between the results.
        with redirect_stdout(sys.stderr):
            result = _measured(model, data, epochs, given)
    _deliver(result, out, as_json=as_json, quiet=quiet)
    leave_when_measured(is_complete=result.is_complete)


def _measured(
    model: str | None, data: Path | None, epochs: int | None, settings: dict[str, Any]
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
            raise InvalidInput("--model needs --data: an .npz file of x_train, y_train, x_test and y_test.")
        subject, samples, recipe = named_object(model, name="--model"), _read(data), Recipe()
    recipe = recipe if epochs is None else recipe.shortened(epochs)
    return unweave.measure_feature_correction(subject, samples, recipe=recipe, **settings)


def _read(path: Path) -> tuple[Any, ...]:
    """Samples of an .npz file, or images of a folder as numbers from 0 to 1."""
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


def _sizes(neurons: str, inputs: str) -> tuple[int | list[int], int | list[int]]:
    """Numbers of neurons and of inputs; one of the two varies."""
    many, few = _range(neurons, "neurons"), _range(inputs, "inputs")
    if len(many) > 1 and len(few) > 1:
        raise InvalidInput(f"one of --neurons and --inputs needs to be a single number, got {neurons} and {inputs}.")
    return (many[0], few) if len(few) > 1 else (many, few[0])


def _range(words: str, name: str) -> list[int]:
    first, _, last = words.partition(":")
    try:
        sizes = list(range(int(first), int(last or first) + 1))
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < 1:
        raise InvalidInput(f"--{name} needs to be a number or a range such as 8:14, got {words!r}.")
    return sizes
