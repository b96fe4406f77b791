"""ReLU networks from samples: errors against the number of samples, sizes, noise, and what must not be believed.

    python benchmarks/relu_samples.py                         all tables, 20 seeds
    python benchmarks/relu_samples.py --tables rates --seeds 5
    python benchmarks/relu_samples.py --tables noise honesty

Networks are `planted.relu_network`: unit weights, biases within 1.2, output weights of either sign and of size 0.5 to
2. The number of neurons is never given. Errors are of the worst neuron: Euclidean for weights, absolute for biases and
output weights; "before" is the network that moments gave, "after" the one that is returned. Seconds are CPU time.
"""

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from command_line import parsed, parser_of, say, seeds_of
from unweave import match
from unweave.activations import activation_named
from unweave.learn.relu_network.estimator import ReluDetails, ReluLearner, ReluResult
from unweave.learn.relu_network.units import unit_parameters
from unweave.networks.network import Network
from unweave.networks.planted import general_network, relu_network
from unweave.result import Outcome
from unweave.samples.sources import ArraySource

INPUTS, NEURONS = 10, 5
SIZES = ((20, 8, 300_000), (30, 5, 100_000), (5, 8, 400_000), (10, 10, 300_000))
Samples = tuple[np.ndarray, np.ndarray]


def learn(
    points: np.ndarray, labels: np.ndarray, *, seed: int, neurons: int | None = None
) -> tuple[ReluResult, ReluDetails]:
    """The learner on samples whose inputs are known to be standard Gaussian."""
    inputs = points.shape[1]
    learner = ReluLearner(neurons=neurons, mean=np.zeros(inputs), covariance=np.eye(inputs))
    return learner(ArraySource(points, labels), inputs=inputs, seed=seed)


class Errors(NamedTuple):
    """Errors of weights, biases and output weights of the worst neuron."""

    weights: float
    biases: float
    output_weights: float


def worst_errors(found: Network | None, truth: Network) -> Errors:
    """Compare the worst neuron with the planted one; infinite if their number differs."""
    if found is None or found.widths != truth.widths:
        return Errors(np.inf, np.inf, np.inf)
    weights, biases, heights = unit_parameters(found)
    true_weights, true_biases, true_heights = unit_parameters(truth)
    mine, theirs = linear_sum_assignment(-weights @ true_weights.T)
    return Errors(
        float(np.max(np.linalg.norm(weights[mine] - true_weights[theirs], axis=1))),
        float(np.max(np.abs(biases[mine] - true_biases[theirs]))),
        float(np.max(np.abs(heights[mine] - true_heights[theirs]))),
    )


def planted(seed: int, inputs: int, neurons: int, rows: int, noise: float = 0.0) -> tuple[Network, Samples]:
    """A network, and samples of it."""
    rng = np.random.default_rng([seed, inputs, neurons, rows])
    truth = relu_network(rng, inputs=inputs, neurons=neurons)
    points = rng.standard_normal((rows, inputs))
    return truth, (points, truth(points)[:, 0] + noise * rng.standard_normal(rows))


class Trial(NamedTuple):
    """A planted network, what the learner found, what is known beside it, and CPU seconds."""

    truth: Network
    found: ReluResult
    details: ReluDetails
    seconds: float

    def error(self) -> float:
        """Largest error of a parameter of the network that was found."""
        return match(self.found.network, self.truth).largest_error


def trials_of(args: argparse.Namespace, *, inputs: int, neurons: int, rows: int, noise: float = 0.0) -> list[Trial]:
    """Plant and learn a network for every seed of the options."""
    trials = []
    for seed in seeds_of(args):
        truth, samples = planted(seed, inputs, neurons, rows, noise)
        start = time.process_time()
        found, details = learn(*samples, seed=seed)
        trials.append(Trial(truth, found, details, time.process_time() - start))
    return trials


def cpu_seconds(trials: list[Trial]) -> float:
    """The median."""
    return np.median([trial.seconds for trial in trials])


def rates(args: argparse.Namespace) -> None:
    """Errors before finishing against the number of samples, and how often exact labels are finished."""
    print(f"\n{INPUTS} inputs, {NEURONS} neurons, exact labels; medians of the worst neuron over {args.seeds} networks")
    print(f"{'samples':>9} {'w before':>9} {'b before':>9} {'a before':>9} {'to 1e-12':>9} {'largest':>9} {'CPU s':>6}")
    counts, medians = (10_000, 30_000, 100_000, 300_000, 1_000_000), []
    for rows in counts:
        trials = trials_of(args, inputs=INPUTS, neurons=NEURONS, rows=rows)
        before = Errors(*np.median([worst_errors(each.details.start, each.truth) for each in trials], axis=0))
        medians.append(before)
        after = [each.error() if each.found.is_identified else np.inf for each in trials]
        done = sum(error <= 1e-12 for error in after)
        finite = max((error for error in after if np.isfinite(error)), default=np.nan)
        args.json.keep(
            "rates",
            samples=rows,
            **{f"{name}_before": error for name, error in before._asdict().items()},
            trials=args.seeds,
            recovered=done,
            largest_error=finite,
            cpu_seconds=cpu_seconds(trials),
        )
        errors = " ".join(f"{error:9.4f}" for error in before)
        say(f"{rows:9,d} {errors} {done:6d}/{args.seeds} {finite:9.1e} {cpu_seconds(trials):6.2f}")
    slopes = np.polyfit(np.log(counts), np.log(medians), 1)[0]
    print("slopes in the number of samples: " + ", ".join(f"{n} {s:.2f}" for n, s in zip("wba", slopes, strict=True)))


def sizes(args: argparse.Namespace) -> None:
    """Other sizes, exact labels."""
    print(f"\nexact labels, {args.seeds} networks each")
    print(f"{'inputs':>6} {'neurons':>7} {'samples':>9} {'identified':>10} {'to 1e-12':>9} {'wrong':>5} {'CPU s':>6}")
    for inputs, neurons, rows in SIZES:
        trials = trials_of(args, inputs=inputs, neurons=neurons, rows=rows)
        errors = [each.error() for each in trials if each.found.is_identified]
        done, wrong = sum(e <= 1e-12 for e in errors), sum(e > 1e-8 for e in errors)
        args.json.keep(
            "sizes",
            inputs=inputs,
            neurons=neurons,
            samples=rows,
            trials=args.seeds,
            identified=len(errors),
            recovered=done,
            wrong=wrong,
            largest_error=max(errors, default=None),
            cpu_seconds=cpu_seconds(trials),
        )
        say(
            f"{inputs:6d} {neurons:7d} {rows:9,d} {len(errors):7d}/{args.seeds} {done:6d}/{args.seeds} {wrong:5d} "
            f"{cpu_seconds(trials):6.1f}"
        )


def noisy(args: argparse.Namespace) -> None:
    """Noisy labels: errors in units of what the number of parameters explains, and of standard errors."""
    rows = 100_000
    print(f"\n{INPUTS} inputs, {NEURONS} neurons, {rows:,} samples; errors in units of sigma sqrt(m (d + 1) / N)")
    names = ("w", "b", "a")
    print(
        f"{'noise':>6} {'identified':>10} {'wrong m':>7}", *(f"{name:>6}" for name in names), " w <= 2  in bars  CPU s"
    )
    for noise in (0.1, 0.5):
        unit = noise * np.sqrt(NEURONS * (INPUTS + 1) / rows)
        trials = trials_of(args, inputs=INPUTS, neurons=NEURONS, rows=rows, noise=noise)
        errors, bars = [], []
        for each in trials:
            errors.append(np.array(worst_errors(each.found.network, each.truth)) / unit)
            if each.details.standard_errors is not None and np.all(np.isfinite(errors[-1])):
                bars.append(errors[-1][0] * unit / float(np.max(each.details.standard_errors.angles)))
        claimed = sum(each.found.is_identified for each in trials)
        middle = Errors(*np.median(errors, axis=0))
        within = sum(error[0] <= 2.0 for error in errors)
        wrong = sum(not np.isfinite(error[0]) for error in errors)
        args.json.keep(
            "noise",
            noise=noise,
            samples=rows,
            trials=args.seeds,
            identified=claimed,
            wrong_number_of_neurons=wrong,
            **middle._asdict(),
            weights_within_two=within,
            weights_in_bars=np.median(bars),
            cpu_seconds=cpu_seconds(trials),
        )
        say(
            f"{noise:6.1f} {claimed:7d}/{args.seeds} {wrong:7d} {' '.join(f'{error:6.2f}' for error in middle)} "
            f"{within:4d}/{args.seeds} {np.median(bars):8.2f} {cpu_seconds(trials):6.1f}"
        )
    print("in bars: error of the worst direction over the largest standard error of a direction, median")


def not_believed(seed: int) -> dict[str, tuple[Callable[[], Samples], int | None]]:
    """Samples that are no relu network, or not as the theory needs them."""
    rng = np.random.default_rng(seed)
    rows, inputs = 50_000, 6
    points = rng.standard_normal((rows, inputs))
    relu, tanh = relu_network(rng, inputs=inputs, neurons=4), activation_named("tanh")
    other = general_network(rng, inputs=inputs, neurons=4, activation=tanh)
    noise = 0.3 * rng.standard_normal(rows)
    heavy, deep, upper = (
        rng.exponential(1.0, (rows, inputs)),
        rng.standard_normal((inputs, 4)),
        rng.standard_normal((4, 3)),
    )
    return {
        "tanh network": (lambda: (points, other(points)[:, 0]), None),
        "tanh network, noisy": (lambda: (points, other(points)[:, 0] + noise), None),
        "two hidden relu layers": (
            lambda: (
                points,
                np.maximum(np.maximum(points @ deep, 0) @ upper - 1, 0).sum(axis=1),
            ),
            None,
        ),
        "square": (lambda: (points, points[:, 0] ** 2 - points[:, 1] * points[:, 2]), None),
        "noise alone": (lambda: (points, noise), None),
        "exponential inputs, noisy": (lambda: (heavy, relu(heavy)[:, 0] + noise), None),
        "too few neurons given": (lambda: (points, relu(points)[:, 0] + noise), 2),
        "too many neurons given": (lambda: (points, relu(points)[:, 0] + noise), 6),
        "too few neurons given, exact": (lambda: (points, relu(points)[:, 0]), 2),
        "too many neurons given, exact": (lambda: (points, relu(points)[:, 0]), 6),
    }


def honesty(args: argparse.Namespace) -> None:
    """How such samples end: "identified" is the one answer that must not occur."""
    print(f"\nsamples that must not end as identified, {args.seeds} seeds each")
    print(f"{'samples':32} {'identified':>10} {'partly':>7} {'not':>5}")
    for name in not_believed(0):
        ends = []
        for seed in seeds_of(args):
            make, neurons = not_believed(seed)[name]
            ends.append(learn(*make(), seed=seed, neurons=neurons)[0].outcome)
        counts = [ends.count(outcome) for outcome in (Outcome.IDENTIFIED, Outcome.PARTLY_IDENTIFIED)]
        args.json.keep(
            "must not be identified", samples=name, trials=args.seeds, identified=counts[0], partly=counts[1]
        )
        say(f"{name:32} {counts[0]:10d} {counts[1]:7d} {args.seeds - sum(counts):5d}")


TABLES = {"rates": rates, "sizes": sizes, "noise": noisy, "honesty": honesty}


def main() -> None:
    """Run the tables that are asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    args = parsed(parser)
    for name in args.tables:
        TABLES[name](args)


if __name__ == "__main__":
    main()
