"""Networks with answers or settings that mislead, and functions that are no networks, for `identify`."""

from dataclasses import replace

import numpy as np

from campaign_planted import (
    KINKED,
    SMOOTH,
    Function,
    Plant,
    Truth,
    any_domain,
    drawn,
    hashed,
    kinked_in_a_box,
    near_duplicates,
    ordinary,
    ordinary_smooth_in_a_box,
)
from unweave import Box
from unweave.activations import activation_named
from unweave.networks.network import Layer, Network


def with_a_bump(rng: np.random.Generator) -> Truth:
    """Add a bump to a network."""
    network = drawn(rng, ("tanh", "relu", "gelu"), inputs=int(rng.integers(1, 5)), outputs=1)
    center = rng.uniform(-1, 1, network.inputs)
    width, height = 10.0 ** rng.uniform(-3, 0), 10.0 ** rng.uniform(-4, 1)

    def function(x: np.ndarray) -> np.ndarray:
        return network(x) + height * np.exp(-np.sum((x - center) ** 2, axis=1, keepdims=True) / width**2)

    return Truth(function, network.inputs, any_domain(rng), hidden_share=1.0)


def with_a_step(rng: np.random.Generator) -> Truth:
    """Add a step to a network."""
    network = drawn(rng, ("tanh", "relu", "gelu", "sigmoid"), outputs=1)
    normal, place = rng.standard_normal(network.inputs), rng.standard_normal()
    height = 10.0 ** rng.uniform(-4, 1)
    return Truth(
        lambda x: network(x) + height * (x @ normal > place)[:, None], network.inputs, any_domain(rng), hidden_share=1.0
    )


def hash_noise(rng: np.random.Generator) -> Truth:
    """Add noise that is the same whenever the same point is asked."""
    network, size = drawn(rng, SMOOTH + KINKED, outputs=1), 10.0 ** rng.uniform(-9, 0)
    return Truth(
        lambda x: network(x) + size * hashed(x)[:, None], network.inputs, any_domain(rng), network, exact=network
    )


def rounded(rng: np.random.Generator) -> Truth:
    """Round the answers."""
    network, digits = drawn(rng, SMOOTH + KINKED), int(rng.integers(1, 10))
    kind = rng.choice(["decimals", "float32", "float16", "float32 in float64"])

    def function(x: np.ndarray) -> np.ndarray:
        y = network(x)
        if kind == "decimals":
            return np.round(y, digits)
        if kind == "float32 in float64":
            return y.astype(np.float32).astype(np.float64)
        return y.astype(kind)

    return Truth(function, network.inputs, any_domain(rng), network, exact=network)


def rounded_oddly(rng: np.random.Generator) -> Truth:
    """Round in ways that are no plain grid of decimals or of a type, or hide a second kink behind the rounding."""
    network, digits = drawn(rng, ("tanh", "sigmoid", "relu", "relu", "gelu"), outputs=1), int(rng.integers(2, 6))
    if rng.random() < 0.4:
        planted = near_duplicates(rng).network
        assert planted is not None
        network = Network((planted.layers[0], replace(planted.layers[1], **first_output(planted.layers[1]))))
    kind = rng.choice(["decimals", "stored in float32", "computed in float32", "significant digits", "multiples"])
    if kind == "computed in float32":
        network = Network(tuple(in_float32(layer) for layer in network.layers))
    multiple = float(rng.choice([0.05, 0.025, 1 / 64, 1 / 3])) * 10.0 ** (1 - digits)

    def function(x: np.ndarray) -> np.ndarray:
        if kind == "computed in float32":
            hidden, output = network.layers
            arguments = x.astype(np.float32) @ hidden.weights.T.astype(np.float32) + hidden.biases.astype(np.float32)
            values = hidden.activation(arguments.astype(np.float64)).astype(np.float32)
            return np.round(values @ output.weights.T.astype(np.float32) + output.biases.astype(np.float32), digits)
        y = network(x)
        if kind == "stored in float32":
            return np.round(y.astype(np.float32), digits)
        if kind == "significant digits":
            step = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(y), 1e-300))) + 1.0 - digits)
            return step * np.rint(y / step)
        return np.round(y, digits) if kind == "decimals" else multiple * np.rint(y / multiple)

    return Truth(function, network.inputs, any_domain(rng), network, exact=network)


def first_output(output: Layer) -> dict[str, np.ndarray]:
    """Weights and biases of the first output of a layer."""
    return {"weights": output.weights[:1], "biases": output.biases[:1]}


def in_float32(layer: Layer) -> Layer:
    """Round the parameters of a layer to numbers of float32."""
    weights, biases = (each.astype(np.float32).astype(np.float64) for each in (layer.weights, layer.biases))
    return replace(layer, weights=weights, biases=biases)


def few_digits(rng: np.random.Generator) -> Truth:
    """Round the answers so that few digits are left of their spread, and each output to a type of its own."""
    network = drawn(rng, SMOOTH + KINKED, inputs=int(rng.integers(1, 5)), neurons=int(rng.integers(1, 4)))
    output = network.layers[1]
    kinds = rng.choice([*DIGITS, "same"], output.neurons)
    kinds = np.where(kinds == "same", kinds[0] if kinds[0] != "same" else "float16", kinds)
    # From a hundred thousand units of the last digit in a size of one to less than one.
    left = 10.0 ** rng.uniform(-0.5, 5.0, output.neurons)
    offset = np.array([1.0 / (DIGITS[kind] * each) for kind, each in zip(kinds, left, strict=True)])
    moved = Network((network.layers[0], replace(output, biases=output.biases + offset)))

    def function(x: np.ndarray) -> np.ndarray:
        y = moved(x)
        rounded_values = np.column_stack([rounded_as(kind, y[:, k]) for k, kind in enumerate(kinds)])
        is_type = len(set(kinds)) == 1 and kinds[0] != "bfloat16"
        return rounded_values.astype(kinds[0]) if is_type else rounded_values

    return Truth(function, network.inputs, any_domain(rng), moved, exact=moved, is_coarse=True)


# Types that answers are rounded to, and the distance of the next number from one.
DIGITS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


def rounded_as(kind: str, values: np.ndarray) -> np.ndarray:
    """Round to the numbers of a type, as float64."""
    if kind != "bfloat16":
        return values.astype(kind).astype(np.float64)
    mantissas, exponents = np.frexp(values)
    return np.ldexp(np.rint(256.0 * mantissas) / 256.0, exponents)


def odd_units(rng: np.random.Generator) -> Truth:
    """Plant large offsets, and answers that are tiny or huge."""
    network = drawn(rng, SMOOTH + KINKED)
    offset, scale = rng.choice([0.0, 1e3, 1e5, 1e10, -1e12]), rng.choice([1e-300, 1e-100, 1e-8, 1.0, 1e8, 1e150])
    output = network.layers[1]
    layers = (
        network.layers[0],
        replace(output, weights=scale * output.weights, biases=scale * (output.biases + offset)),
    )
    moved = Network(layers)
    return Truth(moved, network.inputs, any_domain(rng), moved)


def odd_boxes(rng: np.random.Generator) -> Truth:
    """Plant ordinary networks in boxes far from zero, of unequal sides, or of many dimensions."""
    kind = rng.choice(["far", "unequal", "many"])
    inputs = int(rng.integers(13, 25)) if kind == "many" else int(rng.integers(2, 8))
    network = drawn(rng, (*KINKED, "tanh", "softplus"), inputs=inputs, neurons=int(rng.integers(1, 6)))
    half_width = 10.0 ** (rng.uniform(-3, 3, inputs) if kind == "unequal" else np.zeros(inputs))
    center = half_width * rng.uniform(-1, 1, inputs) * (10.0 ** rng.uniform(0, 6) if kind == "far" else 1.0)
    hidden = network.layers[0]
    weights = hidden.weights / half_width
    moved = replace(
        network, layers=(replace(hidden, weights=weights, biases=hidden.biases - weights @ center), network.layers[1])
    )
    return Truth(moved, inputs, Box(center - half_width, center + half_width), moved)


def badly_behaved(rng: np.random.Generator) -> Truth:
    """Answer at random, by memory, or not at all far out."""
    network, kind = drawn(rng, SMOOTH + KINKED, outputs=1), rng.choice(["random", "memory", "raises", "nan"])
    noise, reach, calls = np.random.default_rng(rng.integers(2**31)), 10.0 ** rng.uniform(0.5, 4), [0]

    def function(x: np.ndarray) -> np.ndarray:
        calls[0] += len(x)
        y = network(x)
        if kind == "random":
            return y + 0.1 * noise.standard_normal(y.shape)
        if kind == "memory":
            return y + 0.01 * np.sin(calls[0])
        far = np.max(np.abs(x), axis=1) > reach
        if kind == "raises" and np.any(far):
            raise ValueError("too far away")
        return np.where(far[:, None], np.nan, y)

    # Where nothing farther out can be asked, a neuron that bends at the end of the domain is named as what may hide.
    hidden = 1.0 if kind in ("raises", "nan") else 0.0
    return Truth(function, network.inputs, any_domain(rng), network, exact=network, hidden_share=hidden)


def piecewise_constant(rng: np.random.Generator) -> Truth:
    """Plant trees, neighbours and boosting."""
    inputs, kind = int(rng.integers(1, 8)), rng.choice(["tree", "neighbours", "boosting"])
    centers, values = rng.standard_normal((30, inputs)), rng.standard_normal(30)
    axes, cuts = rng.integers(0, inputs, 40), rng.standard_normal(40)

    def function(x: np.ndarray) -> np.ndarray:
        if kind == "neighbours":
            return values[np.argmin(((x[:, None] - centers) ** 2).sum(2), axis=1)][:, None]
        bits = x[:, axes] > cuts
        if kind == "tree":
            return values[(bits[:, :5] @ 2 ** np.arange(5)) % 30][:, None]
        return (bits @ values[np.arange(40) % 30])[:, None]

    return Truth(function, inputs, any_domain(rng), hidden_share=1.0)


def deep(rng: np.random.Generator) -> Truth:
    """Plant two or three hidden layers."""
    widths = [int(rng.integers(2, 9)), *sorted(rng.integers(1, 7, int(rng.integers(2, 4))), reverse=True)]
    names = [str(rng.choice(["tanh", "sigmoid", "relu", "erf", "gelu"]))] * len(widths)
    layers, fan_in = [], widths[0]
    for width, name in zip([*widths[1:], int(rng.integers(1, 4))], names, strict=True):
        weights = rng.standard_normal((int(width), int(fan_in))) / np.sqrt(fan_in)
        layers.append(Layer(weights, 0.3 * rng.standard_normal(int(width)), activation_named(name)))
        fan_in = width
    layers[-1] = replace(layers[-1], activation=activation_named(str(rng.choice(["identity", "sigmoid", "tanh"]))))
    network = Network(tuple(layers))
    return Truth(network, network.inputs, any_domain(rng), network)


def no_network(rng: np.random.Generator) -> Truth:
    """Plant functions that are no networks."""
    inputs, w, b = int(rng.integers(1, 6)), 10.0 ** rng.uniform(0, 4), rng.standard_normal()
    functions: list[Function] = [
        lambda x: np.sin(w * x[:, :1] + b),
        lambda x: np.exp(-((w * x[:, :1] + b) ** 2)),
        lambda x: hashed(x)[:, None],
        lambda x: np.prod(x, axis=1, keepdims=True),
        lambda x: np.max(x, axis=1, keepdims=True) + np.sin(3 * x[:, :1]),
        lambda x: np.linalg.norm(x, axis=1, keepdims=True) ** 3,
        lambda x: np.floor(3 * x[:, :1]) + x.sum(1, keepdims=True),
        lambda x: np.full((len(x), 1), b),
        lambda x: x.sum(1, keepdims=True) + b,
        lambda x: x[:, :1] + 10 * np.maximum(x.sum(1, keepdims=True) - 0.87 * inputs, 0.0),
    ]
    return Truth(functions[int(rng.integers(len(functions)))], inputs, any_domain(rng), hidden_share=1.0)


def no_network_far_from_zero(rng: np.random.Generator) -> Truth:
    """Plant smooth functions in boxes far from zero, which networks of huge weights imitate."""
    inputs, lower = int(rng.integers(1, 3)), rng.choice([0.0, 10.0 ** rng.uniform(0, 6)])
    w = rng.uniform(0.3, 1.5, inputs)
    shapes: list[Function] = [
        lambda u: u**3 + u,
        lambda u: np.sqrt(2.0 + 0.3 * u),
        np.exp,
        np.arctan,
        lambda u: 1.0 / (3.0 + u),
    ]
    shape = shapes[int(rng.integers(len(shapes)))]
    return Truth(lambda x: shape(((x - lower) * 2.0 - 1.0) @ w)[:, None], inputs, Box(lower, lower + 1.0))


def exploding(rng: np.random.Generator) -> Truth:
    """Plant functions that grow until they nearly leave the numbers of float64."""
    inputs, power = int(rng.integers(1, 5)), float(rng.integers(3, 60))
    w, b = rng.standard_normal(inputs), rng.standard_normal()
    largest = 10.0 ** rng.uniform(100, 300)
    shapes: list[Function] = [
        lambda t: np.exp(np.minimum(t, np.log(largest))),
        lambda t: np.sinh(np.clip(t, -np.log(largest), np.log(largest))),
        lambda t: np.sign(t) * np.minimum(np.abs(t), largest ** (1.0 / power)) ** power,
    ]
    shape = shapes[int(rng.integers(len(shapes)))]
    return Truth(lambda x: shape(x @ w + b)[:, None], inputs, any_domain(rng), hidden_share=1.0)


def constant_output(rng: np.random.Generator) -> Truth:
    """Plant an output that is always the same number beside others, zero among them."""
    network = drawn(rng, SMOOTH + KINKED, outputs=int(rng.integers(2, 4)))
    output = network.layers[1]
    weights, biases = output.weights.copy(), output.biases.copy()
    weights[0], biases[0] = 0.0, rng.choice([0.0, 1.0, 0.1, 1e-30, -7e5])
    planted = Network((network.layers[0], replace(output, weights=weights, biases=biases)))
    return Truth(planted, network.inputs, any_domain(rng), planted)


def probabilities(rng: np.random.Generator) -> Truth:
    """Answer with probabilities."""
    network = drawn(rng, SMOOTH + KINKED, outputs=3)

    def function(x: np.ndarray) -> np.ndarray:
        y = network(x)
        y = np.exp(y - y.max(axis=1, keepdims=True))
        return y / y.sum(axis=1, keepdims=True)

    def logits(x: np.ndarray) -> np.ndarray:
        y = network(x)
        return y - y.mean(axis=1, keepdims=True)

    return Truth(function, network.inputs, any_domain(rng), exact=logits)


def small_budget(rng: np.random.Generator) -> Truth:
    """Give a budget that is too small, or just enough."""
    truth = [ordinary, kinked_in_a_box, ordinary_smooth_in_a_box][int(rng.integers(3))](rng)
    return replace(truth, settings={"budget": int(10.0 ** rng.uniform(0.5, 3.5))})


def with_hints(rng: np.random.Generator) -> Truth:
    """Give the number of neurons and the activation, sometimes wrong ones."""
    truth = [ordinary, kinked_in_a_box][int(rng.integers(2))](rng)
    assert truth.network is not None
    neurons = truth.network.widths[0] + int(rng.integers(-1, 2))
    name = str(rng.choice(SMOOTH + KINKED)) if rng.random() < 0.5 else str(truth.network.activations[0])
    settings: dict[str, object] = {"neurons": max(neurons, 1)} if rng.random() < 0.5 else {"activation": name}
    return replace(truth, settings=settings)


PLANTS: tuple[Plant, ...] = (
    with_a_bump,
    with_a_step,
    hash_noise,
    rounded,
    rounded_oddly,
    few_digits,
    odd_units,
    odd_boxes,
    badly_behaved,
    piecewise_constant,
    deep,
    no_network,
    no_network_far_from_zero,
    probabilities,
    small_budget,
    with_hints,
    exploding,
    constant_output,
)
