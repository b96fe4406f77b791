import dataclasses
import re

import numpy as np

from shown_reports import identification, planted, shown, words
from unweave.activations import SIGMOID, SIN, SOFTPLUS
from unweave.networks.planted import general_network
from unweave.networks.symmetries import match
from unweave.reports.comparison import (
    SHOWN_NEURONS,
    agreeing,
    demo_report,
    error_groups,
    errors_table,
    match_document,
    verify_report,
)
from unweave.result import Outcome


def test_the_demo_shows_planted_and_recovered_digits() -> None:
    secret = planted()
    report = shown(demo_report(secret, identification(network=secret), match(secret, secret), tolerance=1e-8))
    sentence = " ".join(report.split())
    assert sentence.startswith(
        "identified: from 1,234 answers Unweave found the activation (tanh), the number of neurons (5) and "
        "all 41 parameters of a secret network of which it knew only the number of inputs (6); the largest "
        "relative error of a parameter is 0."
    )
    for index in range(SHOWN_NEURONS):
        for true in (
            np.linalg.norm(secret.layers[0].weights[index]),
            secret.layers[0].biases[index],
            secret.layers[1].weights[0, index],
        ):
            # Once as planted and once as recovered.
            assert len(re.findall(rf"(?<![-\d]){re.escape(f'{true:.15f}'[:-1])}", report)) == 2
    assert f"{SHOWN_NEURONS} of 5 neurons" in report


def test_the_demo_says_when_it_is_wrong() -> None:
    wrong = general_network(np.random.default_rng(1), inputs=6, neurons=5)
    report = words(demo_report(planted(), identification(network=wrong), match(wrong, planted()), tolerance=1e-8))
    assert "This is not the secret network: a parameter differs by a relative" in report
    other = general_network(np.random.default_rng(1), inputs=6, neurons=4)
    report = words(demo_report(planted(), identification(network=other), match(other, planted()), tolerance=1e-8))
    assert "This is not the secret network: the widths differ" in report


def test_the_demo_without_a_network_gives_the_reason() -> None:
    found = identification(Outcome.NOT_IDENTIFIED, certificate=None)
    report = words(demo_report(planted(), found, None, tolerance=1e-8))
    assert report.startswith("not identified: because of [red]this[/red]")
    assert "planted" not in report


def test_the_demo_explains_another_writing() -> None:
    secret = planted(SIGMOID, outputs=2)
    report = words(demo_report(secret, identification(network=secret), match(secret, secret), tolerance=1e-8))
    assert "A sigmoid network is a tanh network in other units" in report
    assert "weight to output 1" in report


def test_verify_tells_the_same_from_another() -> None:
    same, other = match(planted(), planted()), match(planted(SIN), planted())
    assert words(verify_report(same, tolerance=1e-8)).startswith("the same network: the largest relative error")
    assert "activations differ" in words(verify_report(other, tolerance=1e-8))
    assert words(verify_report(None, tolerance=1e-8)) == "not the same network: the run holds no network."


def test_errors_beyond_the_tolerance_are_red() -> None:
    secret = planted()
    layer = dataclasses.replace(secret.layers[0], biases=secret.layers[0].biases + 1e-3)
    found = match(dataclasses.replace(secret, layers=(layer, secret.layers[1])), secret)
    report = shown(verify_report(found, tolerance=1e-8), is_coloured=True)
    assert report.startswith("\x1b[1;31mnot the same network")
    rows = {line.split("(")[0].split("m")[-1].strip(): line for line in report.splitlines() if "(" in line}
    assert "\x1b[1;31m" in rows["biases"]
    assert "\x1b[32m" in rows["weights"]


def test_the_linear_part_is_compared_where_there_is_one() -> None:
    secret = planted(SOFTPLUS)
    slopes = dataclasses.replace(secret, skip=np.ones((1, 6)))
    assert "linear part" not in error_groups(match(secret, secret))
    assert error_groups(match(slopes, secret))["linear part"] > 0.1
    assert "linear part (6)" in words(errors_table(match(slopes, secret), tolerance=1e-8))


def test_digits_are_green_as_far_as_they_agree() -> None:
    assert shown(agreeing(0.1239, 0.1234), is_coloured=True).startswith("\x1b[32m0.123\x1b[0m\x1b[33m9")
    assert "\x1b[33m" not in shown(agreeing(0.5, 0.5), is_coloured=True)


def test_a_comparison_is_made_for_json() -> None:
    wider = match_document(match(general_network(np.random.default_rng(1), inputs=6, neurons=4), planted()))
    assert wider["largest_error"] == "inf"
    assert match_document(None) == {"reason": "there is no recovered network.", "largest_error": None, "errors": None}
