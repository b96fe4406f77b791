"""`unweave reproduce`: figures and tables of the literature, run again."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from unweave.cli import console
from unweave.cli.console import AsJson, Quiet, Seed
from unweave.cli.options import Scheduler
from unweave.exceptions import InvalidInput
from unweave.extras import need
from unweave.writing import envelope


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="WORK:NUMBER", help="Such as allenzhu:figure-9; omit it for a list.")
    ] = None,
    is_list: Annotated[bool, typer.Option("--list", help="List what can be reproduced.")] = False,
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="A folder of images, where needed.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Keep trainings here, and go on there.")] = None,
    width: Annotated[float | None, typer.Option(help="Width of the networks, instead of the published one.")] = None,
    layers: Annotated[int | None, typer.Option(help="Layers of the networks, instead of the published ones.")] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of every training, instead of those published.")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=2, help="Samples per step, instead of those published.")] = None,
    images: Annotated[int | None, typer.Option(min=2, help="Training images to use; all if omitted.")] = None,
    depths: Annotated[str | None, typer.Option(help="Depths to look at, such as 1,2,4.")] = None,
    prox: Annotated[str | None, typer.Option(help="Strengths of the penalty of train-all, such as 5e-4,7e-4.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions, instead of those of the size.")] = None,
    is_quick: Annotated[bool, typer.Option("--quick", help="The smallest size that shows something.")] = False,
    is_full: Annotated[bool, typer.Option("--full", help="The published size.")] = False,
    scheduler: Scheduler = None,
    two_classes: Annotated[
        bool, typer.Option("--two-classes", help="CIFAR-10 as bird, cat, deer, dog and horse against the rest.")
    ] = False,
    max_seconds: Annotated[float | None, typer.Option(help="Stop after this time, with what is done.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a published table, figure or statement again, and print its numbers beside ours.

    The same command with the same folder resumes a run that was stopped. It exits with 0 if all is done, with 4 if
    some is missing.
    """
    if is_list or name is None:
        _show_list(as_json=as_json)
        return
    from unweave.jobs import opened_workers
    from unweave.reproduce.experiment import Scale
    from unweave.reproduce.registry import Request, reproduction_named

    sizes = {"width": width, "layers": layers, "epochs": epochs, "batch": batch, "images": images, "seeds": seeds} | {
        "depths": console.optional_numbers(depths, int, "--depths"),
        "prox": console.optional_numbers(prox, float, "--prox"),
    }
    wanted = reproduction_named(name)
    if is_quick and is_full:
        raise InvalidInput("reproduce takes --quick or --full, got both: name one.")
    if out is None:
        raise InvalidInput("reproduce needs --out, the folder in which trainings and numbers are kept.")
    need("matplotlib", purpose="the pictures of reproduce")
    console.check_kept(out)
    with (
        opened_workers(scheduler) as workers,
        console.counted_progress(is_shown=not quiet, unit="measurements done") as tell,
    ):
        request = Request(
            out=out,
            data=data,
            scale=Scale.QUICK if is_quick else Scale.FULL if is_full else Scale.USUAL,
            workers=workers,
            sizes={word: value for word, value in sizes.items() if value is not None},
            is_two_classes=two_classes,
            seed=seed,
            max_seconds=max_seconds,
            tell=tell,
            say=lambda words: typer.echo(words, err=True),
        )
        found = wanted.run(request)
    # Shown first, so that a full disk does not cost the result.
    if as_json:
        console.show_json(found.as_document())
    else:
        console.show(found.headline() if quiet else found.report())
    found.save(out)
    for file, figure in found.pictures().items():
        console.save_picture(figure, out / file)
    if not (quiet or as_json):
        typer.echo(f"Numbers and pictures are in {out}", err=True)
    console.leave_when_measured(is_complete=found.is_complete)


def _show_list(*, as_json: bool) -> None:
    from rich.table import Table

    from unweave.reproduce.registry import REPRODUCTIONS

    if as_json:
        listed = [{"work": each.work, **asdict(each.entry)} for each in REPRODUCTIONS.values()]
        console.show_json(envelope("list of reproductions") | {"reproductions": listed})
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("shows")
    table.add_column("CPU s", justify="right", no_wrap=True)
    for name, each in REPRODUCTIONS.items():
        entry = each.entry
        seconds = [known for known in (entry.quick_seconds, entry.usual_seconds) if known is not None]
        shows = f"{entry.shows} (can't be run: {entry.reason})" if entry.reason else entry.shows
        table.add_row(name, shows, " to ".join(f"{value:g}" for value in seconds))
    console.show(table)
