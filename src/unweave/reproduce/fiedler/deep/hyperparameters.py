"""What the settings of [fiedler, Table 4.1] ask for, counted while they are used."""

from collections.abc import Sequence

import numpy as np

from unweave.oracles.oracle import CallableOracle
from unweave.reproduce.experiment import ONCE, Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.deep.concentration import sphere_points
from unweave.reproduce.fiedler.deep.recovery_tables import INPUTS, RADIUS, SHAPES, SMALL_INPUTS, SMALL_SHAPES
from unweave.reproduce.fiedler.deep.teachers import teacher_of
from unweave.reproduce.fiedler.derivative_sources import DerivativeSource, EntrywiseDifferences, SharedDifferences
from unweave.reproduce.fiedler.diagonal_descent import DiagonalDescent, start
from unweave.reproduce.fiedler.entangled_recovery import EntangledSearch


def settings(scale: Scale) -> Sequence[Settings]:
    """The published shapes, or small ones."""
    inputs, shapes = (SMALL_INPUTS, SMALL_SHAPES) if scale is Scale.QUICK else (INPUTS, SHAPES)
    return [{"inputs": inputs, "neurons": shape, "outputs": "tanh"} for shape in shapes]


def measure(cell: Cell) -> Numbers:
    """Ask for all Hessians near and far, count the queries, and read the other settings from the algorithms."""
    planted, rng, search, descent = (
        teacher_of(cell),
        np.random.default_rng(cell.seed),
        EntangledSearch(),
        DiagonalDescent(),
    )
    network, architecture = planted.network, planted.architecture
    oracle = CallableOracle(network, inputs=network.inputs)
    near = search.points(architecture, rng)
    far = sphere_points(rng, count=len(near), inputs=network.inputs, radius=RADIUS)
    entrywise = EntrywiseDifferences(oracle)
    return {
        "points": float(len(near)),
        "norm": float(np.sqrt(np.mean(np.sum(near**2, axis=1)))),
        "near_queries": _asked(entrywise, near, oracle),
        "far_queries": _asked(entrywise, far, oracle),
        "shared_queries": _asked(SharedDifferences(oracle, network.outputs), near, oracle),
        "starts": float(search.starts(architecture.neurons)),
        "step": entrywise.step,
        "power_steps": float(search.power.steps),
        "threshold": search.power.threshold,
        "rate": descent.rate,
        "batch": float(descent.batch),
        "samples": float(architecture.neurons * network.inputs**2),
        "unknowns": float(start(planted.directions, network.activations).free_parameters),
        "parameters": float(network.parameters),
    }


def published(row: Settings) -> dict[str, float]:
    """What the text of [fiedler, Sec. 4.4] says, as formulas of the sizes; the table itself is a picture there."""
    inputs, sizes = int(row["inputs"]), [int(part) for part in str(row["neurons"]).split("-")]
    neurons, before = sum(sizes), [inputs, *sizes]
    queries = 4.0 * neurons * 2 * inputs * (inputs + 1)
    return {
        "points": 4.0 * neurons,
        "norm": 0.1,
        "near_queries": queries,
        "far_queries": queries,
        "starts": 5.0 * neurons * float(np.log(neurons)),
        "step": 0.005,
        "power_steps": 1e4,
        "threshold": 0.5,
        "rate": 0.005,
        "batch": 64.0,
        "samples": float(neurons * inputs**2),
        "unknowns": 3.0 * neurons - sizes[-1] + inputs,
        "parameters": float(sum(one * two + two for one, two in zip(before, sizes, strict=False))),
    }


def _asked(source: DerivativeSource, points: np.ndarray, oracle: CallableOracle) -> float:
    before = oracle.ledger.sent
    source.hessians(points)
    return float(oracle.ledger.sent - before)


TITLE = "settings of the pipeline, and the queries that they cost"
REPETITIONS = ONCE
COLUMNS = {
    "points": "points of Hessians",
    "norm": "their norm",
    "near_queries": "queries near",
    "far_queries": "queries far",
    "shared_queries": "queries near, answers shared (ours)",
    "starts": "starts of the power method",
    "step": "step of differences",
    "power_steps": "power steps",
    "threshold": "threshold",
    "rate": "rate of descent",
    "batch": "batch",
    "samples": "samples of descent",
    "unknowns": "unknowns of descent",
    "parameters": "weights and shifts",
}
NOTES = (
    "The published table is a picture in the text at hand: its numbers are those of the text around it. The step "
    "of the power method is not among them; ours is 2.",
    "Queries are counted by the oracle while all Hessians are measured. The descent here leaves out the first left "
    "diagonal, which is one at every solution: its unknowns are fewer by the number of inputs.",
)
