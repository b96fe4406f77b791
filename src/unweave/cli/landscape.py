"""`unweave landscape`: how often random starts find a global minimum, and the figures of [soltanolkotabi]."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from unweave.cli.console import (
    AsJson,
    Overwrite,
    Quiet,
    Seed,
    Tell,
    check_out,
    check_picture,
    counted_progress,
    save_picture,
    show,
    show_json,
)
from unweave.cli.options import Scheduler
from unweave.exceptions import InvalidInput, NotWritten

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from rich.console import RenderableType

    from unweave.explore.landscape.experiment import Search
    from unweave.explore.landscape.figures import CurveFigure, Figure, TrainingFigure
    from unweave.explore.landscape.kept_sizes import KeptSizes

# The figure that shows functions, and trains nothing.
ACTIVATIONS = "1"
# More sizes than anybody waits for.
MOST_SIZES = 10_000
NEURONS, INPUTS, ACTIVATION, SAMPLES = "8:14", "10", "softplus(10.0)", 100


@dataclass(frozen=True)
class Found:
    """What was measured, and how it is shown; pictures are drawn when they are wanted.

    Args:
        document: for JSON.
        headline: in a sentence.
        report: for people.
        draw: makes the picture.
    """

    document: dict[str, Any]
    headline: str
    report: "RenderableType"
    draw: Callable[[], "Picture"]


class SearchName(StrEnum):
    """How a run looks for a minimum."""

    NEWTON = "newton"
    GRADIENT = "gradient"


def landscape(
    neurons: Annotated[
        str | None, typer.Option(help=f"Hidden neurons: a number, or a range; {NEURONS} if omitted.")
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(help=f"Inputs: a number, or a range; {INPUTS} if omitted. Two ranges: a phase diagram."),
    ] = None,
    activation: Annotated[
        str | None, typer.Option(help=f"Activation of planted and learnt networks; {ACTIVATION} if omitted.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help=f"Samples of every planted network; {SAMPLES} if omitted.")
    ] = None,
    planted: Annotated[int | None, typer.Option(min=1, help="Planted networks per size; 10 if omitted.")] = None,
    starts: Annotated[int | None, typer.Option(min=1, help="Random starts per network; 10 if omitted.")] = None,
    search: Annotated[SearchName, typer.Option(help="How a run looks for a minimum.")] = SearchName.NEWTON,
    random_labels: Annotated[bool, typer.Option("--random-labels", help="Random labels, no planted network.")] = False,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A figure of [soltanolkotabi]: 1, 2a, 2b, 3a, 3b, 4a, 4b (4a-ones, 4b-ones)."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Gradient steps of figure 4; 30000 if omitted.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw what was found.")] = None,
    scheduler: Scheduler = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep every size here, go on there, and write the result.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Count how often random starts reach a global minimum, and find the size at which they begin to.

    Without options it is [soltanolkotabi, Fig. 2a]. The same command with the same folder goes on where it was stopped;
    with wider ranges it computes what is missing.
    """
    given = {"neurons": neurons, "inputs": inputs, "activation": activation, "samples": samples}
    settings: dict[str, Any] = {"command": "landscape", "figure": figure, "steps": steps, **given, "planted": planted}
    settings |= {"starts": starts, "search": search.value, "random_labels": random_labels, "seed": seed}
    _check_options(settings)
    check_picture(picture)
    with counted_progress(is_shown=not quiet, unit="sizes done") as tell:
        tell("compiling", 0)
        # An earlier landscape of the same settings is the beginning of this one.
        may_replace = overwrite or (figure != ACTIVATIONS and _holds_sizes(out))
        check_out(out, overwrite=may_replace)
        found = _measured(settings, scheduler, out, tell, overwrite=overwrite)
    # After the report, so that a full disk does not cost the result.
    if as_json:
        show_json(found.document)
    else:
        show(Text(found.headline) if quiet else found.report)
    if picture is not None:
        save_picture(found.draw(), picture)
    if out is not None:
        _write(out, found.document, settings, overwrite=may_replace)


def _holds_sizes(out: Path | None) -> bool:
    """Whether a folder holds sizes of a landscape, and no run of another command beside them."""
    from unweave.reports.files import RESULT, SIZES

    return out is not None and (out / SIZES).is_dir() and not (out / RESULT).exists()


def _check_options(settings: dict[str, Any]) -> None:
    """Refuse options that have nothing to say."""
    figure = settings["figure"]
    fixed = [name for name in ("neurons", "inputs", "activation", "samples") if settings[name] is not None]
    fixed += ["random-labels"] if settings["random_labels"] else []
    if figure is not None and fixed:
        raise InvalidInput(f"--figure {figure} has sizes of its own: leave out --{' and --'.join(fixed)}.")
    if settings["search"] != SearchName.NEWTON and (figure or "").startswith(("1", "4")):
        raise InvalidInput(f"--figure {figure} looks for no minimum: leave out --search.")
    if settings["steps"] is not None and not (figure or "").startswith("4"):
        raise InvalidInput("--steps belongs to --figure 4a and 4b: leave it out, or name one of them.")


def _measured(
    settings: dict[str, Any], scheduler: str | None, out: Path | None, tell: Tell, *, overwrite: bool
) -> Found:
    from unweave.explore.landscape.experiment import GradientSearch, NewtonSearch
    from unweave.explore.landscape.figures import ActivationFigure, CurveFigure

    search = NewtonSearch() if settings["search"] == SearchName.NEWTON else GradientSearch()
    wanted = _wanted(settings)
    if isinstance(wanted, ActivationFigure):
        from unweave.reports.landscape import activations_document, activations_report

        def draw() -> "Picture":
            from unweave.reports.pictures.landscape import draw_activations

            return draw_activations(wanted)

        words = activations_report(wanted)
        return Found(activations_document(wanted), words, Text(words), draw)
    from unweave.jobs import opened_workers

    with opened_workers(scheduler) as workers, _kept(wanted, search, settings, out, overwrite=overwrite) as kept:
        places: dict[str, Any] = {"seed": settings["seed"], "workers": workers, "kept": kept}
        if isinstance(wanted, CurveFigure):
            return _swept(wanted, search, places, tell)
        return _followed(wanted, places, tell)


def _wanted(settings: dict[str, Any]) -> "Figure":
    """The figure that is named, or that the options describe."""
    from unweave.activations import activation_named
    from unweave.exceptions import entry_named
    from unweave.explore.landscape.experiment import LandscapeDesign
    from unweave.explore.landscape.figures import FIGURES, ActivationFigure, CurveFigure, TrainingFigure

    more = {name: settings[name] for name in ("planted", "starts") if settings[name] is not None}
    if settings["figure"] is None:
        design = LandscapeDesign(
            activation_named(settings["activation"] or ACTIVATION),
            settings["samples"] or SAMPLES,
            has_random_labels=settings["random_labels"],
        )
        sizes = (
            _range(settings[name] or default, name) for name, default in (("neurons", NEURONS), ("inputs", INPUTS))
        )
        many, few = (tuple(each) for each in sizes)
        if len(many) == len(few) == 1:
            raise InvalidInput("one of --neurons and --inputs needs to be a range such as 8:14, or both.")
        return CurveFigure(replace(design, **more), many, few)
    found = entry_named(settings["figure"], FIGURES, kind="figure of [soltanolkotabi]")
    if isinstance(found, ActivationFigure):
        return found
    found = replace(found, design=replace(found.design, **more))
    has_steps = isinstance(found, TrainingFigure) and settings["steps"] is not None
    return replace(found, steps=settings["steps"]) if has_steps else found


@contextmanager
def _kept(
    wanted: "CurveFigure | TrainingFigure",
    search: "Search",
    settings: dict[str, Any],
    out: Path | None,
    *,
    overwrite: bool,
) -> "Iterator[KeptSizes | None]":
    """Open the sizes that a folder keeps, and say what is kept if the run is interrupted."""
    from unweave.explore.landscape.figures import CurveFigure
    from unweave.explore.landscape.kept_sizes import KeptSizes, configuration_of, described
    from unweave.reports.files import SIZES

    if out is None:
        yield None
        return
    how = {"search": described(search)} if isinstance(wanted, CurveFigure) else {"steps": wanted.steps}
    configuration = configuration_of(wanted.design, seed=settings["seed"], **how)
    kept = KeptSizes.open(out / SIZES, configuration, overwrite=overwrite)
    try:
        yield kept
    except KeyboardInterrupt:
        typer.echo(f"Sizes that are done are kept in {out}. Run the same command again to go on.", err=True)
        raise


def _told(tell: Tell, total: int) -> Callable[[object], None]:
    """Say how many sizes are done, how many there are, and about how long the others take."""
    began, done = time.monotonic(), 0

    def heard(_: object) -> None:
        nonlocal done
        done += 1
        left = (time.monotonic() - began) / done * (total - done)
        tell(f"of {total}, about {left:.0f} s left", done)

    return heard


def _swept(wanted: "CurveFigure", search: "Search", places: dict[str, Any], tell: Tell) -> Found:
    from unweave.explore.landscape.sweeps import sweep, sweep_both
    from unweave.reports import landscape as words

    published, total = wanted.crossing, len(wanted.neurons) * len(wanted.inputs)
    given: dict[str, Any] = {"search": search, "progress": _told(tell, total), **places}
    if min(len(wanted.neurons), len(wanted.inputs)) > 1:
        diagram = sweep_both(wanted.design, neurons=wanted.neurons, inputs=wanted.inputs, **given)

        def draw() -> "Picture":
            from unweave.reports.pictures.landscape import draw_phase_diagram

            return draw_phase_diagram(diagram, samples=wanted.design.samples)

        return Found(
            words.diagram_document(diagram), words.diagram_headline(diagram), words.diagram_report(diagram), draw
        )
    curve = sweep(wanted.design, **wanted.sizes, **given)

    def draw_curve() -> "Picture":
        from unweave.reports.pictures.landscape import draw_landscape

        return draw_landscape(curve, reference=published)

    told, shown = words.crossing(curve, published=published), words.report(curve, published=published)
    return Found(words.as_document(curve, published=published), told, shown, draw_curve)


def _followed(wanted: "TrainingFigure", places: dict[str, Any], tell: Tell) -> Found:
    from unweave.explore.landscape.trainings import follow_trainings
    from unweave.reports import landscape as words

    heard = _told(tell, len(wanted.neurons))
    curves = follow_trainings(wanted.design, **wanted.sizes, steps=wanted.steps, progress=heard, **places)

    def draw() -> "Picture":
        from unweave.reports.pictures.landscape import draw_trainings

        return draw_trainings(curves)

    headline = words.trainings_headline(curves)
    return Found(words.trainings_document(curves), headline, words.trainings_report(curves), draw)


def _write(out: Path, document: dict[str, Any], settings: dict[str, Any], *, overwrite: bool) -> None:
    from unweave.reports.measurements import write_measurement

    try:
        write_measurement(out, document, settings, overwrite=overwrite)
    except InvalidInput as error:
        # It was checked before the first size: somebody has changed it since.
        raise NotWritten(str(error)) from error


def _range(words: str, name: str) -> range:
    first, _, last = words.partition(":")
    try:
        sizes = range(int(first), int(last or first) + 1)
    except ValueError:
        sizes = range(0)
    if len(sizes[: MOST_SIZES + 1]) > MOST_SIZES:
        raise InvalidInput(f"--{name} needs to name at most {MOST_SIZES:,} sizes, got {words!r}.")
    if not sizes or sizes[0] < 1:
        raise InvalidInput(f"--{name} needs to be a number or a range such as 8:14, got {words!r}.")
    return sizes
