"""Samples whose labels are names of classes: numbers or text."""

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.samples.sources import Source


def rows_with_classes(source: Source, *, inputs: int, most: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """As many rows as there are, up to `most`, in memory; labels are numbers if all of them are, otherwise text.

    Args:
        source: of tables whose labels are classes.
        inputs: number of inputs.
        most: rows.
        name: of the labels, for messages.

    Raises:
        InvalidInput: with the first label that is text among numbers.
    """
    points, labels, room = [np.empty((0, inputs))], [], most
    for more_points, more_labels in source.chunks():
        points.append(more_points[:room])
        labels.append(more_labels[:room])
        room -= len(more_labels)
        if room <= 0:
            break
    return np.concatenate(points), _classes(np.concatenate(labels) if labels else np.empty(0), name)


def _classes(labels: np.ndarray, name: str) -> np.ndarray:
    """Labels as numbers, or as text if none is a number: one that is not may be a slip among thousands."""
    if labels.dtype.kind != "U":
        return labels
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.array([_number(label) for label in labels[first]])
    is_text = np.isnan(numbers)
    if np.any(is_text) and not np.all(is_text):
        row = int(np.min(first[is_text]))
        raise InvalidInput(
            f"{name} needs all numbers or all text, got {str(labels[row])!r} in row {row + 1} (counted from 1, below "
            "the head line)."
        )
    return labels if np.any(is_text) else numbers[places]


def _number(text: str) -> float:
    """The number that a text is; NaN for others."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
