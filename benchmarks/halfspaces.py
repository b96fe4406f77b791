"""Held-out accuracy of half spaces beside gradient boosting and a multilayer perceptron: 24 named cells.

    python benchmarks/halfspaces.py --list                         names of the cells
    python benchmarks/halfspaces.py --seeds 5                      all of them
    python benchmarks/halfspaces.py --cells d2-k4-n1k d5-k3-n1k    chosen ones
    python benchmarks/halfspaces.py --most 1000                    those of up to so many samples

Every seed plants other half spaces. Samples that no model has seen, with the same share of flipped labels, score all
models, so that differences are paired; their standard error is over seeds, and at the least that of these samples.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from command_line import parser_of, say
from unweave.learn import HalfspaceIntersectionClassifier, HalfspaceUnionClassifier

HELD_OUT = 20_000


@dataclass(frozen=True)
class Cell:
    """One planted problem.

    Args:
        samples: of the fit.
        inputs: their number.
        halfspaces: their number.
        flips: share of wrong labels, in the fit and held out.
        kind: distribution of the inputs.
        is_apart: whether the convex class lies away from the centre of the inputs.
    """

    samples: int
    inputs: int
    halfspaces: int
    flips: float
    kind: str
    is_apart: bool = False

    @property
    def name(self) -> str:
        """Sizes in short."""
        return f"d{self.inputs}-k{self.halfspaces}-n{self.samples // 1000}k"


CELLS = (
    Cell(1_000, 2, 1, 0.05, "Gaussian"),
    Cell(1_000, 2, 4, 0.0, "uniform"),
    Cell(1_000, 2, 8, 0.05, "mixture"),
    Cell(1_000, 5, 3, 0.0, "Gaussian", is_apart=True),
    Cell(1_000, 5, 10, 0.1, "uniform"),
    Cell(1_000, 10, 2, 0.1, "mixture"),
    Cell(1_000, 20, 5, 0.0, "Gaussian", is_apart=True),
    Cell(1_000, 40, 1, 0.1, "uniform"),
    Cell(10_000, 2, 6, 0.1, "Gaussian"),
    Cell(10_000, 2, 10, 0.0, "uniform", is_apart=True),
    Cell(10_000, 5, 4, 0.05, "mixture", is_apart=True),
    Cell(10_000, 5, 10, 0.0, "Gaussian"),
    Cell(10_000, 10, 3, 0.0, "uniform"),
    Cell(10_000, 10, 6, 0.05, "Gaussian", is_apart=True),
    Cell(10_000, 20, 2, 0.1, "mixture"),
    Cell(10_000, 20, 10, 0.0, "Gaussian"),
    Cell(10_000, 40, 5, 0.05, "uniform"),
    Cell(10_000, 40, 10, 0.0, "mixture"),
    Cell(100_000, 2, 3, 0.1, "mixture"),
    Cell(100_000, 5, 8, 0.05, "uniform", is_apart=True),
    Cell(100_000, 10, 10, 0.0, "Gaussian"),
    Cell(100_000, 20, 6, 0.1, "Gaussian"),
    Cell(100_000, 40, 3, 0.0, "uniform", is_apart=True),
    Cell(100_000, 40, 10, 0.05, "mixture"),
)


def drawn(rng: np.random.Generator, cell: Cell, means: np.ndarray, count: int) -> np.ndarray:
    """Inputs of a cell, with a spread of 1, or a little more for mixtures."""
    if cell.kind == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), (count, cell.inputs))
    points = rng.standard_normal((count, cell.inputs))
    return points if cell.kind == "Gaussian" else 0.7 * points + means[rng.integers(len(means), size=count)]


def planted(rng: np.random.Generator, cell: Cell) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Plant half spaces around a point; the convex class has half of the inputs, or a quarter if it is apart.

    Returns:
        A function that draws so many samples, and whether each is in the union, some of them flipped.
    """
    rows = rng.standard_normal((cell.halfspaces, cell.inputs))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    middle, means = rng.standard_normal((2, cell.inputs)), rng.standard_normal((3, cell.inputs))
    middle = 1.2 * middle[0] / np.linalg.norm(middle[0]) if cell.is_apart else np.zeros(cell.inputs)
    reach = rng.uniform(0.7, 1.3, cell.halfspaces)
    excess = np.max((drawn(rng, cell, means, HELD_OUT) @ rows.T - rows @ middle) / reach, axis=1)
    levels = rows @ middle + reach * np.quantile(excess, 0.25 if cell.is_apart else 0.5)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        points = drawn(rng, cell, means, count)
        is_active = np.any(points @ rows.T >= levels, axis=1)
        return points, is_active ^ (rng.random(count) < cell.flips)

    return draw


def models(seed: int) -> dict[str, Callable[[], Any]]:
    """Half spaces, told as a union in odd seeds; the others with their defaults, but more passes of the perceptron."""
    halfspaces = HalfspaceUnionClassifier if seed % 2 else HalfspaceIntersectionClassifier
    return {
        "half spaces": lambda: halfspaces(random_state=seed),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=seed),
        "perceptron": lambda: make_pipeline(StandardScaler(), MLPClassifier(max_iter=500, random_state=seed)),
    }


def compare(cell: Cell, seeds: int, chosen: list[str], first: int) -> None:
    """Print one line per model: accuracy, difference to the half spaces with its standard error, seconds."""
    right: dict[str, list[np.ndarray]] = {name: [] for name in chosen}
    seconds = dict.fromkeys(chosen, 0.0)
    found = []
    for seed in range(first, first + seeds):
        draw = planted(np.random.default_rng([seed, cell.samples, cell.inputs, cell.halfspaces]), cell)
        (points, labels), (fresh, truth) = draw(cell.samples), draw(HELD_OUT)
        for name, make in models(seed).items():
            if name not in chosen:
                continue
            start = time.process_time()
            model = make().fit(points, labels)
            seconds[name] += (time.process_time() - start) / seeds
            right[name].append(model.predict(fresh) == truth)
            if name == "half spaces":
                found.append(f"{len(model.normals_)} {model.outcome_.value}")
    for name, rights in right.items():
        text = f"{cell.name:12} {name:12} {np.mean(rights):.4f}"
        if name == "half spaces":
            text += f" {'':25} {seconds[name]:6.1f} s; found {', '.join(found)}"
        elif "half spaces" in right:
            gaps = np.array(right["half spaces"], dtype=float) - np.array(rights, dtype=float)
            error = max(np.std(gaps.mean(axis=1), ddof=min(seeds - 1, 1)), np.std(gaps) / np.sqrt(HELD_OUT)) / np.sqrt(
                seeds
            )
            verdict = "BEHIND" if np.mean(gaps) < -2 * error else "ahead" if np.mean(gaps) > 0 else "even"
            text += f" {np.mean(gaps):+.4f} +- {error:.4f} {verdict:6} {seconds[name]:6.1f} s"
        else:
            text += f" {seconds[name]:6.1f} s"
        say(text)


def main() -> None:
    """Run what is asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--list", action="store_true", help="print the cells and end")
    parser.add_argument("--cells", nargs="*", default=[], choices=[cell.name for cell in CELLS], metavar="NAME")
    parser.add_argument("--most", type=int, default=100_000, help="samples of a cell, at most")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0, help="settings were chosen with seeds 0 to 4 in mind")
    parser.add_argument("--models", nargs="+", default=list(models(0)), choices=list(models(0)))
    args: argparse.Namespace = parser.parse_args()
    for cell in CELLS:
        if cell.samples > args.most or (args.cells and cell.name not in args.cells):
            continue
        if args.list:
            say(f"{cell.name:12} {cell}")
        else:
            compare(cell, args.seeds, args.models, args.first_seed)


if __name__ == "__main__":
    main()
