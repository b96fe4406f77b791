"""Networks that are planted for `identify`, each with its truth: ordinary ones, and hard ones."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from unweave import Box, Everywhere
from unweave.activations import activation_named
from unweave.networks.network import Network

STEADY = ("tanh", "sigmoid", "erf", "softplus", "gelu", "silu", "mish", "elu", "selu")
# Those without tails that a far line could read.
WAVES = ("sin", "gaussian")
SMOOTH = STEADY + WAVES
KINKED = ("relu", "leaky_relu(0.1)", "hard_tanh", "hard_sigmoid")

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Truth:
    """What is planted.

    Args:
        function: what is asked.
        inputs: its number of inputs.
        domain: where it is asked.
        network: the network that it is, if it is one.
        exact: the function without noise, rounding or failures.
        is_coarse: whether rounding may leave no spread of the answers: they are judged as the constant that they are.
        hidden_share: share of the domain up to which a deviation may be named as too narrow to be seen.
        settings: of `identify`.
    """

    function: Function
    inputs: int
    domain: Box | Everywhere
    network: Network | None = None
    exact: Function | None = None
    is_coarse: bool = False
    hidden_share: float = 0.0
    settings: dict[str, object] | None = None


Plant = Callable[[np.random.Generator], Truth]


def random_network(
    rng: np.random.Generator, activation: str, *, inputs: int, neurons: int, outputs: int = 1, bias: float | None = None
) -> Network:
    """Plant weights N(0, 1) / sqrt(fan-in), with biases of one size between 0.3 and 2 if none is given."""
    size = rng.uniform(0.3, 2.0) if bias is None else bias
    return Network.shallow(
        weights=rng.standard_normal((neurons, inputs)) / np.sqrt(inputs),
        biases=size * rng.standard_normal(neurons),
        output_weights=rng.standard_normal((outputs, neurons)) / np.sqrt(neurons),
        offset=rng.standard_normal(outputs),
        activation=activation_named(activation),
    )


def drawn(rng: np.random.Generator, names: tuple[str, ...], **sizes: int) -> Network:
    """Plant a network of random sizes."""
    shape = {
        "inputs": int(rng.integers(2, 11)),
        "neurons": int(rng.integers(1, 13)),
        "outputs": int(rng.choice([1, 1, 2, 3])),
    }
    return random_network(rng, str(rng.choice(names)), **{**shape, **sizes})


def any_domain(rng: np.random.Generator) -> Box | Everywhere:
    """Choose a box or all of space."""
    return Box(-1.0, 1.0) if rng.random() < 0.5 else Everywhere()


# --- what is planted -------------------------------------------------------------------------------------------------


def hashed(x: np.ndarray) -> np.ndarray:
    """Give noise that depends on the point alone."""
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in np.ascontiguousarray(x)]
    return np.array([int.from_bytes(digest, "little") / 2**64 - 0.5 for digest in digests]) * np.sqrt(12.0)


def ordinary(rng: np.random.Generator) -> Truth:
    """Plant a shallow network in all of space."""
    network = drawn(rng, STEADY + KINKED)
    return Truth(network, network.inputs, Everywhere(), network)


def ordinary_waves_and_bumps(rng: np.random.Generator) -> Truth:
    """Plant a shallow network of an activation that has no tails."""
    network = drawn(rng, WAVES)
    return Truth(network, network.inputs, Everywhere(), network)


def one_input(rng: np.random.Generator) -> Truth:
    """Plant a function of one input: there are no lines beside it, and neurons overlap."""
    network = drawn(rng, SMOOTH + KINKED, inputs=1)
    return Truth(network, 1, any_domain(rng), network)


def ordinary_smooth_in_a_box(rng: np.random.Generator) -> Truth:
    """Plant a smooth network in a box."""
    network = drawn(rng, SMOOTH)
    return Truth(network, network.inputs, Box(-1.0, 1.0), network)


def kinked_in_a_box(rng: np.random.Generator) -> Truth:
    """Plant a ReLU or leaky ReLU network in a box."""
    names = ("relu", "relu", "leaky_relu(0.01)", "leaky_relu(0.1)", "leaky_relu(0.3)")
    network = drawn(rng, names, inputs=int(rng.integers(2, 11)), outputs=1)
    return Truth(network, network.inputs, Box(-1.0, 1.0), network)


def steep_in_a_box(rng: np.random.Generator) -> Truth:
    """Plant tanh or sigmoid neurons that are saturated at most places of a box, some of them in corners only."""
    network = drawn(rng, ("tanh", "sigmoid"))
    hidden, output = network.layers
    lengths = 10.0 ** rng.uniform(0.5, 3.0, (hidden.neurons, 1))
    weights = hidden.weights * lengths
    # How far out each hyperplane is: at 0 it passes through the centre, at 1 through a vertex.
    depths = rng.uniform(-1.0, 1.0, hidden.neurons) * rng.choice([0.5, 1.05])
    hidden = replace(hidden, weights=weights, biases=depths * np.sum(np.abs(weights), axis=1))
    network = Network((hidden, output))
    return Truth(network, network.inputs, Box(-1.0, 1.0), network)


def with_odd_neuron(
    network: Network, kind: str, rng: np.random.Generator, *, nearest: float, farthest: float, weakest: float
) -> Network:
    """Make one neuron nearly equal to another, far, weak or long; exponents of ten say how much."""
    hidden, output = network.layers
    weights, biases, outgoing = hidden.weights.copy(), hidden.biases.copy(), output.weights.copy()
    if kind == "near":
        angle = 10.0 ** rng.uniform(nearest, -1)
        weights[1] = weights[0] + angle * rng.standard_normal(network.inputs) / np.sqrt(network.inputs)
        biases[1] = biases[0] + angle * rng.standard_normal()
    elif kind == "far":
        biases[0] *= 10.0 ** rng.uniform(0.5, farthest)
    elif kind == "weak":
        outgoing[:, 0] *= 10.0 ** rng.uniform(weakest, -1)
    elif kind == "long":
        weights[0] *= 10.0 ** rng.uniform(-2, 2)
    return Network((replace(hidden, weights=weights, biases=biases), replace(output, weights=outgoing)))


def many_kinks(rng: np.random.Generator) -> Truth:
    """Plant a network of many kinks, which is solved in closed form, sometimes with near, far or weak ones."""
    neurons, inputs = int(rng.integers(10, 60)), int(rng.integers(20, 60))
    names = ("relu", "relu", "leaky_relu(0.1)", "leaky_relu(0.3)")
    network = drawn(rng, names, inputs=inputs, neurons=neurons)
    kind = str(rng.choice(["ordinary", "ordinary", "near", "far", "weak"]))
    moved = with_odd_neuron(network, kind, rng, nearest=-6, farthest=3, weakest=-8)
    noise = rng.choice([0.0, 0.0, 1e-9])
    if noise == 0.0:
        return Truth(moved, inputs, Everywhere(), moved)
    size, spread = float(noise), float(np.std(moved(rng.standard_normal((500, inputs)))))
    return Truth(lambda x: moved(x) + size * spread * hashed(x)[:, None], inputs, Everywhere(), moved, exact=moved)


def many_slabs(rng: np.random.Generator) -> Truth:
    """Plant a large network that saturates, solved in closed form, sometimes with near, far, long or weak neurons."""
    inputs = int(rng.integers(15, 35))
    neurons = int(rng.integers(1_000 // inputs + 1, 1_800 // inputs))
    network = drawn(rng, ("tanh", "sigmoid", "erf"), inputs=inputs, neurons=neurons)
    kind = str(rng.choice(["ordinary", "ordinary", "near", "far", "weak", "long"]))
    planted = with_odd_neuron(network, kind, rng, nearest=-5, farthest=2, weakest=-9)
    return Truth(planted, inputs, Everywhere(), planted)


def near_duplicates(rng: np.random.Generator) -> Truth:
    """Plant two neurons at a small angle, whose output weights add up or cancel, sometimes in part or with noise."""
    network = drawn(rng, SMOOTH + KINKED, neurons=int(rng.integers(2, 8)))
    hidden, output = network.layers
    weights, biases, outgoing = hidden.weights.copy(), hidden.biases.copy(), output.weights.copy()
    angle = 10.0 ** rng.uniform(-7, -1)
    weights[1] = weights[0] + angle * rng.standard_normal(network.inputs)
    biases[1] = biases[0] + angle * rng.standard_normal()
    outgoing[:, 1] = outgoing[:, 0] * rng.choice([1.0, -1.0, rng.uniform(-1.5, 1.5)])
    planted = Network((replace(hidden, weights=weights, biases=biases), replace(output, weights=outgoing)))
    noise = rng.choice([0.0, 10.0 ** rng.uniform(-12, -6)])

    def function(x: np.ndarray) -> np.ndarray:
        return planted(x) + noise * hashed(x)[:, None] if noise else planted(x)

    return Truth(function, network.inputs, any_domain(rng), planted, exact=planted)


def nearly_linear(rng: np.random.Generator) -> Truth:
    """Plant neurons that hardly bend in a box, two of them a little apart: other parameters make up for that."""
    network = drawn(rng, SMOOTH, inputs=int(rng.integers(1, 4)), neurons=int(rng.integers(1, 3)), outputs=1)
    hidden, output = network.layers
    size, apart = 10.0 ** rng.uniform(-2, 0), 10.0 ** rng.uniform(-4, 0)
    rows = size * np.column_stack([hidden.weights, hidden.biases])
    rows = np.vstack([rows, rows[0] + apart * size * np.eye(network.inputs + 1)[rng.integers(network.inputs + 1)]])
    outgoing = np.column_stack([output.weights, rng.choice([1.0, rng.uniform(0.1, 1.0)]) * output.weights[:, :1]])
    biases = rows[:, -1] + rng.standard_normal()
    planted = Network((replace(hidden, weights=rows[:, :-1], biases=biases), replace(output, weights=outgoing / size)))
    return Truth(planted, network.inputs, Box(-1.0, 1.0), planted)


def parallel(rng: np.random.Generator) -> Truth:
    """Plant neurons that are parallel: in pairs, along the axes, or all in one direction or two."""
    network = drawn(rng, SMOOTH + KINKED, neurons=int(rng.integers(2, 13)))
    hidden, output = network.layers
    neurons, inputs = hidden.weights.shape
    lengths = rng.choice([-1.0, 1.0], (neurons, 1)) * rng.uniform(0.3, 3.0, (neurons, 1))
    directions = {
        "pairs": hidden.weights[np.arange(neurons) // 2],
        "axes": np.eye(inputs)[rng.integers(0, inputs, neurons)],
        "one": hidden.weights[:1].repeat(neurons, axis=0),
        "two": hidden.weights[rng.integers(0, 2, neurons)],
    }
    weights = lengths * directions[str(rng.choice(list(directions)))]
    planted = Network((replace(hidden, weights=weights), output))
    return Truth(planted, network.inputs, any_domain(rng), planted)


def uneven_weights(rng: np.random.Generator) -> Truth:
    """Plant weights and output weights of very different sizes."""
    network = drawn(rng, SMOOTH + KINKED)
    hidden, output = network.layers
    lengths = 10.0 ** rng.uniform(-3, 3, hidden.neurons)
    sizes = 10.0 ** rng.uniform(-6, 3, hidden.neurons)
    layers = (
        replace(hidden, weights=lengths[:, None] * hidden.weights),
        replace(output, weights=sizes * output.weights),
    )
    return Truth(Network(layers), network.inputs, any_domain(rng), Network(layers))


def dead_and_far(rng: np.random.Generator) -> Truth:
    """Plant a neuron that bends far away, and one that is dead."""
    network = drawn(rng, SMOOTH + KINKED, neurons=int(rng.integers(2, 10)))
    hidden, output = network.layers
    biases, outgoing = hidden.biases.copy(), output.weights.copy()
    biases[0] *= 10.0 ** rng.uniform(0.5, 3)
    if rng.random() < 0.5:
        outgoing[:, 1] = 0.0
    layers = (replace(hidden, biases=biases), replace(output, weights=outgoing))
    return Truth(Network(layers), network.inputs, any_domain(rng), Network(layers))


def mixture(rng: np.random.Generator) -> Truth:
    """Add networks of two activations."""
    one = drawn(rng, SMOOTH + KINKED, outputs=1)
    other = drawn(rng, SMOOTH + KINKED, inputs=one.inputs, outputs=1)
    return Truth(lambda x: one(x) + other(x), one.inputs, any_domain(rng))


PLANTS: tuple[Plant, ...] = (
    ordinary,
    ordinary_waves_and_bumps,
    one_input,
    ordinary_smooth_in_a_box,
    kinked_in_a_box,
    steep_in_a_box,
    many_kinks,
    many_slabs,
    near_duplicates,
    nearly_linear,
    parallel,
    uneven_weights,
    dead_and_far,
    mixture,
)
