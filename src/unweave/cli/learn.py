"""`unweave learn ...`: one command per estimator, made from a table of their options.

An estimator's options are the fields of a class, its help is the docstring; `LearnRequest` holds what they share.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from unweave.cli.console import (
    EXIT_CODES,
    check_out,
    check_picture,
    deliver,
    leave_with,
    numbers,
)
from unweave.cli.learn_request import LearnRequest, Samples
from unweave.cli.progress import Reading, shown
from unweave.exceptions import InvalidInput, NotWritten, UnweaveError
from unweave.extras import need

if TYPE_CHECKING:
    from unweave.result import Result
    from unweave.samples.sums import Engine

Neurons = Annotated[int | None, typer.Option(min=1, help="How many; found if omitted.")]
Biases = Annotated[bool, typer.Option("--bias/--no-bias", help="Whether neurons have biases.")]


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

    def has_classes(self) -> bool:
        """Whether labels are names of classes, which may be text."""
        return False

    def learn(self, request: LearnRequest, reading: Reading) -> ResultWithPicture:
        """Fit the estimator to the samples."""
        samples = request.samples(reading, has_classes=self.has_classes())
        return ResultWithPicture(samples.described(self.fitted(request, samples, reading).result_))

    def fitted(self, request: LearnRequest, samples: Samples, reading: Reading) -> Any:
        """The estimator, fitted to samples."""
        import unweave.learn
        from unweave.learn.base import telling

        reading.tell("learning", len(samples.points))
        estimator = getattr(unweave.learn, self.estimator())(**self.settings(), random_state=request.seed)
        with telling(reading.tell):
            return estimator.fit(samples.points, samples.labels)


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

    def learn(self, request: LearnRequest, reading: Reading) -> ResultWithPicture:
        """Learn from files that need not fit into memory."""
        import numpy as np

        from unweave.learn.relu_network.estimator import ReluLearner
        from unweave.samples.sources import WatchedSource

        source = request.source()
        names, reading.total = source.input_names, source.rows_about
        learner = ReluLearner(
            neurons=self.neurons,
            mean=np.zeros(len(names)) if self.standard else None,
            covariance=np.eye(len(names)) if self.standard else None,
        )
        with _engine(self.scheduler) as engine:
            # On a cluster, pieces are read elsewhere.
            read = WatchedSource(source, reading) if engine is None else source
            found, _ = learner(read, inputs=len(names), seed=request.seed, engine=engine, progress=reading.tell)
        return ResultWithPicture(replace(found, input_names=names))


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

    def has_classes(self) -> bool:
        """Whether labels are names of classes, which may be text."""
        return True

    def learn(self, request: LearnRequest, reading: Reading) -> ResultWithPicture:
        """Fit the estimator, and prepare a picture of what it found."""
        check_picture(self.picture)
        samples = request.samples(reading, has_classes=True)
        if self.picture is not None and len(samples.names) not in (2, 3):
            raise InvalidInput(f"a picture needs two or three inputs, got {len(samples.names)}: leave --picture out.")
        if self.picture is not None and (classes := len(set(samples.labels.tolist()))) != 2:
            raise InvalidInput(f"a picture needs two classes, got {classes}: leave --picture out.")
        found = self.fitted(request, samples, reading)
        draw = None if self.picture is None else partial(_draw_halfspaces, found, samples, self.picture)
        return ResultWithPicture(samples.described(found.result_), draw)


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

    def has_classes(self) -> bool:
        """Whether labels are names of classes, which may be text."""
        return self.classes


def _draw_halfspaces(found: Any, samples: Samples, picture: Path) -> None:
    """Draw what was found, after it was delivered.

    Raises:
        NotWritten: if that fails for any reason: the result is complete without a picture.
    """
    from unweave.reports.pictures.halfspaces import draw_halfspaces

    is_inside = samples.labels == found.inside_
    try:
        draw_halfspaces(samples.points, is_inside, found.normals_, found.offsets_, picture, names=samples.names)
    except UnweaveError:
        raise
    except Exception as error:
        raise NotWritten(f"the picture {picture} could not be drawn: {error}. The result is complete.") from error


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
    with shown(Reading(), is_shown=not request.quiet) as reading:
        learnt = learner.learn(request, reading)
    names = ("target", "inputs", "separator", "seed")
    asked = {name: getattr(request, name) for name in names} | vars(learner)
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
