"""Commands that learn from samples: `unweave learn ...`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli.console import (
    AsJson,
    Overwrite,
    Quiet,
    Seed,
    exit_code,
    numbers,
    progress,
    show,
    show_json,
)
from unweave.exceptions import InvalidInput

if TYPE_CHECKING:
    from unweave.result import Result
    from unweave.samples.sums import Engine

# Numbers that are read into memory: 2 GB.
MOST_NUMBERS = 2**28

app = typer.Typer(help="Learn a network from samples of its inputs and outputs.", no_args_is_help=True)

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Samples: Parquet or CSV files with the same columns.")
]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="The column of the labels.")]
Inputs = Annotated[
    str, typer.Option(metavar="COLUMNS", help="The columns of the inputs, with commas between; all others if omitted.")
]
Out = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write network, result and settings here.")]


@app.command()
def relu(
    files: Files,
    target: Target,
    inputs: Inputs = "",
    neurons: Annotated[int | None, typer.Option(min=1, help="Hidden neurons; found if omitted.")] = None,
    standard: Annotated[
        bool, typer.Option("--standard", help="The inputs are standard Gaussian: mean 0 and covariance 1 are known.")
    ] = False,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Sum moments on this Dask cluster, such as tcp://host:8786.")
    ] = None,
    seed: Seed = 0,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Recover a depth-2 ReLU network with biases whose inputs were drawn from a Gaussian."""
    settings: dict[str, Any] = {
        "learner": "relu",
        "files": [str(path) for path in files],
        "target": target,
        "inputs": inputs,
        "neurons": neurons,
        "standard": standard,
        "scheduler": scheduler,
        "seed": seed,
    }
    with progress(is_shown=not quiet, unit="samples") as tell, _engine(scheduler) as engine:
        tell("loading", 0)
        import numpy as np

        from unweave.learn.relu_network.estimator import ReluLearner
        from unweave.samples.tables import table_source

        _check_folder(out, overwrite=overwrite)
        source, columns = table_source(tuple(files), label=target, inputs=_names(inputs))
        learner = ReluLearner(
            neurons=neurons,
            mean=np.zeros(columns) if standard else None,
            covariance=np.eye(columns) if standard else None,
        )
        found = learner(source, inputs=columns, seed=seed, engine=engine, progress=tell).learnt
    _deliver(found, settings, out, overwrite=overwrite, as_json=as_json, quiet=quiet)


@app.command()
def quadratic(
    files: Files,
    target: Target,
    inputs: Inputs = "",
    neurons: Annotated[int | None, typer.Option(min=1, help="Hidden neurons; enough for a proof if omitted.")] = None,
    signs: Annotated[str, typer.Option(help="Of the output weights: auto, both, positive or negative.")] = "auto",
    biases: Annotated[bool, typer.Option("--biases", help="Give every neuron a bias.")] = False,
    seed: Seed = 0,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a network of squares to the global optimum, with a certificate."""
    settings = {"neurons": neurons, "signs": signs, "fit_biases": biases, "random_state": seed}
    fit = partial(_fit, "QuadraticNetworkRegressor", settings, files, target, inputs)
    _learn(fit, out, overwrite=overwrite, as_json=as_json, quiet=quiet)


@app.command()
def overparameterized(
    files: Files,
    target: Target,
    inputs: Inputs = "",
    neurons: Annotated[int | None, typer.Option(min=1, help="Hidden neurons; enough to fit if omitted.")] = None,
    activation: Annotated[str, typer.Option(help="A differentiable activation.")] = "softplus(10.0)",
    no_bias: Annotated[bool, typer.Option("--no-bias", help="Give neurons no bias.")] = False,
    seed: Seed = 0,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a shallow network with many neurons until the labels are met, with a certificate."""
    settings = {"neurons": neurons, "activation": activation, "fits_bias": not no_bias, "random_state": seed}
    fit = partial(_fit, "OverparameterizedRegressor", settings, files, target, inputs)
    _learn(fit, out, overwrite=overwrite, as_json=as_json, quiet=quiet)


@app.command()
def lowest_layer(
    files: Files,
    target: Target,
    inputs: Inputs = "",
    unit: Annotated[str, typer.Option(help="Kind of the units: step, relu or sigmoid.")] = "relu",
    rows: Annotated[int | None, typer.Option(min=1, help="Number of units; found if omitted.")] = None,
    seed: Seed = 0,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Recover the lowest layer under any upper function, from Gaussian inputs and high thresholds."""
    settings = {"unit": unit, "rows": rows, "random_state": seed}
    fit = partial(_fit, "LowestLayerRegressor", settings, files, target, inputs)
    _learn(fit, out, overwrite=overwrite, as_json=as_json, quiet=quiet)


@app.command()
def halfspaces(
    files: Files,
    target: Target,
    inputs: Inputs = "",
    union: Annotated[
        bool, typer.Option("--union/--intersection", help="Whether one half space is enough, or all are needed.")
    ] = False,
    count: Annotated[int | None, typer.Option("--halfspaces", min=1, help="How many; found if omitted.")] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw samples and half spaces (two or three inputs).")
    ] = None,
    seed: Seed = 0,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Recover an intersection or a union of half spaces from labels of two classes."""
    settings = {"halfspaces": count, "random_state": seed}
    name = "HalfspaceUnionClassifier" if union else "HalfspaceIntersectionClassifier"
    fit = partial(_fit, name, settings, files, target, inputs, picture=picture)
    _learn(fit, out, overwrite=overwrite, as_json=as_json, quiet=quiet)


@app.command()
def hierarchical(
    files: Files,
    target: Target,
    inputs: Inputs = "",
    widths: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Features per level from level 2 on; too many are harmless.")
    ] = "4,2",
    connections: Annotated[
        str,
        typer.Option(
            metavar="LISTS",
            help="What each level reads, as '1;2,0': 0 inputs, 1 squares of inputs, 2 squares of level 2, ...",
        ),
    ] = "",
    signed: Annotated[bool, typer.Option("--signed", help="Squares enter with both signs.")] = False,
    classes: Annotated[bool, typer.Option("--classes", help="The labels are two classes.")] = False,
    seed: Seed = 0,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn a deep quadratic network, all levels at once."""
    settings = {
        "widths": numbers(widths, int, "--widths"),
        "connections": [numbers(each, int, "--connections") for each in connections.split(";")]
        if connections
        else None,
        "signed": signed,
        "random_state": seed,
    }
    name = "HierarchicalClassifier" if classes else "HierarchicalRegressor"
    fit = partial(_fit, name, settings, files, target, inputs)
    _learn(fit, out, overwrite=overwrite, as_json=as_json, quiet=quiet)


def _learn(
    fit: "Callable[[], tuple[Result, dict[str, Any]]]",
    out: Path | None,
    *,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit an estimator and deliver what it found."""
    with progress(is_shown=not quiet, unit="samples") as tell:
        tell("learning", 0)
        _check_folder(out, overwrite=overwrite)
        found, settings = fit()
    _deliver(found, settings, out, overwrite=overwrite, as_json=as_json, quiet=quiet)


def _fit(
    name: str,
    settings: dict[str, Any],
    files: list[Path],
    target: str,
    inputs: str,
    *,
    picture: Path | None = None,
) -> "tuple[Result, dict[str, Any]]":
    """An estimator's result on the samples of tables, and all settings of the run."""
    import unweave.learn
    from unweave.samples.sources import first_rows
    from unweave.samples.tables import table_source

    source, columns = table_source(tuple(files), label=target, inputs=_names(inputs))
    points, labels = first_rows(source, inputs=columns, most=MOST_NUMBERS // columns)
    if picture is not None and columns not in (2, 3):
        raise InvalidInput(f"a picture needs two or three inputs, got {columns}: leave --picture out.")
    found = getattr(unweave.learn, name)(**settings).fit(points, labels)
    if picture is not None:
        from unweave.reports.pictures.halfspaces import draw_halfspaces

        draw_halfspaces(points, labels == found.classes_[1], found.normals_, found.offsets_, picture)
    record = {"learner": name, "files": [str(path) for path in files], "target": target, "inputs": inputs}
    return found.result_, record | settings


def _deliver(
    found: "Result", settings: dict[str, Any], out: Path | None, *, overwrite: bool, as_json: bool, quiet: bool
) -> None:
    """Show a result, write it, and leave with its exit code."""
    from unweave.reports import files, text
    from unweave.reports.json import as_document

    if as_json:
        show_json(as_document(found))
    else:
        show(text.outcome(found) if quiet else text.report(found))
    if out is not None:
        # After the report, so that a full disk does not cost the result.
        files.write_run(out, found, settings, overwrite=overwrite)
        if not (quiet or as_json):
            typer.echo(f"The run is in {out}", err=True)
    raise typer.Exit(exit_code(found))


def _check_folder(out: Path | None, *, overwrite: bool) -> None:
    from unweave.reports.files import check_folder

    if out is not None:
        check_folder(out, overwrite=overwrite)


def _names(columns: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in columns.split(",") if name.strip())


@contextmanager
def _engine(scheduler: str | None) -> Iterator["Engine | None"]:
    """A cluster for sums, if an address is given."""
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise InvalidInput("--scheduler needs Dask: install it with pip install 'unweave[dask]'.") from error
    from unweave.samples.sums import DaskCluster

    try:
        client: Any = Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"there is no Dask scheduler at {scheduler}: {error}.") from error
    with client:
        yield DaskCluster(client)
