"""A result in words and tables, whether it came from queries or from samples.

Every number is shown as it was measured. Texts that come from elsewhere (reasons, advice, names) are
`Text` objects, so that brackets in them are never read as markup.
"""

from io import StringIO
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.result import Outcome, Verdict, number

if TYPE_CHECKING:
    from unweave.networks.network import Layer, Network
    from unweave.result import Diagnostic, Evidence, Result

OUTCOME_STYLES = {
    Outcome.IDENTIFIED: "bold green",
    Outcome.PARTLY_IDENTIFIED: "bold yellow",
    Outcome.NOT_IDENTIFIED: "bold red",
}
VERDICT_STYLES = {
    Verdict.OK: "green",
    Verdict.WEAK: "yellow",
    Verdict.FAIL: "bold red",
    Verdict.NOT_APPLICABLE: "dim",
}
WIDTH = 100
SHOWN_NEURONS, SHOWN_WEIGHTS = 12, 6
# What a level of a quadratic network may read beside the squares of the features of a level.
SOURCES = {0: "inputs", 1: "squares of inputs"}


def report(found: "Result") -> RenderableType:
    """Everything that a user may want to know about a result, most important first."""
    parts: list[RenderableType] = [outcome(found)]
    if found.network is not None:
        if found.is_imitation:
            parts.append(
                Text("The network below answers like the model. Its neurons are not claimed to be the model's.")
            )
        parts += network_tables(found.network, found.equivalent_activations, found.input_names)
    if found.first_layer is not None:
        parts.append(first_layer_table(found.first_layer))
    if found.certificate is not None:
        parts.append(certificate_table(found.certificate))
    if found.diagnostics:
        parts.append(diagnostics_table(found.diagnostics))
    parts.append(cost_table(found))
    if found.notes:
        parts.append(notes(found))
    return spaced(parts)


def as_text(renderable: RenderableType) -> str:
    """What a terminal of 100 columns would show, without colours."""
    file = StringIO()
    Console(file=file, width=WIDTH, color_system=None, force_terminal=False, highlight=False).print(renderable)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def summary(found: "Result") -> str:
    """The result in five short lines."""
    network = "none" if found.network is None else architecture(found.network)
    if found.network is not None:
        network += f", {found.network.parameters:,} parameters"
        network = f"answers alike: {network}" if found.is_imitation else network
    elif found.first_layer is not None:
        network = f"only its first layer, {found.first_layer.inputs} -> {_layer(found.first_layer)}"
    claims = [] if found.certificate is None else found.certificate.statements()
    certificate = "; ".join(f"{name}: {words}" for name, words in claims) or "none"
    asked = [f"{count:,} {name}" for count, name in ((found.queries, "queries"), (found.samples, "samples")) if count]
    cost = ", ".join([*(asked or ["0 queries"]), f"{sum(found.seconds.values()):.2f} s"])
    lines = {"reason": found.reason, "network": network, "certificate": certificate, "cost": cost}
    rows = [_shortened(f"  {name + ':':<12} {' '.join(words.split())}") for name, words in lines.items()]
    return "\n".join([f"Result: {found.outcome.value}", *rows])


def spaced(parts: list[RenderableType]) -> RenderableType:
    """The parts below each other, with an empty line between."""
    return Group(*[line for part in parts for line in (part, Text())][:-1])


def outcome(found: "Result") -> Text:
    """The outcome, coloured, and the reason for it."""
    return Text.assemble((found.outcome.value, OUTCOME_STYLES[found.outcome]), ": ", found.reason)


def network_tables(
    network: "Network | QuadraticDenseNet",
    equivalent_activations: tuple[str, ...] = (),
    input_names: tuple[str, ...] = (),
) -> list[RenderableType]:
    """What kind of network it is, and some of its numbers."""
    if isinstance(network, QuadraticDenseNet):
        return [levels_table(network)]
    tables: list[RenderableType] = [network_table(network, equivalent_activations)]
    return [*tables, neurons_table(network, input_names)] if network.layers[0].neurons else tables


def network_table(network: "Network", equivalent_activations: tuple[str, ...] = ()) -> Table:
    """What kind of network it is."""
    table = facts("network")
    table.add_row("architecture", Text(architecture(network)))
    inner = network.activations[:-1] or network.activations
    names = ", ".join(dict.fromkeys(str(activation) for activation in inner))
    table.add_row("activation", Text(names or "none"))
    if equivalent_activations:
        table.add_row("the same network can be written with", Text(", ".join(equivalent_activations)))
    table.add_row("inputs", str(network.inputs))
    if len(network.layers) == 1:
        # A layer by itself, such as the lowest one under something that is not known.
        table.add_row("neurons", Text(_layer(network.layers[0])))
        table.add_row("parameters", str(network.parameters))
        return table
    if len(network.widths) <= 1:
        table.add_row("neurons", str(sum(network.widths)))
    else:
        for index, layer in enumerate(network.layers[:-1]):
            table.add_row(f"neurons of hidden layer {index + 1}", Text(_layer(layer)))
    table.add_row("outputs", Text(_layer(network.layers[-1])))
    table.add_row("linear part (skip)", "no" if network.skip is None else "yes")
    table.add_row("parameters", str(network.parameters))
    return table


def neurons_table(network: "Network", input_names: tuple[str, ...] = ()) -> Table:
    """Weights and bias of the first neurons, and their weight in the output if there is one output above them."""
    hidden, *above = network.layers
    has_output = len(above) == 1 and network.outputs == 1
    names = [*(["output weight"] if has_output else []), "bias", "weights"]
    table = facts("neuron")
    table.columns[1].header = names[0]
    for name in names[1:]:
        table.add_column(name)
    if input_names:
        more = ", ..." if len(input_names) > SHOWN_WEIGHTS else ""
        table.columns[-1].header = Text(f"weights of {', '.join(input_names[:SHOWN_WEIGHTS])}{more}")
    for index in range(min(hidden.neurons, SHOWN_NEURONS)):
        entries = " ".join(f"{entry:.4f}" for entry in hidden.weights[index][:SHOWN_WEIGHTS])
        more = " ..." if hidden.inputs > SHOWN_WEIGHTS else ""
        outgoing = [f"{float(above[0].weights[0, index]):.6f}"] if has_output else []
        table.add_row(str(index), *outgoing, f"{float(hidden.biases[index]):.6f}", entries + more)
    if hidden.neurons > SHOWN_NEURONS:
        table.add_row("...", f"{hidden.neurons - SHOWN_NEURONS} more")
    return table


def levels_table(network: QuadraticDenseNet) -> Table:
    """Features of every level of a quadratic network, what they read, and how much they weigh in the output."""
    table = facts("level")
    for header in ("reads", "weight", "size of its map"):
        table.add_column(header)
    table.columns[1].header = "features"
    wiring = network.wiring
    for index, (level, width, sources) in enumerate(
        zip(network.levels, wiring.widths, wiring.sources, strict=True), start=FIRST_LEVEL
    ):
        names = ", ".join(SOURCES.get(source, f"level {source}") for source in sources)
        table.add_row(str(index), str(width), names, f"{level.weight:.6g}", f"{_size(level.features):.6g}")
    linear = "none" if network.linear is None else f"size {_size(network.linear):.6g}"
    table.add_row("linear part", linear, "inputs")
    table.add_row("constant", f"{network.intercept:.6g}")
    return table


def architecture(network: "Network | QuadraticDenseNet") -> str:
    """Sizes and activations of all layers at a glance, such as ``50 -> 50 tanh -> 25 tanh -> 10``."""
    if isinstance(network, QuadraticDenseNet):
        return " -> ".join([str(network.inputs), *(f"{width} squared" for width in network.wiring.widths)])
    return " -> ".join([str(network.inputs), *(_layer(layer) for layer in network.layers)])


def first_layer_table(layer: "Layer") -> Table:
    """What is known of a network that is not shallow."""
    table = facts("first layer")
    table.add_row("inputs", str(layer.inputs))
    table.add_row("neurons found", str(layer.neurons))
    table.add_row("directions", "exact")
    table.add_row("lengths and biases", "as well as the reason above says")
    return table


def certificate_table(certificate: "Evidence") -> Table:
    """What may be claimed, in plain words."""
    table = facts("certificate")
    for name, words in certificate.statements():
        table.add_row(Text(name), Text(words))
    return table


def diagnostics_table(diagnostics: "tuple[Diagnostic, ...]") -> Table:
    """Every assumption that was checked."""
    table = plain_table()
    table.add_column("assumption that was checked", ratio=2)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("threshold", justify="right", no_wrap=True)
    table.add_column("verdict")
    table.add_column("if it is not ok", ratio=3)
    shown = ""
    for each in diagnostics:
        verdict = Text(each.verdict.value, VERDICT_STYLES[each.verdict])
        # Several numbers may be about one assumption: what to do about it is said once.
        advice = "" if each.advice == shown else each.advice
        table.add_row(Text(each.name), number(each.value), number(each.threshold), verdict, Text(advice))
        shown = each.advice
    return table


def cost_table(found: "Result") -> Table:
    """Queries or samples, queries per parameter and the time of every stage."""
    table = facts("cost")
    table.columns[1].justify = "right"
    if found.route:
        table.add_row("route", found.route)
    if found.samples:
        table.add_row("samples", f"{found.samples:,}")
    if found.queries or not found.samples:
        table.add_row("queries", f"{found.queries:,}")
    if found.queries and found.network is not None:
        table.add_row("queries per parameter", f"{found.queries / found.network.parameters:.1f}")
    for stage, seconds in found.seconds.items():
        table.add_row(Text(stage), f"{seconds:.2f} s")
    table.add_row("all stages", f"{sum(found.seconds.values()):.2f} s")
    return table


def notes(found: "Result") -> RenderableType:
    """Facts about the network that a user should know."""
    return Group(*(Text.assemble(("note: ", "bold"), note) for note in found.notes))


def plain_table() -> Table:
    """A table without frames."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, header_style="bold")


def facts(title: str) -> Table:
    """A table of names and values under a title."""
    table = plain_table()
    table.add_column(title, style="cyan", no_wrap=True)
    table.add_column()
    return table


def _layer(layer: "Layer") -> str:
    return f"{layer.neurons} {layer.activation}".removesuffix(" identity")


def _size(entries: np.ndarray) -> float:
    return float(np.linalg.norm(entries))


def _shortened(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 4].rsplit(" ", 1)[0] + " ..."
