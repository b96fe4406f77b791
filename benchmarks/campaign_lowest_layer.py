"""Families of lowest layers under an unknown upper function for `campaign_samples.py`."""

from collections.abc import Callable
from functools import partial

import numpy as np

import planted_samples as planted
from campaigns import Family, Judged, Verdict
from unweave import learn  # estimators are loaded when first used
from unweave.learn.lowest_layer.units import unit_named
from unweave.result import Outcome

FRESH = 20_000
# Standard errors that a share of fresh samples may exceed its limit by.
CHANCE = 4.0
# Degrees that are rounding.
ROUNDING = 1e-4

Upper = Callable[[np.ndarray], np.ndarray]
UPPERS: dict[str, Upper] = {
    "sum": lambda u: u.sum(axis=1),
    "signed sum": lambda u: u @ np.resize([1.0, -0.7, 1.3], u.shape[1]),
    "pairs": lambda u: u.sum(axis=1) + (u.sum(axis=1) ** 2 - (u**2).sum(axis=1)) / 2,
    "or": lambda u: 1.0 - np.prod(1.0 - u, axis=1),
    "tanh": lambda u: np.tanh(u.sum(axis=1)),
    "largest": lambda u: u.max(axis=1),
}


def judge(
    seed: int,
    *,
    kind: Callable[[np.random.Generator, int], planted.Inputs] = planted.gaussian,
    units: tuple[str, ...] = ("relu", "step", "sigmoid"),
    uppers: tuple[str, ...] = tuple(UPPERS),
    thresholds: tuple[float, float] = (0.5, 2.0),
    noise: tuple[float, float] = (0.0, 0.0),
    rows: tuple[int, int] = (3_000, 30_000),
    twins: bool = False,
    most: int = 1,
) -> Judged:
    """Plant, fit and judge."""
    rng = np.random.default_rng([3, seed])
    inputs = int(rng.integers(2, 7))
    shape, samples = kind(rng, inputs), int(np.exp(rng.uniform(*np.log(rows))))
    true = planted.unit_rows(rng, int(rng.integers(1 + twins, min(inputs, 4) + 1)), inputs)
    if rng.random() < 0.5:
        true = np.linalg.qr(true.T)[0].T
    true = planted.near_duplicates(rng, true) if twins else true
    levels = np.full(len(true), rng.uniform(*thresholds)) if rng.random() < 0.5 else rng.uniform(*thresholds, len(true))
    name, upper = units[int(rng.integers(len(units)))], UPPERS[uppers[int(rng.integers(len(uppers)))]]
    plain = shape.draw(rng, samples)
    labels = upper(unit_named(name)(plain @ true.T - levels))
    labels = labels + rng.uniform(*noise) * np.std(labels) * rng.standard_normal(samples)
    again = planted.repeated(rng, samples, most)
    plain, labels = plain[again], labels[again]
    neurons = len(true) if rng.random() < 0.1 else None
    model = learn.LowestLayerRegressor(activation=name, neurons=neurons, random_state=seed).fit(
        shape.points(plain), labels
    )
    if model.outcome_ is Outcome.NOT_IDENTIFIED:
        return Judged(Verdict.HONEST_NO, model.result_.reason[:120])
    is_active = shape.draw(rng, FRESH) @ true.T >= levels
    return compared(model, shape, true, levels, is_active)


def compared(model, shape: planted.Inputs, rows: np.ndarray, levels: np.ndarray, is_active: np.ndarray) -> Judged:
    """Compare what is claimed with the truth."""
    claim, is_whole = model.certificate_, model.outcome_ is Outcome.IDENTIFIED
    about = f"{model.activation}, {model.outcome_.value}: {model.result_.reason[:140]}"
    found, found_levels, _ = shape.white(model.weights_, model.thresholds_)
    true, true_levels, _ = shape.white_plain(rows, levels)
    # Under an unknown upper function a step or sigmoid and its complement are the same unit.
    mine, its, angles = planted.matched(found, true, (found_levels, true_levels), signed=model.activation == "relu")
    if len(mine) < len(found):
        return Judged(Verdict.WRONG, f"{len(found)} rows of {len(true)}; {about}")
    if np.isfinite(claim.resolution):
        # Rows that are nearer to each other than is claimed to be told apart count as right if found between them.
        near = np.degrees(np.arccos(np.clip(np.abs(true @ true.T), 0.0, 1.0))) + 360.0 * np.eye(len(true))
        is_twin = np.min(near, axis=1) < claim.resolution
        angles = np.where(is_twin[its] & (np.degrees(angles) < claim.resolution), 0.0, angles)
    worst = float(np.degrees(np.max(angles)))
    if worst > claim.largest_angle + ROUNDING:
        return Judged(Verdict.WRONG, f"{worst:.3g} degrees, claimed {claim.largest_angle:.3g}; {about}")
    for missing in sorted(set(range(len(true))) - set(its.tolist())) if is_whole else []:
        share = float(np.mean(is_active[:, missing] & (is_active.sum(axis=1) == 1)))
        if not share <= claim.missing_share + CHANCE * np.sqrt(claim.missing_share / FRESH):
            return Judged(Verdict.WRONG, f"misses a row that is alone for {share:.4f}; {about}")
    return Judged(Verdict.RIGHT if is_whole else Verdict.PARTLY_RIGHT, f"{worst:.2g} degrees; {about}")


VARIANTS: dict[str, dict] = {
    "relu": {"units": ("relu",)},
    "step": {"units": ("step",)},
    "sigmoid": {"units": ("sigmoid",)},
    "low thresholds": {"thresholds": (-1.0, 0.5)},
    "low thresholds, noise": {"thresholds": (-1.0, 0.5), "noise": (0.01, 0.3)},
    "high thresholds": {"thresholds": (1.5, 3.0)},
    "relu, noise": {"units": ("relu",), "noise": (0.01, 0.3)},
    "relu pairs, noise": {"units": ("relu",), "uppers": ("pairs",), "noise": (0.05, 0.2)},
    "step, noise": {"units": ("step",), "noise": (0.01, 0.3)},
    "sigmoid, noise": {"units": ("sigmoid",), "noise": (0.01, 0.3)},
    "near duplicates": {"twins": True},
    "few samples": {"rows": (2, 500)},
    "offset 1e5": {"kind": planted.far_away},
    "constant column": {"kind": planted.constant_column},
    "ill-conditioned": {"kind": planted.ill_conditioned},
    "tiny or huge numbers": {"kind": planted.scaled},
    "binary column": {"kind": planted.binary_column},
    "repeated rows": {"most": 30},
    "repeated rows, noise": {"most": 30, "noise": (0.01, 0.3)},
    "heavy tails": {"kind": planted.heavy_tails},
}
FAMILIES = [Family("lowest layer", name, partial(judge, **settings)) for name, settings in VARIANTS.items()]
