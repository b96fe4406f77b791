"""What may be claimed on which evidence; assumptions against Monte Carlo, and verdicts that change when one breaks."""

from dataclasses import replace

import numpy as np
import pytest

import unweave
from unweave.activations import RELU, SIGMOID, SOFTPLUS, TANH, Activation
from unweave.certificates import claims
from unweave.certificates.certify import Certificate, coverage_of, fresh_needed, right_share
from unweave.certificates.claims import ClaimRules, Evidence
from unweave.networks.network import Network
from unweave.networks.planted import general_network, unit_network
from unweave.result import Outcome, Verdict

RULES = ClaimRules()
CERTIFICATE = Certificate(
    largest_error=3e-15,
    rms_error=1e-15,
    fresh_queries=299,
    confidence=0.95,
    coverage=coverage_of(299, confidence=0.95),
    noise=1e-16,
    smallest_singular=1.0,
    is_singular_estimated=False,
    radius=1e-12,
    isolation=0.1,
)
EVIDENCE = Evidence(network="3 neurons of relu", certificate=CERTIFICATE, floor=1e-15, limit=1e-14, explains=True)


def test_all_evidence_makes_a_network_identified() -> None:
    outcome, reason = RULES(EVIDENCE)
    assert outcome is Outcome.IDENTIFIED
    assert "less than 1.0e-14 of their spread on average could still hide" in reason
    assert "fills less than 1% of the domain" in reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "whatever bends outside of the domain"),
        ({"reach": 3e4}, "whatever bends farther out than 30000 times the reach of the domain"),
        ({"is_box": True}, "without reaching any of all vertices"),
    ],
)
def test_it_is_named_what_could_hide_where_nothing_was_tried(change: dict[str, object], words: str) -> None:
    assert words in RULES(replace(EVIDENCE, **change))[1]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("change", "outcome", "words"),
    [
        ({"is_complete": False}, Outcome.PARTLY_IDENTIFIED, "right on at least 99%"),
        ({"is_constant": True}, Outcome.PARTLY_IDENTIFIED, "constant on at least 99%"),
        ({"missed": 3}, Outcome.PARTLY_IDENTIFIED, "right on at least 97.4%"),
        ({"missed_trials": 3}, Outcome.PARTLY_IDENTIFIED, "What is missing there"),
        ({"missed": 280}, Outcome.NOT_IDENTIFIED, "no network of the known kinds"),
        ({"missed": 3, "is_constant": True}, Outcome.PARTLY_IDENTIFIED, "right on at least 97.4%"),
        (
            {"missed": 3, "is_constant": True, "is_rounded": True},
            Outcome.NOT_IDENTIFIED,
            "constant up to rounding, but 3 others are not",
        ),
        ({"limit": 0.2, "floor": 0.05}, Outcome.NOT_IDENTIFIED, "nothing is identified above 0.1"),
        ({"certificate": replace(CERTIFICATE, radius=1.5)}, Outcome.PARTLY_IDENTIFIED, "within a relative 1.5e+00"),
        ({"certificate": replace(CERTIFICATE, radius=np.inf)}, Outcome.PARTLY_IDENTIFIED, "not pinned down"),
        (
            {"explains": False, "certificate": replace(CERTIFICATE, rms_error=1e-6)},
            Outcome.PARTLY_IDENTIFIED,
            "left unexplained",
        ),
    ],
)
def test_whatever_is_missing_makes_the_word_smaller(change: dict[str, object], outcome: Outcome, words: str) -> None:
    found, reason = RULES(replace(EVIDENCE, **change))  # pyright: ignore[reportArgumentType]
    assert found is outcome
    assert words in reason


def test_a_contradiction_comes_first() -> None:
    _, reason = RULES(replace(EVIDENCE, contradiction="5 neurons were given and 3 are visible."))
    assert reason.startswith("5 neurons were given and 3 are visible. 3 neurons of relu;")


def test_vertices_are_named_in_a_box() -> None:
    boxed = replace(EVIDENCE, is_box=True)
    assert "all vertices" in RULES(boxed)[1]
    drawn = replace(boxed, drawn_vertices=4_096, certificate=replace(CERTIFICATE, trials=4_196))
    assert "4196 vertices and points of faces" in RULES(drawn)[1]
    assert "less than 0.07% of all vertices" in RULES(drawn)[1]


@pytest.mark.parametrize("candidates", [1, 4])
@pytest.mark.parametrize("coverage", [0.95, 0.99])
def test_as_many_fresh_points_are_asked_as_the_coverage_needs(coverage: float, candidates: int) -> None:
    needed = fresh_needed(coverage, confidence=0.95, candidates=candidates)
    assert coverage_of(needed, confidence=0.95, candidates=candidates) >= coverage
    assert coverage_of(needed - 1, confidence=0.95, candidates=candidates) < coverage


def test_the_share_that_is_right_holds_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    truth, fresh, trials = 0.97, 120, 4_000
    missed = rng.binomial(fresh, 1 - truth, trials)
    claimed = np.array([right_share(fresh, int(k), confidence=0.95) for k in missed])
    assert np.mean(claimed <= truth) >= 0.95
    # The bound is not so cautious that it says nothing.
    assert np.mean(claimed) > truth - 0.06


@pytest.mark.parametrize("activation", [TANH, SIGMOID])
@pytest.mark.parametrize("order", [1, 2])
def test_second_moments_agree_with_monte_carlo(activation, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=5, neurons=4, activation=activation)
    hidden = network.layers[0]
    units = hidden.weights / np.linalg.norm(hidden.weights, axis=1, keepdims=True)
    exact = claims._second_moment(claims.hermite_table(network, order=order), units @ units.T)
    samples = activation(hidden.preactivations(rng.standard_normal((400_000, 5))), order)
    np.testing.assert_allclose(exact, samples.T @ samples / len(samples), atol=0.01 * np.max(np.abs(exact)))


def test_hermite_table_agrees_with_the_activation(seed: int) -> None:
    network = general_network(np.random.default_rng(seed), inputs=5, neurons=3)
    hidden = network.layers[0]
    table = claims.hermite_table(network, order=1)
    for k in range(3):
        scale, bias = float(np.linalg.norm(hidden.weights[k])), float(hidden.biases[k])
        expected = TANH.hermite_coefficients(claims.QUALITY_RULES.highest_degree, scale=scale, bias=bias, order=1)
        np.testing.assert_allclose(table[k], expected, atol=1e-12)


def test_learnability_matches_the_figure_of_the_specification() -> None:
    """D = 20, m = 36 gave 5.96e-2 for one draw of a network with unit weights, in [fiedler]; the scale must agree."""
    network = unit_network(np.random.default_rng(0), inputs=20, neurons=36)
    found = {item.name: item.value for item in claims.excitation(network)}
    table = claims.hermite_table(network, order=2)
    learnability = found["learnability of the recovered network, relative"] * np.max(np.sum(table**2, axis=1))
    assert 0.02 < learnability < 0.12


@pytest.mark.parametrize(
    ("activation", "domain", "fewest"),
    [(TANH, unweave.Box(-2.0, 2.0), 18), (TANH, None, 10), (SOFTPLUS, None, 9), (RELU, None, 5)],
)
def test_every_diagnostic_of_a_clean_run_is_finite_and_explained(
    activation: Activation, domain: unweave.Box | None, fewest: int, seed: int
) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=6, neurons=7, activation=activation)
    found = unweave.identify(truth, domain=domain, seed=seed)
    assert found.is_identified, found.reason
    assert len(found.diagnostics) >= fewest
    assert all(np.isfinite(item.value) and item.advice for item in found.diagnostics)
    assert len({item.name for item in found.diagnostics}) == len(found.diagnostics)
    assert Verdict.FAIL not in {item.verdict for item in found.diagnostics}


def test_network_without_neurons_has_no_excitation() -> None:
    empty = Network.shallow(np.empty((0, 3)), np.empty(0), np.empty((1, 0)), np.zeros(1), TANH)
    assert claims.excitation(empty) == []
