"""Fitting the diagonals and shifts of a reparametrised network: the descent of [fiedler], and a faster way.

Both change nothing but diagonals and shifts: errors of the directions stay, and with them a floor of the residual.
"""

from dataclasses import dataclass, replace

import numpy as np

from unweave import _kernels  # its parts are loaded when first used
from unweave.activations import Activation
from unweave.arrays import Points, Values, root_mean_square
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.layer_assignment import LayerRows
from unweave.identification.peeling.reparametrised import ReparametrisedNetwork, fixed_matrices
from unweave.numerics.least_squares import FitToAnswers, Policy, Solver, Step, Stop, minimise, normal_solver

# Numbers of a block of Jacobian rows that are in memory at once (64 MiB).
BLOCK_NUMBERS = 2**23
# Scales that are free keep some damping, and all unknowns a ridge at the rounding error of the largest entry.
DAMPING = Policy(first_damping=1e-4, negligible_damping=1e-14, least_damping=1e-14, largest_damping=1e8)
LEAST_RIDGE = 1e-13


@dataclass(frozen=True, eq=False)
class Completion:
    """A fitted model and how it got there.

    Args:
        model: the best model found.
        residual: root mean square of its residuals on the answers it was fitted to.
        mean_error: mean distance of its outputs to these answers (4.81).
        steps: gradient steps, or accepted Levenberg-Marquardt steps.
        has_converged: whether the residual stopped falling before the last allowed step.
        history: residual, or root mean square over a round of minibatches, in the course of the fit.
    """

    model: ReparametrisedNetwork
    residual: float
    mean_error: float
    steps: int
    has_converged: bool
    history: tuple[float, ...]


def start(directions: LayerRows, activations: tuple[Activation, ...]) -> ReparametrisedNetwork:
    """Give the model with all diagonals one and all shifts zero, where [fiedler, (4.69)] begins."""
    matrices = fixed_matrices(directions)
    left = tuple(np.ones(matrix.shape[1]) for matrix in matrices)
    ones = tuple(np.ones(len(matrix)) for matrix in matrices)
    return ReparametrisedNetwork(matrices, activations, left, ones, ones, tuple(np.zeros(len(m)) for m in matrices))


@dataclass(frozen=True)
class DiagonalDescent:
    """Minibatch gradient descent as in [fiedler, (4.67) and Sec. 4.4].

    It stops there after twenty minutes; here after a number of steps, or when the loss has not fallen.

    Args:
        rate: step size.
        batch: points per step.
        steps: largest number of steps.
        round_steps: steps between two looks at the loss.
        plateau: relative fall of the loss below which the descent ends, and the rounds that it may take; 0 never does.
        is_inverse_outside: outer diagonals are the inverses of the right ones (second form), as in [fiedler];
            otherwise ones (first form).
        averages_outputs: the loss of a point is the mean over outputs, not the sum. [fiedler] writes squared
            norms, which are sums, and does not say how it averages; over a batch it is the mean here.
    """

    rate: float = 0.005
    batch: int = 64
    steps: int = 20_000
    round_steps: int = 500
    plateau: tuple[float, int] = (0.0, 4)
    is_inverse_outside: bool = True
    averages_outputs: bool = False

    def __call__(
        self, model: ReparametrisedNetwork, points: Points, values: Values, *, rng: np.random.Generator
    ) -> Completion:
        """Descend from `model`, the points in a new random order in every pass.

        Raises:
            InvalidInput: if an activation has no compiled form, or the model is not in the chosen form.

        Guarantees: none; the objective is not convex, and convergence is observed, not proved.
        """
        names = _compiled_names(model)
        model = _in_form(model) if self.is_inverse_outside else _checked_plain(model)
        diagonals = _kernels.diagonal_descent.Diagonals(model.left[1:], model.right, model.shifts)
        history, steps, order = [], 0, np.empty(0, dtype=np.int64)
        while steps < self.steps:
            count = min(self.round_steps, self.steps - steps)
            while len(order) < count * self.batch:
                order = np.concatenate([order, rng.permutation(len(points))])
            batches, order = order[: count * self.batch].reshape(count, -1), order[count * self.batch :]
            diagonals, loss = _kernels.diagonal_descent.descend(
                diagonals, model.matrices, names, points, values, batches,
                rate=self.rate, is_inverse_outside=self.is_inverse_outside, averages_outputs=self.averages_outputs,
            )  # fmt: skip
            outputs = 1 if self.averages_outputs else values.shape[1]
            history.append(float(np.sqrt(loss / outputs)))
            steps += count
            if self._is_flat(history):
                break
        final = self._with(model, diagonals)
        errors = final(points) - values
        return Completion(
            final, root_mean_square(errors), _mean_norm(errors), steps, self._is_flat(history), tuple(history)
        )

    def _is_flat(self, history: list[float]) -> bool:
        fall, rounds = self.plateau
        if fall <= 0 or len(history) <= rounds:
            return False
        return history[-1] ** 2 > (1.0 - fall) * history[-1 - rounds] ** 2

    def _with(
        self, model: ReparametrisedNetwork, diagonals: "_kernels.diagonal_descent.Diagonals"
    ) -> ReparametrisedNetwork:
        outer = model.outer
        if self.is_inverse_outside:
            outer = (*(1.0 / right for right in diagonals.right[:-1]), model.outer[-1])
        left = (model.left[0], *diagonals.left)
        return replace(model, left=left, right=diagonals.right, outer=outer, shifts=diagonals.shifts)


@dataclass(frozen=True)
class DiagonalLevenbergMarquardt:
    """Levenberg-Marquardt on the same model: a few steps instead of very many.

    The first left diagonal stays one. In the other layers left and right can be scaled against each other; damping
    takes care of that.

    Args:
        steps: largest number of attempted steps.
        first_damping: relative to the largest diagonal entry of the normal equations.
        gain_tol: relative fall of the residual in an accepted step below which the fit has converged.
    """

    steps: int = 60
    first_damping: float = 1e-4
    gain_tol: float = 1e-4

    def __call__(self, model: ReparametrisedNetwork, points: Points, values: Values) -> Completion:
        """Fit from `model`, whose outer diagonals are ones.

        Raises:
            InvalidInput: if the outer diagonals are not ones, or there are fewer numbers than unknowns.
        """
        model = _checked_plain(model)
        if values.size < model.free_parameters:
            raise InvalidInput(f"{model.free_parameters} unknowns need as many numbers, got {values.size}.")
        policy = replace(
            DAMPING, attempts=self.steps, first_damping=self.first_damping, gain_tol=self.gain_tol, revived_damping=0.0
        )
        found = minimise(_DiagonalFit(points, values), model, policy)
        mean_norm, has_converged = _mean_norm(found.residuals), found.stop is not Stop.LIMIT
        return Completion(found.point, found.losses[-1], mean_norm, found.steps, has_converged, found.losses)


@dataclass(frozen=True, eq=False)
class _DiagonalFit(FitToAnswers[ReparametrisedNetwork]):
    """The least-squares problem of diagonals and shifts, damped in units of the diagonal (Marquardt)."""

    def solver(self, point: ReparametrisedNetwork, residuals: Values, /) -> Solver:
        gram, target = _normal_equations(point, self.points, residuals)
        sizes = np.diag(gram).copy()
        gram[np.diag_indices_from(gram)] += LEAST_RIDGE * np.max(sizes)
        return normal_solver(gram, target, sizes, ridges=(0.0,))

    def moved(self, point: ReparametrisedNetwork, step: Step, /) -> ReparametrisedNetwork:
        return _take_step(point, step)


def diagonal_jacobian(model: ReparametrisedNetwork, points: Points) -> np.ndarray:
    """Derivatives of all outputs at all points in left (but the first), right and shifts, in this order.

    With ``G_l`` the derivative in the pre-activations of layer l they are ``y_{l-1} (G_l right M)``,
    ``G_l (M (left y_{l-1}))`` and ``G_l``. One row per number of the answers.
    """
    before, inside = [points], []
    for layer, activation in enumerate(model.activations):
        inside.append((before[-1] * model.left[layer]) @ model.matrices[layer].T)
        before.append(activation(inside[-1] * model.right[layer] + model.shifts[layer]))
    outputs = len(model.matrices[-1])
    upstream = np.broadcast_to(np.eye(outputs), (len(points), outputs, outputs))
    left, right, shifts = [], [], []
    for layer in range(len(model.matrices) - 1, -1, -1):
        slopes = model.activations[layer](inside[layer] * model.right[layer] + model.shifts[layer], 1)
        pull = upstream * slopes[:, None, :]
        through = (pull * model.right[layer]) @ model.matrices[layer]
        shifts.append(pull)
        right.append(pull * inside[layer][:, None, :])
        left.append(through * before[layer][:, None, :])
        upstream = through * model.left[layer]
    blocks = [*left[-2::-1], *right[::-1], *shifts[::-1]]
    return np.concatenate(blocks, axis=2).reshape(len(points) * outputs, -1)


def _normal_equations(model: ReparametrisedNetwork, points: Points, residuals: Values) -> tuple[np.ndarray, np.ndarray]:
    numbers = model.free_parameters * residuals.shape[1]
    rows = max(1, BLOCK_NUMBERS // numbers)
    gram, target = np.zeros((model.free_parameters,) * 2), np.zeros(model.free_parameters)
    for first in range(0, len(points), rows):
        jacobian = diagonal_jacobian(model, points[first : first + rows])
        gram += jacobian.T @ jacobian
        target += jacobian.T @ residuals[first : first + rows].ravel()
    return gram, target


def _take_step(model: ReparametrisedNetwork, step: np.ndarray) -> ReparametrisedNetwork:
    parts = [*model.left[1:], *model.right, *model.shifts]
    ends = np.cumsum([len(part) for part in parts])
    moved = [part + change for part, change in zip(parts, np.split(step, ends[:-1]), strict=True)]
    depth = len(model.matrices)
    left, right, shifts = moved[: depth - 1], moved[depth - 1 : 2 * depth - 1], moved[2 * depth - 1 :]
    return replace(model, left=(model.left[0], *left), right=tuple(right), shifts=tuple(shifts))


def _compiled_names(model: ReparametrisedNetwork) -> tuple[str, ...]:
    names = tuple(activation.name for activation in model.activations)
    if unknown := sorted(set(names) - set(_kernels.diagonal_descent.FUNCTIONS)):
        raise InvalidInput(f"descent is compiled for {sorted(_kernels.diagonal_descent.FUNCTIONS)}, not for {unknown}.")
    return names


def _in_form(model: ReparametrisedNetwork) -> ReparametrisedNetwork:
    """The same function with the inverse right diagonals outside: what is outside moves into the next left one."""
    outer = (*(1.0 / right for right in model.right[:-1]), np.ones(len(model.right[-1])))
    pairs = zip(model.left[1:], model.outer, outer, strict=False)
    left = (model.left[0], *(left * old / new for left, old, new in pairs))
    return replace(model, left=left, outer=outer)


def _checked_plain(model: ReparametrisedNetwork) -> ReparametrisedNetwork:
    if any(np.any(outer != 1.0) for outer in model.outer):
        raise InvalidInput("this fit is for models whose outer diagonals are ones (the first form).")
    return model


def _mean_norm(residuals: np.ndarray) -> float:
    return float(np.mean(np.linalg.norm(residuals, axis=1)))
