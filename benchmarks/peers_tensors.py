"""Directions of a symmetric tensor of order three: Unweave's Jennrich beside TensorLy and pyttb, in one run.

    pip install tensorly pyttb                          # the peers; no dependencies of Unweave
    python benchmarks/peers_tensors.py                  # 10, 20 and 30 inputs, 10 seeds
    python benchmarks/peers_tensors.py --inputs 20 --seeds 3 --noise 1e-6

Tensors are ``sum_i c_i u_i (x) u_i (x) u_i`` with random unit vectors, fewer than inputs, and coefficients of either
sign and of size 0.5 to 2, as third Hermite moments of planted networks are. All methods are given the number of terms.

* Unweave: `Jennrich`, simultaneous diagonalisation.
* TensorLy: `parafac`, alternating least squares to a tolerance of 1e-12; and `parafac_power_iteration`, which is for
  orthogonal terms and is tried with as many iterations as it has by default.
* pyttb: `cp_als`, the same alternating least squares.

Errors are ``1 - |cosine|`` of the worst direction after matching; "found" counts those up to 1e-6, or up to ten times
the noise. Seconds are CPU time of one thread, medians.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from statistics import median

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from command_line import parser_of, say
from unweave.learn.relu_network.jennrich import Jennrich

STEPS = 2_000
TOLERANCE = 1e-12
FOUND = 1e-6
Method = Callable[[np.ndarray, int, int], np.ndarray]


def by_unweave(tensor: np.ndarray, terms: int, seed: int) -> np.ndarray:
    """The directions by simultaneous diagonalisation."""
    return Jennrich()(tensor, np.random.default_rng(seed), rank=terms).factors


def by_tensorly(tensor: np.ndarray, terms: int, seed: int) -> np.ndarray:
    """The directions by TensorLy's alternating least squares."""
    from tensorly.decomposition import parafac

    found = parafac(tensor, terms, n_iter_max=STEPS, tol=TOLERANCE, random_state=seed, init="random")
    return found.factors[0].T


def by_tensorly_power(tensor: np.ndarray, terms: int, seed: int) -> np.ndarray:
    """The directions by TensorLy's power iterations, which draw from the global generator."""
    from tensorly.decomposition import parafac_power_iteration

    np.random.seed(seed)  # noqa: NPY002
    return parafac_power_iteration(tensor, terms)[1][0].T


def by_pyttb(tensor: np.ndarray, terms: int, seed: int) -> np.ndarray:
    """The directions by pyttb's alternating least squares."""
    import pyttb

    np.random.seed(seed)  # noqa: NPY002
    with redirect_stdout(StringIO()):
        found, *_ = pyttb.cp_als(pyttb.tensor(tensor), terms, stoptol=TOLERANCE, maxiters=STEPS, printitn=0)
    return found.factor_matrices[0].T


METHODS: dict[str, tuple[str, Method]] = {
    "Unweave, Jennrich": ("unweave", by_unweave),
    "TensorLy, least squares": ("tensorly", by_tensorly),
    "TensorLy, power": ("tensorly", by_tensorly_power),
    "pyttb, least squares": ("pyttb", by_pyttb),
}


def planted(seed: int, inputs: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """A tensor, and its directions."""
    rng = np.random.default_rng([seed, inputs])
    directions = rng.standard_normal((max(2, 4 * inputs // 5), inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sizes = rng.choice([-1.0, 1.0], len(directions)) * rng.uniform(0.5, 2.0, len(directions))
    tensor = np.einsum("i,ia,ib,ic->abc", sizes, directions, directions, directions, optimize=True)
    errors = noise * rng.standard_normal(tensor.shape)
    orders = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    return tensor + sum(errors.transpose(order) for order in orders) / len(orders), directions


def error_of(found: np.ndarray, directions: np.ndarray) -> float:
    """``1 - |cosine|`` of the worst direction after matching; 1 if any is missing."""
    if found.shape != directions.shape or not np.all(np.isfinite(found)):
        return 1.0
    cosines = np.abs(found @ directions.T) / np.maximum(np.linalg.norm(found, axis=1), 1e-300)[:, None]
    mine, theirs = linear_sum_assignment(-cosines)
    return float(np.max(1.0 - cosines[mine, theirs]))


def rows(inputs: int, seeds: range, noise: float) -> Iterator[str]:
    """One line of the table per method."""
    limit = max(FOUND, 10 * noise)
    for name, (package, method) in METHODS.items():
        if find_spec(package) is None:
            yield f"{inputs:6d}  {name:24s}  not installed: pip install {package}"
            continue
        errors, seconds = [], []
        for seed in seeds:
            tensor, directions = planted(seed, inputs, noise)
            before = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = method(tensor, len(directions), seed)
            seconds.append(time.process_time() - before)
            errors.append(error_of(found, directions))
        count = sum(error <= limit for error in errors)
        times = f"{median(errors):8.1e}  {max(errors):8.1e}  {median(seconds):7.3f}"
        yield f"{inputs:6d}  {name:24s}  {count:5d} of {len(errors):2d}  {times}"


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--inputs", type=int, nargs="+", default=[10, 20, 30])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--noise", type=float, default=0.0, help="of one entry of the tensor")
    options = parser.parse_args()
    say(f"{'inputs':6s}  {'method':24s}  {'found':>11s}  {'error':>8s}  {'largest':>8s}  {'CPU s':>7s}")
    with threadpool_limits(1):
        for inputs in options.inputs:
            for row in rows(inputs, range(options.first, options.first + options.seeds), options.noise):
                say(row)


if __name__ == "__main__":
    main()
