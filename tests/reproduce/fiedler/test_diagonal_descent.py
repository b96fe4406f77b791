from dataclasses import replace

import numpy as np
import pytest

from late import LateModule
from unweave.activations import IDENTITY, NAMED, TANH, Activation
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.reparametrised import ReparametrisedNetwork
from unweave.networks.network import Network
from unweave.networks.planted import deep_network
from unweave.networks.symmetries import match
from unweave.reproduce.fiedler.diagonal_descent import (
    DiagonalDescent,
    DiagonalLevenbergMarquardt,
    diagonal_jacobian,
    start,
)
from unweave.reproduce.fiedler.entangled import entangled_weights, normalised

COMPILED = ("erf", "gaussian", "gelu", "identity", "sigmoid", "silu", "sin", "softplus", "tanh")
kernel = LateModule("unweave._kernels.diagonal_descent")
INPUTS, WIDTHS, OUTPUTS = 6, (5, 4), 3


def planted(seed: int, output: Activation = TANH) -> tuple[Network, ReparametrisedNetwork, np.ndarray, np.ndarray]:
    """A network, the start of its reparametrisation by exact directions, and answers."""
    rng = np.random.default_rng(seed)
    network = deep_network(rng, shape=(INPUTS, *WIDTHS, OUTPUTS), output_activation=output)
    directions = tuple(normalised(rows) for rows in entangled_weights(network, np.zeros(INPUTS)))
    points = rng.standard_normal((400, INPUTS))
    return network, start(directions, network.activations), points, network(points)


def perturbed(model: ReparametrisedNetwork, seed: int) -> ReparametrisedNetwork:
    rng = np.random.default_rng([seed, 1])

    def moved(parts: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        return tuple(part + 0.2 * rng.standard_normal(len(part)) for part in parts)

    left = (model.left[0], *moved(model.left[1:]))
    return replace(model, left=left, right=moved(model.right), shifts=moved(model.shifts))


@pytest.mark.parametrize("output", [TANH, IDENTITY], ids=str)
def test_the_jacobian_is_that_of_differences(output: Activation, seed: int) -> None:
    _, model, points, _ = planted(seed, output)
    model, points = perturbed(model, seed), points[:5]
    jacobian = diagonal_jacobian(model, points)
    columns = []
    for name in ("left", "right", "shifts"):
        for layer in range(name == "left", len(WIDTHS) + 1):
            for entry in range(len(getattr(model, name)[layer])):
                sides = []
                for step in (1e-6, -1e-6):
                    parts = [part.copy() for part in getattr(model, name)]
                    parts[layer][entry] += step
                    sides.append(replace(model, **{name: tuple(parts)})(points).ravel())
                columns.append((sides[0] - sides[1]) / 2e-6)
    assert jacobian.shape == (15, model.free_parameters)
    assert np.allclose(jacobian, np.array(columns).T, atol=1e-8)


@pytest.mark.parametrize(
    ("is_inverse_outside", "averages_outputs"),
    [
        (False, False),
        (True, True),
        pytest.param(False, True, marks=pytest.mark.slow),
        pytest.param(True, False, marks=pytest.mark.slow),
    ],
)
def test_the_compiled_gradient_is_that_of_differences(
    is_inverse_outside: bool, averages_outputs: bool, seed: int
) -> None:
    _, model, points, values = planted(seed)
    diagonals = kernel.Diagonals(*(perturbed(model, seed).left[1:], model.right, perturbed(model, seed).shifts))
    names = tuple(g.name for g in model.activations)

    def loss(changed: kernel.Diagonals) -> float:
        outer = tuple(1.0 / r for r in changed.right[:-1]) if is_inverse_outside else model.outer[:-1]
        current = replace(
            model,
            left=(model.left[0], *changed.left),
            right=changed.right,
            shifts=changed.shifts,
            outer=(*outer, model.outer[-1]),
        )
        squares = np.mean((current(points) - values) ** 2)
        return float(squares if averages_outputs else squares * OUTPUTS)

    # A step of length one over all points.
    moved, _ = kernel.descend(
        diagonals, model.matrices, names, points, values, np.arange(len(points))[None],
        rate=1.0, is_inverse_outside=is_inverse_outside, averages_outputs=averages_outputs,
    )  # fmt: skip
    for field in ("left", "right", "shifts"):
        layer = len(getattr(diagonals, field)) - 1
        for entry in range(2):
            sides = []
            for step in (1e-6, -1e-6):
                parts = [part.copy() for part in getattr(diagonals, field)]
                parts[layer][entry] += step
                sides.append(loss(diagonals._replace(**{field: tuple(parts)})))
            found = getattr(diagonals, field)[layer] - getattr(moved, field)[layer]
            assert found.dtype == np.float64
            assert found[entry] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-5, abs=1e-9)


def test_a_step_is_as_long_as_its_rate_says(seed: int) -> None:
    _, model, points, values = planted(seed)
    names = tuple(g.name for g in model.activations)
    diagonals = kernel.Diagonals(model.left[1:], model.right, model.shifts)
    options = {"is_inverse_outside": True, "averages_outputs": False}
    batches = np.arange(len(points))[None]
    fixed = (diagonals, model.matrices, names, points, values, batches)
    (short, loss), (long, _) = (kernel.descend(*fixed, rate=rate, **options) for rate in (0.1, 1.0))
    assert loss == pytest.approx(np.mean(np.sum((model(points) - values) ** 2, axis=1)), rel=1e-12)
    for before, near, far in zip(diagonals.shifts, short.shifts, long.shifts, strict=True):
        assert np.any(far != before)
        np.testing.assert_allclose(near - before, 0.1 * (far - before), atol=1e-14)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_activations_are_the_package_s(name: str) -> None:
    assert sorted(kernel.FUNCTIONS) == list(COMPILED)
    t = np.linspace(-3.0, 3.0, 13)
    with kernel.double_precision():
        compiled = np.asarray(kernel.FUNCTIONS[name](kernel.jnp.asarray(t)))
    assert np.allclose(compiled, NAMED[name](t), atol=1e-14)


@pytest.mark.parametrize("output", [TANH, IDENTITY], ids=str)
def test_levenberg_marquardt_completes_exact_directions(output: Activation, seed: int) -> None:
    network, model, points, values = planted(seed, output)
    found = DiagonalLevenbergMarquardt(gain_tol=1e-12)(model, points, values)
    assert found.residual < 1e-9
    assert found.has_converged
    assert match(found.model.network(), network).largest_error < 1e-6
    assert np.all(np.diff(found.history) < 0)


def test_errors_of_directions_leave_a_floor(seed: int) -> None:
    network, _, points, values = planted(seed)
    rng = np.random.default_rng([seed, 2])
    exact = entangled_weights(network, np.zeros(INPUTS))
    wrong = tuple(normalised(normalised(v) + 0.02 * normalised(rng.standard_normal(v.shape))) for v in exact)
    found = DiagonalLevenbergMarquardt()(start(wrong, network.activations), points, values)
    assert 1e-4 < found.residual < 0.05
    assert found.has_converged


@pytest.mark.parametrize("is_inverse_outside", [False, True])
def test_descent_falls_towards_the_network(is_inverse_outside: bool, seed: int) -> None:
    network, model, points, values = planted(seed)
    settings = DiagonalDescent(rate=0.05, steps=3_000, is_inverse_outside=is_inverse_outside)
    found = settings(model, points, values, rng=np.random.default_rng(seed))
    before = float(np.sqrt(np.mean((model(points) - values) ** 2)))
    assert found.residual < 0.15 * before
    assert found.steps == 3_000
    assert len(found.history) == 6
    assert found.residual == pytest.approx(np.sqrt(np.mean((found.model.network()(points) - values) ** 2)))
    assert found.mean_error == pytest.approx(np.mean(np.linalg.norm(found.model(points) - network(points), axis=1)))


def test_descent_ends_on_a_plateau(seed: int) -> None:
    _, model, points, values = planted(seed)
    settings = DiagonalDescent(rate=1e-9, steps=10_000, round_steps=20, plateau=(0.01, 2))
    found = settings(model, points, values, rng=np.random.default_rng(seed))
    assert found.has_converged
    assert found.steps < 1_000


def test_descent_repeats_with_its_generator(seed: int) -> None:
    _, model, points, values = planted(seed)
    settings = DiagonalDescent(steps=60, round_steps=40)
    runs = [settings(model, points, values, rng=np.random.default_rng(3)) for _ in range(2)]
    assert runs[0].residual == runs[1].residual
    assert runs[0].steps == 60


def test_the_second_form_starts_at_the_same_function(seed: int) -> None:
    _, model, points, values = planted(seed)
    moved = perturbed(model, seed)
    found = DiagonalDescent(rate=0.0, steps=10, round_steps=10)(moved, points, values, rng=np.random.default_rng(0))
    assert np.allclose(found.model(points), moved(points), atol=1e-12)


def test_wrong_use_is_refused(seed: int) -> None:
    _, model, points, values = planted(seed)
    scaled = replace(model, outer=(2.0 * model.outer[0], *model.outer[1:]))
    with pytest.raises(InvalidInput, match="outer diagonals"):
        DiagonalLevenbergMarquardt()(scaled, points, values)
    with pytest.raises(InvalidInput, match="unknowns"):
        DiagonalLevenbergMarquardt()(model, points[:3], values[:3])
    relu = replace(model, activations=(NAMED["relu"], TANH, TANH))
    with pytest.raises(InvalidInput, match="compiled"):
        DiagonalDescent(steps=1)(relu, points, values, rng=np.random.default_rng(0))


def test_the_start_has_ones_and_zeros(seed: int) -> None:
    network = deep_network(np.random.default_rng(seed), shape=(INPUTS, 6, 4, 4), output_activation=IDENTITY)
    directions = tuple(normalised(rows) for rows in entangled_weights(network, np.zeros(INPUTS)))
    model = start(directions, network.activations)
    assert all(np.all(part == 1.0) for parts in (model.left, model.right, model.outer) for part in parts)
    assert all(np.all(part == 0.0) for part in model.shifts)
    neurons = 6 + 4 + 4
    # [fiedler] counts 3 m - m_L + D with the first left diagonal, which is known.
    assert model.free_parameters == 3 * neurons - 4
