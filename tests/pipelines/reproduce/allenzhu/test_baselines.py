import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.networks.quadratic.teacher import GaussianInputs, make_sparse_teacher, make_teacher
from unweave.reproduce.allenzhu.baselines import (
    TrainingSamples,
    all_methods,
    by_newton,
    by_sequential_kernel,
    by_two_layers,
    compare_methods,
)
from unweave.reproduce.allenzhu.gram import alternate_gram, level_two_features
from unweave.reproduce.allenzhu.kernel_ridge import (
    RIDGES,
    GaussianKernel,
    Kernel,
    NeuralTangentKernel,
    PolynomialKernel,
    fit_kernel,
)
from unweave.reproduce.allenzhu.traces import FeatureTrace, measure_correction_law


@pytest.mark.parametrize("kernel", [PolynomialKernel(4), GaussianKernel(), NeuralTangentKernel(3)])
def test_kernels_are_positive_and_symmetric(kernel: Kernel, seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((30, 5))
    gram = kernel(points, points)
    np.testing.assert_allclose(gram, gram.T, atol=1e-12)
    assert np.linalg.eigvalsh(gram)[0] > -1e-8 * np.trace(gram)


def test_tangent_kernel_against_a_wide_network(seed: int) -> None:
    """Derivatives of a relu network with one hidden layer of 40,000 neurons."""
    rng, width = np.random.default_rng(seed), 40_000
    points = rng.standard_normal((4, 3))
    inner, outer = rng.standard_normal((width, 3)), rng.standard_normal(width)
    reach = points @ inner.T
    gates = (reach > 0) * np.sqrt(2 / width)
    by_inner = np.einsum("pw,qw,w->pq", gates, gates, outer**2) * (points @ points.T)
    by_outer = (reach * gates) @ (reach * gates).T
    np.testing.assert_allclose(NeuralTangentKernel(2)(points, points), by_inner + by_outer, rtol=0.1, atol=0.1)


def test_ridge_regression_against_scikit_learn(seed: int) -> None:
    from sklearn.kernel_ridge import KernelRidge

    rng = np.random.default_rng(seed)
    points, fresh = rng.standard_normal((80, 3)), rng.standard_normal((10, 3))
    labels = np.sin(points[:, 0]) + 0.1 * rng.standard_normal(80)
    kernel = PolynomialKernel(3)
    found = fit_kernel(kernel, points, labels)(fresh)
    gram, mean = kernel(points, points), labels.mean()
    unit = np.mean(np.diag(gram))
    peers = [KernelRidge(alpha=ridge * unit, kernel="precomputed").fit(gram, labels - mean) for ridge in RIDGES]
    distances = [np.max(np.abs(found - mean - peer.predict(kernel(fresh, points)))) for peer in peers]
    assert min(distances) < 1e-6


def test_level_two_alone_is_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=6, widths=(2,), level_weights=(1.0,))
    points = rng.standard_normal((300, 6))
    form = level_two_features(points, teacher(points)[:, 0] + 3, np.ones(6), width=2)
    np.testing.assert_allclose(form.outputs(points), teacher(points)[:, 0] + 3, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(form.leading.T @ form.leading, form.matrix, atol=1e-8)


def test_errors_follow_the_squared_weight(seed: int) -> None:
    law = measure_correction_law(np.random.default_rng(seed), distribution=GaussianInputs(), inputs=12, widths=(3, 2))
    assert 1.7 < law.slope < 2.1
    assert all(rounds[1] < rounds[0] / 10 for rounds in law.errors)
    ratio = law.contractions[0] / law.contractions[1]
    assert ratio == pytest.approx((0.1 / 0.03) ** 2, rel=0.25)


def test_too_few_samples_for_gram_rounds(seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((50, 10))
    with pytest.raises(InvalidInput, match="unknown"):
        alternate_gram(points, points[:, 0], np.ones(10), width=2)


def test_joint_is_exact_where_kernels_fail(seed: int) -> None:
    from unweave.reproduce.allenzhu.pictures import draw_comparison

    rng = np.random.default_rng(seed)
    teacher = make_sparse_teacher(rng, inputs=20)
    points, fresh = rng.standard_normal((1_000, 20)), rng.standard_normal((1_000, 20))
    samples = TrainingSamples(teacher.wiring, points, teacher(points)[:, 0], np.ones(20))
    names = ("joint, second order", "polynomial kernel 8 of x", "neural tangent kernel of x, x^2")
    methods = {name: all_methods(teacher.wiring)[name] for name in names}
    table = compare_methods(samples, fresh, teacher(fresh)[:, 0], methods=methods)
    assert table.error(names[0]) < 1e-15
    assert min(table.error(name) for name in names[1:]) > 0.4
    assert names[0] in table.text().splitlines()[2]
    assert len(draw_comparison([table]).axes[0].get_yticks()) == 3


def test_other_baselines_learn_something(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=6, widths=(2, 1), level_weights=(1.0, 0.2))
    points, fresh = rng.standard_normal((600, 6)), rng.standard_normal((600, 6))
    samples = TrainingSamples(teacher.wiring, points, teacher(points)[:, 0], np.ones(6))
    methods = {
        "sequential": by_sequential_kernel,
        "two layers": lambda given: by_two_layers(given, degree=4, neurons=10, steps=1_000),
        "newton": by_newton,
    }
    table = compare_methods(samples, fresh, teacher(fresh)[:, 0], methods=methods)
    assert table.error("newton") < 1e-15 < table.error("sequential") < 0.2
    assert table.error("two layers") < 0.9


def test_no_methods_are_refused(seed: int) -> None:
    teacher = make_sparse_teacher(np.random.default_rng(seed), inputs=8)
    samples = TrainingSamples(teacher.wiring, np.zeros((3, 8)), np.zeros(3), np.ones(8))
    with pytest.raises(InvalidInput, match="at least one"):
        compare_methods(samples, np.zeros((3, 8)), np.zeros(3), methods={})


def test_picture_of_the_correction_has_both_halves(seed: int) -> None:
    from unweave.reproduce.allenzhu.pictures import draw_correction

    law = measure_correction_law(
        np.random.default_rng(seed), distribution=GaussianInputs(), inputs=6, widths=(2, 1), samples=800, rounds=2
    )
    trace = FeatureTrace(2, (500, 1000, 1500), (1e-2, 1e-2, 1e-5), {3: 1000})
    left, right = draw_correction({"joint": trace}, law).axes
    assert left.get_yscale() == right.get_xscale() == "log"
    assert len(right.lines) == 4
