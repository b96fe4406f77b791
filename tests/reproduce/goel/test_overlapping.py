"""Sets of inputs that overlap, under exponential units."""

from itertools import combinations

import numpy as np
import pytest

from unweave.reproduce.goel.indicator_rows import SETS, sampled_units
from unweave.reproduce.goel.overlapping import clique_sets, maximal_cliques, tensor_sets


def planted(seed: int, sets: tuple[tuple[int, ...], ...], inputs: int) -> tuple[np.ndarray, np.ndarray]:
    points = np.random.default_rng(seed).standard_normal((60_000, inputs))
    values = sampled_units(points, sets)
    return points, values.sum(axis=1) + 0.1 * values[:, 0] * values[:, 1]


@pytest.mark.parametrize("name", ["disjoint", "chain", "ring", "two shared"])
def test_tensors_tell_sets_that_overlap(name: str, seed: int) -> None:
    points, labels = planted(seed, SETS[name], 11)
    found = tensor_sets(points, labels, np.random.default_rng(seed), sets=len(SETS[name]))
    assert sorted(found.sets) == sorted(tuple(sorted(group)) for group in SETS[name])
    assert found.is_reliable


def test_cliques_tell_a_chain_of_sets(seed: int) -> None:
    points, labels = planted(seed, SETS["chain"], 11)
    assert list(clique_sets(points, labels).sets) == sorted(SETS["chain"])


def test_a_ring_has_one_clique_too_many(seed: int) -> None:
    points, labels = planted(seed, SETS["ring"], 7)
    assert set(clique_sets(points, labels).sets) == {*(tuple(sorted(g)) for g in SETS["ring"]), (0, 2, 4)}


def test_cliques_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(10):
        upper = np.triu(rng.random((8, 8)) < 0.5, 1)
        edges = upper | upper.T
        joined = [
            set(group)
            for size in range(1, 9)
            for group in combinations(range(8), size)
            if all(edges[i, j] for i, j in combinations(group, 2))
        ]
        expected = {tuple(sorted(group)) for group in joined if not any(group < other for other in joined)}
        assert sorted(maximal_cliques(edges)) == sorted(expected)
