"""What errors of fitted answers allow elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from plants import in_own_units, shallow_and_points
from unweave.activations import RELU, SELU, TANH, Activation
from unweave.identification.answers import AnswerPool
from unweave.identification.examination import Examination
from unweave.identification.refiner import Refiner, Start
from unweave.identification.telling_points import leverages
from unweave.networks.network import Network
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
    # "Right up to at most 0.0 of the spread" was said where no fresh answers were left.
    assert after.tolerance == before.tolerance > 0.0


def test_a_time_limit_may_leave_no_fresh_answers() -> None:
    """Their errors were asked for a quantile, which raised an IndexError in the middle of a run."""
    planted = general_network(np.random.default_rng(8), inputs=3, neurons=3, activation=TANH)
    unit = in_own_units(planted, inputs=3, domain=Box(-1.0, 1.0))
    refiner = Refiner(AnswerPool(unit, *np.random.default_rng(9).spawn(2)), LevenbergMarquardt(), noise=1e-15)
    candidate = refiner(Start(planted, 0.0))
    unasked = AnswerPool(unit, *np.random.default_rng(10).spawn(2))
    assert Examination()._seen(candidate, unasked) == candidate.certificate.noise


def test_a_network_from_random_starts_is_never_right_about_what_its_examination_missed() -> None:
    """Two kinks 2e-4 apart were one: what was missed between them was forgotten when only imitation was left."""
    planted = general_network(np.random.default_rng(8), inputs=3, neurons=2, activation=SELU)
    hidden, output = planted.layers
    rows = np.column_stack([hidden.weights, hidden.biases])[[0, 1, 1]]
    rows[2, 3] += 2e-4
    twins = Network.shallow(rows[:, :-1], rows[:, -1], output.weights[:, [0, 1, 1]], output.biases, SELU)
    rows[1, 3] += 1e-4
    single = Network.shallow(rows[:2, :-1], rows[:2, -1], output.weights * np.array([1.0, 2.0]), output.biases, SELU)
    unit = in_own_units(twins, inputs=3, domain=Box(-1.0, 1.0))
    refiner = Refiner(AnswerPool(unit, *np.random.default_rng(9).spawn(2)), LevenbergMarquardt(), noise=1e-15)
    refiner.prepare(single)
    candidate = replace(refiner.judged(Start(single, 0.0, is_student=True)), missed=0, limit=1.0)
    assert candidate.explains
    examined = Examination(rounds=1).of_any(candidate, refiner)
    assert examined.missed_trials
    assert examined.is_imitation
    assert not examined.is_right


def test_what_counts_as_met_is_said_in_the_unit_of_the_spread() -> None:
    """A share of the domain was claimed at the noise, while answers count as met at forty times that."""
    planted = general_network(np.random.default_rng(8), inputs=3, neurons=3, activation=TANH)
    unit = in_own_units(planted, inputs=3, domain=Box(-1.0, 1.0))
    refiner = Refiner(AnswerPool(unit, *np.random.default_rng(9).spawn(2)), LevenbergMarquardt(), noise=1e-9)
    examined = Examination()(refiner(Start(planted, 0.0)), refiner)
    assert examined.tolerance == pytest.approx(40.0 * 1e-9)
    assert not np.any(refiner.missed(planted, *refiner.answers.fresh))
    off = examined.candidate.network(refiner.answers.fresh_points) + 1.01 * examined.tolerance
    assert np.all(refiner.missed(examined.candidate.network, refiner.answers.fresh_points, off))
