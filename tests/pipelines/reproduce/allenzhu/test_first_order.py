"""First-order training: the objective against brute force, and that joint training corrects what layers alone can't."""

import numpy as np
import pytest

from late import LateModule
from unweave._kernels.quadratic_terms import Data, Terms, Units
from unweave.arrays import pack_squares
from unweave.exceptions import InvalidInput
from unweave.networks.quadratic.teacher import UniformInputs, make_teacher
from unweave.reproduce.allenzhu.algorithm1 import Algorithm1
from unweave.reproduce.allenzhu.distillation import distill
from unweave.reproduce.allenzhu.schedules import PlateauSchedule, Situation, ThresholdSchedule
from unweave.reproduce.allenzhu.staged import StagedTraining
from unweave.reproduce.allenzhu.traces import trace_features

kernel = LateModule("unweave._kernels.quadratic_training")
SOURCES = ((1,), (2, 0))


def small_problem(seed: int, *, has_frames: bool, bound: float) -> tuple[Units, Terms, Data]:
    rng = np.random.default_rng(seed)
    inputs, width, readouts, samples = 4, 2, 3, 6
    features = (rng.standard_normal((width, inputs)), rng.standard_normal((1, 3 + inputs)))
    wide = (rng.standard_normal((readouts, inputs)), rng.standard_normal((readouts, 3 + inputs)))
    frames = (rng.standard_normal((3, width)), rng.standard_normal((1, 1))) if has_frames else ()
    bounds = (np.float64(bound), np.float64(bound)) if has_frames else ()
    strengths = [rng.uniform(0.1, 1.0, 2) for _ in range(5)]
    points = rng.standard_normal((samples, inputs))
    data = Data(points, points**2 - 1, rng.standard_normal(samples))
    return Units(features, wide), Terms(*strengths, frames, bounds), data


def brute_force(units: Units, terms: Terms, data: Data) -> float:
    points, squares, labels, offsets = data
    features = squares @ units.features[0].T
    fed = (features @ terms.frames[0].T) ** 2 if terms.frames else pack_squares(features)
    read = (squares, np.concatenate([fed, points], axis=1))
    total = 0.0
    outputs = np.zeros(len(points))
    for place, (level, main) in enumerate(zip(read, (4, 3), strict=True)):
        k, w = units.features[place], units.readouts[place]
        outputs += terms.weights[place] * np.sum((level @ w.T) ** 2, axis=1)
        whole = k.T @ k - w.T @ w
        total += terms.cross[place] * np.sum(whole[:main, main:] ** 2) + terms.main[place] * np.sum(
            whole[:main, :main] ** 2
        )
        total += terms.whole[place] * np.sum(whole**2) + terms.decay[place] * (np.sum(k**2) + np.sum(w**2))
    if offsets is None:
        return float(np.mean((outputs - labels) ** 2) + total)
    margins = terms.sharpness * labels * (outputs + offsets)
    return float(np.mean(np.logaddexp(0.0, -margins)) / terms.sharpness + total)


@pytest.mark.parametrize("has_frames", [False, True])
def test_objective_is_its_formula(has_frames: bool, seed: int) -> None:
    units, terms, data = small_problem(seed, has_frames=has_frames, bound=1e6)
    assert kernel.objective(units, terms, data, sources=SOURCES) == pytest.approx(
        brute_force(units, terms, data), rel=1e-12
    )


def test_objective_of_classes_is_its_formula(seed: int) -> None:
    units, terms, data = small_problem(seed, has_frames=True, bound=1e6)
    rng = np.random.default_rng(seed)
    terms = terms._replace(sharpness=0.3)
    data = data._replace(
        labels=rng.choice([-1.0, 1.0], len(data.labels)), offsets=rng.standard_normal(len(data.labels))
    )
    assert kernel.objective(units, terms, data, sources=SOURCES) == pytest.approx(
        brute_force(units, terms, data), rel=1e-12
    )


@pytest.mark.parametrize("bound", [0.7, 1e6])
def test_gradient_against_finite_differences(bound: float, seed: int) -> None:
    units, terms, data = small_problem(seed, has_frames=True, bound=bound)
    slopes, step = kernel.gradient(units, terms, data, sources=SOURCES), 1e-4
    rng = np.random.default_rng(seed)
    for name in ("features", "readouts"):
        for place in range(2):
            matrix = getattr(units, name)[place]
            direction = rng.standard_normal(matrix.shape)
            ends = []
            for times in (1, -1, 2, -2):
                moved = list(getattr(units, name))
                moved[place] = matrix + times * step * direction
                ends.append(kernel.objective(units._replace(**{name: tuple(moved)}), terms, data, sources=SOURCES))
            expected = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * step)
            found = float(np.sum(getattr(slopes, name)[place] * direction))
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_frozen_units_stay(seed: int) -> None:
    units, terms, data = small_problem(seed, has_frames=False, bound=1.0)
    trains = Units((np.float64(0), np.float64(0)), (np.float64(0), np.float64(1)))
    batches = np.zeros((5, 4), dtype=int)
    moved, _, _ = kernel.train(
        units, trains, terms, data, batches, np.full(5, 1e-3), sources=SOURCES, method="adam", clip=1.0, noise=1e-3
    )
    np.testing.assert_array_equal(moved.features[0], units.features[0])
    np.testing.assert_array_equal(moved.readouts[0], units.readouts[0])
    assert np.max(np.abs(moved.readouts[1] - units.readouts[1])) > 1e-4


def test_distillation_keeps_main_and_cross_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    exact = rng.standard_normal((2, 9))
    mixed, _ = np.linalg.qr(rng.standard_normal((7, 2)))
    readout = mixed @ exact
    found = distill(readout, main=5)
    assert found.features.shape == (2, 9)
    assert found.is_rank_visible
    products, expected = found.features.T @ found.features, exact.T @ exact
    np.testing.assert_allclose(products[:5], expected[:5], atol=1e-9)
    alone = distill(readout[:, :5], main=5, width=2).features
    np.testing.assert_allclose(alone.T @ alone, expected[:5, :5], atol=1e-9)
    assert len(distill(readout, main=5, threshold=1e9).features) == 1


@pytest.mark.parametrize("is_layer_wise", [False, True])
def test_levels_below_change_in_joint_training_alone(is_layer_wise: bool, seed: int) -> None:
    rng, draw = np.random.default_rng(seed), UniformInputs()
    teacher = make_teacher(rng, inputs=4, widths=(2, 1), level_weights=(1.0, 0.3), distribution=draw)
    points = draw(rng, 300, 4)
    training = StagedTraining(
        readouts=3, stage_steps=500, final_steps=500, batch=16, rate=1e-2, is_layer_wise=is_layer_wise
    )
    fit = training(teacher.wiring, points, teacher(points)[:, 0], mean_squares=np.ones(4), rng=rng)
    assert [stage.steps for stage in fit.stages] == [500, 1_000]
    before, after = fit.stages[0].network.levels[0].features, fit.network.levels[0].features
    assert np.array_equal(before, after) == is_layer_wise
    trace = trace_features(fit, teacher, points)
    assert len(trace.steps) == len(trace.errors) == 3


@pytest.mark.slow
def test_classes_are_learnt_better_by_both_levels(seed: int) -> None:
    rng, draw = np.random.default_rng(seed), UniformInputs()
    teacher = make_teacher(rng, inputs=8, widths=(2, 1), level_weights=(1.0, 0.5), distribution=draw)
    points, fresh = draw(rng, 6_000, 8), draw(rng, 6_000, 8)
    unit, mean = float(np.std(teacher(points))), float(np.mean(teacher(points)))
    offsets, fresh_offsets = (rng.standard_normal(6_000) - mean / unit for _ in range(2))
    labels, truth = (
        np.sign(teacher(x)[:, 0] / unit + given) for x, given in ((points, offsets), (fresh, fresh_offsets))
    )
    training = StagedTraining(readouts=8, stage_steps=1_000, final_steps=1_500, batch=128, rate=1e-2)
    fit = training(teacher.wiring, points, labels, mean_squares=np.ones(8), rng=rng, offsets=offsets)
    wrong = [
        np.mean(np.sign(network(fresh)[:, 0] + fresh_offsets) != truth)
        for network in (fit.stages[0].network, fit.network)
    ]
    assert wrong[1] < wrong[0] / 2
    # Classes tell the size of the network, too: the offsets are its unit.
    np.testing.assert_allclose(np.std(fit.network(fresh)), np.std(teacher(fresh)) / unit, rtol=0.05)


@pytest.mark.slow
def test_joint_training_corrects_lower_features(seed: int) -> None:
    rng, draw = np.random.default_rng(seed), UniformInputs()
    teacher = make_teacher(rng, inputs=10, widths=(2, 1), level_weights=(1.0, 0.3), distribution=draw)
    points, fresh = draw(rng, 2_000, 10), draw(rng, 2_000, 10)
    labels, truth = teacher(points)[:, 0], teacher(fresh)[:, 0]
    errors, traces = [], []
    for is_layer_wise in (False, True):
        training = StagedTraining(
            readouts=8, stage_steps=2_000, final_steps=2_000, batch=128, rate=1e-2, is_layer_wise=is_layer_wise
        )
        fit = training(teacher.wiring, points, labels, mean_squares=np.ones(10), rng=np.random.default_rng(seed))
        errors.append(np.mean((fit.network(fresh)[:, 0] - truth) ** 2))
        traces.append(trace_features(fit, teacher, fresh))
    assert errors[0] < errors[1] / 100
    joint, layers = traces
    place = joint.steps.index(joint.switches[3])
    assert joint.errors[-1] < joint.errors[place] / 50
    frozen = layers.errors[layers.steps.index(layers.switches[3])]
    assert layers.errors[-1] == pytest.approx(frozen, rel=1e-6)


@pytest.mark.slow
def test_the_algorithm_of_the_theory_leaves_zero_and_counts_features(seed: int) -> None:
    rng, draw = np.random.default_rng(seed), UniformInputs()
    teacher = make_teacher(rng, inputs=10, widths=(2, 1), level_weights=(1.0, 0.2), distribution=draw)
    points = draw(rng, 2_000, 10)
    labels = teacher(points)[:, 0]
    settings = Algorithm1(readouts=8, rate=5e-3, most_steps=5_000, schedule=PlateauSchedule(least_steps=1_000))
    fit = settings(teacher.wiring, points, labels, level_weights=(1.0, 0.2), mean_squares=np.ones(10), rng=rng)
    assert [switch.what for switch in fit.switches[:2]] == ["readout", "features"]
    assert fit.switches[1].width == 2
    assert fit.objectives[-1] < 0.1 * fit.objectives[0]
    assert fit.truncated_share < 1e-3
    residual = np.mean((fit.network(points)[:, 0] - labels) ** 2)
    assert residual <= fit.objectives[-1] * 1.1


def test_zero_without_noise_never_moves(seed: int) -> None:
    rng, draw = np.random.default_rng(seed), UniformInputs()
    teacher = make_teacher(rng, inputs=6, widths=(2,), level_weights=(1.0,), distribution=draw)
    points = draw(rng, 500, 6)
    settings = Algorithm1(readouts=4, noise=0.0, most_steps=500)
    fit = settings(
        teacher.wiring, points, teacher(points)[:, 0], level_weights=(1.0,), mean_squares=np.ones(6), rng=rng
    )
    assert fit.objectives[0] == fit.objectives[-1]
    assert not fit.has_converged


def test_thresholds_of_the_theory() -> None:
    now = Situation(3, 0.5, (0.5,), 0, 1.0, (1.0, 0.1), 64)
    schedule = ThresholdSchedule(base=2)
    assert schedule.is_readout_due(now)  # 64^(-1/12) = 0.707
    assert not schedule.are_features_due(now)
    assert schedule.is_readout_due(Situation(2, np.inf, (), 0, 1.0, (1.0,), 64))
    cross, main, whole = schedule.strengths(0.1, 2, 64)
    assert cross > main > whole
    assert cross == pytest.approx(0.01 * 64 ** (-1 / 24))


def test_plateaus_wait_for_visible_features() -> None:
    schedule = PlateauSchedule(least_steps=100, window=2)
    flat = Situation(2, 1.0, (1.0,) * 6, 500, 1.5, (1.0,), 9)
    assert schedule.is_readout_due(flat)
    assert not schedule.are_features_due(flat)
    falling = Situation(2, 1.0, (8.0, 4.0, 2.0, 1.0), 500, 9.0, (1.0,), 9)
    assert not schedule.are_features_due(falling)


def test_wrong_number_of_weights_is_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=6, widths=(2, 1), level_weights=(1.0, 0.3))
    with pytest.raises(InvalidInput, match="2 numbers"):
        Algorithm1()(
            teacher.wiring, np.zeros((5, 6)), np.zeros(5), level_weights=(1.0,), mean_squares=np.ones(6), rng=rng
        )
