"""Lowest layers from samples: the start from moments, polish, noise, and cases outside of the theory.

    python benchmarks/lowest_layer.py moments --seeds 10     angles of the start by threshold and upper function
    python benchmarks/lowest_layer.py polish --seeds 10      the whole fit, its outcome; --units, --uppers, --thresholds
    python benchmarks/lowest_layer.py noise --seeds 3        flipped and noisy labels
    python benchmarks/lowest_layer.py outside                what has to end unreliable
    python benchmarks/lowest_layer.py data                   a real data set, beside a linear SVM and a random forest

Rows have condition 1 (orthonormal) or 3; thresholds, number of rows and signs are unknown to the fit.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from command_line import parsed, parser_of, say, seeds_of
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.fit import FoundLayer, fit_lowest_layer
from unweave.learn.lowest_layer.labels import read_labels
from unweave.learn.lowest_layer.starts import LayerStart, moment_start, quiet_start
from unweave.learn.lowest_layer.units import unit_named
from unweave.result import Outcome

Upper = Callable[[np.ndarray], np.ndarray]


def any_active(values: np.ndarray) -> np.ndarray:
    """The polynomial ``1 - prod (1 - X_i)``, which is OR for steps."""
    return 1.0 - np.prod(1.0 - values, axis=1)


def linear(values: np.ndarray) -> np.ndarray:
    """The sum of the units."""
    return values.sum(axis=1)


def pairs(values: np.ndarray) -> np.ndarray:
    """The sum of the units and of all products of two."""
    total = values.sum(axis=1)
    return total + (total**2 - np.sum(values**2, axis=1)) / 2


def products_only(values: np.ndarray) -> np.ndarray:
    """The sum of all products of two units."""
    return pairs(values) - values.sum(axis=1)


UPPER: dict[str, Upper] = {"linear": linear, "OR": any_active, "pairs": pairs}
CELLS = [("step", "linear", t) for t in (1.0, 1.5, 2.0)]
CELLS += [("step", name, t) for name in ("OR", "pairs") for t in (1.0, 1.5, 2.0, 2.5, 3.0)]
CELLS += [("relu", "OR", t) for t in (1.0, 1.5, 2.0, 2.5)]
CELLS += [("relu", "pairs", t) for t in (1.0, 1.5, 2.0, 2.5, 3.0)]


def planted_rows(rng: np.random.Generator, *, rows: int, inputs: int, condition: float) -> np.ndarray:
    """Unit rows with a condition number, by alternating between both requirements."""
    left = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    right = np.linalg.qr(rng.standard_normal((inputs, rows)))[0].T
    found = left * np.linspace(condition, 1.0, rows) @ right
    for _ in range(200):
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        u, s, v = np.linalg.svd(found, full_matrices=False)
        spread = max(s[0] - s[-1], np.finfo(float).tiny)
        found = u * (s[-1] + (s - s[-1]) * (condition - 1) * s[-1] / spread) @ v
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def angles_between(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Angle in degrees of every true row to its own found one, signs included; 180 for rows that have none."""
    cosines = truth @ found.T
    mine, its = linear_sum_assignment(-cosines)
    angles = np.full(len(truth), 180.0)
    distances = np.linalg.norm(truth[mine] - found[its], axis=1)
    angles[mine] = np.degrees(2 * np.arcsin(np.clip(distances / 2, 0.0, 1.0)))
    return angles


def problems(args: argparse.Namespace) -> Iterator[tuple[int, float, np.ndarray, np.ndarray]]:
    """Seeds, conditions, rows and inputs."""
    for condition in args.conditions:
        for seed in seeds_of(args):
            rng = np.random.default_rng([seed, int(condition)])
            rows = planted_rows(rng, rows=args.rows, inputs=args.rows, condition=condition)
            yield seed, condition, rows, rng.standard_normal((args.samples, args.rows))


def chosen_cells(args: argparse.Namespace) -> Iterator[tuple[str, str, float]]:
    """Kinds of units, upper functions and thresholds that were asked for."""
    for name, upper, threshold in CELLS:
        wanted = ((args.thresholds, threshold), (args.units, name), (args.uppers, upper))
        if all(value in chosen for chosen, value in wanted if chosen):
            yield name, upper, threshold


def start_figures(rows: np.ndarray, threshold: float, start: Callable[[], LayerStart]) -> list[float]:
    """Median and worst angle, number of rows and error of the threshold of a start."""
    try:
        units = start().units
    except InvalidInput:
        return [180.0, 180.0, 0.0, np.inf]
    angles = angles_between(rows, units.directions)
    error = abs(float(np.median(units.thresholds)) - threshold) / threshold
    return [float(np.median(angles)), float(np.max(angles)), float(len(units.directions)), error]


def moments(args: argparse.Namespace) -> None:
    """Angles of the starts: moments of labels as in [goel], and cumulants of quiet samples.

    Quiet samples do not depend on the upper function or the kind of unit, so their start is computed once.
    """
    results: dict[tuple, list[list[float]]] = {}
    rank = args.rows if args.given_number else None
    for seed, condition, rows, points in problems(args):
        quiet: dict[float, tuple[float, list[float]]] = {}
        for name, upper, threshold in chosen_cells(args):
            unit, rng = unit_named(name), np.random.default_rng(seed)
            labels = UPPER[upper](unit(points @ rows.T - threshold))
            if threshold not in quiet:
                read = read_labels(points, labels, unit)
                start = partial(quiet_start, points, read.is_active, rng, neurons=rank)
                quiet[threshold] = (read.offset, start_figures(rows, threshold, start))
            offset, figures = quiet[threshold]
            start = partial(moment_start, points, labels - offset, unit, rng, neurons=rank)
            line = [*start_figures(rows, threshold, start), *figures]
            results.setdefault((name, upper, threshold, condition), []).append(line)
        say(f"# seed {seed}, condition {condition:g}")
    print(f"{'cell':27} | {'moments: median/worst, t error':32} | cumulants: median/worst, all rows found, t error")
    for (name, upper, threshold, condition), lines in results.items():
        m = np.median(np.array(lines), axis=0)
        full = sum(line[6] == args.rows for line in lines)
        print(
            f"{name:5} {upper:7} t={threshold:<6g} {condition:4g} | {m[0]:6.1f}/{m[1]:6.1f} {m[3]:8.1%}".ljust(62)
            + f"| {m[4]:6.2f}/{m[5]:6.2f} {full:2d} of {len(lines)} {m[7]:8.1%}"
        )


def show(name: str, truth: np.ndarray, found: list[FoundLayer]) -> dict[str, object]:
    """Print one line for several seeds of one case, and give what is kept of it; angles in degrees."""
    outcomes = " ".join(f"{each.value}:{[f.result.outcome for f in found].count(each)}" for each in Outcome)
    known = [f for f in found if f.layer is not None and f.result.certificate is not None]
    angles = [angles_between(t, f.layer.directions) for t, f in zip(truth, found, strict=True) if f.layer is not None]
    estimates = [f.result.certificate.largest_angle for f in known]
    claimed = [f.result.outcome is not Outcome.NOT_IDENTIFIED for f in known]
    confident = [np.max(a) for a, is_claimed in zip(angles, claimed, strict=True) if is_claimed]
    seconds = np.mean([sum(f.result.seconds.values()) for f in found])
    text = f"{name:34} {outcomes:44}"
    if angles:
        text += f" median {np.median(np.array(angles)):8.2g} worst {np.max(np.array(angles)):8.2g}"
        text += f" worst trusted {max(confident, default=0.0):8.2g} estimated {np.median(estimates):8.2g}"
    say(f"{text} {seconds:5.1f} s")
    return {
        "case": name,
        "trials": len(found),
        **{each.value: [f.result.outcome for f in found].count(each) for each in Outcome},
        "median_angle": np.median(np.array(angles)) if angles else None,
        "worst_angle": np.max(np.array(angles)) if angles else None,
        "worst_trusted_angle": max(confident, default=None),
        "estimated_angle": np.median(estimates) if estimates else None,
        "seconds": seconds,
    }


def polish(args: argparse.Namespace) -> None:
    """The whole fit, angles in degrees."""
    for name, upper, threshold in chosen_cells(args):
        for condition in args.conditions:
            truth, found = [], []
            for seed, _, rows, points in problems(argparse.Namespace(**{**vars(args), "conditions": [condition]})):
                unit = unit_named(name)
                labels = UPPER[upper](unit(points @ rows.T - threshold))
                truth.append(rows)
                found.append(fit_lowest_layer(points, labels, unit, np.random.default_rng(seed)))
            case = f"{name}, {upper}, t = {threshold:g}, condition {condition:g}"
            args.json.keep("polished", **show(case, np.array(truth), found))


def noise(args: argparse.Namespace) -> None:
    """Wrong and noisy labels."""
    cases = [("step", "OR", kind, size) for kind, size in (("flips", 0.01), ("flips", 0.05))]
    cases += [
        ("step", "pairs", "additive", 0.1),
        ("relu", "pairs", "additive", 0.01),
        ("relu", "pairs", "additive", 0.1),
    ]
    for name, upper, kind, size in cases:
        if args.units and name not in args.units:
            continue
        for threshold in args.thresholds or (1.5, 2.0, 2.5):
            truth, found = [], []
            for seed, _, rows, points in problems(args):
                unit, rng = unit_named(name), np.random.default_rng([seed, 7])
                labels = UPPER[upper](unit(points @ rows.T - threshold))
                if kind == "flips":
                    labels = np.abs(labels - (rng.random(len(labels)) < size))
                else:
                    labels = labels + size * rng.standard_normal(len(labels))
                truth.append(rows)
                found.append(fit_lowest_layer(points, labels, unit, rng))
            case = f"{name}, {upper}, t = {threshold:g}, {kind} {size:g}"
            args.json.keep("noisy labels", **show(case, np.array(truth), found))


def outside(args: argparse.Namespace) -> None:
    """Cases in which rows can't be trusted, and what is said about them."""
    rng = np.random.default_rng(0)
    rows = planted_rows(rng, rows=6, inputs=6, condition=2)
    gaussian, step = rng.standard_normal((args.samples, 6)), unit_named("step")
    many = rng.standard_normal((9, 6))
    many /= np.linalg.norm(many, axis=1, keepdims=True)
    equal = rows.copy()
    equal[5] = equal[4] + 0.03 * equal[3]
    equal /= np.linalg.norm(equal, axis=1, keepdims=True)
    uniform = rng.uniform(-np.sqrt(3), np.sqrt(3), gaussian.shape)
    cases = [
        ("uniform inputs", rows, uniform, any_active(step(uniform @ rows.T - 1.5)), "step"),
        ("nine rows in six inputs", many, gaussian, any_active(step(gaussian @ many.T - 1.5)), "step"),
        ("two rows 2 degrees apart", equal, gaussian, any_active(step(gaussian @ equal.T - 2.0)), "step"),
        ("products of steps only", rows, gaussian, products_only(step(gaussian @ rows.T - 1.0)), "step"),
        ("products of relu only", rows, gaussian, products_only(np.maximum(gaussian @ rows.T - 1.0, 0)), "relu"),
        ("no signal", rows, gaussian, rng.integers(0, 2, args.samples).astype(float), "step"),
    ]
    for name, truth, points, labels, unit in cases:
        found = fit_lowest_layer(points, labels, unit_named(unit), rng)
        show(name, truth[None], [found])
        print(f"    {found.result.reason}")


def data(args: argparse.Namespace) -> None:
    """Cross-validated accuracy on bundled data sets."""
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    from unweave.learn.lowest_layer.estimators import HalfspaceIntersectionClassifier, HalfspaceUnionClassifier

    cancer, wine, iris = load_breast_cancer(), load_wine(), load_iris()
    sets = [
        ("breast cancer: benign", cancer.data, cancer.target),
        ("wine: class 1", wine.data, (wine.target == 1).astype(int)),
        ("iris: versicolor", iris.data, (iris.target == 1).astype(int)),
    ]
    models = {
        "intersection": HalfspaceIntersectionClassifier(random_state=0),
        "union": HalfspaceUnionClassifier(random_state=0),
        "linear SVM": make_pipeline(StandardScaler(), LinearSVC(dual="auto", random_state=0)),
        "random forest": RandomForestClassifier(random_state=0),
    }
    for name, points, targets in sets:
        folds = StratifiedKFold(args.folds, shuffle=True, random_state=0)
        for model_name, model in models.items():
            start = time.perf_counter()
            scores = cross_val_score(model, points, targets, cv=folds)
            seconds = (time.perf_counter() - start) / args.folds
            say(f"{name:24} {model_name:14} {scores.mean():.3f} +- {scores.std():.3f} {seconds:6.2f} s per fit")
        fitted = models["intersection"].fit(points, targets)
        print(f"    intersection: {len(fitted.normals_)} half spaces, {fitted.outcome_.value}")
        print(f"    {fitted.result_.reason[:160]}")


def main() -> None:
    """Run what is asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("part", choices=["moments", "polish", "noise", "outside", "data"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--conditions", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--thresholds", type=float, nargs="*", default=[])
    parser.add_argument("--units", nargs="*", default=[])
    parser.add_argument("--uppers", nargs="*", default=[])
    parser.add_argument("--given-number", action="store_true", help="tell the start how many rows there are")
    parser.add_argument("--folds", type=int, default=5)
    args = parsed(parser)
    {"moments": moments, "polish": polish, "noise": noise, "outside": outside, "data": data}[args.part](args)


if __name__ == "__main__":
    main()
