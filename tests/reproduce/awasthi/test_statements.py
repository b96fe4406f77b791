"""What the experiments of [awasthi] compute beside the algorithms, against brute force."""

from math import sqrt

import numpy as np
import pytest
from scipy.special import eval_hermitenorm

from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.affine_units import affine_parts
from unweave.reproduce.awasthi.root_separation import printed_separation, proven_separation, root_separation
from unweave.reproduce.awasthi.smoothed import most_neurons, smallest_singular_value, smoothed, worst_network
from unweave.reproduce.awasthi.tensor_errors import squared_norms


@pytest.mark.parametrize("degree", range(9))
def test_the_separation_of_roots_is_that_of_a_fine_grid(degree: int) -> None:
    grid = np.linspace(-8.0, 8.0, 320_001)
    seen = np.min(np.maximum(*(np.abs(eval_hermitenorm(k, grid)) for k in (degree, degree + 1))))
    assert root_separation(degree) == pytest.approx(seen, rel=1e-3)
    assert root_separation(degree) >= proven_separation(degree)
    # The erratum: the printed bound is wrong from degree 1 on.
    assert (root_separation(degree) >= printed_separation(degree)) == (degree == 0)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_norms_of_hermite_tensors(order: int) -> None:
    # |He_k(x)|^2 is rotation invariant, so a point on an axis is enough: entries are products of polynomials.
    inputs, length = 3, 1.7
    point = np.array([length, 0.0, 0.0])
    total = 0.0
    for index in np.ndindex(*(inputs,) * order):
        counts = np.bincount(index, minlength=inputs)
        total += float(np.prod(eval_hermitenorm(counts, point)) ** 2)
    assert squared_norms(np.array([length**2]), inputs=inputs, order=order)[0] == pytest.approx(total)


def test_the_adversary_stays_in_a_plane_until_it_is_moved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    neurons = most_neurons(4, 2)
    assert neurons == 9
    worst = worst_network(rng, inputs=4, neurons=neurons)
    weights = worst.layers[0].weights
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1.0)
    assert np.linalg.matrix_rank(weights) == 2
    assert smallest_singular_value(weights, order=2) < 1e-7
    moved = smoothed(worst, rng, tau=0.5).layers[0].weights
    # Columns of powers, as they are defined.
    powers = np.einsum("ni,nj->ijn", moved, moved).reshape(-1, neurons)
    assert smallest_singular_value(moved, order=2) == pytest.approx(np.linalg.svd(powers, compute_uv=False)[-1])
    lengths = [np.sum((smoothed(worst, rng, tau=0.5).layers[0].weights - weights) ** 2) for _ in range(50)]
    assert np.mean(lengths) == pytest.approx(neurons * 0.5**2, rel=0.2)


def test_affine_parts_are_what_neurons_are_far_from_their_kinks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=3, neurons=4, special_biases=(50.0, -50.0, 50.0, -50.0))
    points = rng.standard_normal((20, 3))
    np.testing.assert_allclose(affine_parts(network)(points), network(points), atol=1e-12 * sqrt(4) * 100)
