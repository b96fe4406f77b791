"""Signs and first shifts of networks with unit weights and output weights one [fiedler, Alg. 3.3].

For ``f(x) = sum_k g(<w_k, x> + t_k)`` and directions ``u_k = s_k w_k`` known up to sign, the n-th
derivatives of f at the origin along the directions are ``T_n = G_n C_n`` with the Gramian
``(G_n)_kl = <u_k, u_l>^n`` and ``C_nk = s_k^n g^(n)(t_k)``. The second order gives the shifts, the
third the signs. Networks in general form are read off their profiles instead, see `profiles.py`.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Atoms, PerNeuron
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.oracles.oracle import Oracle
from unweave.oracles.views import StandardOracle

# Where third derivatives are searched for their first zero; beyond, every activation has saturated.
SEARCH_RANGE = 20.0
SEARCH_POINTS = 20_001
# Halvings after which an interval of that range is as short as float64 can tell.
HALVINGS = 70


@dataclass(frozen=True)
class SignsAndShifts:
    """What the second and third derivatives at the origin say about every neuron.

    Args:
        weights: the directions with their signs set, unit vectors.
        shifts: first estimate of the shifts, to be refined.
        signs: the sign that each given direction was multiplied with.
        second: ``C_2``, estimates of ``g''`` at the shifts.
        third: ``C_3``, estimates of ``g'''`` at the shifts, times the signs.
        clipped: shifts that were cut to the allowed interval because no shift in it explains ``C_2``.
        sign_margins: ``|C_3|``; to be trusted between `smallest_third` and the supremum of ``|g'''|``.
        smallest_third: smallest ``|g'''|`` over the allowed shifts.
        second_condition, third_condition: condition numbers of the Gramians of the second and the third order.
    """

    weights: Atoms
    shifts: PerNeuron
    signs: PerNeuron
    second: PerNeuron
    third: PerNeuron
    clipped: int
    sign_margins: PerNeuron
    smallest_third: float
    second_condition: float
    third_condition: float

    @property
    def uncertain_signs(self) -> int:
        """Number of neurons whose third derivative is less than half of the smallest possible one."""
        return int(np.count_nonzero(self.sign_margins < 0.5 * self.smallest_third))


def signs_and_shifts(
    oracle: Oracle | StandardOracle,
    atoms: Atoms,
    activation: Activation,
    *,
    largest_shift: float,
    step: float,
) -> SignsAndShifts:
    """Set the sign of every direction and estimate its shift from 4 queries per neuron and one more.

    Args:
        oracle: answers for the sum of neurons itself, in units where its weights are unit vectors.
        atoms: unit directions of all neurons, up to sign.
        activation: the activation, known.
        largest_shift: bound on the absolute shifts; at most `monotone_limit` of the activation.
        step: finite-difference step of both derivatives; [fiedler, Sec. 3.6] takes 1e-2.

    Raises:
        InvalidInput: if the activation does not allow such shifts, an argument is out of range, or two
            directions are parallel; nothing was queried.

    Assumes: unit weights, output weights one, shifts within the bound.
    Guarantees: errors of order ``step^2`` plus that of the atoms, amplified by the inverse Gramians and
    by ``1 / smallest_third`` [fiedler, Lemma 3.3 and Prop. 3.1].
    """
    _check(oracle, atoms, activation, largest_shift=largest_shift, step=step)
    gramians = [(atoms @ atoms.T) ** order for order in (2, 3)]
    conditions = [_condition(gramian, atoms) for gramian in gramians]
    second, third = (
        scipy.linalg.cho_solve(scipy.linalg.cho_factor(gramian), derivative)
        for gramian, derivative in zip(gramians, _derivatives_at_origin(oracle, atoms, step=step), strict=True)
    )
    signs = np.where(third * activation(np.zeros(1), 3)[0] < 0, -1.0, 1.0)
    ends = np.sort(activation(np.array([-largest_shift, largest_shift]), 2))
    interval = np.linspace(-largest_shift, largest_shift, 2_001)
    return SignsAndShifts(
        weights=signs[:, None] * atoms,
        shifts=inverse_second_derivative(second, activation, largest_shift=largest_shift),
        signs=signs,
        second=second,
        third=third,
        clipped=int(np.count_nonzero((second < ends[0]) | (second > ends[1]))),
        sign_margins=np.abs(third),
        smallest_third=float(np.min(np.abs(activation(interval, 3)))),
        second_condition=conditions[0],
        third_condition=conditions[1],
    )


def unit_network_from(found: SignsAndShifts, activation: Activation) -> Network:
    """The network ``f(x) = sum_k g(<w_k, x> + t_k)`` with the estimated weights and shifts."""
    return Network.shallow(
        weights=found.weights,
        biases=found.shifts,
        output_weights=np.ones((1, len(found.shifts))),
        offset=np.zeros(1),
        activation=activation,
    )


@lru_cache(maxsize=64)
def monotone_limit(activation: Activation) -> float:
    """Largest t such that ``g''`` is strictly monotone on ``(-t, t)``: the zero of ``g'''`` nearest to 0.

    Zero for activations with an even second derivative (softplus, gelu), infinite if there is no zero.
    """
    if not activation.is_smooth:
        return 0.0
    at_zero = float(activation(np.zeros(1), 3)[0])
    if abs(at_zero) <= 1e-12 * max(activation.supremum(3), np.finfo(float).tiny):
        return 0.0
    limits = [_first_zero(activation, side, is_positive=at_zero > 0) for side in (1.0, -1.0)]
    return min(limits)


def inverse_second_derivative(values: PerNeuron, activation: Activation, *, largest_shift: float) -> PerNeuron:
    """Solve ``g''(t) = value`` for ``|t| <= largest_shift`` by bisection; the nearer end if there is no t."""
    low, high = np.full(len(values), -largest_shift), np.full(len(values), largest_shift)
    rises = activation(np.array([-largest_shift, largest_shift]), 2)
    direction = 1.0 if rises[1] > rises[0] else -1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        is_below = direction * (activation(middle, 2) - values) < 0
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return 0.5 * (low + high)


def _first_zero(activation: Activation, side: float, *, is_positive: bool) -> float:
    def has_turned(t: np.ndarray) -> np.ndarray:
        third = activation(side * t, 3)
        return third <= 0 if is_positive else third >= 0

    grid = np.linspace(0.0, SEARCH_RANGE, SEARCH_POINTS)
    turned = np.flatnonzero(has_turned(grid))
    if len(turned) == 0:
        return np.inf
    low, high = grid[turned[0] - 1], grid[turned[0]]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if has_turned(np.array([middle]))[0] else (middle, high)
    return float(low)


def _derivatives_at_origin(
    oracle: Oracle | StandardOracle, atoms: Atoms, *, step: float
) -> tuple[PerNeuron, PerNeuron]:
    """Second and third derivative along every direction from shared answers, by central differences."""
    offsets = step * np.array([1.0, -1.0, 2.0, -2.0])
    points = (offsets[:, None, None] * atoms).reshape(-1, atoms.shape[1])
    answers = oracle.query(np.concatenate([np.zeros((1, atoms.shape[1])), points]))
    if answers.shape[1] != 1:
        raise InvalidInput(f"signs_and_shifts needs one output, got {answers.shape[1]}: the model sums its neurons.")
    center = answers[0, 0]
    plus, minus, far_plus, far_minus = answers[1:, 0].reshape(4, -1)
    second = (plus - 2.0 * center + minus) / step**2
    third = (far_plus - far_minus - 2.0 * (plus - minus)) / (2.0 * step**3)
    return second, third


def _condition(gramian: Float64[np.ndarray, "neurons neurons"], atoms: Atoms) -> float:
    values = scipy.linalg.eigvalsh(gramian)
    if len(values) and values[0] <= len(values) * np.finfo(float).eps * values[-1]:
        overlaps = np.triu(np.abs(atoms @ atoms.T), 1)
        first, second = np.unravel_index(np.argmax(overlaps), overlaps.shape)
        raise InvalidInput(
            f"signs_and_shifts needs independent squares: neurons {first} and {second} overlap "
            f"by {overlaps[first, second]:.6f}, or there are too many neurons for {atoms.shape[1]} inputs."
        )
    return float(values[-1] / values[0]) if len(values) else 1.0


def _check(
    oracle: Oracle | StandardOracle,
    atoms: Atoms,
    activation: Activation,
    *,
    largest_shift: float,
    step: float,
) -> None:
    limit = monotone_limit(activation)
    if not (0 < largest_shift <= limit and np.isfinite(largest_shift)):
        raise InvalidInput(
            f"signs_and_shifts needs a largest shift above 0 and at most {limit:.6g}, up to where the second "
            f"derivative of {activation} is monotone, got {largest_shift}."
        )
    if not (np.isfinite(step) and step > 0):
        raise InvalidInput(f"a finite-difference step must be positive and finite, got {step}.")
    if oracle.outputs not in (None, 1):
        raise InvalidInput(f"signs_and_shifts needs one output, got {oracle.outputs}: the model sums its neurons.")
    if atoms.shape[1] != oracle.inputs:
        raise InvalidInput(f"atoms need {oracle.inputs} columns, one per input, got shape {atoms.shape}.")
    if not np.allclose(np.linalg.norm(atoms, axis=1), 1.0, atol=1e-6):
        raise InvalidInput("signs_and_shifts needs unit directions: divide the atoms by their norms.")
