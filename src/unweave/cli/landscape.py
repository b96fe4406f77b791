"""`unweave landscape`: how often training reaches a global minimum, by experiment."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli.console import AsJson, Quiet, Seed, progress, show, show_json
from unweave.exceptions import InvalidInput

if TYPE_CHECKING:
    from unweave.explore.landscape.experiment import LandscapeCurve


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
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Count how often random starts reach a global minimum, and find the size at which they begin to."""
    sizes, fixed, varied = _sizes(neurons, inputs)
    with progress(is_shown=not quiet, unit="sizes done") as tell:
        tell("compiling", 0)
        from unweave.activations import activation_named
        from unweave.explore.landscape.experiment import (
            GradientSearch,
            LandscapeDesign,
            NewtonSearch,
            sweep_inputs,
            sweep_neurons,
        )

        design = LandscapeDesign(
            activation_named(activation), samples, planted, starts, has_random_labels=random_labels
        )
        done = iter(range(1, len(sizes) + 1))
        settings: dict[str, Any] = {
            "search": NewtonSearch() if search is SearchName.NEWTON else GradientSearch(),
            "seed": seed,
            "progress": lambda _: tell("training", next(done)),
        }
        if varied == "neurons":
            curve = sweep_neurons(design, neurons=sizes, inputs=fixed, **settings)
        else:
            curve = sweep_inputs(design, neurons=fixed, inputs=sizes, **settings)
    if picture is not None:
        from unweave.reports.pictures.landscape import draw_landscape

        draw_landscape(curve).savefig(picture, dpi=150)
    _deliver(curve, as_json=as_json)


def _deliver(curve: "LandscapeCurve", *, as_json: bool) -> None:
    from unweave.reports.landscape import as_document, report

    if as_json:
        show_json(as_document(curve))
    else:
        show(report(curve))


def _sizes(neurons: str, inputs: str) -> tuple[list[int], int, str]:
    """The sizes that vary, the one that is fixed, and the name of what varies."""
    many, few = _range(neurons, "neurons"), _range(inputs, "inputs")
    if len(many) > 1 and len(few) > 1:
        raise InvalidInput(f"one of --neurons and --inputs needs to be a single number, got {neurons} and {inputs}.")
    return (few, many[0], "inputs") if len(few) > 1 else (many, few[0], "neurons")


def _range(words: str, name: str) -> list[int]:
    first, _, last = words.partition(":")
    try:
        sizes = list(range(int(first), int(last or first) + 1))
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < 1:
        raise InvalidInput(f"--{name} needs to be a number or a range such as 8:14, got {words!r}.")
    return sizes
