"""The explicit bounds of [fiedler, Thm. 2.1, 2.2, 2.6 to 2.8 and 2.10] as functions of what can be measured.

Everywhere `frame` is nu of the frame condition (2.10) and `error` is delta, the distance of the measured span of
symmetric matrices to the true one, in the operator norm. Where a theorem is printed with a slip, the proof is
followed: `docs/errata.md` names each.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Dichotomy:
    """Two levels between which there is no local maximiser.

    Args:
        spurious: at most so much has a local maximiser that is near no atom.
        good: at least so much has one that is near an atom.
        applies: whether the theorem's conditions hold.
    """

    spurious: float
    good: float
    applies: bool

    def between(self, values: np.ndarray) -> int:
        """Count the values that the theorem excludes; rounding of 1e-9 is allowed for."""
        return int(np.count_nonzero((values > self.spurious + 1e-9) & (values < self.good - 1e-9)))


def atom_certificate(
    largest: float, second: float, *, error: float, frame: float, others: float | None = None
) -> float:
    """Bound the distance of a leading eigenvector to the nearest atom, up to sign [fiedler, Thm. 2.1].

    Args:
        largest: first eigenvalue of a matrix of at most unit Frobenius norm in the measured span.
        second: its second eigenvalue.
        error: of the span, below 1/2.
        frame: constant of the atoms, below 1.
        others: norm of the coefficients of all other atoms, if it is known; else what eigenvalues say of it.

    Returns:
        The bound; infinite where the theorem does not apply.
    """
    gap = (1.0 - frame) * largest - second - 2.0 * error
    if gap <= 0 or error >= 0.5 or frame >= 1:
        return np.inf
    others = largest_others(largest, error=error, frame=frame) if others is None else others
    return float(np.sqrt(2.0) * (others * np.sqrt(max(frame, 0.0)) + 2.0 * error) / gap)


def largest_others(largest: float, *, error: float, frame: float) -> float:
    """Bound the coefficients of all atoms but the first in a matrix with this first eigenvalue.

    All coefficients have at most the norm ``1 / ((1 - error) sqrt(1 - frame))``, by Gershgorin circles of the Gramian,
    and the first is at least ``(largest - 2 error) / (1 + frame)``, as in the proof of [fiedler, Thm. 2.1].
    """
    all_of_them = 1.0 / ((1.0 - error) ** 2 * (1.0 - frame))
    first = max(largest - 2.0 * error, 0.0) / (1.0 + frame)
    return float(np.sqrt(max(all_of_them - first**2, 0.0)))


def spectral_dichotomy(*, error: float, frame: float) -> Dichotomy:
    """Levels of the squared first eigenvalue of local maximisers of the spectral norm [fiedler, Thm. 2.2]."""
    slack = 38.0 * error + 13.0 * frame
    return Dichotomy(slack, 1.0 - slack, slack < 0.25 and frame < 1)


def power_dichotomy(*, error: float, frame: float) -> Dichotomy:
    """Levels of ``Phi`` at its local maximisers [fiedler, Thm. 2.7]."""
    share = 3.0 * frame / (1.0 + frame)
    if frame >= 1:
        return Dichotomy(np.inf, -np.inf, applies=False)
    return Dichotomy(
        spurious=9.0 * error * (1.0 + frame) / (1.0 - frame),
        good=1.0 - 2.0 * share - 18.0 * error,
        applies=share + 11.0 * error < 1 and error < (1.0 - share) ** 2 / 22.0,
    )


def cap_cosine(*, error: float, frame: float) -> float:
    """Cosine to every atom within which there is a local maximiser of ``Phi`` [fiedler, Prop. 2.1, Thm. 2.6].

    There ``Phi`` is at least ``1 - error``. Gives 0 where the proposition does not apply.
    """
    if 4.0 * frame + frame**2 + 6.0 * error > 1:
        return 0.0
    return float(np.sqrt((1.0 - 3.0 * error) * (1.0 - frame) / (1.0 + frame)))


def maximiser_distance(value: float, *, error: float, frame: float, others: float) -> float:
    """Bound the distance of a local maximiser to an atom by its ``Phi`` [fiedler, Cor. 2.2]: infinite if there is none.

    Args:
        value: ``Phi`` there.
        error: of the span.
        frame: constant of the atoms.
        others: norm of the coefficients of all other atoms in ``P(u u^T)``.
    """
    return atom_certificate(value, np.sqrt(max(value * (1.0 - value), 0.0)), error=error, frame=frame, others=others)


def good_maximiser_distance(*, error: float, frame: float, others: float) -> float:
    """Bound the distance of good maximisers [fiedler, (2.33)], with the numerator of Cor. 2.2, its source."""
    levels = power_dichotomy(error=error, frame=frame)
    if not (levels.applies and 4.0 * frame + frame**2 + 11.0 * error < 1):
        return np.inf
    missing = 1.0 - levels.good
    gap = (1.0 - frame) * levels.good - np.sqrt(missing) - 2.0 * error
    return float(np.sqrt(2.0) * (others * np.sqrt(max(frame, 0.0)) + 2.0 * error) / gap) if gap > 0 else np.inf


def counting_threshold(*, error: float, frame: float) -> float:
    """``Phi`` above which there are just two maximisers per atom, within ``sqrt(error)`` of it [fiedler, Thm. 2.8].

    Infinite where the theorem does not apply.
    """
    if 44.0 * error + 60.0 * frame - 120.0 * error * frame >= 1:
        return np.inf
    return (43.0 - 60.0 * frame) / (1.0 - 60.0 * frame) * error


def overcomplete_threshold(*, neurons: int, inputs: int, error: float, constant: float) -> float:
    """``Phi`` above which the same holds for incoherent atoms [fiedler, (2.54)], for a constant that is not known."""
    return constant * neurons * np.log(neurons) ** 2 / inputs**2 + 5.0 * error


def overcomplete_constant(value: float, *, neurons: int, inputs: int, error: float) -> float:
    """Least constant of [fiedler, (2.54)] for which a spurious maximiser of this ``Phi`` is below the threshold."""
    return max(value - 5.0 * error, 0.0) * inputs**2 / (neurons * np.log(neurons) ** 2)
