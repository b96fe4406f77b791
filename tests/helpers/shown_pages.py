"""Pages of every kind of result, with hostile names in them, for tests of markup and of the browser."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache

import numpy as np

from shown_reports import CERTIFICATE, identification, planted
from unweave.activations import RELU
from unweave.exposure.answers import FORMS
from unweave.exposure.result import Audit, Exposure
from unweave.learn.hierarchical.certificate import HierarchicalCertificate
from unweave.learn.lowest_layer.layer import LowestLayerCertificate
from unweave.learn.overparameterized.certificates import TrainingCertificate
from unweave.learn.quadratic.certificate import OptimalityCertificate
from unweave.learn.relu_network.certificate import ReluCertificate
from unweave.networks.planted import general_network
from unweave.networks.quadratic.teacher import make_teacher
from unweave.reports.audit import as_document
from unweave.reports.files import environment
from unweave.reports.html.audits import audit_page
from unweave.reports.html.corrections import correction_page
from unweave.reports.html.landscapes import activations_page, landscape_page, phase_diagram_page, trainings_page
from unweave.reports.html.origin import Origin
from unweave.reports.html.page import Page
from unweave.reports.html.results import result_page
from unweave.result import Cost, Diagnostic, InputRanges, Outcome, Result, RouteChoice, RouteEnd, Verdict
from unweave.writing import envelope

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>\"'&\x00\ud800"
FORMULA = '=HYPERLINK("http://example.org";"x")'


def hostile_origin(inputs: int) -> Origin:
    columns = ",".join([HOSTILE.replace(",", ""), FORMULA, *(f"x{place}" for place in range(inputs - 2))])
    settings = {"learner": HOSTILE, "files": [HOSTILE], "target": HOSTILE, "inputs": columns, "seed": 7}
    sums = {HOSTILE: "0" * 64, "result.json": "f" * 64}
    return Origin.of_run(settings, {"versions": {HOSTILE: HOSTILE}, "date": HOSTILE, "platform": HOSTILE}, sums)


def plain_origin() -> Origin:
    settings = {"target": "models.py:predict", "inputs": 6, "seed": 7, "box": [-1.0, 1.0], "budget": None}
    return Origin.of_run(settings, environment(), {"result.json": "f" * 64})


def whole_result() -> Result:
    """A result that has everything."""
    ranges = InputRanges((-3e8,) * 6, (2e9,) * 6, (0.0,) * 6, (1.0,) * 6)
    routes = (
        RouteChoice("kink walk", RouteEnd.NOT_TAKEN, "no kinks."),
        RouteChoice("Hessians", RouteEnd.NETWORK, "ok"),
    )
    checks = tuple(Diagnostic(each.value, np.nan, 3.0, each, "more") for each in Verdict)
    cost = Cost(1_234, seconds={"probing": 0.25, "refining": 1.5}, stage_queries={"probing": 200, "refining": 1_000})
    reason = "5 neurons. Whatever changes the answers by less than 1.0e-12 of their spread on average could still hide."
    return replace(
        identification(network=planted(), diagnostics=checks),
        reason=reason,
        cost=cost,
        routes=routes,
        ranges=ranges,
        fresh_errors=tuple(np.geomspace(1e-17, 1e-14, 67).tolist()),
    )


def hostile_result() -> Result:
    """A result whose every text is markup."""
    check = Diagnostic(HOSTILE, 1.0, 2.0, Verdict.FAIL, HOSTILE)
    choice = RouteChoice(HOSTILE, RouteEnd.NOTHING, HOSTILE, HOSTILE)
    return replace(
        whole_result(),
        reason=HOSTILE,
        notes=(HOSTILE,),
        diagnostics=(check,),
        routes=(choice,),
        route=HOSTILE,
        equivalent_activations=(HOSTILE,),
        cost=Cost(samples=9, seconds={HOSTILE: 1.0}),
    )


def landscape_document() -> dict:
    points = [
        {"neurons": size, "inputs": 4, "runs": 16, "global": 4 * size, "networks": 4, "clean": size, "seconds": 0.5}
        | {"clean_interval": [0.1 * size, 0.2 + 0.2 * size]}
        for size in range(1, 5)
    ]
    fit = {"varied": "neurons", "crossing": 2.2, "crossing_error": 0.3, "published": None}
    return envelope("landscape") | fit | {"points": points}


def phase_diagram_document() -> dict:
    points = [point | {"inputs": inputs} for inputs in (4, 5) for point in landscape_document()["points"]]
    rows = [{"inputs": 4, "crossing": 2.2, "crossing_error": 0.3}]
    rows.append({"inputs": 5, "crossing": "nan", "crossing_error": "nan"})
    sizes = {"neurons": [1, 2, 3, 4], "inputs": [4, 5]}
    return envelope("phase diagram") | sizes | {"crossings": rows, "points": points}


def trainings_document() -> dict:
    curves = [
        {"neurons": size, "inputs": 4, "steps": [0, 250], "errors": [[1.0, 0.5 / size], [1.0, 1e-5]]} for size in (2, 3)
    ]
    return envelope("training curves") | {"curves": curves}


def activations_document() -> dict:
    curves = [{"name": HOSTILE, "values": [0.0, 0.0, 1.0]}, {"name": "tanh", "values": [-0.8, 0.0, 0.8]}]
    return envelope("activation curves") | {"arguments": [-1.0, 0.0, 1.0], "curves": curves}


def correction_document() -> dict:
    scores = {"values": [0.9, 0.92], "mean": 0.91, "standard_error": 0.01}
    none = {"values": [], "mean": None, "standard_error": None}
    named = (
        "train_only", "joint", "layerwise", "train_all", "with_start", "with_train_all", "with_random",
        "with_layerwise", "alignment", "unexplained", "freezing_gap", "layerwise_gap",
    )  # fmt: skip
    depths = [
        {"depth": depth, "unit": HOSTILE, "verdict": "needed and local", "layerwise_verdict": "not needed",
         "sentences": [HOSTILE], "fixed": {"0": scores, "1": scores} if depth > 1 else {"0": scores}}
        | dict.fromkeys(named, scores)
        for depth in (1, 2)
    ]  # fmt: skip
    depths[0]["joint"] = none
    return envelope("feature correction") | {
        "score": "accuracy", "units": ["a", HOSTILE], "seeds": [0, 1], "windows": [0, 1], "full": scores,
        "depths": depths, "missing": [HOSTILE], "notes": [HOSTILE], "seconds": 12.5,
    }  # fmt: skip


def audit_of_everything() -> Audit:
    """An audit with every outcome, and hostile words."""
    named = [Exposure(form.name, form.shows, form.defence, None, HOSTILE) for form in FORMS]
    ends = (Outcome.IDENTIFIED, Outcome.PARTLY_IDENTIFIED, Outcome.NOT_IDENTIFIED)
    found = [
        replace(each, outcome=end, queries=100 * place, parameters=7, error=1e-5, radius=np.inf)
        for place, (each, end) in enumerate(zip(named, ends, strict=False), start=1)
    ]
    return Audit((*found, *named[len(ends) :]), 64, rate=0.5, price_per_1000=2.0)


def _quadratic() -> Result:
    teacher = make_teacher(np.random.default_rng(0), inputs=4, widths=(2, 1), level_weights=(1.0, 0.3))
    return Result(Outcome.IDENTIFIED, "known.", teacher, cost=Cost(samples=8))


def learnt_result(kind: type) -> Result:
    """A result from samples, with a certificate of this kind: some number in the place of each of its numbers."""
    some = {int: 3, float: 0.25, bool: True, str: "planted", tuple[int, ...]: (2, 1)}
    certificate = kind(**{each.name: some[each.type] for each in fields(kind)})
    cost = Cost(samples=100, seconds={"fitting": 0.5})
    return replace(whole_result(), certificate=certificate, cost=cost, ranges=None)


def _wide() -> Result:
    network = general_network(np.random.default_rng(0), inputs=30, neurons=80, outputs=3, activation=RELU)
    return replace(whole_result(), network=network, ranges=None)


def _first_layer() -> Result:
    return Result(Outcome.PARTLY_IDENTIFIED, "deep.", first_layer=planted().layers[0], route="saturation walk")


def _loose() -> Result:
    return replace(whole_result(), certificate=replace(CERTIFICATE, radius=np.inf, isolation=0.0))


def _imitation() -> Result:
    reason = "A network of 5 neurons of tanh answers like the model."
    return replace(whole_result(), outcome=Outcome.PARTLY_IDENTIFIED, reason=reason, is_imitation=True)


def _rounded() -> Result:
    certificate = replace(CERTIFICATE, largest_error=2.4e-5, trials=1_124, crossings=59, crossing_error=8e-11)
    return replace(whole_result(), certificate=certificate)


# One page of every kind; made when they are needed, and not while tests are collected.
MAKERS: dict[str, Callable[[], Page]] = {
    "whole": lambda: result_page(whole_result(), plain_origin()),
    "hostile": lambda: result_page(hostile_result(), hostile_origin(6)),
    "not identified": lambda: result_page(Result(Outcome.NOT_IDENTIFIED, "no."), plain_origin()),
    "not pinned down": lambda: result_page(_loose(), Origin("A model")),
    "imitation": lambda: result_page(_imitation(), plain_origin()),
    "rounded": lambda: result_page(_rounded(), plain_origin()),
    "first layer": lambda: result_page(_first_layer(), plain_origin()),
    "quadratic": lambda: result_page(_quadratic(), plain_origin()),
    "wide": lambda: result_page(_wide(), plain_origin()),
    "landscape": lambda: landscape_page(landscape_document(), plain_origin()),
    "phase diagram": lambda: phase_diagram_page(phase_diagram_document(), plain_origin()),
    "training curves": lambda: trainings_page(trainings_document(), plain_origin()),
    "activation curves": lambda: activations_page(activations_document(), plain_origin()),
    "audit": lambda: audit_page(as_document(audit_of_everything()), plain_origin()),
    "correction": lambda: correction_page(correction_document(), plain_origin()),
} | {
    f"learnt, {kind.__name__}": lambda kind=kind: result_page(learnt_result(kind), plain_origin())
    for kind in (
        HierarchicalCertificate,
        LowestLayerCertificate,
        OptimalityCertificate,
        ReluCertificate,
        TrainingCertificate,
    )
}
PAGE_NAMES = tuple(MAKERS)


@cache
def page_of(name: str) -> Page:
    """Make the page of this name."""
    return MAKERS[name]()


@cache
def text_of(name: str) -> str:
    """Give the same as HTML."""
    return page_of(name).as_html()
