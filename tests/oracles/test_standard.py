import numpy as np
import pytest

from unweave.oracles.callables import CallableOracle
from unweave.oracles.domains import Box, Domain, Everywhere
from unweave.oracles.standard import StandardOracle, standardise

DOMAINS = [
    Box(np.array([0.0, -3.0, 10.0]), np.array([1.0, 5.0, 10.5])),
    Everywhere(scale=np.array([0.1, 1.0, 20.0]), center=np.array([5.0, 0.0, -1.0])),
]


def model(points: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(points.sum(axis=1)), 1e6 + 1e3 * points[:, 0]], axis=1)


def planted(domain: Domain, seed: int, *, points: int = 40) -> tuple[StandardOracle, np.ndarray, np.ndarray]:
    oracle = CallableOracle(model, inputs=3, domain=domain)
    center, half_width = domain.frame(3)
    rng = np.random.default_rng(seed)
    asked = center + half_width * domain.sample_standard(rng, points, 3, 0.0)
    values = oracle.query(asked)
    return standardise(oracle, values), asked, values


@pytest.mark.parametrize("domain", DOMAINS)
def test_answers_come_in_units_of_their_spread(domain: Domain, seed: int) -> None:
    oracle, asked, _ = planted(domain, seed)
    values = oracle.query(oracle.to_standard(asked))
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(values.std(axis=0), 1.0, rtol=1e-9)
    assert (oracle.inputs, oracle.outputs) == (3, 2)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_answers_are_those_of_the_oracle(domain: Domain, seed: int) -> None:
    oracle, asked, values = planted(domain, seed)
    answers = oracle.query(oracle.to_standard(asked)) * oracle.size + oracle.offset
    np.testing.assert_allclose(answers, values, rtol=1e-9)
    assert oracle.oracle.ledger.answered == 2 * len(asked)


def test_a_box_becomes_the_standard_box(seed: int) -> None:
    oracle, _, _ = planted(DOMAINS[0], seed)
    corners = np.array([[0.0, -3.0, 10.0], [1.0, 5.0, 10.5]])
    np.testing.assert_allclose(oracle.to_standard(corners), [[-1.0] * 3, [1.0] * 3], atol=1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.4])
def test_samples_keep_the_margin_from_the_faces(margin: float, seed: int) -> None:
    oracle, _, _ = planted(DOMAINS[0], seed)
    points = oracle.sample(np.random.default_rng(seed), 500, margin=margin)
    assert np.max(np.abs(points)) <= 1 - margin
    assert np.max(np.abs(points)) > 0.95 * (1 - margin)
    oracle.query(points + margin)


def test_samples_without_a_box_are_standard_normal(seed: int) -> None:
    oracle, _, _ = planted(DOMAINS[1], seed)
    points = oracle.sample(np.random.default_rng(seed), 4_000)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=0.1)
    np.testing.assert_allclose(points.std(axis=0), 1.0, atol=0.1)


def test_a_constant_output_is_measured_by_its_magnitude() -> None:
    oracle = CallableOracle(model, inputs=3)
    values = np.array([[5.0, 0.0, 1e8], [5.0, 0.0, 1e8 + 1.0]])
    found = standardise(oracle, values)
    np.testing.assert_array_equal(found.size, [5.0, 1.0, 1e8 + 1.0])
    np.testing.assert_array_equal(found.offset, [5.0, 0.0, 1e8 + 0.5])
