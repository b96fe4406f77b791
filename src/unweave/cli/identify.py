"""`unweave identify`: a model in, a network out."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli.console import (
    AsJson,
    Out,
    Overwrite,
    Quiet,
    Seed,
    check_out,
    deliver,
    leave_with,
    named_object,
    progress,
    show,
)
from unweave.exceptions import InvalidInput, OracleFailed

if TYPE_CHECKING:
    from rich.table import Table

    from unweave.oracles.oracle import Domain
    from unweave.result import Result


def identify(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="An ONNX file, a saved network file, or module:name (found from the current directory) or "
            "file.py:name of a function, a torch module or a fitted scikit-learn estimator.",
        ),
    ],
    inputs: Annotated[int | None, typer.Option(min=1, help="Number of inputs; files and models know it.")] = None,
    outputs: Annotated[int | None, typer.Option(min=1, help="Number of outputs; learnt if omitted.")] = None,
    output: Annotated[str | None, typer.Option(help="Name of the output of an ONNX file that has several.")] = None,
    activation: Annotated[str | None, typer.Option(help="Hidden activation; found if omitted.")] = None,
    neurons: Annotated[int | None, typer.Option(min=1, help="Hidden neurons; found if omitted.")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Largest number of queries.")] = None,
    confidence: Annotated[float, typer.Option(help="Probability that the claim on the coverage holds.")] = 0.95,
    coverage: Annotated[
        float | None, typer.Option(help="Share of the domain that the claim covers; 0.99 in a box, else 0.95.")
    ] = None,
    max_seconds: Annotated[float | None, typer.Option(help="End after this time with the best that was found.")] = None,
    seed: Seed = 0,
    scale: Annotated[float | None, typer.Option(help="How far from the center the function is interesting.")] = None,
    center: Annotated[float | None, typer.Option(help="Where the function is interesting.")] = None,
    box: Annotated[
        tuple[float, float] | None, typer.Option(metavar="LOWER UPPER", help="Ask only between these bounds.")
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say of every route why it was taken or not.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Recover the network behind a model, or say why that is not possible.

    A function gets an array of one row per point and returns one row of answers per point.
    """
    settings: dict[str, Any] = {
        "target": target,
        "inputs": inputs,
        "outputs": outputs,
        "output": output,
        "activation": activation,
        "neurons": neurons,
        "budget": budget,
        "confidence": confidence,
        "coverage": coverage,
        "max_seconds": max_seconds,
        "seed": seed,
        "scale": scale,
        "center": center,
        "box": None if box is None else list(box),
    }
    with progress(is_shown=not quiet) as tell:
        tell("loading", 0)
        found = _identify(settings, out, overwrite=overwrite, tell=tell)
    deliver(found, settings, out=out, overwrite=overwrite, as_json=as_json, quiet=quiet)
    if explain:
        show(_routes(found), on_stderr=as_json)
    leave_with(found)


def _routes(found: "Result") -> "Table":
    """Make a table of the routes to the neurons, in the order in which they could have been taken."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="Routes, in the order in which they are tried", title_justify="left")
    for column in ("route", "was", "because"):
        table.add_column(column, overflow="fold")
    for choice in found.routes:
        because = f"{choice.because} It ended: {choice.reason}" if choice.reason else choice.because
        table.add_row(choice.route, choice.end.value, escape(because))
    return table


def _identify(
    settings: dict[str, Any], out: Path | None, *, overwrite: bool, tell: Callable[[str, int], None]
) -> "Result":
    """Check everything that can be checked before a query is spent, then ask."""
    import unweave

    domain = domain_of(settings["scale"], settings["center"], settings["box"])
    # What a model prints must not get between the results.
    with redirect_stdout(sys.stderr):
        model = load_target(settings["target"])
        inputs, outputs = checked_sizes(model, settings["inputs"], settings["outputs"])
        check_out(out, overwrite=overwrite)
        return unweave.identify(
            model,
            inputs=inputs,
            outputs=outputs,
            output=settings["output"],
            activation=settings["activation"],
            neurons=settings["neurons"],
            domain=domain,
            budget=settings["budget"],
            confidence=settings["confidence"],
            coverage=settings["coverage"],
            seconds=settings["max_seconds"],
            seed=settings["seed"],
            progress=tell,
        )


def domain_of(scale: float | None, center: float | None, box: list[float] | None) -> "Domain | None":
    """Give the domain that options describe; None if they do not.

    Raises:
        InvalidInput: if they contradict each other.
    """
    if scale is None and center is None and box is None:
        return None
    from unweave.oracles.oracle import Box, Everywhere

    if box is None:
        return Everywhere(1.0 if scale is None else scale, 0.0 if center is None else center)
    if scale is not None or center is not None:
        raise InvalidInput("a box says where to ask already: leave --scale and --center out, or leave --box out.")
    return Box(*box)


def load_target(target: str) -> Any:
    """Give the path of an ONNX file, the network of a file, or what ``module:name`` or ``file.py:name`` names.

    Raises:
        InvalidInput: if it is nothing of this kind.
        UnreadableFile: if a file holds no network.
    """
    from unweave.oracles.models.kinds import FILES

    if Path(target).suffix in FILES:
        return Path(target)
    if target.endswith(".safetensors") or Path(target).exists():
        import unweave
        from unweave.reports.files import read_network

        network = read_network(target)
        if network is None:
            raise InvalidInput(f"the run {target} holds no network: name another.")
        is_layered = isinstance(network, unweave.Network)
        return network if is_layered else unweave.CallableOracle(network, inputs=network.inputs)
    if ":" not in target:
        raise InvalidInput(
            "TARGET needs to be module:function, file.py:function, an ONNX file (.onnx) or the path of a saved network "
            f"(.safetensors), got {target!r}."
        )
    return _checked_target(target, named_object(target, name="TARGET"))


def _checked_target(target: str, value: Any) -> Any:
    from unweave.networks.network import Network
    from unweave.oracles.models.kinds import knows_inputs
    from unweave.oracles.oracle import Oracle

    if isinstance(value, Network | Oracle) or knows_inputs(value):
        return value
    if isinstance(value, type):
        raise InvalidInput(f"TARGET {target!r} is a class: name a function, or an instance that can be called.")
    if not callable(value):
        raise InvalidInput(f"TARGET {target!r} needs to be callable, got an object of type {type(value).__name__}.")

    def answer(points: object) -> object:
        try:
            return value(points)
        except SystemExit as error:
            # Otherwise the model would choose our exit code.
            raise OracleFailed(f"the oracle left the program with sys.exit({error.code!r}).") from error

    return answer


def checked_sizes(model: object, inputs: int | None, outputs: int | None) -> tuple[int | None, int | None]:
    """Check the sizes that were given against those that the model knows.

    Raises:
        InvalidInput: if they differ, or are missing.
    """
    from unweave.networks.network import Network
    from unweave.oracles.models.kinds import knows_inputs
    from unweave.oracles.oracle import Oracle

    if isinstance(model, Network):
        for name, given, needed in (("inputs", inputs, model.inputs), ("outputs", outputs, model.outputs)):
            if given not in (None, needed):
                raise InvalidInput(f"the network has {needed} {name}, but --{name} says {given}: leave it out.")
    elif inputs is None and not isinstance(model, Oracle | Path) and not knows_inputs(model):
        raise InvalidInput("a function needs --inputs, the number of its inputs.")
    return inputs, outputs
