"""Rows that come again: known by their numbers, on one side of every split, left out where the label comes again."""

import numpy as np
import pytest

from unweave.samples.sources import (
    ArraySource,
    ChunkSource,
    DistinctRows,
    chances,
    first_rows,
    note_of_copies,
    row_keys,
    split,
    without_copies,
)


def test_rows_are_known_by_their_numbers() -> None:
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0], [0.0, 1.0 + 1e-15]])
    keys = row_keys(rows)
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 3
    assert np.all(row_keys(rows, seed=1) != keys)
    assert row_keys(rows[:0]).shape == (0,)


def test_small_numbers_have_keys_of_their_own() -> None:
    """Whole numbers differ in the first bits only, which a product alone would not spread."""
    grid = np.stack(np.meshgrid(*[np.arange(20.0)] * 4), axis=-1).reshape(-1, 4)
    assert DistinctRows.of(grid).count == len(grid)
    found = chances(grid, seed=3)
    # Shares of a tenth: six standard errors.
    counts = np.histogram(found, bins=10, range=(0.0, 1.0))[0] / len(grid)
    np.testing.assert_allclose(counts, 0.1, atol=6 * np.sqrt(0.09 / len(grid)))


def test_distinct_rows_are_numbered_as_they_come(seed: int) -> None:
    rows = np.array([[3.0], [1.0], [3.0], [2.0], [1.0]])
    distinct = DistinctRows.of(rows)
    np.testing.assert_array_equal(distinct.which, [0, 1, 0, 2, 1])
    assert (distinct.count, distinct.have_copies) == (3, True)
    kept = distinct.one_of_each(np.random.default_rng(seed))
    assert sorted(rows[kept, 0]) == [1.0, 2.0, 3.0]


def test_copies_are_split_and_folded_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 50, 400)
    distinct = DistinctRows.of(rng.standard_normal((50, 2))[which])
    first, rest = distinct.split(rng, 0.3)
    assert sorted([*first, *rest]) == list(range(400))
    assert not set(which[first]) & set(which[rest])
    assert len(set(which[first])) == int(0.3 * distinct.count)
    folds = distinct.folds(rng, 5)
    assert all(len(set(folds[which == row])) == 1 for row in set(which))


def test_rows_without_copies_are_split_like_a_permutation(seed: int) -> None:
    first, rest = DistinctRows.of(np.arange(30.0)[:, None]).split(np.random.default_rng(seed), 0.2)
    np.testing.assert_array_equal([*first, *rest], np.random.default_rng(seed).permutation(30))
    assert len(first) == 6


@pytest.mark.parametrize("rows", [3, 1000])
def test_streams_keep_copies_on_one_side_wherever_they_are(rows: int, seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((200, 3))
    labels = np.arange(200.0)
    again = ChunkSource([(points, labels), (points[::-1].copy(), labels[::-1].copy()), (points[:rows], labels[:rows])])
    parts = [set(first_rows(part, inputs=3, most=10_000)[1]) for part in split(again, share=0.3, seed=seed)]
    assert not parts[0] & parts[1]
    whole = split(ArraySource(points, labels, chunk_rows=7), share=0.3, seed=seed)
    assert [set(first_rows(part, inputs=3, most=10_000)[1]) for part in whole] == parts


def test_copies_are_left_out_and_repeated_measurements_are_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((40, 2)), rng.standard_normal(40)
    kept, its, copies = without_copies(np.tile(points, (3, 1)), np.tile(labels, 3))
    np.testing.assert_array_equal(kept, points)
    np.testing.assert_array_equal(its, labels)
    assert copies == 80
    # A row whose label differs stays; noise of its own for every row means that none is a copy.
    assert without_copies(np.tile(points, (3, 1)), np.append(np.tile(labels, 2), labels + 1.0))[2] == 0
    assert without_copies(points, labels)[2] == 0
    assert note_of_copies(120, 80) == ("80 of 120 rows are copies of others, label included: each counts once.",)
    assert note_of_copies(120, 0) == ()
