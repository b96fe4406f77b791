"""Hierarchical learning of quadratic networks: exact recovery, staged against layer-wise training, baselines.

    python benchmarks/hierarchical.py --tables newton             joint second-order training, 10 seeds, minutes
    python benchmarks/hierarchical.py --tables staged --seeds 5   staged joint against layer-wise, about half an hour
    python benchmarks/hierarchical.py --tables methods --picture methods.png
    python benchmarks/hierarchical.py --tables correction --picture correction.png
    python benchmarks/hierarchical.py --tables literal noise classes sparse

Teachers are `make_teacher`: random blocks with singular values within [1/1.3, 1.3], every level scaled to features of
mean square 1. Errors are mean squared errors on 10,000 fresh points relative to the variance of the labels; "S2" is the
error of the features of level 2 up to a rotation. E[x^2] = 1 is known to all methods.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from unweave.hierarchical.densenet import QuadraticDenseNet
from unweave.hierarchical.features import feature_errors
from unweave.hierarchical.newton import JointNewton
from unweave.hierarchical.staged import StagedTraining
from unweave.hierarchical.student import Student
from unweave.hierarchical.teacher import GaussianInputs, Inputs, UniformInputs, make_teacher

DISTRIBUTIONS: dict[str, Inputs] = {"Gaussian": GaussianInputs(), "uniform": UniformInputs()}
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

    def student(self) -> Student:
        """A network of the same shape, its weights unknown."""
        return Student(self.teacher.wiring, tuple(np.ones(width) for width in self.teacher.wiring.widths), self.means)


def newton(seeds: int, _: Path | None) -> None:
    """How often joint second-order training is exact."""
    print("\njoint second-order training from random starts (at most 10)")
    print(f"{'inputs':>6} {'widths':>10} {'weights':>16} {'samples':>8} {'':>9} {'exact':>7} {'worst':>8} {'S worst':>8} "
          f"{'starts':>6} {'CPU s':>6}")  # fmt: skip
    for inputs, widths, weights, samples, name in NEWTON_SIZES:
        errors, features, starts, begin = [], [], [], time.process_time()
        for seed in range(seeds):
            task = Task(seed, inputs, widths, weights, samples, DISTRIBUTIONS[name])
            fit = JointNewton()(task.student(), task.points, task.labels, rng=task.rng)
            errors.append(task.error(fit.network))
            features.append(max(task.features(fit.network)))
            starts.append(len(fit.start_losses))
        exact = sum(error < 1e-15 for error in errors)
        seconds = (time.process_time() - begin) / seeds
        print(f"{inputs:6} {widths!s:>10} {weights!s:>16} {samples:8} {name:>9} {exact:3}/{seeds:<3} {max(errors):8.0e} "
              f"{max(features):8.0e} {np.mean(starts):6.1f} {seconds:6.1f}", flush=True)  # fmt: skip


def staged(seeds: int, _: Path | None, *, sizes: Sequence[int] = (2_000, 5_000, 10_000)) -> None:
    """Staged joint training against layer-wise training on the same samples."""
    print(f"\n30 inputs, widths (5, 2); medians over {seeds} seeds, the smallest ratio of a seed, in brackets")
    print(f"{'inputs':>9} {'weight':>6} {'samples':>8} {'level 2':>8} {'layerwise':>9} {'joint':>8} {'ratio':>15} "
          f"{'S2 before':>9} {'after':>8} {'s':>5}")  # fmt: skip
    for samples in sizes:
        for name, draw in DISTRIBUTIONS.items():
            for weight in (0.1, 0.3):
                rows, begin = [], time.perf_counter()
                for seed in range(seeds):
                    task = Task(seed, 30, (5, 2), (1.0, weight), samples, draw)
                    found = []
                    for is_layer_wise in (False, True):
                        training = StagedTraining(is_layer_wise=is_layer_wise)
                        fit = training(
                            task.teacher.wiring, task.points, task.labels, mean_squares=task.means, rng=task.rng
                        )
                        found.append(fit)
                    joint, layers = found
                    first, last = (stage.network for stage in joint.stages)
                    rows.append((task.error(first), task.error(layers.network), task.error(last),
                                 task.features(first)[0], task.features(last)[0]))  # fmt: skip
                table = np.array(rows)
                level, layer, error, before, after = np.median(table, axis=0)
                ratios = table[:, 1] / table[:, 2]
                print(f"{name:>9} {weight:6} {samples:8} {level:8.1e} {layer:9.1e} {error:8.1e} {np.median(ratios):8.0f} "
                      f"({np.min(ratios):4.0f}) {before:9.1e} {after:8.1e} {time.perf_counter() - begin:5.0f}",
                      flush=True)  # fmt: skip


TABLES: dict[str, Callable[[int, Path | None], None]] = {"newton": newton, "staged": staged}


def main() -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=["newton"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--picture", type=Path, default=None, help="file for the picture of a table that has one")
    given = parser.parse_args()
    for name in given.tables:
        TABLES[name](given.seeds, given.picture)


if __name__ == "__main__":
    main()
