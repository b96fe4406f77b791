"""Read every neuron off the Hessians that were already paid for.

In the recovered atoms each Hessian is ``H(x_i) = sum_k c_ik u_k u_k^T``, and for a neuron
``a g(s <u, x> + b)`` the coefficient is ``c_ik = a s^2 g''(s <u_k, x_i> + b)``: a profile over the
line ``t_i = <u_k, x_i>``. A small separable fit gives scale, bias and output weight, and the misfit
over the known activations tells which one it is.
"""

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Atoms, PerNeuron, pack_squares
from unweave.numerics.finite_differences import HessianSample

Positions = Float64[np.ndarray, "neurons points"]
Targets = Float64[np.ndarray, "neurons points outputs"]


@dataclass(frozen=True, kw_only=True)
class StartGrid:
    """Scales and biases, for positions of unit spread, among which starts are looked for.

    Args:
        scales: the smallest and the largest, and how many: a neuron outside is linear or saturated.
        biases: the same.
        points: of a profile that are looked at.
        starts: that are handed to the fit.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    scales: tuple[float, float, int] = (0.08, 8.0, 26)
    biases: tuple[float, float, int] = (-5.0, 5.0, 41)
    points: int = 48
    starts: int = 4

    @cached_property
    def all_scales(self) -> Float64[np.ndarray, "scales"]:
        """Each larger than the one before by the same factor."""
        return np.geomspace(*self.scales)

    @cached_property
    def all_biases(self) -> Float64[np.ndarray, "biases"]:
        """Evenly spread."""
        return np.linspace(*self.biases)


@dataclass(frozen=True, kw_only=True)
class ProfileRules:
    """How neurons are fitted to profiles.

    Args:
        grid: where fits start.
        fit_points: points of a profile on which they are compared; the best one is polished on all of them.
        steps: of the fit and of the polish.
        longest_move: of a bias in one step: flat profiles suggest absurd ones.
        jump_rounds: grids of scales, each four times finer, where a second derivative jumps.
        beyond: how far behind the last point, in spreads of the points, it jumps at the latest.
        flat_power: sum of the squares of a second derivative below which it is flat and nothing is fitted: that of tanh
            at one point, 24 from its centre, where it has been constant up to rounding since 19.
        largest_damping: relative to the diagonal, with which a fit ends: that is after sixteen steps in a row, from its
            first damping, that did not lower the loss.

    Heuristic, as `StartGrid`.
    """

    grid: StartGrid = field(default_factory=StartGrid)
    fit_points: int = 160
    steps: tuple[int, int] = (60, 12)
    longest_move: float = 2.0
    jump_rounds: int = 7
    beyond: float = 1e-3
    flat_power: float = 1e-40
    largest_damping: float = 1e8


PROFILE_RULES = ProfileRules()


@dataclass(frozen=True)
class Profiles:
    """Second derivative of every neuron along its own direction, at every measured point.

    Args:
        positions: ``<u_k, x_i>``.
        coefficients: ``c_ik`` for every output.
        residual: part of the Hessians (root mean square, relative) that the atoms do not explain.
    """

    positions: Float64[np.ndarray, "points neurons"]
    coefficients: Float64[np.ndarray, "points outputs neurons"]
    residual: float


@dataclass(frozen=True)
class ProfileFit:
    """The neurons ``curvature / s^2 g(s t + b)`` that fit the profiles best for one activation.

    Args:
        activation: the activation that was tried.
        scales: ``s`` of every neuron, positive where the activation has a reflection law.
        biases: ``b`` of every neuron.
        curvatures: ``a s^2`` for every output and neuron.
        misfits: relative root mean square misfit of every profile.
    """

    activation: Activation
    scales: PerNeuron
    biases: PerNeuron
    curvatures: Float64[np.ndarray, "outputs neurons"]
    misfits: PerNeuron

    @property
    def typical_misfit(self) -> float:
        """Median misfit over the neurons."""
        return float(np.median(self.misfits)) if len(self.misfits) else 0.0


def neuron_profiles(sample: HessianSample, atoms: Atoms) -> Profiles:
    """Decompose every measured Hessian in the squares of the atoms (directions along the frame)."""
    squares = pack_squares(atoms).T
    flat = sample.hessians.reshape(-1, squares.shape[0])
    coefficients = np.linalg.lstsq(squares, flat.T, rcond=None)[0]
    unexplained = flat.T - squares @ coefficients
    shape = (*sample.hessians.shape[:2], len(atoms))
    return Profiles(
        positions=sample.points @ (sample.frame @ atoms.T),
        coefficients=coefficients.T.reshape(shape),
        residual=float(np.linalg.norm(unexplained) / max(np.linalg.norm(flat), np.finfo(float).tiny)),
    )


def fit_profiles(
    profiles: Profiles,
    activation: Activation,
    *,
    neurons: np.ndarray | None = None,
    rules: ProfileRules = PROFILE_RULES,
) -> ProfileFit:
    """Fit scale, bias and output weight of every neuron (or of the chosen ones) for one activation.

    A grid search with the output weights eliminated gives starts; variable projection refines them. Without a
    reflection law the sign of a direction matters, so that both are fitted.

    Assumes: one neuron per direction. Guarantees: heuristic; the misfit says how well it fits.
    """
    chosen = np.arange(profiles.positions.shape[1]) if neurons is None else neurons
    if len(chosen) == 0:
        none = np.empty(0)
        return ProfileFit(activation, none, none, np.empty((profiles.coefficients.shape[1], 0)), none)
    positions = np.ascontiguousarray(profiles.positions[:, chosen].T)
    targets = np.ascontiguousarray(np.moveaxis(profiles.coefficients[:, :, chosen], 2, 0))
    fit = _fit if activation.is_smooth else _fit_broken
    found = fit(positions, targets, activation, rules)
    if activation.reflection is not None:
        return found
    other = fit(-positions, targets, activation, rules)
    is_other = other.misfits < found.misfits
    return ProfileFit(
        activation=activation,
        scales=np.where(is_other, -other.scales, found.scales),
        biases=np.where(is_other, other.biases, found.biases),
        curvatures=np.where(is_other, other.curvatures, found.curvatures),
        misfits=np.minimum(other.misfits, found.misfits),
    )


def _fit(positions: Positions, targets: Targets, activation: Activation, rules: ProfileRules) -> ProfileFit:
    """Fit neurons with positive scales for a smooth activation."""
    center, spread = positions.mean(axis=1, keepdims=True), positions.std(axis=1, keepdims=True)
    spread = np.where(spread > 0, spread, 1.0)
    standard = (positions - center) / spread
    starts = np.array([_grid_starts(standard[k], targets[k], activation, rules) for k in range(len(positions))])
    # All starts of all neurons are one batch: a few points of each, then the best start on all of them.
    few = slice(None, rules.fit_points)
    scales, biases, _, misfits = (
        part.reshape(starts.shape[:2] + part.shape[1:])
        for part in _variable_projection(
            np.repeat(standard[:, few], starts.shape[1], axis=0),
            np.repeat(targets[:, few], starts.shape[1], axis=0),
            activation,
            scales=starts[:, :, 0].ravel(),
            biases=starts[:, :, 1].ravel(),
            steps=rules.steps[0],
            rules=rules,
        )
    )
    chosen = (np.arange(len(starts)), np.argmin(misfits, axis=1))
    scales, biases = scales[chosen], biases[chosen]
    scales, biases, curvatures, misfits = _variable_projection(
        standard, targets, activation, scales=scales, biases=biases, steps=rules.steps[1], rules=rules
    )
    return ProfileFit(
        activation=activation,
        scales=scales / spread[:, 0],
        biases=biases - scales * center[:, 0] / spread[:, 0],
        curvatures=curvatures.T,
        misfits=misfits,
    )


def _fit_broken(positions: Positions, targets: Targets, activation: Activation, rules: ProfileRules) -> ProfileFit:
    """Fit neurons with positive scales for an activation whose second derivative jumps at one place.

    Where it jumps is known up to the distance of two points only, and no derivative tells it: all places between two
    points are tried, with scales on grids that become finer.
    """
    fits = [_fit_jump(along, seen, activation, rules) for along, seen in zip(positions, targets, strict=True)]
    scales, biases, weights, misfits = (np.array(part) for part in zip(*fits, strict=True))
    return ProfileFit(activation, scales, biases, weights.T, misfits)


def _fit_jump(
    positions: np.ndarray, targets: np.ndarray, activation: Activation, rules: ProfileRules
) -> tuple[float, float, np.ndarray, float]:
    """Scale, bias, output weights and relative misfit of one neuron."""
    ordered, spread = np.sort(positions), max(float(np.std(positions)), np.finfo(float).tiny)
    places = np.concatenate([0.5 * (ordered[1:] + ordered[:-1]), ordered[-1:] + rules.beyond * spread])
    start = activation.breaks(2)[0]

    def shapes(scales: np.ndarray, places: np.ndarray) -> np.ndarray:
        return activation(scales[:, None, None] * (positions - places[:, None]) + start, 2)

    scale, place = 1.0 / spread, 0
    scales, width = rules.grid.all_scales / spread, float(np.log(rules.grid.all_scales[1] / rules.grid.all_scales[0]))
    for _ in range(rules.jump_rounds):
        tried = shapes(scales, places)
        power = np.maximum(np.einsum("scp,scp->sc", tried, tried), rules.flat_power)
        explained = np.sum((tried @ targets) ** 2, axis=2) / power
        best, place = np.unravel_index(np.argmax(explained), explained.shape)
        scale = float(scales[best])
        scales, width = scale * np.exp(width * np.linspace(-1.0, 1.0, 9)), 0.25 * width
    shape = shapes(np.array([scale]), places[place : place + 1])[0, 0]
    weights = shape @ targets / max(float(shape @ shape), rules.flat_power)
    norm = max(float(np.linalg.norm(targets)), np.finfo(float).tiny)
    misfit = float(np.linalg.norm(targets - shape[:, None] * weights)) / norm
    return scale, float(start - scale * places[place]), weights, misfit


def _grid_starts(positions: np.ndarray, targets: np.ndarray, activation: Activation, rules: ProfileRules) -> np.ndarray:
    """The best few (scale, bias) of the grid for one profile."""
    points = np.linspace(0, len(positions) - 1, min(rules.grid.points, len(positions))).astype(int)
    scales, biases = (grid.ravel() for grid in np.meshgrid(rules.grid.all_scales, rules.grid.all_biases, indexing="ij"))
    shapes = activation(scales[:, None] * positions[points] + biases[:, None], 2)
    power = np.maximum(np.sum(shapes**2, axis=1), rules.flat_power)
    explained = np.sum((shapes @ targets[points]) ** 2, axis=1) / power
    # Neighbours on the grid lead to the same fit: a start must beat the cells next to it.
    surface = np.pad(explained.reshape(len(rules.grid.all_scales), -1), 1, constant_values=-np.inf)
    inner = surface[1:-1, 1:-1]
    is_peak = np.all([inner >= surface[i : i + inner.shape[0], j : j + inner.shape[1]]
                      for i in range(3) for j in range(3)], axis=0).ravel()  # fmt: skip
    order = np.argsort(np.where(is_peak, -explained, np.inf), kind="stable")[: rules.grid.starts]
    order = np.where(is_peak[order], order, order[0])
    return np.stack([scales[order], biases[order]], axis=1)


def _variable_projection(
    positions: np.ndarray,
    targets: np.ndarray,
    activation: Activation,
    *,
    scales: np.ndarray,
    biases: np.ndarray,
    steps: int,
    rules: ProfileRules,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Levenberg-Marquardt in (scale, bias) of all neurons at once, output weights eliminated (Kaufman).

    One batch of 2 x 2 systems with a damping each: one by one, through `numerics.least_squares`, would be a loop over
    neurons.
    """
    scales, biases, damping = scales.copy(), biases.copy(), np.full(len(positions), 1e-3)
    system = partial(_projected_system, flat_power=rules.flat_power)
    weights, loss, gram, slope = system(positions, targets, activation, scales, biases)
    active = np.arange(len(positions))
    for _ in range(steps):
        move = _solve_pairs(gram[active], slope[active], damping[active])
        # Flat profiles suggest absurd moves; a bounded one can still go anywhere in a few steps.
        trial_scales = scales[active] * np.clip(1.0 + move[:, 0] / scales[active], 0.3, 3.0)
        trial_biases = biases[active] + np.clip(move[:, 1], -rules.longest_move, rules.longest_move)
        trial = system(positions[active], targets[active], activation, trial_scales, trial_biases)
        better = trial[1] < loss[active]
        is_settled = better & (loss[active] - trial[1] <= 1e-13 * loss[active])
        moved = active[better]
        scales[moved], biases[moved] = trial_scales[better], trial_biases[better]
        weights[moved], loss[moved], gram[moved], slope[moved] = (part[better] for part in trial)
        damping[active] *= np.where(better, 0.2, 5.0)
        active = active[~is_settled & (damping[active] < rules.largest_damping)]
        if len(active) == 0:
            break
    norms = np.maximum(np.linalg.norm(targets, axis=(1, 2)), np.finfo(float).tiny)
    return scales, biases, weights, np.sqrt(loss) / norms


def _solve_pairs(gram: np.ndarray, slope: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """Damped 2 x 2 systems by Cramer's rule; a singular one (a flat profile) stays where it is."""
    first, second = gram[:, 0, 0] * (1 + damping), gram[:, 1, 1] * (1 + damping)
    determinant = first * second - gram[:, 0, 1] ** 2
    is_regular = determinant > np.finfo(float).tiny
    safe = np.where(is_regular, determinant, 1.0)
    move = np.stack([second * slope[:, 0] - gram[:, 0, 1] * slope[:, 1],
                     first * slope[:, 1] - gram[:, 0, 1] * slope[:, 0]], axis=1)  # fmt: skip
    return np.where(is_regular[:, None], move / safe[:, None], 0.0)


def _projected_system(
    positions: np.ndarray,
    targets: np.ndarray,
    activation: Activation,
    scales: np.ndarray,
    biases: np.ndarray,
    *,
    flat_power: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Best output weights, squared misfit, Gauss-Newton matrix and descent direction at (scale, bias)."""
    arguments = scales[:, None] * positions + biases[:, None]
    shape = activation(arguments, 2)
    power = np.maximum(np.einsum("kp,kp->k", shape, shape), flat_power)
    weights = np.einsum("kp,kpo->ko", shape, targets) / power[:, None]
    residuals = targets - shape[:, :, None] * weights[:, None, :]
    bend = activation(arguments, 3)
    columns = np.stack([bend * positions, bend], axis=2)
    columns -= shape[:, :, None] * (np.einsum("kp,kpc->kc", shape, columns) / power[:, None])[:, None, :]
    gram = np.einsum("kpc,kpd->kcd", columns, columns) * np.sum(weights**2, axis=1)[:, None, None]
    slope = np.einsum("kpc,kpo,ko->kc", columns, residuals, weights)
    return weights, np.sum(residuals**2, axis=(1, 2)), gram, slope
