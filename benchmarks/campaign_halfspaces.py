"""Families of half spaces for `campaign_samples.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import planted_samples as planted
from campaigns import Family, Judged, Verdict
from unweave import learn  # estimators are loaded when first used
from unweave.result import Outcome

FRESH = 20_000
# Standard errors that a share of fresh samples may exceed its limit by.
CHANCE = 4.0
# Pairs of labels for outside and inside of the union, in both orders of the alphabet.
ENCODINGS = ((0, 1), (1, 0), (-1, 7), ("in", "out"), ("out", "in"), ("malignant", "benign"), (True, False), (2, 1))


@dataclass(frozen=True, eq=False)
class Union:
    """Half spaces ``<row, z> >= level`` in plain coordinates; no rows if the class is no union of any."""

    rows: np.ndarray
    levels: np.ndarray
    is_active: Callable[[np.ndarray], np.ndarray]


def half_spaces(rows: np.ndarray, levels: np.ndarray) -> Union:
    """The union of these."""
    return Union(rows, levels, lambda plain: np.any(plain @ rows.T >= levels, axis=1))


def ordinary(rng: np.random.Generator, inputs: int, *, most: int = 4, twins: bool = False) -> Union:
    """Some random ones, each of which holds 3 % to 30 %, or with a small or large threshold."""
    rows = planted.unit_rows(rng, int(rng.integers(1 + twins, max(min(most, inputs), 1 + twins) + 1)), inputs)
    rows = planted.near_duplicates(rng, rows) if twins else rows
    levels = rng.uniform(0.5, 1.8, len(rows))
    if twins and rng.random() < 0.5:
        levels[1] = levels[0]
    return half_spaces(rows, levels)


def one_of_three(rng: np.random.Generator, inputs: int) -> Union:
    """The others of a class among three that linear functions decide, as one-versus-rest has it."""
    slopes, levels = rng.standard_normal((3, inputs)), 0.3 * rng.standard_normal(3)
    rows = slopes[1:] - slopes[0]
    lengths = np.linalg.norm(rows, axis=1)
    return half_spaces(rows / lengths[:, None], (levels[1:] - levels[0]) / lengths)


def no_union(rng: np.random.Generator, inputs: int) -> Union:
    """A ball, a quadric, a checkerboard, or chance."""
    w, radius = planted.unit_rows(rng, 2, inputs), np.sqrt(inputs) * rng.uniform(0.7, 1.1)
    kinds = (
        lambda z: np.linalg.norm(z, axis=1) > radius,
        lambda z: (z @ w[0]) ** 2 - z @ w[1] > 0.3,
        lambda z: (z @ w[0] > 0) ^ (z @ w[1] > 0),
        lambda z: np.sin(1e5 * z @ w[0]) > 0,
        lambda z: np.abs(z @ w[0]) + 0.5 * np.sin(3 * z @ w[1]) > 1,
    )
    return Union(np.empty((0, inputs)), np.empty(0), kinds[int(rng.integers(len(kinds)))])


def judge(
    seed: int,
    *,
    kind: Callable[[np.random.Generator, int], planted.Inputs] = planted.gaussian,
    plant: Callable[[np.random.Generator, int], Union] = ordinary,
    noise: tuple[float, float] = (0.0, 0.0),
    inputs: tuple[int, int] = (2, 7),
    rows: tuple[int, int] = (2_000, 20_000),
    most: int = 1,
    one_sided: bool = False,
) -> Judged:
    """Plant, fit and judge; one-sided noise flips the labels of one class alone."""
    rng = np.random.default_rng([1, seed])
    count = int(rng.integers(inputs[0], inputs[1] + 1))
    shape, samples = kind(rng, count), int(np.exp(rng.uniform(*np.log(rows))))
    truth = plant(rng, count)
    plain = shape.draw(rng, samples)
    outside, inside = ENCODINGS[int(rng.integers(len(ENCODINGS)))]
    is_active = truth.is_active(plain)
    is_flipped = rng.random(samples) < rng.uniform(*noise)
    if one_sided:
        is_flipped &= is_active == (rng.random() < 0.5)
    is_active = is_active ^ is_flipped
    again = planted.repeated(rng, samples, most)
    plain, is_active = plain[again], is_active[again]
    if len(np.unique(is_active)) < 2:
        return Judged(Verdict.HONEST_NO, "one class only")
    labels = np.where(is_active, inside, outside)
    estimator = learn.HalfspaceUnionClassifier if rng.random() < 0.5 else learn.HalfspaceIntersectionClassifier
    neurons = len(truth.rows) or None if rng.random() < 0.2 else None
    # More half spaces than samples are refused, as they should be.
    neurons = None if neurons is not None and neurons > samples else neurons
    model = estimator(neurons=neurons, random_state=seed).fit(shape.points(plain), labels)
    fresh = shape.draw(rng, FRESH)
    said = model.predict(shape.points(fresh))
    is_in_union = np.any(model.network_(shape.points(fresh[:2_000])) > 0, axis=1)
    other = model.classes_[model.classes_ != model.inside_][0]
    union_class, rest = (model.inside_, other) if model._is_union else (other, model.inside_)
    if np.any(said[:2_000] != np.where(is_in_union, union_class, rest)):
        return Judged(Verdict.WRONG, "the network is not what predicts")
    if model.outcome_ is Outcome.NOT_IDENTIFIED:
        majority = max(np.mean(is_active), 1 - np.mean(is_active))
        share = np.mean(said == np.where(truth.is_active(fresh), inside, outside))
        # A little below the majority is chance; far below it the classes are swapped.
        is_swapped = samples >= 1_000 and share < 0.5 < majority - 0.2
        return Judged(Verdict.WRONG if is_swapped else Verdict.HONEST_NO, f"right for {share:.3f}, {majority:.3f}")
    return compared(model, shape, truth, fresh, said != np.where(truth.is_active(fresh), inside, outside))


def compared(model, shape: planted.Inputs, truth: Union, fresh: np.ndarray, is_wrong: np.ndarray) -> Judged:
    """Compare what is claimed with the truth."""
    claim, is_whole = model.certificate_, model.outcome_ is Outcome.IDENTIFIED
    if not len(truth.rows):
        # A curved boundary that is nearer to flat ones than what is named as invisible can't be told from them.
        is_near = np.mean(is_wrong) <= claim.missing_share + CHANCE * np.sqrt(claim.missing_share / FRESH)
        verdict = Verdict.PARTLY_RIGHT if is_near else Verdict.WRONG
        return Judged(verdict, f"{model.outcome_.value}: no half spaces; {model.result_.reason[:200]}")
    sign = 1.0 if model._is_union else -1.0
    found, levels, _ = shape.white(sign * model.normals_, sign * model.offsets_)
    true, true_levels, _ = shape.white_plain(truth.rows, truth.levels)
    is_inside = fresh @ truth.rows.T >= truth.levels
    if len(found) == 1:
        # One half space and its complement are the same statement, whatever others there are that no sample is in.
        is_in_found = (fresh / shape.spread) @ found[0] >= levels[0]
        sign = 1.0 if np.mean(is_in_found == is_inside.any(axis=1)) >= 0.5 else -1.0
        true, true_levels = sign * true, sign * true_levels
    wrong = float(np.mean(is_wrong))
    if wrong > claim.wrong_share + CHANCE * np.sqrt(claim.wrong_share / FRESH):
        return Judged(Verdict.WRONG, f"wrong for {wrong:.4f}, claimed {claim.wrong_share:.4f}")
    mine, its, angles = planted.matched(found, true, (levels, true_levels))
    if len(mine) < len(found):
        return Judged(Verdict.WRONG, f"{len(found)} half spaces of {len(true)}: {model.result_.reason[:160]}")
    if np.max(np.degrees(angles)) > claim.largest_angle + 1e-6:
        return Judged(Verdict.WRONG, f"{np.max(np.degrees(angles)):.3g} degrees, claimed {claim.largest_angle:.3g}")
    for missing in sorted(set(range(len(true))) - set(its.tolist())):
        share = float(np.mean(is_inside[:, missing] & (is_inside.sum(axis=1) == 1)))
        if share > claim.missing_share + CHANCE * np.sqrt(claim.missing_share / FRESH):
            return Judged(Verdict.WRONG, f"misses one of {share:.4f}, claimed {claim.missing_share:.4f}")
    return Judged(Verdict.RIGHT if is_whole else Verdict.PARTLY_RIGHT, f"{np.max(np.degrees(angles)):.2g} degrees")


VARIANTS: dict[str, dict] = {
    "Gaussian": {},
    "more than inputs": {"plant": partial(ordinary, most=5), "inputs": (2, 2)},
    "one input": {"inputs": (1, 1)},
    "one versus rest": {"plant": one_of_three},
    "near duplicates": {"plant": partial(ordinary, twins=True)},
    "no union": {"plant": no_union},
    "no union, label noise": {"plant": no_union, "noise": (0.01, 0.1)},
    "label noise": {"noise": (0.001, 0.15)},
    "label noise, one class": {"noise": (0.001, 0.2), "one_sided": True},
    "few samples": {"rows": (2, 400)},
    "offset 1e5": {"kind": planted.far_away},
    "constant column": {"kind": planted.constant_column, "inputs": (3, 7)},
    "ill-conditioned": {"kind": planted.ill_conditioned},
    "tiny or huge numbers": {"kind": planted.scaled},
    "binary column": {"kind": planted.binary_column},
    "repeated rows": {"most": 100},
    "repeated rows, label noise": {"most": 30, "noise": (0.001, 0.1)},
    "rounded inputs": {"kind": planted.rounded, "inputs": (1, 4)},
    "heavy tails": {"kind": planted.heavy_tails},
    "heavy tails, label noise": {"kind": planted.heavy_tails, "noise": (0.001, 0.1)},
}
FAMILIES = [Family("half spaces", name, partial(judge, **settings)) for name, settings in VARIANTS.items()]
