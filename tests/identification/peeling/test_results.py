"""What a deep network goes through after it was found: floors, judging, units, words, files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.plants import in_own_units
from plants import perturbed
from unweave.activations import IDENTITY, RELU, SIGMOID, TANH, Activation
from unweave.certificates.certify import Certificate, Floors
from unweave.certificates.claims import ClaimRules, in_words, network_quality, size_in_words
from unweave.certificates.evidence import Evidence
from unweave.exceptions import InvalidInput
from unweave.identification.answers import AnswerPool
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.networks.symmetries import canonical, match
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.oracles.views import StandardOracle, in_oracle_units
from unweave.reports.files import read_run, write_run
from unweave.result import Cost, Outcome, Result

SHAPE = (6, 5, 4, 2)


def planted(seed: int, *, output: Activation = IDENTITY, hidden: Activation = TANH, scale: float = 1.0) -> Network:
    """A deep network; larger scales bend more."""
    rng = np.random.default_rng([seed, 91])
    network = deep_network(rng, shape=SHAPE, shift_deviation=0.3, activation=hidden, output_activation=output)
    layers = tuple(replace(layer, weights=scale * layer.weights) for layer in network.layers)
    return Network(layers)


def standard(network: Network, *, has_units: bool = False) -> StandardOracle:
    own = in_own_units(network, inputs=6, outputs=2)
    if not has_units:
        return own
    rng = np.random.default_rng(5)
    return StandardOracle(
        own.oracle, rng.normal(size=6), rng.uniform(0.5, 2.0, 6), rng.normal(size=2), rng.uniform(0.5, 2.0, 2)
    )


def judge_of(network: Network, seed: int, noise: float = 1e-16) -> Refiner:
    answers = AnswerPool(standard(network), np.random.default_rng([seed, 92]), np.random.default_rng([seed, 93]))
    return Refiner(answers, LevenbergMarquardt(), noise)


def judged(network: Network, seed: int) -> Candidate:
    return judge_of(network, seed).best([Start(perturbed(network, seed, 0.01, salt=94), 0.0)])


@pytest.mark.parametrize("output", [IDENTITY, TANH, SIGMOID], ids=str)
def test_a_start_nearby_is_refined_and_explains_fresh_answers(output: Activation, seed: int) -> None:
    truth = planted(seed, output=output)
    candidate = judged(truth, seed)
    assert candidate.explains
    assert candidate.certificate.is_isolated
    assert match(candidate.network, truth).largest_error < 1e-11


@pytest.mark.parametrize("output", [IDENTITY, TANH, SIGMOID], ids=str)
def test_the_floor_is_the_rounding_of_the_network(output: Activation, seed: int) -> None:
    truth = planted(seed, output=output)
    answers = judge_of(truth, seed).answers
    answers.prepare(truth.parameters)
    # The same network with its neurons in another order rounds differently.
    rounding = answers.fresh_values - canonical(truth)(answers.fresh_points)
    fresh = answers.fresh_points, answers.fresh_values
    floor = Floors(answers.oracle, 0.0).on_average(truth, *fresh)
    assert np.sqrt(np.mean(rounding**2)) < 3 * floor
    assert floor < 1e-14
    assert Floors(answers.oracle, 1e-6).on_average(truth, *fresh) == 1e-6


@pytest.mark.parametrize("layer", [0, 1])
def test_a_neuron_too_many_is_pruned(layer: int, seed: int) -> None:
    truth = planted(seed)
    rng, layers = np.random.default_rng([seed, 95]), list(truth.layers)
    hidden, following = layers[layer : layer + 2]
    layers[layer] = Layer(
        np.vstack([hidden.weights, 0.3 * rng.standard_normal(hidden.inputs)]), np.append(hidden.biases, 0.1), TANH
    )
    layers[layer + 1] = replace(following, weights=np.column_stack([following.weights, np.zeros(following.neurons)]))
    candidate = judge_of(truth, seed).best([Start(Network(tuple(layers)), 0.0)])
    assert candidate.network.widths == truth.widths
    assert candidate.certificate.is_isolated
    assert match(candidate.network, truth).largest_error < 1e-11


def test_a_linear_part_that_vanishes_is_dropped(seed: int) -> None:
    truth = planted(seed)
    start = replace(truth, skip=np.full((2, 6), 1e-6))
    candidate = judge_of(truth, seed).best([Start(start, 0.0)])
    assert candidate.network.skip is None
    real = replace(truth, skip=np.full((2, 6), 0.5))
    kept = judge_of(real, seed).best([Start(real, 0.0)])
    assert kept.network.skip is not None


@pytest.mark.parametrize("has_skip", [False, True])
def test_oracle_units_give_the_same_function(has_skip: bool, seed: int) -> None:
    network = planted(seed)
    if has_skip:
        network = replace(network, skip=np.random.default_rng(seed).normal(size=(2, 6)))
    oracle = standard(network, has_units=True)
    points = np.random.default_rng([seed, 1]).standard_normal((20, 6))
    moved = in_oracle_units(network, oracle)
    expected = oracle.offset + oracle.size * network(oracle.to_standard(points))
    np.testing.assert_allclose(moved(points), expected, atol=1e-13)


def test_output_units_need_an_affine_output_layer(seed: int) -> None:
    network = planted(seed, output=TANH)
    with pytest.raises(InvalidInput, match="tanh outputs"):
        in_oracle_units(network, standard(network, has_units=True))
    scaled = replace(standard(network), center=np.ones(6), half_width=np.full(6, 2.0))
    points = np.random.default_rng([seed, 1]).standard_normal((20, 6))
    moved = in_oracle_units(network, scaled)
    np.testing.assert_allclose(moved(points), network(scaled.to_standard(points)), atol=1e-14)


def test_the_network_is_delivered_with_the_activation_asked_for(seed: int) -> None:
    candidate = judged(planted(seed), seed)
    delivered = candidate.delivered(SIGMOID)
    assert delivered.activations == (SIGMOID, SIGMOID, IDENTITY)
    assert match(delivered, candidate.network).largest_error < 1e-12
    assert candidate.delivered(RELU).activations == (TANH, TANH, IDENTITY)


def evidence_for(candidate: Candidate) -> Evidence:
    return Evidence(
        network=in_words(candidate.network),
        certificate=candidate.certificate,
        floor=candidate.floor,
        limit=candidate.limit,
        tolerance=40.0 * candidate.floor,
        explains=candidate.explains,
        missed=0 if candidate.explains else candidate.certificate.fresh_queries,
        is_shallow=False,
    )


def test_the_reason_names_all_layers(seed: int) -> None:
    candidate = judged(planted(seed), seed)
    outcome, reason = ClaimRules()(evidence_for(candidate))
    assert outcome is Outcome.IDENTIFIED
    assert reason.startswith("5 and 4 neurons in 2 hidden layers of tanh; fresh answers")
    missed = replace(candidate, certificate=replace(candidate.certificate, rms_error=0.1))
    outcome, reason = ClaimRules()(evidence_for(missed))
    assert outcome is Outcome.NOT_IDENTIFIED
    assert "the network has other layers" in reason


@pytest.mark.parametrize(
    ("widths", "words"),
    [((3,), "3 neurons"), ((1,), "1 neuron"), ((5, 4, 3), "5, 4 and 3 neurons in 3 hidden layers")],
)
def test_sizes_in_words(widths: tuple[int, ...], words: str) -> None:
    assert size_in_words(deep_network(np.random.default_rng(0), shape=(2, *widths, 1))) == words


@pytest.mark.parametrize("hidden", [TANH, RELU], ids=str)
def test_deep_networks_have_a_quality(hidden: Activation, seed: int) -> None:
    network = planted(seed, hidden=hidden)
    names = [each.name for each in network_quality(network, certificate())]
    assert names == ["error on fresh answers, relative to the noise", "relative radius of the parameters"]


def certificate() -> Certificate:
    return Certificate(1e-15, 1e-16, 50, 0.95, 0.94, 1e-16, 1e-3, False, 1e-12, 1e-4)


def test_a_deep_network_survives_a_run_folder(seed: int, tmp_path: Path) -> None:
    network = planted(seed, output=TANH)
    found = Result(Outcome.IDENTIFIED, "why", network, certificate(), cost=Cost(queries=10, seconds={"refining": 1.0}))
    again = read_run(write_run(tmp_path / "run", found, {"seed": seed})).result.network
    assert again is not None
    assert again.activations == network.activations
    points = np.random.default_rng(seed).standard_normal((5, 6))
    np.testing.assert_array_equal(again(points), network(points))
