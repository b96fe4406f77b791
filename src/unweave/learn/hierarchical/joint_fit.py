"""Joint second-order training of all levels: Levenberg-Marquardt with restarts. Heuristic, verified afterwards.

On exact labels it ends at the floor of float64 arithmetic. Starts alternate between all levels at once and level by
level (each new level joins the ones below, and none is ever frozen): where one way gets stuck, the other often
does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64
from scipy.special import expit

from unweave.arrays import PerPoint, Points
from unweave.networks.quadratic.densenet import QuadraticDenseNet, forward
from unweave.networks.quadratic.student import Parameters, Student
from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.numerics.least_squares import Policy, Solver, Step, is_over, minimise, normal_solver

# Rows of a Jacobian that are held at a time.
BLOCK_ROWS = 2_000
# Starts are random, so that the first steps need damping. A run whose loss falls by a millionth per step creeps along a
# valley; eight dampings, 4^8 apart, without a step that lowers the loss are a minimum or rounding.
DAMPING = Policy(tries=8, growth=4.0, decay=0.2, gain_tol=3e-6, patience=3).always_damped(first=1e-2, least=1e-14)


@runtime_checkable
class Loss(Protocol):
    """A loss per point, convex in the output."""

    def values(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """One loss per point."""
        ...

    def slopes(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Derivative in the output."""
        ...

    def curvatures(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Second derivative in the output."""
        ...


class SquaredLoss:
    """``(output - label)^2``, the loss of regression."""

    def values(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """One loss per point."""
        return (outputs - labels) ** 2

    def slopes(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Derivative in the output."""
        return 2 * (outputs - labels)

    def curvatures(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Second derivative in the output."""
        return np.full(len(labels), 2.0) + 0 * outputs


class LogisticLoss:
    """``log(1 + exp(-label output))`` for labels of +1 and -1."""

    def values(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """One loss per point."""
        return np.logaddexp(0.0, -labels * outputs)

    def slopes(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Derivative in the output."""
        return -labels * expit(-labels * outputs)

    def curvatures(self, outputs: PerPoint, labels: PerPoint) -> PerPoint:
        """Second derivative in the output."""
        chances = expit(-labels * outputs)
        return chances * (1 - chances)


class Descent(NamedTuple):
    """One run of Levenberg-Marquardt: where it ended, and its loss after every step."""

    vector: Parameters
    losses: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class HierarchicalFit:
    """What a fit found.

    Args:
        network: the best of all starts.
        student: its shape, and `vector` its parameters, in units in which labels have variance 1.
        vector: see `student`.
        relative_loss: mean loss of the best start, relative to that of the best constant.
        start_losses: the same for every start.
        steps: accepted steps of all starts together.
        decay: weight of the squared parameters that was used.
    """

    network: QuadraticDenseNet
    student: Student
    start_losses: tuple[float, ...]
    vector: Parameters
    relative_loss: float
    steps: int
    decay: float = 0.0


@dataclass(frozen=True)
class JointLevenbergMarquardt:
    """Train all levels at once by damped Gauss-Newton.

    Args:
        steps: largest number of accepted steps of a run.
        restarts: largest number of starts. They go on until labels are met exactly, or until enough of them agree.
        start_size: size of random features of a single level, when inputs have size 1.
        exact_tol: relative loss at which nothing is left to learn, and no further start is made.
        damping: how steps are damped; its number of steps is that above.
        decay: weight of the squared parameters, in units in which inputs and their squares have size 1, relative to the
            loss of the best constant.
        affine_share: of the decay that holds for the linear part, which should fade long after the features; chosen.
        probing_starts: that decide whether squares add or subtract.
        probing_steps: after which the signs that did not come first are given up, if they are plainly wrong.
        wrong_signs: relative loss from which on they are; chosen: planted networks with noise had 1.2.
        agreeing: starts that end at the lowest loss, after which no further one is made if that is noise.
        agreeing_tol: relative difference of losses up to which they do: good minima of planted networks with noise
            agree to 1e-7, different ones differ by a percent and more.
        shuffles: of the residuals, whose alignment with features theirs must not exceed if they are noise: one time in
            twenty noise does, and starts go on.
        rows_per_parameter: below, residuals are too few to tell noise from bad minima, and all starts are made.
    """

    steps: int = 120
    restarts: int = 10
    start_size: float = 0.3
    exact_tol: float = 1e-24
    damping: Policy = DAMPING
    decay: float = 0.0
    affine_share: float = 0.01
    probing_starts: int = 2
    probing_steps: int = 15
    wrong_signs: float = 0.5
    agreeing: int = 2
    agreeing_tol: float = 1e-4
    shuffles: int = 19
    rows_per_parameter: float = 5.0

    def __call__(
        self,
        student: Student,
        points: Points,
        labels: PerPoint,
        *,
        rng: np.random.Generator,
        loss: Loss | None = None,
        weights: PerPoint | None = None,
        earlier: HierarchicalFit | None = None,
    ) -> HierarchicalFit:
        """Fit all levels jointly.

        Args:
            student: the shape of the network; its coefficients refer to labels of variance 1.
            points: inputs.
            labels: real numbers, or signs for a logistic loss.
            rng: randomness of the starts.
            loss: squared if omitted.
            weights: of the losses of the points; all alike if omitted.
            earlier: what the first starts have found, to go on from.
        """
        problem, unit = self._problem(student, points, labels, loss, weights)
        best, losses, steps = None, list(earlier.start_losses if earlier else ()), earlier.steps if earlier else 0
        if earlier is not None:
            best = Descent(earlier.vector, (problem.total(earlier.vector),))
        is_noise = None
        for number in range(len(losses), self.restarts):
            if is_noise is None and best is not None and self._have_agreed(losses):
                is_noise = self._is_noise(problem, best.vector, rng.spawn(1)[0])
            if best is not None and (is_noise or is_over()):
                break
            run = self._staged(problem, rng) if number % 2 else self._joint(problem, rng)
            losses.append(run.losses[-1] / problem.unit_loss)
            steps += len(run.losses) - 1
            if best is None or run.losses[-1] < best.losses[-1]:
                best = run
            if losses[-1] <= 1e3 * self.exact_tol:
                break
        assert best is not None
        network = student.network(best.vector, unit=unit)
        relative = best.losses[-1] / problem.unit_loss
        return HierarchicalFit(network, student, tuple(losses), best.vector, relative, steps, self.decay)

    def _have_agreed(self, losses: Sequence[float]) -> bool:
        """Whether enough starts have ended at the lowest loss."""
        limit = (1 + self.agreeing_tol) * min(losses, default=np.inf)
        return sum(loss <= limit for loss in losses) >= self.agreeing

    def _is_noise(self, problem: "_Problem", vector: Parameters, rng: np.random.Generator) -> bool:
        """Whether residuals are no more aligned with squares of possible features than in another order of the rows.

        One more feature k of terms h changes the loss by ``sum_i r_i <k, h_i>^2``, to leading order. At a bad minimum
        of labels that are exact that is far from chance; of noise it is chance.
        """
        student, points = problem.student, problem.points
        if len(points) < self.rows_per_parameter * student.parameters:
            return False
        squares = points**2 - student.centre(vector)
        terms, _ = forward(student.wiring, student.matrices(vector), points, squares)
        slopes = problem.shares * problem.loss.slopes(student.outputs(vector, points), problem.labels)
        orders = [rng.permutation(slopes) for _ in range(self.shuffles)]
        return all(_alignment(h, slopes) <= max(_alignment(h, each) for each in orders) for h in terms)

    def shrinking(
        self,
        fit: HierarchicalFit,
        points: Points,
        labels: PerPoint,
        decays: Sequence[float],
        *,
        loss: Loss,
        weights: PerPoint | None = None,
    ) -> Iterator[HierarchicalFit]:
        """Train a fit further on these samples with one decay after the other, the weakest first."""
        vector, steps = fit.vector, fit.steps
        problem, unit = self._problem(fit.student, points, labels, loss, weights)
        for decay in decays:
            shrunk = problem._replace(settings=replace(self, decay=decay))
            run = shrunk.descend(vector)
            vector, steps = run.vector, steps + len(run.losses) - 1
            relative = problem._replace(settings=replace(self, decay=0.0)).total(vector) / problem.unit_loss
            network = fit.student.network(vector, unit=unit)
            yield HierarchicalFit(network, fit.student, fit.start_losses, vector, relative, steps, decay)

    def _problem(
        self, student: Student, points: Points, labels: PerPoint, loss: Loss | None, weights: PerPoint | None
    ) -> tuple["_Problem", float]:
        """The samples with labels of variance 1, unless they are classes, and the unit of the labels."""
        loss = SquaredLoss() if loss is None else loss
        unit = (float(np.std(labels)) or 1.0) if isinstance(loss, SquaredLoss) else 1.0
        shares = np.ones(len(labels)) if weights is None else weights / np.mean(weights)
        return _Problem(student, points, labels / unit, loss, self, shares), unit

    def _joint(self, problem: "_Problem", rng: np.random.Generator) -> Descent:
        return problem.descend(problem.student.random_start(rng, problem.points, size=self.start_size))

    def _staged(self, problem: "_Problem", rng: np.random.Generator) -> Descent:
        """Lower levels first; every later stage moves all levels that are there."""
        student, vector = problem.student, None
        start = student.random_start(rng, problem.points, size=self.start_size)
        below = None
        for level in range(FIRST_LEVEL, student.wiring.depth):
            low = student.lower(level)
            fresh = low.random_start(rng, problem.points, size=self.start_size)
            begin = fresh if below is None or vector is None else low.raised(below, vector, fresh)
            vector, below = problem.of(low).descend(begin).vector, low
        return problem.descend(start if below is None or vector is None else student.raised(below, vector, start))


def _alignment(terms: Float64[np.ndarray, "points terms"], slopes: PerPoint) -> float:
    """Largest change of the loss by the square of a feature of unit length, to leading order."""
    return float(np.linalg.norm((terms.T * slopes) @ terms, 2))


class _Problem(NamedTuple):
    """A student with its samples, whose losses count by their shares, of mean 1."""

    student: Student
    points: Points
    labels: np.ndarray
    loss: Loss
    settings: JointLevenbergMarquardt
    shares: PerPoint

    def of(self, student: Student) -> "_Problem":
        return self._replace(student=student)

    @property
    def unit_loss(self) -> float:
        """Loss of the best constant: the unit of relative losses."""
        mean = float(np.mean(self.shares * self.labels))
        constant = mean
        if not isinstance(self.loss, SquaredLoss):
            share = np.clip((1 + mean) / 2, 1e-12, 1 - 1e-12)
            constant = float(np.log(share / (1 - share)))
        values = self.loss.values(np.full(len(self.labels), constant), self.labels)
        value = float(np.mean(self.shares * values))
        return value if value > 0 else 1.0

    def total(self, vector: Parameters) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.loss.values(self.student.outputs(vector, self.points), self.labels)
            value = float(np.mean(self.shares * values))
            value += float(self.penalties @ vector**2) if self.settings.decay else 0.0
        return value if np.isfinite(value) else np.inf

    @property
    def penalties(self) -> Parameters:
        """Weight of the square of every parameter; intercept and E[x^2] are free."""
        student, points = self.student, self.points
        sizes = {0: np.mean(points**2, axis=0), 1: np.mean((points**2 - student.mean_squares) ** 2, axis=0)}
        blocks = []
        for sources, width in zip(student.wiring.sources, student.wiring.widths, strict=True):
            row = [sizes.get(source, np.ones(student.wiring.terms_of(source))) for source in sources]
            blocks.append(np.tile(np.concatenate(row), width))
        if student.has_affine:
            blocks += [self.settings.affine_share * sizes[0], np.zeros(1)]
        if student.has_centre:
            blocks.append(np.zeros(student.wiring.inputs))
        return self.settings.decay * self.unit_loss * np.concatenate(blocks)

    def normal_equations(self, vector: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Newton matrix and gradient, both halved, summed block by block."""
        size = self.student.parameters
        matrix, gradient = np.zeros((size, size)), np.zeros(size)
        if self.settings.decay:
            penalties = self.penalties
            matrix, gradient = np.diag(penalties), penalties * vector
        for start in range(0, len(self.points), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            outputs = self.student.outputs(vector, self.points[rows])
            jacobian = self.student.jacobian(vector, self.points[rows])
            shares = self.shares[rows]
            curvatures = shares * self.loss.curvatures(outputs, self.labels[rows]) / (2 * len(self.points))
            slopes = shares * self.loss.slopes(outputs, self.labels[rows]) / (2 * len(self.points))
            matrix += jacobian.T @ (curvatures[:, None] * jacobian)
            gradient += jacobian.T @ slopes
        return matrix, gradient

    def descend(self, vector: Parameters) -> Descent:
        """Levenberg-Marquardt; the loss never grows."""
        policy = replace(self.settings.damping, steps=self.settings.steps)
        found = minimise(_DescentProblem(self), vector, policy, target=self.settings.exact_tol * self.unit_loss)
        return Descent(found.point, found.losses)


@dataclass(frozen=True, eq=False)
class _DescentProblem:
    """The fit of one vector, its residuals summed up in the loss at once."""

    problem: _Problem

    def residuals(self, point: Parameters, /) -> float:
        return self.problem.total(point)

    def loss(self, residuals: float, /) -> float:
        return residuals

    def solver(self, point: Parameters, _residuals: float, /) -> Solver:
        """Damp in units of the diagonal, since parameters of different levels differ widely in size."""
        matrix, gradient = self.problem.normal_equations(point)
        diagonal = np.diag(matrix)
        units = np.maximum(diagonal, np.finfo(float).tiny + 1e-14 * diagonal.max(initial=0.0))
        return normal_solver(matrix, -gradient, units, ridges=(0.0, 1e-12, 1e-9, 1e-6))

    def moved(self, point: Parameters, step: Step, /) -> Parameters:
        return point + step
