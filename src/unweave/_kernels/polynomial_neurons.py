"""Training of two-layer networks ``sum_i sum_p a_ip (<w_i, u> + b_i)^p``: every neuron has a polynomial of its own."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from unweave._kernels import double_precision

Neurons = dict[str, np.ndarray]


def train_neurons(
    neurons: Neurons, points: np.ndarray, labels: np.ndarray, batches: np.ndarray, rates: np.ndarray, *, clip: float
) -> Neurons:
    """One step of Adam per row of `batches`, which holds indices of points."""
    with double_precision():
        trained = _train(jax.tree.map(jnp.asarray, neurons), points, labels, batches, rates, clip=clip)
        return jax.tree.map(np.asarray, trained)


def outputs(neurons, points):
    """The output at every point; NumPy or JAX arrays alike."""
    reach = points @ neurons["weights"].T + neurons["biases"]
    total, power = neurons["constant"], 1.0
    for coefficients in neurons["coefficients"]:
        power = power * reach
        total = total + power @ coefficients
    return total


@partial(jax.jit, static_argnames=("clip",))
def _train(neurons, points, labels, batches, rates, *, clip):
    optimiser = optax.chain(optax.clip_by_global_norm(clip), optax.scale_by_adam(b1=0.9, b2=0.99))

    def loss(neurons, rows):
        return jnp.mean((outputs(neurons, points[rows]) - labels[rows]) ** 2)

    def one(carried, step):
        neurons, state = carried
        rows, rate = step
        moves, state = optimiser.update(jax.grad(loss)(neurons, rows), state)
        return (jax.tree.map(lambda value, move: value - rate * move, neurons, moves), state), None

    (neurons, _), _ = jax.lax.scan(one, (neurons, optimiser.init(neurons)), (batches, rates))
    return neurons
