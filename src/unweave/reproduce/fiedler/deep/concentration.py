"""How the span of Hessians depends on radius, depth, shape and sizes [fiedler, Sec. 4.2.3, Fig. 4.2 to 4.4]."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np

from unweave.arrays import Points
from unweave.numerics.matrix_subspace import MatrixSubspace
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.deep.teachers import EXACT, Teacher, contracted_sizes, teacher
from unweave.reproduce.fiedler.entangled import target_span
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign, false_positives, projector_distance
from unweave.reproduce.fiedler.entangled_recovery import measured_span
from unweave.reproduce.fiedler.power_ends import ManyStartsPower

# Points for Hessians are so many times the neurons per output, as published.
POINTS_FACTOR = 20
# Distance up to sign within which an entangled weight counts as recovered (4.54).
RECOVERED_DISTANCE = 0.05
PUBLISHED_INPUTS = 100
RADII = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
# Layers with contraction factors; with two layers there is nothing to contract.
SHAPES = ((2, 1.0), *((layers, factor) for layers in (3, 4) for factor in (0.25, 0.5, 0.75, 1.0)))
PUBLISHED_NEURONS = tuple(range(200, 1501, 100))


@dataclass(frozen=True)
class ConcentrationRows:
    """Rows of all shapes, radii and numbers of neurons.

    Args:
        inputs: of all networks.
        outputs: of all networks.
        neurons: in all.
        radii: of the spheres of points.
        shapes: layers and contraction factors.
    """

    inputs: int
    outputs: int
    neurons: tuple[int, ...]
    radii: tuple[float, ...] = RADII
    shapes: tuple[tuple[int, float], ...] = SHAPES

    def __call__(self) -> list[Settings]:
        """List them, one curve after the other."""
        return [
            {"inputs": self.inputs, "outputs": self.outputs, "layers": layers, "contraction": factor, "radius": radius}
            | {"neurons": neurons}
            for radius in self.radii
            for layers, factor in self.shapes
            for neurons in self.neurons
        ]


PUBLISHED_ROWS = ConcentrationRows(PUBLISHED_INPUTS, 10, PUBLISHED_NEURONS)


@dataclass(frozen=True)
class RowsByScale:
    """Settings of an experiment: other rows at every scale.

    Args:
        quick: of the quick form.
        usual: without `--quick` and `--full`.
        full: those published, with 100 inputs and 10 outputs.
    """

    quick: ConcentrationRows
    usual: ConcentrationRows
    full: ConcentrationRows = PUBLISHED_ROWS

    def __call__(self, scale: Scale) -> list[Settings]:
        """List those of a scale."""
        return {Scale.QUICK: self.quick, Scale.USUAL: self.usual, Scale.FULL: self.full}[scale]()


@dataclass(frozen=True)
class PowerBudget:
    """How long the power method climbs.

    Args:
        steps: largest number of steps.
        starts: ascents, as published; if omitted ``1.5 m log m`` of m neurons, which meet all with high probability.
    """

    steps: int
    starts: int | None = None

    def starts_for(self, neurons: int) -> int:
        """Number of ascents."""
        return self.starts or ceil(1.5 * neurons * log(neurons))

    @classmethod
    def of(cls, inputs: int) -> "PowerBudget":
        """The published one for the published inputs."""
        return PUBLISHED_BUDGET if inputs >= PUBLISHED_INPUTS else SMALL_BUDGET


PUBLISHED_BUDGET, SMALL_BUDGET = PowerBudget(15_000, 10_000), PowerBudget(300)


def measure_span(cell: Cell) -> Numbers:
    """Error of the span, the norm of the difference of projections over the root of the neurons [fiedler, Fig. 4.2]."""
    return {"subspace": _spanned(cell)[1]}


def measure_recovery(cell: Cell) -> Numbers:
    """Error of the span, share of entangled weights that were found, and false ones [fiedler, Fig. 4.3]."""
    planted, error, subspace, rng = _spanned(cell)
    budget = PowerBudget.of(planted.network.inputs)
    power = ManyStartsPower(step=1.5, steps=budget.steps)
    ends = power(subspace, rng, starts=budget.starts_for(subspace.rank)).vectors
    truth = np.concatenate(planted.seen)
    nearest = np.min(distances_up_to_sign(ends, truth), axis=0, initial=np.inf)
    return {
        "subspace": error,
        "recovered": float(np.mean(nearest <= RECOVERED_DISTANCE)),
        "false_positives": false_positives(ends, truth, distance=RECOVERED_DISTANCE),
    }


def sphere_points(rng: np.random.Generator, *, count: int, inputs: int, radius: float) -> Points:
    """Draw points of a norm."""
    points = rng.standard_normal((count, inputs))
    return radius * points / np.linalg.norm(points, axis=1, keepdims=True)


def crossing(places: np.ndarray, values: np.ndarray, level: float) -> float:
    """Where values that grow pass a level, on straight lines between places; infinite if nowhere.

    Errors of single networks are not monotone, so that the last passage counts.
    """
    below = np.flatnonzero(values < level)
    if len(below) == 0:
        return float(places[0])
    last = int(below[-1])
    if last == len(values) - 1:
        return np.inf
    share = (level - values[last]) / (values[last + 1] - values[last])
    return float(places[last] + share * (places[last + 1] - places[last]))


def planted_network(settings: Mapping[str, str | int | float], seed: int) -> Teacher:
    """The network of settings that name inputs, outputs, layers, contraction and neurons."""
    sizes = contracted_sizes(
        int(settings["neurons"]),
        layers=int(settings["layers"]),
        outputs=int(settings["outputs"]),
        contraction=float(settings["contraction"]),
    )
    return teacher(int(settings["inputs"]), sizes, "tanh", seed)


def _spanned(cell: Cell) -> tuple[Teacher, float, MatrixSubspace, np.random.Generator]:
    """The planted network, the normalised error of its span, the span, and a generator for what follows."""
    settings, rng = cell.settings, np.random.default_rng([cell.seed, 1])
    planted = planted_network(settings, cell.seed)
    inputs, neurons, outputs = (int(settings[name]) for name in ("inputs", "neurons", "outputs"))
    count = POINTS_FACTOR * ceil(neurons / outputs)
    points = sphere_points(rng, count=count, inputs=inputs, radius=float(settings["radius"]))
    _, subspace = measured_span(planted.derivatives(EXACT), points, rank=neurons)
    error = projector_distance(target_span(planted.network, np.zeros(inputs)), subspace.basis) / sqrt(neurons)
    return planted, error, subspace, rng
