"""First-order training of a quadratic network with skip links: objective, gradient, and loops of many steps.

Level l reads ``h_l``, the concatenation of its sources, has features ``S_l = K_l h_l``, and adds
``weight_l |W_l h_l|^2`` to the output. Only K feeds higher levels, as ``z*z`` or, with a frame R, as the truncated
square of ``R S_l``; only W feeds the output. See `unweave.reproduce.allenzhu.staged` and `algorithm1` beside it.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from unweave._kernels import double_precision
from unweave._kernels.quadratic_terms import Data, Terms, Units
from unweave._kernels.truncated_square import truncated_square


def objective(units: Units, terms: Terms, data: Data, *, sources: tuple) -> float:
    """Mean loss and regularisers on all points."""
    with double_precision():
        return float(_value(jax.tree.map(jnp.asarray, units), terms, data, sources=sources))


def gradient(units: Units, terms: Terms, data: Data, *, sources: tuple) -> Units:
    """Gradient of the objective."""
    with double_precision():
        slopes = _slopes(units, terms, data, sources=sources)
        return jax.tree.map(np.asarray, slopes)


def train(
    units: Units,
    trains: Units,
    terms: Terms,
    data: Data,
    batches: np.ndarray,
    rates: np.ndarray,
    *,
    sources: tuple,
    method: str,
    clip: float,
    noise: float = 0.0,
    seed: int = 0,
    state: Any = None,
    is_tied: bool = False,
) -> tuple[Units, Any, float]:
    """One step per row of `batches`, which holds indices of points.

    Args:
        units: where training starts.
        trains: 1 for every unit that moves, 0 for one that is frozen.
        terms: the objective.
        data: the samples.
        batches: indices of points, one row per step.
        rates: step size of every step.
        sources: what each level reads.
        method: "adam" or "gradient".
        clip: largest norm of a gradient.
        noise: standard deviation of Gaussian noise that every step adds to the readouts that train.
        seed: of that noise.
        state: of the optimiser, from an earlier call.
        is_tied: whether the output reads the features themselves.

    Returns:
        The units afterwards, the state of the optimiser, and the mean objective over the batches.
    """
    with double_precision():
        optimiser = _optimiser(method, clip)
        units = jax.tree.map(jnp.asarray, units)
        state = optimiser.init(units) if state is None else state
        keys = jax.random.split(jax.random.key(seed), len(batches))
        moved, state, loss = _train(
            units, state, trains, terms, data, batches, rates, keys, noise,
            sources=sources, method=method, clip=clip, is_tied=is_tied,
        )  # fmt: skip
        return jax.tree.map(np.asarray, moved), state, float(loss)


def _optimiser(method: str, clip: float) -> optax.GradientTransformation:
    rule = optax.scale_by_adam(b1=0.9, b2=0.99) if method == "adam" else optax.identity()
    return optax.chain(optax.clip_by_global_norm(clip), rule)


@partial(jax.jit, static_argnames=("sources", "method", "clip", "is_tied"))
def _train(
    units, state, trains, terms, data, batches, rates, keys, noise, *, sources, method, clip, is_tied
):  # fmt: skip
    optimiser = _optimiser(method, clip)

    def one(carried, step):
        units, state = carried
        rows, rate, key = step
        batch = jax.tree.map(lambda numbers: numbers[rows], data)
        loss, slopes = jax.value_and_grad(_objective)(units, terms, batch, sources, is_tied)
        # Frozen units stay outside of the norm that is clipped.
        slopes = jax.tree.map(jnp.multiply, slopes, trains)
        moves, state = optimiser.update(slopes, state)
        units = jax.tree.map(lambda unit, move, is_free: unit - rate * is_free * move, units, moves, trains)
        keys = tuple(jax.random.split(key, len(sources)))
        readouts = jax.tree.map(partial(_shaken, noise), units.readouts, trains.readouts, keys)
        return (Units(units.features, readouts), state), loss

    (units, state), losses = jax.lax.scan(one, (units, state), (batches, rates, keys))
    return units, state, jnp.mean(losses)


def _shaken(noise, readout, is_free, key):
    return readout + noise * is_free * jax.random.normal(key, readout.shape)


@partial(jax.jit, static_argnames=("sources",))
def _value(units, terms, data, *, sources):
    return _objective(units, terms, data, sources, False)


@partial(jax.jit, static_argnames=("sources",))
def _slopes(units, terms, data, *, sources):
    return jax.grad(_objective)(units, terms, data, sources, False)


def _objective(units, terms, data, sources, is_tied):
    outputs, penalty = jnp.zeros(len(data.labels)) if data.offsets is None else data.offsets, 0.0
    given = {0: data.points, 1: data.squares}
    for place, read in enumerate(sources):
        features, readout = units.features[place], units.readouts[place]
        level = jnp.concatenate([given[source] for source in read], axis=1)
        outputs = outputs + terms.weights[place] * jnp.sum((level @ (features if is_tied else readout).T) ** 2, axis=1)
        given[place + 2] = _fed(level @ features.T, terms, place)
        penalty = penalty + _penalty(features, readout, given[read[0]].shape[1], terms, place)
    if terms.sharpness is None:
        return jnp.mean((outputs - data.labels) ** 2) + penalty
    return jnp.mean(jax.nn.softplus(-terms.sharpness * data.labels * outputs)) / terms.sharpness + penalty


def _fed(features, terms, place):
    """What higher levels read of a level."""
    if place < len(terms.frames):
        return truncated_square(features @ terms.frames[place].T, terms.bounds[place])
    rows, columns = np.triu_indices(features.shape[1])
    return features[:, rows] * features[:, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))


def _penalty(features, readout, main, terms, place):
    k_main, k_skip, w_main, w_skip = features[:, :main], features[:, main:], readout[:, :main], readout[:, main:]
    return (
        terms.cross[place] * _difference(k_main, k_skip, w_main, w_skip)
        + terms.main[place] * _difference(k_main, k_main, w_main, w_main)
        + terms.whole[place] * _difference(features, features, readout, readout)
        + terms.decay[place] * (jnp.sum(features**2) + jnp.sum(readout**2))
    )


def _difference(a, b, c, d):
    """``|A^T B - C^T D|^2`` by products over rows, which are fewer than columns."""
    own = jnp.sum((a @ a.T) * (b @ b.T)) + jnp.sum((c @ c.T) * (d @ d.T))
    return own - 2 * jnp.sum((a @ c.T) * (b @ d.T))
