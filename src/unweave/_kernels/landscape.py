"""Many trainings of one-hidden-layer networks ``f(x) = sum_l v_l g(<w_l, x>)`` in one compiled batch.

Every run has its own samples, so that starts for different planted networks share a batch. A run that is done leaves
the batch; the others move together, so nobody waits for the slowest start of a planted network.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from unweave._kernels import diagonal_descent, double_precision
from unweave.activations import Activation
from unweave.exceptions import InvalidInput

Function = Callable[[jax.Array], jax.Array]

# log(1 + e) = 2 artanh(e / (2 + e)); for e up to 1 the terms of the series fall by 1/9 or more, and this many leave
# nothing above 1e-17. The library's log takes three times as long, and it is most of the time of a step.
SERIES_TERMS = 17
# The step length of gradient descent: where it starts, how it grows and shrinks, and the share of the decrease that the
# slope promises which has to be seen.
FIRST_RATE, GROWTH, SHRINKAGE, SUFFICIENT_SHARE = 1e-3, 1.05, 0.5, 0.1
FIRST_DAMPING, LEAST_DAMPING, DAMPING_FACTOR = 1e-2, 1e-15, 5.0
# A run whose damping exceeds this can't move any more.
LARGEST_DAMPING = 1e8
# A batch shrinks to these shares of the runs as they finish: every size is compiled once.
BATCH_SHARES = (1.0, 1 / 3, 1 / 10)
SMALLEST_BATCH, LARGEST_BATCH = 8, 128
# Newton steps compile for sizes that are multiples of this.
PADDED_SIZE = 8
DESCENT_STEPS_PER_CALL, NEWTON_STEPS_PER_CALL = 250, 10
# A run stands still if one call lowers its loss by less than this share.
DESCENT_STANDSTILL, NEWTON_STANDSTILL = 1e-9, 1e-4


class Runs(NamedTuple):
    """Trainings side by side: parameters and samples of each, the run as first axis."""

    output_weights: np.ndarray
    weights: np.ndarray
    points: np.ndarray
    labels: np.ndarray


class Trained(NamedTuple):
    """Where the runs ended: parameters, losses ``|r|^2 / 2n``, steps taken, and losses after every call.

    A run that has ended early keeps its last loss in `history`, whose first column is the loss at the start.
    """

    output_weights: np.ndarray
    weights: np.ndarray
    losses: np.ndarray
    steps: np.ndarray
    history: np.ndarray


def descend(
    runs: Runs, activation: Activation | Function, *, steps: int, loss_tol: float, trains_outputs: bool
) -> Trained:
    """Gradient descent on all runs, each with its own step length, which grows until a step fails.

    A run ends when its loss is below `loss_tol`, when it stands still, or after `steps` steps.
    """
    with double_precision():
        function, scales = _function(activation)
        settings = {"function": function, "trains_outputs": trains_outputs}
        first = _first_slopes(*runs, *scales, **settings)
        state = [*runs[:2], *(np.asarray(array) for array in first), np.full(len(runs.labels), FIRST_RATE)]

        def advance(part: list[np.ndarray], points: np.ndarray, labels: np.ndarray, count: int) -> tuple:
            return _descend(tuple(part), points, labels, count, *scales, **settings)

        return _run_all(
            advance, state, runs,
            steps=steps, steps_per_call=DESCENT_STEPS_PER_CALL, loss_tol=loss_tol, standstill=DESCENT_STANDSTILL,
            waits_if_unmoved=False,
        )  # fmt: skip


def levenberg_marquardt(
    runs: Runs, activation: Activation | Function, *, steps: int, loss_tol: float, trains_outputs: bool
) -> Trained:
    """Damped Gauss-Newton on all runs, with one equation per sample (Gram form).

    Compiled for a batch of runs with a damping each, hence apart from `numerics.least_squares`.
    A run ends as in `descend`, or when no step lowers its loss any more.
    """
    padded, is_real = _padded(runs)
    with double_precision():
        function, scales = _function(activation)
        values = np.asarray(_answers(*padded[:3], *scales, function=function))
        losses = np.mean((values - runs.labels) ** 2, axis=1) / 2
        state = [*padded[:2], losses, np.full(len(runs.labels), FIRST_DAMPING)]

        def advance(part: list[np.ndarray], points: np.ndarray, labels: np.ndarray, count: int) -> tuple:
            return _newton(
                tuple(part), points, labels, count, is_real, *scales, function=function, trains_outputs=trains_outputs
            )  # fmt: skip

        found = _run_all(
            advance, state, padded,
            steps=steps, steps_per_call=NEWTON_STEPS_PER_CALL, loss_tol=loss_tol, standstill=NEWTON_STANDSTILL,
            waits_if_unmoved=True,
        )  # fmt: skip
    _, neurons, inputs = runs.weights.shape
    return found._replace(
        output_weights=found.output_weights[:, :neurons], weights=found.weights[:, :neurons, :inputs]
    )  # fmt: skip


def answers(
    output_weights: np.ndarray, weights: np.ndarray, points: np.ndarray, activation: Activation | Function
) -> np.ndarray:
    """Values of many networks, each at its own points."""
    padded, _ = _padded(Runs(output_weights, weights, points, np.zeros(points.shape[:2])))
    with double_precision():
        function, scales = _function(activation)
        return np.asarray(_answers(*padded[:3], *scales, function=function))


def _padded(runs: Runs) -> tuple[Runs, np.ndarray]:
    """The runs with neurons and inputs filled up by zeros, and which neurons are real.

    Factorisations take nearly all of the time of a Newton step, so that filling up costs little and saves compilations.
    """
    _, neurons, inputs = runs.weights.shape
    more, wider = -neurons % PADDED_SIZE, -inputs % PADDED_SIZE
    filled = Runs(
        np.pad(runs.output_weights, ((0, 0), (0, more))),
        np.pad(runs.weights, ((0, 0), (0, more), (0, wider))),
        np.pad(runs.points, ((0, 0), (0, 0), (0, wider))),
        runs.labels,
    )
    return filled, np.arange(neurons + more) < neurons


def _run_all(advance, state, runs, *, steps, steps_per_call, loss_tol, standstill, waits_if_unmoved):
    """Advance the runs that are not done, until all are; `state` is parameters, losses, and the step control last.

    A Newton run that has not moved in a call may only need more damping, so it waits until there is too much of it.
    """
    state = [np.array(array) for array in state]
    history, active = [state[2].copy()], state[2] > loss_tol
    taken = np.zeros(len(active), dtype=np.int64)
    largest = min(LARGEST_BATCH, len(active))
    sizes = [max(min(SMALLEST_BATCH, largest), int(np.ceil(share * largest))) for share in BATCH_SHARES]
    for first in range(0, steps, steps_per_call):
        count = min(steps_per_call, steps - first)
        waiting = np.flatnonzero(active)
        if not len(waiting):
            break
        while len(waiting):
            size = min(size for size in sizes if size >= min(len(waiting), sizes[0]))
            rows, waiting = waiting[:size], waiting[size:]
            filled = np.concatenate([rows, np.full(size - len(rows), rows[0])])
            before = state[2][rows]
            moved = advance([array[filled] for array in state], runs.points[filled], runs.labels[filled], count)
            for array, part in zip(state, moved, strict=True):
                array[rows] = np.asarray(part)[: len(rows)]
            taken[rows] += count
            after = state[2][rows]
            is_stuck = (before - after <= standstill * before) & ((after < before) | (not waits_if_unmoved))
            active[rows] = (after > loss_tol) & ~is_stuck & (state[-1][rows] <= LARGEST_DAMPING)
        history.append(state[2].copy())
    return Trained(state[0], state[1], state[2], taken, np.array(history).T)


def _softplus_parts(t):
    small = jnp.exp(-jnp.abs(t))
    ratio = small / (2.0 + small)
    square, total = ratio * ratio, jnp.zeros_like(t)
    for power in reversed(range(SERIES_TERMS)):
        total = total * square + 2.0 / (2 * power + 1)
    share = 1.0 / (1.0 + small)
    return jnp.maximum(t, 0.0) + total * ratio, jnp.where(t > 0, share, small * share)


@jax.custom_jvp
def _softplus(t):
    return _softplus_parts(t)[0]


@_softplus.defjvp
def _softplus_slope(primals, tangents):
    value, slope = _softplus_parts(primals[0])
    return value, slope * tangents[0]


FUNCTIONS: dict[str, Function] = diagonal_descent.FUNCTIONS | {
    "softplus": _softplus,
    "quadratic": jnp.square,
    "relu": lambda t: jnp.maximum(t, 0.0),
    "hard_tanh": lambda t: jnp.clip(t, -1.0, 1.0),
    "mish": jax.nn.mish,
    "elu": jax.nn.elu,
    "selu": jax.nn.selu,
}


def _leaky_relu(t, slope):
    return jnp.maximum(t, slope * t)


@lru_cache(maxsize=64)
def _family(name: str) -> Function | None:
    """A function that carries a number, the same one for the same name, so that it is compiled once."""
    family, _, number = name.partition("(")
    if not number:
        return None
    value = float(number.removesuffix(")"))
    return {"leaky_relu": partial(_leaky_relu, slope=value), "elu": partial(jax.nn.elu, alpha=value)}.get(family)


def _function(activation: Activation | Function) -> tuple[Function, tuple[float, float, float]]:
    """The compiled function, and the scales of ``outer function(inner t) + offset``: one compilation for a family."""
    if not isinstance(activation, Activation):
        return activation, (1.0, 1.0, 0.0)
    law = activation.rewriting
    if law is not None and law.base.name in FUNCTIONS:
        return FUNCTIONS[law.base.name], (law.inner, law.outer, law.offset)
    if activation.name == "step":
        raise InvalidInput("a step has no slope, which every search for a minimum follows: name another activation.")
    function = FUNCTIONS.get(activation.name) or _family(activation.name)
    if function is None:
        raise InvalidInput(
            f"the compiled batch knows {', '.join(sorted(FUNCTIONS))}, softplus(beta), elu(alpha) and "
            f"leaky_relu(slope), got {activation}: give a function of one JAX array instead."
        )
    return function, (1.0, 1.0, 0.0)


def _slopes_at(output_weights, weights, points, labels, inner, outer, offset, function, trains_outputs):
    """Loss and its gradients of one run."""
    z = inner * (points @ weights.T)
    value, slope = jax.jvp(function, (z,), (jnp.ones_like(z),))
    value, slope = outer * value + offset, outer * inner * slope
    residuals = value @ output_weights - labels
    share = residuals / len(labels)
    outward = value.T @ share if trains_outputs else jnp.zeros_like(output_weights)
    return 0.5 * (residuals @ share), outward, (slope * (share[:, None] * output_weights)).T @ points


@partial(jax.jit, static_argnames=("function", "trains_outputs"))
def _first_slopes(output_weights, weights, points, labels, inner, outer, offset, *, function, trains_outputs):
    def one(output, inside, where, label):
        return _slopes_at(output, inside, where, label, inner, outer, offset, function, trains_outputs)

    return jax.vmap(one)(output_weights, weights, points, labels)


@partial(jax.jit, static_argnames=("function",))
def _answers(output_weights, weights, points, inner, outer, offset, *, function):
    def one(output, inside, where):
        return (outer * function(inner * (where @ inside.T)) + offset) @ output

    return jax.vmap(one)(output_weights, weights, points)


@partial(jax.jit, static_argnames=("function", "trains_outputs"))
def _descend(state, points, labels, count, inner, outer, offset, *, function, trains_outputs):
    def step(state, points, labels):
        output, weights, loss, outward, inward, rate = state
        trial = output - rate * outward, weights - rate * inward
        slopes = _slopes_at(*trial, points, labels, inner, outer, offset, function, trains_outputs)
        promised = rate * (jnp.sum(outward**2) + jnp.sum(inward**2))
        is_lower = slopes[0] <= loss - SUFFICIENT_SHARE * promised
        kept = (jnp.where(is_lower, new, old) for new, old in zip((*trial, *slopes), state[:-1], strict=True))
        return (*kept, rate * jnp.where(is_lower, GROWTH, SHRINKAGE))

    move = jax.vmap(step)
    return jax.lax.fori_loop(0, count, lambda _, state: move(state, points, labels), state)


@partial(jax.jit, static_argnames=("function", "trains_outputs"))
def _newton(state, points, labels, count, is_real, inner, outer, offset, *, function, trains_outputs):
    def value_of(output, weights, points):
        return (outer * function(inner * (points @ weights.T)) + offset) @ output

    def step(state, points, labels, similarity):
        output, weights, loss, damping = state
        z = inner * (points @ weights.T)
        value, slope = jax.jvp(function, (z,), (jnp.ones_like(z),))
        value, scaled = jnp.where(is_real, outer * value + offset, 0.0), outer * inner * slope * output
        gram = (scaled @ scaled.T) * similarity
        gram = gram + value @ value.T if trains_outputs else gram
        ridge = damping * jnp.trace(gram) / len(labels)
        factor = jnp.linalg.cholesky(gram + ridge * jnp.eye(len(labels)))
        dual = jax.scipy.linalg.cho_solve((factor, True), value @ output - labels)
        moved = output - value.T @ dual if trains_outputs else output
        trial = moved, weights - (scaled * dual[:, None]).T @ points
        trial_loss = jnp.mean((value_of(*trial, points) - labels) ** 2) / 2
        is_lower = trial_loss < loss
        kept = (jnp.where(is_lower, new, old) for new, old in zip((*trial, trial_loss), state[:-1], strict=True))
        smaller = jnp.maximum(damping / DAMPING_FACTOR, LEAST_DAMPING)
        return (*kept, jnp.where(is_lower, smaller, damping * DAMPING_FACTOR))

    similarity = jnp.einsum("rpi,rqi->rpq", points, points)
    move = jax.vmap(step)
    return jax.lax.fori_loop(0, count, lambda _, state: move(state, points, labels, similarity), state)
