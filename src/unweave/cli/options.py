"""Options that several commands have beside TARGET: sizes, where a model may be asked, journals and servers."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from unweave.cli.console import Seed

# Heading of the options of servers in the help.
SERVER = "Servers"


def _server_option(metavar: str, description: str) -> Any:
    """Make an option of servers that takes text."""
    return typer.Option(metavar=metavar, help=description, rich_help_panel=SERVER)


Inputs = Annotated[int | None, typer.Option(min=1, help="Number of inputs; files and models know it.")]
Outputs = Annotated[int | None, typer.Option(min=1, help="Number of outputs; learnt if omitted.")]
OutputName = Annotated[
    str | None, typer.Option(help="Name of the output of an ONNX file or a server that has several.")
]
Scale = Annotated[
    str | None,
    typer.Option(metavar="NUMBERS", help="How far inputs usually lie from the center; one number, or one per input."),
]
Center = Annotated[
    str | None, typer.Option(metavar="NUMBERS", help="Where inputs usually lie; one number, or one per input.")
]
Bounds = Annotated[
    tuple[str, str] | None,
    typer.Option(metavar="LOWER UPPER", help="Ask only between these bounds; each one number, or one per input."),
]
Like = Annotated[
    Path | None,
    typer.Option(metavar="TABLE", help="Typical rows, CSV or Parquet: where inputs lie, and their units."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Columns of a table that are the inputs; all (of answers: x0, x1, ...) if omitted."
    ),
]
Inside = Annotated[bool, typer.Option("--inside", help="Never ask outside of the ranges of the rows of --like.")]
JournalPath = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keep answers here, where several runs find them; in FOLDER if omitted."),
]
Forgetful = Annotated[
    bool, typer.Option("--no-journal", help="Keep no answers: a run that is stopped can't be resumed.")
]
Header = Annotated[
    list[str] | None,
    _server_option("'NAME: VALUE'", "Header of every request; $NAME is taken from the environment. Written nowhere."),
]
RequestTemplate = Annotated[
    str | None,
    _server_option(
        "JSON",
        "Body of a request to an API without the Open Inference Protocol; $points stands for the list of points.",
    ),
]
AnswerPath = Annotated[
    str | None, _server_option("JSONPATH", "Where the answers are in its response, such as $.scores[*].")
]
Binary = Annotated[
    bool | None,
    typer.Option("--binary/--no-binary", help="Send tensors as bytes, or as JSON.", rich_help_panel=SERVER),
]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Requests at once; 4 if omitted.", rich_help_panel=SERVER)]
Timeout = Annotated[float | None, typer.Option(help="Seconds for a request; 30 if omitted.", rich_help_panel=SERVER)]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Where independent runs are computed: processes, processes:4, or a Dask scheduler such as tcp://host:8786.",
    ),
]


@dataclass(frozen=True)
class AskedModel:
    """What every command that asks a model takes: sizes, where it may be asked, journal and server."""

    inputs: Inputs = None
    outputs: Outputs = None
    output: OutputName = None
    seed: Seed = 0
    scale: Scale = None
    center: Center = None
    box: Bounds = None
    like: Like = None
    columns: Columns = None
    is_inside: Inside = False
    journal: JournalPath = None
    is_forgetful: Forgetful = False
    header: Header = None
    request: RequestTemplate = None
    answer: AnswerPath = None
    is_binary: Binary = None
    concurrency: Concurrency = None
    timeout: Timeout = None

    def settings(self) -> dict[str, Any]:
        """Give what is remembered of them: of headers their names."""
        from unweave.cli.targets import headers_of

        given = {name: value for name, value in vars(self).items() if name not in ("header", "is_forgetful")}
        given["inside"] = given.pop("is_inside")
        given["headers"] = sorted(headers_of(self.header or []))
        paths = {name: None if given[name] is None else str(given[name]) for name in ("like", "journal")}
        return given | paths | {"box": None if self.box is None else list(self.box)}


def parameters_of(options: Any) -> list[inspect.Parameter]:
    """Give one parameter for every field of a class of options."""
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=each.type,
        )
        for each in fields(options)
    ]


def with_fields(command: Callable[..., None]) -> Callable[..., None]:
    """Give Typer a function with one parameter for every field of those parameters that are classes of options."""
    hints = get_type_hints(command, include_extras=True)
    classes: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    def run(**given: Any) -> None:
        made = {
            name: kind(**{each.name: given.pop(each.name) for each in fields(kind)}) for name, kind in classes.items()
        }
        command(**made, **given)

    own = inspect.signature(command).parameters.values()
    of_all = [
        more
        for each in own
        for more in (
            parameters_of(classes[each.name])
            if each.name in classes
            else [each.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        )
    ]
    run.__doc__, run.__name__ = command.__doc__, command.__name__
    run.__annotations__ = {each.name: each.annotation for each in of_all}
    run.__signature__ = inspect.Signature(of_all)  # type: ignore[attr-defined]
    return run
