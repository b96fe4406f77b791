"""What TARGET and the options beside it name: a model as an oracle, with its domain, its journal and its server."""

from collections.abc import Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unweave.cli.console import numbers
from unweave.exceptions import InvalidInput, OracleFailed
from unweave.oracles.models.names import is_address, is_object, named_object

if TYPE_CHECKING:
    from unweave.oracles.journal.oracle import Journal
    from unweave.oracles.oracle import Domain, Oracle

# Options that only servers have, as they are called in Python.
SERVER_OPTIONS = ("headers", "request", "answer", "is_binary", "rate", "max_batch", "concurrency", "timeout")
TRANSPORT_OPTIONS = ("rate", "max_batch", "concurrency", "timeout")


def shown_target(target: str) -> str:
    """Write a target as files may hold it: without what is secret in an address."""
    if not is_address(target):
        return target
    from unweave.oracles.http.secrets import shown_address

    return shown_address(target)


def headers_of(lines: list[str]) -> dict[str, str]:
    """Read headers that a user wrote as ``Name: value``; values may name variables of the environment.

    Raises:
        InvalidInput: if one has no name.
    """
    headers = {}
    for line in lines:
        name, mark, value = line.partition(":")
        if not mark or not name.strip():
            # The line may be a secret: it is not repeated.
            raise InvalidInput("--header needs a name and a value, such as 'Authorization: Bearer $TOKEN'.")
        headers[name.strip()] = value.strip()
    return headers


def oracle_of_target(
    target: str,
    settings: Mapping[str, Any],
    *,
    headers: Mapping[str, str],
    domain: "Domain | None",
    journal: "Journal | None",
) -> "Oracle":
    """Make the oracle that asks what a target names.

    Args:
        target: as the user wrote it.
        settings: all options of the command.
        headers: for a server.
        domain: where the model may be asked.
        journal: where answers are kept.

    Raises:
        InvalidInput: if it names nothing that can be asked, or options contradict it.
    """
    from unweave.oracles.oracle import as_oracle

    if is_address(target):
        server = _server_of(target, settings, headers, domain)
        return as_oracle(server, inputs=None, outputs=None, domain=None, budget=None, journal=journal)
    given = [name for name in SERVER_OPTIONS if (headers if name == "headers" else settings[name]) not in (None, {})]
    if given:
        option = {"headers": "header", "is_binary": "binary"}.get(given[0], given[0]).replace("_", "-")
        raise InvalidInput(f"--{option} belongs to a server, but TARGET {target!r} is none: leave it out.")
    if _is_table(target):
        return _table_of(target, settings, domain)
    model = _load_target(target)
    inputs, outputs = _sizes(model, settings["inputs"], settings["outputs"], domain)
    return as_oracle(
        model,
        inputs=inputs,
        outputs=outputs,
        domain=domain,
        budget=settings["budget"],
        output=settings["output"],
        journal=journal,
    )


def domain_of(settings: Mapping[str, Any]) -> "Domain | None":
    """Read where a model may be asked: one number for all inputs, one for each with commas between, or typical rows.

    Raises:
        InvalidInput: if these are no numbers, or contradict each other.
    """
    scale, center, box, like = (settings[name] for name in ("scale", "center", "box", "like"))
    if like is not None:
        if (scale, center, box) != (None, None, None):
            raise InvalidInput("--like says where to ask already: leave --scale, --center and --box out.")
        from unweave.cli.ranges import domain_like

        return domain_like(
            Path(like), column_list(settings["columns"]), inputs=settings["inputs"], is_inside=settings["inside"]
        )
    if settings["columns"] is not None and not _is_table(settings["target"]):
        raise InvalidInput("--columns names inputs in a table: give one as TARGET or with --like, or leave it out.")
    if settings["inside"]:
        raise InvalidInput("--inside needs the typical rows whose ranges it means: give --like, or say it with --box.")
    if scale is None and center is None and box is None:
        return None
    from unweave.oracles.oracle import Box, Everywhere

    if box is None:
        return Everywhere(_bounds(scale or "1", "--scale"), _bounds(center or "0", "--center"))
    if scale is not None or center is not None:
        raise InvalidInput("a box says where to ask already: leave --scale and --center out, or leave --box out.")
    return Box(*(_bounds(each, "--box") for each in box))


def _bounds(words: str, option: str) -> Any:
    """One number, or an array of one per input."""
    import numpy as np

    given = numbers(words, float, option)
    return given[0] if len(given) == 1 else np.array(given)


def _server_of(
    target: str, settings: Mapping[str, Any], headers: Mapping[str, str], domain: "Domain | None"
) -> "Oracle":
    from unweave.oracles.http.client import Transport
    from unweave.oracles.http.oracle import HttpOracle

    given = {name: settings[name] for name in TRANSPORT_OPTIONS if settings[name] is not None}
    return HttpOracle(
        target,
        inputs=settings["inputs"],
        outputs=settings["outputs"],
        output=settings["output"],
        headers=headers,
        request=settings["request"],
        answer=settings["answer"],
        is_binary=settings["is_binary"],
        transport=Transport(**given),
        domain=domain,
        budget=settings["budget"],
    )


def _is_table(target: str) -> bool:
    from unweave.oracles.models.kinds import TABLES

    return Path(target).suffix.lower() in TABLES


def _table_of(target: str, settings: Mapping[str, Any], domain: "Domain | None") -> "Oracle":
    from unweave.oracles.models.recorded_answers import RecordedAnswers

    return RecordedAnswers(
        Path(target),
        columns=column_list(settings["columns"]),
        inputs=settings["inputs"],
        outputs=settings["outputs"],
        domain=domain,
        budget=settings["budget"],
    )


def column_list(words: str | None) -> tuple[str, ...]:
    """Read names of columns with commas between; none if nothing was written."""
    return tuple(words.split(",")) if words else ()


def _load_target(target: str) -> Any:
    """The path of an ONNX file, the network of a file, or the model that ``module:name`` or ``file.py:name`` names."""
    from unweave.oracles.models.kinds import FILES

    if Path(target).suffix.lower() in FILES:
        return Path(target)
    if target.endswith(".safetensors") or (target.strip() and Path(target).exists()):
        import unweave
        from unweave.reports.files import read_network

        network = read_network(target)
        if network is None:
            raise InvalidInput(f"the run {target} holds no network: name another.")
        is_layered = isinstance(network, unweave.Network)
        return network if is_layered else unweave.CallableOracle(network, inputs=network.inputs)
    if not is_object(target):
        raise InvalidInput(
            "TARGET needs to be module:function, file.py:function, an ONNX file (.onnx), a table of answers (.csv, "
            f".parquet), an address (http://...) or the path of a saved network (.safetensors), got {target!r}."
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

    @wraps(value)
    def answer(points: object) -> object:
        try:
            return value(points)
        except SystemExit as error:
            # Otherwise the model would choose our exit code.
            raise OracleFailed(f"the oracle left the program with sys.exit({error.code!r}).") from error

    return answer


def _sizes(
    model: object, inputs: int | None, outputs: int | None, domain: "Domain | None"
) -> tuple[int | None, int | None]:
    """Check the sizes that were given against those that the model knows."""
    from unweave.networks.network import Network
    from unweave.oracles.models.kinds import knows_inputs
    from unweave.oracles.oracle import Oracle, inputs_of_domain

    if isinstance(model, Network):
        for name, given, needed in (("inputs", inputs, model.inputs), ("outputs", outputs, model.outputs)):
            if given not in (None, needed):
                raise InvalidInput(f"the network has {needed} {name}, but --{name} says {given}: leave it out.")
    elif inputs is None and not isinstance(model, Oracle | Path) and not knows_inputs(model):
        if inputs_of_domain(domain) is not None:
            return inputs, outputs
        raise InvalidInput("a function needs --inputs, the number of its inputs, or typical rows that say it (--like).")
    return inputs, outputs
