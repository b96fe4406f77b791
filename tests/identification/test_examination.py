"""What errors of fitted answers allow elsewhere."""

import numpy as np
import pytest

from plants import in_own_units, shallow_and_points
from unweave.activations import RELU, TANH, Activation
from unweave.identification.answers import AnswerPool
from unweave.identification.examination import Examination
from unweave.identification.refiner import Refiner, Start
from unweave.identification.telling_points import leverages
from unweave.networks.planted import general_network
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.oracles.oracle import Box


@pytest.mark.parametrize("activation", [TANH, RELU])
def test_leverages_are_the_spread_of_refitted_values(activation: Activation) -> None:
    """Compared with values of many networks, each refitted to answers with noise of its own."""
    rng = np.random.default_rng(3)
    truth, points, fresh = shallow_and_points(3, inputs=5, neurons=6, activation=activation, per_parameter=4, fresh=200)
    noise, elsewhere = 1e-7, 2.0 * fresh[:20]
    answers = (truth(points) + noise * rng.standard_normal((len(points), truth.outputs)) for _ in range(100))
    refitted = [LevenbergMarquardt()(truth, points, values, floor=noise).network for values in answers]
    spread = np.sqrt(np.mean([(each(elsewhere) - truth(elsewhere)) ** 2 for each in refitted], axis=0))
    expected = leverages(truth, points, elsewhere)
    assert expected is not None
    np.testing.assert_allclose(spread.max(axis=1) / noise, expected, rtol=0.4)


def test_what_a_network_misses_is_still_known_when_fits_have_seen_it() -> None:
    """Fresh answers that a network misses are fitted afterwards; none of them is right for that."""
    planted = general_network(np.random.default_rng(8), inputs=3, neurons=3, activation=TANH)
    unit = in_own_units(
        lambda x: planted(x) + 1e-3 * np.sin(3.0 * x[:, :1] * x[:, 1:2]), inputs=3, domain=Box(-1.0, 1.0)
    )
    refiner = Refiner(AnswerPool(unit, *np.random.default_rng(9).spawn(2)), LevenbergMarquardt(), noise=1e-15)
    candidate = refiner(Start(planted, 0.0))
    before = Examination().of_known_fault(candidate, refiner)
    assert not candidate.explains
    assert refiner.finds_missed(candidate, batch=50)
    after = Examination().of_known_fault(candidate, refiner)
    assert after.missed == before.missed == candidate.certificate.fresh_queries


def test_a_time_limit_may_leave_no_fresh_answers() -> None:
    """Their errors were asked for a quantile, which raised an IndexError in the middle of a run."""
    planted = general_network(np.random.default_rng(8), inputs=3, neurons=3, activation=TANH)
    unit = in_own_units(planted, inputs=3, domain=Box(-1.0, 1.0))
    refiner = Refiner(AnswerPool(unit, *np.random.default_rng(9).spawn(2)), LevenbergMarquardt(), noise=1e-15)
    candidate = refiner(Start(planted, 0.0))
    unasked = AnswerPool(unit, *np.random.default_rng(10).spawn(2))
    assert Examination()._seen(candidate, unasked) == candidate.certificate.noise
