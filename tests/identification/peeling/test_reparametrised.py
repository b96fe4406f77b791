import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.identification.peeling.reparametrised import fixed_matrices
from unweave.networks.planted import deep_network
from unweave.reproduce.fiedler.entangled import entangled_weights, normalised

INPUTS = 7


def test_widening_layers_are_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for widths in ((4, 5), (8, 3)):
        directions = tuple(normalised(rng.standard_normal((width, INPUTS))) for width in (*widths, 2))
        with pytest.raises(InvalidInput, match="do not widen"):
            fixed_matrices(directions)


def test_the_output_layer_may_widen(seed: int) -> None:
    network = deep_network(np.random.default_rng(seed), shape=(INPUTS, 4, 3, 4))
    directions = tuple(normalised(rows) for rows in entangled_weights(network, np.zeros(INPUTS)))
    assert [matrix.shape for matrix in fixed_matrices(directions)] == [(4, 7), (3, 4), (4, 3)]
