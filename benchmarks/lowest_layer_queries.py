"""The lowest layer under unknown functions, from queries: success over seeds, rows found, errors, queries per weight.

    python benchmarks/lowest_layer_queries.py                                  10, 20 and 40 inputs, 20 seeds each
    python benchmarks/lowest_layer_queries.py --inputs 10 --seeds 5            a quick look
    python benchmarks/lowest_layer_queries.py --above relu --units relu        networks of three relu layers
    python benchmarks/lowest_layer_queries.py --door identify --inputs 10      the same through `unweave.identify`

As many unit rows as inputs, with singular values spread evenly up to the condition number; one threshold for all,
drawn uniformly from 0.5 to 6 for every seed. Above: `or` is 1 - prod (1 - X_i), `pairs` is sum X_i + sum X_i X_j, and
`tanh` and `relu` are random networks of two hidden layers, as wide as there are rows. Neither the number of rows, the
threshold, the activation nor what is above is given. A seed counts as found if there are as many rows as planted, each
within `--atol` of a planted one in direction and threshold together; as silent if it does not and the reason does
not say that rows may be missing or errors are larger.
"""

import argparse
import time
from dataclasses import dataclass
from itertools import product

import numpy as np

import unweave
from command_line import add_scheduler, median_and_largest, over_seeds, parsed, say, seeds_parser_of
from unweave.activations import RELU, STEP, TANH, activation_named
from unweave.identification.plateaus.entry import identify_lowest_layer
from unweave.networks.network import Layer
from unweave.networks.planted import ThresholdFunction, any_of, sum_and_pairs, threshold_function, upper_network
from unweave.result import Result, Verdict

THRESHOLDS = (0.5, 6.0)


@dataclass(frozen=True)
class Kind:
    """Functions that differ by their seeds only.

    Args:
        inputs: as many as rows.
        condition: largest singular value of the rows over the smallest.
        units: activation of the rows.
        above: what is above them.
    """

    inputs: int
    condition: float
    units: str
    above: str

    def planted(self, seed: int) -> ThresholdFunction:
        """The secret function of a seed."""
        rng = np.random.default_rng(seed)
        upper = {"or": any_of, "pairs": sum_and_pairs}.get(self.above)
        if upper is None:
            upper = upper_network(rng, self.inputs, activation={"tanh": TANH, "relu": RELU}[self.above])
        return threshold_function(
            rng,
            inputs=self.inputs,
            threshold=float(rng.uniform(*THRESHOLDS)),
            activation=activation_named(self.units),
            above=upper,
            condition=self.condition,
        )


def largest_error(found: Layer | None, truth: Layer) -> float:
    """Largest distance between a planted row and the nearest one found, thresholds included."""
    if found is None or found.neurons != truth.neurons:
        return np.inf
    planes = [np.hstack([layer.weights, layer.biases[:, None]]) for layer in (found, truth)]
    distances = np.linalg.norm(planes[0][:, None] - planes[1][None], axis=2)
    return float(max(np.max(np.min(distances, axis=0)), np.max(np.min(distances, axis=1))))


def is_silent(found: Result) -> bool:
    """Whether a result does not say that something is missing or not exact."""
    is_doubted = any(check.verdict is Verdict.FAIL or check.verdict is Verdict.WEAK for check in found.diagnostics)
    return found.first_layer is not None and "there may be more" not in found.reason and not is_doubted


def recovered(seed: int, args: argparse.Namespace, kind: Kind) -> tuple[Layer, Result, float]:
    """The secret layer of a seed, what was found, and CPU seconds."""
    door = unweave.identify if args.door == "identify" else identify_lowest_layer
    truth = kind.planted(seed)
    start = time.process_time()
    found = door(truth, inputs=kind.inputs, seed=seed)
    return truth.lowest, found, time.process_time() - start


def run_kind(args: argparse.Namespace, kind: Kind) -> None:
    """Recover the functions of one kind and print a line about them."""
    silent, errors, rows, costs, seconds = 0, [], [], [], []
    for seed, (lowest, found, took) in over_seeds(recovered, args, kind):
        seconds.append(took)
        error = largest_error(found.first_layer, lowest)
        rows.append(found.first_layer.neurons if found.first_layer is not None else 0)
        costs.append(found.queries / (kind.inputs * (kind.inputs + 1)))
        if error <= args.atol:
            errors.append(error)
            continue
        silent += is_silent(found)
        threshold = -lowest.biases[0]
        print(f"    seed {seed}: {rows[-1]} rows, error {error:.1e}, threshold {threshold:.2f}: {found.reason}")
    queries = np.median(costs) * kind.inputs * (kind.inputs + 1)
    args.json.keep(
        "lowest layers",
        **vars(kind),
        trials=args.seeds,
        recovered=len(errors),
        silent=silent,
        largest_error=max(errors, default=None),
        queries_per_weight=np.median(costs),
        queries=queries,
        cpu_seconds=np.median(seconds),
    )
    say(
        f"{kind.inputs:6d} {kind.condition:9.0f} {kind.units:>5} {kind.above:>5} "
        f"{len(errors):3d} of {args.seeds:3d} "
        f"{min(rows):4d} to {max(rows):3d} {median_and_largest(errors, '8.1e')} {silent:6d} "
        f"{median_and_largest(costs, '8.1f')} {queries:8.0f} {np.median(seconds):6.2f}"
    )


def main() -> None:
    """Run all kinds."""
    parser = seeds_parser_of(__doc__, seeds=20, atol=1e-10)
    parser.add_argument("--inputs", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--conditions", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--units", nargs="+", default=[STEP.name, RELU.name])
    parser.add_argument("--above", nargs="+", default=["or", "pairs", "tanh"], choices=["or", "pairs", "tanh", "relu"])
    parser.add_argument("--door", default="lowest", choices=["lowest", "identify"])
    add_scheduler(parser)
    args = parsed(parser)
    print(
        f"{'inputs':>6} {'condition':>9} {'units':>5} {'above':>5} {'found':>10} {'rows':>11} {'error':>8} "
        f"{'largest':>8} {'silent':>6} {'q/weight':>8} {'largest':>8} {'queries':>8} {'CPU s':>6}"
    )
    for each in product(args.inputs, args.conditions, args.units, args.above):
        run_kind(args, Kind(*each))


if __name__ == "__main__":
    main()
