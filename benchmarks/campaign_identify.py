"""Judge `identify` on adversarial families: networks, almost networks, and functions that are none.

    python benchmarks/campaign.py --doors identify --fits 10000

A result is wrong if it is called identified and the function differs by more than the certificate allows at any vertex
of the box or at one of 100,000 points of the domain, if a visible neuron is missing or one is too many, or if a
parameter is outside its radius; and if a part is named that is not right. What a result names as too small or too
narrow to be seen does not count.

A share of the domain is claimed with a confidence, so that many trials must meet claims that were bad luck. A share
that is smaller than claimed is wrong if such fresh answers are met once in 10,000 trials or less, and else bad luck.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import binom

import campaign_disturbed
import campaign_planted
import unweave
from campaign_disturbed import badly_behaved, few_digits, rounded, rounded_oddly
from campaign_planted import Plant, Truth
from campaigns import Family, Judged, Verdict
from unweave import Everywhere, Outcome
from unweave.certificates.certify import Certificate, right_share
from unweave.certificates.claims import IMITATED_CORNERS, IMITATED_ERROR, IMITATED_SHARE, RIGHT_SHARE
from unweave.networks.network import Network

POINTS = 100_000
# Rounding of 100,000 answers against that of a few hundred fresh ones.
ROUNDING = 20.0
# How rare fresh answers have to be for a claim to be wrong that rests on them.
RAREST = 1e-4


def judge(plant: Plant) -> Callable[[int], Judged]:
    """Make the judge of a family."""

    def judged(seed: int) -> Judged:
        rng = np.random.default_rng([seed, *plant.__name__.encode()])
        truth = plant(rng)
        settings = truth.settings or {}
        try:
            found = unweave.identify(
                truth.function, inputs=truth.inputs, domain=truth.domain, seed=seed % 2**31, **settings
            )
        except unweave.OracleError as failure:
            # Answers of 16 bits overflow far out, which is a failure of the model, too.
            if plant in (badly_behaved, rounded, rounded_oddly, few_digits):
                return Judged(Verdict.HONEST_NO, str(failure)[:200])
            raise
        budget = settings.get("budget")
        if isinstance(budget, int) and found.cost.queries > budget:
            return Judged(Verdict.WRONG, f"{found.cost.queries} queries of {budget}")
        return verdict(found, truth, rng)

    return judged


def verdict(found: unweave.Result, truth: Truth, rng: np.random.Generator) -> Judged:
    """Compare what is claimed with the truth."""
    if found.network is None:
        if found.first_layer is not None and truth.network is not None:
            return rows_verdict(found, truth.network)
        return Judged(Verdict.HONEST_NO, found.reason[:200])
    standard = np.concatenate([truth.domain.sample_standard(rng, POINTS, truth.inputs, 0.0), vertices_of(truth)])
    center, half_width = truth.domain.frame(truth.inputs)
    points = center + half_width * standard
    # Answers that are all the same are called constant, whatever rounding to them has hidden.
    is_constant = found.reason.startswith("the answers are constant")
    exact = truth.function if is_constant or truth.exact is None else truth.exact
    values = exact(points)
    # The standard deviation of equal numbers is a rounding, not zero.
    spread = np.where(np.ptp(values[:POINTS], axis=0) > 0, np.std(values[:POINTS], axis=0), 0.0)
    if truth.is_coarse:
        answers = truth.function(points)
        is_constant = are_constant(answers[:POINTS])
        values, spread = np.where(is_constant, answers, values), np.where(is_constant, 0.0, spread)
    spread = np.where(spread > 0, spread, np.maximum(np.max(np.abs(values), axis=0), np.finfo(float).tiny))
    errors = np.max(np.abs(found.network(points) - values) / spread, axis=1)
    if found.is_imitation:
        return imitation_verdict(found, errors, rounding=1e-15 * float(np.max(np.abs(values) / spread)) + 1e-14)
    allowed = allowance(found, truth, standard, values, spread)
    share = float(np.mean(errors > allowed))
    worst = f"largest error {np.max(errors):.1e} in {share:.1e}, {found.reason[:160]}"
    certificate = found.certificate
    if found.outcome is Outcome.IDENTIFIED:
        assert certificate is not None
        may_hide = (truth.hidden_share or has_bumps(truth)) and share <= 1.0 - certificate.coverage
        if share and not may_hide:
            return Judged(Verdict.WRONG, worst)
        return parameters_verdict(found, truth, hidden=np.flatnonzero(is_constant) if truth.is_coarse else ())
    claimed = claimed_share(found)
    if claimed is not None and certificate is not None and 1.0 - share < claimed:
        is_luck = was_bad_luck(certificate, 1.0 - share, claimed)
        verdict, luck = (Verdict.PARTLY_RIGHT, "bad luck: ") if is_luck else (Verdict.WRONG, "")
        return Judged(verdict, f"{luck}right on {1 - share:.3f} of the domain, claimed {claimed:.3f}; {worst}")
    return Judged(Verdict.PARTLY_RIGHT, found.reason[:200])


def was_bad_luck(certificate: Certificate, right: float, claimed: float) -> bool:
    """Whether fresh answers may say that a network is right on a larger share of the domain than it is."""
    fresh, judged = (
        certificate.fresh_queries,
        {"confidence": certificate.confidence, "candidates": certificate.candidates},
    )
    # So many were missed at most by a network of which that was claimed.
    missed = bisect_left(range(fresh), True, key=lambda missed: right_share(fresh, missed, **judged) < claimed) - 1
    return missed >= 0 and certificate.candidates * float(binom.cdf(missed, fresh, 1.0 - right)) > RAREST


def imitation_verdict(found: unweave.Result, errors: np.ndarray, *, rounding: float) -> Judged:
    """Compare a network that only answers like the model with what is claimed: its error, on a share of the domain."""
    certificate, claims = found.certificate, {check.name: check.value for check in found.diagnostics}
    if found.outcome is Outcome.IDENTIFIED or certificate is None or certificate.is_isolated:
        return Judged(Verdict.WRONG, f"parameters of an imitation are claimed: {found.reason[:160]}")
    claimed, allowed = claims[IMITATED_SHARE], claims[IMITATED_ERROR]
    right = float(np.mean(errors[:POINTS] <= allowed + ROUNDING * rounding))
    # If anything is claimed about vertices, all that a box of this size has were asked.
    at_vertices = float(np.max(errors[POINTS:], initial=0.0))
    is_too_large = right < claimed and not was_bad_luck(certificate, right, claimed)
    if is_too_large or at_vertices > claims.get(IMITATED_CORNERS, np.inf) + ROUNDING * rounding:
        return Judged(Verdict.WRONG, f"alike on {right:.4f}, at vertices to {at_vertices:.1e}; {found.reason[:200]}")
    said = f"bad luck: alike on {right:.4f}; " if right < claimed else ""
    return Judged(Verdict.PARTLY_RIGHT, f"{said}{found.reason[:200]}")


def has_bumps(truth: Truth) -> bool:
    """Whether neurons change the answers in slabs only, which may fill less of the domain than is claimed."""
    return truth.network is not None and any(activation.name == "gaussian" for activation in truth.network.activations)


def allowance(
    found: unweave.Result, truth: Truth, points: np.ndarray, values: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """Errors that the certificate allows: those it has seen, and those of parameters within their radius.

    Where a network is claimed to be right on a share of the domain, it has seen errors that are not right.
    """
    network, certificate = found.network, found.certificate
    assert network is not None
    rounding = 1e-15 * np.max(np.abs(values) / spread, axis=1) + 1e-14
    if certificate is None:
        return 1e-3 + rounding
    center, half_width = truth.domain.frame(truth.inputs)
    delivered = network.layers[0]
    hidden = replace(
        delivered, weights=delivered.weights * half_width, biases=delivered.biases + delivered.weights @ center
    )
    lifted = np.sqrt(1.0 + np.sum(points**2, axis=1))
    lengths = np.linalg.norm(np.hstack([hidden.weights, hidden.biases[:, None]]), axis=1)
    slopes = np.max(np.abs(network.layers[1].weights) / spread[:, None] if len(network.layers) == 2 else 0.0, axis=0)
    radius = certificate.radius if np.isfinite(certificate.radius) else 0.0
    # Far from zero the radius is that of delivered biases, and coordinates are rounded.
    far = 1.0 + float(np.linalg.norm(center / half_width))
    rounding += 1e-16 * far * float(np.sum(slopes * lengths))
    radius *= min(1.0, 1.0 / (far * float(np.max(half_width))))
    by_radius = 3.0 * radius * lifted * float(np.sum(slopes * lengths)) if len(network.layers) == 2 else radius * lifted
    met = re.search(r"noise and rounding \(at most (\S+) of the spread\)", found.reason)
    if found.outcome is Outcome.PARTLY_IDENTIFIED and met is not None:
        # The spread is known from some hundred answers.
        return 1.25 * float(met[1]) + 2.0 * ROUNDING * rounding
    names_its_error = "reproduces fresh answers to" in found.reason
    if found.outcome is Outcome.PARTLY_IDENTIFIED and claimed_share(found) is not None and not names_its_error:
        return 2.0 * ROUNDING * (certificate.noise + rounding) + by_radius
    return ROUNDING * (max(certificate.largest_error, certificate.noise) + rounding) + by_radius


def vertices_of(truth: Truth) -> np.ndarray:
    """All vertices of a box of at most 12 inputs, in standard coordinates."""
    if isinstance(truth.domain, Everywhere) or truth.inputs > 12:
        return np.empty((0, truth.inputs))
    return 2.0 * ((np.arange(2**truth.inputs)[:, None] >> np.arange(truth.inputs)) & 1) - 1.0


def are_constant(answers: np.ndarray) -> np.ndarray:
    """Whether nearly all answers are next to each other among those of their output, as a rounded constant is."""
    low, high = np.quantile(answers, [0.005, 0.995], axis=0, method="nearest")
    inside = [
        np.unique(column[(column >= a) & (column <= b)]) for column, a, b in zip(answers.T, low, high, strict=True)
    ]
    return np.array([len(values) <= 3 for values in inside])


def parameters_verdict(found: unweave.Result, truth: Truth, *, hidden: Iterable[int] = ()) -> Judged:
    """Compare parameters where the planted network has no neuron that the answers can't show.

    Weights into outputs that rounding hides are not claimed if the reason names these outputs.
    """
    network, certificate, planted = found.network, found.certificate, truth.network
    if planted is None or network is None or certificate is None:
        return Judged(Verdict.RIGHT)
    named = [output for output in hidden if f"Output {output + 1} was" in found.reason]
    network, planted = (without_outputs(each, named) for each in (network, planted))
    allowed = max(certificate.radius, 4 * np.finfo(float).eps)
    same = network.widths == planted.widths and network.activations == planted.activations
    if not same or network.skip is not None:
        error, what = hyperplanes_error(network, planted), "a hyperplane"
        if not network.layers[0].activation.kinks:
            # Two neurons at a small angle are one in between, up to the square of the angle, which may not show.
            allowed = max(allowed, float(np.sqrt(ROUNDING * max(certificate.largest_error, certificate.noise))))
            named = re.search(r"two nearer than (\S+) would look like one", found.reason)
            allowed = max(allowed, float(named[1]) if named else 0.0)
    else:
        error, what = unweave.match(network, planted).largest_error, "a parameter"
    if error > allowed:
        return Judged(Verdict.WRONG, f"{what} is off by {error:.1e}, radius {certificate.radius:.1e}")
    return Judged(Verdict.RIGHT, f"widths {network.widths} for {planted.widths}")


def without_outputs(network: Network, outputs: Sequence[int]) -> Network:
    """The same network without some of its outputs."""
    last = network.layers[-1]
    kept = np.setdiff1d(np.arange(network.outputs), np.array(outputs, dtype=int))
    fewer = replace(last, weights=last.weights[kept], biases=last.biases[kept])
    return Network((*network.layers[:-1], fewer), None if network.skip is None else network.skip[kept])


def hyperplanes_error(network: Network, truth: Network) -> float:
    """Compare neurons where some are invisible: every one that was found must be a planted one, up to its length."""
    if len(network.widths) != len(truth.widths) or not network.widths[0]:
        return 0.0
    found, planted = hyperplanes_of(network), hyperplanes_of(truth)
    distances = [np.linalg.norm(planted[None] - sign * found[:, None], axis=2) for sign in (1.0, -1.0)]
    return float(np.max(np.min(np.minimum(*distances), axis=1)))


def hyperplanes_of(network: Network) -> np.ndarray:
    """Unit normals and offsets of the hyperplanes where neurons have their kinks, or their centres without kinks."""
    hidden = network.layers[0]
    # The centre of a periodic activation is any of many places: only its direction is compared.
    biases = np.zeros(hidden.neurons) if hidden.activation.period else hidden.biases
    centres = hidden.activation.kinks or (0.0,)
    rows = np.concatenate([np.column_stack([hidden.weights, biases - centre]) for centre in centres])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rows_verdict(found: unweave.Result, truth: Network) -> Judged:
    """Compare the directions of a first layer."""
    layer = found.first_layer
    assert layer is not None
    if layer.neurons == 0:
        return Judged(Verdict.WRONG, f"a first layer of no neurons: {found.reason[:160]}")
    if len(truth.widths) == 1 and any(word in found.reason for word in ("is deep", "layers above")):
        return Judged(Verdict.WRONG, f"one hidden layer is called deep: {found.reason[:160]}")
    rows = layer.weights / np.linalg.norm(layer.weights, axis=1, keepdims=True)
    true = truth.layers[0].weights / np.linalg.norm(truth.layers[0].weights, axis=1, keepdims=True)
    overlap = float(np.min(np.max(np.abs(rows @ true.T), axis=1)))
    if overlap < 1 - 1e-6:
        return Judged(Verdict.WRONG, f"a row is {np.degrees(np.arccos(overlap)):.2f} degrees off: {found.reason[:160]}")
    # A hard tanh has two kinks, and is two neurons of ReLU.
    most = truth.widths[0] * max(len(truth.activations[0].breaks(1)), 1)
    if layer.neurons > most:
        return Judged(Verdict.WRONG, f"{layer.neurons} rows of {truth.widths[0]}: {found.reason[:160]}")
    return Judged(Verdict.PARTLY_RIGHT, found.reason[:200])


def claimed_share(found: unweave.Result) -> float | None:
    """Give the share of the domain that a network is claimed to be right on."""
    shares = [check.value for check in found.diagnostics if check.name == RIGHT_SHARE]
    return shares[-1] if shares else None


PLANTS = campaign_planted.PLANTS + campaign_disturbed.PLANTS
FAMILIES = [Family("identify", plant.__name__.replace("_", " "), judge(plant)) for plant in PLANTS]
