"""Bounds against what they bound, on planted atoms, and against their formulas where these can be solved by hand."""

import numpy as np
import pytest

from unweave.arrays import pack_squares, unpack
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign
from unweave.reproduce.fiedler.frame_bounds import (
    Dichotomy,
    atom_certificate,
    cap_cosine,
    counting_threshold,
    good_maximiser_distance,
    largest_others,
    maximiser_distance,
    overcomplete_constant,
    overcomplete_threshold,
    power_dichotomy,
    spectral_dichotomy,
)
from unweave.reproduce.fiedler.incoherence import frame_constant
from unweave.reproduce.fiedler.near_frames import coefficients_of, near_frame, rotated_span, span_of_squares


@pytest.mark.parametrize(("neurons", "noise", "error"), [(8, 0.0, 0.01), (8, 0.03, 0.02), (9, 0.0, 0.005)])
def test_certificates_hold_for_all_mixtures(neurons: int, noise: float, error: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = near_frame(rng, inputs=8, neurons=neurons, noise=noise)
    frame, span = frame_constant(atoms), rotated_span(span_of_squares(atoms), rng, error=error)
    certified = 0
    for place, share in enumerate(np.linspace(0.0, 6.0, 40)):
        aside = rng.standard_normal(neurons)
        matrix = pack_squares(atoms[place % neurons]) @ span.basis + share * aside / np.linalg.norm(aside)
        matrix = span.basis @ (matrix / np.linalg.norm(matrix))
        values, vectors = np.linalg.eigh(unpack(matrix, 8))
        coefficients = coefficients_of(matrix, span, atoms)
        first = int(np.argmax(coefficients))
        others = float(np.linalg.norm(np.delete(coefficients, first)))
        assert others <= largest_others(values[-1], error=error, frame=frame) + 1e-12
        bound = atom_certificate(values[-1], values[-2], error=error, frame=frame, others=others)
        assert bound <= atom_certificate(values[-1], values[-2], error=error, frame=frame)
        assert distances_up_to_sign(vectors[:, -1][None], atoms[first][None])[0, 0] <= bound
        certified += np.isfinite(bound)
    # Neither all nor none: the condition is met and missed.
    assert 5 < certified < 40


def test_a_certificate_of_orthonormal_atoms_has_a_closed_form() -> None:
    assert atom_certificate(0.9, 0.3, error=0.01, frame=0.0) == pytest.approx(np.sqrt(2) * 0.02 / 0.58)
    assert atom_certificate(1.0, 0.0, error=0.0, frame=0.0) == 0.0
    # Without an error and a frame constant the coefficients have unit norm.
    assert largest_others(0.6, error=0.0, frame=0.0) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("largest", "second", "error", "frame"), [(0.5, 0.49, 0.01, 0.0), (0.9, 0.1, 0.5, 0.0), (0.9, 0.0, 0.0, 1.0)]
)
def test_nothing_is_certified_outside_the_conditions(largest: float, second: float, error: float, frame: float) -> None:
    assert atom_certificate(largest, second, error=error, frame=frame, others=0.1) == np.inf


def test_levels_count_what_they_exclude() -> None:
    levels = Dichotomy(0.1, 0.9, applies=True)
    assert levels.between(np.array([0.05, 0.1, 0.2, 0.89, 0.9, 1.0])) == 2


def test_levels_are_those_printed() -> None:
    spectral = spectral_dichotomy(error=0.001, frame=0.01)
    assert (spectral.spurious, spectral.good) == pytest.approx((0.168, 0.832))
    assert spectral.applies
    assert not spectral_dichotomy(error=0.004, frame=0.01).applies
    power = power_dichotomy(error=0.01, frame=0.2)
    assert (power.spurious, power.good) == pytest.approx((0.135, 1 - 1.0 - 0.18))
    # (1 - 1/2)^2 / 22 = 0.0114 is the larger error that is allowed.
    assert power.applies
    assert not power_dichotomy(error=0.0115, frame=0.2).applies
    assert not power_dichotomy(error=0.0, frame=1.0).applies


def test_caps_shrink_to_the_atom() -> None:
    assert cap_cosine(error=0.0, frame=0.0) == 1.0
    assert cap_cosine(error=0.1, frame=0.0) == pytest.approx(np.sqrt(0.7))
    assert cap_cosine(error=0.0, frame=0.24) == 0.0


def test_distances_of_maximisers_follow_from_the_certificate() -> None:
    given = {"error": 0.01, "frame": 0.05, "others": 0.1}
    second = np.sqrt(0.95 * 0.05)
    assert maximiser_distance(0.95, **given) == pytest.approx(atom_certificate(0.95, second, **given))
    assert maximiser_distance(0.3, **given) == np.inf
    # The bound of all good maximisers is that of the least good one, with a coarser second eigenvalue.
    small = {"error": 0.002, "frame": 0.01, "others": 0.1}
    good = power_dichotomy(error=0.002, frame=0.01).good
    assert maximiser_distance(good, **small) <= good_maximiser_distance(**small) < np.inf
    assert good_maximiser_distance(error=0.05, frame=0.2, others=0.1) == np.inf


def test_thresholds_count_maximisers() -> None:
    assert counting_threshold(error=0.01, frame=0.0) == pytest.approx(0.43)
    assert counting_threshold(error=0.0, frame=0.01) == 0.0
    assert counting_threshold(error=0.01, frame=0.01) == np.inf
    size = {"neurons": 30, "inputs": 20, "error": 0.01}
    threshold = overcomplete_threshold(constant=0.4, **size)
    assert threshold == pytest.approx(0.4 * 30 * np.log(30) ** 2 / 400 + 0.05)
    assert overcomplete_constant(threshold, **size) == pytest.approx(0.4)
    assert overcomplete_constant(0.01, **size) == 0.0
