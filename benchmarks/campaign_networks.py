"""Overparameterised and hierarchical training on samples that are made to mislead them: are loss and outcome true?

A global minimum has to predict its labels, an identified network has to be the teacher at fresh points, and a
hierarchical network may be farther off than its largest held-out error only at as many fresh points as it says.
"""

import numpy as np

import planted_samples as planted
from campaigns import Family, Judged, Verdict
from unweave import learn  # estimators are loaded when first used
from unweave.exceptions import InvalidInput
from unweave.networks.quadratic.teacher import make_teacher
from unweave.result import Outcome

WIDE, DEEP = "overparameterised", "hierarchical"
# Largest root mean square error, relative to that of the labels, of what is called a fit, and an identified network.
FITTED, IDENTIFIED = 1e-5, 1e-5
# The share that a certificate names holds with 95 %; in many trials only a violation of this chance is held against it.
CHANCE = 1e-5


def judge_wide(
    points: np.ndarray, labels: np.ndarray, *, fresh: tuple[np.ndarray, np.ndarray] | None = None, **settings: object
) -> Judged:
    """Train a wide network, and compare its claims with its predictions."""
    try:
        model = learn.OverparameterizedRegressor(random_state=0, **{"ridge": 0, **settings}).fit(points, labels)
    except InvalidInput as error:
        return Judged(Verdict.HONEST_NO, str(error)[:120])
    certificate, size = model.certificate_, max(float(np.sqrt(np.mean(labels**2))), 1e-150)
    error = float(np.sqrt(np.mean((model.predict(points) - labels) ** 2)))
    away = 0.0 if fresh is None else _relative_error(model, fresh)
    detail = f"loss {certificate.loss:.2e}, predict {error**2 / 2:.2e}, fresh {away:.1e}, {model.outcome_.value}"
    is_identified = model.outcome_ is Outcome.IDENTIFIED
    is_false = (
        not abs(np.sqrt(2 * certificate.loss) - error) <= 1e-6 * error + 1e-7 * size
        or (certificate.is_global_minimum and not error <= FITTED * size)
        or (is_identified and (fresh is None or away > IDENTIFIED))
    )
    if is_false:
        return Judged(Verdict.WRONG, detail)
    if not certificate.is_global_minimum:
        return Judged(Verdict.HONEST_NO, detail)
    return Judged(Verdict.RIGHT if is_identified else Verdict.PARTLY_RIGHT, detail)


def _relative_error(model: object, fresh: tuple[np.ndarray, np.ndarray]) -> float:
    predict = getattr(model, "predict")  # noqa: B009
    size = float(np.std(fresh[1])) or float(np.sqrt(np.mean(fresh[1] ** 2))) or 1.0
    return float(np.sqrt(np.mean((predict(fresh[0]) - fresh[1]) ** 2))) / size


def _points(rng: np.random.Generator, samples: int, inputs: int) -> np.ndarray:
    """Gaussian points, with offsets, units, or columns that agree or do not vary."""
    points = rng.standard_normal((samples, inputs))
    kind = rng.integers(6)
    if kind == 1:
        points = points + 1e5
    elif kind == 2:
        points[:, 0] = 1.6e9 + 1e6 * points[:, 0]
    elif kind == 3:
        points[:, -1] = points[:, 0] + 10.0 ** rng.uniform(-14, -2) * points[:, -1]
    elif kind == 4:
        points[:, -1] = rng.choice([0.0, 0.1, 1e5])
    elif kind == 5:
        points = points * 10.0 ** rng.uniform(-rng.choice([3, 60, 220]), rng.choice([3, 60, 220]), inputs)
    return points


def wide_points(seed: int) -> Judged:
    """Random labels on points of all kinds."""
    rng = np.random.default_rng([11, seed])
    points = _points(rng, int(rng.integers(2, 40)), int(rng.integers(2, 7)))
    labels = rng.standard_normal(len(points)) * 10.0 ** rng.choice([0, 0, -40, 40, 220])
    return judge_wide(points, labels, activation=str(rng.choice(["softplus(10.0)", "tanh", "gelu"])))


def wide_labels(seed: int) -> Judged:
    """Constant labels, labels with an offset, and equal points with different labels, which nothing fits."""
    rng = np.random.default_rng([12, seed])
    points = rng.standard_normal((int(rng.integers(4, 30)), int(rng.integers(1, 6))))
    labels, kind = rng.standard_normal(len(points)), rng.integers(3)
    if kind == 0:
        labels[:] = rng.choice([0.0, 1.0, -1e5, 1e-9])
    elif kind == 1:
        labels += rng.choice([1e5, 1e9])
    else:
        points[1] = points[0]
    return judge_wide(points, labels)


def narrow_teachers(seed: int) -> Judged:
    """More samples than parameters, of a teacher of the same size or larger, with and without noise."""
    rng = np.random.default_rng([13, seed])
    inputs, neurons = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    weights, heights = rng.standard_normal((neurons, inputs)), rng.standard_normal(neurons)
    shift, unit = float(rng.choice([0.0, 10.0, 1e5])), float(rng.choice([1.0, 1e-3, 1e4]))

    def draw(samples: int) -> tuple[np.ndarray, np.ndarray]:
        points = rng.standard_normal((samples, inputs))
        return unit * points + shift, np.tanh(points @ weights.T) @ heights

    points, labels = draw(200)
    noise = float(rng.choice([0.0, 0.0, 1e-3]))
    students = max(1, neurons + int(rng.integers(-1, 2)))
    fresh = draw(500) if noise == 0 else None
    return judge_wide(
        points, labels + noise * rng.standard_normal(200), fresh=fresh, neurons=students, activation="tanh"
    )


def judge_deep(
    points: np.ndarray, labels: np.ndarray, fresh: tuple[np.ndarray, np.ndarray], widths: tuple[int, ...]
) -> Judged:
    """Train a hierarchical network, and compare its error with that at fresh points."""
    try:
        model = learn.HierarchicalRegressor(widths, random_state=0).fit(points, labels)
    except InvalidInput as error:
        return Judged(Verdict.HONEST_NO, str(error)[:120])
    certificate, away = model.certificate_, _relative_error(model, fresh) ** 2
    # Errors are relative to the variance of labels, in which copies of a row count once.
    distinct = np.unique(np.column_stack([points, labels]), axis=0)[:, -1]
    unit = float(np.var(distinct)) or float(np.mean(distinct**2)) or 1.0
    errors = (model.predict(fresh[0]) - fresh[1]) ** 2 / unit
    beyond = float(np.mean(errors > certificate.largest_error + 1e-20))
    detail = (
        f"named {certificate.relative_error:.1e} +- {certificate.error_bar:.1e} of {certificate.held_out}, fresh "
        f"{away:.1e}, {beyond:.2f} beyond, ranks {certificate.ranks}, {model.outcome_.value}"
    )
    if model.outcome_ is Outcome.NOT_IDENTIFIED:
        return Judged(Verdict.HONEST_NO, detail)
    if model.outcome_ is Outcome.IDENTIFIED:
        is_right = away <= IDENTIFIED**2 and float(np.ptp(labels)) > 0
        return Judged(Verdict.RIGHT if is_right else Verdict.WRONG, detail)
    is_right = beyond <= 1.0 - CHANCE ** (1.0 / certificate.held_out)
    return Judged(Verdict.PARTLY_RIGHT if is_right else Verdict.WRONG, detail)


def deep_teachers(seed: int) -> Judged:
    """Teachers of two levels, students of other widths, noise, few samples."""
    rng = np.random.default_rng([14, seed])
    inputs = int(rng.integers(3, 6))
    teacher = make_teacher(rng, inputs=inputs, widths=(2, 1), level_weights=(1.0, 0.3))
    points = rng.standard_normal((int(rng.choice([15, 60, 200, 400])), inputs))
    fresh = rng.standard_normal((2000, inputs))
    noise = float(rng.choice([0.0, 0.0, 1e-6, 0.1]))
    labels = teacher(points)[:, 0] + noise * rng.standard_normal(len(points))
    widths = ((2, 1), (1, 1), (3, 2), (2,))[rng.integers(4)]
    return judge_deep(points, labels, (fresh, teacher(fresh)[:, 0]), widths)


def deep_points(seed: int) -> Judged:
    """A quadratic function of points of all kinds, and constant labels."""
    rng = np.random.default_rng([15, seed])
    points = _points(rng, 360, int(rng.integers(2, 4)))
    centred = points - points.mean(axis=0)
    with np.errstate(all="ignore"):
        white = centred / np.where(centred.std(axis=0) > 0, centred.std(axis=0), 1.0)
    labels = (white @ rng.standard_normal(white.shape[1])) ** 2 + white[:, 0]
    if rng.random() < 0.2:
        labels[:] = rng.choice([0.0, 1.0, -1e5])
    if not np.all(np.isfinite(labels)):
        labels = np.nan_to_num(labels, nan=0.0, posinf=1.0, neginf=-1.0)
    return judge_deep(points[:60], labels[:60], (points[60:], labels[60:]), ((2,), (1, 1))[rng.integers(2)])


def deep_copies(seed: int) -> Judged:
    """Chance, or a teacher with or without noise, at few points whose rows come again and again."""
    rng = np.random.default_rng([16, seed])
    inputs, count = int(rng.integers(2, 5)), int(rng.choice([10, 30, 60, 200]))
    teacher = make_teacher(rng, inputs=inputs, widths=(2, 1), level_weights=(1.0, 0.3))
    points, fresh = rng.standard_normal((count, inputs)), rng.standard_normal((2000, inputs))
    noise = float(rng.choice([0.0, 0.1, 100.0]))
    labels, again = teacher(points)[:, 0] + noise * rng.standard_normal(count), planted.repeated(rng, 20 * count, 40)
    truth = teacher(fresh)[:, 0] + noise * rng.standard_normal(2000)
    widths = ((2, 1), (3, 2))[rng.integers(2)]
    return judge_deep(points[again % count], labels[again % count], (fresh, truth), widths)


FAMILIES = [
    Family(WIDE, "points of all kinds", wide_points),
    Family(WIDE, "labels of all kinds", wide_labels),
    Family(WIDE, "narrow students of teachers", narrow_teachers),
    Family(DEEP, "teachers of two levels", deep_teachers),
    Family(DEEP, "points of all kinds", deep_points),
    Family(DEEP, "repeated rows", deep_copies),
]
