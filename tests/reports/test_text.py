import dataclasses

import numpy as np
import pytest

from shown_reports import CERTIFICATE, identification, planted, shown, words
from unweave.activations import IDENTITY, SIGMOID, SIN, TANH
from unweave.networks.network import Layer, Network
from unweave.networks.quadratic.teacher import make_teacher
from unweave.networks.symmetries import match
from unweave.reports import comparison, text
from unweave.result import Cost, Diagnostic, Outcome, Result, Verdict


@pytest.mark.parametrize(
    ("outcome", "colour"),
    [(Outcome.IDENTIFIED, 32), (Outcome.PARTLY_IDENTIFIED, 33), (Outcome.NOT_IDENTIFIED, 31)],
)
def test_the_outcome_comes_first_and_in_its_colour(outcome: Outcome, colour: int) -> None:
    found = identification(outcome)
    assert shown(text.report(found)).startswith(f"{outcome.value}: because of [red]this[/red] and [2, 3]")
    assert shown(text.outcome(found), is_coloured=True).startswith(f"\x1b[1;{colour}m{outcome.value}\x1b[0m")


def test_the_report_tells_everything() -> None:
    diagnostic = Diagnostic("gap of [values]", 12.5, 3.0, Verdict.WEAK, "use [more] points")
    found = identification(network=planted(), diagnostics=(diagnostic,))
    report = words(text.report(found))
    for fact in (
        "activation tanh",
        "written with sigmoid",
        "inputs 6",
        "architecture 6 -> 5 tanh -> 1",
        "neurons 5",
        "outputs 1",
        "linear part (skip) no",
        "parameters 41",
        "1.2e-15 of the spread of the answers, on 67 fresh queries",
        "at least 95.6% of the domain has no larger error (confidence 95%)",
        "4.4e-12: every parameter",
        "3.2e-05: any other network",
        "noise of one answer 3.0e-16",
        "gap of [values] 12.5 3 weak use [more] points",
        "queries 1,234",
        "queries per parameter 30.1",
        "probing the answers 0.25 s",
        "all stages 1.75 s",
        "note: two neurons were [merged].",
    ):
        assert fact in report


def test_a_report_without_network_tells_the_cost_and_claims_nothing() -> None:
    report = words(text.report(identification(Outcome.NOT_IDENTIFIED, certificate=None)))
    assert "queries 1,234" in report
    assert "certificate" not in report
    assert "per parameter" not in report


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    diagnostic = Diagnostic("a long name " * 5, 1e-300, np.inf, Verdict.FAIL, "a long advice " * 20)
    found = identification(network=planted(), diagnostics=(diagnostic, diagnostic))
    for report in (
        text.report(found),
        comparison.demo_report(planted(), found, match(planted(), planted()), tolerance=1e-8),
    ):
        assert max(map(len, shown(report, width=width).splitlines())) <= width


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_can_be_shown(verdict: Verdict) -> None:
    diagnostic = Diagnostic("name", np.nan, -np.inf, verdict, "advice")
    assert f"name - -infinite {verdict.value} advice" in words(text.diagnostics_table((diagnostic,)))


def test_a_certificate_that_pins_nothing_down_says_so() -> None:
    certificate = dataclasses.replace(CERTIFICATE, radius=np.inf, isolation=0.0)
    report = words(text.certificate_table(certificate))
    assert "none: answers do not pin the parameters down" in report
    assert "isolation" not in report


def test_an_estimated_certificate_says_so() -> None:
    certificate = dataclasses.replace(CERTIFICATE, is_singular_estimated=True)
    assert "an estimate of the smallest singular value" in words(text.certificate_table(certificate))
    assert "estimate" not in words(text.certificate_table(CERTIFICATE))


def test_the_certificate_of_an_affine_function_is_isolated_from_all_others() -> None:
    certificate = dataclasses.replace(CERTIFICATE, isolation=np.inf)
    assert "infinite: no other network of this architecture" in words(text.certificate_table(certificate))


def test_affine_and_deep_networks_have_a_table() -> None:
    affine = Network.shallow(np.zeros((0, 3)), np.zeros(0), np.zeros((2, 0)), np.zeros(2), TANH, np.ones((2, 3)))
    assert "neurons 0 outputs 2 linear part (skip) yes" in words(text.network_table(affine))
    layers = Layer(np.ones((4, 3)), np.ones(4), SIN), Layer(np.ones((2, 4)), np.ones(2), TANH)
    deep = Network((*layers, Layer(np.ones((1, 2)), np.ones(1), IDENTITY)))
    table = words(text.network_table(deep))
    assert "activation sin, tanh" in table
    assert "architecture 3 -> 4 sin -> 2 tanh -> 1 " in table
    assert "neurons of hidden layer 1 4 sin neurons of hidden layer 2 2 tanh outputs 1 " in table


def test_the_architecture_names_every_activation_but_the_identity() -> None:
    assert text.architecture(planted(SIGMOID, outputs=3)) == "6 -> 5 sigmoid -> 3"
    layers = Layer(np.ones((4, 3)), np.ones(4), TANH), Layer(np.ones((2, 4)), np.ones(2), SIGMOID)
    assert text.architecture(Network(layers)) == "3 -> 4 tanh -> 2 sigmoid"
    assert "outputs 2 sigmoid" in words(text.network_table(Network(layers)))


def test_samples_are_counted_where_there_are_no_queries() -> None:
    found = Result(Outcome.PARTLY_IDENTIFIED, "noisy labels.", planted(), cost=Cost(samples=8_000))
    report = words(text.report(found))
    assert "samples 8,000" in report
    assert "queries" not in report


def test_the_numbers_of_neurons_are_shown() -> None:
    network = planted()
    bias, weight = network.layers[0].biases[0], network.layers[1].weights[0, 0]
    assert f"0 {weight:.6f} {bias:.6f} {network.layers[0].weights[0, 0]:.4f}" in words(text.neurons_table(network))
    wide = Network((Layer(np.ones((14, 8)), np.ones(14), TANH),))
    assert "... 2 more" in words(text.neurons_table(wide))


def test_quadratic_networks_have_a_table_of_levels() -> None:
    network = make_teacher(np.random.default_rng(0), inputs=4, widths=(2, 1), level_weights=(1.0, 0.3))
    report = words(text.report(identification(network=network)))
    assert "level features reads weight size of its map" in report
    assert "2 2 squares of inputs 1 " in report
    assert text.architecture(network) == "4 -> 2 squared -> 1 squared"


def test_the_report_of_a_result_is_text() -> None:
    found = identification(network=planted())
    assert found.report() == text.as_text(text.report(found))
    assert found.report().startswith("identified: because of [red]this[/red] and [2, 3]\n")
    assert "\x1b" not in found.report()


@pytest.mark.parametrize("has_network", [True, False])
def test_a_result_shows_itself_in_five_lines(has_network: bool) -> None:
    found = identification(network=planted()) if has_network else Result(Outcome.NOT_IDENTIFIED, "no. " * 100)
    lines = repr(found).splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= 100
    if has_network:
        assert lines[0] == "Result: identified"
        assert lines[2] == "  network:     6 -> 5 tanh -> 1, 41 parameters"
        assert lines[3].startswith("  certificate: largest error: 1.2e-15")
        assert lines[4] == "  cost:        1,234 queries, 1.75 s"
    else:
        assert [line.split()[0] for line in lines] == ["Result:", "reason:", "network:", "certificate:", "cost:"]


def test_a_first_layer_alone_shows_itself() -> None:
    found = Result(Outcome.PARTLY_IDENTIFIED, "deep.", first_layer=planted().layers[0])
    assert "only its first layer, 6 -> 5 tanh" in repr(found)
