"""Single measurements of [fiedler, Ch. 1 to 3] against what is planted or known."""

import numpy as np
import pytest

from unweave.reproduce.experiment import Cell
from unweave.reproduce.fiedler import (
    atom_certificates,
    hyperparameters,
    idealised_descent,
    overcomplete_landscape,
    power_landscape,
    shift_interval,
    spectral_landscape,
)
from unweave.reproduce.fiedler.entangled_metrics import worst_of_truth
from unweave.reproduce.fiedler.near_frames import near_frame, random_atoms, rotated_span, span_of_squares
from unweave.reproduce.fiedler.rank_one_search import expected_starts, search_one_by_one


def test_atoms_are_searched_until_all_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = random_atoms(rng, inputs=6, neurons=7)
    found, starts = search_one_by_one(rotated_span(span_of_squares(atoms), rng, error=1e-3), rng)
    assert len(found) == 7 <= starts
    assert worst_of_truth(found, atoms) < 1e-2


def test_a_search_that_accepts_nothing_ends() -> None:
    rng = np.random.default_rng(0)
    span = span_of_squares(near_frame(rng, inputs=3, neurons=3, noise=0.0))
    found, starts = search_one_by_one(span, rng, threshold=1.1)
    assert len(found) == 0
    assert starts == np.ceil(10 * expected_starts(3))


def test_a_coupon_collector_of_two_expects_three() -> None:
    assert expected_starts(2) == pytest.approx(3.0)


def test_shifts_of_the_sigmoid_are_told_apart_up_to_where_its_second_derivative_turns() -> None:
    measured = {name: shift_interval.measure(Cell({"activation": name}, 0)) for name in ("tanh", "sigmoid")}
    assert measured["tanh"]["limit"] == pytest.approx(np.arctanh(1 / np.sqrt(3)))
    assert measured["sigmoid"]["limit"] == pytest.approx(np.log(2 + np.sqrt(3)))
    assert (measured["tanh"]["turns"], measured["sigmoid"]["turns"]) == (0.0, 1.0)


def test_the_idealised_objective_is_the_linearisation(seed: int) -> None:
    problem, start = idealised_descent.plant(Cell({"neurons": 4, "weight_error": 0.0}, seed))
    truth, curvature = problem.shifts, problem.curvature()
    assert problem.loss(truth) < 1e-30
    steps = np.geomspace(1e-3, 1e-1, 4)
    away = (start - truth) / np.linalg.norm(start - truth)
    gaps = [np.linalg.norm(problem.gradient(truth + step * away) - step * curvature @ away) for step in steps]
    # What is left is of second order.
    assert np.polyfit(np.log(steps), np.log(gaps), 1)[0] == pytest.approx(2.0, abs=0.2)


def test_queries_are_predicted_as_they_are_counted() -> None:
    numbers = hyperparameters.measure(Cell({"inputs": 8, "order": 1.0}, 0))
    assert numbers["queries"] == numbers["asked"]
    assert hyperparameters.published({"inputs": 50, "order": 2.0}) == pytest.approx(
        {"hessians": 3913.0, "starts": 19560.1, "threshold": 0.99, "steps": 1000.0, "samples": 2.5e6}, rel=1e-5
    )


def test_theorems_hold_on_small_plants(seed: int) -> None:
    given = {"inputs": 6, "neurons": 6, "noise": 0.001, "error": 0.002}
    spectral = spectral_landscape.measure(Cell(given, seed))
    assert (spectral["applies"], spectral["between"], spectral["falls"]) == (1.0, 0.0, 0.0)
    power = power_landscape.measure(Cell({"plant": "rotated", **given}, seed))
    assert (power["between"], power["count"]) == (0.0, 1.0)
    assert float(power["distance"]) <= float(power["bound_value"]) <= float(power["bound_good"])
    spurious = power_landscape.measure(Cell({"plant": "spurious", **given, "neurons": 4, "noise": 0.0}, seed))
    assert float(spurious["largest_low"]) == pytest.approx(0.002**2)
    assert spurious["between"] == 0.0
    certified = atom_certificates.measure(Cell({**given, "mixture": 0.1}, seed))
    assert certified["share"] == 1.0
    assert float(certified["blind_ratio"]) <= float(certified["ratio"]) <= 1.0
    random = overcomplete_landscape.measure(Cell({"inputs": 6, "neurons": 8, "error": 0.01}, seed))
    assert (random["found"], random["near"]) == (1.0, 1.0)
    assert float(random["distance"]) <= float(random["bound"])
