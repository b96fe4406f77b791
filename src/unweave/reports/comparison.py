"""A recovered network beside the true one: for `demo` and `verify`, in words, tables and as a document."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.columns import Columns
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from unweave.networks.network import Network
from unweave.networks.symmetries import Match, match
from unweave.reports.text import (
    OUTCOME_STYLES,
    certificate_table,
    cost_table,
    facts,
    first_layer_table,
    notes,
    outcome,
    plain_table,
    spaced,
)
from unweave.result import number
from unweave.writing import Document, for_json

if TYPE_CHECKING:
    from unweave.networks.quadratic.densenet import QuadraticDenseNet
    from unweave.result import Result

# Decimals of numbers of size one that float64 can hold.
DECIMALS = 15
SHOWN_NEURONS = 4


# Random points at which networks are compared whose parameters have no canonical form.
COMPARED_POINTS = 1_000


@dataclass(frozen=True)
class AnswerMatch:
    """Two networks compared by their answers to random points, as those of quadratic networks tell polynomials apart.

    Args:
        largest_error: of an answer, relative to the spread of the true ones.
        reason: why they can't be compared; None if they can.
    """

    largest_error: float
    reason: str | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether both have the same inputs and outputs."""
        return self.reason is None


AnyMatch = Match | AnswerMatch


def compare(recovered: "Network | QuadraticDenseNet", truth: "Network | QuadraticDenseNet") -> AnyMatch:
    """Compare the parameters of two networks of layers, and the answers of all others."""
    if isinstance(recovered, Network) and isinstance(truth, Network):
        return match(recovered, truth)
    if recovered.inputs != truth.inputs:
        return AnswerMatch(math.inf, f"the inputs differ: {recovered.inputs} and {truth.inputs}.")
    points = np.random.default_rng(0).standard_normal((COMPARED_POINTS, truth.inputs))
    answers, true = recovered(points), truth(points)
    if answers.shape != true.shape:
        return AnswerMatch(math.inf, f"the outputs differ: {answers.shape[1]} and {true.shape[1]}.")
    spread = float(np.std(true)) or float(np.max(np.abs(true))) or 1.0
    return AnswerMatch(float(np.max(np.abs(answers - true))) / spread)


def match_document(match: AnyMatch | None) -> Document:
    """The comparison as a dictionary for JSON; `match` is None if there is no recovered network."""
    if match is None:
        return {"reason": "there is no recovered network.", "largest_error": None, "errors": None}
    return for_json({"reason": match.reason, "largest_error": match.largest_error, "errors": error_groups(match)})


def errors_table(match: AnyMatch, *, tolerance: float) -> Table:
    """Largest relative error of every kind of parameter, after all symmetries have been taken out."""
    counts = {"answers": COMPARED_POINTS} if isinstance(match, AnswerMatch) else _parameter_counts(match)
    table = facts("largest relative error")
    table.columns[1].justify = "right"
    for name, error in error_groups(match).items():
        style = "green" if error <= tolerance else "bold red"
        table.add_row(f"{name} ({counts[name]:,})", Text(number(error), style))
    return table


def _parameter_counts(match: Match) -> dict[str, int]:
    *hidden, output = match.truth.layers
    return {
        "weights": sum(layer.weights.size for layer in hidden),
        "biases": sum(layer.biases.size for layer in hidden),
        "output weights": output.weights.size,
        "offset": output.biases.size,
        "linear part": output.neurons * match.truth.inputs,
    }


def error_groups(match: AnyMatch) -> dict[str, float]:
    """The errors of a match by name; the linear part only where one of the networks has one."""
    if isinstance(match, AnswerMatch):
        return {"answers": match.largest_error}
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


def compared_neurons_table(match: Match, *, shown: int) -> Table:
    """The first neurons of a planted network above the recovered ones; digits are green while they agree."""
    planted, recovered = match.truth.layers, match.aligned.layers
    table = plain_table()
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


def demo_report(secret: "Network", found: "Result", match: Match | None, *, tolerance: float) -> RenderableType:
    """A planted network and what was recovered of it; `match` is None if nothing was."""
    parts: list[RenderableType] = [_demo_sentence(secret, found, match, tolerance=tolerance)]
    tables: list[RenderableType] = [cost_table(found)]
    if match is not None and match.is_comparable:
        parts.append(compared_neurons_table(match, shown=SHOWN_NEURONS))
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


def _demo_sentence(secret: "Network", found: "Result", match: Match | None, *, tolerance: float) -> Text:
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


def _demo_remark(secret: "Network", match: Match) -> Text:
    hidden = match.truth.widths[0]
    remark = f"{min(SHOWN_NEURONS, hidden)} of {hidden} neurons; scale is the length of a neuron's weights."
    planted, written = secret.activations[0], match.truth.activations[0]
    if planted != written:
        remark += f" A {planted} network is a {written} network in other units, and is shown as one."
    return Text(remark, "dim")


def verify_report(match: AnyMatch | None, *, tolerance: float) -> RenderableType:
    """Whether a recovered network is the true one; `match` is None if there is no recovered network."""
    if match is None or not match.is_comparable:
        reason = "the run holds no network." if match is None else str(match.reason)
        return Text.assemble(("not the same network", "bold red"), ": ", reason)
    is_same = match.largest_error <= tolerance
    headline = Text.assemble(
        ("the same network", "bold green") if is_same else ("not the same network", "bold red"),
        f": the largest relative error of {'an answer' if isinstance(match, AnswerMatch) else 'a parameter'} is "
        f"{number(match.largest_error)}, "
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
