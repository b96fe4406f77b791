"""The bound on two layers of polynomial neurons, against tensors written out."""

from itertools import product

import numpy as np
import pytest

from unweave.reproduce.allenzhu.two_layer_ranks import flattened_form, form_rank, least_error, target


@pytest.mark.parametrize(("inputs", "half"), [(3, 2), (2, 4)])
def test_the_flattened_form_has_the_singular_values_of_the_tensor(inputs: int, half: int) -> None:
    # The symmetric tensor of |x|^(2 half), all of its entries: sums over all pairings are those over permutations.
    entries = {}
    for places in product(range(inputs), repeat=2 * half):
        counts = np.bincount(places, minlength=inputs)
        pairings = [1.0 if count == 0 else np.prod(np.arange(1, count, 2)) for count in counts]
        entries[places] = 0.0 if np.any(counts % 2) else float(np.prod(pairings) / np.prod(np.arange(1, 2 * half, 2)))
    full = np.array([entries[places] for places in product(range(inputs), repeat=2 * half)])
    dense = np.linalg.svd(full.reshape(inputs**half, inputs**half), compute_uv=False)
    values = np.linalg.svd(flattened_form(inputs, half), compute_uv=False)
    assert np.allclose(dense[: len(values)], values, rtol=0, atol=1e-12)
    assert np.allclose(dense[len(values) :], 0.0, atol=1e-12)


def test_fewer_neurons_than_the_rank_leave_an_error() -> None:
    # Eigenvalues for two levels: 2/3, and (inputs + 2)/3 once.
    assert form_rank(5, 2) == 15
    assert least_error(5, 2, 1) == pytest.approx(24 / 5**2 * (2 / 3) ** 2 * 14)
    assert least_error(5, 2, 15) == 0.0
    assert form_rank(4, 3) == 35


@pytest.mark.parametrize("levels", [2, 3])
def test_the_bound_is_below_the_part_of_highest_degree(levels: int) -> None:
    # Along a line the target is a polynomial, whose highest coefficient is that of the form.
    direction = np.ones(3)
    steps = np.linspace(-2, 2, 40)
    coefficients = np.polynomial.polynomial.polyfit(steps, target(steps[:, None] * direction, levels), 2**levels)
    weight = 1.0 if levels == 2 else 0.1
    half = 2 ** (levels - 1)
    assert coefficients[-1] == pytest.approx(weight * 3.0**half / 3.0 ** (half / 2), rel=1e-6)
