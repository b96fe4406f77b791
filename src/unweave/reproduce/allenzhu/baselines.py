"""Methods to compare with on equal data, in one call: every row of the table saw the same samples and no others."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave import _kernels  # its parts are loaded when first used
from unweave._kernels.quadratic_terms import Data, Terms, Units
from unweave.arrays import PerPoint, Points, Vector
from unweave.exceptions import InvalidInput
from unweave.learn.hierarchical.joint_fit import JointLevenbergMarquardt
from unweave.networks.quadratic.densenet import Level, QuadraticDenseNet
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.wiring import Wiring
from unweave.reproduce.allenzhu.gram import level_two_features
from unweave.reproduce.allenzhu.kernel_ridge import (
    GaussianKernel,
    Kernel,
    NeuralTangentKernel,
    PolynomialKernel,
    Predictor,
    fit_kernel,
    with_squares,
)
from unweave.reproduce.allenzhu.staged import GRADIENT_CLIP, LOOK_STEPS, StagedTraining, falling_rates

# Width of the finite network whose tangent kernel is taken: wider than the inputs at level 2, so that it holds every
# quadratic form, and a multiple of the features above. Its start is small: else the highest degree hides all others.
TANGENT_INPUTS, TANGENT_WIDTH, TANGENT_START = 1.3, 2, 0.1


@dataclass(frozen=True, eq=False)
class TrainingSamples:
    """What every method is given.

    Args:
        wiring: widths and links of the target.
        points: inputs.
        labels: of the target, perhaps with noise.
        mean_squares: E[x^2] per input.
        seed: for all methods that draw.
    """

    wiring: Wiring
    points: Points
    labels: PerPoint
    mean_squares: Vector
    seed: int = 0

    @property
    def rng(self) -> np.random.Generator:
        """Fresh randomness, the same for every method."""
        return np.random.default_rng(self.seed)


Method = Callable[[TrainingSamples], Predictor]


@dataclass(frozen=True)
class MethodError:
    """One line of the table.

    Args:
        method: its name.
        relative_error: mean squared error on fresh points, relative to the variance of their labels.
        seconds: that training took.
    """

    method: str
    relative_error: float
    seconds: float


@dataclass(frozen=True)
class MethodComparison:
    """The table of all methods on equal data."""

    rows: tuple[MethodError, ...]
    points: int
    inputs: int

    def error(self, method: str) -> float:
        """Of one method."""
        return next(row.relative_error for row in self.rows if row.method == method)

    def text(self) -> str:
        """As lines, the best first."""
        ordered = sorted(self.rows, key=lambda row: row.relative_error)
        lines = [f"{self.points} samples, {self.inputs} inputs", f"{'method':<44} {'error':>9} {'s':>7}"]
        return "\n".join(lines + [f"{row.method:<44} {row.relative_error:9.1e} {row.seconds:7.1f}" for row in ordered])


def compare_methods(
    samples: TrainingSamples,
    fresh_points: Points,
    fresh_labels: Float64[np.ndarray, "fresh"],
    *,
    methods: Mapping[str, Method] | None = None,
) -> MethodComparison:
    """Train every method on the same samples, and judge all on the same fresh ones.

    Args:
        samples: for training.
        fresh_points: for judging.
        fresh_labels: of the target, without noise.
        methods: by name; `all_methods` if omitted.
    """
    chosen = all_methods(samples.wiring) if methods is None else methods
    if not chosen:
        raise InvalidInput("compare_methods needs at least one method.")
    rows, variance = [], float(np.var(fresh_labels))
    for name, method in chosen.items():
        start = time.perf_counter()
        predictor = method(samples)
        seconds = time.perf_counter() - start
        error = float(np.mean((predictor(fresh_points) - fresh_labels) ** 2)) / variance
        rows.append(MethodError(name, error, seconds))
    return MethodComparison(tuple(rows), len(samples.points), samples.wiring.inputs)


def all_methods(wiring: Wiring) -> dict[str, Method]:
    """The learners of this package and all baselines, for a wiring of degree ``2^L``."""
    degree = 2**wiring.depth
    return {
        "joint, second order": by_newton,
        "staged joint": lambda samples: by_stages(samples, StagedTraining()),
        "joint from scratch": by_scratch,
        "layer-wise": lambda samples: by_stages(samples, StagedTraining(is_layer_wise=True)),
        "sequential kernel": by_sequential_kernel,
        f"two-layer network of degree {degree // 2}": lambda samples: by_two_layers(samples, degree=degree // 2),
        "tangent kernel of the network itself": by_tangent_features,
        f"polynomial kernel {degree} of x": lambda s: by_kernel(s, PolynomialKernel(degree), has_squares=False),
        f"polynomial kernel {degree // 2} of x, x^2": lambda s: by_kernel(s, PolynomialKernel(degree // 2)),
        "polynomial kernel 2 of x, x^2": lambda s: by_kernel(s, PolynomialKernel(2)),
        "Gaussian kernel of x, x^2": lambda s: by_kernel(s, GaussianKernel()),
        "neural tangent kernel of x, x^2": lambda s: by_kernel(s, NeuralTangentKernel()),
    }


def by_newton(samples: TrainingSamples) -> Predictor:
    """Joint second-order training."""
    ones = tuple(np.ones(width) for width in samples.wiring.widths)
    student = Student(samples.wiring, ones, samples.mean_squares)
    return _of(JointLevenbergMarquardt()(student, samples.points, samples.labels, rng=samples.rng).network)


def by_stages(samples: TrainingSamples, training: StagedTraining) -> Predictor:
    """Staged joint or layer-wise training."""
    given, means = (samples.wiring, samples.points, samples.labels), samples.mean_squares
    return _of(training(*given, mean_squares=means, rng=samples.rng).network)


def by_scratch(samples: TrainingSamples) -> Predictor:
    """Joint first-order training of all levels at once."""
    return _of(JointTraining()(samples))


@dataclass(frozen=True)
class JointTraining:
    """Settings of training from scratch; the output reads the features themselves.

    Args:
        spare: how many times as many features as the wiring has train, since narrow networks get stuck more often.
        steps: of Adam, with falling step size.
        batch: points per step.
        rate: first step size.
        start_size: size of random features.
    """

    spare: int = 2
    steps: int = 12_000
    batch: int = 256
    rate: float = 5e-3
    start_size: float = 0.5

    def __call__(self, samples: TrainingSamples) -> QuadraticDenseNet:
        """Train all levels at once."""
        points, rng, unit = samples.points, samples.rng, float(np.std(samples.labels)) or 1.0
        wiring, mean_squares = samples.wiring, samples.mean_squares
        wide = Wiring(wiring.inputs, tuple(self.spare * width for width in wiring.widths), wiring.sources)
        student = Student(wide, tuple(np.ones(width) for width in wide.widths), mean_squares)
        matrices = student.matrices(student.random_start(rng, points, size=self.start_size))
        nothing = np.zeros(len(matrices))
        terms = Terms(np.ones(len(matrices)), nothing, nothing, nothing, nothing)
        units = Units(tuple(matrices), tuple(np.zeros((1, matrix.shape[1])) for matrix in matrices))
        trains = Units(tuple(np.array(1.0) for _ in matrices), tuple(np.array(0.0) for _ in matrices))
        data = Data(points, points**2 - mean_squares, samples.labels / unit)
        state, chunks = None, self.steps // LOOK_STEPS
        for number in range(chunks):
            share = np.linspace(number / chunks, (number + 1) / chunks, LOOK_STEPS)
            units, state, _ = _kernels.quadratic_training.train(
                units, trains, terms, data, rng.integers(len(points), size=(LOOK_STEPS, self.batch)),
                self.rate * falling_rates(share),
                sources=wide.sources, method="adam", clip=GRADIENT_CLIP, state=state, is_tied=True,
            )  # fmt: skip
        return QuadraticDenseNet(wide, tuple(Level(matrix, unit) for matrix in units.features), mean_squares)


def by_kernel(samples: TrainingSamples, kernel: Kernel, *, has_squares: bool = True) -> Predictor:
    """Kernel ridge regression on the inputs, or on inputs and their squares."""
    means = samples.mean_squares

    def read(points: Points) -> np.ndarray:
        return with_squares(points, means) if has_squares else points

    predict = fit_kernel(kernel, read(samples.points), samples.labels)
    return lambda fresh: predict(read(fresh))


def by_sequential_kernel(samples: TrainingSamples) -> Predictor:
    """A quadratic form in the squares, its leading features, and a kernel on these for what is left."""
    lower = level_two_features(samples.points, samples.labels, samples.mean_squares, width=samples.wiring.widths[0])

    def read(points: Points) -> np.ndarray:
        return np.concatenate([lower.features(points), points / 2], axis=1)

    left = samples.labels - lower.outputs(samples.points)
    upper = fit_kernel(PolynomialKernel(4), read(samples.points), left)
    return lambda fresh: lower.outputs(fresh) + upper(read(fresh))


def by_tangent_features(samples: TrainingSamples) -> Predictor:
    """The quadratic network linearised at a random start, which is what training far from features would use."""
    inputs = samples.wiring.inputs
    widths = (int(TANGENT_INPUTS * inputs) + 1, *(TANGENT_WIDTH * width for width in samples.wiring.widths[1:]))
    wide = Wiring(inputs, widths, samples.wiring.sources)
    student = Student(wide, tuple(np.ones(width) for width in widths), samples.mean_squares, has_affine=True)
    start = student.random_start(samples.rng, samples.points, size=TANGENT_START)

    def read(points: Points) -> np.ndarray:
        return student.jacobian(start, points)

    predict = fit_kernel(lambda a, b: a @ b.T, read(samples.points), samples.labels)
    return lambda fresh: predict(read(fresh))


def by_two_layers(
    samples: TrainingSamples, *, degree: int, neurons: int = 100, steps: int = 8_000, has_squares: bool = True
) -> Predictor:
    """One hidden layer on inputs, and usually squares, every neuron with a polynomial of its own, trained by Adam."""
    rng, unit, mean = samples.rng, float(np.std(samples.labels)) or 1.0, float(np.mean(samples.labels))

    def reads(points: Points) -> np.ndarray:
        return with_squares(points, samples.mean_squares) if has_squares else points

    read = reads(samples.points)
    scales = 0.1 / np.sqrt(neurons) / 2.0 ** np.arange(degree)
    start = {
        "weights": rng.standard_normal((neurons, read.shape[1])) / np.sqrt(read.shape[1]),
        "biases": np.zeros(neurons),
        "coefficients": scales[:, None] * rng.standard_normal((degree, neurons)),
        "constant": np.zeros(()),
    }
    labels, trained = (samples.labels - mean) / unit, start
    rates = 2e-3 * falling_rates(np.linspace(0, 1, steps // LOOK_STEPS * LOOK_STEPS))
    batches = rng.integers(len(read), size=(len(rates), 256))
    trained = _kernels.polynomial_neurons.train_neurons(start, read, labels, batches, rates, clip=GRADIENT_CLIP)
    return lambda fresh: mean + unit * _kernels.polynomial_neurons.outputs(trained, reads(fresh))


def _of(network: QuadraticDenseNet) -> Predictor:
    return lambda points: network(points)[:, 0]
