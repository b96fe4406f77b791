"""Training of networks of squares: the figures of docs/quadratic-training.md.

    python benchmarks/quadratic.py                 # all parts
    python benchmarks/quadratic.py labels speed    # some of them

Parts: `labels` (random labels, 20 seeds of each size, with certificates), `speed` (direct training against gradient
descent in one run), `saddles` (every solver from random weights, from zero and from a rank-deficient saddle),
`teachers` (low-rank teachers from fewer samples than a matrix has numbers), `bounds` (certificates at 400 random
points), `balanced` (the certified start), `limits` (noise, few neurons, labels of the wrong sign), `noisy` (held-out
R2 with default settings beside polynomial ridge, on a noisy teacher and on diabetes), `large` (CPU time beside it).
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from command_line import parsed, parser_of, say, seeds_of
from unweave.learn.quadratic.certificate import (
    certify_training,
    residual_gap_bound,
    second_order_bound,
)
from unweave.learn.quadratic.lifted import LiftedLeastSquares, LiftedSemidefinite
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.saddles import LanczosEscape, smallest_eigenpair
from unweave.learn.quadratic.search import ConjugateGradients, SteepestDescent, TrustRegion
from unweave.learn.quadratic.train import random_start, train
from unweave.learn.quadratic.uniqueness import UniquenessRules, semidefinite_uniqueness
from unweave.reproduce.soltanolkotabi.balanced_start import balanced_start
from unweave.reproduce.soltanolkotabi.perturbed_descent import PerturbedGradientDescent

SIZES = ((133, 20), (800, 50))


def random_labels(seed: int, samples: int, inputs: int) -> QuadraticProblem:
    """Gaussian points, labels that have nothing to do with them, twice as many neurons as inputs."""
    rng = np.random.default_rng(seed)
    signs = np.concatenate([np.ones(inputs), -np.ones(inputs)])
    return QuadraticProblem(rng.standard_normal((samples, inputs)), rng.standard_normal(samples), signs)


def timed(function: Callable, *arguments: object, **settings: object) -> tuple[float, object]:
    """Seconds and result."""
    start = time.perf_counter()
    result = function(*arguments, **settings)
    return time.perf_counter() - start, result


def labels(args: argparse.Namespace) -> None:
    """Direct training of random labels, with the certificate."""
    print("random labels, direct: inputs neurons samples  largest loss  certified  train s  certificate s")
    for samples, inputs in SIZES:
        losses, certified, training, certifying = [], 0, [], []
        for seed in seeds_of(args):
            problem = random_labels(seed, samples, inputs)
            seconds, trained = timed(train, problem, rng=np.random.default_rng(seed))
            training.append(seconds)
            seconds, certificate = timed(
                lambda p, w: certify_training(OptimalityTest.of(p), w), problem, trained.weights
            )
            certifying.append(seconds)
            losses.append(certificate.loss)
            certified += certificate.is_global and certificate.is_zero
        args.json.keep(
            "random labels",
            inputs=inputs,
            neurons=2 * inputs,
            samples=samples,
            trials=args.seeds,
            certified=certified,
            largest_loss=max(losses),
            training_seconds=np.median(training),
            certificate_seconds=np.median(certifying),
        )
        say(
            f"{inputs:29d} {2 * inputs:7d} {samples:7d} {max(losses):13.1e} {certified:6d}/{args.seeds} "
            f"{np.median(training):8.4f} {np.median(certifying):14.4f}"
        )


def speed(args: argparse.Namespace) -> None:
    """Direct training against gradient descent to 1e-10, same problems, same run."""
    print("speed, to 1e-10: inputs samples  direct s  exact steps s  steps  ratio (smallest)  fixed steps s")
    for samples, inputs in SIZES:
        rows = []
        for seed in seeds_of(args)[: None if inputs < 50 else 3]:
            problem, rng = random_labels(seed, samples, inputs), np.random.default_rng(seed)
            test, start = OptimalityTest.of(problem), random_start(problem, rng)
            # The first call loads libraries, and a millisecond is at the mercy of other processes: the median of five.
            runs = [timed(train, problem, rng=rng) for _ in range(6)][1:]
            direct = float(np.median([seconds for seconds, _ in runs]))
            assert runs[0][1].loss <= 1e-16
            descent, found = timed(SteepestDescent(gap_tol=1e-10), start, test, rng)
            state = problem.at(start)
            bend = 1.0 / largest_curvature(problem, state, rng)
            fixed, _ = timed(SteepestDescent(gap_tol=1e-10, step=bend), start, test, rng)
            rows.append((direct, descent, found.steps, descent / direct, fixed))
        middle, smallest = np.median(rows, axis=0), np.min(rows, axis=0)
        args.json.keep(
            "speed",
            inputs=inputs,
            samples=samples,
            trials=len(rows),
            direct_seconds=middle[0],
            descent_seconds=middle[1],
            descent_steps=middle[2],
            ratio=middle[3],
            smallest_ratio=smallest[3],
            fixed_step_seconds=middle[4],
        )
        say(
            f"{inputs:23d} {samples:7d} {middle[0]:9.4f} {middle[1]:14.2f} {middle[2]:6.0f} {middle[3]:6.0f} "
            f"({smallest[3]:.0f}) {middle[4]:14.2f}"
        )


def largest_curvature(problem: QuadraticProblem, state: State, rng: np.random.Generator) -> float:
    """Largest eigenvalue of the Hessian by power iteration."""
    vector = rng.standard_normal(state.weights.shape)
    for _ in range(50):
        vector = problem.hessian_product(state, vector / np.linalg.norm(vector))
    return float(np.linalg.norm(vector))


def saddle(problem: QuadraticProblem, seed: int) -> np.ndarray:
    """Half of the positive neurons at their own optimum, all others zero."""
    rows, rng = problem.inputs // 2, np.random.default_rng([seed, 17])
    part = QuadraticProblem(problem.points, problem.labels, problem.output_weights[:rows])
    descent = ConjugateGradients(steps=5_000, gap_tol=0.0, escape=lambda *_: None)
    weights = np.zeros((problem.neurons, problem.inputs))
    weights[:rows] = descent(random_start(part, rng), OptimalityTest.of(part), rng).weights
    return weights


def saddles(args: argparse.Namespace) -> None:
    """Steps of every solver to 1e-10 from random weights, zero and a rank-deficient saddle."""
    solvers = [
        SteepestDescent(gap_tol=1e-10),
        ConjugateGradients(gap_tol=1e-10),
        TrustRegion(gap_tol=1e-10),
        PerturbedGradientDescent(gap_tol=1e-10),
    ]
    problems = [random_labels(seed, *SIZES[0]) for seed in seeds_of(args)]
    stuck = [saddle(problem, seed) for seed, problem in enumerate(problems)]
    worst = 0.0
    for seed, (problem, weights) in enumerate(zip(problems, stuck, strict=True)):
        state = problem.at(weights)
        closed = -2.0 * np.max(np.abs(np.linalg.eigvalsh(state.residual_matrix)))
        found = smallest_eigenpair(problem, state, np.random.default_rng(seed))[0]
        worst = max(worst, abs(found - closed) / abs(closed))
    print(f"saddles: largest relative difference of Lanczos and closed form {worst:.1e}")
    print("solver                    start    reached  median steps  median s  (escapes)")
    for solver in solvers:
        # The guarantee of perturbed descent asks for short steps: three problems say enough.
        count = 3 if isinstance(solver, PerturbedGradientDescent) else args.seeds
        name = type(solver).__name__ + (
            " Lanczos" if isinstance(getattr(solver, "escape", None), LanczosEscape) else ""
        )
        for kind in ("random", "zero", "saddle"):
            rows = []
            for seed in range(count):
                rng, problem = np.random.default_rng(seed), problems[seed]
                start = {"random": random_start(problem, rng), "zero": np.zeros((40, 20)), "saddle": stuck[seed]}[kind]
                seconds, trained = timed(solver, start, OptimalityTest.of(problem), rng)
                rows.append((trained.loss <= 1e-10, trained.steps, seconds, len(trained.escapes)))
            table = np.array(rows)
            say(
                f"{name:25s} {kind:8s} {int(table[:, 0].sum()):3d}/{count:<3d} {np.median(table[:, 1]):12.0f} "
                f"{np.median(table[:, 2]):10.3f}  ({np.median(table[:, 3]):.0f})"
            )


def teachers(args: argparse.Namespace) -> None:
    """Recovery of low-rank semidefinite teachers from fewer samples than a matrix has numbers."""
    print("teachers, one sign: rank inputs samples  median error  largest  proven unique  wrong proofs  median s")
    for rank, samples, inputs in ((1, 60, 20), (1, 133, 20), (3, 100, 20), (3, 133, 20), (6, 133, 20), (20, 133, 20)):
        rows = []
        for seed in seeds_of(args):
            rng = np.random.default_rng(seed)
            points, factor = rng.standard_normal((samples, inputs)), rng.standard_normal((rank, inputs)) / inputs**0.5
            matrix = factor.T @ factor
            problem = QuadraticProblem(points, np.sum((points @ factor.T) ** 2, axis=1), np.ones(inputs + 1))
            seconds, fit = timed(LiftedSemidefinite(), problem)
            error = float(np.linalg.norm(fit.matrix - matrix) / np.linalg.norm(matrix))
            is_proven = semidefinite_uniqueness(problem, fit.matrix, rules=UniquenessRules()).is_proven
            rows.append((error, is_proven, is_proven and error > 1e-8, seconds))
        table = np.array(rows, dtype=float)
        say(
            f"{rank:24d} {inputs:6d} {samples:7d} {np.median(table[:, 0]):13.1e} {table[:, 0].max():8.1e} "
            f"{int(table[:, 1].sum()):11d}/{args.seeds:<3d} {int(table[:, 2].sum()):11d} {np.median(table[:, 3]):10.2f}"
        )


def bounds(args: argparse.Namespace) -> None:
    """Bounds of the gap at random points: violations and slack."""
    rng, slack = np.random.default_rng(0), []
    points = 20 * args.seeds
    for case in range(points):
        inputs, samples = int(rng.integers(2, 6)), int(rng.integers(3, 40))
        problem = random_labels(case, samples, inputs)
        test = OptimalityTest.of(problem)
        state = problem.at(rng.standard_normal((2 * inputs, inputs)) * 10.0 ** rng.uniform(-3, 1))
        gap = state.loss - problem.loss_of(problem.form_values(LiftedLeastSquares()(problem)) - problem.labels)
        curvature = max(0.0, -smallest_eigenpair(problem, state, rng)[0])
        slack.append((residual_gap_bound(test, state) / gap, second_order_bound(test, state, curvature) / gap))
    table = np.array(slack)
    print(f"bounds at {points} points: violations {int(np.sum(table < 1 - 1e-9))}")
    for name, column in zip(("residual matrix", "gradient and curvature"), table.T, strict=True):
        print(f"  by {name}: smallest ratio to the gap {column.min():.2f}, median {np.median(column):.1f}")


def balanced(_: argparse.Namespace) -> None:
    """Gradient descent from the certified start."""
    print("balanced: inputs samples  scale  steps to 1e-10  promised 1 - contraction  observed  broken promises")
    for samples, inputs in ((133, 20), (60, 20), (30, 10)):
        problem = random_labels(0, samples, inputs)
        test = OptimalityTest.of(problem)
        start = balanced_start(test)
        solver = SteepestDescent(gap_tol=1e-10, step=start.step)
        history = np.array(solver(start.weights, test, np.random.default_rng(0)).history)
        ratios = history[1:] / history[:-1]
        print(
            f"{inputs:16d} {samples:7d} {start.scale:6.1f} {len(ratios):15d} {1 - start.contraction:25.1e} "
            f"{1 - np.exp(np.mean(np.log(ratios))):9.1e} {int(np.sum(ratios > start.contraction)):16d}"
        )


def limits(_: argparse.Namespace) -> None:
    """Cases in which the loss can't be zero."""
    rng, problem = np.random.default_rng(0), random_labels(0, 100, 8)
    cases = {
        "both signs, more samples than numbers": problem.output_weights,
        "one sign, half of the labels negative": np.ones(9),
        "one neuron of each sign": np.array([1.0, -1.0]),
        "one neuron": np.ones(1),
    }
    print("limits, 8 inputs, 100 random labels: loss, lower bound, gap, global?")
    for name, output_weights in cases.items():
        case = QuadraticProblem(problem.points, problem.labels, output_weights)
        certificate = certify_training(OptimalityTest.of(case), train(case, rng=rng).weights)
        print(
            f"  {name:40s} {certificate.loss:.6f} {certificate.lower_bound:.6f} {certificate.gap:8.1e} "
            f"{certificate.is_global!s:6s} ({certificate.regime})"
        )


def polynomial_ridge(*, is_crossed: bool) -> Any:
    """Ridge regression on products of two inputs; scikit-learn is imported where its time is not measured."""
    from sklearn.linear_model import Ridge, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    return make_pipeline(PolynomialFeatures(2), StandardScaler(), RidgeCV() if is_crossed else Ridge())


def noisy(args: argparse.Namespace) -> None:
    """R2 on rows that no fit has seen, ten splits at most, beside polynomial ridge with cross-validation."""
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    from unweave.learn import QuadraticNetworkRegressor

    points, labels = load_diabetes(return_X_y=True)
    print("noisy: R2 on fresh rows, mean (smallest): ours, polynomial ridge, CPU s of ours")
    for name in ("rank-2 teacher, 400 x 40, noise 0.2", "diabetes"):
        scores = []
        for seed in seeds_of(args)[:10]:
            if name == "diabetes":
                split = train_test_split(points, labels, random_state=seed)
            else:
                rng = np.random.default_rng(seed)
                rows, drawn = rng.standard_normal((2, 40)) / np.sqrt(40), rng.standard_normal((4_400, 40))
                clean = np.sum((drawn @ rows.T) ** 2, axis=1)
                split = train_test_split(drawn, clean + 0.2 * rng.standard_normal(4_400), train_size=400)
            begin = time.process_time()
            model = QuadraticNetworkRegressor(fit_bias=name == "diabetes").fit(split[0], split[2])
            seconds = time.process_time() - begin
            peer = polynomial_ridge(is_crossed=True).fit(split[0], split[2])
            scores.append((model.score(split[1], split[3]), peer.score(split[1], split[3]), seconds))
        ours, peers, seconds = np.transpose(scores)
        say(
            f"  {name:36s} {ours.mean():.3f} ({ours.min():.3f}) {peers.mean():.3f} ({peers.min():.3f}) "
            f"{np.median(seconds):.1f}"
        )


def large(_: argparse.Namespace) -> None:
    """CPU time of noisy labels beside polynomial ridge without cross-validation, in one run."""
    from unweave.learn import QuadraticNetworkRegressor

    rng = np.random.default_rng(0)
    points, matrix = rng.standard_normal((20_000, 50)), rng.standard_normal((50, 50))
    clean = np.sum((points @ matrix) * points, axis=1)
    print("large, 20,000 x 50: noise, CPU s of ours, of polynomial ridge, ratio, certified?")
    for noise in (5.0, 0.0):
        given, seconds = clean + noise * rng.standard_normal(len(clean)), []
        model = QuadraticNetworkRegressor()
        for each in (model, polynomial_ridge(is_crossed=False)):
            begin = time.process_time()
            each.fit(points, given)
            seconds.append(time.process_time() - begin)
        say(f"  {noise} {seconds[0]:.2f} {seconds[1]:.2f} {seconds[0] / seconds[1]:.2f} {model.certificate_.is_global}")


PARTS = {
    part.__name__: part for part in (labels, speed, saddles, teachers, bounds, balanced, limits, noisy, large)
}  # fmt: skip


def main() -> None:
    """Run the parts that were asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="part")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parsed(parser)
    for part in options.parts:
        start = time.perf_counter()
        PARTS[part](options)
        say(f"  ({part}: {time.perf_counter() - start:.0f} s)\n")


if __name__ == "__main__":
    main()
