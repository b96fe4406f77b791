"""An identification in words and tables, for the terminal.

Every number is shown as it was measured. Texts that come from elsewhere (reasons, advice, names) are
`Text` objects, so that brackets in them are never read as markup.
"""

import math
from typing import TYPE_CHECKING

from rich import box
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unweave.result import Outcome, Verdict

if TYPE_CHECKING:
    from unweave.certificates.certify import Certificate
    from unweave.networks.network import Layer, Network
    from unweave.networks.symmetries import Match
    from unweave.result import Diagnostic, Result

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
# Decimals of numbers of size one that float64 can hold.
DECIMALS = 15
SHOWN_NEURONS = 4


def report(found: "Result") -> RenderableType:
    """Everything that a user may want to know about a run, most important first."""
    parts: list[RenderableType] = [outcome(found)]
    if found.network is not None:
        parts.append(network_table(found.network, found.equivalent_activations))
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


def spaced(parts: list[RenderableType]) -> RenderableType:
    """The parts below each other, with an empty line between."""
    return Group(*[line for part in parts for line in (part, Text())][:-1])


def outcome(found: "Result") -> Text:
    """The outcome, coloured, and the reason for it."""
    return Text.assemble((found.outcome.value, OUTCOME_STYLES[found.outcome]), ": ", found.reason)


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


def architecture(network: "Network") -> str:
    """Sizes and activations of all layers at a glance, such as ``50 -> 50 tanh -> 25 tanh -> 10``."""
    return " -> ".join([str(network.inputs), *(_layer(layer) for layer in network.layers)])


def first_layer_table(layer: "Layer") -> Table:
    """What is known of a network that is not shallow."""
    table = facts("first layer")
    table.add_row("inputs", str(layer.inputs))
    table.add_row("neurons found", str(layer.neurons))
    table.add_row("directions", "exact")
    table.add_row("lengths and biases", "as well as the reason above says")
    return table


def certificate_table(certificate: "Certificate") -> Table:
    """What may be claimed about the network, in plain words."""
    table = facts("certificate")
    spread = "of the spread of the answers"
    table.add_row("largest error", f"{number(certificate.largest_error)} {spread}, on "
                  f"{certificate.fresh_queries} fresh queries that no fit has seen")  # fmt: skip
    table.add_row("coverage", f"at least {percent(certificate.coverage)} of the domain has no larger error "
                  f"(confidence {percent(certificate.confidence)})")  # fmt: skip
    table.add_row("noise of one answer", f"{number(certificate.noise)} {spread}")
    if certificate.is_isolated:
        table.add_row("parameter radius", f"{number(certificate.radius)}: every parameter of the exact "
                      "network is this close (relative)")  # fmt: skip
        table.add_row("isolation", _isolation(certificate))
    else:
        table.add_row("parameter radius", "none: these answers do not pin the parameters down")
    if certificate.is_singular_estimated:
        table.add_row("basis of the two", "an estimate of the smallest singular value, not a bound")
    return table


def diagnostics_table(diagnostics: "tuple[Diagnostic, ...]") -> Table:
    """Every assumption that was checked."""
    table = _table()
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
    """Queries, queries per parameter and the time of every stage."""
    table = facts("cost")
    table.columns[1].justify = "right"
    if found.route:
        table.add_row("route", found.route)
    table.add_row("queries", f"{found.queries:,}")
    if found.network is not None:
        table.add_row("queries per parameter", f"{found.queries / found.network.parameters:.1f}")
    for stage, seconds in found.seconds.items():
        table.add_row(Text(stage), f"{seconds:.2f} s")
    table.add_row("all stages", f"{sum(found.seconds.values()):.2f} s")
    return table


def notes(found: "Result") -> RenderableType:
    """Facts about the network that a user should know."""
    return Group(*(Text.assemble(("note: ", "bold"), note) for note in found.notes))


def errors_table(match: "Match", *, tolerance: float) -> Table:
    """Largest relative error of every kind of parameter, after all symmetries have been taken out."""
    *hidden, output = match.truth.layers
    counts = {
        "weights": sum(layer.weights.size for layer in hidden),
        "biases": sum(layer.biases.size for layer in hidden),
        "output weights": output.weights.size,
        "offset": output.biases.size,
        "linear part": output.neurons * match.truth.inputs,
    }
    table = facts("largest relative error")
    table.columns[1].justify = "right"
    for name, error in error_groups(match).items():
        style = "green" if error <= tolerance else "bold red"
        table.add_row(f"{name} ({counts[name]:,})", Text(number(error), style))
    return table


def error_groups(match: "Match") -> dict[str, float]:
    """The errors of a match by name; the linear part only where one of the networks has one."""
    errors = match.errors
    groups = {
        "weights": errors.weights,
        "biases": errors.biases,
        "output weights": errors.output_weights,
        "offset": errors.offset,
        "linear part": errors.skip,
    }
    if match.truth.skip is None and match.aligned.skip is None:
        del groups["linear part"]
    return groups


def neurons_table(match: "Match", *, shown: int) -> Table:
    """The first neurons of a planted network above the recovered ones; digits are green while they agree."""
    planted, recovered = match.truth.layers, match.aligned.layers
    table = _table()
    table.add_column("neuron", justify="right")
    table.add_column()
    for name in ("scale", "bias", "output weight" if match.truth.outputs == 1 else "weight to output 1"):
        table.add_column(name, justify="right", no_wrap=True)
    for index in range(min(shown, match.truth.widths[0])):
        pairs = [
            (math.hypot(*planted[0].weights[index]), math.hypot(*recovered[0].weights[index])),
            (float(planted[0].biases[index]), float(recovered[0].biases[index])),
            (float(planted[1].weights[0, index]), float(recovered[1].weights[0, index])),
        ]
        table.add_row(str(index + 1), "planted", *(decimals(true) for true, _ in pairs))
        table.add_row("", "recovered", *(agreeing(found, true) for true, found in pairs))
        differences = [number(abs(found - true)) for true, found in pairs]
        table.add_row("", "difference", *differences, style="dim", end_section=True)
    return table


def demo_report(secret: "Network", found: "Result", match: "Match | None", *, tolerance: float) -> RenderableType:
    """A planted network and what was recovered of it; `match` is None if nothing was."""
    parts: list[RenderableType] = [_demo_sentence(secret, found, match, tolerance=tolerance)]
    tables: list[RenderableType] = [cost_table(found)]
    if match is not None and match.is_comparable:
        parts.append(neurons_table(match, shown=SHOWN_NEURONS))
        parts.append(_demo_remark(secret, match))
        tables.insert(0, errors_table(match, tolerance=tolerance))
    if found.first_layer is not None:
        parts.append(first_layer_table(found.first_layer))
    if found.certificate is not None:
        parts.append(certificate_table(found.certificate))
    parts.append(Columns(tables, padding=(0, 8)))
    if found.notes:
        parts.append(notes(found))
    return spaced(parts)


def _demo_sentence(secret: "Network", found: "Result", match: "Match | None", *, tolerance: float) -> Text:
    if match is None:
        return outcome(found)
    error = number(match.largest_error)
    if found.is_identified and match.largest_error <= tolerance:
        return Text.assemble(
            (found.outcome.value, OUTCOME_STYLES[found.outcome]),
            f": from {found.queries:,} answers Unweave found the activation ({match.truth.activations[0]}), "
            f"the number of neurons ({match.truth.widths[0]:,}) and all {secret.parameters:,} parameters of "
            f"a secret network of which it knew only the number of inputs ({secret.inputs:,}); the largest "
            "relative error of a parameter is ",
            (error, "bold"),
            ".",
        )
    remark = f"a parameter differs by a relative {error}." if match.is_comparable else str(match.reason)
    return Text.assemble(outcome(found), ("\nThis is not the secret network", "bold red"), f": {remark}")


def _demo_remark(secret: "Network", match: "Match") -> Text:
    hidden = match.truth.widths[0]
    remark = f"{min(SHOWN_NEURONS, hidden)} of {hidden} neurons; scale is the length of a neuron's weights."
    planted, written = secret.activations[0], match.truth.activations[0]
    if planted != written:
        remark += f" A {planted} network is a {written} network in other units, and is shown as one."
    return Text(remark, "dim")


def verify_report(match: "Match | None", *, tolerance: float) -> RenderableType:
    """Whether a recovered network is the true one; `match` is None if there is no recovered network."""
    if match is None or not match.is_comparable:
        reason = "the run holds no network." if match is None else str(match.reason)
        return Text.assemble(("not the same network", "bold red"), ": ", reason)
    is_same = match.largest_error <= tolerance
    headline = Text.assemble(
        ("the same network", "bold green") if is_same else ("not the same network", "bold red"),
        f": the largest relative error of a parameter is {number(match.largest_error)}, "
        f"the tolerance {number(tolerance)}.",
    )
    return spaced([headline, errors_table(match, tolerance=tolerance)])


def decimals(value: float) -> str:
    """All decimals that float64 holds for a number of size one."""
    return f"{value:.{DECIMALS}f}"


def agreeing(found: float, true: float) -> Text:
    """The decimals of a recovered number, green as far as they agree with those of the true one."""
    digits, truth = decimals(found), decimals(true)
    agree = 0
    while digits[agree : agree + 1] == truth[agree : agree + 1] != "":
        agree += 1
    return Text.assemble((digits[:agree], "green"), (digits[agree:], "yellow"))


def number(value: float) -> str:
    """Short form of a measured number; `-` where there is none."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value == 0 or (0.1 <= abs(value) < 10_000):
        return f"{value:.3g}" if abs(value) < 1_000 else f"{value:.0f}"
    return f"{value:.1e}"


def percent(share: float) -> str:
    """A share as percentage, rounded down: 0.99997 is not called 100%."""
    return f"{math.floor(share * 1000) / 10:g}%"


def _isolation(certificate: "Certificate") -> str:
    if math.isinf(certificate.isolation):
        return "infinite: no other network of this architecture gives these answers"
    return f"{number(certificate.isolation)}: any other network with these answers is farther away than this"


def _layer(layer: "Layer") -> str:
    return f"{layer.neurons} {layer.activation}".removesuffix(" identity")


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, header_style="bold")


def facts(title: str) -> Table:
    """A table of names and values under a title."""
    table = _table()
    table.add_column(title, style="cyan", no_wrap=True)
    table.add_column()
    return table
