"""Joint training of all levels from a random start, without stages: a baseline for staged training."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave._kernels.quadratic_training import Data, Terms, Units, train
from unweave.arrays import Points, Vector
from unweave.networks.quadratic.densenet import Level, QuadraticDenseNet
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.wiring import Wiring
from unweave.reproduce.allenzhu.staged import CHUNK, CLIP


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

    def __call__(
        self,
        wiring: Wiring,
        points: Points,
        labels: Float64[np.ndarray, "points"],
        *,
        mean_squares: Vector,
        rng: np.random.Generator,
    ) -> QuadraticDenseNet:
        """Train all levels at once."""
        unit = float(np.std(labels)) or 1.0
        wide = Wiring(wiring.inputs, tuple(self.spare * width for width in wiring.widths), wiring.sources)
        student = Student(wide, tuple(np.ones(width) for width in wide.widths), mean_squares)
        matrices = student.matrices(student.random_start(rng, points, size=self.start_size))
        nothing = np.zeros(len(matrices))
        terms = Terms(np.ones(len(matrices)), nothing, nothing, nothing, nothing)
        units = Units(tuple(matrices), tuple(np.zeros((1, matrix.shape[1])) for matrix in matrices))
        trains = Units(tuple(np.array(1.0) for _ in matrices), tuple(np.array(0.0) for _ in matrices))
        data, state, chunks = Data(points, points**2 - mean_squares, labels / unit), None, self.steps // CHUNK
        for number in range(chunks):
            share = np.linspace(number / chunks, (number + 1) / chunks, CHUNK)
            units, state, _ = train(
                units, trains, terms, data, rng.integers(len(points), size=(CHUNK, self.batch)),
                self.rate * (0.01 + 0.495 * (1 + np.cos(np.pi * share))),
                sources=wide.sources, method="adam", clip=CLIP, state=state, is_tied=True,
            )  # fmt: skip
        return QuadraticDenseNet(wide, tuple(Level(matrix, unit) for matrix in units.features), mean_squares)
