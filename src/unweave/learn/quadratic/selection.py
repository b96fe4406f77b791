"""Signs and penalties of networks of squares, chosen by rows that the fit has not seen."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from unweave.arrays import PerPoint, Points, packed_size
from unweave.learn.quadratic.frame import Frame
from unweave.learn.quadratic.lifted import LiftedSemidefinite
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.learn.quadratic.ridge import RidgeSystem
from unweave.learn.quadratic.search import TrustRegion
from unweave.samples.sources import DistinctRows


def _rough() -> LiftedSemidefinite:
    return LiftedSemidefinite(
        steps=350, gap_tol=1e-4, first_round=50, finish=TrustRegion(steps=3, gap_tol=0.0, escape=lambda *_: None)
    )


@dataclass(frozen=True)
class Choice:
    """Signs and penalties of a network.

    Args:
        sign: of all output weights, 1 or -1; 0 for both.
        ridge: weight of half the squared Frobenius norm of the form of standardised inputs, for both signs.
        trace: weight of the mean output, which is the trace of the form in white coordinates, for one sign.
        error: mean squared error on held-out rows, relative to the mean square of the labels; NaN if none were.
    """

    sign: int
    ridge: float = 0.0
    trace: float = 0.0
    error: float = float("nan")

    @property
    def is_penalised(self) -> bool:
        """Whether there is a penalty."""
        return self.ridge > 0 or self.trace > 0


@dataclass(frozen=True, kw_only=True)
class ExactFitRules:
    """When held-out rows say first whether labels can be exact.

    Args:
        large: rows times squared products of inputs from which on they are asked: about a second of work.
        well_conditioned: condition of the squares up to which they can tell; chosen, far below where rounding shows.
        not_exact: squared error on held-out rows, relative to labels, that no exact labels leave: Gram matrices of
            condition 1e6, the square of the one above, leave the square of 1e-10.
    """

    large: float = 1e9
    well_conditioned: float = 1e3
    not_exact: float = 1e-12


EXACT_FIT_RULES = ExactFitRules()


@dataclass(frozen=True, kw_only=True)
class SelectionRules:
    """How signs and penalties are chosen.

    Args:
        ridges: that are tried, for standardised inputs and labels of root mean square 1: from where rounding would show
            to where nothing is left but the mean.
        traces: that are tried, in the unit of the labels; chosen: noise of a fifth of the labels calls for the middle.
        folds: of the rows, each held out in turn; the usual number.
        enough_rows: from which on one tenth of the rows is held out once, which then is as good; chosen.
        fewest_rows: below, there is nothing to hold out, and no penalty; chosen.
        wrong_share: share of the squares of labels that may have the wrong sign for a form of one sign to be tried.
        rows_per_product: with more rows than this per product of two inputs a form of one sign is tried only if the
            best one of both signs loses little when its wrong eigenvalues are cut off: one sign is worth most with few
            rows.
        cut_loss: how much of its held-out error it may lose then.
        rough: semidefinite fits of folds, which need to be right to a small part of the noise only.
    """

    ridges: tuple[float, ...] = (0.0, *(10.0 ** (power / 2) for power in range(-12, 5)))
    traces: tuple[float, ...] = (0.0, 0.01, 0.03, 0.1)
    folds: int = 5
    enough_rows: int = 5_000
    fewest_rows: int = 10
    wrong_share: float = 0.1
    rows_per_product: float = 2.0
    cut_loss: float = 0.5
    rough: LiftedSemidefinite = field(default_factory=_rough)

    def sign_of(self, labels: PerPoint) -> int:
        """The one sign that a network of these labels may have; 0 if none does."""
        for sign in (1, -1):
            wrong = np.minimum(sign * labels, 0.0)
            if float(wrong @ wrong) <= self.wrong_share * float(labels @ labels) and np.any(sign * labels > 0):
                return sign
        return 0

    def held_out(self, points: Points) -> Iterator[np.ndarray]:
        """Masks of rows that are held out in turn: always the same, so that a fit can be repeated."""
        distinct = DistinctRows.of(points)
        is_large = distinct.count >= self.enough_rows
        order = distinct.folds(np.random.default_rng(distinct.count), 10 if is_large else self.folds)
        for fold in range(1 if is_large else self.folds):
            yield order == fold


RULES = SelectionRules()


@dataclass(frozen=True, eq=False)
class Candidates:
    """What may be chosen from.

    Args:
        sign: the one sign that is; 0 if none is.
        ridges: penalties of both signs; none if these are not to be chosen from.
        traces: penalties of one sign; likewise.
    """

    sign: int
    ridges: tuple[float, ...]
    traces: tuple[float, ...]


def choose(
    system: RidgeSystem,
    white: Frame,
    candidates: Candidates,
    *,
    rules: SelectionRules = RULES,
) -> Choice:
    """Choose signs and penalties by the error on held-out rows.

    Args:
        system: the samples, with standardised inputs.
        white: the samples in white coordinates.
        candidates: what may be chosen.
        rules: how.
    """
    folds = list(rules.held_out(system.points))
    best, tries_one = Choice(candidates.sign), True
    if candidates.ridges:
        ridges = np.array(candidates.ridges)
        errors, cut = _errors_of_both(system, ridges, folds, candidates.sign)
        place = int(np.nanargmin(errors))
        best = Choice(0, float(ridges[place]), 0.0, float(errors[place]))
        is_tall = len(system.points) > rules.rows_per_product * packed_size(system.points.shape[1])
        tries_one = not is_tall or cut <= (1 + rules.cut_loss) * best.error
    for trace in candidates.traces if tries_one else ():
        error = _error_of_one(white, candidates.sign, trace, folds, rules)
        if not error >= best.error:
            best = Choice(candidates.sign, 0.0, trace, error)
    return best


def _errors_of_both(
    system: RidgeSystem, ridges: np.ndarray, folds: list[np.ndarray], sign: int
) -> tuple[np.ndarray, float]:
    """Held-out error per ridge, and that of the best form of a fold without its eigenvalues of the wrong sign."""
    errors, cut, size = np.zeros(len(ridges)), 0.0, 0.0
    for held in folds:
        forms = system.forms(ridges, without=held)
        points, labels = system.points[held], system.labels[held]
        rest = np.stack([np.sum((points @ form) * points, axis=1) - labels for form in forms])
        found = np.sum(rest**2, axis=1)
        values, vectors = np.linalg.eigh(forms[int(np.argmin(found))])
        outputs = (points @ vectors) ** 2 @ (sign * np.maximum(sign * values, 0.0) if sign else values)
        errors, cut, size = errors + found, cut + np.sum((outputs - labels) ** 2), size + np.sum(labels**2)
    size = size or 1.0
    return errors / size, float(cut / size)


def _error_of_one(white: Frame, sign: int, trace: float, folds: list[np.ndarray], rules: SelectionRules) -> float:
    error, size = 0.0, 0.0
    for held in folds:
        points, labels = white.points[~held], white.labels[~held] - sign * trace
        form = rules.rough(QuadraticProblem(points, labels, np.full(points.shape[1], float(sign)))).matrix
        outputs = np.sum((white.points[held] @ form) * white.points[held], axis=1)
        error += float(np.sum((outputs - white.labels[held]) ** 2))
        size += float(np.sum(white.labels[held] ** 2))
    return error / (size or 1.0)
