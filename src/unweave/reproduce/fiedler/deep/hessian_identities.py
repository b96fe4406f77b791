"""Entangled weights are gradients, and Hessians are made of them [fiedler, Lemma 4.1 and Prop. 4.1], by differences."""

from collections.abc import Sequence

import numpy as np

from unweave.activations import activation_named
from unweave.arrays import Vector
from unweave.networks.network import Network
from unweave.networks.planted import deep_network
from unweave.oracles.oracle import CallableOracle
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.derivative_sources import EntrywiseDifferences
from unweave.reproduce.fiedler.entangled import (
    entangled_weights,
    hessian_coefficients,
    hessians_from_entangled,
    preactivations,
)

# Steps of the differences that the formulas are compared with; their errors of second order cancel.
STEP = 2e-3
SHAPES = ("8-6-4", "10-8-6-3", "12-9-7-5-2")


def settings(scale: Scale) -> Sequence[Settings]:
    """Depths and activations."""
    shapes = SHAPES[:2] if scale is Scale.QUICK else SHAPES
    return [{"neurons": shape, "activation": name} for shape in shapes for name in ("tanh", "sigmoid", "softplus")]


def measure(cell: Cell) -> Numbers:
    """Relative differences of both sides at a random point, for all neurons and all outputs."""
    sizes = tuple(int(part) for part in str(cell.settings["neurons"]).split("-"))
    activation, rng = activation_named(str(cell.settings["activation"])), np.random.default_rng([cell.seed, *sizes])
    network = deep_network(
        rng, shape=(sizes[0], *sizes), activation=activation, output_activation=activation, shift_deviation=0.5
    )
    point = rng.standard_normal(network.inputs)
    rows = entangled_weights(network, point)
    gradients, hessians = _gradients(network, point), _hessians(network, point)
    found = hessians_from_entangled(rows, hessian_coefficients(network, point))
    return {
        "gradient_defect": _relative(np.concatenate(rows), gradients),
        "hessian_defect": _relative(found, hessians),
    }


def _gradients(network: Network, point: Vector) -> np.ndarray:
    """Gradients of all pre-activations."""

    def central(step: float) -> np.ndarray:
        moved = [
            np.concatenate(preactivations(network, point + sign * step * axis))
            for axis in np.eye(network.inputs)
            for sign in (1.0, -1.0)
        ]
        return (np.array(moved[::2]) - np.array(moved[1::2])).T / (2.0 * step)

    return (4.0 * central(0.5 * STEP) - central(STEP)) / 3.0


def _hessians(network: Network, point: Vector) -> np.ndarray:
    oracle = CallableOracle(network, inputs=network.inputs)
    whole, half = (EntrywiseDifferences(oracle, step).hessians(point[None])[0] for step in (STEP, 0.5 * STEP))
    return (4.0 * half - whole) / 3.0


def _relative(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.max(np.linalg.norm(found - truth, axis=1)) / np.max(np.linalg.norm(truth, axis=1)))


TITLE = "entangled weights as gradients, and Hessians as sums of their squares"
REPETITIONS = {Scale.QUICK: 2, Scale.USUAL: 10, Scale.FULL: 100}
COLUMNS = {"gradient_defect": "gradients, relative difference", "hessian_defect": "Hessians, relative difference"}
NOTES = (
    "Both sides of (4.18) and (4.20), the right ones by differences of fourth order; what is left is the error of "
    "the differences, 1e-7 or less for Hessians.",
)
