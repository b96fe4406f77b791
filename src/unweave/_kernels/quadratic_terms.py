"""What the first-order training of a quadratic network takes and gives; reading it needs no JAX."""

from typing import NamedTuple

import numpy as np


class Units(NamedTuple):
    """What trains: distilled feature maps K and wide readouts W, one of each per level."""

    features: tuple[np.ndarray, ...]
    readouts: tuple[np.ndarray, ...]


class Terms(NamedTuple):
    """What the objective is made of, per level: all of it may change without a new compilation.

    Args:
        weights: of the squares in the output.
        cross, main, whole, decay: strengths of the regularisers on main times skip links, on main links, on all
            links, and of weight decay.
        frames: the matrices R of the levels that feed others; empty to use all products of features.
        bounds: where the squares behind a frame are cut off.
        sharpness: v of the logistic loss ``log(1 + exp(-v label output)) / v``; squared error if None.
    """

    weights: np.ndarray
    cross: np.ndarray
    main: np.ndarray
    whole: np.ndarray
    decay: np.ndarray
    frames: tuple[np.ndarray, ...] = ()
    bounds: tuple[float, ...] = ()
    sharpness: float | None = None


class Data(NamedTuple):
    """Samples: inputs, their centred squares, labels, and a given part of the output if there is one."""

    points: np.ndarray
    squares: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray | None = None
