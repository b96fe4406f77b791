"""The report of a result, from queries or from samples, as a page."""

import math
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from unweave.folders import write_file
from unweave.networks.network import Network
from unweave.reports.files import NETWORK, environment
from unweave.reports.html.architecture import drawn_first_layer, drawn_network, shape_in_words
from unweave.reports.html.elements import Section, bullets, details, element, facts, figure, paragraph, table
from unweave.reports.html.origin import Origin, shortened
from unweave.reports.html.page import Page, pieces, sections
from unweave.reports.html.parameters import embed, groups_of, layer_groups, parameter_table
from unweave.reports.html.plain_words import certificate_words, still_hidden, verdict_sentence
from unweave.reports.html.plots import bar, error_plot
from unweave.reports.html.profiles import profile_grid
from unweave.reports.html.ranges import asked_section
from unweave.result import Result, number, percent

if TYPE_CHECKING:
    from unweave.result import Diagnostic

BADGES = {"identified": "good", "partly identified": "fair", "not identified": "poor"}
VERDICTS = {"ok": "good", "weak": "fair", "fail": "poor", "not applicable": "none"}


def write_report(found: Result, path: str | Path, *, origin: Origin | None = None) -> Path:
    """Write the report of a result as one HTML file.

    Raises:
        NotWritten: if that is not possible.
    """
    origin = origin if origin is not None else Origin.of_run(found.settings, environment(), {})
    write_file(path, result_page(found, origin).as_html())
    return Path(path)


def result_page(found: Result, origin: Origin) -> Page:
    """Put the report of a result together, most important things first."""
    names = tuple(map(shortened, found.input_names)) or origin.input_names
    names = names if found.network is not None and len(names) == found.network.inputs else ()
    groups = [] if found.network is None else groups_of(found.network, names)
    if found.network is None and found.first_layer is not None:
        groups = layer_groups(found.first_layer, 1)
    held = embed(groups)
    parameters = parameter_table(held, file=f"the file {NETWORK} of the run folder") if groups else None
    return Page(
        title=origin.name,
        kind="What Unweave found" if found.samples else "What the answers give away",
        details=origin.details,
        sections=(
            *sections(
                Section("verdict", "Verdict", _verdict(found)),
                _network(found),
                _certificate(found),
                _errors(found),
                _neurons(found),
                None if parameters is None else Section("parameters", "Parameters", parameters),
                _cost(found),
                asked_section(found, names),
                _checks(found),
                _notes(found),
            ),
            *origin.sections(),
        ),
        data={"name": origin.name, "parameters": held.as_data()},
    )


def _verdict(found: Result) -> tuple[Element, ...]:
    badge = element("span", {"class": f"badge {BADGES[found.outcome.value]}"}, found.outcome.value)
    return (
        element("p", {"class": "lead"}, badge, " ", verdict_sentence(found)),
        paragraph(found.reason[:1].upper() + found.reason[1:]),
        facts(_key_figures(found), kind="figures"),
    )


def _key_figures(found: Result) -> list[tuple[str, str]]:
    figures = []
    if found.queries or not found.samples:
        figures.append(("queries", f"{found.queries:,}"))
    if found.samples:
        figures.append(("samples", f"{found.samples:,}"))
    if found.network is not None:
        figures.append(("parameters", f"{found.network.parameters:,}"))
        if found.queries:
            figures.append(("queries per parameter", f"{found.queries / max(found.network.parameters, 1):.1f}"))
    if found.fresh_errors:
        figures.append(("largest error, in spreads", number(found.fresh_errors[-1])))
    figures.append(("seconds", f"{sum(found.seconds.values()):.2f}"))
    return figures


def _network(found: Result) -> Section | None:
    if found.network is not None:
        network = found.network
        pairs = [("architecture", shape_in_words(network)), ("parameters", f"{network.parameters:,}")]
        if found.route:
            pairs.append(("found by", found.route))
        if found.equivalent_activations:
            pairs.append(("can also be written with", ", ".join(found.equivalent_activations)))
        if isinstance(network, Network) and network.skip is not None:
            pairs.append(("linear part", "yes, from the inputs straight to the outputs"))
        caption = (
            "Thick lines are large weights; the two colours are the two signs. Of large layers the ends are drawn."
        )
        body = (figure(drawn_network(network), caption), facts(pairs))
        title = "A network that answers alike" if found.is_imitation else "The network"
        return Section("network", title, body)
    if found.first_layer is not None:
        caption = "What is known: the first layer. Directions are exact, lengths and biases as the verdict says."
        return Section("network", "The first layer", (figure(drawn_first_layer(found.first_layer), caption),))
    return None


def _certificate(found: Result) -> Section:
    if found.certificate is None:
        said = "There is no certificate: nothing is claimed about the model beyond the reason above."
        return Section("certificate", "Certificate", (paragraph(said),))
    rows = [(name, words) for name, words in found.certificate.statements()]
    hidden = still_hidden(found)
    return Section(
        "certificate",
        "Certificate",
        pieces(
            bullets(said) if (said := certificate_words(found)) else None,
            table("What is certified, with its numbers", ("claim", "in numbers"), rows),
            element("h3", None, "What could still hide") if hidden else None,
            bullets(hidden) if hidden else None,
        ),
    )


def _errors(found: Result) -> Section | None:
    errors = found.fresh_errors
    if not errors:
        return None
    noise = getattr(found.certificate, "noise", None) if found.queries else None
    unit = "in units of the spread of the answers"
    drawing = error_plot(errors, noise=noise if noise and math.isfinite(noise) else None, unit=unit)
    source = "answers" if found.queries else "held-out samples"
    caption = f"Errors of the network at {source} that no fit has seen: {_quantiles(errors)}."
    return Section("errors", "Errors on fresh answers", (figure(drawing, caption),))


def _quantiles(errors: tuple[float, ...]) -> str:
    return f"median {number(errors[len(errors) // 2])}, largest {number(errors[-1])}, in units of the spread"


def _neurons(found: Result) -> Section | None:
    network = found.network
    if not isinstance(network, Network) or not sum(network.widths):
        return None
    return Section("neurons", "Profiles of the neurons", profile_grid(network, found.ranges))


def _cost(found: Result) -> Section:
    """Say what every stage has cost."""
    queries, seconds = found.cost.stage_queries, found.seconds
    time = sum(seconds.values())
    said = f"{found.queries:,} queries" if found.queries or not found.samples else f"{found.samples:,} samples"
    total = paragraph(f"{said} and {time:.2f} seconds in all.")
    if not seconds:
        return Section("cost", "Cost", (total,))
    if not queries:
        rows = [(name, bar(each / time if time else 0.0), f"{each:.2f}", percent(each / time if time else 0.0))
                for name, each in seconds.items()]  # fmt: skip
        made = table("Time of every stage", ("stage", "drawn", "seconds", "share"), rows, numbers=(2, 3), kind="bars")
        return Section("cost", "Cost", (total, made))
    most = max(found.queries, 1)
    parts = [
        (name, bar(queries.get(name, 0) / most), f"{queries.get(name, 0):,}", percent(queries.get(name, 0) / most),
         f"{each:.2f}")
        for name, each in seconds.items()
    ]  # fmt: skip
    between = found.queries - sum(queries.values())
    if between > 0:
        parts.append(("between stages", bar(between / most), f"{between:,}", percent(between / most), ""))
    headers = ("stage", "drawn", "queries", "share", "seconds")
    made = table("Queries and time of every stage", headers, parts, numbers=(2, 3, 4), kind="bars")
    return Section("cost", "Queries over the stages", (total, made))


def _checks(found: Result) -> Section | None:
    if not found.diagnostics and not found.routes:
        return None
    rows = [_check(each) for each in found.diagnostics]
    headers = ("assumption", "value", "threshold", "verdict", "if it is not ok")
    routes = [(each.route, each.end.value, f"{each.because} {each.reason}".strip()) for each in found.routes]
    checks = (
        table("Assumptions", headers, rows, numbers=(1, 2), kind="checks", is_caption_hidden=True) if rows else None
    )
    return Section(
        "checks",
        "Assumptions that were checked",
        pieces(
            checks,
            details("Routes to the neurons, and why each was taken or not",
                    table("Routes", ("route", "was", "because"), routes)) if routes else None,
        ),
    )  # fmt: skip


def _check(check: "Diagnostic") -> tuple[str, str, str, Element, str]:
    verdict = element("span", {"class": f"badge {VERDICTS[check.verdict.value]}"}, check.verdict.value)
    return check.name, number(check.value), number(check.threshold), verdict, check.advice


def _notes(found: Result) -> Section | None:
    return Section("notes", "Notes", (bullets(found.notes),)) if found.notes else None
