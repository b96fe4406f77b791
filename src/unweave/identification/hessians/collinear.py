"""Several neurons on one direction: they share an atom, and their profiles add up.

Where one neuron does not explain the profile of an atom, two or three of the same activation may.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from unweave.activations import Activation
from unweave.identification.profiles import ProfileFit, Profiles
from unweave.numerics.least_squares import is_over

SCALES = np.geomspace(0.15, 6.0, 14)
BIASES = np.linspace(-4.0, 4.0, 21)
STARTS = 6
# Pairs of dictionary entries among which starts are chosen.
BEST_PAIRS = 4_000
FIT_STEPS = 200
# Damping of the first step, relative to the diagonal of the equations, and the one at which a fit is given up.
FIRST_DAMPING, LARGEST_DAMPING = 1e-3, 1e8
# What the diagonal gets in any case, so that equations which rounding has made singular can be solved.
RIDGE = 1e-15
# Relative gain of a step at which a fit has settled: a hundred such steps would not bring what another part must.
SETTLED = 1e-4
# Squared misfit of an exact fit.
EXACT = 1e-28
# Steps after which only the starts that fit best are followed, and how many of them.
HEAT, FINALISTS = 40, 2
# Singular values of the shapes of parts below this share of the largest are rounding.
RANK_TOL = 1e-13


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
class SplitRules:
    """Limits that decide when an atom carries several neurons.

    Args:
        most_neurons: per atom; chosen: a fourth has too many unknowns for the points of a profile.
        poor_misfit: of a profile, above which it is looked at again: the typical one up to which an activation is
            clearly the right one (`ProfileStarts`).
        believed_gain: share of the misfit that another neuron may leave to be believed; chosen: three more unknowns
            bring that of noise down by far less than twenty times.
    """

    most_neurons: int = 3
    poor_misfit: float = 1e-3
    believed_gain: float = 0.05


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
        more = _fit_parts(positions, targets, fit.activation, parts)
        if more[3] > rules.believed_gain * best[3]:
            break
        best = more
        if best[3] <= rules.poor_misfit:
            break
    return best


def _fit_parts(
    positions: np.ndarray, targets: np.ndarray, activation: Activation, parts: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Variable projection in all scales and biases, from the best combinations of a coarse dictionary."""
    norm = float(np.linalg.norm(targets))
    starts = np.array(_dictionary_starts(positions, targets, activation, parts))
    found = _variable_projection(positions, targets / norm, activation, starts)
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


def _variable_projection(
    positions: np.ndarray, targets: np.ndarray, activation: Activation, starts: np.ndarray
) -> _Projected:
    """Levenberg-Marquardt from all starts at once, with a damping each: one by one would be a loop of small fits."""
    best = _projected(positions, targets, activation, starts)
    damping, active = np.full(len(starts), FIRST_DAMPING), np.arange(len(starts))
    for step in range(FIT_STEPS):
        if step == HEAT:
            active = np.intersect1d(active, np.argsort(best.losses)[:FINALISTS])
        if len(active) == 0 or np.min(best.losses) < EXACT or is_over():
            break
        grams, diagonal = best.grams[active], np.einsum("kii->ki", best.grams[active])
        ridge = damping[active, None] * diagonal + np.finfo(float).tiny
        damped = grams + ridge[:, :, None] * np.eye(grams.shape[1])
        moves = np.linalg.solve(damped + RIDGE * np.max(diagonal, axis=1)[:, None, None] * np.eye(grams.shape[1]),
                                best.slopes[active][:, :, None])[:, :, 0]  # fmt: skip
        trial = _projected(positions, targets, activation, best.parameters[active] + moves)
        is_better = trial.losses < best.losses[active]
        has_settled = is_better & (best.losses[active] - trial.losses <= SETTLED * best.losses[active])
        best.take_over(trial, active[is_better], np.flatnonzero(is_better))
        damping[active] = np.where(is_better, 0.2, 5.0) * damping[active]
        active = active[~has_settled & (damping[active] < LARGEST_DAMPING)]
    return best


def _projected(
    positions: np.ndarray, targets: np.ndarray, activation: Activation, parameters: np.ndarray
) -> _Projected:
    """Eliminate the output weights; derivatives of the projection as Kaufman (1975) simplifies them."""
    scales, biases = (part[:, None, :] for part in np.split(parameters, 2, axis=1))
    arguments = positions[:, None] * scales + biases
    # Parameters may run away to where an activation is no number any more: such a part is flat.
    basis, triangle = np.linalg.qr(np.nan_to_num(activation(arguments, 2), posinf=0.0, neginf=0.0))
    coefficients = np.swapaxes(basis, 1, 2) @ targets
    residuals = targets - basis @ coefficients
    with np.errstate(over="ignore", invalid="ignore"):
        # Parts that have become equal, or flat, share a weight: no inverse of their triangle is needed.
        weights = np.linalg.pinv(triangle, rcond=RANK_TOL) @ coefficients
    bend = np.nan_to_num(activation(arguments, 3), posinf=0.0, neginf=0.0)
    columns = np.concatenate([bend * positions[:, None], bend], axis=2)
    columns -= basis @ (np.swapaxes(basis, 1, 2) @ columns)
    twice = np.concatenate([weights, weights], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        # Where that has run away, too, the step is no number and is not taken.
        grams = (np.swapaxes(columns, 1, 2) @ columns) * (twice @ np.swapaxes(twice, 1, 2))
        slopes = np.sum((np.swapaxes(columns, 1, 2) @ residuals) * twice, axis=2)
    return _Projected(parameters.copy(), weights, np.sum(residuals**2, axis=(1, 2)), grams, slopes)


def _dictionary_starts(
    positions: np.ndarray, targets: np.ndarray, activation: Activation, parts: int
) -> list[np.ndarray]:
    spread = float(np.std(positions)) or 1.0
    scales, biases = (grid.ravel() for grid in np.meshgrid(SCALES / spread, BIASES, indexing="ij"))
    columns = activation(positions[:, None] * scales + biases, 2)
    norms = np.linalg.norm(columns, axis=0)
    usable = norms > 1e-8 * norms.max()
    scales, biases, columns = scales[usable], biases[usable], columns[:, usable] / norms[usable]
    chosen = _best_pairs(columns, targets)
    starts = []
    for pair in chosen:
        members = list(pair)
        while len(members) < parts:
            basis = np.linalg.qr(columns[:, members])[0]
            rest, left = targets - basis @ (basis.T @ targets), columns - basis @ (basis.T @ columns)
            power = np.maximum(np.sum(left**2, axis=0), 1e-6)
            members.append(int(np.argmax(np.sum((left.T @ rest) ** 2, axis=1) / power)))
        starts.append(np.concatenate([scales[members], biases[members]]))
    return starts


def _best_pairs(columns: np.ndarray, targets: np.ndarray) -> list[tuple[int, int]]:
    """The pairs of dictionary entries that explain most, no two sharing an entry."""
    gram, products = columns.T @ columns, columns.T @ targets
    determinant = np.maximum(1.0 - gram**2, 1e-4)
    square = np.sum(products**2, axis=1)
    explained = (square[:, None] + square[None, :] - 2 * gram * (products @ products.T)) / determinant
    flat = np.triu(explained, 1).ravel()
    best = np.argpartition(-flat, min(BEST_PAIRS, flat.size - 1))[:BEST_PAIRS]
    order = best[np.argsort(-flat[best], kind="stable")]
    pairs: list[tuple[int, int]] = []
    used: set[int] = set()
    for entry in order:
        i, j = divmod(int(entry), columns.shape[1])
        if i not in used and j not in used:
            pairs.append((i, j))
            used |= {i, j}
        if len(pairs) == STARTS:
            break
    return pairs
