"""Rows that no fit may see."""

import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.samples.held_out import first_rows, split
from unweave.samples.sources import ArraySource, ChunkSource


def numbered(rows: int, chunk_rows: int) -> ArraySource:
    return ArraySource(np.arange(2.0 * rows).reshape(rows, 2), np.arange(float(rows)), chunk_rows)


@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
def test_every_row_is_in_exactly_one_part(chunk_rows: int) -> None:
    training, held_out = split(numbered(500, chunk_rows), share=0.2, seed=3)
    seen = [first_rows(part, inputs=2, most=1000)[1] for part in (training, held_out)]
    assert sorted(np.concatenate(seen)) == list(range(500))
    assert 60 <= len(seen[1]) <= 140


def test_every_pass_and_every_copy_makes_the_same_choice() -> None:
    source = numbered(300, 50)
    first, again = (split(source, share=0.3, seed=1)[1] for _ in range(2))
    expected = first_rows(first, inputs=2, most=300)[1]
    np.testing.assert_array_equal(first_rows(first, inputs=2, most=300)[1], expected)
    np.testing.assert_array_equal(first_rows(again, inputs=2, most=300)[1], expected)
    alone = [labels for piece in list(first.pieces())[::-1] for _, labels in piece.chunks()]
    assert sorted(np.concatenate(alone)) == sorted(expected)


def test_points_and_labels_stay_together() -> None:
    points, labels = first_rows(split(numbered(100, 9), share=0.5, seed=0)[0], inputs=2, most=1000)
    np.testing.assert_array_equal(points[:, 0], 2 * labels)


def test_no_more_rows_than_asked_for() -> None:
    points, labels = first_rows(numbered(100, 30), inputs=2, most=45)
    assert points.shape == (45, 2)
    np.testing.assert_array_equal(labels, np.arange(45))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5])
def test_shares_are_checked(share: float) -> None:
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        split(numbered(10, 5), share=share, seed=0)


def test_rows_are_checked() -> None:
    with pytest.raises(InvalidInput, match="need 2 columns"):
        first_rows(ChunkSource([(np.ones((3, 5)), np.ones(3))]), inputs=2, most=10)
