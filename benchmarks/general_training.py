"""Networks with general activations: predicted and seen rates, the theorem's constants, certificates, Newton steps.

    python benchmarks/general_training.py                         rates of gradient descent, planted networks
    python benchmarks/general_training.py --part theorem          step, ball and rate of the theorem, constants measured
    python benchmarks/general_training.py --part certificate      how wide a network has to be to be certified
    python benchmarks/general_training.py --part newton           Levenberg-Marquardt against gradient descent
    python benchmarks/general_training.py --part spectrum         ends of the Jacobian's spectrum
    python benchmarks/general_training.py --part users            R2 on diabetes with default settings, 10 splits

Inputs are standard Gaussian, planted weights N(0, 1) / sqrt(inputs), planted output weights 1. A rate is the share of
the loss that one step takes away.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from command_line import parser_of, say
from unweave.activations import SOFTPLUS, TANH, Activation, softplus
from unweave.learn import OverparameterizedRegressor
from unweave.learn.overparameterized.certificates import certify_local_convergence
from unweave.learn.overparameterized.descent import GradientDescent
from unweave.learn.overparameterized.jacobian import TrainingPoint, jacobian_spectrum
from unweave.learn.overparameterized.newton import GramLevenbergMarquardt
from unweave.reproduce.soltanolkotabi.convergence_rates import convergence_rate
from unweave.reproduce.soltanolkotabi.theorem_constants import start_near, theorem_constants

SHARP = softplus(10.0)
RATES = [
    (SHARP, 20, 40, 133),
    (SHARP, 20, 40, 60),
    (SHARP, 20, 80, 133),
    (TANH, 20, 40, 133),
    (TANH, 20, 40, 60),
]
SPECTRA = [
    (SHARP, 20, 20, 133),
    (SHARP, 20, 40, 133),
    (SHARP, 20, 40, 300),
    (SHARP, 20, 80, 133),
    (SHARP, 40, 80, 533),
    (SOFTPLUS, 20, 40, 133),
    (TANH, 20, 40, 133),
]


def planted(activation: Activation, inputs: int, neurons: int, samples: int, seed: int) -> TrainingPoint:
    """The planted network, which explains its labels."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((samples, inputs))
    weights = rng.standard_normal((neurons, inputs)) / np.sqrt(inputs)
    labels = np.sum(activation(points @ weights.T), axis=1)
    return TrainingPoint(points, labels, np.ones(neurons), weights, activation)


def title(shape: list[int]) -> str:
    """Inputs, neurons and samples in one column."""
    return f"{','.join(map(str, shape)):>12}"


def heading(numbers: str) -> None:
    """Name the columns."""
    print(f"{'activation':15} {'d,k,n':>12} {numbers}")


def row(activation: Activation, shape: list[int], numbers: str) -> None:
    """Print what was measured for one network."""
    say(f"{activation!s:15} {title(shape)} {numbers}")


def show_rates(args: argparse.Namespace) -> None:
    """Gradient descent from several distances to the planted network."""
    heading(" ".join(f"{name:>8}" for name in ("start", "steps", "seen", "promised", "ratio", "left")))
    for activation, *shape in RATES:
        truth = planted(activation, *shape, args.seed)
        size = float(np.linalg.norm(truth.weights))
        for relative in (1e-3, 0.1, 1.0):
            rng = np.random.default_rng(args.seed)
            start = start_near(truth, rng, weight_distance=relative * size, output_distance=0.1 * relative)
            descent = GradientDescent(loss_tol=1e-12)
            fit = descent(start)
            rate = convergence_rate(fit, descent.first_step(start))
            left = np.linalg.norm(fit.point.weights - truth.weights) / size
            row(
                activation,
                shape,
                f"{relative:8.3f} {fit.steps:8d} {rate.seen:8.1e} "
                f"{rate.guaranteed:8.1e} {rate.seen / rate.guaranteed:8.2f} {left:8.3f}",
            )


def show_theorem(args: argparse.Namespace) -> None:
    """The theorem's constants, and descent from the rim of its ball with its step."""
    heading(" ".join(f"{name:>8}" for name in ("c", "C", "C'", "step", "ball W", "ball v", "promised", "seen")))
    for activation, *shape in RATES:
        truth = planted(activation, *shape, args.seed)
        found = theorem_constants(truth)
        rng = np.random.default_rng(args.seed)
        start = start_near(truth, rng, weight_distance=found.weight_radius, output_distance=found.output_radius)
        losses = GradientDescent(step=found.step, steps=500, loss_tol=0.0)(start).losses
        least = float(np.min(1.0 - losses[1:] / losses[:-1]))
        row(
            activation,
            shape,
            f"{found.lower:8.3f} {found.upper:8.3f} {found.change:8.2f} "
            f"{found.step:8.1e} {found.weight_radius:8.1e} {found.output_radius:8.1e} {found.contraction:8.1e} "
            f"{least:8.1e}",
        )


def show_certificate(args: argparse.Namespace) -> None:
    """Antisymmetric starts with random labels: how large the output weights must be for a certificate."""
    heading(f"{'height':>7} {'residual':>8} {'allowed':>8} {'certified':>9}")
    rng = np.random.default_rng(args.seed)
    inputs, samples = 20, 60
    points, labels = rng.standard_normal((samples, inputs)), rng.standard_normal(samples)
    for activation in (SOFTPLUS, SHARP, TANH):
        for pairs in (500, 2_000):
            half = rng.standard_normal((pairs, inputs)) / np.sqrt(inputs)
            signs = rng.choice([-1.0, 1.0], pairs) / np.sqrt(2 * pairs)
            for height in (1.0, 30.0, 100.0, 300.0):
                outputs, weights = height * np.concatenate([signs, -signs]), np.vstack([half, half])
                start = TrainingPoint(points, labels, outputs, weights, activation, trains_outputs=False)
                found = certify_local_convergence(start)
                row(
                    activation,
                    [inputs, 2 * pairs, samples],
                    f"{height:7.0f} {found.residual_norm:8.2f} {found.residual_limit:8.3f} {found.is_certified!s:>9}",
                )


def show_newton(args: argparse.Namespace) -> None:
    """Random labels, random signs: Newton to the rounding floor, descent to 1e-10."""
    heading(f"{'Newton':>8} {'s':>7} {'loss':>8} {'descent':>8} {'s':>7} {'loss':>8}")
    for activation, inputs, neurons, samples in RATES:
        rng = np.random.default_rng([args.seed, 1])
        start = replace(
            planted(activation, inputs, neurons, samples, args.seed),
            labels=rng.standard_normal(samples),
            output_weights=rng.choice([-1.0, 1.0], neurons),
        )
        begin = time.perf_counter()
        newton = GramLevenbergMarquardt()(start)
        middle = time.perf_counter()
        descent = GradientDescent(is_adaptive=True, loss_tol=1e-10)(start)
        end = time.perf_counter()
        row(
            activation,
            [inputs, neurons, samples],
            f"{newton.steps:8d} {middle - begin:7.3f} "
            f"{newton.losses[-1]:8.0e} {descent.steps:8d} {end - middle:7.2f} {descent.losses[-1]:8.0e}",
        )


def show_spectrum(args: argparse.Namespace) -> None:
    """Smallest and largest singular value in the hidden weights, dense and by products."""
    heading(f"{'smallest':>8} {'/sqrt(kd)':>9} {'C':>6} {'matrix-free':>11}")
    for activation, inputs, neurons, samples in SPECTRA:
        point = replace(planted(activation, inputs, neurons, samples, args.seed), trains_outputs=False)
        dense = jacobian_spectrum(point, is_matrix_free=False)
        free = jacobian_spectrum(point, is_matrix_free=True)
        scale = np.linalg.norm(point.weights, 2) * np.sqrt(samples * neurons)
        shares = f"{dense.smallest / np.sqrt(neurons * inputs):9.3f} {dense.largest / scale:6.2f}"
        row(activation, [inputs, neurons, samples], f"{dense.smallest:8.3f} {shares} {free.smallest:11.3f}")


def show_users(args: argparse.Namespace) -> None:
    """R2 on rows that no fit has seen, with default settings and with all labels met."""
    points, labels = load_diabetes(return_X_y=True)
    print("diabetes, 10 splits: settings, R2 mean, smallest, median CPU s")
    for name, ridge in (("default", None), ("ridge=0", 0.0)):
        rows = []
        for split in range(10):
            used, fresh, given, truth = train_test_split(points, labels, random_state=split)
            begin = time.process_time()
            model = OverparameterizedRegressor(ridge=ridge, random_state=args.seed).fit(used, given)
            rows.append((model.score(fresh, truth), time.process_time() - begin))
        scores, seconds = np.transpose(rows)
        say(f"{name:8} {scores.mean():8.3f} {scores.min():8.3f} {np.median(seconds):.2f}")


PARTS = {
    part.__name__.removeprefix("show_"): part
    for part in (show_rates, show_theorem, show_certificate, show_newton, show_spectrum, show_users)
}


def main() -> None:
    """Run one part."""
    parser = parser_of(__doc__)
    parser.add_argument("--part", choices=list(PARTS), default="rates")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    PARTS[args.part](args)


if __name__ == "__main__":
    main()
