"""Commands that ask: `demo`, `identify` and `verify`."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unweave.cli.console import (
    IDENTIFIED,
    NOT_IDENTIFIED,
    AsJson,
    Overwrite,
    Quiet,
    Seed,
    exit_code,
    progress,
    show,
    show_json,
)
from unweave.cli.imports import named_object
from unweave.exceptions import InvalidInput, OracleFailed
from unweave.writing import envelope

if TYPE_CHECKING:
    from unweave.networks.network import Network
    from unweave.oracles.oracle import Domain, Oracle
    from unweave.result import Result

# Largest relative error of a parameter up to which two networks are called the same.
TOLERANCE = 1e-8


def demo(
    inputs: Annotated[int, typer.Option(min=1, help="Inputs of the secret network.")] = 10,
    neurons: Annotated[int, typer.Option(min=1, help="Its hidden neurons.")] = 14,
    outputs: Annotated[int, typer.Option(min=1, help="Its outputs.")] = 1,
    activation: Annotated[str, typer.Option(help="Its activation: tanh, gelu, softplus, sin, ...")] = "tanh",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Plant a secret network, recover it from its answers alone, and compare digit by digit."""
    with progress() as tell:
        tell("loading", 0)
        import numpy as np

        import unweave
        from unweave.activations import activation_named
        from unweave.networks.planted import general_network

        secret = general_network(
            np.random.default_rng(seed),
            inputs=inputs,
            neurons=neurons,
            outputs=outputs,
            activation=activation_named(activation),
        )
        # A plain function: the pipeline gets to see answers, never the network, its width or its activation.
        found = unweave.identify(lambda points: secret(points), inputs=inputs, seed=seed, progress=tell)
        match = None if found.network is None else unweave.match(found.network, secret)
    from unweave.reports.comparison import demo_report, match_document

    if as_json:
        from unweave.reports.json import as_document, network_document

        document = envelope("demo") | {
            "planted": network_document(secret),
            "found": as_document(found),
            "match": match_document(match),
        }
        show_json(document)
    else:
        show(demo_report(secret, found, match, tolerance=TOLERANCE))
    is_recovered = found.is_identified and match is not None and match.largest_error <= TOLERANCE
    raise typer.Exit(IDENTIFIED if is_recovered else exit_code(found) or NOT_IDENTIFIED)


def identify(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="module:function (found from the current directory), or a saved network file.",
        ),
    ],
    inputs: Annotated[int | None, typer.Option(min=1, help="Number of inputs; a file knows it.")] = None,
    outputs: Annotated[int | None, typer.Option(min=1, help="Number of outputs; learnt if omitted.")] = None,
    activation: Annotated[str | None, typer.Option(help="Hidden activation; found if omitted.")] = None,
    neurons: Annotated[int | None, typer.Option(min=1, help="Hidden neurons; found if omitted.")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Largest number of queries.")] = None,
    seed: Seed = 0,
    scale: Annotated[float | None, typer.Option(help="How far from the center the function is interesting.")] = None,
    center: Annotated[float | None, typer.Option(help="Where the function is interesting.")] = None,
    box: Annotated[
        tuple[float, float] | None, typer.Option(metavar="LOWER UPPER", help="Ask only between these bounds.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write network, result and settings here.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Recover the network behind a Python function, or say why that is not possible.

    The function gets an array of one row per point and returns one row of answers per point.
    """
    settings: dict[str, Any] = {
        "target": target,
        "inputs": inputs,
        "outputs": outputs,
        "activation": activation,
        "neurons": neurons,
        "budget": budget,
        "seed": seed,
        "scale": scale,
        "center": center,
        "box": None if box is None else list(box),
    }
    with progress(is_shown=not quiet) as tell:
        tell("loading", 0)
        found = _identify(settings, out, overwrite=overwrite, tell=tell)
    if as_json:
        from unweave.reports.json import as_document

        show_json(as_document(found))
    else:
        from unweave.reports.text import outcome, report

        show(outcome(found) if quiet else report(found))
    if out is not None:
        from unweave.reports.files import write_run

        # After the report, so that a full disk does not cost the result.
        write_run(out, found, settings, overwrite=overwrite)
        if not (quiet or as_json):
            typer.echo(f"The run is in {out}", err=True)
    raise typer.Exit(exit_code(found))


def verify(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or a saved network file.")],
    against: Annotated[Path, typer.Option(metavar="FILE", help="The true network: a file, or another run.")],
    tolerance: Annotated[float, typer.Option(help="Largest relative error of a parameter.")] = TOLERANCE,
    as_json: AsJson = False,
) -> None:
    """Compare a recovered network with the true one, up to the symmetries that no answer can tell."""
    if not 0.0 <= tolerance < float("inf"):
        raise InvalidInput(f"verify needs a tolerance of at least 0, got {tolerance}.")
    from unweave.networks.symmetries import match

    recovered, truth = _read_network(folder), _read_network(against)
    if truth is None:
        raise InvalidInput(f"the run {against} holds no network: compare with another one.")
    found = None if recovered is None else match(recovered, truth)
    is_same = found is not None and found.largest_error <= tolerance
    from unweave.reports.comparison import match_document, verify_report

    if as_json:
        show_json(envelope("verification") | {"is_same": is_same, "tolerance": tolerance} | match_document(found))
    else:
        show(verify_report(found, tolerance=tolerance))
    raise typer.Exit(IDENTIFIED if is_same else NOT_IDENTIFIED)


def _identify(
    settings: dict[str, Any], out: Path | None, *, overwrite: bool, tell: Callable[[str, int], None]
) -> "Result":
    """Check everything that can be checked before a query is spent, then ask."""
    import unweave
    from unweave.reports.files import check_folder

    domain = _domain(settings["scale"], settings["center"], settings["box"])
    # What a model prints must not get between the results.
    with redirect_stdout(sys.stderr):
        model = _load_target(settings["target"])
        inputs, outputs = _sizes(model, settings["inputs"], settings["outputs"])
        if out is not None:
            check_folder(out, overwrite=overwrite)
        return unweave.identify(
            model,
            inputs=inputs,
            outputs=outputs,
            activation=settings["activation"],
            neurons=settings["neurons"],
            domain=domain,
            budget=settings["budget"],
            seed=settings["seed"],
            progress=tell,
        )


def _domain(scale: float | None, center: float | None, box: list[float] | None) -> "Domain | None":
    if scale is None and center is None and box is None:
        return None
    from unweave.oracles.oracle import Box, Everywhere

    if box is None:
        return Everywhere(1.0 if scale is None else scale, 0.0 if center is None else center)
    if scale is not None or center is not None:
        raise InvalidInput("a box says where to ask already: leave --scale and --center out, or leave --box out.")
    return Box(*box)


def _load_target(target: str) -> "Network | Oracle | Callable[..., object]":
    """The network of a file, or the function that ``module:function`` names."""
    if target.endswith(".safetensors") or Path(target).exists():
        network = _read_network(Path(target))
        if network is None:
            raise InvalidInput(f"the run {target} holds no network: name another.")
        return network
    if ":" not in target:
        raise InvalidInput(
            f"TARGET needs to be module:function or the path of a saved network (.safetensors), got {target!r}."
        )
    return _checked_target(target, named_object(target, name="TARGET"))


def _checked_target(target: str, value: Any) -> "Network | Oracle | Callable[..., object]":
    from unweave.networks.network import Network
    from unweave.oracles.oracle import Oracle

    if isinstance(value, Network | Oracle):
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


def _sizes(model: object, inputs: int | None, outputs: int | None) -> tuple[int | None, int | None]:
    """Check the sizes that were given against those that the model knows."""
    from unweave.networks.network import Network
    from unweave.oracles.oracle import Oracle

    if isinstance(model, Network):
        for name, given, needed in (("inputs", inputs, model.inputs), ("outputs", outputs, model.outputs)):
            if given not in (None, needed):
                raise InvalidInput(f"the network has {needed} {name}, but --{name} says {given}: leave it out.")
    elif inputs is None and not isinstance(model, Oracle):
        raise InvalidInput("identify needs --inputs, the number of inputs of the function.")
    return inputs, outputs


def _read_network(path: Path) -> "Network | None":
    """The network of a file or of a run folder; None for a run that found none."""
    from unweave.networks.network import Network
    from unweave.reports.files import read_network

    found = read_network(path)
    if found is not None and not isinstance(found, Network):
        raise InvalidInput(f"{path} holds a quadratic network: name a network of layers.")
    return found
