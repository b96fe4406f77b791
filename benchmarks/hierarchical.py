"""Hierarchical learning of quadratic networks: exact recovery, staged against layer-wise training, baselines.

    python benchmarks/hierarchical.py --tables newton             joint second-order training, 10 seeds, minutes
    python benchmarks/hierarchical.py --tables staged --seeds 5   staged joint against layer-wise, about half an hour
    python benchmarks/hierarchical.py --tables methods --picture methods.png
    python benchmarks/hierarchical.py --tables kernels --seeds 5  on the samples of the staged table, about an hour
    python benchmarks/hierarchical.py --tables correction --picture correction.png
    python benchmarks/hierarchical.py --tables literal noise classes sparse
    python benchmarks/hierarchical.py --tables users             real and noisy labels with default settings, minutes

Teachers are `make_teacher`: random blocks with singular values within [1/1.3, 1.3], every level scaled to features of
mean square 1. Errors are mean squared errors on 10,000 fresh points relative to the variance of the labels; "S2" is the
error of the features of level 2 up to a rotation. E[x^2] = 1 is known to all methods.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import train_test_split

from command_line import parsed, parser_of, say, seeds_of
from unweave.learn.hierarchical.estimators import HierarchicalClassifier, HierarchicalRegressor
from unweave.learn.hierarchical.joint_fit import JointLevenbergMarquardt
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.teacher import GaussianInputs, Inputs, UniformInputs, make_sparse_teacher, make_teacher
from unweave.reproduce.allenzhu.algorithm1 import Algorithm1, GaussianFrame, StructuredFrame
from unweave.reproduce.allenzhu.baselines import TrainingSamples, all_methods, compare_methods
from unweave.reproduce.allenzhu.pictures import draw_comparison, draw_correction
from unweave.reproduce.allenzhu.staged import StagedFit, StagedTraining
from unweave.reproduce.allenzhu.traces import feature_errors, measure_correction_law, trace_features

DISTRIBUTIONS: dict[str, Inputs] = {"Gaussian": GaussianInputs(), "uniform": UniformInputs()}
EXACT = 1e-15
STAGED_SAMPLES = (2_000, 5_000, 10_000)
SPARSE_METHODS = (
    "joint, second order",
    "polynomial kernel 8 of x",
    "polynomial kernel 4 of x, x^2",
    "polynomial kernel 2 of x, x^2",
    "neural tangent kernel of x, x^2",
)
# Inputs, widths, weights of levels, samples, distribution.
NEWTON_SIZES = (
    (20, (4, 2), (1.0, 0.3), 2_000, "Gaussian"),
    (30, (5, 2), (1.0, 0.1), 2_000, "Gaussian"),
    (30, (5, 2), (1.0, 0.3), 2_000, "Gaussian"),
    (30, (5, 2), (1.0, 0.3), 2_000, "uniform"),
    (40, (6, 2), (1.0, 0.3), 1_086, "Gaussian"),
    (40, (6, 2), (1.0, 0.3), 2_000, "Gaussian"),
    (60, (6, 3), (1.0, 0.3), 5_000, "Gaussian"),
    (12, (4, 2, 1), (1.0, 0.1, 0.01), 3_000, "Gaussian"),
    (12, (4, 2, 1), (1.0, 0.3, 0.09), 3_000, "Gaussian"),
    (12, (4, 2, 1), (1.0, 1.0, 1.0), 3_000, "uniform"),
    (20, (4, 2, 1), (1.0, 0.3, 0.09), 3_000, "uniform"),
)


class Task:
    """A teacher with samples and fresh points."""

    def __init__(
        self, seed: int, inputs: int, widths: Sequence[int], weights: Sequence[float], samples: int, draw: Inputs
    ):
        self.rng = np.random.default_rng([seed, inputs, len(widths)])
        self.teacher = make_teacher(self.rng, inputs=inputs, widths=widths, level_weights=weights, distribution=draw)
        self.points, self.fresh = draw(self.rng, samples, inputs), draw(self.rng, 10_000, inputs)
        self.labels, self.truth = self.teacher(self.points)[:, 0], self.teacher(self.fresh)[:, 0]
        self.means = np.ones(inputs)

    def error(self, network: QuadraticDenseNet) -> float:
        """On fresh points."""
        return float(np.mean((network(self.fresh)[:, 0] - self.truth) ** 2) / np.var(self.truth))

    def features(self, network: QuadraticDenseNet) -> tuple[float, ...]:
        """Errors of features, level by level."""
        return feature_errors(network, self.teacher, self.fresh)

    def staged(self, training: StagedTraining) -> StagedFit:
        """Train on the samples."""
        wiring = self.teacher.wiring
        return training(wiring, self.points, self.labels, mean_squares=self.means, rng=self.rng)

    def student(self) -> Student:
        """A network of the same shape, its weights unknown."""
        return Student(self.teacher.wiring, tuple(np.ones(width) for width in self.teacher.wiring.widths), self.means)


def newton(args: argparse.Namespace) -> None:
    """How often joint second-order training is exact."""
    print("\njoint second-order training from random starts (at most 10)")
    print(
        f"{'inputs':>6} {'widths':>10} {'weights':>16} {'samples':>8} {'':>9} {'exact':>7} {'worst':>8} "
        f"{'S worst':>8} {'starts':>6} {'CPU s':>6}"
    )
    for inputs, widths, weights, samples, name in NEWTON_SIZES:
        errors, features, starts, begin = [], [], [], time.process_time()
        for seed in seeds_of(args):
            task = Task(seed, inputs, widths, weights, samples, DISTRIBUTIONS[name])
            fit = JointLevenbergMarquardt()(task.student(), task.points, task.labels, rng=task.rng)
            errors.append(task.error(fit.network))
            features.append(max(task.features(fit.network)))
            starts.append(len(fit.start_losses))
        exact = sum(error < EXACT for error in errors)
        seconds = (time.process_time() - begin) / args.seeds
        args.json.keep(
            "joint training",
            inputs=inputs,
            widths=", ".join(map(str, widths)),
            weights=", ".join(map(str, weights)),
            samples=samples,
            drawn=name,
            trials=args.seeds,
            recovered=exact,
            largest_error=max(errors),
            largest_feature_error=max(features),
            starts=np.mean(starts),
            cpu_seconds=seconds,
        )
        say(
            f"{inputs:6} {widths!s:>10} {weights!s:>16} {samples:8} {name:>9} {exact:3}/{args.seeds:<3} "
            f"{max(errors):8.0e} {max(features):8.0e} {np.mean(starts):6.1f} {seconds:6.1f}"
        )


class StagedErrors(NamedTuple):
    """Errors on fresh points."""

    level_2_alone: float
    layer_wise: float
    joint: float


def staged(args: argparse.Namespace) -> None:
    """Staged joint training against layer-wise training on the same samples."""
    print(f"\n30 inputs, widths (5, 2); medians over {args.seeds} seeds, in brackets the smallest ratio of a seed")
    print(
        f"{'inputs':>9} {'weight':>6} {'samples':>8} {'level 2':>8} {'layerwise':>9} {'joint':>8} {'ratio':>15} "
        f"{'S2 before':>9} {'after':>8} {'s':>5}"
    )
    for samples in STAGED_SAMPLES:
        for name, draw in DISTRIBUTIONS.items():
            for weight in (0.1, 0.3):
                begin = time.perf_counter()
                tasks = [Task(seed, 30, (5, 2), (1.0, weight), samples, draw) for seed in seeds_of(args)]
                rows, features = zip(*map(staged_trial, tasks), strict=True)
                errors = StagedErrors(*np.median(rows, axis=0))
                ratios = [row.layer_wise / row.joint for row in rows]
                before, after = np.median(features, axis=0)
                args.json.keep(
                    "staged",
                    drawn=name,
                    weight=weight,
                    samples=samples,
                    trials=args.seeds,
                    **errors._asdict(),
                    ratio=np.median(ratios),
                    smallest_ratio=np.min(ratios),
                    features_before=before,
                    features_after=after,
                )
                say(
                    f"{name:>9} {weight:6} {samples:8} {errors.level_2_alone:8.1e} {errors.layer_wise:9.1e} "
                    f"{errors.joint:8.1e} {np.median(ratios):8.0f} ({np.min(ratios):4.0f}) {before:9.1e} {after:8.1e} "
                    f"{time.perf_counter() - begin:5.0f}"
                )


def staged_trial(task: Task) -> tuple[StagedErrors, tuple[float, float]]:
    """Train staged and layer by layer; give also errors of the features of level 2 before and after correction."""
    joint, layers = task.staged(StagedTraining()), task.staged(StagedTraining(is_layer_wise=True))
    first, last = (stage.network for stage in joint.stages)
    features = (task.features(first)[0], task.features(last)[0])
    return StagedErrors(task.error(first), task.error(layers.network), task.error(last)), features


def methods(args: argparse.Namespace) -> None:
    """All methods on equal data."""
    tables = []
    for seed in seeds_of(args):
        task = Task(seed, 30, (5, 2), (1.0, 0.3), 2_000, GaussianInputs())
        samples = TrainingSamples(task.teacher.wiring, task.points, task.labels, task.means, seed)
        tables.append(compare_methods(samples, task.fresh, task.truth))
        say(f"\nseed {seed}: {tables[-1].text()}")
    if args.picture is not None:
        draw_comparison(tables).savefig(args.picture, dpi=150)


def kernels(args: argparse.Namespace) -> None:
    """All kernels on the samples of the staged table: the median error of each, the best first."""
    print(f"\n30 inputs, widths (5, 2); medians over {args.seeds} seeds")
    for samples in STAGED_SAMPLES:
        for name, draw in DISTRIBUTIONS.items():
            for weight in (0.1, 0.3):
                found: dict[str, list[float]] = {}
                for seed in seeds_of(args):
                    task = Task(seed, 30, (5, 2), (1.0, weight), samples, draw)
                    given = TrainingSamples(task.teacher.wiring, task.points, task.labels, task.means, seed)
                    chosen = {key: each for key, each in all_methods(given.wiring).items() if "kernel" in key}
                    for row in compare_methods(given, task.fresh, task.truth, methods=chosen).rows:
                        found.setdefault(row.method, []).append(row.relative_error)
                errors = sorted((float(np.median(each)), key) for key, each in found.items())
                say(f"{name:>9} {weight:6} {samples:8} " + ", ".join(f"{key} {e:.1e}" for e, key in errors))


def correction(args: argparse.Namespace) -> None:
    """The error of level 2 along the training, and against the weight of level 3."""
    law = measure_correction_law(np.random.default_rng(0), distribution=GaussianInputs())
    print(f"\nlevel 2 alone: slope {law.slope:.2f} of its error against the weight of level 3 (theory: 2)")
    for weight, rounds, factor in zip(law.weights, law.errors, law.contractions, strict=True):
        print(f"{weight:6} " + " ".join(f"{error:8.1e}" for error in rounds) + f"   second correction: {factor:.0f} x")
    task = Task(0, 20, (3, 2), (1.0, 0.3), 3_000, UniformInputs())
    traces = {}
    for name, is_layer_wise in (("all levels train on", False), ("level 2 frozen (layer-wise)", True)):
        trace = trace_features(
            task.staged(StagedTraining(stage_steps=2_500, final_steps=6_000, is_layer_wise=is_layer_wise)),
            task.teacher,
            task.fresh,
        )
        place = trace.steps.index(trace.switches[3])
        print(f"{name}: S2 {trace.errors[place]:.1e} when level 3 is switched on, {trace.errors[-1]:.1e} at the end")
        traces[name] = trace
    if args.picture is not None:
        draw_correction(traces, law).savefig(args.picture, dpi=150)


def literal(args: argparse.Namespace) -> None:
    """The algorithm of the theory with Gaussian and with structured frames in turn, and the practical one."""
    for seed in seeds_of(args):
        task = Task(seed, 20, (3, 2), (1.0, 0.2), 8_000, UniformInputs())
        begin = time.perf_counter()
        fit = Algorithm1(frame=StructuredFrame() if seed % 2 else GaussianFrame())(
            task.teacher.wiring,
            task.points,
            task.labels,
            level_weights=(1.0, 0.2),
            mean_squares=task.means,
            rng=task.rng,
        )
        print(f"\nseed {seed}, the algorithm of the theory: error {task.error(fit.network):.1e} after "
              f"{len(fit.objectives) * 250} steps, {time.perf_counter() - begin:.0f} s, features "
              + " ".join(f"{error:.1e}" for error in task.features(fit.network)))  # fmt: skip
        for switch in fit.switches:
            values = " ".join(f"{value:.2g}" for value in switch.singular_values[:5])
            print(f"  step {switch.step:6}: {switch.what} of level {switch.level}, width {switch.width} [{values}]")
        begin = time.perf_counter()
        network = task.staged(StagedTraining(final_steps=6_000)).network
        say(f"staged joint: error {task.error(network):.1e}, {time.perf_counter() - begin:.0f} s")


def noise(args: argparse.Namespace) -> None:
    """Labels with noise: what is learnt of the target without it."""
    print("\n20 inputs, widths (4, 2), 2,000 samples with noise; medians of errors to the clean target")
    for level in (0.01, 0.05, 0.2):
        rows = []
        for seed in seeds_of(args):
            task = Task(seed, 20, (4, 2), (1.0, 0.3), 2_000, GaussianInputs())
            noisy = task.labels + level * np.std(task.labels) * task.rng.standard_normal(len(task.labels))
            fit = JointLevenbergMarquardt()(task.student(), task.points, noisy, rng=task.rng)
            rows.append((task.error(fit.network), fit.relative_loss, task.features(fit.network)[0]))
        error, left, features = np.median(rows, axis=0)
        say(f"noise {level:4}: error {error:.1e}, what is left {left:.1e}, S2 {features:.1e}")


def classes(args: argparse.Namespace) -> None:
    """Two classes: share of wrong ones with level 2 alone and with both levels."""
    print("\n20 inputs and one that enters linearly, widths (3, 2), 20,000 samples: wrong classes in %")
    print("seed  staged: level 2, layer-wise, joint, its S2 before and after | second order: level 2, joint, CPU s")
    for seed in seeds_of(args):
        rng = np.random.default_rng(seed)
        teacher = make_teacher(rng, inputs=20, widths=(3, 2), level_weights=(1.0, 0.5))
        points, fresh = rng.standard_normal((20_000, 20)), rng.standard_normal((20_000, 20))
        unit, mean = float(np.std(teacher(points))), float(np.mean(teacher(points)))
        given, fresh_given = (rng.standard_normal(20_000) - mean / unit for _ in range(2))
        labels, truth = (np.sign(teacher(x)[:, 0] / unit + g) for x, g in ((points, given), (fresh, fresh_given)))
        wrong, errors = [], []
        for is_layer_wise in (True, False):
            fit = StagedTraining(is_layer_wise=is_layer_wise)(
                teacher.wiring, points, labels, mean_squares=np.ones(20), rng=np.random.default_rng(seed), offsets=given
            )
            networks = (fit.stages[0].network, fit.network)
            wrong.append([100 * np.mean(np.sign(net(fresh)[:, 0] + fresh_given) != truth) for net in networks])
            errors.append([feature_errors(in_unit(net, unit), teacher, fresh)[0] for net in networks])
        begin, both = time.process_time(), []
        for widths in ((3,), (3, 2)):
            model = HierarchicalClassifier(widths, random_state=seed).fit(np.column_stack([points, given]), labels)
            both.append(100 - 100 * model.score(np.column_stack([fresh, fresh_given]), truth))
        say(
            f"{seed:4d}  {wrong[1][0]:5.2f} {wrong[0][1]:5.2f} {wrong[1][1]:5.2f} {errors[1][0]:.1e} {errors[1][1]:.1e}"
            f" | {both[0]:5.2f} {both[1]:5.2f} {time.process_time() - begin:7.1f}"
        )


def in_unit(network: QuadraticDenseNet, unit: float) -> QuadraticDenseNet:
    """The network times a number."""
    return replace(network, levels=tuple(replace(level, weight=unit * level.weight) for level in network.levels))


def sparse(args: argparse.Namespace) -> None:
    """The family that is hard for kernels."""
    print("\none feature per level, supports of 4 inputs, weights (1, 0.1), 2,000 samples; medians")
    for inputs in (20, 30, 60):
        found: dict[str, list[float]] = {}
        for seed in seeds_of(args):
            rng = np.random.default_rng([seed, inputs])
            teacher = make_sparse_teacher(rng, inputs=inputs)
            points, fresh = rng.standard_normal((2_000, inputs)), rng.standard_normal((10_000, inputs))
            samples = TrainingSamples(teacher.wiring, points, teacher(points)[:, 0], np.ones(inputs), seed)
            chosen = {name: m for name, m in all_methods(teacher.wiring).items() if name in SPARSE_METHODS}
            for row in compare_methods(samples, fresh, teacher(fresh)[:, 0], methods=chosen).rows:
                found.setdefault(row.method, []).append(row.relative_error)
        say(f"{inputs} inputs: " + ", ".join(f"{name} {np.median(e):.1e}" for name, e in found.items()))


def users(args: argparse.Namespace) -> None:
    """R2 on fresh rows with default settings, and CPU time with noise beside that of exact labels."""
    points, labels = load_diabetes(return_X_y=True)
    print(f"\nR2 on fresh rows, {min(args.seeds, 10)} splits: mean, smallest, median CPU s")
    for name in ("friedman1, 2,000 x 10, noise 1", "diabetes"):
        scores = []
        for seed in seeds_of(args)[:10]:
            split = train_test_split(points, labels, random_state=seed)
            if name != "diabetes":
                split = train_test_split(*make_friedman1(6_000, noise=1.0, random_state=seed), train_size=2_000)
            begin = time.process_time()
            model = HierarchicalRegressor(random_state=seed).fit(split[0], split[2])
            scores.append((model.score(split[1], split[3]), time.process_time() - begin))
        found, seconds = np.transpose(scores)
        say(f"{name:32} {found.mean():.3f} {found.min():.3f} {np.median(seconds):.2f}")
    print("\n20 inputs, widths (4, 2), 2,000 samples: CPU s, sum over seeds and median, and relative error")
    for level in (0.0, 0.05):
        rows = []
        for seed in seeds_of(args):
            task = Task(seed, 20, (4, 2), (1.0, 0.3), 2_000, GaussianInputs())
            noisy = task.labels + level * np.std(task.labels) * task.rng.standard_normal(len(task.labels))
            begin = time.process_time()
            model = HierarchicalRegressor((4, 2), random_state=seed).fit(task.points, noisy)
            rows.append((time.process_time() - begin, task.error(model.network_)))
        seconds, errors = np.transpose(rows)
        say(f"noise {level:4}: {seconds.sum():.2f} {np.median(seconds):.2f} {np.median(errors):.1e}")


TABLES: dict[str, Callable[[argparse.Namespace], None]] = {
    table.__name__: table
    for table in (newton, staged, methods, kernels, correction, literal, noise, users, classes, sparse)
}


def main() -> None:
    """Print the tables asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=["newton"], help="what to measure")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--picture", type=Path, default=None, help="file for the picture of a table that has one")
    given = parsed(parser)
    for name in given.tables:
        TABLES[name](given)


if __name__ == "__main__":
    main()
