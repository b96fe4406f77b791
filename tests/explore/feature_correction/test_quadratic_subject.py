import numpy as np
import pytest

import unweave
from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.plan import Plan
from unweave.explore.feature_correction.quadratic_subject import QuadraticSubject
from unweave.explore.feature_correction.recipes import Recipe
from unweave.explore.feature_correction.samples import check_samples
from unweave.explore.feature_correction.subjects import Deadline
from unweave.networks.quadratic.teacher import UniformInputs, make_teacher
from unweave.networks.quadratic.wiring import make_wiring

INPUTS, WIDTHS = 6, (2, 1)
PLAN = Plan(2, (1, 2), (0, 1), (1e-3,), (0,))


def samples_of_a_teacher(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    draw = UniformInputs()
    teacher = make_teacher(rng, inputs=INPUTS, widths=WIDTHS, level_weights=(1.0, 0.3), distribution=draw)
    points = draw(rng, 500, INPUTS)
    labels = teacher(points)[:, 0]
    return points[:300], labels[:300], points[300:], labels[300:]


@pytest.fixture
def subject(seed: int) -> QuadraticSubject:
    samples = check_samples(samples_of_a_teacher(seed), has_validation=False, random_state=0)
    return QuadraticSubject(make_wiring(INPUTS, WIDTHS), samples, steps=40)


def test_levels_are_units(subject: QuadraticSubject) -> None:
    assert subject.units == ("level 2", "level 3")
    assert subject.start(0)["level 2"]["features"].shape == (2, INPUTS)


def test_frozen_levels_are_those_of_the_source(subject: QuadraticSubject) -> None:
    source = subject.train(PLAN.only(0, 1), None, Deadline())
    fixed = subject.train(PLAN.fix(0, 1, 0), source.weights, Deadline())
    assert np.array_equal(fixed.weights["level 2"]["features"], source.weights["level 2"]["features"])
    thawed = subject.train(PLAN.fix(0, 1, 1), source.weights, Deadline())
    assert not np.array_equal(thawed.weights["level 2"]["features"], source.weights["level 2"]["features"])


def test_a_strong_pull_holds_a_level(subject: QuadraticSubject) -> None:
    source = subject.train(PLAN.only(0, 1), None, Deadline())
    pulled = subject.train(PLAN.all(0, 1, 1e6), source.weights, Deadline())
    gap = pulled.weights["level 2"]["features"] - source.weights["level 2"]["features"]
    assert np.abs(gap).max() < 1e-4


def test_training_all_explains_what_frozen_levels_cannot(seed: int) -> None:
    result = unweave.measure_feature_correction(
        make_wiring(INPUTS, WIDTHS),
        samples_of_a_teacher(seed),
        seeds=5,
        windows=(0, 1),
        prox=(0.1,),
        recipe=Recipe(epochs=60),
    )
    assert result.is_complete
    assert result.score_name == "explained variance"
    first, last = result.depths
    assert last.layerwise_gap.mean > 0
    # The mean squares of inputs are estimated from 300 rows, which limits what can be explained.
    assert first.fixed[1].mean > first.fixed[0].mean + 1e-3
    assert first.fixed[1].mean > 0.99
    assert first.with_train_all.mean > first.with_random.mean


@pytest.mark.usefixtures("without_type_checks")
def test_what_does_not_fit_is_refused(seed: int) -> None:
    data = samples_of_a_teacher(seed)
    with pytest.raises(InvalidInput, match="of 7 inputs needs rows of that many numbers"):
        unweave.measure_feature_correction(make_wiring(7, WIDTHS), data)
    with pytest.raises(InvalidInput, match="leave units out"):
        unweave.measure_feature_correction(make_wiring(INPUTS, WIDTHS), data, units=("level 2",))
