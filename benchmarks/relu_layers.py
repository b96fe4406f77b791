"""Networks with two hidden layers of relu or leaky relu: success over seeds, errors, queries per parameter.

    python benchmarks/relu_layers.py                                       the small shapes, 10 seeds each
    python benchmarks/relu_layers.py --shapes 784-16-16-1 --seeds 3        a large first layer
    python benchmarks/relu_layers.py --activation "leaky_relu(0.01)"       another slope below zero
    python benchmarks/relu_layers.py --shapes 5-10-5-1 10-5-4-4-1          the first layer alone can be found

Weights are N(0, 1) / sqrt(fan-in) and biases 0.3 N(0, 1). Neither widths nor activation are given. The first layer
counts as found if it has the right number of neurons, each within `--atol` of a planted one in direction and
offset. A network counts as identified if the outcome says so and every parameter is within `--atol` of the planted
one up to symmetry, neurons left out that no input switches on; it is wrong if the outcome says so and that is not
true. The answers do not determine networks with a neuron in the second relu layer that no input switches off: they
are counted as open if the function was found.
"""

import argparse
import time
from itertools import pairwise

import numpy as np

import unweave
from command_line import median_and_largest, parsed, say, seeds_of, seeds_parser_of
from tally import Tally
from unweave.activations import IDENTITY, RELU, Activation, activation_named
from unweave.exceptions import StageFailed
from unweave.identification.probing import Probing
from unweave.identification.relu_layers.route import KinksBend
from unweave.identification.relu_layers.search import ReluLayers, TwoLayerSearch
from unweave.identification.session import Session
from unweave.networks.network import Layer, Network
from unweave.oracles.oracle import CallableOracle
from unweave.oracles.views import StandardOracle, in_oracle_units, layer_in_oracle_units


def planted(activation: Activation, shape: tuple[int, ...], seed: int) -> Network:
    """The secret network of a seed."""
    rng = np.random.default_rng(seed)
    layers = []
    for number, (inputs, neurons) in enumerate(pairwise(shape)):
        weights = rng.standard_normal((neurons, inputs)) / np.sqrt(inputs)
        is_output = number == len(shape) - 2
        layers.append(Layer(weights, 0.3 * rng.standard_normal(neurons), IDENTITY if is_output else activation))
    return Network(tuple(layers))


def without_dead(network: Network) -> Network:
    """The network without second-layer relu neurons that no input switches on."""
    first, second, *others = network.layers
    if second.activation != RELU or len(others) != 1:
        return network
    is_dead = np.all(second.weights <= 0.0, axis=1) & (second.biases <= 0.0)
    output = Layer(others[0].weights[:, ~is_dead], others[0].biases, others[0].activation)
    return Network((first, Layer(second.weights[~is_dead], second.biases[~is_dead], RELU), output))


def first_layer_error(found: Layer | None, truth: Layer) -> float:
    """Largest distance of a planted neuron from the nearest one found, both with unit weights, up to sign."""
    if found is None or found.neurons != truth.neurons:
        return np.inf
    planes = []
    for layer in (found, truth):
        lengths = np.linalg.norm(layer.weights, axis=1, keepdims=True)
        planes.append(np.hstack([layer.weights, layer.biases[:, None]]) / lengths)
    distances = [np.linalg.norm(planes[1][:, None] - sign * planes[0][None], axis=2) for sign in (1.0, -1.0)]
    return float(np.max(np.min(np.minimum(*distances), axis=1)))


def recovered(truth: Network, seed: int) -> tuple[ReluLayers | str, StandardOracle, int, bool]:
    """What was found or why nothing was, the units, the queries, and whether the network looked shallow."""
    oracle = CallableOracle(truth, inputs=truth.inputs)
    session = Session(oracle, np.random.default_rng(seed))
    probe = Probing()(session)
    is_shallow = KinksBend().looks_shallow(session, probe)
    try:
        found = TwoLayerSearch()(session, probe)
    except StageFailed as failure:
        found = str(failure)
    return found, probe.oracle, oracle.ledger.sent, is_shallow


def run_shape(args: argparse.Namespace, shape: tuple[int, ...]) -> None:
    """Recover the networks of one shape and print a line about them."""
    tally, opened, misjudged, first_errors = Tally(), 0, 0, []
    for seed in seeds_of(args):
        tally.runs += 1
        truth = planted(activation_named(args.activation), shape, seed)
        start = time.process_time()
        found, units, queries, is_shallow = recovered(truth, seed)
        tally.seconds.append(time.process_time() - start)
        tally.costs.append(queries / truth.parameters)
        misjudged += is_shallow
        if isinstance(found, str):
            print(f"    seed {seed}: {found}")
            continue
        layer = None if found.first_layer is None else layer_in_oracle_units(found.first_layer, units)
        first_error, error = first_layer_error(layer, truth.layers[0]), np.inf
        if first_error <= args.atol:
            first_errors.append(first_error)
        if found.network is not None:
            error = unweave.match(in_oracle_units(found.network, units), without_dead(truth)).largest_error
        is_claimed = found.outcome is unweave.Outcome.IDENTIFIED
        if is_claimed and error <= args.atol:
            tally.errors.append(error)
        else:
            tally.wrong += is_claimed
            opened += not is_claimed and found.network is not None
            print(f"    seed {seed}: {found.outcome.value} (error {error:.1e}): {found.reason}")
    name = "-".join(map(str, shape))
    args.json.keep(
        "two layers",
        network=name,
        trials=tally.runs,
        first_layers=len(first_errors),
        recovered=tally.identified,
        function_only=opened,
        wrong=tally.wrong,
        **tally.sizes(),
    )
    say(
        f"{name:14} {len(first_errors):3d} of {tally.runs:3d} {max(first_errors, default=np.nan):9.1e} "
        f"{tally.identified:3d} of {tally.runs:3d} {opened:5d} {tally.wrong:6d} "
        f"{median_and_largest(tally.errors, '9.1e')} {median_and_largest(tally.costs, '8.1f')} {misjudged:8d} "
        f"{np.median(tally.seconds):7.2f}"
    )


def main() -> None:
    """Run all shapes."""
    parser = seeds_parser_of(__doc__, seeds=10, atol=1e-7)
    parser.add_argument(
        "--shapes", nargs="+", default=["10-5-5-1", "10-8-5-3", "20-10-10-2", "20-15-10-1", "40-20-10-1"]
    )
    parser.add_argument("--activation", default="relu")
    args = parsed(parser)
    print(
        f"{'network':14} {'first layer':>10} {'largest':>8} {'identified':>10} {'open':>5} {'wrong':>6} {'error':>9} "
        f"{'largest':>9} {'q/param':>8} {'largest':>8} {'shallow?':>8} {'CPU s':>7}"
    )
    for shape in args.shapes:
        run_shape(args, tuple(int(part) for part in shape.split("-")))


if __name__ == "__main__":
    main()
