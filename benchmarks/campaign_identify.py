"""Adversarial families for `identify`: networks, almost networks, and functions that are none, each with its truth.

    python benchmarks/campaign.py --doors identify --fits 10000

A result is wrong if it is called identified and the function differs by more than the certificate allows at any vertex
of the box or at one of 100,000 points of the domain, if a visible neuron is missing or one is too many, or if a
parameter is outside its radius; and if a part is named that is not right. What a result names as too small or too
narrow to be seen does not count.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import unweave
from campaigns import Family, Judged, Verdict
from unweave import Box, Everywhere, Outcome
from unweave.activations import activation_named
from unweave.certificates.claims import RIGHT_SHARE
from unweave.networks.network import Layer, Network

STEADY = ("tanh", "sigmoid", "erf", "softplus", "gelu", "silu", "mish", "elu", "selu")
# Those without tails that a far line could read.
WAVES = ("sin", "gaussian")
SMOOTH = STEADY + WAVES
KINKED = ("relu", "leaky_relu(0.1)", "hard_tanh", "hard_sigmoid")
POINTS = 100_000
# Rounding of 100,000 answers against that of a few hundred fresh ones.
ROUNDING = 20.0

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


def many_kinks(rng: np.random.Generator) -> Truth:
    """Plant a network of many kinks, which is solved in closed form, sometimes with near, far or weak ones."""
    neurons, inputs = int(rng.integers(10, 60)), int(rng.integers(20, 60))
    names = ("relu", "relu", "leaky_relu(0.1)", "leaky_relu(0.3)")
    network = drawn(rng, names, inputs=inputs, neurons=neurons)
    hidden, output = network.layers
    weights, biases, outgoing = hidden.weights.copy(), hidden.biases.copy(), output.weights.copy()
    kind = rng.choice(["ordinary", "ordinary", "near", "far", "weak"])
    if kind == "near":
        angle = 10.0 ** rng.uniform(-6, -1)
        weights[1] = weights[0] + angle * rng.standard_normal(inputs) / np.sqrt(inputs)
        biases[1] = biases[0] + angle * rng.standard_normal()
    elif kind == "far":
        biases[0] *= 10.0 ** rng.uniform(0.5, 3)
    elif kind == "weak":
        outgoing[:, 0] *= 10.0 ** rng.uniform(-8, -1)
    moved = Network((replace(hidden, weights=weights, biases=biases), replace(output, weights=outgoing)))
    noise = rng.choice([0.0, 0.0, 1e-9])
    if noise == 0.0:
        return Truth(moved, inputs, Everywhere(), moved)
    size, spread = float(noise), float(np.std(moved(rng.standard_normal((500, inputs)))))
    return Truth(lambda x: moved(x) + size * spread * hashed(x)[:, None], inputs, Everywhere(), moved, exact=moved)


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


def hashed(x: np.ndarray) -> np.ndarray:
    """Give noise that depends on the point alone."""
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in np.ascontiguousarray(x)]
    return np.array([int.from_bytes(digest, "little") / 2**64 - 0.5 for digest in digests]) * np.sqrt(12.0)


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

    return Truth(function, network.inputs, any_domain(rng), network, exact=network)


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


# --- how it is judged ------------------------------------------------------------------------------------------------


def judge(plant: Plant) -> Callable[[int], Judged]:
    """Make the judge of a family."""

    def judged(seed: int) -> Judged:
        rng = np.random.default_rng([seed, *plant.__name__.encode()])
        truth = plant(rng)
        settings = truth.settings or {}
        try:
            found = unweave.identify(
                truth.function, inputs=truth.inputs, domain=truth.domain, seed=seed % 2**31, **settings
            )
        except unweave.OracleError as failure:
            # Answers of 16 bits overflow far out, which is a failure of the model, too.
            if plant in (badly_behaved, rounded, few_digits):
                return Judged(Verdict.HONEST_NO, str(failure)[:200])
            raise
        budget = settings.get("budget")
        if isinstance(budget, int) and found.cost.queries > budget:
            return Judged(Verdict.WRONG, f"{found.cost.queries} queries of {budget}")
        return verdict(found, truth, rng)

    return judged


def verdict(found: unweave.Result, truth: Truth, rng: np.random.Generator) -> Judged:
    """Compare what is claimed with the truth."""
    if found.network is None:
        if found.first_layer is not None and truth.network is not None:
            return rows_verdict(found, truth.network)
        return Judged(Verdict.HONEST_NO, found.reason[:200])
    standard = np.concatenate([truth.domain.sample_standard(rng, POINTS, truth.inputs, 0.0), vertices_of(truth)])
    center, half_width = truth.domain.frame(truth.inputs)
    points = center + half_width * standard
    # Answers that are all the same are called constant, whatever rounding to them has hidden.
    is_constant = found.reason.startswith("the answers are constant")
    exact = truth.function if is_constant or truth.exact is None else truth.exact
    values = exact(points)
    spread = np.std(values[:POINTS], axis=0)
    if truth.is_coarse:
        answers = truth.function(points)
        is_constant = are_constant(answers[:POINTS])
        values, spread = np.where(is_constant, answers, values), np.where(is_constant, 0.0, spread)
    spread = np.where(spread > 0, spread, np.maximum(np.max(np.abs(values), axis=0), np.finfo(float).tiny))
    errors = np.max(np.abs(found.network(points) - values) / spread, axis=1)
    allowed = allowance(found, truth, standard, values, spread)
    share = float(np.mean(errors > allowed))
    worst = f"largest error {np.max(errors):.1e} in {share:.1e}, {found.reason[:160]}"
    certificate = found.certificate
    if found.outcome is Outcome.IDENTIFIED:
        assert certificate is not None
        may_hide = truth.hidden_share and share <= 1.0 - certificate.coverage
        if share and not may_hide:
            return Judged(Verdict.WRONG, worst)
        return parameters_verdict(found, truth)
    claimed = claimed_share(found)
    if claimed is not None and 1.0 - share < claimed - 0.01:
        return Judged(Verdict.WRONG, f"right on {1 - share:.3f} of the domain, claimed {claimed:.3f}; {worst}")
    return Judged(Verdict.PARTLY_RIGHT, found.reason[:200])


def allowance(
    found: unweave.Result, truth: Truth, points: np.ndarray, values: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """Errors that the certificate allows: those it has seen, and those of parameters within their radius."""
    network, certificate = found.network, found.certificate
    assert network is not None
    rounding = 1e-15 * np.max(np.abs(values) / spread, axis=1) + 1e-14
    if certificate is None:
        return 1e-3 + rounding
    center, half_width = truth.domain.frame(truth.inputs)
    delivered = network.layers[0]
    hidden = replace(
        delivered, weights=delivered.weights * half_width, biases=delivered.biases + delivered.weights @ center
    )
    lifted = np.sqrt(1.0 + np.sum(points**2, axis=1))
    lengths = np.linalg.norm(np.hstack([hidden.weights, hidden.biases[:, None]]), axis=1)
    slopes = np.max(np.abs(network.layers[1].weights) / spread[:, None] if len(network.layers) == 2 else 0.0, axis=0)
    radius = certificate.radius if np.isfinite(certificate.radius) else 0.0
    # Far from zero the radius is that of delivered biases, and coordinates are rounded.
    far = 1.0 + float(np.linalg.norm(center / half_width))
    rounding += 1e-16 * far * float(np.sum(slopes * lengths))
    radius *= min(1.0, 1.0 / (far * float(np.max(half_width))))
    by_radius = 3.0 * radius * lifted * float(np.sum(slopes * lengths)) if len(network.layers) == 2 else radius * lifted
    return ROUNDING * (max(certificate.largest_error, certificate.noise) + rounding) + by_radius


def vertices_of(truth: Truth) -> np.ndarray:
    """All vertices of a box of at most 12 inputs, in standard coordinates."""
    if isinstance(truth.domain, Everywhere) or truth.inputs > 12:
        return np.empty((0, truth.inputs))
    return 2.0 * ((np.arange(2**truth.inputs)[:, None] >> np.arange(truth.inputs)) & 1) - 1.0


def are_constant(answers: np.ndarray) -> np.ndarray:
    """Whether nearly all answers are next to each other among those of their output, as a rounded constant is."""
    low, high = np.quantile(answers, [0.005, 0.995], axis=0, method="nearest")
    inside = [
        np.unique(column[(column >= a) & (column <= b)]) for column, a, b in zip(answers.T, low, high, strict=True)
    ]
    return np.array([len(values) <= 3 for values in inside])


def parameters_verdict(found: unweave.Result, truth: Truth) -> Judged:
    """Compare parameters where the planted network has no neuron that the answers can't show."""
    network, certificate = found.network, found.certificate
    if truth.network is None or network is None or certificate is None:
        return Judged(Verdict.RIGHT)
    allowed = max(certificate.radius, 4 * np.finfo(float).eps)
    same = network.widths == truth.network.widths and network.activations == truth.network.activations
    if not same or network.skip is not None:
        error, what = hyperplanes_error(network, truth.network), "a hyperplane"
        if not network.layers[0].activation.kinks:
            # Two neurons at a small angle are one in between, up to the square of the angle, which may not show.
            allowed = max(allowed, float(np.sqrt(ROUNDING * max(certificate.largest_error, certificate.noise))))
    else:
        error, what = unweave.match(network, truth.network).largest_error, "a parameter"
    if error > allowed:
        return Judged(Verdict.WRONG, f"{what} is off by {error:.1e}, radius {certificate.radius:.1e}")
    return Judged(Verdict.RIGHT, f"widths {network.widths} for {truth.network.widths}")


def hyperplanes_error(network: Network, truth: Network) -> float:
    """Compare neurons where some are invisible: every one that was found must be a planted one, up to its length."""
    if len(network.widths) != len(truth.widths) or not network.widths[0]:
        return 0.0
    found, planted = hyperplanes_of(network), hyperplanes_of(truth)
    distances = [np.linalg.norm(planted[None] - sign * found[:, None], axis=2) for sign in (1.0, -1.0)]
    return float(np.max(np.min(np.minimum(*distances), axis=1)))


def hyperplanes_of(network: Network) -> np.ndarray:
    """Unit normals and offsets of the hyperplanes where neurons have their kinks, or their centres without kinks."""
    hidden = network.layers[0]
    # The centre of a periodic activation is any of many places: only its direction is compared.
    biases = np.zeros(hidden.neurons) if hidden.activation.period else hidden.biases
    centres = hidden.activation.kinks or (0.0,)
    rows = np.concatenate([np.column_stack([hidden.weights, biases - centre]) for centre in centres])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rows_verdict(found: unweave.Result, truth: Network) -> Judged:
    """Compare the directions of a first layer."""
    layer = found.first_layer
    assert layer is not None
    if layer.neurons == 0:
        return Judged(Verdict.WRONG, f"a first layer of no neurons: {found.reason[:160]}")
    rows = layer.weights / np.linalg.norm(layer.weights, axis=1, keepdims=True)
    true = truth.layers[0].weights / np.linalg.norm(truth.layers[0].weights, axis=1, keepdims=True)
    overlap = float(np.min(np.max(np.abs(rows @ true.T), axis=1)))
    if overlap < 1 - 1e-6:
        return Judged(Verdict.WRONG, f"a row is {np.degrees(np.arccos(overlap)):.2f} degrees off: {found.reason[:160]}")
    # A hard tanh has two kinks, and is two neurons of ReLU.
    most = truth.widths[0] * max(len(truth.activations[0].breaks(1)), 1)
    if layer.neurons > most:
        return Judged(Verdict.WRONG, f"{layer.neurons} rows of {truth.widths[0]}: {found.reason[:160]}")
    return Judged(Verdict.PARTLY_RIGHT, found.reason[:200])


def claimed_share(found: unweave.Result) -> float | None:
    """Give the share of the domain that a network is claimed to be right on."""
    shares = [check.value for check in found.diagnostics if check.name == RIGHT_SHARE]
    return shares[-1] if shares else None


PLANTS: tuple[Plant, ...] = (
    ordinary,
    ordinary_waves_and_bumps,
    one_input,
    ordinary_smooth_in_a_box,
    kinked_in_a_box,
    many_kinks,
    near_duplicates,
    uneven_weights,
    dead_and_far,
    mixture,
    with_a_bump,
    with_a_step,
    hash_noise,
    rounded,
    few_digits,
    odd_units,
    odd_boxes,
    badly_behaved,
    piecewise_constant,
    deep,
    no_network,
    probabilities,
    small_budget,
    with_hints,
)
FAMILIES = [Family("identify", plant.__name__.replace("_", " "), judge(plant)) for plant in PLANTS]
