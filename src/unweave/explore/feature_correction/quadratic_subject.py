"""A quadratic network with skip links as a subject of measurement: its levels are the units.

A training minimises the mean square over the free levels and the affine part by trust-region least squares, so that the
pull towards other weights is just more residuals: ``sqrt(strength) (w - w')``.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy  # its parts are loaded when first used

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.plan import Training
from unweave.explore.feature_correction.samples import Samples
from unweave.explore.feature_correction.subjects import Deadline, Halfway, TrainedModel, Weights
from unweave.networks.quadratic.densenet import forward
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.wiring import FIRST_LEVEL, Wiring


@dataclass(frozen=True, eq=False)
class QuadraticSubject:
    """A quadratic network on samples with real labels.

    Args:
        wiring: widths and links.
        samples: checked ones.
        steps: largest number of steps of a training.
        start_size: of random feature maps, in units in which inputs have size 1 and a map of size 1 keeps that. Chosen:
            their products start well below the labels. Of all subjects alike, as run folders do not tell it.

    Raises:
        InvalidInput: if inputs or labels do not fit.
    """

    start_size: ClassVar[float] = 0.3

    wiring: Wiring
    samples: Samples
    steps: int

    def __post_init__(self) -> None:
        if not isinstance(self.samples.train_inputs, np.ndarray):
            raise InvalidInput(
                "a quadratic network is solved on all rows at once: give four arrays in place of datasets."
            )
        shape, outputs = self.samples.train_inputs.shape, self.samples.outputs
        if shape[1:] != (self.wiring.inputs,) or self.samples.is_classification or outputs != 1:
            raise InvalidInput(
                f"a quadratic network of {self.wiring.inputs} inputs needs rows of that many numbers and one real "
                f"label each, got x_train of shape {shape} and {'classes' if self.samples.classes else outputs}."
            )

    @property
    def units(self) -> tuple[str, ...]:
        """Its levels."""
        return tuple(f"level {level}" for level in range(FIRST_LEVEL, self.wiring.depth + 1))

    @property
    def filters(self) -> dict[str, tuple[str, ...]]:
        """Everything that a level holds."""
        return dict.fromkeys(self.units, ("features",))

    def configuration(self) -> dict[str, Any]:
        """All that decides how a training ends."""
        return {"model": repr(self.wiring), "units": list(self.units), "steps": self.steps}

    def start(self, seed: int) -> Weights:
        """Small random feature maps."""
        return self._weights(self._student, self._start(seed))

    def train(
        self, training: Training, source: Weights | None, deadline: Deadline, halfway: Halfway | None = None
    ) -> TrainedModel:
        """Run one training, which begins again if it was stopped: the solver does not tell its state."""
        del halfway
        student = self._student.lower(FIRST_LEVEL + training.length - 1)
        vector = self._cut(student, self._start(training.start_seed))
        if source is not None:
            copied = self._first(student, source, training.copied)
            vector[: len(copied)] = copied
        free = np.arange(sum(student.sizes[: training.frozen]), student.parameters)
        towards, strength = np.zeros(0), 0.0
        if source is not None and training.is_pulled:
            towards, strength = self._first(student, source, training.depth), training.prox
        vector[free], has_converged = self._solve(student, vector, free, (towards, np.sqrt(strength)), deadline)
        return replace(self._left_by(student, vector, training), late_progress=0.0 if has_converged else 1.0)

    def _solve(
        self,
        student: Student,
        vector: np.ndarray,
        free: np.ndarray,
        pull: tuple[np.ndarray, float],
        deadline: Deadline,
    ) -> tuple[np.ndarray, bool]:
        points, labels = self._points, self.samples.train_labels[:, 0]
        towards, root = pull
        # The mean square, so that the pull has the same meaning for any number of rows.
        unit = 1 / np.sqrt(len(points))

        def put(values: np.ndarray) -> np.ndarray:
            whole = vector.copy()
            whole[free] = values
            return whole

        def residuals(values: np.ndarray) -> np.ndarray:
            deadline.check()
            whole = put(values)
            pulled = root * (whole[: len(towards)] - towards)
            return np.concatenate([unit * (student.outputs(whole, points) - labels), pulled])

        def slopes(values: np.ndarray) -> np.ndarray:
            pulled = root * np.eye(len(towards), student.parameters)
            return np.concatenate([unit * student.jacobian(put(values), points), pulled])[:, free]

        # SciPy's stubs know only the names of built-in differences here.
        jacobian: Any = slopes
        found = scipy.optimize.least_squares(residuals, vector[free], jac=jacobian, x_scale="jac", max_nfev=self.steps)
        # SciPy's 0 means that the steps were used up.
        return found.x, found.status > 0

    def _left_by(self, student: Student, vector: np.ndarray, training: Training) -> TrainedModel:
        held_out = (self.samples.test_inputs, self.samples.validation_inputs)
        test, validation = (student.outputs(vector, _floats(points))[:, None] for points in held_out)
        probes = _floats(self.samples.probes)
        _, features = forward(student.wiring, student.matrices(vector), probes, probes**2 - student.mean_squares)
        return TrainedModel(self._weights(student, vector), test, validation, features[training.depth - 1])

    def _start(self, seed: int) -> np.ndarray:
        return self._student.random_start(np.random.default_rng(seed), self._points, size=self.start_size)

    def _cut(self, student: Student, vector: np.ndarray) -> np.ndarray:
        inside = sum(self._student.sizes)
        return np.concatenate([vector[: sum(student.sizes)], vector[inside:]])

    def _first(self, student: Student, weights: Weights, levels: int) -> np.ndarray:
        parts = [weights[unit]["features"].ravel() for unit in self.units[:levels]]
        return np.concatenate([np.zeros(0), *parts])[: sum(student.sizes)]

    def _weights(self, student: Student, vector: np.ndarray) -> Weights:
        matrices = student.matrices(vector)
        return {unit: {"features": matrix.copy()} for unit, matrix in zip(self.units, matrices, strict=False)}

    @cached_property
    def _points(self) -> np.ndarray:
        return _floats(self.samples.train_inputs)

    @cached_property
    def _student(self) -> Student:
        coefficients = tuple(np.ones(width) for width in self.wiring.widths)
        return Student(self.wiring, coefficients, np.mean(self._points**2, axis=0), has_affine=True)


def _floats(inputs: Any) -> np.ndarray:
    """Arrays, as was checked."""
    return inputs.astype(np.float64)
