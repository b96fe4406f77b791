"""[allenzhu, Thm. I.1, I.3, I.6]: kernels, fixed features and two layers on the functions that are hard for them."""

from collections.abc import Sequence

import numpy as np

from unweave.networks.quadratic.teacher import make_sparse_teacher
from unweave.reproduce.allenzhu.baselines import (
    Method,
    TrainingSamples,
    by_kernel,
    by_newton,
    by_tangent_features,
    by_two_layers,
    compare_methods,
)
from unweave.reproduce.allenzhu.kernel_ridge import NeuralTangentKernel, PolynomialKernel
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

TOP_WEIGHT = 0.1
LEVELS = 3
METHODS: dict[str, Method] = {
    "all levels, second order": by_newton,
    "polynomial kernel 8": lambda samples: by_kernel(samples, PolynomialKernel(8), has_squares=False),
    "polynomial kernel 4 of x, x^2": lambda samples: by_kernel(samples, PolynomialKernel(4)),
    "neural tangent kernel of x, x^2": lambda samples: by_kernel(samples, NeuralTangentKernel()),
    "features of a random network": by_tangent_features,
    "two layers of degree 4": lambda samples: by_two_layers(samples, degree=4, neurons=50, steps=3_000),
}
SHORT = ("all levels, second order", "polynomial kernel 4 of x, x^2", "neural tangent kernel of x, x^2")


def settings(scale: Scale) -> Sequence[Settings]:
    """Growing inputs at the same number of samples."""
    inputs, samples = {Scale.QUICK: ((8,), 300), Scale.USUAL: ((8, 16), 600), Scale.FULL: ((20, 30, 60), 2_000)}[scale]
    names = SHORT if scale is Scale.QUICK else tuple(METHODS)
    return [{"inputs": each, "samples": samples, "method": name} for each in inputs for name in names]


def measure(cell: Cell) -> Numbers:
    """The error on fresh points, in units of what the top level adds, and the lower bound without its constant."""
    inputs, samples = int(cell.settings["inputs"]), int(cell.settings["samples"])
    rng = np.random.default_rng([cell.seed, inputs])
    teacher = make_sparse_teacher(rng, inputs=inputs, level_weights=(1.0, TOP_WEIGHT))
    points, fresh = rng.standard_normal((samples, inputs)), rng.standard_normal((5_000, inputs))
    given = TrainingSamples(teacher.wiring, points, teacher(points)[:, 0], np.ones(inputs), cell.seed)
    truth, name = teacher(fresh)[:, 0], str(cell.settings["method"])
    error = compare_methods(given, fresh, truth, methods={name: METHODS[name]}).error(name)
    return {
        "error": error,
        "absolute": error * float(np.var(truth)),
        "order": TOP_WEIGHT**2 * float(np.log(inputs)) ** -(2 ** (LEVELS + 2)),
    }


TITLE = "one feature per level on supports of four inputs: errors of methods on equal samples"
COLUMNS = {
    "error": "error over variance",
    "absolute": "mean squared error",
    "order": "alpha_L^2 log(d)^-2^(L+2)",
}
NOTES = (
    "The theorems: with fewer than about C(d, 2^(L-1)) / 1000 samples, or as many features, every kernel, every "
    "fixed feature map, and two layers of low degree leave at least a constant times the last column (the theorem "
    "on two layers another power of it). They are asymptotic: L <= log log(d) / 100 is no whole level for any d "
    "that can be computed with, so that the order of errors is shown, not the bound tested.",
    "The power of log(d) is that of Theorem I.3 and of the proof; Theorem I.1 prints another one, see the errata.",
    "Sizes are ours; L = 3 levels, the last of weight 0.1.",
)
