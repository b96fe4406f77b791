"""Diagonals for which the reparametrised network is the network [fiedler, Prop. 4.3 and 4.4, Lemma 4.5]."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unweave.activations import activation_named
from unweave.identification.peeling.reparametrised import Diagonals, ReparametrisedNetwork
from unweave.networks.planted import deep_network
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.diagonal_solutions import consistency_defect, exact_solution
from unweave.reproduce.fiedler.entangled_metrics import uniform_error

POINTS = 200
SHAPES = ("8-6-4", "10-8-6-3")
ODD = ("tanh", "sin")


def settings(scale: Scale) -> Sequence[Settings]:
    """Depths and activations, of which tanh and sin are odd."""
    shapes = SHAPES if scale is Scale.QUICK else (*SHAPES, "50-25-10", "50-35-25-10")
    return [{"neurons": shape, "activation": name} for shape in shapes for name in (*ODD, "sigmoid")]


def measure(cell: Cell) -> Numbers:
    """Largest relative differences to the network, directions in a random order and with random scales and signs."""
    sizes = tuple(int(part) for part in str(cell.settings["neurons"]).split("-"))
    name, rng = str(cell.settings["activation"]), np.random.default_rng([cell.seed, *sizes, 5])
    activation = activation_named(name)
    shape = (sizes[0], *sizes)
    network = deep_network(rng, shape=shape, activation=activation, output_activation=activation)
    point, points = 0.1 * rng.standard_normal(network.inputs), rng.standard_normal((POINTS, network.inputs))
    orders = (*(rng.permutation(width) for width in network.widths), np.arange(network.outputs))
    scales = tuple(rng.uniform(0.5, 2.0, width) * rng.choice([-1.0, 1.0], width) for width in sizes)
    first, second = (
        exact_solution(network, point, orders=orders, scales=scales, is_scaled_outside=outside)
        for outside in (False, True)
    )
    truth = network(points)
    found: Numbers = {
        "first": uniform_error(first(points), truth),
        "second": uniform_error(second(points), truth),
        "left": consistency_defect(second, point),
        "permuted": permutation_defect(rng, sizes[0]),
    }
    if name in ODD:
        signs = tuple(rng.choice([-1.0, 1.0], width) for width in sizes)
        turned = with_signs(second, signs)(points)
        found["signs"] = uniform_error(turned, signs[-1] * truth)
    return found


def with_signs(model: ReparametrisedNetwork, signs: Diagonals) -> ReparametrisedNetwork:
    """Turn signs of right diagonals, of shifts and of outer diagonals of hidden layers [fiedler, Prop. 4.4]."""
    outer = [sign * each for sign, each in zip(signs, model.outer, strict=True)]
    return replace(
        model,
        right=tuple(sign * each for sign, each in zip(signs, model.right, strict=True)),
        shifts=tuple(sign * each for sign, each in zip(signs, model.shifts, strict=True)),
        outer=(*outer[:-1], model.outer[-1]),
    )


def permutation_defect(rng: np.random.Generator, size: int) -> float:
    """Largest difference of both sides of ``P' S P = diag(P' diag(S))`` (Lemma 4.5)."""
    diagonal, matrix = rng.standard_normal(size), np.eye(size)[rng.permutation(size)]
    return float(np.max(np.abs(matrix.T @ np.diag(diagonal) @ matrix - np.diag(matrix.T @ diagonal))))


TITLE = "diagonals for which the reparametrised network is the network"
REPETITIONS = {Scale.QUICK: 2, Scale.USUAL: 10, Scale.FULL: 100}
COLUMNS = {
    "first": "first solution, relative error",
    "second": "second solution, relative error",
    "signs": "any signs (Prop. 4.4), relative error",
    "left": "left diagonals from the others, relative error",
    "permuted": "Lemma 4.5, largest difference",
}
NOTES = (
    "Directions come in a random order, with random scales and signs. The left diagonals are in the order of the "
    "layer before; (4.68) prints that of the layer itself.",
    "Signs of hidden layers are free for odd activations, here tanh and sin; those of the output layer turn the "
    "outputs.",
)
