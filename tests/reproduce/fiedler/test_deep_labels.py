import numpy as np
import pytest

from unweave.arrays import pack_squares
from unweave.exceptions import InvalidInput
from unweave.networks.planted import deep_network
from unweave.reproduce.fiedler.deep_labels import far_scores, first_layer_by_scores
from unweave.reproduce.fiedler.entangled import entangled_weights, normalised

INPUTS, OUTPUTS = 24, 10


def test_far_scores_are_one_inside_the_span(seed: int) -> None:
    atoms = normalised(np.random.default_rng(seed).standard_normal((7, INPUTS)))
    basis = np.linalg.qr(pack_squares(atoms[:4]).T)[0]
    scores = far_scores(atoms, basis)
    assert np.allclose(scores[:4], 1.0)
    assert np.max(scores[4:]) < 0.9
    found = first_layer_by_scores(scores, neurons=4)
    assert np.array_equal(found.labels, [0, 0, 0, 0, 1, 1, 1])
    assert found.gap == pytest.approx(1.0 - np.max(scores[4:]))
    assert [len(rows) for rows in found.groups(atoms)] == [4, 3]


def test_one_hidden_layer_needs_no_second_group() -> None:
    found = first_layer_by_scores(np.array([0.9, 1.0]), neurons=2)
    assert found.layers == 1
    assert found.widths == (2,)


@pytest.mark.parametrize("neurons", [0, 3])
def test_a_wrong_first_width_is_refused(neurons: int) -> None:
    with pytest.raises(InvalidInput, match="first layer"):
        first_layer_by_scores(np.ones(2), neurons=neurons)


def test_far_hessians_tell_the_first_layer(seed: int) -> None:
    network = deep_network(np.random.default_rng(seed), shape=(INPUTS, 12, 6, OUTPUTS))
    points = np.random.default_rng([seed, 3]).standard_normal((1_000, INPUTS))
    points *= 60.0 / np.linalg.norm(points, axis=1, keepdims=True)
    hessians = network.hessians(points).reshape(-1, INPUTS * (INPUTS + 1) // 2)
    basis = np.linalg.svd(hessians, full_matrices=False)[2][:12].T
    layers = entangled_weights(network, np.zeros(INPUTS))[:-1]
    errors = 0.01 * normalised(np.random.default_rng([seed, 1]).standard_normal((18, INPUTS)))
    directions = normalised(normalised(np.concatenate(layers)) + errors)
    found = first_layer_by_scores(far_scores(directions, np.ascontiguousarray(basis)), neurons=12)
    assert found.labels.tolist() == 12 * [0] + 6 * [1]
