"""All passes one after the other, from rows that are neither centred nor white to moments of order 4 and 6."""

import numpy as np

from relu_samples import Planted, power
from unweave.learn.relu_network.directions import DirectionRules, active_subspace
from unweave.learn.relu_network.starts import HermiteRegression
from unweave.reproduce.awasthi.contracted_moments import ContractedMoments
from unweave.result import Verdict
from unweave.samples.hermite.inputs import GaussianityCheck, InputMoments, lines_for
from unweave.samples.hermite.moments import Control
from unweave.samples.sources import ArraySource
from unweave.samples.sums import Together, accumulate

INPUTS, ROWS = 8, 60_000


def test_passes_lead_from_rows_to_moments_of_the_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean, mixing = rng.standard_normal(INPUTS), np.eye(INPUTS) + 0.2 * rng.standard_normal((INPUTS, INPUTS))
    standard = rng.standard_normal((ROWS, INPUTS))
    orthogonal = np.linalg.qr(rng.standard_normal((INPUTS, 3)))[0].T
    units = Planted(orthogonal, np.array([0.0, 1.0, -0.7]), np.array([1.0, -1.5, 2.0]))
    source = ArraySource(standard @ mixing.T + mean, units.labels(standard), chunk_rows=10_000)

    whitened = accumulate(source, InputMoments(np.zeros(INPUTS))).finalise().whole.coordinates()
    second = Together((GaussianityCheck(whitened, lines_for(rng, rank=INPUTS)), HermiteRegression(whitened, 2)))
    found = accumulate(source, second).finalise()
    assert all(diagnostic.verdict is Verdict.OK for diagnostic in found.whole[0].diagnostics())
    low = found.of(lambda both: both[1].moments)
    subspace = active_subspace(low, rules=DirectionRules())
    assert subspace.rank == 3
    inside = whitened.within(subspace.basis)
    fourth = accumulate(source, HermiteRegression(inside, 4)).finalise().of(lambda fitted: fitted.moments)

    seen = seen_units(units, inside.axes.T @ mixing)
    for order in (2, 3, 4):
        error = np.linalg.norm((fourth.whole.tensor(order) - seen.moment(order)).ravel())
        # The errors of the subspace and of the covariance come on top of the bar.
        assert error < 5 * fourth.error(lambda half, k=order: half.tensor(k)) + 0.02

    control = Control.shared(inside, fourth.whole)
    slices = accumulate(source, ContractedMoments(inside, seen.weights, 0, 4, control)).finalise().whole
    for order in (2, 3, 4):
        expected = [np.sum(seen.moment(order) * power(weight, order)) for weight in seen.weights]
        np.testing.assert_allclose(slices.of_order(order), expected, atol=0.15)


def seen_units(units: Planted, rotation: np.ndarray) -> Planted:
    """The units in coordinates that are a rotation of the standard ones, but for what the covariance is off."""
    weights = units.weights @ rotation.T
    return Planted(weights / np.linalg.norm(weights, axis=1, keepdims=True), units.biases, units.outer)
