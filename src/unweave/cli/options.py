"""Options that several commands have beside TARGET: sizes, where a model may be asked, journals and servers."""

from pathlib import Path
from typing import Annotated

import typer

# Heading of the options of servers in the help.
SERVER = "Servers"
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
    typer.Option(
        metavar="'NAME: VALUE'",
        help="Header of every request; $NAME is taken from the environment. Written nowhere.",
        rich_help_panel=SERVER,
    ),
]
RequestTemplate = Annotated[
    str | None,
    typer.Option(
        metavar="JSON",
        help="Body of a request to an API without the Open Inference Protocol; $points stands for the list of points.",
        rich_help_panel=SERVER,
    ),
]
AnswerPath = Annotated[
    str | None,
    typer.Option(
        metavar="JSONPATH", help="Where the answers are in its response, such as $.scores[*].", rich_help_panel=SERVER
    ),
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
