import numpy as np
import pytest

from unweave.arrays import unpack
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.planted import deep_network
from unweave.oracles.oracle import CallableOracle
from unweave.reproduce.fiedler.derivative_sources import (
    EntrywiseDifferences,
    ExactDerivatives,
    SharedDifferences,
    entrywise_hessian_queries,
    entrywise_stencil,
)

INPUTS, OUTPUTS = 5, 3


@pytest.fixture
def network(seed: int) -> Network:
    return deep_network(np.random.default_rng(seed), shape=(INPUTS, 5, 4, OUTPUTS))


@pytest.fixture
def points(seed: int) -> np.ndarray:
    return np.random.default_rng([seed, 1]).standard_normal((4, INPUTS))


def asked(network: Network) -> CallableOracle:
    return CallableOracle(network, inputs=INPUTS)


def test_differences_agree_with_exact_derivatives(network: Network, points: np.ndarray) -> None:
    exact = ExactDerivatives(network)
    for source in (EntrywiseDifferences(asked(network)), SharedDifferences(asked(network), OUTPUTS)):
        assert np.allclose(source.gradients(points), exact.gradients(points), atol=1e-5)
        assert np.allclose(source.hessians(points), exact.hessians(points), atol=2e-4)


def test_errors_fall_with_the_square_of_the_step(network: Network, points: np.ndarray) -> None:
    exact = network.hessians(points)
    sources = (EntrywiseDifferences(asked(network), step=step) for step in (0.08, 0.04))
    errors = [np.linalg.norm(source.hessians(points) - exact) for source in sources]
    assert 3.7 < errors[0] / errors[1] < 4.3


def test_every_entry_is_the_corrected_formula(network: Network, points: np.ndarray) -> None:
    step, point = 0.01, points[0]
    found = unpack(EntrywiseDifferences(asked(network), step=step).hessians(points)[0], INPUTS)
    axes = step * np.eye(INPUTS)
    for i, j in [(0, 0), (1, 3), (4, 2)]:
        signs = [(1, 1, 1), (-1, 1, -1), (1, -1, -1), (-1, -1, 1)]
        total = sum(weight * network((point + a * axes[i] + b * axes[j])[None])[0] for a, b, weight in signs)
        assert np.allclose(found[:, i, j], total / (4 * step**2), atol=1e-9)


def test_queries_are_those_published(network: Network, points: np.ndarray) -> None:
    oracle = asked(network)
    EntrywiseDifferences(oracle).hessians(points)
    assert oracle.ledger.sent == len(points) * 2 * INPUTS * (INPUTS + 1)
    assert entrywise_hessian_queries(INPUTS) == 2 * INPUTS * (INPUTS + 1)
    oracle = asked(network)
    EntrywiseDifferences(oracle).gradients(points)
    assert oracle.ledger.sent == len(points) * 2 * INPUTS
    oracle = asked(network)
    SharedDifferences(oracle, OUTPUTS).hessians(points)
    assert oracle.ledger.sent == len(points) * (INPUTS**2 + INPUTS + 1)


def test_blocks_do_not_change_the_result(network: Network, points: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = EntrywiseDifferences(asked(network)).hessians(points)
    monkeypatch.setattr("unweave.reproduce.fiedler.derivative_sources.BLOCK_NUMBERS", entrywise_stencil(INPUTS).size)
    assert np.array_equal(whole, EntrywiseDifferences(asked(network)).hessians(points))


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan])
def test_wrong_steps_are_refused(network: Network, step: float) -> None:
    with pytest.raises(InvalidInput, match="step"):
        EntrywiseDifferences(asked(network), step=step)
