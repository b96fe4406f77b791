import dataclasses
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console, RenderableType

from unweave.activations import IDENTITY, SIGMOID, SIN, SOFTPLUS, TANH, Activation
from unweave.certificates.certify import Certificate
from unweave.networks.network import Layer, Network
from unweave.networks.planted import general_network
from unweave.networks.symmetries import match
from unweave.reports import text
from unweave.result import Cost, Diagnostic, Outcome, Result, Verdict

CERTIFICATE = Certificate(
    largest_error=1.21e-15,
    rms_error=2e-16,
    fresh_queries=67,
    confidence=0.95,
    coverage=0.95627,
    noise=3e-16,
    smallest_singular=0.1,
    is_singular_estimated=False,
    radius=4.4e-12,
    isolation=3.2e-5,
)


def planted(activation: Activation = TANH, outputs: int = 1) -> Network:
    return general_network(np.random.default_rng(0), inputs=6, neurons=5, outputs=outputs, activation=activation)


def identification(
    outcome: Outcome = Outcome.IDENTIFIED,
    network: Network | None = None,
    certificate: Certificate | None = CERTIFICATE,
    diagnostics: tuple[Diagnostic, ...] = (),
) -> Result:
    return Result(
        outcome=outcome,
        reason="because of [red]this[/red] and [2, 3]",
        network=network,
        certificate=certificate,
        diagnostics=diagnostics,
        equivalent_activations=("sigmoid",),
        notes=("two neurons were [merged].",),
        cost=Cost(queries=1234, seconds={"probing the answers": 0.25, "refining": 1.5}),
    )


def shown(renderable: RenderableType, *, width: int = 100, is_coloured: bool = False) -> str:
    file = StringIO()
    colours = "standard" if is_coloured else None
    Console(file=file, width=width, force_terminal=is_coloured, color_system=colours).print(renderable)
    return file.getvalue()


def words(renderable: RenderableType) -> str:
    return " ".join(shown(renderable).split())


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
        text.demo_report(planted(), found, match(planted(), planted()), tolerance=1e-8),
    ):
        assert max(map(len, shown(report, width=width).splitlines())) <= width


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_can_be_shown(verdict: Verdict) -> None:
    diagnostic = Diagnostic("name", np.nan, -np.inf, verdict, "advice")
    assert f"name - -infinite {verdict.value} advice" in words(text.diagnostics_table((diagnostic,)))


def test_a_certificate_that_pins_nothing_down_says_so() -> None:
    certificate = dataclasses.replace(CERTIFICATE, radius=np.inf, isolation=0.0)
    report = words(text.certificate_table(certificate))
    assert "none: these answers do not pin the parameters down" in report
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


def test_the_demo_shows_planted_and_recovered_digits() -> None:
    secret = planted()
    report = shown(text.demo_report(secret, identification(network=secret), match(secret, secret), tolerance=1e-8))
    sentence = " ".join(report.split())
    assert sentence.startswith(
        "identified: from 1,234 answers Unweave found the activation (tanh), the number of neurons (5) and "
        "all 41 parameters of a secret network of which it knew only the number of inputs (6); the largest "
        "relative error of a parameter is 0."
    )
    for index in range(text.SHOWN_NEURONS):
        for true in (
            np.linalg.norm(secret.layers[0].weights[index]),
            secret.layers[0].biases[index],
            secret.layers[1].weights[0, index],
        ):
            # Once as planted and once as recovered.
            assert len(re.findall(rf"(?<![-\d]){re.escape(f'{true:.15f}'[:-1])}", report)) == 2
    assert f"{text.SHOWN_NEURONS} of 5 neurons" in report


def test_the_demo_says_when_it_is_wrong() -> None:
    wrong = general_network(np.random.default_rng(1), inputs=6, neurons=5)
    report = words(text.demo_report(planted(), identification(network=wrong), match(wrong, planted()), tolerance=1e-8))
    assert "This is not the secret network: a parameter differs by a relative" in report
    other = general_network(np.random.default_rng(1), inputs=6, neurons=4)
    report = words(text.demo_report(planted(), identification(network=other), match(other, planted()), tolerance=1e-8))
    assert "This is not the secret network: the widths differ" in report


def test_the_demo_without_a_network_gives_the_reason() -> None:
    found = identification(Outcome.NOT_IDENTIFIED, certificate=None)
    report = words(text.demo_report(planted(), found, None, tolerance=1e-8))
    assert report.startswith("not identified: because of [red]this[/red]")
    assert "planted" not in report


def test_the_demo_explains_another_writing() -> None:
    secret = planted(SIGMOID, outputs=2)
    report = words(text.demo_report(secret, identification(network=secret), match(secret, secret), tolerance=1e-8))
    assert "A sigmoid network is a tanh network in other units" in report
    assert "weight to output 1" in report


def test_verify_tells_the_same_from_another() -> None:
    same, other = match(planted(), planted()), match(planted(SIN), planted())
    assert words(text.verify_report(same, tolerance=1e-8)).startswith("the same network: the largest relative error")
    assert "activations differ" in words(text.verify_report(other, tolerance=1e-8))
    assert words(text.verify_report(None, tolerance=1e-8)) == "not the same network: the run holds no network."


def test_errors_beyond_the_tolerance_are_red() -> None:
    secret = planted()
    layer = dataclasses.replace(secret.layers[0], biases=secret.layers[0].biases + 1e-3)
    found = match(dataclasses.replace(secret, layers=(layer, secret.layers[1])), secret)
    report = shown(text.verify_report(found, tolerance=1e-8), is_coloured=True)
    assert report.startswith("\x1b[1;31mnot the same network")
    rows = {line.split("(")[0].split("m")[-1].strip(): line for line in report.splitlines() if "(" in line}
    assert "\x1b[1;31m" in rows["biases"]
    assert "\x1b[32m" in rows["weights"]


def test_the_linear_part_is_compared_where_there_is_one() -> None:
    secret = planted(SOFTPLUS)
    slopes = dataclasses.replace(secret, skip=np.ones((1, 6)))
    assert "linear part" not in text.error_groups(match(secret, secret))
    assert text.error_groups(match(slopes, secret))["linear part"] > 0.1
    assert "linear part (6)" in words(text.errors_table(match(slopes, secret), tolerance=1e-8))


def test_digits_are_green_as_far_as_they_agree() -> None:
    assert shown(text.agreeing(0.1239, 0.1234), is_coloured=True).startswith("\x1b[32m0.123\x1b[0m\x1b[33m9")
    assert "\x1b[33m" not in shown(text.agreeing(0.5, 0.5), is_coloured=True)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0"), (1.0, "1"), (0.1234, "0.123"), (123.4, "123"), (5432.1, "5432"), (1.24e-9, "1.2e-09"),
     (1e7, "1.0e+07"), (-0.5, "-0.5"), (np.inf, "infinite"), (-np.inf, "-infinite"), (np.nan, "-")],
)  # fmt: skip
def test_numbers_are_short(value: float, written: str) -> None:
    assert text.number(value) == written


def test_shares_are_never_rounded_up() -> None:
    assert text.percent(0.99997) == "99.9%"
    assert text.percent(0.95) == "95%"
    assert text.percent(1.0) == "100%"
