"""The experiments on deep networks of [fiedler, Sec. 4.4, Tables 4.2 to 4.7 and Fig. 4.5 to 4.7].

    python benchmarks/deep_tables.py --seeds 2
    python benchmarks/deep_tables.py --seeds 1 --differences
    python benchmarks/deep_tables.py --seeds 1 --shapes 50,25,10 --descent-steps 100000

50 inputs, three shapes, tanh or identity outputs; exact derivatives, or central differences with the step 0.005. The
published figure (mean of ten runs on a GPU) stands in parentheses behind ours. Its fit of diagonals and shifts
is stopped after twenty minutes and given as curves only; ours takes the stated number of steps.
"""

import argparse
import time
from collections import defaultdict

import numpy as np

from command_line import parser_of, say
from unweave.activations import IDENTITY, TANH, Activation
from unweave.networks.network import Network
from unweave.networks.planted import deep_network
from unweave.oracles.oracle import CallableOracle
from unweave.reproduce.fiedler.deep_identification import DeepReference, DeepReferenceIdentifier
from unweave.reproduce.fiedler.deep_labels import Architecture, FarHessianLabels, GivenLabels, NullSpaceLabels
from unweave.reproduce.fiedler.derivative_sources import (
    DerivativeSource,
    EntrywiseDifferences,
    ExactDerivatives,
    SharedDifferences,
)
from unweave.reproduce.fiedler.diagonal_descent import Completion, DiagonalDescent, DiagonalLevenbergMarquardt, start
from unweave.reproduce.fiedler.entangled import entangled_weights, normalised, target_span
from unweave.reproduce.fiedler.entangled_metrics import (
    distances_up_to_sign,
    false_positives,
    projector_distance,
    rightly_assigned,
    shift_error,
    uniform_error,
    worst_of_found,
    worst_of_truth,
)

INPUTS = 50
SHAPES = ("50,25,10", "50,25,50", "50,35,25,10")
NAN = float("nan")

# Per shape and output activation: with differences, then exact. Subspace error, E_l by layer, false positives, seconds.
STEP_ONE = {
    ("50,25,10", "tanh"): ([0.31, 2.1e-2, 1.5e-2, 8.6e-3, 0, 17, 12], [0.24, 1.7e-2, 1.4e-2, 7.7e-3, 0, 13, 11]),
    ("50,25,10", "identity"): ([0.08, 9.3e-3, 3.1e-3, NAN, 0, 17, 12], [0.08, 7.4e-3, 3.2e-3, NAN, 0, 12, 12]),
    ("50,25,50", "tanh"): ([0.11, 7.8e-3, 3.9e-3, 3.3e-3, 0, 25, 12], [0.09, 6.6e-3, 2.9e-3, 2.9e-3, 0, 188, 12]),
    ("50,25,50", "identity"): ([0.04, 3.2e-3, 1.4e-3, NAN, 0, 25, 12], [0.04, 3.4e-3, 1.4e-3, NAN, 0, 153, 12]),
    ("50,35,25,10", "tanh"): (
        [1.00, 2.8e-2, 3.1e-2, 3.1e-2, 2.1e-2, 0, 21, 12],
        [0.93, 2.6e-2, 3.2e-2, 2.8e-2, 1.8e-2, 0, 16, 12],
    ),
    ("50,35,25,10", "identity"): (
        [0.57, 1.9e-2, 1.9e-2, 1.5e-2, NAN, 0, 20, 12],
        [0.31, 1.7e-2, 1.4e-2, 9.1e-3, NAN, 0, 14, 12],
    ),
}
# Share of right labels by layer, share of runs without a mistake, seconds; labels of four layers were given.
STEP_TWO = {
    ("50,25,10", "tanh"): ([0.998, 0.996, 1, 0.9, 17], [0.998, 0.996, 1, 0.9, 13]),
    ("50,25,10", "identity"): ([0.998, 0.996, 1, 0.9, 17], [0.996, 0.992, 1, 0.8, 11]),
    ("50,25,50", "tanh"): ([1, 1, 1, 1, 24], [1, 1, 1, 1, 191]),
    ("50,25,50", "identity"): ([1, 1, 1, 1, 24], [1, 1, 1, 1, 155]),
}
# Errors of the final matrices by layer, over runs without a mistake.
FINAL = {
    ("50,25,10", "tanh"): ([2.1e-2, 1.5e-2, 2.5e-7], [1.7e-2, 1.4e-2, 2.1e-8]),
    ("50,25,10", "identity"): ([9.6e-3, 3.1e-3, 1.9e-7], [8.0e-3, 3.3e-3, 2.1e-8]),
    ("50,25,50", "tanh"): ([7.8e-3, 3.9e-3, 2.7e-7], [6.6e-3, 2.9e-3, 2.8e-8]),
    ("50,25,50", "identity"): ([3.2e-3, 1.4e-3, 2.1e-7], [3.4e-3, 1.4e-3, 2.7e-8]),
    ("50,35,25,10", "tanh"): ([2.8e-2, 3.1e-2, 3.1e-2, 2.9e-7], [2.6e-2, 3.2e-2, 2.8e-2, 2.0e-8]),
    ("50,35,25,10", "identity"): ([1.9e-2, 1.9e-2, 1.5e-2, 2.4e-7], [1.7e-2, 1.3e-2, 8.7e-3, 2.2e-8]),
}

Rows = dict[str, list[float]]


def layer_of(truth: list[np.ndarray], directions: np.ndarray) -> np.ndarray:
    """The layer of the nearest true direction."""
    owners = np.concatenate([np.full(len(rows), layer) for layer, rows in enumerate(truth)])
    return owners[np.argmin(distances_up_to_sign(directions, np.concatenate(truth)), axis=1)]


def source_for(network: Network, oracle: CallableOracle, options: argparse.Namespace) -> DerivativeSource:
    """Exact derivatives, or those of the chosen differences."""
    if options.shared:
        return SharedDifferences(oracle, network.outputs)
    return EntrywiseDifferences(oracle) if options.differences else ExactDerivatives(network)


def one_run(
    network: Network, seed: int, options: argparse.Namespace
) -> tuple[DeepReference, list[np.ndarray], Rows, float]:
    """The pipeline once, its metrics of all three steps, and the seconds."""
    began = time.perf_counter()
    oracle = CallableOracle(network, inputs=INPUTS)
    architecture = Architecture(INPUTS, network.widths, network.outputs, network.activations)
    truth = [normalised(rows) for rows in entangled_weights(network, np.zeros(INPUTS))]
    is_deep = len(network.widths) > 2
    labelling = GivenLabels(lambda found: layer_of(truth[:-1], found)) if is_deep else FarHessianLabels()
    identify = DeepReferenceIdentifier(labelling=labelling, completion=DiagonalDescent(steps=options.descent_steps))
    source = source_for(network, oracle, options)
    found = identify(oracle, architecture, seed=seed, derivatives=source)
    rows = {"step 1": step_one(found, network, truth)}
    if found.clusters is None or found.recovery is None:
        return found, truth, rows, time.perf_counter() - began
    rng = np.random.default_rng([seed, 1])
    arguments = (found.clusters.centers, found.recovery, source, architecture, rng)
    if not is_deep:
        rows["step 2, radius 1000"] = step_two(FarHessianLabels(radii=(1000.0,))(*arguments).groups, found, truth)
        rows["step 2, radii tried"] = step_two(found.assignment and found.assignment.groups, found, truth)
    rows["step 2, null space"] = step_two(NullSpaceLabels(counts_layers=True)(*arguments).groups, found, truth)
    if found.layers is not None and found.completion is not None:
        rows["final"] = [worst_of_found(one, other) for one, other in zip(found.layers, truth, strict=True)]
        rows |= step_three(found, network, truth, options, rng)
    return found, truth, rows, time.perf_counter() - began


def step_one(found: DeepReference, network: Network, truth: list[np.ndarray]) -> list[float]:
    """Subspace error, errors by layer, false positives, seconds."""
    if found.recovery is None:
        return []
    ends, seen = found.recovery.ends.vectors, len(truth) - (network.activations[-1] == IDENTITY)
    distance = projector_distance(target_span(network, np.zeros(INPUTS)), found.recovery.subspace.basis)
    errors = [worst_of_truth(ends, rows) if layer < seen else NAN for layer, rows in enumerate(truth)]
    positives = false_positives(ends, np.concatenate(truth[:seen]))
    return [distance, *errors, positives, found.seconds["span"], found.seconds["power method"]]


def step_two(groups: object, found: DeepReference, truth: list[np.ndarray]) -> list[float]:
    """Share of right labels by layer, whether all are right, seconds of the assignment."""
    if not callable(groups) or found.clusters is None or found.recovery is None:
        return []
    hidden = groups(found.clusters.centers)
    if [len(rows) for rows in hidden] != [len(rows) for rows in truth[:-1]]:
        return [*[NAN] * len(truth), 0.0, NAN]
    layers = (*hidden, found.recovery.output_directions)
    shares = [rightly_assigned(one, other) for one, other in zip(layers, truth, strict=True)]
    return [*shares, float(min(shares) == 1.0), found.seconds["layers"]]


def step_three(
    found: DeepReference,
    network: Network,
    truth: list[np.ndarray],
    options: argparse.Namespace,
    rng: np.random.Generator,
) -> Rows:
    """Metrics of the descent, of Levenberg-Marquardt, and of the descent from exact directions."""
    if found.layers is None or found.completion is None:
        return {}
    fresh = rng.standard_normal((options.test_points, INPUTS))
    points = rng.standard_normal((1_000, INPUTS))
    fits = {"descent": found.completion}
    quick = DiagonalLevenbergMarquardt()
    fits["Levenberg-Marquardt"] = quick(start(found.layers, network.activations), points, network(points))
    layers = dict.fromkeys(fits, found.layers)
    if options.baseline:
        many = rng.standard_normal((INPUTS**2 * sum(map(len, truth)), INPUTS))
        descend = DiagonalDescent(steps=options.descent_steps)
        exact = start(tuple(truth), network.activations)
        fits["descent, exact directions"] = descend(exact, many, network(many), rng=rng)
        layers["descent, exact directions"] = tuple(truth)
    return {f"step 3, {name}": fit_metrics(fit, network, layers[name], truth, fresh) for name, fit in fits.items()}


def fit_metrics(
    fit: Completion, network: Network, layers: tuple[np.ndarray, ...], truth: list[np.ndarray], fresh: np.ndarray
) -> list[float]:
    """Mean error, largest relative error, shift errors by layer."""
    shifts = [
        shift_error(shift, layer.biases, found_directions=one, true_directions=other)
        for shift, layer, one, other in zip(fit.model.shifts, network.layers, layers, truth, strict=True)
    ]
    return [fit.mean_error, uniform_error(fit.model(fresh), network(fresh)), *shifts]


def report(name: str, rows: list[list[float]], published: list[float] | None) -> None:
    """Means over the runs, the published figures behind them."""
    complete = [row for row in rows if row]
    if not complete:
        print(f"    {name:36s} no run came so far")
        return
    # A share of right labels or an error is a mean over the runs that have one.
    table = np.array(complete)
    counts = np.sum(~np.isnan(table), axis=0)
    means = np.where(counts > 0, np.nansum(table, axis=0) / np.maximum(counts, 1), NAN)
    cells = []
    for index, value in enumerate(means):
        ours = "-" if np.isnan(value) else f"{value:.3g}"
        theirs = "" if published is None or np.isnan(published[index]) else f" ({published[index]:.3g})"
        cells.append(ours + theirs)
    say(f"    {name:36s} " + "  ".join(f"{cell:18s}" for cell in cells))


def setup(shape: str, output: Activation, options: argparse.Namespace) -> None:
    """All seeds of one shape and output activation."""
    sizes = tuple(int(part) for part in shape.split(","))
    collected: dict[str, list[list[float]]] = defaultdict(list)
    queries, seconds, outcomes = [], [], []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        rng = np.random.default_rng([seed, *sizes])
        network = deep_network(rng, shape=(INPUTS, *sizes), output_activation=output)
        found, _, rows, taken = one_run(network, seed, options)
        for name, row in rows.items():
            collected[name].append(row)
        queries.append(sum(found.queries.values()))
        seconds.append(taken)
        outcomes.append(found.outcome.value + ": " + found.reason)
    print(f"[{shape}] {output}: {options.seeds} runs, {np.mean(seconds):.0f} s and {np.mean(queries):.0f} queries each")
    key, column = (shape, str(output)), 0 if options.differences or options.shared else 1
    references = {"step 1": STEP_ONE, "step 2, radius 1000": STEP_TWO, "final": FINAL}
    for name, lines in collected.items():
        table = references.get(name, {})
        report(name, lines, table[key][column] if key in table else None)
    for text in sorted(set(outcomes)):
        say(f"    {text}")


def main() -> None:
    """Run the set-ups."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--outputs", nargs="*", default=["tanh", "identity"])
    parser.add_argument("--descent-steps", type=int, default=20_000)
    parser.add_argument("--test-points", type=int, default=100_000, help="[fiedler] takes a million")
    parser.add_argument("--baseline", action="store_true", help="also descend from exact directions")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--exact", action="store_true", help="exact derivatives (default)")
    mode.add_argument("--differences", action="store_true", help="central differences as in [fiedler]")
    mode.add_argument("--shared", action="store_true", help="central differences with D^2 + D + 1 queries per Hessian")
    options = parser.parse_args()
    print("step 1: subspace error, E by layer, false positives, seconds of span and of power method")
    print("step 2: share of right labels by layer, runs without a mistake, seconds")
    print("final: errors of the matrices by layer")
    print(f"step 3 ({options.descent_steps} steps): mean error, largest relative error, shift errors by layer")
    for shape in options.shapes:
        for name in options.outputs:
            setup(shape, {"tanh": TANH, "identity": IDENTITY}[name], options)


if __name__ == "__main__":
    main()
