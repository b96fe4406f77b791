import numpy as np
import pytest
from scipy import special
from scipy.special import expit

from unweave.exceptions import InvalidInput
from unweave.explore.landscape.logistic import fit_logistic, wilson_interval


def test_the_fit_is_that_of_logistic_regression() -> None:
    from sklearn.linear_model import LogisticRegression

    sizes, successes, trials = np.arange(8.0, 15.0), np.array([0.0, 1, 2, 5, 8, 9, 10]), 10
    fit = fit_logistic(sizes, successes, trials)
    outcomes = np.concatenate([np.repeat([1, 0], [int(won), trials - int(won)]) for won in successes])
    reference = LogisticRegression(C=1e9, tol=1e-10).fit(np.repeat(sizes, trials)[:, None], outcomes)
    assert fit.slope == pytest.approx(reference.coef_[0, 0], rel=5e-3)
    assert fit.crossing == pytest.approx(-reference.intercept_[0] / reference.coef_[0, 0], rel=1e-3)
    assert fit(np.array([fit.crossing]))[0] == pytest.approx(0.5)


def test_the_error_of_the_crossing_is_its_spread(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.arange(6.0, 17.0)
    fits = [
        fit_logistic(sizes, rng.binomial(30, expit(0.9 * (sizes - 11.3))).astype(np.float64), 30) for _ in range(80)
    ]
    crossings = np.array([fit.crossing for fit in fits])
    assert np.mean(crossings) == pytest.approx(11.3, abs=0.1)
    assert np.std(crossings) == pytest.approx(np.mean([fit.crossing_error for fit in fits]), rel=0.25)


def test_a_step_crosses_in_its_middle() -> None:
    fit = fit_logistic(np.arange(5.0), np.array([0.0, 0, 10, 10, 10]), 10)
    assert fit.is_separated
    assert fit.crossing == pytest.approx(1.5, abs=0.02)
    assert np.isnan(fit.crossing_error)


@pytest.mark.parametrize("count", [0.0, 10.0])
def test_no_transition_has_no_crossing(count: float) -> None:
    assert np.isnan(fit_logistic(np.arange(3.0), np.full(3, count), 10).crossing)


def test_wrong_counts_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two sizes"):
        fit_logistic(np.array([1.0]), np.array([1.0]), 10)
    with pytest.raises(InvalidInput, match="from 0 to 10"):
        fit_logistic(np.arange(2.0), np.array([0.0, 11.0]), 10)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (49, 100)])
def test_wilson_intervals_are_where_the_score_test_stops(successes: int, trials: int) -> None:
    low, high = wilson_interval(successes, trials)
    share, quantile = successes / trials, float(special.ndtri(0.975))
    assert 0.0 <= low <= share <= high <= 1.0
    for end, is_open in ((low, successes > 0), (high, successes < trials)):
        # A chance at an end of the interval is 1.96 of its own standard errors away from what was seen.
        if is_open:
            assert abs(share - end) == pytest.approx(quantile * np.sqrt(end * (1 - end) / trials), rel=1e-9)
    assert (low > 0.0, high < 1.0) == (successes > 0, successes < trials)


@pytest.mark.parametrize("count", [1.0, 5.0, 9.0])
def test_equal_counts_cross_nothing(count: float) -> None:
    fit = fit_logistic(np.arange(1.0, 6.0), np.full(5, count), 10)
    assert np.isnan(fit.crossing)
    # One success more is a slope.
    assert np.isfinite(fit_logistic(np.arange(1.0, 6.0), np.append(np.full(4, count), count + 1), 10).crossing)
