import pytest

from unweave.explore.feature_correction.plan import Kind, Plan, Thawed

PLAN = Plan(units=4, depths=(1, 2, 3, 4), windows=(0, 1, 2, 4), prox=(1e-3, 2e-3), seeds=(5, 6))


def test_everything_that_a_training_builds_on_comes_before_it() -> None:
    done = set()
    for training in PLAN.trainings():
        assert {each.name for each in (training.source, training.twin) if each is not None} <= done
        done.add(training.name)


def test_trainings_are_counted_and_none_is_done_twice() -> None:
    names = [training.name for training in PLAN.trainings()]
    # Per seed: 4 alone, 3 joint and 3 layer-wise beyond the first depth, windows 2 + 3 + 3, two pulls at 3 depths.
    assert len(names) == len(set(names)) == 2 * (4 + 3 + 3 + 8 + 6)


def test_with_one_unit_there_is_nothing_to_freeze() -> None:
    assert PLAN.layerwise(5, 1) == PLAN.joint(5, 1) == PLAN.only(5, 1)


def test_layerwise_and_joint_differ_in_the_freezing_alone() -> None:
    greedy, joint = PLAN.layerwise(5, 3), PLAN.joint(5, 3)
    assert (greedy.copied, greedy.length, greedy.frozen) == (2, 3, 2)
    assert (joint.copied, joint.length, joint.frozen) == (2, 3, 0)
    assert greedy.twin == joint


def test_a_chain_is_complete_for_a_single_depth() -> None:
    plan = Plan(units=4, depths=(3,), windows=(0,), prox=(1e-3,), seeds=(0,))
    assert [t.depth for t in plan.trainings() if t.kind is Kind.LAYERWISE] == [2, 3]


def test_training_all_starts_from_weights_of_its_own() -> None:
    starts = {training.start_seed for training in PLAN.trainings() if training.kind is not Kind.ALL}
    assert starts == {5, 6}
    assert starts.isdisjoint(training.start_seed for training in PLAN.trainings() if training.kind is Kind.ALL)


def test_nearly_equal_pulls_have_names_of_their_own() -> None:
    assert PLAN.all(5, 1, 0.1).name != PLAN.all(5, 1, 0.1 + 1e-9).name


@pytest.mark.parametrize(("thawed", "copied"), [(Thawed.CORRECTED, 3), (Thawed.RANDOM, 2)])
def test_thawed_units_start_where_they_are_told(thawed: Thawed, copied: int) -> None:
    plan = Plan(4, (3,), (1,), (1e-3,), (0,), thawed)
    assert plan.fix(0, 3, 1).copied == copied
    assert plan.fix(0, 3, 1).frozen == 2


def test_nothing_is_fixed_at_the_last_depth() -> None:
    assert {t.depth for t in PLAN.trainings() if t.kind in (Kind.FIX, Kind.ALL)} == {1, 2, 3}


def test_layerwise_training_can_be_left_out() -> None:
    plan = Plan(4, (1, 2, 3, 4), (), (), (0,), has_layerwise=False)
    assert {t.kind for t in plan.trainings()} == {Kind.ONLY}
