"""Both sides of the statements of [fiedler, Ch. 4]: they agree, and a wrong side is noticed."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.reproduce.experiment import Cell
from unweave.reproduce.fiedler.deep import hessian_identities, hyperparameters, lossless_diagonals, norm_bounds
from unweave.reproduce.fiedler.deep.figure_4_1 import measure as measure_cone
from unweave.reproduce.fiedler.deep.span_bounds import MeasuredHessians, measure, planted, printed_bound
from unweave.reproduce.fiedler.deep.teachers import teacher
from unweave.reproduce.fiedler.diagonal_solutions import exact_solution
from unweave.reproduce.fiedler.entangled import a_priori_bound, entangled_bounds, target_span

SMALL = {"unseen": 0, "second_weights": 3e-3, "radius": 1e-4, "points": 40}


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "softplus"])
def test_identities_hold_up_to_errors_of_differences(activation: str, seed: int) -> None:
    found = hessian_identities.measure(Cell({"neurons": "6-5-3", "activation": activation}, seed))
    assert float(found["gradient_defect"]) < 1e-9  # type: ignore[arg-type]
    assert float(found["hessian_defect"]) < 1e-5  # type: ignore[arg-type]


def test_entangled_weights_of_another_point_are_noticed(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    true = hessian_identities.entangled_weights
    monkeypatch.setattr(hessian_identities, "entangled_weights", lambda network, point: true(network, point + 0.1))
    found = hessian_identities.measure(Cell({"neurons": "6-5-3", "activation": "tanh"}, seed))
    assert min(float(value) for value in found.values()) > 1e-3  # type: ignore[arg-type]


def test_ratios_to_bounds_are_at_most_one_and_scale_with_them(seed: int) -> None:
    found = norm_bounds.measure(Cell({"inputs": 6, "neurons": "5-4-3", "outputs": "tanh", "pairs": 5}, seed))
    assert max(float(value) for value in found.values()) <= 1.0 + 1e-12  # type: ignore[arg-type]
    network, rng = teacher(6, (5, 4, 3), "tanh", seed).network, np.random.default_rng(seed)
    bounds, points = entangled_bounds(network), rng.standard_normal((2, 6))
    halved = replace(bounds, norms=tuple(0.5 * each for each in bounds.norms))
    ratios = [norm_bounds._ratios(network, each, *points)["norm"] for each in (bounds, halved)]
    assert ratios[1] == pytest.approx(2.0 * ratios[0])


@pytest.mark.parametrize("unseen", [0, 1])
def test_the_error_is_below_a_bound_that_means_something(unseen: int, seed: int) -> None:
    found = measure(Cell(SMALL | {"unseen": unseen}, seed))
    assert found["is_met"] == 1.0
    assert float(found["error"]) <= float(found["bound"])  # type: ignore[arg-type]
    assert float(found["difference"]) <= 1.0  # type: ignore[arg-type]
    assert float(found["exact_value"]) >= 1.0  # type: ignore[arg-type]
    assert float(found["measured_value"]) >= 1.0  # type: ignore[arg-type]


def test_a_neuron_without_a_way_to_the_outputs_is_not_seen(seed: int) -> None:
    network, rng = planted(seed, unseen=1, size=1.0), np.random.default_rng(seed)
    found = MeasuredHessians.at(network, 1e-3 * rng.standard_normal((60, 6)), unseen=1)
    whole = target_span(network, np.zeros(6))
    assert np.linalg.matrix_rank(found.inside) == found.target.shape[1] == whole.shape[1] - 1 == 8
    # What is left out has no part in the Hessians but drift.
    left_out = whole - found.target @ (found.target.T @ whole)
    direction = np.linalg.svd(left_out)[0][:, 0]
    assert np.linalg.norm(found.exact @ direction) < 1e-3 * np.linalg.norm(found.exact)


def test_outputs_at_one_point_show_no_more_than_the_last_hidden_units(seed: int) -> None:
    # [fiedler, (4.44)] asks for as many independent Hessians as there are hidden neurons; linear outputs have fewer.
    network = teacher(8, (7, 4, 12), "identity", seed).network
    hessians = network.hessians(np.random.default_rng(seed).standard_normal((1, 8)))[0]
    assert np.linalg.matrix_rank(hessians) == 4


def test_printed_and_corrected_bounds_agree_without_errors_of_differences() -> None:
    exact = a_priori_bound(learnability=0.5, drift=0.1)
    assert printed_bound(learnability=0.5, drift=0.1, differentiation_error=0.0) == pytest.approx(exact)
    assert exact == pytest.approx(0.4)
    assert printed_bound(learnability=0.5, drift=0.1, differentiation_error=0.3) == pytest.approx(0.8 / 0.4)
    assert printed_bound(learnability=0.5, drift=0.1, differentiation_error=0.6) == np.inf


@pytest.mark.parametrize("activation", ["tanh", "sin", "sigmoid"])
def test_diagonals_lose_nothing(activation: str, seed: int) -> None:
    found = lossless_diagonals.measure(Cell({"neurons": "6-5-3", "activation": activation}, seed))
    assert max(float(value) for value in found.values()) < 1e-10  # type: ignore[arg-type]
    assert ("signs" in found) == (activation != "sigmoid")


def test_signs_matter_in_the_output_layer_only(seed: int) -> None:
    network, rng = teacher(6, (5, 4, 3), "tanh", seed).network, np.random.default_rng(seed)
    orders, scales = (np.arange(5), np.arange(4), np.arange(3)), (np.ones(5), np.ones(4), np.ones(3))
    model = exact_solution(network, np.zeros(6), orders=orders, scales=scales, is_scaled_outside=True)
    points = rng.standard_normal((20, 6))
    turned = lossless_diagonals.with_signs(model, (-np.ones(5), -np.ones(4), np.array([1.0, -1.0, 1.0])))
    assert np.allclose(turned(points), network(points) * [1.0, -1.0, 1.0], atol=1e-12)


def test_queries_are_counted(seed: int) -> None:
    row = {"inputs": 6, "neurons": "5-4-3", "outputs": "tanh"}
    found, printed = hyperparameters.measure(Cell(row, seed)), hyperparameters.published(row)
    assert found["near_queries"] == found["far_queries"] == printed["near_queries"] == 48 * 2 * 6 * 7
    assert found["shared_queries"] == 48 * (36 + 6 + 1)
    assert found["unknowns"] == printed["unknowns"] - 6
    assert found["parameters"] == printed["parameters"] == 5 * 7 + 4 * 6 + 3 * 5
    assert abs(float(found["starts"]) - printed["starts"]) < 1.0  # type: ignore[arg-type]


def test_drift_grows_with_the_radius_and_stays_below_its_bound(seed: int) -> None:
    row = {"inputs": 10, "neurons": "8-5-4", "outputs": "tanh"}
    near, far = (measure_cone(Cell(row | {"radius": radius}, seed)) for radius in (0.01, 0.02))
    assert float(far["drift"]) == pytest.approx(2.0 * float(near["drift"]), rel=0.2)  # type: ignore[arg-type]
    assert float(far["drift"]) <= float(far["bound"])  # type: ignore[arg-type]
