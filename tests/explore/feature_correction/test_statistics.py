import numpy as np
import pytest

from unweave.explore.feature_correction.statistics import SEED_RULES, Need, Scores, conclude, scores


def test_the_interval_is_the_t_interval(seed: int) -> None:
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(seed).standard_normal(6)
    interval = ttest_1samp(values, 0).confidence_interval(0.95)
    found = Scores(tuple(values))
    assert found.mean - found.half_width == pytest.approx(interval.low)
    assert found.mean + found.half_width == pytest.approx(interval.high)


def test_differences_are_paired() -> None:
    gap = Scores((0.9, 0.8, 0.7)).minus(Scores((0.8, 0.7, 0.6)))
    assert gap.mean == pytest.approx(0.1)
    assert gap.standard_error < 1e-12


def test_a_seed_that_is_missing_ends_the_pairs() -> None:
    assert scores([0.1, None, 0.3]).values == (0.1,)


@pytest.mark.parametrize("seeds", [0, 1, 4])
def test_few_seeds_never_conclude(seeds: int) -> None:
    found = conclude(Scores((0.5,) * seeds), tolerance=1e-3)
    assert found.need is Need.UNKNOWN
    assert found.more_seeds == 5 - seeds


def test_clear_differences_are_concluded() -> None:
    assert conclude(Scores((0.05, 0.04, 0.06, 0.05, 0.05)), tolerance=1e-3).need is Need.YES
    assert conclude(Scores((0.0, 0.0, 0.0, 0.0, 0.0)), tolerance=1e-3).need is Need.NO
    assert conclude(Scores((-0.05, -0.04, -0.06, -0.05, -0.05)), tolerance=1e-3).need is Need.REVERSED


def test_a_difference_within_its_error_asks_for_seeds_that_would_decide_it() -> None:
    gap = Scores((0.03, -0.01, 0.02, -0.01, 0.02))
    found = conclude(gap, tolerance=2e-3)
    assert found.need is Need.UNKNOWN
    # As many more seeds that scatter alike do decide it.
    enough = np.resize(gap.values, 5 + 2 * found.more_seeds)
    assert conclude(Scores(tuple(enough)), tolerance=2e-3).need is Need.YES


def test_hopeless_differences_ask_for_more_than_anybody_has() -> None:
    assert conclude(Scores((0.3, -0.3, 0.3, -0.3, 0.001)), tolerance=1e-3).more_seeds > SEED_RULES.most - 5


def test_what_diverged_is_not_concluded_from() -> None:
    found = conclude(Scores((0.1, 0.1, float("nan"), 0.1, 0.1)), tolerance=1e-3)
    assert (found.need, found.has_diverged, found.more_seeds) == (Need.UNKNOWN, True, 0)


def test_differences_that_are_noise_are_rarely_called_needed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    needs = [conclude(Scores(tuple(rng.standard_normal(5))), tolerance=1e-9).need for _ in range(400)]
    # 2.5 % are expected of a two-sided interval of 95 %.
    assert needs.count(Need.YES) <= 24
