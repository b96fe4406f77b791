"""`unweave learn ...`: one command per estimator, made from a table of their options.

An estimator's options are the fields of a class, its help is the docstring; `LearnRequest` holds what they share.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from unweave.cli.console import (
    EXIT_CODES,
    AsJson,
    Out,
    Overwrite,
    Quiet,
    Seed,
    Tell,
    check_out,
    check_picture,
    deliver,
    leave_with,
    numbers,
    progress,
)
from unweave.exceptions import InvalidInput
from unweave.extras import need

if TYPE_CHECKING:
    from unweave.arrays import Points
    from unweave.result import Result
    from unweave.samples.sources import Source
    from unweave.samples.sums import Engine

# Numbers that are read into memory: 2 GB.
MOST_NUMBERS = 2**28

Neurons = Annotated[int | None, typer.Option(min=1, help="How many; found if omitted.")]
Biases = Annotated[bool, typer.Option("--bias/--no-bias", help="Whether neurons have biases.")]


@dataclass(frozen=True)
class LearnRequest:
    """What every estimator is asked: samples, seed, and where the result goes."""

    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Samples: Parquet or CSV files with the same columns.")
    ]
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column of the labels.")]
    inputs: Annotated[
        str,
        typer.Option(metavar="COLUMNS", help="The columns of the inputs, with commas between; all others if omitted."),
    ] = ""
    seed: Seed = 0
    out: Out = None
    overwrite: Overwrite = False
    as_json: AsJson = False
    quiet: Quiet = False

    def source(self) -> "tuple[Source, int]":
        """The samples, and the number of their inputs."""
        from unweave.samples.tables import table_source

        columns = tuple(name.strip() for name in self.inputs.split(",") if name.strip())
        return table_source(tuple(self.files), label=self.target, inputs=columns)

    def samples(self) -> "tuple[Points, Any]":
        """Inputs and labels in memory."""
        from unweave.samples.sources import first_rows

        source, inputs = self.source()
        return first_rows(source, inputs=inputs, most=MOST_NUMBERS // inputs)


@dataclass(frozen=True)
class ResultWithPicture:
    """What a command has learnt.

    Args:
        result: for the report and the run folder.
        draw: what writes a picture after them; None if none is wanted.
    """

    result: "Result"
    draw: Callable[[], None] | None = None


class Learner:
    """The options of a command, and how it learns; fields are options."""

    # Name of the estimator in `unweave.learn`, if there is one for all options.
    name: ClassVar[str]

    def estimator(self) -> str:
        """Name in `unweave.learn`."""
        return self.name

    def settings(self) -> dict[str, Any]:
        """What the estimator is given."""
        return dict(vars(self))

    def learn(self, request: LearnRequest, tell: Tell) -> ResultWithPicture:
        """Fit the estimator to the samples."""
        tell("learning", 0)
        return ResultWithPicture(fitted(self.estimator(), self.settings(), request, *request.samples()).result_)


def fitted(name: str, settings: dict[str, Any], request: LearnRequest, points: "Points", labels: Any) -> Any:
    """An estimator with these settings, fitted to these samples."""
    import unweave.learn

    return getattr(unweave.learn, name)(**settings, random_state=request.seed).fit(points, labels)


@dataclass(frozen=True)
class Relu(Learner):
    """Recover a depth-2 ReLU network with biases whose inputs were drawn from a Gaussian."""

    name = "ReluNetworkRegressor"
    neurons: Neurons = None
    standard: Annotated[
        bool, typer.Option("--standard", help="The inputs are standard Gaussian: mean 0 and covariance 1 are known.")
    ] = False
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Sum moments on this Dask cluster, such as tcp://host:8786.")
    ] = None

    def learn(self, request: LearnRequest, tell: Tell) -> ResultWithPicture:
        """Learn from files that need not fit into memory."""
        tell("loading", 0)
        import numpy as np

        from unweave.learn.relu_network.estimator import ReluLearner

        source, inputs = request.source()
        learner = ReluLearner(
            neurons=self.neurons,
            mean=np.zeros(inputs) if self.standard else None,
            covariance=np.eye(inputs) if self.standard else None,
        )
        with _engine(self.scheduler) as engine:
            found, _ = learner(source, inputs=inputs, seed=request.seed, engine=engine, progress=tell)
        return ResultWithPicture(found)


@dataclass(frozen=True)
class Quadratic(Learner):
    """Train a network of squares to the global optimum, with a certificate."""

    name = "QuadraticNetworkRegressor"
    neurons: Annotated[int | None, typer.Option(min=1, help="Hidden neurons; enough for a proof if omitted.")] = None
    signs: Annotated[str, typer.Option(help="Of the output weights: auto, both, positive or negative.")] = "auto"
    fit_bias: Biases = False


@dataclass(frozen=True)
class Overparameterized(Learner):
    """Train a shallow network with many neurons until the labels are met, with a certificate."""

    name = "OverparameterizedRegressor"
    neurons: Annotated[int | None, typer.Option(min=1, help="Hidden neurons; enough to fit if omitted.")] = None
    activation: Annotated[str, typer.Option(help="A differentiable activation.")] = "softplus(10.0)"
    fit_bias: Biases = True


@dataclass(frozen=True)
class LowestLayer(Learner):
    """Recover the lowest layer under any upper function, from Gaussian inputs and high thresholds."""

    name = "LowestLayerRegressor"
    unit: Annotated[str, typer.Option(help="Kind of the neurons: step, relu or sigmoid.")] = "relu"
    neurons: Neurons = None


@dataclass(frozen=True)
class Halfspaces(Learner):
    """Recover an intersection or a union of half spaces from labels of two classes."""

    union: Annotated[
        bool, typer.Option("--union/--intersection", help="Whether one half space is enough, or all are needed.")
    ] = False
    neurons: Annotated[int | None, typer.Option(min=1, help="Half spaces; found if omitted.")] = None
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw samples and half spaces (two or three inputs).")
    ] = None

    def estimator(self) -> str:
        """Name in `unweave.learn`."""
        return "HalfspaceUnionClassifier" if self.union else "HalfspaceIntersectionClassifier"

    def settings(self) -> dict[str, Any]:
        """What the estimator is given."""
        return {"neurons": self.neurons}

    def learn(self, request: LearnRequest, tell: Tell) -> ResultWithPicture:
        """Fit the estimator, and prepare a picture of what it found."""
        check_picture(self.picture)
        tell("learning", 0)
        points, labels = request.samples()
        if self.picture is not None and points.shape[1] not in (2, 3):
            raise InvalidInput(f"a picture needs two or three inputs, got {points.shape[1]}: leave --picture out.")
        found = fitted(self.estimator(), self.settings(), request, points, labels)
        if self.picture is None:
            return ResultWithPicture(found.result_)
        return ResultWithPicture(found.result_, partial(_draw_halfspaces, found, points, labels, self.picture))


@dataclass(frozen=True)
class Hierarchical(Learner):
    """Learn a deep quadratic network, all levels at once."""

    widths: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Features per level from level 2 on; too many are harmless.")
    ] = "4,2"
    connections: Annotated[
        str,
        typer.Option(
            metavar="LISTS",
            help="What each level reads, as '1;2,0': 0 inputs, 1 squares of inputs, 2 squares of level 2, ...",
        ),
    ] = ""
    signed: Annotated[bool, typer.Option("--signed", help="Squares enter with both signs.")] = False
    classes: Annotated[bool, typer.Option("--classes", help="The labels are two classes.")] = False

    def estimator(self) -> str:
        """Name in `unweave.learn`."""
        return "HierarchicalClassifier" if self.classes else "HierarchicalRegressor"

    def settings(self) -> dict[str, Any]:
        """What the estimator is given."""
        lists = self.connections.split(";") if self.connections else None
        return {
            "widths": numbers(self.widths, int, "--widths"),
            "connections": None if lists is None else [numbers(each, int, "--connections") for each in lists],
            "signed": self.signed,
        }


def _draw_halfspaces(found: Any, points: "Points", labels: Any, picture: Path) -> None:
    from unweave.reports.pictures.halfspaces import draw_halfspaces

    draw_halfspaces(points, labels == found.classes_[1], found.normals_, found.offsets_, picture)


LEARNERS: dict[str, type[Learner]] = {
    "relu": Relu,
    "quadratic": Quadratic,
    "overparameterized": Overparameterized,
    "lowest-layer": LowestLayer,
    "halfspaces": Halfspaces,
    "hierarchical": Hierarchical,
}


def _learn(name: str, learner: Learner, request: LearnRequest) -> None:
    """Learn, deliver the result and leave with its exit code."""
    need("sklearn", purpose="learning from samples")
    check_out(request.out, overwrite=request.overwrite)
    with progress(is_shown=not request.quiet, unit="samples") as tell:
        learnt = learner.learn(request, tell)
    asked = {"target": request.target, "inputs": request.inputs, "seed": request.seed} | vars(learner)
    settings = {"learner": name, "files": [str(path) for path in request.files]} | asked
    # A picture is beside the run.
    settings.pop("picture", None)
    deliver(
        learnt.result,
        settings,
        out=request.out,
        overwrite=request.overwrite,
        as_json=request.as_json,
        quiet=request.quiet,
    )
    if learnt.draw is not None:
        learnt.draw()
    leave_with(learnt.result)


def _command(name: str, options: type[Learner]) -> Callable[..., None]:
    """A function with one parameter per option, from which Typer makes a command."""

    def command(**given: Any) -> None:
        request = LearnRequest(**{each.name: given.pop(each.name) for each in fields(LearnRequest)})
        _learn(name, options(**given), request)

    shared = _parameters(LearnRequest)
    names = [each.name for each in shared]
    samples, others = shared[: names.index("seed")], shared[names.index("seed") :]
    parameters = [*samples, *_parameters(options), *others]
    command.__doc__ = options.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _parameters(options: Any) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=each.type,
        )
        for each in fields(options)
    ]


@contextmanager
def _engine(scheduler: str | None) -> Iterator["Engine | None"]:
    """A cluster for sums, if an address is given."""
    if scheduler is None:
        yield None
        return
    from unweave.jobs import dask_client

    with dask_client(scheduler) as client:
        from unweave.samples.sums import DaskCluster

        yield DaskCluster(client)


app = typer.Typer(
    help="Learn a network from samples of its inputs and outputs.", epilog=EXIT_CODES, no_args_is_help=True
)
for _name, _options in LEARNERS.items():
    app.command(_name, epilog=EXIT_CODES)(_command(_name, _options))
