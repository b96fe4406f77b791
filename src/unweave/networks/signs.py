"""Signs of neurons: those that leave no affine part, and the piecewise linear activation that explains kinks.

With ``g(-t) = g(t) + slope t + offset`` a neuron may be flipped if an affine part makes up for it, so second
derivatives and kinks leave the sign of every neuron open. A network without an affine part has signs again:
the flips that remove it solve a linear system with unknowns 0 and 1 (see `binary_systems`).
"""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Bool, Float64

from unweave.activations import HARD_TANH, IDENTITY, RELU, Activation, base_of, leaky_relu
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.symmetries import reflect
from unweave.numerics.binary_systems import BinaryRules, BinarySolutions, BinarySystem, Elimination

Array = np.ndarray


@dataclass(frozen=True)
class SignRules:
    """What counts as evidence for signs and slopes.

    Args:
        most_accidents: expected number of choices that an unrelated affine part would meet as well, up to which one is
            evidence. Chosen: one of a thousand, as for a test at that level.
        usual_slopes: of leaky relu, tried before others: those in use in common frameworks and models, and -1 for
            the absolute value.
        most_free_signs: up to which every slope of leaky relu is tried. Chosen: 2^16 choices are enumerated in memory.
        decimal_margin: a slope is written with few decimals if its error is this much smaller than the last of them.
            Chosen: another number comes so close to one of so few decimals in one of fifty cases.
        binary: rules of the system of the signs; its window says when other choices come too close.
    """

    most_accidents: float = 1e-3
    usual_slopes: tuple[float, ...] = (0.01, 0.1, 0.2, 0.3, -1.0)
    most_free_signs: int = 16
    decimal_margin: float = 100.0
    binary: BinaryRules = field(default_factory=BinaryRules)


RULES = SignRules()


@dataclass(frozen=True, eq=False)
class SignResolution:
    """Which signs leave no affine part.

    Args:
        network: without an affine part if exactly one choice of signs removes it, otherwise as it came.
        open_signs: neurons that differ among the choices that remove the affine part; all, if some choice does and
            the search could not cover the others, or an unrelated affine part could have met it by accident.
        solutions: 0 if no choice was found; 1 if exactly one exists; 2 if several do, or could not be excluded.
        margin: what remains in the second best choice, in tolerances: infinite if full column rank excludes one, and
            the window of `BinaryRules` if it is known only that it is not below. Without a solution the same for the
            best choice (infinite if none is in the window).
        is_complete: whether all choices were covered; if not, 0 solutions means that none was found.
    """

    network: Network
    open_signs: Bool[np.ndarray, "neurons"]
    solutions: int
    margin: float
    is_complete: bool


@dataclass(frozen=True, eq=False)
class KinkExplanation:
    """A piecewise linear activation that explains kinks and affine part together.

    Args:
        network: the same function, with `activation`; without an affine part if `solutions` is 1.
        activation: relu if nothing explains the affine part.
        open_signs: neurons of `network` whose sign the answers leave open.
        solutions: as in `SignResolution`.
        reason: one line in plain words.
    """

    network: Network
    activation: Activation
    open_signs: Bool[np.ndarray, "neurons"]
    solutions: int
    reason: str


def resolve_signs(network: Network, *, relative_tol: float, rules: SignRules = RULES) -> SignResolution:
    """Decide whether flips of neurons remove the affine part, and whether only one choice does.

    Args:
        network: one hidden layer; no `skip` counts as a zero one, which other signs may leave zero, too.
        relative_tol: relative error of output weights times weights, of every neuron; and of the entries of `skip`
            relative to the largest of these products.
        rules: what counts as evidence.

    Raises:
        InvalidInput: if there is not one hidden layer with an affine output, or the tolerance is not in (0, 1).

    Guarantees: if the errors are as said, a single solution is the true choice, or the true network has an affine part
        that is within the tolerance of the reachable ones (by accident: less than `most_accidents` expected).
    """
    _check(network, relative_tol)
    return resolved(network, _system(network, _tolerance(network, relative_tol), rules), rules=rules)


def absorb_skip(network: Network, *, relative_tol: float, rules: SignRules = RULES) -> Network:
    """Flip neurons so that the affine part vanishes, where some choice of signs does that.

    The best choice is taken even if others come close: for callers that judge the result on fresh answers. With many
    more neurons than equations accidents are likely, so none is tried.

    Returns:
        The network with flipped neurons and no skip, or the network unchanged if no flips cancel it.
    """
    hidden = network.layers[0]
    has_slope = hidden.activation.reflected_slope != 0.0
    if network.skip is None or not has_slope or hidden.neurons == 0:
        return network
    if not rules.binary.programme.allow(unknowns=hidden.neurons, equations=network.skip.size):
        return network
    choices = _system(network, _tolerance(network, relative_tol), rules).solutions()
    return network if not _has_solution(choices) else _flipped(network, choices.vectors[0])


def explain_kinks(
    network: Network, *, relative_tol: float, activation: Activation | None = None, rules: SignRules = RULES
) -> KinkExplanation:
    """Find the activation that explains the kinks of a relu network and leaves no affine part.

    Tried in this order: hard tanh, if all kinks form pairs with opposite changes of slope; relu; leaky relu
    with a usual slope, or the absolute value; leaky relu with any slope. Pairs come first because relu and
    the absolute value explain them as well, with twice as many neurons. An activation explains if what
    remains of the affine part is within the tolerance of `resolve_signs`, and no other of its kind does
    within the window of the rules, which is wider.

    Args:
        network: one hidden layer of relu, with any affine part.
        relative_tol: as in `resolve_signs`; for pairs also of weights and biases.
        activation: restricts the search to it, or to the simplest one that gives the same networks.
        rules: what counts as evidence.

    Raises:
        InvalidInput: if it is not a network of relu, or as in `resolve_signs`.
    """
    _check(network, relative_tol)
    if network.layers[0].activation != RELU:
        raise InvalidInput(f"explain_kinks needs a network of relu, got {network.layers[0].activation}.")
    tolerance = _tolerance(network, relative_tol)
    activation = None if activation is None else base_of(activation)
    if activation is None or activation == HARD_TANH:
        paired = _paired(network, relative_tol, tolerance, rules)
        if paired is not None:
            return paired
    if activation is None or activation == RELU:
        resolution = resolve_signs(network, relative_tol=relative_tol, rules=rules)
        if resolution.solutions:
            return _explanation(resolution, RELU)
    explained = _leaky_explanations(network, tolerance, activation, rules)
    if len(explained) == 1:
        return explained[0]
    if explained:
        kinds = ", ".join(str(each.activation) for each in explained)
        return KinkExplanation(network, RELU, _all(network), 2, f"several activations explain the kinks: {kinds}.")
    tried = "relu, leaky relu or hard tanh" if activation is None else str(activation)
    reason = f"no choice of signs of {tried} was found that explains the affine part, which is kept."
    return KinkExplanation(network, RELU, ~_all(network), 0, reason)


def _check(network: Network, relative_tol: float) -> None:
    if len(network.layers) != 2 or network.layers[1].activation != IDENTITY:
        raise InvalidInput(f"signs need one hidden layer and an affine output, got layers of {network.activations}.")
    if not 0.0 < relative_tol < 1.0:
        raise InvalidInput(f"relative_tol needs to be between 0 and 1, got {relative_tol}.")


def _all(network: Network) -> Array:
    return np.ones(network.widths[0], dtype=bool)


def _skip(network: Network) -> Array:
    return np.zeros((network.outputs, network.inputs)) if network.skip is None else network.skip


def _slopes(network: Network) -> Float64[Array, "neurons equations"]:
    """Output weights times weights of every neuron."""
    hidden, output = network.layers
    products = output.weights.T[:, :, None] * hidden.weights[:, None, :]
    return products.reshape(hidden.neurons, network.outputs * network.inputs)


def _tolerance(network: Network, relative_tol: float) -> float:
    """Norm of the affine part that errors leave: of the flipped neurons and of its own entries, added in squares."""
    slopes = _slopes(network)
    largest = float(np.max(np.linalg.norm(slopes, axis=1), initial=0.0))
    return relative_tol * float(np.sqrt(np.sum(slopes**2) + slopes.shape[1] * largest**2))


def _system(network: Network, tolerance: float, rules: SignRules) -> BinarySystem:
    """Flipping neuron k changes the skip by -slope a_k w_k; nothing does if the reflection has no slope."""
    slope = network.layers[0].activation.reflected_slope
    changes = -slope * _slopes(network) if slope != 0.0 else np.zeros((0, network.inputs * network.outputs))
    return BinarySystem(np.ascontiguousarray(changes.T), -_skip(network).ravel(), tolerance, rules.binary)


def _has_solution(choices: BinarySolutions) -> bool:
    return bool(np.any(choices.residuals <= 1.0))


def _flipped(network: Network, flips: Array) -> Network:
    return replace(reflect(network, 0, flips), skip=None)


def resolved(network: Network, system: BinarySystem, *, rules: SignRules = RULES) -> SignResolution:
    """Which flips solve the system that says whether they remove the affine part, one unknown per neuron."""
    choices = system.solutions()
    others = choices.residuals[1:] if _has_solution(choices) else choices.residuals
    none_seen = np.inf if choices.is_full_rank or not _has_solution(choices) else system.rules.window
    margin = float(others[0]) if len(others) else float(none_seen)
    if not _has_solution(choices):
        return SignResolution(network, ~_all(network), 0, margin, choices.is_complete)
    if len(others):
        differ = np.any(choices.vectors != choices.vectors[0], axis=0)
        open_signs = differ if choices.is_complete else _all(network)
        return SignResolution(network, open_signs, 2, margin, choices.is_complete)
    if not choices.is_complete or system.expected_accidents() > rules.most_accidents:
        return SignResolution(network, _all(network), 2, margin, choices.is_complete)
    flips = choices.vectors[0] if len(system.matrix.T) else ~_all(network)
    return SignResolution(_flipped(network, flips), ~_all(network), 1, margin, True)


def _explanation(resolution: SignResolution, activation: Activation) -> KinkExplanation:
    count = int(resolution.open_signs.sum())
    if resolution.solutions == 1:
        reason = f"{activation} explains all kinks without an affine part."
    else:
        reason = f"{activation} explains all kinks without an affine part in several ways: {count} signs are open."
    return KinkExplanation(resolution.network, activation, resolution.open_signs, resolution.solutions, reason)


def _as_leaky(network: Network, activation: Activation) -> Network:
    """The same function by ``relu(t) = (g(t) - slope t) / (1 - slope)``."""
    hidden, output = network.layers
    slope = _negative_slope(activation)
    outgoing = output.weights / (1.0 - slope)
    return Network.shallow(
        hidden.weights,
        hidden.biases,
        outgoing,
        output.biases - slope * (outgoing @ hidden.biases),
        activation,
        _skip(network) - slope * (outgoing @ hidden.weights),
    )


def _negative_slope(activation: Activation) -> float:
    return float(activation(np.array([-1.0]), 1)[0])


def _leaky_explanations(
    network: Network, tolerance: float, given: Activation | None, rules: SignRules
) -> list[KinkExplanation]:
    """The given leaky relu, the usual ones, or the one of any slope: those that explain the affine part."""
    if given is not None:
        is_leaky = given != RELU and given.homogeneity == 1 and given.kinks == (0.0,)
        return _explained(network, [given] if is_leaky else [], tolerance, rules)
    usual = _explained(network, [leaky_relu(slope) for slope in rules.usual_slopes], tolerance, rules)
    return usual or _explained(network, _fitted_leaky(network, tolerance, rules), tolerance, rules)


def _explained(
    network: Network, candidates: list[Activation], tolerance: float, rules: SignRules
) -> list[KinkExplanation]:
    explained = []
    for candidate in candidates:
        leaky = _as_leaky(network, candidate)
        resolution = resolved(leaky, _system(leaky, tolerance, rules), rules=rules)
        if resolution.solutions:
            explained.append(_explanation(resolution, candidate))
    return explained


def _fitted_leaky(network: Network, tolerance: float, rules: SignRules) -> list[Activation]:
    """Leaky relu with the slope that the affine part asks for; two, if it asks for several.

    Written as ``sum_k a_k |t_k| / 2 + A x + c``, a network of leaky relu has ``A = q sum_k s_k a_k w_k`` with
    signs s_k and ``2 q = (1 + slope) / (1 - slope)``. So for every choice of the free signs, one of the others
    gives q, and all of the others have to come out as 1 or -1.
    """
    slopes = _slopes(network)
    total = _skip(network).ravel() + slopes.sum(axis=0) / 2
    system = BinarySystem(np.ascontiguousarray(slopes.T), total, tolerance, rules.binary)
    rule = system.elimination
    if rule.rank == 0 or len(rule.free) > rules.most_free_signs:
        return []
    # The slope is one unknown more: it meets one equation whatever the signs.
    if system.expected_accidents() * float(np.linalg.norm(slopes)) / tolerance > rules.most_accidents:
        return []
    found: list[float] = []
    for signs in _signs_of_equal_size(rule):
        slope, error = _slope_of_leaky(total, signs @ slopes, system, rules.decimal_margin)
        if -1.0 < slope < 1.0 and all(abs(slope - other) > error for other in found):
            found.append(slope)
    return [leaky_relu(slope) for slope in found[:2]]


def _signs_of_equal_size(rule: Elimination) -> Float64[Array, "choices neurons"]:
    """Signs s for which the solution of the system is q s with some q > 0, up to the errors."""
    free = len(rule.free)
    patterns = 1.0 - 2.0 * ((np.arange(2**free)[:, None] >> np.arange(free)) & 1)
    sums = patterns @ rule.coefficients.T
    pivot = int(np.argmax(np.abs(rule.constants) / rule.errors))
    found = [np.zeros((0, rule.rank + free))]
    for sign in (1.0, -1.0):
        divisors = sign + sums[:, pivot]
        # A vanishing divisor gives no q.
        usable = np.abs(divisors) > np.finfo(float).eps
        divisors, parts = divisors[usable], sums[usable]
        q = rule.constants[pivot] / divisors
        rest = rule.constants - q[:, None] * parts
        errors = rule.errors + (rule.errors[pivot] / np.abs(divisors))[:, None] * (1.0 + np.abs(parts))
        fits = (q > 0.0) & np.all(np.abs(np.abs(rest) - q[:, None]) <= errors, axis=1)
        signs = np.zeros((int(fits.sum()), rule.rank + free))
        signs[:, rule.basic], signs[:, rule.free] = np.sign(rest[fits]), patterns[usable][fits]
        found.append(signs)
    return np.vstack(found)


def _slope_of_leaky(total: Array, direction: Array, system: BinarySystem, decimal_margin: float) -> tuple[float, float]:
    """Slope for which ``total = q direction``, and its error; nan if they are not parallel."""
    length = float(np.linalg.norm(direction))
    q = float(total @ direction) / length**2 if length > 0.0 else 0.0
    if q <= 0.0 or np.linalg.norm(total - q * direction) > system.window:
        return np.nan, np.nan
    slope = (2.0 * q - 1.0) / (2.0 * q + 1.0)
    error = 4.0 / (2.0 * q + 1.0) ** 2 * system.window / length
    for decimals in range(1, 7):
        # Slopes are chosen by people: few decimals within the error are no accident.
        is_near = abs(round(slope, decimals) - slope) <= error
        if is_near and decimal_margin * error < 10.0**-decimals:
            return round(slope, decimals), error
    return slope, error


def _paired(network: Network, relative_tol: float, tolerance: float, rules: SignRules) -> KinkExplanation | None:
    """Hard tanh, ``(|t + 1| - |t - 1|) / 2``, if all kinks form pairs and no affine part is left."""
    hidden, output = network.layers
    norms = np.linalg.norm(hidden.weights, axis=1)
    affine = _skip(network) + output.weights @ hidden.weights / 2
    if hidden.neurons == 0 or not np.all(norms > 0.0) or np.linalg.norm(affine) > tolerance:
        return None
    normals, shifts = hidden.weights / norms[:, None], hidden.biases / norms
    changes = output.weights.T * norms[:, None]
    # Two kinks are compared, each with its errors.
    fits, turned = _possible_pairs(normals, shifts, changes, allowed=2.0 * rules.binary.window * relative_tol)
    partners = scipy.sparse.csgraph.maximum_bipartite_matching(scipy.sparse.csr_array(fits), perm_type="column")
    several = fits.sum(axis=1) > 1
    if np.any(partners < 0):
        return None
    if several.any():
        reason = f"the kinks form pairs of hard tanh in several ways: {int(several.sum())} kinks are open."
        return KinkExplanation(network, RELU, several, 2, reason)
    first = np.flatnonzero(partners > np.arange(hidden.neurons))
    second, signs = partners[first], turned[first, partners[first]]
    # With ``t = -1`` at one kink and 1 at the other; which is which only negates the neuron.
    gaps = shifts[first] - signs * shifts[second]
    paired = Network.shallow(
        weights=(normals[first] + signs[:, None] * normals[second]) / gaps[:, None],
        biases=(shifts[first] + signs * shifts[second]) / gaps,
        output_weights=(changes[first] - changes[second]).T * np.abs(gaps) / 4.0,
        offset=output.biases + output.weights @ hidden.biases / 2,
        activation=HARD_TANH,
    )
    reason = f"all kinks form pairs: {len(first)} neurons of hard tanh explain them without an affine part."
    return KinkExplanation(paired, HARD_TANH, np.zeros(len(first), dtype=bool), 1, reason)


def _possible_pairs(normals: Array, shifts: Array, changes: Array, *, allowed: float) -> tuple[Array, Array]:
    """Which kinks are parallel, apart, and change the slope by opposite amounts; and the signs of their normals."""
    cdist = scipy.spatial.distance.cdist
    same, opposite = cdist(normals, normals), cdist(normals, -normals)
    turned = np.where(opposite < same, -1.0, 1.0)
    sizes = np.linalg.norm(changes, axis=1)
    fits = np.minimum(same, opposite) <= allowed
    fits &= cdist(changes, -changes) <= allowed * np.maximum.outer(sizes, sizes)
    fits &= np.abs(shifts[:, None] - turned * shifts) > allowed * (1.0 + np.abs(shifts))
    return fits, turned
