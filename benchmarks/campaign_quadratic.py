"""Quadratic training on samples that are made to mislead it: are the loss, its lower bound and the outcome true?

A lower bound is false if anything attains less. For output weights of both signs that is least squares in centred,
white coordinates, in long floats with iterative refinement; for one sign the semidefinite matrix that the solver
Clarabel finds in the same coordinates, and a search of SciPy for its factor. The certified loss has to be that of
`predict`. Fits are judged without penalties, and with those that held-out rows choose: then all is about loss plus
penalty, which the references add as well.
"""

from collections.abc import Callable
from dataclasses import dataclass

import clarabel
import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csc_matrix, identity

from campaigns import Family, Judged, Verdict
from unweave.exceptions import InvalidInput
from unweave.learn import QuadraticNetworkRegressor
from unweave.result import Outcome

DOOR = "quadratic training"
# A bound counts as false, and a loss as attained, beyond this share of the mean square of the labels.
SHARE = 1e-9
# Directions below this, relative to the largest, are rounding errors of the inputs.
ROUNDING = 1e-14
# Largest error of an identified network at fresh points, relative to the spread of the labels.
IDENTIFIED = 1e-4


@dataclass(frozen=True, eq=False)
class Planted:
    """Samples, settings, and the truth if labels have no noise.

    Args:
        is_plain: whether there is no penalty, or one that held-out rows choose.
        fresh: points of the same kind and their exact labels; None if labels have noise or no quadratic truth.
    """

    points: np.ndarray
    labels: np.ndarray
    has_biases: bool = False
    signs: str = "both"
    neurons: int | None = None
    is_plain: bool = True
    fresh: tuple[np.ndarray, np.ndarray] | None = None


def judge_planted(planted: Planted) -> Judged:
    """Train, and compare every claim with what can be attained."""
    points, labels = planted.points, planted.labels
    penalties = {} if not planted.is_plain else {"ridge": 0} if planted.signs == "both" else {"trace_penalty": 0}
    model = QuadraticNetworkRegressor(
        planted.neurons, signs=planted.signs, fit_bias=planted.has_biases, random_state=0, **penalties
    )
    try:
        model.fit(points, labels)
    except InvalidInput as error:
        return Judged(Verdict.HONEST_NO, str(error)[:120])
    certificate, size = model.certificate_, float(np.mean(labels**2))
    loss = float(np.mean((model.predict(points) - labels) ** 2)) / 2
    attained = attained_loss(planted, ridge=model.ridge_, trace=model.trace_penalty_)
    fresh = 0.0
    if planted.fresh is not None:
        spread = max(float(np.std(labels)), float(np.max(np.abs(labels))), 1e-300)
        fresh = float(np.max(np.abs(model.predict(planted.fresh[0]) - planted.fresh[1]))) / spread
    numbers = (
        f"loss {certificate.loss:.3e}, predict {loss:.3e}, bound {certificate.lower_bound:.3e}, attained "
        f"{attained:.3e}, fresh {fresh:.1e}, {model.outcome_.value}"
    )
    is_identified = model.outcome_ is Outcome.IDENTIFIED
    is_false = (
        not abs(certificate.loss - loss) <= SHARE * (loss + 1e-6 * size)
        or not certificate.lower_bound <= attained + SHARE * attained + 1e-14 * size
        or (certificate.is_global and certificate.objective > attained + SHARE * size)
        or (is_identified and fresh > IDENTIFIED)
        or (is_identified and planted.fresh is None and min(loss, attained) > SHARE * size)
    )
    if is_false:
        return Judged(Verdict.WRONG, numbers)
    if not certificate.is_global:
        return Judged(Verdict.HONEST_NO, numbers)
    return Judged(Verdict.RIGHT if is_identified else Verdict.PARTLY_RIGHT, numbers)


def attained_loss(planted: Planted, *, ridge: float = 0.0, trace: float = 0.0) -> float:
    """The least loss plus penalty that a reference attains, of networks with enough neurons of the signs."""
    labels = planted.labels.astype(np.longdouble)
    unit = np.sqrt(np.mean(labels**2)) or np.longdouble(1)
    labels = labels / unit
    if ridge > 0:
        return float(unit**2 * np.longdouble(_ridge(planted.points, labels, ridge, has_biases=planted.has_biases)))
    white, constant = _white(planted.points, has_biases=planted.has_biases), 0.0
    if planted.signs == "both":
        left, right = np.triu_indices(white.shape[1])
        loss = _least_squares(white[:, left] * white[:, right], labels)
    else:
        sign = 1.0 if planted.signs == "positive" else -1.0
        plain, signed = white.astype(float), sign * labels.astype(float)
        # A penalty on the mean output moves the labels: |f - y|^2 / 2 + t f = |f - y + t|^2 / 2 + t y - t^2 / 2.
        constant, signed = trace * float(np.mean(signed)) - trace**2 / 2, signed - trace
        loss = _factored(plain, signed, planted.neurons)
        if planted.neurons is None or planted.neurons >= plain.shape[1]:
            loss = min(loss, _semidefinite(plain, signed))
    return float(unit**2 * np.longdouble(loss + constant))


def _ridge(points: np.ndarray, labels: np.ndarray, ridge: float, *, has_biases: bool) -> float:
    """Loss plus penalty of the best form of standardised inputs, by least squares with more rows."""
    exact = points.astype(np.longdouble)
    exact = (exact - exact.mean(axis=0)) * (np.ptp(points, axis=0) > 0) if has_biases else exact
    size = np.sqrt(np.mean(exact**2, axis=0))
    exact = exact / np.where(size > 0, size, 1)
    exact = np.column_stack([exact, np.ones(len(exact))]) if has_biases else exact
    left, right = np.triu_indices(exact.shape[1])
    features = (exact[:, left] * exact[:, right] * np.where(left == right, 1.0, np.sqrt(2.0))).astype(float)
    shrunk = np.sqrt(ridge * len(points)) * np.eye(features.shape[1])[: -1 if has_biases else None]
    rows, wanted = np.vstack([features, shrunk]), np.append(labels.astype(float), np.zeros(len(shrunk)))
    rest = rows @ np.linalg.lstsq(rows, wanted, rcond=1e-15)[0] - wanted
    return float(rest @ rest) / (2 * len(points))


def _white(points: np.ndarray, *, has_biases: bool) -> np.ndarray:
    exact = points.astype(np.longdouble)
    if has_biases:
        exact = exact - exact.mean(axis=0)
        exact = exact * (np.ptp(points, axis=0) > 0)
    largest = np.max(np.abs(exact), axis=0)
    exact = exact / np.where(largest > 0, largest, 1)
    _, values, right = np.linalg.svd(exact.astype(float), full_matrices=False)
    kept = values > ROUNDING * values[0]
    white = exact @ (right[kept] * np.sqrt(len(points)) / values[kept, None]).T.astype(np.longdouble)
    return np.column_stack([white, np.ones(len(points), dtype=np.longdouble)]) if has_biases else white


def _least_squares(features: np.ndarray, labels: np.ndarray) -> float:
    sizes = np.linalg.norm(features.astype(float), axis=0)
    features = features / np.where(sizes > 0, sizes, 1.0)
    solve = np.linalg.pinv(features.astype(float), rcond=1e-14)
    rest, best = labels, np.mean(labels**2)
    for _ in range(8):
        rest = rest - features @ (solve @ rest.astype(float))
        best = min(best, np.mean(rest**2))
    return float(best) / 2


def _semidefinite(points: np.ndarray, labels: np.ndarray) -> float:
    """The loss of the best semidefinite matrix, from an interior point solver."""
    samples, inputs = points.shape
    # The solver's order of a triangle: column by column, entries beside the diagonal times the root of two.
    columns, rows = np.tril_indices(inputs)
    weights = np.where(rows == columns, 1.0, np.sqrt(2.0))
    features = points[:, rows] * points[:, columns] * weights
    size = features.shape[1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        csc_matrix(np.triu(features.T @ features) / samples),
        -features.T @ labels / samples,
        csc_matrix(-identity(size)),
        np.zeros(size),
        [clarabel.PSDTriangleConeT(inputs)],
        settings,
    )
    matrix = np.zeros((inputs, inputs))
    matrix[rows, columns] = matrix[columns, rows] = np.asarray(solver.solve().x) / weights
    # What it returns is semidefinite up to its tolerance only: the nearest matrix that is counts.
    values, vectors = np.linalg.eigh(matrix)
    rest = np.square(points @ vectors) @ np.maximum(values, 0.0) - labels
    return float(rest @ rest) / (2 * samples)


def _factored(points: np.ndarray, labels: np.ndarray, neurons: int | None) -> float:
    """A factor of full rank has no spurious minima; with fewer neurons every start is an upper bound all the same."""
    samples, inputs = points.shape
    rows, rng = neurons or inputs + 1, np.random.default_rng(1)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        factor = flat.reshape(rows, inputs)
        arguments = points @ factor.T
        rest = np.sum(arguments**2, axis=1) - labels
        return float(rest @ rest) / (2 * samples), (2 / samples * (arguments * rest[:, None]).T @ points).ravel()

    starts = (rng.standard_normal(rows * inputs) / np.sqrt(rows * inputs) for _ in range(2))
    options = {"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-12}
    return min(float(minimize(loss, start, jac=True, method="L-BFGS-B", options=options).fun) for start in starts)


def _plain(
    rng: np.random.Generator, *, noise: float = 0.0, samples: int = 0
) -> tuple[np.ndarray, np.ndarray, Callable]:
    """Gaussian points, labels of a random polynomial of degree two, and the polynomial."""
    inputs = int(rng.integers(2, 6))
    samples = samples or int(rng.integers(40, 200))
    matrix, slope, offset = rng.standard_normal((inputs, inputs)), rng.standard_normal(inputs), rng.standard_normal()

    def truth(points: np.ndarray) -> np.ndarray:
        return np.sum((points @ matrix) * points, axis=1) + points @ slope + offset

    points = rng.standard_normal((samples, inputs))
    return points, truth(points) + noise * rng.standard_normal(samples), truth


def _noise(rng: np.random.Generator) -> float:
    return float(rng.choice([0.0, 1e-3, 0.1, 1.0]))


def offsets(seed: int) -> Judged:
    """Columns far from zero, or a time in seconds since 1970."""
    rng = np.random.default_rng([1, seed])
    points, labels, _ = _plain(rng, noise=_noise(rng))
    scales = 10.0 ** rng.uniform(-2, 6, points.shape[1])
    shifts = rng.choice([0.0, 1e3, 1e5, 1.6e9], points.shape[1])
    return judge_planted(Planted(points * scales + shifts, labels, has_biases=bool(rng.random() < 0.8)))


def collinear(seed: int) -> Judged:
    """Two columns that agree up to 1e-1 to 1e-13, while labels depend on their difference."""
    rng = np.random.default_rng([2, seed])
    points, labels, _ = _plain(rng, noise=_noise(rng))
    points = np.column_stack([points[:, :-1], points[:, 0] + 10.0 ** rng.uniform(-13, -1) * points[:, -1]])
    return judge_planted(Planted(points, labels, has_biases=bool(rng.random() < 0.5)))


def degenerate(seed: int) -> Judged:
    """Constant, repeated, binary and one-hot columns, and columns that are squares of others."""
    rng = np.random.default_rng([3, seed])
    points, labels, _ = _plain(rng, noise=_noise(rng))
    samples, more = len(points), []
    if rng.random() < 0.5:
        more.append(np.full(samples, rng.choice([0.0, 1.0, 1e5, 0.1])))
    if rng.random() < 0.5:
        more.append(points[:, 0] * rng.choice([1.0, -2.0, 0.1]))
    if rng.random() < 0.5:
        more.append(rng.integers(0, 2, samples).astype(float))
    if rng.random() < 0.3:
        more.extend(np.eye(3)[rng.integers(0, 3, samples)].T)
    if rng.random() < 0.5:
        more.append(points[:, 0] ** 2 + rng.choice([0.0, 1e-3, 1e-7]) * rng.standard_normal(samples))
    points = np.column_stack([points, *more])
    return judge_planted(Planted(points, labels, has_biases=bool(rng.random() < 0.7)))


def scales(seed: int) -> Judged:
    """Units of columns and labels from 1e-220 to 1e220, and rows far out."""
    rng = np.random.default_rng([4, seed])
    points, labels, _ = _plain(rng, noise=_noise(rng))
    reach = float(rng.choice([3, 30, 60, 220]))
    points = points * 10.0 ** rng.uniform(-reach, reach, points.shape[1])
    if rng.random() < 0.5:
        points[0] *= 10.0 ** rng.uniform(0, 9)
    labels = labels * 10.0 ** rng.uniform(-reach, reach)
    return judge_planted(Planted(points, labels, has_biases=bool(rng.random() < 0.5)))


def few_rows(seed: int) -> Judged:
    """One row, fewer rows than inputs, fewer than products; constant labels."""
    rng = np.random.default_rng([5, seed])
    points, labels, _ = _plain(rng, samples=int(rng.choice([1, 2, 3, 5, 9, 14])))
    if rng.random() < 0.3:
        labels = np.full(len(points), rng.choice([0.0, 1.0, -3.0, 1e5]))
    signs = "negative" if labels[0] < 0 else "positive"
    return judge_planted(
        Planted(points, labels, has_biases=bool(rng.random() < 0.5), signs=str(rng.choice(["both", signs])))
    )


def teachers(seed: int) -> Judged:
    """Teachers of low rank without noise, of one sign or two: what is identified has to be right at fresh points."""
    rng = np.random.default_rng([6, seed])
    inputs, rank = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    samples = int(rng.integers(2 * inputs, 2 * inputs * (inputs + 1)))
    mixing = np.diag(10.0 ** rng.uniform(-rng.choice([0, 3, 6]), 0, inputs)) @ rng.standard_normal((inputs, inputs))
    rows, signs = rng.standard_normal((rank, inputs)), rng.choice([1.0, -1.0], rank)
    is_one_signed = bool(rng.random() < 0.5)
    weights = np.ones(rank) if is_one_signed else signs

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        white = rng.standard_normal((count, inputs))
        return white @ mixing, (white @ rows.T) ** 2 @ weights

    points, labels = draw(samples)
    kind = "positive" if is_one_signed else "both"
    return judge_planted(Planted(points, labels, signs=kind, fresh=draw(50)))


def copies(seed: int) -> Judged:
    """Chance at as many points as a form has numbers, or fewer, each given again or with the other sign."""
    rng = np.random.default_rng([9, seed])
    inputs, has_biases = int(rng.integers(2, 6)), bool(rng.random() < 0.5)
    numbers = (inputs + has_biases) * (inputs + has_biases + 1) // 2
    count = numbers - int(rng.choice([0, 0, 1, 3]))
    points, labels = rng.standard_normal((max(count, 1), inputs)), rng.standard_normal(max(count, 1))
    again = np.repeat(np.arange(len(points)), int(rng.integers(2, 30)))
    factors = 1.0 if has_biases else rng.choice([1.0, -1.0, 3.0], len(again))
    points, labels = points[again] * np.reshape(factors, (-1, 1)), labels[again] * factors**2
    fresh = rng.standard_normal((200, inputs)), rng.standard_normal(200)
    return judge_planted(Planted(points, labels, has_biases=has_biases, fresh=fresh, is_plain=bool(rng.random() < 0.5)))


def penalised(seed: int) -> Judged:
    """Noise, offsets, units, few rows and repeated columns, with the penalties that held-out rows choose."""
    rng = np.random.default_rng([8, seed])
    noise, samples = float(rng.choice([0.1, 1.0, 10.0])), int(rng.choice([12, 20, 60, 150]))
    points, labels, _ = _plain(rng, noise=noise, samples=samples)
    labels = np.abs(labels) if rng.random() < 0.3 else labels
    points = points * 10.0 ** rng.uniform(-6, 6, points.shape[1]) + rng.choice([0.0, 1.0, 1e5], points.shape[1])
    if rng.random() < 0.3:
        points = np.column_stack([points, points[:, 0], np.full(len(points), 2.0)])
    return judge_planted(
        Planted(
            points,
            labels * 10.0 ** rng.uniform(-6, 6),
            has_biases=bool(rng.random() < 0.7),
            signs=str(rng.choice(["both", "positive"])),
            is_plain=False,
        )
    )


def one_sign(seed: int) -> Judged:
    """One sign and noise, in skew coordinates: the bound is that of a semidefinite program."""
    rng = np.random.default_rng([7, seed])
    inputs = int(rng.integers(2, 6))
    samples = int(rng.integers(inputs + 2, 120))
    white = rng.standard_normal((samples, inputs))
    labels = (white @ rng.standard_normal(inputs)) ** 2 + float(rng.choice([1e-6, 1e-2, 1.0])) * rng.standard_normal(
        samples
    )
    mixing = rng.standard_normal((inputs, inputs)) * 10.0 ** rng.uniform(-rng.choice([0, 4, 8]), 0, inputs)
    points = white @ mixing + float(rng.choice([0.0, 10.0, 1e5]))
    neurons = None if rng.random() < 0.7 else int(rng.integers(1, inputs + 1))
    sign = str(rng.choice(["positive", "negative"]))
    return judge_planted(Planted(points, labels if sign == "positive" else -labels, signs=sign, neurons=neurons))


FAMILIES = Family.of(
    DOOR,
    {
        "offsets and times": offsets,
        "nearly equal columns": collinear,
        "degenerate columns": degenerate,
        "units and far rows": scales,
        "few rows, constant targets": few_rows,
        "copies and multiples of rows": copies,
        "teachers of low rank": teachers,
        "one sign with noise": one_sign,
        "penalties by held-out rows": penalised,
    },
)
