import numpy as np
import pytest

from unweave.reproduce.fiedler.near_frames import random_atoms
from unweave.reproduce.fiedler.shift_scales import error_scales


def by_hand(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """(3.142), and (3.143) with (3.17), sum by sum."""
    neurons, inputs = truth.shape
    errors = [np.linalg.norm(truth[k] - found[k]) for k in range(neurons)]
    pairs = sum(
        abs((truth[k] - found[k]) @ (truth[j] - found[j])) for k in range(neurons) for j in range(neurons) if k != j
    )
    total = np.linalg.norm(sum(truth[k] - found[k] for k in range(neurons)))
    before = neurons**1.5 * (np.log(neurons) / inputs) ** 0.75 * max(errors)
    factor = neurons**0.5 * np.log(neurons) ** 0.75 / inputs**0.25
    return before, factor * (np.sqrt(sum(each**2 for each in errors)) + pairs**0.5 / inputs**0.5 + total)


def test_scales_are_those_printed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = random_atoms(rng, inputs=5, neurons=7)
    found = truth + 0.01 * rng.standard_normal(truth.shape)
    scales = error_scales(found, truth)
    assert (scales.before, scales.after) == pytest.approx(by_hand(found, truth))
    assert scales.frobenius + scales.overlaps + scales.total == pytest.approx(scales.after)


def test_aligned_errors_accumulate_and_opposite_ones_cancel() -> None:
    truth = random_atoms(np.random.default_rng(0), inputs=4, neurons=6)
    aside = np.full(4, 1e-3)
    aligned = error_scales(truth + aside, truth)
    signs = np.array([1.0, -1.0] * 3)[:, None]
    opposite = error_scales(truth + signs * aside, truth)
    assert opposite.total == pytest.approx(0.0, abs=1e-12)
    assert opposite.frobenius == pytest.approx(aligned.frobenius)
    # m errors of the same direction: m against sqrt(m).
    assert aligned.total == pytest.approx(np.sqrt(6) * aligned.frobenius)
