"""`unweave learn ...`: one command per estimator, made from a table of their options.

An estimator's options are the fields of a class, its help is the docstring; `LearnRequest` holds what they share: the
samples, the seed, and where the result goes.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
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
    Reading,
    Seed,
    check_out,
    check_picture,
    deliver,
    leave_with,
    numbers,
    shown,
)
from unweave.cli.options import parameters_of
from unweave.exceptions import InvalidInput, NotWritten, UnweaveError
from unweave.extras import need

if TYPE_CHECKING:
    from unweave.arrays import Points
    from unweave.result import Result
    from unweave.samples.tables import TableSource

# Numbers that are read into memory: 2 GB.
MOST_NUMBERS = 2**28
# What can't be typed in every shell.
SEPARATORS = {"tab": "\t", "\\t": "\t"}

Neurons = Annotated[int | None, typer.Option(min=1, help="How many; found if omitted.")]
Biases = Annotated[bool, typer.Option("--bias/--no-bias", help="Whether neurons have biases.")]


@dataclass(frozen=True)
class Samples:
    """Samples in memory.

    Args:
        names: of the inputs.
        points: one row each.
        labels: numbers, or names of classes.
        most: rows that are read; there may be more.
    """

    names: tuple[str, ...]
    points: "Points"
    labels: Any
    most: int

    def described(self, result: "Result") -> "Result":
        """Tell a result what its inputs are called, and whether rows were left out."""
        note = (
            f"only the first {self.most:,} rows were read: more do not fit into the memory that is set aside for them"
        )
        notes = (*result.notes, note) if len(self.points) == self.most else result.notes
        return replace(result, input_names=self.names, notes=notes)


@dataclass(frozen=True)
class LearnRequest:
    """What every estimator is asked: samples, seed, and where the result goes."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Samples: Parquet, Arrow or CSV files (csv, tsv, gz) with the same columns."
        ),
    ]
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column of the labels.")]
    inputs: Annotated[
        str,
        typer.Option(metavar="COLUMNS", help="The columns of the inputs, with commas between; all others if omitted."),
    ] = ""
    separator: Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="Between cells of CSV files, such as ';' or tab; found if omitted."),
    ] = None
    seed: Seed = 0
    out: Out = None
    overwrite: Overwrite = False
    as_json: AsJson = False
    quiet: Quiet = False

    def source(self, *, has_classes: bool = False) -> "TableSource":
        """The samples, of which there is at least one.

        Raises:
            InvalidInput: for tables that can't be used, and for such without rows.
        """
        from unweave.samples.tables import table_source

        source = table_source(
            tuple(self.files),
            label=self.target,
            inputs=tuple(name.strip() for name in self.inputs.split(",") if name.strip()),
            has_classes=has_classes,
            separator=SEPARATORS.get(self.separator or "", self.separator),
        )
        if not any(len(points) for points, _ in source.chunks()):
            raise InvalidInput(f"samples are needed, but there is no row in {', '.join(map(str, self.files))}.")
        return source

    def samples(self, reading: Reading, *, has_classes: bool = False) -> Samples:
        """All samples, in memory."""
        from unweave.samples.sources import WatchedSource, first_rows
        from unweave.samples.tables import rows_with_classes

        source = self.source(has_classes=has_classes)
        names, reading.total = source.input_names, source.rows_about
        name = f"column {self.target!r} of {', '.join(map(str, self.files))}"
        rows = partial(rows_with_classes, name=name) if has_classes else first_rows
        most = MOST_NUMBERS // len(names)
        return Samples(names, *rows(WatchedSource(source, reading), inputs=len(names), most=most), most)


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
        from unweave.learn.stages import telling

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
        str | None,
        typer.Option(
            metavar="NAME",
            help="Where moments are summed: processes, processes:4, or a Dask scheduler such as tcp://host:8786.",
        ),
    ] = None

    def learn(self, request: LearnRequest, reading: Reading) -> ResultWithPicture:
        """Learn from files that need not fit into memory."""
        import numpy as np

        from unweave.learn.relu_network.estimator import ReluLearner
        from unweave.samples.engines import engine_at
        from unweave.samples.sources import WatchedSource

        source = request.source()
        names, reading.total = source.input_names, source.rows_about
        learner = ReluLearner(
            neurons=self.neurons,
            mean=np.zeros(len(names)) if self.standard else None,
            covariance=np.eye(len(names)) if self.standard else None,
        )
        with engine_at(self.scheduler) as engine:
            # With workers, pieces are read elsewhere.
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
    activation: Annotated[str, typer.Option(help="Activation of the neurons: step, relu or sigmoid.")] = "relu"
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

    shared = parameters_of(LearnRequest)
    names = [each.name for each in shared]
    samples, others = shared[: names.index("seed")], shared[names.index("seed") :]
    parameters = [*samples, *parameters_of(options), *others]
    command.__doc__ = options.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


app = typer.Typer(
    help="Learn a network from samples of its inputs and outputs.", epilog=EXIT_CODES, no_args_is_help=True
)
for _name, _options in LEARNERS.items():
    app.command(_name, epilog=EXIT_CODES)(_command(_name, _options))
