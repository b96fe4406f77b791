"""What may be claimed about a recovered network, and on what evidence.

Two independent claims. Fresh answers bound the error of the function: they were not used to fit it. The Jacobian at the
recovered network bounds the error of its parameters: every network of the same architecture that gives the same answers
is either within `radius` or farther than `isolation`.

Both are measured against what a right network may be missed by (`Floors`): noise, or rounding of the answers and of its
own terms.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.activations import IDENTITY
from unweave.arrays import PerPoint, Points, Values, root_mean_square
from unweave.certificates.large_jacobians import SINGULAR_RULES, estimated_singular, smallest_singular
from unweave.certificates.layered_claims import ParameterClaim, farthest, layered_claim
from unweave.networks import parameters
from unweave.networks.network import Layer, Network
from unweave.oracles.views import ROUNDING_DEVIATION, StandardOracle
from unweave.result import number, percent


@dataclass(frozen=True, kw_only=True)
class CertificateRules:
    """What certificates are made with; whatever is chosen, what they claim holds.

    Args:
        confidence: probability of what fresh answers say about the whole domain, as is usual.
        far_above_noise: error at fresh points, in units of the noise, of networks that are not right, whatever rounding
            adds. Chosen: of large ones no further points are tried then.
        near_kinks: shares of the points that may be left out because they are nearest to a kink of a neuron: more allow
            larger steps of the others, but between nearly parallel neurons just those points tell them apart.
    """

    confidence: float = 0.95
    far_above_noise: float = 1e4
    near_kinks: tuple[float, ...] = (0.1, 0.03, 0.0)


RULES = CertificateRules()


@dataclass(frozen=True)
class Certificate:
    """Hold the evidence for a recovered network. Errors of values are in units of the spread of the output.

    Args:
        largest_error: largest error of the function on the fresh queries.
        rms_error: root mean square error on the fresh queries.
        fresh_queries: how many there were.
        confidence: probability of the claim on `coverage`.
        coverage: at least this share of the domain has errors of at most `largest_error`.
        noise: noise of one answer, same units.
        smallest_singular: smallest singular value of the weighted Jacobian per square root of its rows.
        is_singular_estimated: whether that is an estimate (large networks) or computed exactly.
        radius: error of any parameter of the exact network, relative to the weights of its neuron, if one lies within
            `isolation`. Where the scale of a neuron is free, it is the one at which the error has no part along it.
        isolation: no other network with these answers is nearer than this. Both speak of the worst neuron for their
            purpose, so that the radius of a weak neuron may exceed the isolation of a strong one.
        candidates: networks that the fresh queries have judged; the claim on `coverage` is corrected for them.
        trials: further places that were tried where something could hide, vertices, faces and kinks in a box; their
            errors count in `largest_error`.
        crossings: places where rounded answers switch that no fit has seen, and that the network was judged by; 0 if
            it was fitted to the answers themselves. The claim on the parameters rests on such places then.
        crossing_error: largest error of the function at these.
    """

    largest_error: float
    rms_error: float
    fresh_queries: int
    confidence: float
    coverage: float
    noise: float
    smallest_singular: float
    is_singular_estimated: bool
    radius: float
    isolation: float
    candidates: int = 1
    trials: int = 0
    crossings: int = 0
    crossing_error: float = 0.0

    @property
    def is_isolated(self) -> bool:
        """Tell whether the Newton-Kantorovich inequality holds, so that radius and isolation are finite."""
        return bool(np.isfinite(self.radius))

    def statements(self) -> list[tuple[str, str]]:
        """State what may be claimed, as pairs of a name and a few words with the number."""
        spread = "of the spread of the answers"
        tried = f" and at {self.trials} vertices and points of faces and kinks" if self.trials else ""
        fresh = f"on {self.fresh_queries} fresh queries that no fit has seen{tried}"
        confidence = f"(confidence {percent(self.confidence)})"
        lines = [
            ("largest error", f"{number(self.largest_error)} {spread}, {fresh}"),
            ("coverage", f"at least {percent(self.coverage)} of the domain has no larger error {confidence}"),
            ("noise of one answer", f"{number(self.noise)} {spread}"),
        ]
        if self.crossings:
            where = f"at {self.crossings} other places where rounded answers switch"
            lines.append(("error below the rounding", f"{number(self.crossing_error)} {spread}, {where}"))
        if self.is_isolated:
            close = "every parameter of an exact network with as many neurons is this close, relative to its neuron"
            far = "any other network with these answers is farther away than this"
            far = far if np.isfinite(self.isolation) else "no other network of this architecture gives these answers"
            lines += [
                ("parameter radius", f"{number(self.radius)}: {close}"),
                ("isolation", f"{number(self.isolation)}: {far}"),
            ]
        else:
            lines.append(("parameter radius", "none: answers do not pin the parameters down, or are missed"))
        if self.is_singular_estimated:
            lines.append(("basis of the two", "an estimate of the smallest singular value, not a bound"))
        return lines


def coverage_of(fresh: int, *, confidence: float, candidates: int = 1) -> float:
    """Give the share of the domain that so many fresh points without exception stand for, by their number alone.

    Several candidates share the probability of being wrong, so that it does not matter which of them was lucky.
    """
    return float(((1 - confidence) / candidates) ** (1 / fresh))


def right_share(fresh: int, missed: int, *, confidence: float, candidates: int = 1) -> float:
    """Give a lower bound of the share of the domain where a network is right that missed some of its fresh points.

    The bound of Clopper and Pearson, from the binomial distribution alone.
    """
    if missed == 0:
        return coverage_of(fresh, confidence=confidence, candidates=candidates) if fresh else 0.0
    if missed >= fresh:
        return 0.0
    return float(scipy.special.betaincinv(fresh - missed, missed + 1, (1 - confidence) / candidates))


def fresh_needed(coverage: float, *, confidence: float, candidates: int = 1) -> int:
    """Give the number of fresh points that this coverage needs."""
    return int(np.ceil(np.log((1 - confidence) / candidates) / np.log(coverage)))


def judged_by(
    certificate: Certificate,
    *,
    errors: Values,
    trial_errors: Float64[np.ndarray, "trials outputs"],
    confidence: float,
    candidates: int,
) -> Certificate:
    """Give the same claim on the parameters with other fresh queries, and with trials.

    Args:
        certificate: whose fresh queries are replaced.
        errors: absolute errors at fresh points.
        trial_errors: the same at places that were not drawn from the domain.
        confidence: probability of the claim on coverage.
        candidates: networks that the fresh queries have judged.

    Assumes: the errors are no larger, in the root mean square, than those that the claim was made with.
    """
    return replace(
        certificate,
        largest_error=float(max(np.max(errors, initial=0.0), np.max(trial_errors, initial=0.0))),
        rms_error=float(np.sqrt(np.mean(errors**2))),
        fresh_queries=len(errors),
        confidence=confidence,
        coverage=coverage_of(len(errors), confidence=confidence, candidates=candidates),
        candidates=candidates,
        trials=len(trial_errors),
    )


def certify(
    network: Network,
    *,
    points: Points,
    values: Values,
    fresh_points: Float64[np.ndarray, "fresh inputs"],
    fresh_values: Float64[np.ndarray, "fresh outputs"],
    noise: float,
) -> Certificate:
    """Judge a network by the answers it was fitted to and by fresh ones.

    The coverage is distribution-free: if more than ``1 - coverage`` of the domain had larger errors,
    all of `fresh_queries` independent points would miss it with probability below ``1 - confidence``.

    For the parameters: with the distance r weighted so that the residuals bend by at most r^2, every exact network has
    ``F(theta*) - F(theta) = J (theta* - theta) + R``, ``|R| <= r^2 / 2``, so ``sigma r <= rho + r^2 / 2``: r is below
    the smaller or above the larger root of that quadratic. `rho` is the part of residuals and answer errors that
    parameters could explain.

    The residuals of a network with kinks bend so little only as long as no point changes its pattern of active neurons
    (a piecewise-linear one is bilinear then). A relative step d of neuron k moves its argument at x by at most
    ``d |w_k| |(x, 1)|``, so that every point allows steps up to the distance of its arguments from the kinks in that
    unit. The tenth of the points that allow least (or fewer, if that leaves too little) takes no part in the claim on
    the parameters; the radius has to be below what the others allow, the isolation no more than that.

    For deep networks the bound on the bending holds in a ball only (see `curvature_bound.py`), in which also
    no point changes its pattern: the radius has to be inside the ball, the isolation is no more than it.

    Assumes: the errors of the answers have a root mean square of at most the noise.
    """
    errors = np.abs(fresh_values - network(fresh_points))
    rms_error = float(np.sqrt(np.mean(errors**2)))
    # Fresh answers tell how large the errors of the answers are if the noise was underestimated.
    answer_error = max(noise, rms_error)
    is_large = parameters.is_shallow(network) and network.parameters > SINGULAR_RULES.estimated_from
    has_kinks = any(activation.breaks(1) for activation in network.activations)
    # Of a large network that misses answers by far no other points would say more.
    is_missing = network.parameters > SINGULAR_RULES.proven_from and rms_error > RULES.far_above_noise * noise
    shares = RULES.near_kinks if has_kinks and not (is_large or is_missing) else RULES.near_kinks[:1]
    make_claim = _parameter_claim if parameters.is_shallow(network) else layered_claim
    claims = [make_claim(network, points, values, answer_error, shares[0])]
    for share in shares[1:]:
        if not claims[-1].is_made:
            claims.append(make_claim(network, points, values, answer_error, share))
    return replace(certify_by(claims[-1], errors=errors, noise=noise), is_singular_estimated=is_large)


def certify_by(claim: ParameterClaim, *, errors: Values, noise: float) -> Certificate:
    """Put together what fresh answers say about a network, and what is known about its parameters.

    Args:
        claim: on the parameters.
        errors: absolute errors at fresh points.
        noise: of one answer.
    """
    return Certificate(
        largest_error=float(np.max(errors)),
        rms_error=float(np.sqrt(np.mean(errors**2))),
        fresh_queries=len(errors),
        confidence=RULES.confidence,
        coverage=coverage_of(len(errors), confidence=RULES.confidence),
        noise=noise,
        smallest_singular=claim.smallest_singular,
        is_singular_estimated=False,
        radius=claim.radius if claim.is_made else np.inf,
        isolation=claim.isolation if claim.is_made else 0.0,
    )


def _parameter_claim(
    network: Network, points: Points, values: Values, answer_error: float, share: float
) -> ParameterClaim:
    kept, reach = _steady_points(network, points, share)
    points, residuals = points[kept], values[kept] - network(points[kept])
    weights = _curvature_weights(network, points)
    sigma, leftover = _singular_value(network, points, residuals, weights)
    # What the fit left over has no part in the columns of the Jacobian at its minimum; the errors of the answers may,
    # and so may the rounding of large terms, far from the centre for example.
    rho = leftover + float(np.linalg.norm(np.maximum(answer_error, _rounding(network, points, residuals))))
    discriminant = sigma**2 - 2 * rho
    root = np.sqrt(max(discriminant, 0.0))
    has_neurons = network.widths[0] > 0
    # (sigma - root) without cancellation; dividing by the smallest weight gives a relative error.
    radius = float(2 * rho / (sigma + root) / np.min(weights)) if sigma > 0 else np.inf
    return ParameterClaim(
        smallest_singular=float(sigma / np.sqrt(residuals.size)),
        radius=radius,
        isolation=min(float((sigma + root) / np.max(weights)), reach) if has_neurons else np.inf,
        is_made=bool(discriminant > 0 and radius < reach) or not has_neurons,
    )


def _rounding(network: Network, points: Points, residuals: Values) -> Values:
    """Rounding of the terms that a network adds up at every point; none where it would take another large table."""
    if network.parameters > SINGULAR_RULES.estimated_from:
        return np.zeros_like(residuals)
    hidden, output = network.layers
    terms = np.abs(hidden.activation(hidden.preactivations(points))) @ np.abs(output.weights.T) + np.abs(output.biases)
    return np.finfo(float).eps * terms


def _steady_points(network: Network, points: Points, share: float) -> tuple[slice | np.ndarray, float]:
    """Points to keep, and the relative step of any neuron below which none of them changes its pattern."""
    hidden = network.layers[0]
    kinks = hidden.activation.breaks(1)
    if not kinks or hidden.neurons == 0:
        return slice(None), np.inf
    arguments, sizes = hidden.preactivations(points), parameters.ParameterVector(network).neuron_sizes
    gaps = np.min([np.min(np.abs(arguments - kink) / sizes, axis=1) for kink in kinks], axis=0)
    reach = gaps / np.sqrt(1 + np.einsum("pi,pi->p", points, points))
    kept = farthest(reach, network, share)
    return kept, float(np.min(reach[kept]))


def _curvature_weights(network: Network, points: Points) -> Float64[np.ndarray, "parameters"]:
    """One weight per parameter so that the residuals bend by at most ``|weights * step|^2`` in norm.

    For neuron k a step changes the argument at x by ``delta . (x, 1)``. By the triangle inequality over neurons the
    norm of the second derivative is at most ``sum_k L_k |step_k|^2`` with, in relative parameters,
    ``L_k = |a_k| (sup|g''| |w_k|^2 sqrt(Q) + sup|g'| |w_k| sqrt(P))``, where P and Q are the largest eigenvalues of
    ``sum (x,1)(x,1)^T`` and of the same sum weighted by ``|(x,1)|^2``. The affine part does not bend; it shares the
    smallest weight.
    """
    vector = parameters.ParameterVector(network)
    neurons, inputs, outputs = network.widths[0], network.inputs, network.outputs
    if neurons == 0:
        return np.ones(vector.count)
    activation = network.layers[0].activation
    lifted = np.hstack([points, np.ones((len(points), 1))])
    second = np.linalg.eigvalsh(lifted.T @ lifted)[-1]
    length, pull = vector.neuron_sizes, vector.output_sizes
    bends = pull * activation.supremum(1) * length * np.sqrt(second)
    if activation.supremum(2) > 0:
        fourth = np.linalg.eigvalsh(lifted.T @ (lifted * np.sum(lifted**2, axis=1, keepdims=True)))[-1]
        bends += pull * activation.supremum(2) * length**2 * np.sqrt(fourth)
    per_neuron = np.sqrt(bends)
    affine = np.full(vector.count - neurons * (inputs + 1 + outputs), np.min(per_neuron))
    return np.concatenate([np.repeat(per_neuron, inputs), per_neuron, np.tile(per_neuron, outputs), affine])


def _singular_value(
    network: Network, points: Points, residuals: Values, weights: Float64[np.ndarray, "parameters"]
) -> tuple[float, float]:
    """Smallest singular value of the weighted Jacobian, and the residual in its range."""
    if network.parameters <= SINGULAR_RULES.estimated_from:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            jacobian = parameters.shallow_jacobian(network, points) / weights
        if not np.all(np.isfinite(jacobian)):  # a fit has run away: its neurons have no curvature to be told from zero
            return 0.0, float(np.linalg.norm(residuals))
        count, target = network.parameters, parameters.with_gauge(network, residuals)
        if count <= SINGULAR_RULES.proven_from:
            factor, triangle = np.linalg.qr(jacobian)
            return float(scipy.linalg.svdvals(triangle)[-1]), float(np.linalg.norm(factor.T @ target))
        factored = np.asarray(np.linalg.qr(np.column_stack([jacobian, target]), mode="r"))
        return smallest_singular(factored[:count, :count]), float(np.linalg.norm(factored[:count, -1]))
    return estimated_singular(network, points, weights), float(np.linalg.norm(residuals))


@dataclass(frozen=True)
class Floors:
    """What a right network may be missed by.

    Args:
        oracle: who has answered, in standard coordinates.
        noise: standard deviation of an answer.
        largest_rounding: rounding of a network's own terms, relative to the answers, up to which it counts.
    """

    oracle: StandardOracle
    noise: float
    largest_rounding: float = 1e-8

    def on_average(self, network: Network, points: Points, values: Values) -> float:
        """Give the root mean square over some answers."""
        terms, sizes = (root_mean_square(each) for each in self._sizes(network, points, values))
        own = min(np.finfo(float).eps * terms, self.largest_rounding * sizes)
        return float(max(self.noise, self._rounding * sizes, own))

    def at_each(self, network: Network, points: Points, values: Values) -> PerPoint:
        """Give it at every single point: far from the centre of the domain terms are larger."""
        terms, sizes = (np.max(each, axis=1) for each in self._sizes(network, points, values))
        own = np.minimum(np.finfo(float).eps * terms, self.largest_rounding * sizes)
        return np.maximum(np.maximum(self.noise, self._rounding * sizes), own)

    @property
    def _rounding(self) -> float:
        return ROUNDING_DEVIATION * self.oracle.oracle.ledger.answer_digits

    def _sizes(self, network: Network, points: Points, answers: Values) -> tuple[Values, Values]:
        """Sizes of the terms that a network adds up, and of the answers before they were centred."""
        # The oracle's own rounding is that of its answers before they were centred.
        centre = np.abs(self.oracle.offset / self.oracle.size)
        return term_sizes(network, points) + centre, np.abs(answers) + centre


def term_sizes(network: Network, points: Points) -> Values:
    """Sizes of the terms that a network adds up, and multiplies rounding of, at every point and output."""
    *hidden, output = network.layers
    values = points
    for layer in hidden:
        values = layer.activation(layer.preactivations(values))
    sizes = np.abs(values)
    if len(hidden) == 1:
        sizes = np.maximum(sizes, argument_sizes(hidden[0], points))
    terms = sizes @ np.abs(output.weights.T)
    if output.activation != IDENTITY:
        arguments = output.preactivations(values)
        terms = np.abs(output.activation(arguments, 1)) * terms + np.abs(output.activation(arguments))
    if network.skip is not None:
        terms = terms + np.abs(points) @ np.abs(network.skip.T)
    return terms + np.abs(output.biases)


def argument_sizes(layer: Layer, points: Points) -> Float64[np.ndarray, "points neurons"]:
    """How much the values of neurons change if their arguments change by as much as the terms that these add up.

    A steep neuron adds up large terms to a small argument, and multiplies their rounding in its slab.
    """
    added = np.abs(points) @ np.abs(layer.weights.T) + np.abs(layer.biases)
    return np.abs(layer.activation(layer.preactivations(points), 1)) * added
