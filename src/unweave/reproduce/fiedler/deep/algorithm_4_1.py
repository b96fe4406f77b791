"""Entangled weight recovery as an algorithm: queries in, directions out [fiedler, Alg. 4.1]."""

from collections.abc import Sequence

import numpy as np

from unweave.oracles.oracle import CallableOracle
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.deep.teachers import set_ups, teacher_of
from unweave.reproduce.fiedler.derivative_sources import EntrywiseDifferences
from unweave.reproduce.fiedler.entangled import target_span
from unweave.reproduce.fiedler.entangled_metrics import false_positives, projector_distance, worst_of_truth
from unweave.reproduce.fiedler.entangled_recovery import EntangledSearch

SHAPES = {
    Scale.QUICK: (20, ("20-10-6", "16-12-8-6")),
    Scale.USUAL: (30, ("30-15-8", "25-20-12-8")),
    Scale.FULL: (50, ("50-25-10", "50-25-50", "50-35-25-10")),
}


def settings(scale: Scale) -> Sequence[Settings]:
    """Three and four layers, bending outputs or not."""
    return set_ups(*SHAPES[scale])


def measure(cell: Cell) -> Numbers:
    """Ask a planted network for differences only, and compare what is found with its entangled weights."""
    planted = teacher_of(cell)
    oracle = CallableOracle(planted.network, inputs=planted.network.inputs)
    source, rng = EntrywiseDifferences(oracle), np.random.default_rng(cell.seed)
    found, seconds = EntangledSearch()(source, planted.architecture, rng)
    truth, ends = np.concatenate(planted.seen), found.ends.vectors
    outputs, order = found.output_directions, planted.directions[-1]
    return {
        "subspace": projector_distance(target_span(planted.network, found.center), found.subspace.basis),
        "worst": worst_of_truth(ends, truth),
        "false_positives": false_positives(ends, truth),
        "outputs": float(np.max(np.linalg.norm(outputs - order, axis=1))),
        "queries": float(oracle.ledger.sent),
        "seconds": sum(seconds.values()),
    }


TITLE = "entangled weights from queries"
REPETITIONS = {Scale.QUICK: 2, Scale.USUAL: 5, Scale.FULL: 10}
COLUMNS = {
    "subspace": "subspace error",
    "worst": "largest error of an entangled weight",
    "false_positives": "false positives",
    "outputs": "largest error of an output direction",
    "queries": "queries",
    "seconds": "s",
}
NOTES = (
    "Ascents are independent and run at the same time, as in the published experiments, not one after the other. "
    "The span is over all outputs; line 3 prints the number of layers for that of outputs.",
    "Directions of outputs come from gradients, in their order and with their signs.",
)
