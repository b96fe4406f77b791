from dataclasses import replace

import numpy as np
import pytest

from late import LateModule
from unweave.activations import NAMED, QUADRATIC, STEP, TANH, Activation, elu, leaky_relu, softplus
from unweave.exceptions import InvalidInput
from unweave.explore.landscape.experiment import (
    GradientSearch,
    LandscapeDesign,
    NewtonSearch,
    explore,
)
from unweave.explore.landscape.sweeps import sweep
from unweave.explore.landscape.trainings import training_curves
from unweave.learn.overparameterized.jacobian import TrainingPoint
from unweave.learn.overparameterized.newton import GramLevenbergMarquardt

kernel = LateModule("unweave._kernels.landscape")
SHARP = softplus(10.0)
SMALL = LandscapeDesign(SHARP, samples=12, planted=2, starts=3)


def some_runs(seed: int, activation: Activation = SHARP, *, neurons: int = 5, inputs: int = 4) -> "kernel.Runs":
    design = replace(SMALL, activation=activation)
    return design.runs(neurons=neurons, inputs=inputs, rng=np.random.default_rng(seed))


def point_of(runs: "kernel.Runs", index: int, activation: Activation, *, trains_outputs: bool = True) -> TrainingPoint:
    outputs, weights, points, labels = (array[index] for array in runs)
    return TrainingPoint(points, labels, outputs, weights, activation, trains_outputs)


def reference_descent(point: TrainingPoint, steps: int) -> TrainingPoint:
    """Gradient descent with the same control of its steps, one run at a time."""
    rate = kernel.FIRST_RATE
    for _ in range(steps):
        trial = point.moved(-rate * point.gradient)
        is_lower = trial.loss <= point.loss - kernel.SUFFICIENT_SHARE * rate * np.sum(point.gradient**2)
        point, rate = (trial, rate * kernel.GROWTH) if is_lower else (point, rate * kernel.SHRINKAGE)
    return point


@pytest.mark.parametrize(
    ("activation", "trains_outputs"),
    [(SHARP, True), (QUADRATIC, True), pytest.param(TANH, True, marks=pytest.mark.slow), (SHARP, False)],
    ids=str,
)
def test_the_batch_descends_like_single_runs(activation: Activation, trains_outputs: bool, seed: int) -> None:
    runs = some_runs(seed, activation)
    # Long steps amplify rounding, so only the first ones can be compared.
    steps = 25
    found = kernel.descend(runs, activation, steps=steps, loss_tol=0.0, trains_outputs=trains_outputs)
    for index in range(2):
        expected = reference_descent(point_of(runs, index, activation, trains_outputs=trains_outputs), steps)
        assert np.allclose(found.weights[index], expected.weights, atol=1e-9)
        assert np.allclose(found.output_weights[index], expected.output_weights, atol=1e-9)
        assert found.losses[index] == pytest.approx(expected.loss, rel=1e-8)
    assert found.history.shape == (6, 2)
    assert np.array_equal(found.history[:, -1], found.losses)


@pytest.mark.parametrize(
    ("name", "trains_outputs"),
    [*((name, True) for name in sorted(NAMED.keys() - {"identity"})), ("tanh", False)],
)
def test_every_function_of_the_batch_is_the_librarys(name: str, trains_outputs: bool, seed: int) -> None:
    activation = NAMED[name]
    runs = some_runs(seed, activation)
    hidden = activation(np.einsum("rpi,rni->rpn", runs.points, runs.weights))
    expected = np.einsum("rpn,rn->rp", hidden, runs.output_weights)
    assert np.allclose(kernel.answers(*runs[:3], activation), expected, atol=1e-13)
    if activation.is_smooth:
        function, scales = kernel._function(activation)
        loss, outward, inward = kernel._first_slopes(*runs, *scales, function=function, trains_outputs=trains_outputs)
        point = point_of(runs, 0, activation)
        assert float(loss[0]) == pytest.approx(point.loss, rel=1e-4)
        parts = np.concatenate([np.asarray(outward[0]), np.asarray(inward[0]).ravel()])
        expected = np.where(np.arange(len(parts)) < 5, float(trains_outputs), 1.0) * point.gradient
        assert np.allclose(parts, expected, atol=1e-4)


@pytest.mark.parametrize("activation", [leaky_relu(0.3), leaky_relu(-1.0), elu(0.7)], ids=str)
def test_families_carry_their_numbers(activation: Activation, seed: int) -> None:
    runs = some_runs(seed, activation)
    hidden = activation(np.einsum("rpi,rni->rpn", runs.points, runs.weights))
    expected = np.einsum("rpn,rn->rp", hidden, runs.output_weights)
    assert np.allclose(kernel.answers(*runs[:3], activation), expected, atol=1e-13)
    assert kernel._function(activation)[0] is kernel._function(activation)[0], "it would be compiled each time"


@pytest.mark.parametrize("beta", [1.0, 10.0])
def test_the_fast_softplus_is_exact(beta: float) -> None:
    import jax

    t = np.linspace(-40.0, 40.0, 4_001)
    with kernel.double_precision():
        value, slope = jax.jvp(kernel._softplus, (beta * t,), (np.ones_like(t),))
        assert np.allclose(np.asarray(value) / beta, softplus(beta)(t), rtol=4e-16, atol=4e-16)
        assert np.allclose(np.asarray(slope), softplus(beta)(t, 1), rtol=1e-15, atol=0)


@pytest.mark.each_value
@pytest.mark.parametrize("search", [NewtonSearch(), GradientSearch(steps=2_000)], ids=["newton", "gradient"])
@pytest.mark.parametrize("activation", [SHARP, QUADRATIC], ids=str)
def test_wide_networks_have_no_spurious_minima(search, activation: Activation, seed: int) -> None:
    design = replace(SMALL, activation=activation)
    found = explore(design, neurons=9, inputs=5, search=search, seed=seed)
    assert found.is_global.shape == (2, 3)
    # Descent on squares never changes the sign of an output weight, so that unlucky starts fail at any width.
    is_unlucky = activation == QUADRATIC and isinstance(search, GradientSearch)
    assert found.run_share >= (0.5 if is_unlucky else 1.0)
    assert found.clean == sum(all(row) for row in found.is_global)


def test_newton_ends_where_the_librarys_ends(seed: int) -> None:
    runs = some_runs(seed, TANH, neurons=6)
    found = kernel.levenberg_marquardt(runs, TANH, steps=100, loss_tol=1e-20, trains_outputs=True)
    for index in range(len(runs.labels)):
        assert found.losses[index] <= 1e-20
        assert GramLevenbergMarquardt()(point_of(runs, index, TANH)).has_converged
        end = point_of(runs._replace(output_weights=found.output_weights, weights=found.weights), index, TANH)
        assert end.loss == pytest.approx(found.losses[index], rel=1e-3, abs=1e-28)


def test_a_run_that_needs_more_damping_is_not_given_up(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Ten rejected steps raise the damping by seven decades; from here it takes more of them before one is accepted.
    monkeypatch.setattr("unweave._kernels.landscape.FIRST_DAMPING", 1e-14)
    runs = some_runs(seed, SHARP, neurons=9)
    found = kernel.levenberg_marquardt(runs, SHARP, steps=150, loss_tol=1e-12, trains_outputs=True)
    assert np.all(found.losses <= 1e-12)


def test_filling_up_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = some_runs(seed, SHARP, neurons=5, inputs=3)
    ends = []
    for size in (1, 8):
        monkeypatch.setattr("unweave._kernels.landscape.PADDED_SIZE", size)
        ends.append(kernel.levenberg_marquardt(runs, SHARP, steps=10, loss_tol=0.0, trains_outputs=True))
    assert ends[0].weights.shape == ends[1].weights.shape == runs.weights.shape
    assert np.allclose(ends[0].weights, ends[1].weights, atol=1e-8)
    assert np.allclose(ends[0].output_weights, ends[1].output_weights, atol=1e-8)


def test_runs_that_are_done_leave_the_batch(seed: int) -> None:
    runs = some_runs(seed, QUADRATIC, neurons=12)
    finished = kernel.levenberg_marquardt(runs, QUADRATIC, steps=200, loss_tol=1e-12, trains_outputs=True)
    mixed = kernel.Runs(*(np.concatenate([a, b]) for a, b in zip(runs, runs, strict=True)))
    mixed.weights[:6], mixed.output_weights[:6] = finished.weights, finished.output_weights
    found = kernel.levenberg_marquardt(mixed, QUADRATIC, steps=200, loss_tol=1e-12, trains_outputs=True)
    is_done = np.flatnonzero(finished.losses <= 1e-12)
    assert len(is_done) >= 3
    assert np.all(found.steps[is_done] == 0)
    assert np.all(found.steps[6:] > 0)
    assert np.array_equal(found.weights[is_done], finished.weights[is_done])


def test_more_runs_than_a_batch_holds_are_all_trained(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unweave._kernels.landscape.LARGEST_BATCH", 4)
    assert explore(SMALL, neurons=9, inputs=5, seed=seed).run_share == 1.0


@pytest.mark.parametrize("flag", [True, False])
def test_the_global_flag_of_jax_does_not_matter(flag: bool, seed: int) -> None:
    import jax

    with jax.enable_x64(flag):
        found = explore(SMALL, neurons=6, inputs=5, seed=seed)
    assert np.array_equal(found.losses, explore(SMALL, neurons=6, inputs=5, seed=seed).losses)
    assert found.losses.dtype == np.float64


def test_a_size_is_compiled_once(seed: int) -> None:
    explore(SMALL, neurons=6, inputs=5, seed=seed)
    before = kernel._newton._cache_size()
    explore(SMALL, neurons=7, inputs=4, seed=seed + 1)
    explore(replace(SMALL, activation=softplus(3.0)), neurons=7, inputs=4, seed=seed + 1)
    assert kernel._newton._cache_size() == before


@pytest.mark.parametrize(("neurons", "inputs"), [(4, 5), ((4, 5), (6, 7))])
def test_a_sweep_varies_neurons_or_inputs(neurons: int | tuple[int, ...], inputs: int | tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="one number and several of the other"):
        sweep(SMALL, neurons=neurons, inputs=inputs)


@pytest.mark.slow
def test_the_transition_is_where_parameters_outnumber_samples(seed: int) -> None:
    design = LandscapeDesign(SHARP, samples=30, planted=3, starts=4)
    search = NewtonSearch(steps=100)
    over_neurons = sweep(design, neurons=(4, 12), inputs=5, search=search, seed=seed)
    over_inputs = sweep(design, neurons=5, inputs=(4, 12), search=search, seed=seed)
    for curve in (over_neurons, over_inputs):
        assert curve.clean_shares[0] < 0.5
        assert curve.clean_shares[-1] > 0.5
        assert curve.points[-1].run_share >= 0.9
        assert 4 < curve.fit.crossing < 12
        assert curve.seconds > 0
    assert over_neurons.varied == "neurons"
    assert [point.inputs for point in over_inputs.points] == [4, 12]


def test_labels_of_random_signs_need_outputs_of_both_signs(seed: int) -> None:
    # With outputs fixed at ones the answers are positive, and the negative labels stay as they are.
    design = replace(SMALL, activation=QUADRATIC, has_random_labels=True)
    ones = replace(design, starts_at_ones=True, trains_outputs=False)
    runs = ones.runs(neurons=12, inputs=8, rng=np.random.default_rng([seed, 12, 8]))
    floor = np.mean(np.minimum(runs.labels, 0.0) ** 2, axis=1) / 2
    assert np.all(explore(ones, neurons=12, inputs=8, seed=seed).losses.ravel() >= floor - 1e-12)
    assert explore(design, neurons=12, inputs=8, seed=seed).run_share == 1.0


def test_training_curves_fall_to_the_tolerance(seed: int) -> None:
    design = LandscapeDesign(SHARP, samples=15, planted=3, starts=1, has_random_labels=True)
    curves = training_curves(design, neurons=20, inputs=5, steps=8_000, error_tol=1e-3, seed=seed)
    assert curves.errors.shape == (3, len(curves.steps))
    assert np.all(np.diff(curves.errors, axis=1) <= 0)
    assert np.all(curves.errors[:, -1] <= 1e-3)


def test_a_function_of_jax_serves_as_activation(seed: int) -> None:
    import jax.numpy as jnp

    design = replace(SMALL, activation=lambda t: jnp.maximum(t, 0.1 * t))
    assert explore(design, neurons=12, inputs=6, seed=seed).losses.shape == (2, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("activation", "neurons", "inputs", "lowest", "highest"),
    [(SHARP, (9, 10, 11, 12, 13, 14), 10, 10, 13), (QUADRATIC, (4, 5, 6, 7, 8), 20, 5, 7)],
    ids=["2a", "3a"],
)
def test_published_transitions_are_met(activation, neurons, inputs, lowest, highest, seed: int) -> None:
    curve = sweep(LandscapeDesign(activation), neurons=neurons, inputs=inputs, seed=seed)
    assert lowest < curve.fit.crossing < highest


@pytest.mark.slow
def test_random_labels_are_fitted_from_two_weights_per_sample_on(seed: int) -> None:
    design = LandscapeDesign(SHARP, planted=3, starts=1, has_random_labels=True)
    for neurons in (20, 30):
        curves = training_curves(design, neurons=neurons, inputs=10, seed=seed)
        assert np.all(curves.errors[:, -1] <= 1e-5)


@pytest.mark.usefixtures("without_type_checks")
def test_wrong_use_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one neuron"):
        explore(SMALL, neurons=0, inputs=3)
    with pytest.raises(InvalidInput, match="at least one sample"):
        LandscapeDesign(SHARP, starts=0)
    with pytest.raises(InvalidInput, match="a step has no slope"):
        explore(replace(SMALL, activation=STEP), neurons=2, inputs=3)
