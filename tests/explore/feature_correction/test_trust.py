"""What has to be known of two trainings before their difference says anything."""

from dataclasses import replace

import pytest

from unweave.explore.feature_correction.statistics import Need, Scores
from unweave.explore.feature_correction.trust import Comparison, late_progress


def around(mean: float) -> Scores:
    return Scores(tuple(mean + 1e-4 * step for step in (-2, -1, 0, 1, 2)))


SOUND = Comparison(
    free=around(0.95), frozen=around(0.95), parts={"the first 1 alone": around(0.9)}, whole=around(0.95), chance=0.1,
    late_progress=(0.01, 0.02), has_equal_budgets=False, tolerance=2e-3,
)  # fmt: skip


def test_sound_trainings_are_concluded_from() -> None:
    assert SOUND.conclusion().need is Need.NO
    assert replace(SOUND, frozen=around(0.9)).conclusion().need is Need.YES
    assert replace(SOUND, frozen=around(0.97)).conclusion().need is Need.REVERSED


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"chance": 0.95}, "constant answer"),
        ({"whole": around(0.1)}, "constant answer"),
        ({"parts": {"2 one by one": around(0.97)}}, "2 one by one"),
        ({"late_progress": (0.3, 0.2)}, "not converged"),
        ({"late_progress": ()}, "trained longer"),
    ],
)
def test_every_doubt_ends_in_no_conclusion(changes: dict[str, object], word: str) -> None:
    """audit A16: verdicts never asked whether anything was trained."""
    found = replace(SOUND, **changes).conclusion()
    assert found.need is Need.UNKNOWN
    assert word in found.doubt


def test_a_gap_is_needed_although_the_whole_model_could_be_a_little_better() -> None:
    gap = replace(SOUND, frozen=around(0.9))
    assert replace(gap, parts={"2 one by one": around(0.96)}).conclusion().need is Need.YES
    assert replace(gap, parts={"2 one by one": around(0.99)}, frozen=around(0.94)).conclusion().need is Need.UNKNOWN


@pytest.mark.parametrize(
    ("losses", "share"),
    [
        ([2.0] + [0.1] * 10, 0.0),
        ([2.0, 1.5, 1.0, 0.5, 0.0], 0.25),
        ([2.0] + [2.0] * 10, 1.0),
        ([2.0, 1.0], None),
    ],
)
def test_late_progress_is_a_share_of_all_progress(losses: list[float], share: float | None) -> None:
    assert late_progress(losses) == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize(("final", "is_known"), [(0.0, False), (0.2, False), (0.5, True), (1.0, True)])
def test_a_schedule_that_ends_a_training_does_not_tell_that_it_has_converged(final: float, is_known: bool) -> None:
    from unweave.explore.feature_correction.recipes import CosineSchedule

    rates = [CosineSchedule(final=final)((epoch + 0.5) / 10) for epoch in range(10)]
    found = late_progress([1.0, 0.9, 0.8, *[0.7] * 8], rates=rates)
    assert (found is not None) == is_known
