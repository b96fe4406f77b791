"""[awasthi, Lemma 5.2]: errors of Hermite tensors from samples, beside what they are expected to be.

The lemma has constants that are not given. The exact second moment has none:
``E |T_k - f_k|^2 = (E[y^2 |He_k(x)|^2] - |f_k|^2) / N``, where ``|He_k(x)|^2`` is a polynomial in ``r = |x|^2``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.arrays import PerPoint
from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.exact_moments import hermite_tensors
from unweave.reproduce.awasthi.measured_noise import noisy_tensors
from unweave.reproduce.awasthi.pictures import draw_by_samples
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


INPUTS, NEURONS = 8, 5
SAMPLES = {
    Scale.QUICK: (10_000, 100_000),
    Scale.USUAL: (10_000, 100_000, 1_000_000),
    Scale.FULL: (10_000, 100_000, 1_000_000, 10_000_000),
}
ORDERS = (2, 3, 4)


def squared_norms(squared_lengths: PerPoint, *, inputs: int, order: int) -> PerPoint:
    """Give ``|He_k(x)|^2`` for points of these squared lengths, orders 1 to 4."""
    r, d = squared_lengths, inputs
    if order == 1:
        return r
    if order == 2:
        return r**2 - 2 * r + d
    if order == 3:
        return r**3 - 6 * r**2 + (6 + 3 * d) * r
    return r**4 - 12 * r**3 + (36 + 6 * d) * r**2 - (24 + 12 * d) * r + 3 * d**2 + 6 * d


def settings(scale: Scale) -> list[Settings]:
    """Give orders and samples."""
    return [{"order": order, "samples": samples} for order in ORDERS for samples in SAMPLES[scale]]


def measure(cell: Cell) -> Numbers:
    """Estimate a tensor from samples, and compare it with the exact one."""
    order, samples = int(cell.settings["order"]), int(cell.settings["samples"])
    rng = np.random.default_rng(cell.seed)
    truth = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
    exact = hermite_tensors(truth, highest=order)[order]
    points = rng.standard_normal((samples, INPUTS))
    answers = truth(points)
    plain, controlled = (
        noisy_tensors(points, answers, highest=max(order, 3), is_controlled=is_it) for is_it in (False, True)
    )
    norms = squared_norms(np.sum(points**2, axis=1), inputs=INPUTS, order=order)
    expected = (np.mean(answers[:, 0] ** 2 * norms) - np.sum(exact**2)) / samples
    return {
        "error": float(np.linalg.norm(plain.tensors[order] - exact)),
        "expected": float(np.sqrt(expected)),
        "halves": float(np.linalg.norm(plain.noise[order])),
        "controlled": float(np.linalg.norm(controlled.tensors[order] - exact)),
        "controlled halves": float(np.linalg.norm(controlled.noise[order])),
    }


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Draw errors over samples."""
    return {"errors.png": draw_by_samples(rows, "error", words="Frobenius error of the tensor", groups=("order",))}


TITLE = "errors of Hermite tensors from samples"
REPETITIONS = {Scale.QUICK: 3, Scale.USUAL: 5, Scale.FULL: 20}
COLUMNS = {
    "error": "Frobenius error of T_k",
    "expected": "root of its exact second moment",
    "halves": "half the difference of two halves",
    "controlled": "error with a polynomial taken out",
    "controlled halves": "half the difference of its halves",
}
NOTES = (
    f"{INPUTS} inputs, {NEURONS} neurons. The lemma asks for c_k d^k m^2 B^4 / eta^2 samples, up to logarithms, "
    "for an error of eta, without c_k; the slope of -1/2 is what can be compared.",
    "Half the difference of two halves of the samples estimates the error without the truth.",
)
