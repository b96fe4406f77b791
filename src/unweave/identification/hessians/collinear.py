"""Several neurons on one direction: they share an atom, and their profiles add up.

Where one neuron does not explain the profile of an atom, two or three of the same activation may.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64, Int

from unweave.activations import Activation
from unweave.identification.profiles import ProfileFit, Profiles

SCALES = np.geomspace(0.15, 6.0, 14)
BIASES = np.linspace(-4.0, 4.0, 21)
STARTS = 6


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

    def shapes(parameters: np.ndarray) -> np.ndarray:
        scales, biases = np.split(parameters, 2)
        return activation(positions[:, None] * scales + biases, 2)

    def residuals(parameters: np.ndarray) -> np.ndarray:
        columns = shapes(parameters)
        return (targets - columns @ np.linalg.lstsq(columns, targets, rcond=None)[0]).ravel() / norm

    fits = [
        scipy.optimize.least_squares(
            residuals, start, method="trf", x_scale="jac", max_nfev=200, ftol=1e-15, xtol=1e-14
        )
        for start in _dictionary_starts(positions, targets, activation, parts)
    ]
    solution = min(fits, key=lambda result: result.cost).x
    weights = np.linalg.lstsq(shapes(solution), targets, rcond=None)[0]
    scales, biases = np.split(solution, 2)
    # A negative scale is the reflected neuron: even or odd second derivatives say which weight it has.
    law = activation.reflection
    sign = np.where(scales < 0, law.sign, 1) if law else np.ones(parts)
    flip = np.where(scales < 0, -1.0, 1.0) if law else np.ones(parts)
    return scales * flip, biases * flip, weights * sign[:, None], float(np.linalg.norm(residuals(solution)))


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
    order = np.argsort(-np.triu(explained, 1), axis=None)[:4000]
    pairs: list[tuple[int, int]] = []
    used: set[int] = set()
    for flat in order:
        i, j = divmod(int(flat), columns.shape[1])
        if i not in used and j not in used:
            pairs.append((i, j))
            used |= {i, j}
        if len(pairs) == STARTS:
            break
    return pairs
