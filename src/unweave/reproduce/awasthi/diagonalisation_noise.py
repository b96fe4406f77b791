"""[awasthi, Thm. 1.5]: simultaneous diagonalisation of a tensor with errors, by noise and condition of the factors."""

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.learn.relu_network.jennrich import Jennrich
from unweave.networks.planted import conditioned_rows
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

ENTRIES, TERMS, SLICES = 8, 5, 6
NOISE, CONDITIONS = (1e-10, 1e-8, 1e-6, 1e-4), (1.0, 10.0)
Terms = Float64[np.ndarray, "terms entries entries slices"]


def rank_one_terms(factors: np.ndarray, last: np.ndarray) -> Terms:
    """Give the tensors ``u (x) u (x) z`` of all terms."""
    return np.einsum("ki,kj,kl->kijl", factors, factors, last)


def largest_distance(found: Terms, truth: Terms) -> float:
    """Measure the largest Frobenius distance of a true term to its own found one."""
    distances = np.linalg.norm((truth[:, None] - found[None]).reshape(len(truth), len(found), -1), axis=2)
    mine, its = scipy.optimize.linear_sum_assignment(distances)
    return float(np.max(distances[mine, its]))


def settings(_: Scale) -> list[Settings]:
    """Give all condition numbers and sizes of noise."""
    return [{"condition": condition, "noise": noise} for condition in CONDITIONS for noise in NOISE]


def measure(cell: Cell) -> Numbers:
    """Take a tensor apart that has noise, and compare its terms."""
    rng, noise = np.random.default_rng(cell.seed), float(cell.settings["noise"])
    factors = conditioned_rows(rng, TERMS, ENTRIES, condition=float(cell.settings["condition"]))
    truth = rank_one_terms(factors, rng.standard_normal((TERMS, SLICES)))
    errors = noise * rng.uniform(-1.0, 1.0, (ENTRIES, ENTRIES, SLICES))
    # Slices of the tensors of [awasthi] are symmetric, and so are their errors.
    found = Jennrich()(truth.sum(axis=0) + 0.5 * (errors + errors.transpose(1, 0, 2)), rng, rank=TERMS)
    error = largest_distance(rank_one_terms(found.factors, found.last_factors), truth)
    return {"error": error, "ratio": error / noise}


TITLE = "rank-one terms of a tensor with errors"
REPETITIONS = {Scale.QUICK: 3, Scale.USUAL: 20, Scale.FULL: 100}
COLUMNS = {
    "error": "largest Frobenius error of a term",
    "ratio": "the same, in units of the largest noise of an entry",
}
NOTES = (
    f"{TERMS} terms, {ENTRIES} x {ENTRIES} x {SLICES}. The theorem bounds the noise of an entry by polynomials of "
    "the error, the condition number and the separation, without exponents: errors are measured to be linear in "
    "the noise, with a factor that grows with the condition number.",
)
