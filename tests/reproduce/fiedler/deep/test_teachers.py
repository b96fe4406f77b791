from itertools import pairwise

import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.reproduce.experiment import Cell
from unweave.reproduce.fiedler.deep.teachers import contracted_sizes, teacher, teacher_of


def test_the_published_example_is_split_as_published() -> None:
    assert contracted_sizes(200, layers=3, outputs=10, contraction=0.5) == (127, 63, 10)
    assert contracted_sizes(200, layers=3, outputs=10, contraction=1.0) == (95, 95, 10)
    assert contracted_sizes(200, layers=2, outputs=10, contraction=1.0) == (190, 10)


@pytest.mark.parametrize("contraction", [0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("layers", [3, 4, 5])
def test_layers_shrink_by_the_factor(layers: int, contraction: float) -> None:
    for neurons in range(120, 160):
        *hidden, outputs = contracted_sizes(neurons, layers=layers, outputs=7, contraction=contraction)
        assert sum(hidden) + outputs == neurons
        assert len(hidden) == layers - 1
        # The first width takes what flooring leaves, less than one neuron per layer and the step of the first.
        assert abs(hidden[1] - contraction * hidden[0]) <= layers + 1
        assert all(after == int(contraction * before) for before, after in pairwise(hidden[1:]))


def test_layers_without_neurons_are_refused() -> None:
    with pytest.raises(InvalidInput, match="too few for 4 layers"):
        contracted_sizes(9, layers=4, outputs=6, contraction=0.25)


def test_layers_of_directions_are_known_up_to_sign(seed: int) -> None:
    planted, rng = teacher(12, (10, 6, 4), "tanh", seed), np.random.default_rng(seed)
    hidden = np.concatenate(planted.directions[:-1])
    order = rng.permutation(len(hidden))
    noisy = rng.choice([-1.0, 1.0], (len(hidden), 1)) * hidden[order] + 1e-3 * rng.standard_normal(hidden.shape)
    assert np.array_equal(planted.layers_of(noisy), (order >= 10).astype(int))


def test_both_activations_have_the_same_weights(seed: int) -> None:
    cells = [Cell({"inputs": 6, "neurons": "5-4-3", "outputs": name}, seed) for name in ("tanh", "identity")]
    bending, linear = (teacher_of(cell) for cell in cells)
    assert np.array_equal(bending.network.layers[2].weights, linear.network.layers[2].weights)
    assert (len(bending.seen), len(linear.seen)) == (3, 2)
