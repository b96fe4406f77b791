"""[goel, Thm. 8 and Alg. 3]: rows that are indicators of sets of inputs, disjoint as in the proof, and overlapping.

Verdict: sets are claimed if the gap between what belongs to them and what does not is six standard errors.
"""

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.goel.exponential_units import IndicatorSets, correlation_graph
from unweave.reproduce.goel.overlapping import clique_sets, tensor_sets

SAMPLES = {Scale.QUICK: 200_000, Scale.USUAL: 1_000_000, Scale.FULL: 10_000_000}
# Exponent, threshold and weight of the products of two units.
RHO, THRESHOLD, PRODUCTS = 0.5, 1.0, 0.1
SETS = {
    "disjoint": ((0, 1, 2), (3, 4, 5), (6, 7, 8)),
    "chain": ((0, 1, 2, 3), (3, 4, 5, 6), (6, 7, 8, 9)),
    "ring": ((0, 1, 2), (2, 3, 4), (4, 5, 0)),
    "two shared": ((0, 1, 2, 3), (2, 3, 4, 5)),
}


def sampled_units(points: np.ndarray, sets: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """Give ``exp(rho (sum_{i in T} x_i - t))`` of every set."""
    sums = np.column_stack([points[:, list(group)].sum(axis=1) for group in sets])
    return np.exp(RHO * (sums - THRESHOLD))


def settings(scale: Scale) -> list[Settings]:
    """Give all families of sets."""
    return [
        {"sets": name, "inputs": 1 + max(map(max, sets)) + 1, "samples": SAMPLES[scale]} for name, sets in SETS.items()
    ]


def measure(cell: Cell) -> Numbers:
    """Read sets of units from moments and from a graph."""
    rng, truth = np.random.default_rng(cell.seed), SETS[str(cell.settings["sets"])]
    # One input belongs to no set.
    points = rng.standard_normal((int(cell.settings["samples"]), int(cell.settings["inputs"])))
    values = sampled_units(points, truth)
    total = values.sum(axis=1)
    labels = total + PRODUCTS * (total**2 - np.sum(values**2, axis=1)) / 2
    wanted = sorted(tuple(sorted(group)) for group in truth)
    numbers: Numbers = {}
    for name, found in (
        ("graph", correlation_graph(points, labels)),
        ("cliques", clique_sets(points, labels)),
        ("tensors", _by_tensors(points, labels, rng, len(truth))),
    ):
        numbers[name] = float(sorted(found.sets) == wanted)
        numbers[f"{name} claimed"] = float(found.is_reliable)
    return numbers


def _by_tensors(points: np.ndarray, labels: np.ndarray, rng: np.random.Generator, sets: int) -> IndicatorSets:
    try:
        return tensor_sets(points, labels, rng, sets=sets)
    except InvalidInput:
        return IndicatorSets((), 0.0, np.inf)


TITLE = "sets of inputs under exponential units"
COLUMNS = {
    "graph": "printed graph: sets are right",
    "graph claimed": "verdict",
    "cliques": "maximal cliques: right",
    "cliques claimed": "verdict",
    "tensors": "tensors of orders 2 and 3: right",
    "tensors claimed": "verdict",
}
NOTES = (
    "The theorem does not say that sets are disjoint; its proof does. Components of the graph are wrong for sets "
    "that overlap. Maximal cliques are right for a chain; in a ring the shared inputs make one clique too many, "
    "and the graph can't tell. Tensors tell all sets whose indicators are linearly independent. Cliques and "
    "tensors are ours.",
    "The threshold of the graph is printed as rho, the exponent of the units; here it lies in the largest gap. "
    "The printed mu lacks a factor: it is exp(-rho t + rho^2 m / 2) for m inputs in a set.",
    "The verdict speaks of correlations and entries, not of the model: a graph is claimed wherever its gap is "
    "clear, also where overlapping sets make its answer wrong. That of the tensors is right in all cases here.",
)
