"""Networks recovered along paths: success over seeds, queries per parameter, errors, CPU seconds.

    python benchmarks/walks.py                                  ReLU at the peers' shapes, 20 seeds each
    python benchmarks/walks.py --shapes 784-32-1 --seeds 3      a large first layer
    python benchmarks/walks.py --activation tanh --answers noise --shapes 10-5-1 20-10-1
    python benchmarks/walks.py --activation sigmoid --general --shapes 50-1000-1 --seeds 1

Weights are N(0, 1) / sqrt(fan-in) and biases 0.3 N(0, 1) as in the peers' comparison, or of general
form (`--general`: scales, biases and output weights of random size). Neither width nor activation is
given. A network counts as identified if the outcome says so and every parameter is within `--atol`
(1e-10 for exact answers, 1e-3 for others) of the planted one up to symmetry; it is wrong if the
outcome says so and that is not true.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

import unweave
from command_line import add_scheduler, median_and_largest, over_seeds, parsed, say, seeds_parser_of
from tally import Tally
from unweave.activations import Activation, activation_named
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.result import Result

NOISE = 1e-8


def planted(activation: Activation, shape: tuple[int, int, int], seed: int, *, is_general: bool) -> Network:
    """The secret network of a seed."""
    inputs, neurons, outputs = shape
    rng = np.random.default_rng(seed)
    if is_general:
        return general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)
    return Network.shallow(
        weights=rng.standard_normal((neurons, inputs)) / np.sqrt(inputs),
        biases=0.3 * rng.standard_normal(neurons),
        output_weights=rng.standard_normal((outputs, neurons)) / np.sqrt(neurons),
        offset=0.3 * rng.standard_normal(outputs),
        activation=activation,
    )


def answered(network: Network, answers: str, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """The network with exact, noisy or float32 answers, or evaluated in float32 throughout."""
    rng = np.random.default_rng([seed, 1])
    hidden, output = network.layers
    if answers == "noise":
        return lambda points: network(points) + NOISE * rng.standard_normal((len(points), network.outputs))
    if answers == "float32":
        return lambda points: network(points).astype(np.float32)
    if answers == "float32-model":
        weights, biases, pull, offset = (
            array.astype(np.float32) for array in (hidden.weights, hidden.biases, output.weights, output.biases)
        )

        def single(points: np.ndarray) -> np.ndarray:
            arguments = points.astype(np.float32) @ weights.T + biases
            return hidden.activation(arguments).astype(np.float32) @ pull.T + offset

        return single
    return network


def recovered(seed: int, args: argparse.Namespace, shape: tuple[int, int, int]) -> tuple[Network, Result, float]:
    """The secret network of a seed, what was found, and CPU seconds."""
    truth = planted(activation_named(args.activation), shape, seed, is_general=args.general)
    model = answered(truth, args.answers, seed)
    start = time.process_time()
    found = unweave.identify(model, inputs=truth.inputs, seed=seed)
    return truth, found, time.process_time() - start


def run(args: argparse.Namespace, shape: tuple[int, int, int]) -> None:
    """Recover the networks of one shape and print a line about them."""
    tally = Tally()
    for seed, (truth, found, took) in over_seeds(recovered, args, shape):
        error = tally.add(truth, found, took, atol=args.atol)
        if error is not None:
            print(f"    seed {seed}: {found.outcome.value} ({found.route}, error {error:.1e}): {found.reason[:200]}")
    name = f"{args.activation} {'-'.join(map(str, shape))}"
    args.json.keep(
        "walks",
        network=name,
        answers=args.answers,
        **tally.counts(),
        median_error=np.median(tally.errors) if tally.errors else None,
        **tally.sizes(),
    )
    say(
        f"{name:22} {args.answers:8} {tally.identified:3d} of {tally.runs:3d} {tally.wrong:6d} "
        f"{np.median(tally.costs):9.2f} {np.max(tally.costs):7.2f} "
        f" {median_and_largest(tally.errors, '9.1e')} {np.median(tally.seconds):8.2f}"
    )


def main() -> None:
    """Run all shapes."""
    parser = seeds_parser_of(__doc__, seeds=20, atol=None)
    parser.add_argument("--shapes", nargs="+", default=["10-5-1", "20-10-1", "50-25-1", "5-10-1"])
    parser.add_argument("--activation", default="relu")
    parser.add_argument("--answers", choices=["exact", "noise", "float32", "float32-model"], default="exact")
    parser.add_argument("--general", action="store_true", help="general form instead of the peers' distribution")
    add_scheduler(parser)
    args = parsed(parser)
    args.atol = args.atol or (1e-10 if args.answers == "exact" else 1e-3)
    print(
        f"{'network':22} {'answers':8} {'identified':>10} {'wrong':>6} {'q/param':>9} {'largest':>7} "
        f"{'error':>10} {'largest':>9} {'CPU s':>8}"
    )
    for shape in args.shapes:
        inputs, neurons, outputs = (int(part) for part in shape.split("-"))
        run(args, (inputs, neurons, outputs))


if __name__ == "__main__":
    main()
