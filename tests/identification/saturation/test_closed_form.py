"""Networks that saturate in closed form: errors, the claim on parameters, and when it is not taken."""

from collections.abc import Callable

import numpy as np
import pytest

import unweave
from unweave.activations import ERF, SIGMOID, TANH, Activation
from unweave.identification.identifier import Identifier
from unweave.identification.probing import Probing
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.routes import Survey
from unweave.identification.saturation.closed_form import FarClosedForm
from unweave.identification.session import Session
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.oracle import Box, CallableOracle, Domain, Everywhere
from unweave.oracles.views import in_oracle_units

SOLVE = FarClosedForm()
Answer = Callable[[np.ndarray], np.ndarray]


def surveyed(answer: Answer, inputs: int, domain: Domain | None = None) -> tuple[Survey, Refiner]:
    session = Session(CallableOracle(answer, inputs=inputs, domain=domain), np.random.default_rng(0))
    probe = Probing()(session)
    return Survey(session, probe), Refiner(probe.answers, Identifier().refine, probe.scale.noise)


def in_standard_units(network: Network, survey: Survey) -> Network:
    oracle = survey.probe.oracle
    hidden, output = network.layers
    return Network.shallow(
        weights=hidden.weights * oracle.half_width,
        biases=hidden.biases + hidden.weights @ oracle.center,
        output_weights=output.weights / oracle.size[:, None],
        offset=(output.biases - oracle.offset) / oracle.size,
        activation=hidden.activation,
    )


def started(truth: Network, survey: Survey, *, error: float = 1e-7, neurons: int | None = None) -> Start:
    """What a walk could have found: parameters with errors, or too few neurons."""
    rng, network = np.random.default_rng(1), in_standard_units(truth, survey)
    hidden, output = network.layers
    rough = Network.shallow(
        weights=(hidden.weights * (1 + error * rng.standard_normal(hidden.weights.shape)))[:neurons],
        biases=(hidden.biases + error * rng.standard_normal(len(hidden.biases)))[:neurons],
        output_weights=(output.weights * (1 + error * rng.standard_normal(output.weights.shape)))[:, :neurons],
        offset=output.biases,
        activation=hidden.activation,
    )
    return Start(rough, error)


def solved(truth: Network, *, domain: Domain | None = None, answer: Answer | None = None) -> tuple[Candidate, Survey]:
    survey, refiner = surveyed(answer or truth, truth.inputs, domain)
    found = SOLVE(survey, refiner, started(truth, survey))
    assert found is not None
    return found, survey


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [TANH, ERF], ids=repr)
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("number", range(3))
def test_every_parameter_is_within_the_radius(activation: Activation, outputs: int, number: int, seed: int) -> None:
    rng = np.random.default_rng([seed, number])
    truth = general_network(rng, inputs=7, neurons=12, outputs=outputs, activation=activation)
    found, survey = solved(truth)
    error = unweave.match(in_oracle_units(found.network, survey.probe.oracle), truth).largest_error
    assert error <= found.with_delivered_radius().certificate.radius < 1e-7
    assert error < 1e-11
    assert not found.certificate.is_singular_estimated


def test_units_and_centre_of_the_domain_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = general_network(rng, inputs=5, neurons=8)
    domain = Everywhere(scale=np.array([0.1, 1.0, 3.0, 1.0, 0.5]), center=np.array([5.0, -2.0, 0.0, 1.0, 30.0]))
    found, survey = solved(truth, domain=domain)
    error = unweave.match(in_oracle_units(found.network, survey.probe.oracle), truth).largest_error
    assert error <= found.with_delivered_radius().certificate.radius


def test_the_radius_holds_if_answers_are_as_wrong_as_is_allowed(seed: int) -> None:
    """Rounding of another machine: answers with errors of a few units in the last digit, the same at the same point."""
    rng = np.random.default_rng(seed)
    truth = general_network(rng, inputs=6, neurons=10)
    terms = float(np.sum(np.abs(truth.layers[1].weights)))

    def answer(points: np.ndarray) -> np.ndarray:
        signs = np.sign(np.sin(1e6 * points @ np.arange(1.0, 7.0)))[:, None]
        return truth(points) + 2.0 * np.finfo(float).eps * terms * signs

    found, survey = solved(truth, answer=answer)
    error = unweave.match(in_oracle_units(found.network, survey.probe.oracle), truth).largest_error
    assert error <= found.with_delivered_radius().certificate.radius


def test_a_neuron_that_the_walk_has_missed_is_noticed(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=6, neurons=10)
    survey, refiner = surveyed(truth, 6)
    assert SOLVE(survey, refiner, started(truth, survey, neurons=9)) is None


def test_starts_that_are_too_far_away_are_given_up(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=6, neurons=10)
    survey, refiner = surveyed(truth, 6)
    assert SOLVE(survey, refiner, started(truth, survey, error=0.1)) is None


def test_noisy_answers_are_left_to_the_fit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = general_network(rng, inputs=6, neurons=10)
    survey, refiner = surveyed(lambda x: truth(x) + 1e-8 * rng.standard_normal((len(x), 1)), 6)
    asked = survey.session.oracle.ledger.sent
    assert SOLVE(survey, refiner, started(truth, survey)) is None
    assert survey.session.oracle.ledger.sent == asked


def test_a_model_that_does_not_answer_far_away_is_left_to_the_fit(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=6, neurons=10)

    def near_only(points: np.ndarray) -> np.ndarray:
        return np.where(np.max(np.abs(points), axis=1, keepdims=True) < 100.0, truth(points), np.nan)

    survey, refiner = surveyed(near_only, 6)
    assert SOLVE(survey, refiner, started(truth, survey)) is None


@pytest.mark.parametrize("activation", [TANH, SIGMOID], ids=repr)
def test_identify_takes_it_for_large_networks(activation: Activation, seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=20, neurons=50, activation=activation)
    found = unweave.identify(truth, activation=activation, seed=seed)
    assert found.is_identified, found.reason
    assert found.network is not None
    assert found.certificate is not None
    assert unweave.match(found.network, truth).largest_error <= found.certificate.radius < 1e-8
    assert not found.certificate.is_singular_estimated


def test_boxes_are_left_to_others(seed: int) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=6, neurons=10)
    survey, _ = surveyed(truth, 6, Box(-1.0, 1.0))
    assert survey.tails is None
