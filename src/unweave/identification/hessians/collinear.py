"""Several neurons on one direction: they share an atom, and their profiles add up.

Where one neuron does not explain the profile of an atom, two or three of the same activation may.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64, Int

from unweave.activations import Activation
from unweave.identification.profiles import ProfileFit, Profiles
from unweave.numerics.least_squares import is_over


@dataclass(frozen=True)
class SplitFit:
    """A fit in which an atom may carry several neurons.

    Args:
        fit: one entry per neuron.
        atom: the atom on which each neuron lies.
    """

    fit: ProfileFit
    atom: Int[np.ndarray, "neurons"]


@dataclass(frozen=True, kw_only=True)
class PartsFit:
    """Settings of the fit of several neurons to one profile, by variable projection from the best of a dictionary.

    Args:
        scales: of the dictionary, in units of the spread of positions: the smallest, the largest, and how many.
        biases: of the dictionary: the smallest, the largest, and how many. Beyond, tanh is flat.
        starts: pairs of the dictionary that are followed.
        best_pairs: among which starts are chosen.
        visible: norm of an entry of the dictionary, relative to the largest, below which it is flat and left out.
        least_determinant: of two entries of norm one, which bounds what a pair of nearly equal ones seems to explain.
        least_power: the same for what other entries leave of a third one.
        steps: largest number of steps.
        first_damping: relative to the diagonal of the equations.
        largest_damping: at which a start is given up.
        ridge: what the diagonal gets in any case, so that equations which rounding has made singular can be solved.
        settled: relative gain of a step at which a fit has settled: a hundred such steps would not bring what another
            part must.
        exact: squared misfit of an exact fit: rounding of 1e-14.
        heat: steps after which only the starts that fit best are followed.
        finalists: how many of them.
        damping_factors: after a step that helps, and after one that does not.
        rank_tol: singular values of the shapes of parts below this share of the largest are rounding.

    Heuristic where nothing else is said: planted networks in tests and benchmarks are what numbers were checked on.
    """

    scales: tuple[float, float, int] = (0.15, 6.0, 14)
    biases: tuple[float, float, int] = (-4.0, 4.0, 21)
    starts: int = 6
    best_pairs: int = 4_000
    visible: float = 1e-8
    least_determinant: float = 1e-4
    least_power: float = 1e-6
    steps: int = 200
    first_damping: float = 1e-3
    largest_damping: float = 1e8
    ridge: float = 1e-15
    settled: float = 1e-4
    exact: float = 1e-28
    heat: int = 40
    finalists: int = 2
    damping_factors: tuple[float, float] = (0.2, 5.0)
    rank_tol: float = 1e-13


@dataclass(frozen=True, kw_only=True)
class SplitRules:
    """Limits that decide when an atom carries several neurons.

    Args:
        most_neurons: per atom; chosen: a fourth has too many unknowns for the points of a profile.
        poor_misfit: of a profile, above which it is looked at again: the typical one up to which an activation is
            clearly the right one (`ProfileStarts`).
        believed_gain: share of the misfit that another neuron may leave to be believed; chosen: three more unknowns
            bring that of noise down by far less than twenty times.
        fit: how several neurons are fitted to a profile.
    """

    most_neurons: int = 3
    poor_misfit: float = 1e-3
    believed_gain: float = 0.05
    fit: PartsFit = field(default_factory=PartsFit)


def split_collinear(profiles: Profiles, fit: ProfileFit, rules: SplitRules) -> SplitFit | None:
    """Explain the poor profiles of a fit by two or three neurons each; None if there is nothing to split."""
    poor = np.flatnonzero(fit.misfits > rules.poor_misfit)
    pieces = {int(k): _split_profile(profiles, fit, int(k), rules) for k in poor}
    if not any(len(piece[0]) > 1 for piece in pieces.values()):
        return None
    rows: list[tuple[int, float, float, np.ndarray, float]] = []
    for k in range(len(fit.scales)):
        if k not in pieces:
            rows.append((k, fit.scales[k], fit.biases[k], fit.curvatures[:, k], fit.misfits[k]))
            continue
        scales, biases, curvatures, misfit = pieces[k]
        rows += [(k, s, b, c, misfit) for s, b, c in zip(scales, biases, curvatures, strict=True)]
    atom, scales, biases, curvatures, misfits = (np.array(column) for column in zip(*rows, strict=True))
    return SplitFit(ProfileFit(fit.activation, scales, biases, curvatures.T, misfits), atom.astype(np.int64))


def _split_profile(
    profiles: Profiles, fit: ProfileFit, k: int, rules: SplitRules
) -> tuple[Float64[np.ndarray, "parts"], Float64[np.ndarray, "parts"], np.ndarray, float]:
    """Scales, biases and curvatures (parts x outputs) of the neurons on atom k, and the misfit they leave."""
    positions, targets = profiles.positions[:, k], profiles.coefficients[:, :, k]
    best = (
        np.array([fit.scales[k]]),
        np.array([fit.biases[k]]),
        fit.curvatures[:, k][None],
        float(fit.misfits[k]),
    )
    for parts in range(2, rules.most_neurons + 1):
        # Each part has a scale, a bias and one weight per output; leave data to contradict it.
        if targets.size < parts * (2 + targets.shape[1]) + 2:
            break
        more = _fit_parts(positions, targets, fit.activation, parts, rules.fit)
        if more[3] > rules.believed_gain * best[3]:
            break
        best = more
        if best[3] <= rules.poor_misfit:
            break
    return best


def _fit_parts(
    positions: np.ndarray, targets: np.ndarray, activation: Activation, parts: int, fit: PartsFit
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Variable projection in all scales and biases, from the best combinations of a coarse dictionary."""
    norm = float(np.linalg.norm(targets))
    starts = np.array(_dictionary_starts(positions, targets, activation, parts, fit))
    found = _variable_projection(positions, targets / norm, activation, starts, fit)
    best = int(np.argmin(found.losses))
    (scales, biases), weights = np.split(found.parameters[best], 2), norm * found.weights[best]
    # A negative scale is the reflected neuron: even or odd second derivatives say which weight it has.
    law = activation.reflection
    sign = np.where(scales < 0, law.sign, 1) if law else np.ones(parts)
    flip = np.where(scales < 0, -1.0, 1.0) if law else np.ones(parts)
    return scales * flip, biases * flip, weights * sign[:, None], float(np.sqrt(found.losses[best]))


@dataclass(frozen=True)
class _Projected:
    """Fits of the same profile from several starts, with the best weights for their scales and biases.

    Args:
        parameters: the scales of the parts, then their biases.
        weights: the best output weights.
        losses: squared misfits.
        grams: Gauss-Newton matrices.
        slopes: directions in which the misfit falls.
    """

    parameters: Float64[np.ndarray, "starts parameters"]
    weights: Float64[np.ndarray, "starts parts outputs"]
    losses: Float64[np.ndarray, "starts"]
    grams: Float64[np.ndarray, "starts parameters parameters"]
    slopes: Float64[np.ndarray, "starts parameters"]

    def take_over(self, others: "_Projected", rows: np.ndarray, chosen: np.ndarray) -> None:
        """Put the chosen ones of other fits into these rows."""
        for mine, theirs in zip(vars(self).values(), vars(others).values(), strict=True):
            mine[rows] = theirs[chosen]


# Parts that have run away have Gauss-Newton matrices beyond all numbers: their steps are not taken.
@np.errstate(over="ignore", invalid="ignore")
def _variable_projection(
    positions: np.ndarray, targets: np.ndarray, activation: Activation, starts: np.ndarray, fit: PartsFit
) -> _Projected:
    """Levenberg-Marquardt from all starts at once, with a damping each: one by one would be a loop of small fits."""
    best = _projected(positions, targets, activation, starts, fit)
    damping, active = np.full(len(starts), fit.first_damping), np.arange(len(starts))
    for step in range(fit.steps):
        if step == fit.heat:
            active = np.intersect1d(active, np.argsort(best.losses)[: fit.finalists])
        if len(active) == 0 or np.min(best.losses) < fit.exact or is_over():
            break
        grams, diagonal = best.grams[active], np.einsum("kii->ki", best.grams[active])
        ridge = damping[active, None] * diagonal + np.finfo(float).tiny
        damped = grams + ridge[:, :, None] * np.eye(grams.shape[1])
        moves = np.linalg.solve(damped + fit.ridge * np.max(diagonal, axis=1)[:, None, None] * np.eye(grams.shape[1]),
                                best.slopes[active][:, :, None])[:, :, 0]  # fmt: skip
        trial = _projected(positions, targets, activation, best.parameters[active] + moves, fit)
        is_better = trial.losses < best.losses[active]
        has_settled = is_better & (best.losses[active] - trial.losses <= fit.settled * best.losses[active])
        best.take_over(trial, active[is_better], np.flatnonzero(is_better))
        damping[active] = np.where(is_better, *fit.damping_factors) * damping[active]
        active = active[~has_settled & (damping[active] < fit.largest_damping)]
    return best


def _projected(
    positions: np.ndarray, targets: np.ndarray, activation: Activation, parameters: np.ndarray, fit: PartsFit
) -> _Projected:
    """Eliminate the output weights; derivatives of the projection as Kaufman (1975) simplifies them."""
    scales, biases = (part[:, None, :] for part in np.split(parameters, 2, axis=1))
    arguments = positions[:, None] * scales + biases
    # Parameters may run away to where an activation is no number any more: such a part is flat.
    basis, triangle = np.linalg.qr(np.nan_to_num(activation(arguments, 2), posinf=0.0, neginf=0.0))
    # A part that is flat, or equal to another one, has a direction of rounding, which explains nothing.
    diagonal = np.abs(np.einsum("kii->ki", triangle))
    basis *= (diagonal > fit.rank_tol * np.max(diagonal, axis=1, keepdims=True))[:, None]
    coefficients = np.swapaxes(basis, 1, 2) @ targets
    residuals = targets - basis @ coefficients
    with np.errstate(over="ignore", invalid="ignore"):
        # Parts that have become equal, or flat, share a weight: no inverse of their triangle is needed.
        weights = np.linalg.pinv(triangle, rcond=fit.rank_tol) @ coefficients
    bend = np.nan_to_num(activation(arguments, 3), posinf=0.0, neginf=0.0)
    columns = np.concatenate([bend * positions[:, None], bend], axis=2)
    columns -= basis @ (np.swapaxes(basis, 1, 2) @ columns)
    twice = np.concatenate([weights, weights], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        # Where that has run away, too, steps from here are no numbers.
        grams = (np.swapaxes(columns, 1, 2) @ columns) * (twice @ np.swapaxes(twice, 1, 2))
        slopes = np.sum((np.swapaxes(columns, 1, 2) @ residuals) * twice, axis=2)
    # A step that is no number is not taken.
    is_number = np.all(np.isfinite(parameters), axis=1)
    losses = np.where(is_number, np.sum(residuals**2, axis=(1, 2)), np.inf)
    return _Projected(parameters.copy(), weights, losses, grams, slopes)


def _dictionary_starts(
    positions: np.ndarray, targets: np.ndarray, activation: Activation, parts: int, fit: PartsFit
) -> list[np.ndarray]:
    spread = float(np.std(positions)) or 1.0
    grids = np.geomspace(*fit.scales) / spread, np.linspace(*fit.biases)
    scales, biases = (grid.ravel() for grid in np.meshgrid(*grids, indexing="ij"))
    columns = activation(positions[:, None] * scales + biases, 2)
    norms = np.linalg.norm(columns, axis=0)
    usable = norms > fit.visible * norms.max()
    scales, biases, columns = scales[usable], biases[usable], columns[:, usable] / norms[usable]
    chosen = _best_pairs(columns, targets, fit)
    starts = []
    for pair in chosen:
        members = list(pair)
        while len(members) < parts:
            basis = np.linalg.qr(columns[:, members])[0]
            rest, left = targets - basis @ (basis.T @ targets), columns - basis @ (basis.T @ columns)
            power = np.maximum(np.sum(left**2, axis=0), fit.least_power)
            members.append(int(np.argmax(np.sum((left.T @ rest) ** 2, axis=1) / power)))
        starts.append(np.concatenate([scales[members], biases[members]]))
    return starts


def _best_pairs(columns: np.ndarray, targets: np.ndarray, fit: PartsFit) -> list[tuple[int, int]]:
    """The pairs of dictionary entries that explain most, no two sharing an entry."""
    gram, products = columns.T @ columns, columns.T @ targets
    determinant = np.maximum(1.0 - gram**2, fit.least_determinant)
    square = np.sum(products**2, axis=1)
    explained = (square[:, None] + square[None, :] - 2 * gram * (products @ products.T)) / determinant
    flat = np.triu(explained, 1).ravel()
    best = np.argpartition(-flat, min(fit.best_pairs, flat.size - 1))[: fit.best_pairs]
    order = best[np.argsort(-flat[best], kind="stable")]
    pairs: list[tuple[int, int]] = []
    used: set[int] = set()
    for entry in order:
        i, j = divmod(int(entry), columns.shape[1])
        if i not in used and j not in used:
            pairs.append((i, j))
            used |= {i, j}
        if len(pairs) == fit.starts:
            break
    return pairs
