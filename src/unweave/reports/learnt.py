"""What a learner found: in words and tables, as a document, and as a run folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.reports import text
from unweave.reports.files import FORMAT, FORMAT_VERSION, NETWORK, Document, network_shape, plain, write_documents

if TYPE_CHECKING:
    from unweave.networks.network import Network
    from unweave.result import Result

KIND = "learnt"
SHOWN_NEURONS, SHOWN_WEIGHTS = 12, 6
# What a level of a quadratic network may read beside the squares of the features of a level.
SOURCES = {0: "inputs", 1: "squares of inputs"}


def report(found: "Result") -> RenderableType:
    """Everything that a user may want to know, most important first."""
    parts: list[RenderableType] = [text.outcome(found)]
    if found.network is not None:
        parts += network_tables(found.network)
    if found.certificate is not None:
        parts.append(certificate_table(found))
    if found.diagnostics:
        parts.append(text.diagnostics_table(found.diagnostics))
    parts.append(cost_table(found))
    if found.notes:
        parts.append(text.notes(found))
    return text.spaced(parts)


def network_tables(network: "Network | QuadraticDenseNet") -> list[RenderableType]:
    """What kind of network it is, and some of its numbers."""
    if isinstance(network, QuadraticDenseNet):
        return [levels_table(network)]
    return [text.network_table(network), neurons_table(network)]


def levels_table(network: QuadraticDenseNet) -> Table:
    """Features of every level of a quadratic network, what they read, and how much they weigh in the output."""
    table = text.facts("level")
    for header in ("reads", "weight", "size of its map"):
        table.add_column(header)
    table.columns[1].header = "features"
    wiring = network.wiring
    for number, (level, width, sources) in enumerate(
        zip(network.levels, wiring.widths, wiring.sources, strict=True), start=FIRST_LEVEL
    ):
        names = ", ".join(SOURCES.get(source, f"level {source}") for source in sources)
        size = float(np.linalg.norm(level.features))
        table.add_row(str(number), str(width), names, f"{level.weight:.6g}", f"{size:.6g}")
    linear = "none" if network.linear is None else f"size {float(np.linalg.norm(network.linear)):.6g}"
    table.add_row("linear part", linear, "inputs")
    table.add_row("constant", f"{network.intercept:.6g}")
    return table


def shape_of(network: "Network | QuadraticDenseNet") -> Document:
    """The sizes of a network, without its numbers."""
    if isinstance(network, QuadraticDenseNet):
        wiring = network.wiring
        return {
            "kind": "quadratic",
            "inputs": wiring.inputs,
            "features": list(wiring.widths),
            "connections": [list(sources) for sources in wiring.sources],
            "has_linear_part": network.linear is not None,
            "parameters": network.parameters,
        }
    return network_shape(network)


def neurons_table(network: "Network") -> Table:
    """Weights and bias of the first neurons, and their weight in the output if there is one output above them."""
    hidden, *above = network.layers
    has_output = len(above) == 1 and network.outputs == 1
    names = [*(["output weight"] if has_output else []), "bias", "weights"]
    table = text.facts("neuron")
    table.columns[1].header = names[0]
    for name in names[1:]:
        table.add_column(name)
    for index in range(min(hidden.neurons, SHOWN_NEURONS)):
        entries = " ".join(f"{entry:.4f}" for entry in hidden.weights[index][:SHOWN_WEIGHTS])
        more = " ..." if hidden.inputs > SHOWN_WEIGHTS else ""
        outgoing = [f"{float(above[0].weights[0, index]):.6f}"] if has_output else []
        table.add_row(str(index), *outgoing, f"{float(hidden.biases[index]):.6f}", entries + more)
    if hidden.neurons > SHOWN_NEURONS:
        table.add_row("...", f"{hidden.neurons - SHOWN_NEURONS} more")
    return table


def certificate_table(found: "Result") -> Table:
    """What may be claimed, in plain words."""
    table = text.facts("certificate")
    for name, words in found.certificate.statements() if found.certificate is not None else ():
        table.add_row(Text(name), Text(words))
    return table


def cost_table(found: "Result") -> Table:
    """Samples, and the time of every stage."""
    table = text.facts("cost")
    table.columns[1].justify = "right"
    table.add_row("samples", f"{found.samples:,}")
    for stage, seconds in found.seconds.items():
        table.add_row(Text(stage), f"{seconds:.2f} s")
    table.add_row("all stages", f"{sum(found.seconds.values()):.2f} s")
    return table


def as_document(found: "Result") -> Document:
    """The result as a dictionary for JSON; of the network its shape, not its numbers."""
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": KIND,
        "outcome": found.outcome.value,
        "reason": found.reason,
        "network": None if found.network is None else shape_of(found.network),
        "certificate": None if found.certificate is None else plain(vars(found.certificate)),
        "diagnostics": [plain(vars(each)) | {"verdict": each.verdict.value} for each in found.diagnostics],
        "samples": int(found.samples),
        "notes": list(found.notes),
        "seconds": plain(found.seconds),
    }


def write_run(folder: str | Path, found: "Result", settings: Mapping[str, Any], *, overwrite: bool = False) -> Path:
    """Write the network, the result and the settings of a run.

    Raises:
        InvalidInput: if the folder can't be used, or the settings can't be written as JSON.
    """
    networks = {NETWORK: found.network}
    return write_documents(folder, networks, as_document(found), settings, overwrite=overwrite)
