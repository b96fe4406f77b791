"""What several tests say about a recovered truth; `test_assertions.py` sees them fail."""

from collections.abc import Callable

import numpy as np

import unweave
from unweave.certificates.claims import IMITATED_ERROR, IMITATED_SHARE
from unweave.networks.network import Network
from unweave.oracles.oracle import Domain
from unweave.reports.json import as_document
from unweave.result import Outcome

# Errors of parameters that were recovered from exact answers.
EXACT = 1e-8


def farthest_direction(found: np.ndarray, directions: np.ndarray) -> float:
    """Largest distance, up to sign, of a true direction from the nearest found one; infinite if none is found."""
    if len(found) == 0:
        return np.inf if len(directions) else 0.0
    overlaps = directions @ found.T
    nearest = np.argmax(np.abs(overlaps), axis=1)
    signs = np.sign(overlaps[np.arange(len(directions)), nearest])
    return float(np.max(np.linalg.norm(directions - signs[:, None] * found[nearest], axis=1), initial=0.0))


def largest_distance(found: np.ndarray, directions: np.ndarray) -> float:
    """The same if every true direction has a found one of its own and nothing else was found, else infinite."""
    if len(found) != len(directions):
        return np.inf
    nearest = np.argmax(np.abs(directions @ found.T), axis=1) if len(found) else []
    return farthest_direction(found, directions) if len(set(nearest)) == len(found) else np.inf


def assert_same_function(found: Network, truth: Network, points: np.ndarray, *, atol: float) -> None:
    np.testing.assert_allclose(found(points), truth(points), atol=atol, rtol=0.0)


def assert_recovered(found: unweave.Result, truth: Network, *, atol: float = EXACT, route: str | None = None) -> None:
    """Identified by the route, if one is named: the same parameters up to symmetry, as near as the certificate says."""
    assert found.outcome is unweave.Outcome.IDENTIFIED, found.reason
    assert found.network is not None
    assert found.certificate is not None
    assert found.network.widths == truth.widths
    error = unweave.match(found.network, truth).largest_error
    assert error <= atol
    assert error <= found.certificate.radius
    assert route is None or found.route == route


def assert_answers_alike(
    found: unweave.Result, function: Callable[[np.ndarray], np.ndarray], domain: Domain, inputs: int
) -> None:
    """The claimed error holds on the claimed share of the domain, and nothing is claimed about parameters."""
    assert found.is_imitation
    assert found.outcome is Outcome.PARTLY_IDENTIFIED
    assert "not claimed to be the model's" in found.reason
    assert found.certificate is not None
    assert not found.certificate.is_isolated
    assert found.equivalent_activations == ()
    assert as_document(found)["is_imitation"] is True
    claims = {check.name: check.value for check in found.diagnostics}
    points = domain.sample_standard(np.random.default_rng(99), 20_000, inputs, 0.0)
    center, half_width = domain.frame(inputs)
    values = function(center + half_width * points).reshape(len(points), -1)
    assert found.network is not None
    errors = np.abs(found.network(center + half_width * points) - values) / np.std(values, axis=0)
    assert np.mean(np.max(errors, axis=1) <= claims[IMITATED_ERROR]) >= claims[IMITATED_SHARE]
