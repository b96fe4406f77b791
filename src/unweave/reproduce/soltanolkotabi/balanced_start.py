"""A start from which plain gradient descent provably fits any labels, with every constant computed."""

from dataclasses import dataclass

import numpy as np

from unweave.arrays import Atoms
from unweave.exceptions import InvalidInput
from unweave.learn.quadratic.optimality import OptimalityTest, Regime

# The condition holds with equality at the smallest scale; a little more keeps rounding from breaking it.
SCALE_MARGIN = 1.0 + 1e-9


@dataclass(frozen=True, eq=False)
class CertifiedStart:
    """Balanced weights, whose predictions are zero, and what gradient descent from there is guaranteed to do.

    Args:
        weights: one row per neuron; neurons that are not needed have zeros.
        scale: common length of the rows, times the square root of their absolute output weights.
        smallest_singular: lower bound of the smallest singular value of the Jacobian.
        step: length of the steps in units of the gradient.
        radius: of the ball around the start, in Frobenius norm, that no iterate leaves.
        contraction: every step multiplies the loss by at most this number.
    """

    weights: Atoms
    scale: float
    smallest_singular: float
    step: float
    radius: float
    contraction: float

    def steps_to(self, ratio: float) -> int:
        """Steps after which the loss is guaranteed to be below `ratio` times the first one."""
        return int(np.ceil(np.log(ratio) / np.log1p(self.contraction - 1.0)))


def balanced_start(test: OptimalityTest) -> CertifiedStart:
    """One neuron of each sign along every input, with equal and opposite contributions.

    The Jacobian's smallest singular value ``s0`` grows with the scale, its Lipschitz constant does not, so that a
    scale exists at which ``|y| <= s0^2 / (8 Lip)``: then it stays above ``s0 / 2`` as long as descent lasts.

    Raises:
        InvalidInput: if there are not d neurons of each sign, or quadratic forms can't take all values at the points.

    Guarantees: with steps of `step` the loss after t steps is at most ``contraction^t`` times the first one, for any
        labels; what is found is nearly the matrix of smallest norm, since the weights hardly move.
    """
    problem, spectrum, inputs = test.problem, test.spectrum, test.problem.inputs
    if test.regime is not Regime.TWO_SIGNED or min(len(problem.positive), len(problem.negative)) < inputs:
        raise InvalidInput(
            f"balanced_start needs {inputs} neurons of each sign, got {len(problem.positive)} positive and "
            f"{len(problem.negative)} negative output weights."
        )
    if spectrum is None or not spectrum.fits_all_labels:
        rank = "unknown" if spectrum is None else spectrum.rank
        raise InvalidInput(
            f"balanced_start needs independent squares of all {problem.samples} points, got rank {rank}: take at most "
            f"{inputs * (inputs + 1) // 2} points, none of them parallel."
        )
    strengths = np.abs(problem.output_weights)
    up, down = (
        rows[np.argsort(-strengths[rows], kind="stable")][:inputs] for rows in (problem.positive, problem.negative)
    )
    # Strong neurons of one sign are paired with weak ones of the other, which evens out the sums.
    down = down[::-1]
    sums = strengths[up] + strengths[down]
    lipschitz = 2.0 * float(np.max(strengths)) * spectrum.largest
    size = max(float(np.linalg.norm(problem.labels)), np.finfo(float).tiny)
    scale = SCALE_MARGIN * np.sqrt(2.0 * lipschitz * size / np.min(sums)) / spectrum.smallest
    weights = np.zeros((problem.neurons, inputs))
    for rows in (up, down):
        weights[rows] = np.diag(scale / np.sqrt(strengths[rows]))
    return _certified(test, weights, scale, scale * np.sqrt([np.min(sums), np.max(sums)]), lipschitz, size)


def _certified(
    test: OptimalityTest, weights: Atoms, scale: float, singular: np.ndarray, lipschitz: float, size: float
) -> CertifiedStart:
    """Constants of the guarantee from the extreme singular values of the output-weighted rows."""
    assert test.spectrum is not None
    smallest, largest = 2.0 * singular[0] * test.spectrum.smallest, 2.0 * singular[1] * test.spectrum.largest
    samples, radius = test.problem.samples, smallest / (2.0 * lipschitz)
    reach = largest + lipschitz * radius
    beta = (reach**2 + lipschitz * (size + reach * radius)) / samples
    rate = smallest**2 / (2.0 * samples)
    return CertifiedStart(
        weights=weights,
        scale=float(scale),
        smallest_singular=float(smallest),
        step=float(1.0 / beta),
        radius=float(4.0 * size / smallest),
        contraction=float(1.0 - rate / (2.0 * beta)),
    )
