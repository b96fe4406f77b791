"""[awasthi, Claim 1.4]: smallest singular values of columnwise Kronecker products, beside both bounds."""

from math import sqrt

import numpy as np
from scipy.linalg import khatri_rao

from unweave.reproduce.experiment import ONCE, Cell, Numbers, Scale, Settings

DRAWS = {Scale.QUICK: 200, Scale.USUAL: 2_000, Scale.FULL: 20_000}
SIZES = ((4, 3), (6, 6), (10, 8))


def settings(scale: Scale) -> list[Settings]:
    """Give inputs and columns."""
    return [{"inputs": d, "columns": k, "draws": DRAWS[scale]} for d, k in SIZES]


def measure(cell: Cell) -> Numbers:
    """Draw factors, and find the smallest ratio of singular values."""
    inputs, columns, draws = (int(cell.settings[name]) for name in ("inputs", "columns", "draws"))
    rng, ratios = np.random.default_rng(cell.seed), []
    for _ in range(draws):
        one, other = rng.standard_normal((2, inputs, columns))
        smallest = np.linalg.svd(khatri_rao(one, other), compute_uv=False)[-1]
        scale = np.min(np.linalg.norm(other, axis=0)) * np.linalg.svd(one, compute_uv=False)[-1]
        ratios.append(float(smallest / scale))
    return {"ratio": min(ratios), "printed": 1.0 / sqrt(2.0 * columns), "sharper": 1.0}


TITLE = "singular values of Khatri-Rao products"
REPETITIONS = ONCE
COLUMNS = {
    "ratio": "smallest s_k(U . V) / (min |v_i| s_k(U)) of all draws",
    "printed": "bound of the claim, 1 / sqrt(2 k)",
    "sharper": "bound by Schur's product theorem",
}
NOTES = (
    "The claim holds and is loose: U . V has the Gram matrix (U^T U) o (V^T V), whose smallest eigenvalue is at "
    "least that of U^T U times the smallest diagonal entry of V^T V. The factor 1 / sqrt(2 k) is not needed.",
)
