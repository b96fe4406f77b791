"""[awasthi, Cor. 3.3]: worst weights, moved at random, have well-conditioned powers, and are learnt from samples.

The adversary takes all directions from a plane, so that powers of order l have rank ``l + 1`` at most and nothing is
identified by them. Every entry is then moved by ``N(0, tau^2 / d)``.
"""

from collections.abc import Sequence
from math import comb, sqrt
from typing import TYPE_CHECKING

import numpy as np

from unweave.activations import RELU
from unweave.arrays import Atoms
from unweave.networks.network import Network
from unweave.reports.pictures.style import COLOURS, QUIET, legend_above, open_frame
from unweave.reproduce.awasthi.exact_moments import hermite_tensors
from unweave.reproduce.awasthi.measured_noise import noisy_tensors, recover_measured
from unweave.reproduce.awasthi.pictures import SIZE
from unweave.reproduce.awasthi.predictor import TWO_FEATURES, PredictorSettings, regress_on_units
from unweave.reproduce.awasthi.risk import population_risk
from unweave.reproduce.awasthi.tensor_algorithms import recover_exact
from unweave.reproduce.awasthi.unit_errors import unit_errors
from unweave.reproduce.experiment import Cell, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TAUS = {
    Scale.QUICK: (0.0, 0.1, 0.3, 1.0),
    Scale.USUAL: (0.0, 0.03, 0.1, 0.3, 1.0),
    Scale.FULL: (0.0, 0.01, 0.03, 0.1, 0.3, 1.0),
}
SAMPLES = {Scale.QUICK: 100_000, Scale.USUAL: 1_000_000, Scale.FULL: 10_000_000}
# Inputs and order; as many neurons as the corollary allows.
SIZES = ((5, 1), (4, 2))
SHARE, ACCURACY, BOUND = 0.99, 0.02, 4.0


def most_neurons(inputs: int, order: int) -> int:
    """Give the largest number of neurons of the corollary, ``0.99 binom(d + l - 1, l)``."""
    return int(SHARE * comb(inputs + order - 1, order))


def worst_network(rng: np.random.Generator, *, inputs: int, neurons: int) -> Network:
    """Plant a network whose directions all lie in a plane, with biases up to 1 and output weights of either sign."""
    angles = np.pi * (np.arange(neurons) + rng.uniform(0.2, 0.8, neurons)) / neurons
    plane = np.linalg.qr(rng.standard_normal((inputs, 2)))[0]
    weights = np.column_stack([np.cos(angles), np.sin(angles)]) @ plane.T
    heights = rng.choice([-1.0, 1.0], neurons) * rng.uniform(0.5, 2.0, neurons)
    return Network.shallow(weights, rng.uniform(-1.0, 1.0, neurons), heights[None], np.zeros(1), RELU)


def smoothed(network: Network, rng: np.random.Generator, *, tau: float) -> Network:
    """Move every weight by ``N(0, tau^2 / inputs)`` [awasthi, Sec. 6]; weights are not unit any more."""
    hidden, output = network.layers
    moved = hidden.weights + tau / sqrt(network.inputs) * rng.standard_normal(hidden.weights.shape)
    return Network.shallow(moved, hidden.biases, output.weights, output.biases, RELU)


def smallest_singular_value(weights: Atoms, *, order: int) -> float:
    """Give ``s_m`` of the matrix of all ``w_i (x) .. (x) w_i``, from the Hadamard power of the products of rows."""
    values = np.linalg.eigvalsh((weights @ weights.T) ** order)
    return sqrt(max(float(values[0]), 0.0))


def settings(scale: Scale) -> list[Settings]:
    """Give sizes, orders and sizes of the perturbation."""
    return [
        {"inputs": d, "neurons": most_neurons(d, order), "order": order, "tau": tau, "samples": SAMPLES[scale]}
        for d, order in SIZES
        for tau in TAUS[scale]
    ]


def measure(cell: Cell) -> Numbers:
    """Perturb weights that are dependent, and recover them."""
    inputs, neurons, order, samples = (int(cell.settings[name]) for name in ("inputs", "neurons", "order", "samples"))
    rng, tau = np.random.default_rng(cell.seed), float(cell.settings["tau"])
    truth = smoothed(worst_network(rng, inputs=inputs, neurons=neurons), rng, tau=tau)
    exact = recover_exact(hermite_tensors(truth, highest=2 * order + 2), order=order, rng=rng)
    points = rng.standard_normal((samples, inputs))
    answers = truth(points)
    half = samples // 2
    noisy = noisy_tensors(points[:half], answers[:half], highest=2 * order + 2, is_controlled=True)
    units = recover_measured(noisy, order=order, most_neurons=neurons, rng=rng)
    settings = PredictorSettings(ACCURACY, neurons, BOUND, TWO_FEATURES)
    found = regress_on_units(units, points[half:], answers[half:], settings=settings)
    spread = float(np.std(answers))
    return {
        "smallest": smallest_singular_value(truth.layers[0].weights, order=order),
        "bound": (tau / inputs) ** order / sqrt(neurons),
        "exact error": float(np.median(np.minimum(unit_errors(exact, truth, is_signed=False), 9.0))),
        "neurons found": float(len(units.biases)),
        "risk": sqrt(population_risk(found.network, truth)) / spread,
    }


def draw(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Draw the smallest singular value over the perturbation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    for colour, (inputs, order) in zip(COLOURS, SIZES, strict=False):
        mine = [row for row in rows if row.settings["order"] == order and float(row.settings["tau"]) > 0]
        taus = [float(row.settings["tau"]) for row in mine]
        label = f"{inputs} inputs, {most_neurons(inputs, order)} neurons, order {order}"
        axes.plot(taus, [np.median(row.values("smallest")) for row in mine], "o-", color=colour, label=label)
        axes.plot(taus, [row.values("bound")[0] for row in mine], ":", color=colour)
    axes.plot([], [], ":", color=QUIET, label="(tau / d)^l / sqrt(m), the bound without its constant")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("tau")
    axes.set_ylabel("smallest singular value of the powers")
    open_frame(axes)
    return {"singular_values.png": legend_above(figure, columns=1)}


TITLE = "smoothed analysis: directions of a plane, moved at random"
REPETITIONS = {Scale.QUICK: 2, Scale.USUAL: 5, Scale.FULL: 20}
COLUMNS = {
    "smallest": "s_m of the powers of order l",
    "bound": "(tau / d)^l / sqrt(m)",
    "exact error": "median error of a neuron, exact tensors (missing: 9)",
    "neurons found": "neurons found in samples",
    "risk": "root of the predictor's risk / spread of answers",
}
NOTES = (
    "The bound of [awasthi, Sec. 6] has a constant c_l that is not given: s_m stands above the bound with c_l = 1.",
    "Without smoothing (tau = 0) the powers are dependent: exact tensors do not give the neurons then.",
)
