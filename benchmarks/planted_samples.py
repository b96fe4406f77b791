"""Inputs for campaigns of sample doors: Gaussian ones, and such as users have.

A truth is planted in plain coordinates z and seen through ``x = axes z + shift``. Everything is judged in coordinates
in which inputs have spread 1, as certificates speak of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when first used

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Inputs:
    """How inputs come about.

    Args:
        axes: from plain coordinates to inputs; a zero row is a constant column.
        shift: of the inputs.
        draw: plain coordinates of so many samples.
        spread: standard deviation of every plain coordinate.
    """

    axes: np.ndarray
    shift: np.ndarray
    draw: Draw
    spread: np.ndarray

    def points(self, plain: np.ndarray) -> np.ndarray:
        """What an estimator sees."""
        return plain @ self.axes.T + self.shift

    def white(self, normals: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hyperplanes ``<normal, x> = level`` of the inputs: unit normals and levels for spread 1, and lengths.

        Plain coordinates have mean zero, or nearly so, in all kinds.
        """
        plain, moved = normals @ self.axes, levels - normals @ self.shift
        return self.white_plain(plain, moved)

    def white_plain(self, normals: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same for hyperplanes in plain coordinates."""
        scaled = normals * self.spread
        lengths = np.linalg.norm(scaled, axis=1)
        lengths = np.where(lengths > 0, lengths, 1.0)
        return scaled / lengths[:, None], levels / lengths, lengths


def gaussian(rng: np.random.Generator, inputs: int) -> Inputs:
    """Standard ones."""
    del rng
    return Inputs(np.eye(inputs), np.zeros(inputs), lambda r, n: r.standard_normal((n, inputs)), np.ones(inputs))


def far_away(rng: np.random.Generator, inputs: int) -> Inputs:
    """Columns with an offset of 1e5, such as years or temperatures in wrong units."""
    kind = gaussian(rng, inputs)
    return Inputs(kind.axes, rng.choice([-1e5, 1e5], inputs), kind.draw, kind.spread)


def constant_column(rng: np.random.Generator, inputs: int) -> Inputs:
    """The last column says nothing."""
    kind = gaussian(rng, inputs)
    axes, shift = np.eye(inputs), np.zeros(inputs)
    axes[-1, -1], shift[-1] = 0.0, 3.0
    return Inputs(axes, shift, kind.draw, kind.spread)


def ill_conditioned(rng: np.random.Generator, inputs: int) -> Inputs:
    """Units that differ by up to 1e6, and columns that nearly depend on each other."""
    axes = np.diag(10.0 ** rng.uniform(-3, 3, inputs))
    axes = axes @ (np.ones((inputs, inputs)) + 10.0 ** rng.uniform(-3, 0) * rng.standard_normal((inputs, inputs)))
    kind = gaussian(rng, inputs)
    return Inputs(axes, np.zeros(inputs), kind.draw, kind.spread)


def scaled(rng: np.random.Generator, inputs: int) -> Inputs:
    """Tiny or huge numbers."""
    kind = gaussian(rng, inputs)
    return Inputs(rng.choice([1e-8, 1e8]) * kind.axes, kind.shift, kind.draw, kind.spread)


def binary_column(rng: np.random.Generator, inputs: int) -> Inputs:
    """One column of 0 and 1, or a one-hot pair."""
    share = rng.uniform(0.1, 0.9)
    spread = np.ones(inputs)
    spread[0] = np.sqrt(share * (1 - share))

    def draw(r: np.random.Generator, n: int) -> np.ndarray:
        plain = r.standard_normal((n, inputs))
        plain[:, 0] = (r.random(n) < share) - share
        return plain

    return Inputs(np.eye(inputs), np.zeros(inputs), draw, spread)


def heavy_tails(rng: np.random.Generator, inputs: int) -> Inputs:
    """Student's t with three degrees of freedom, spread 1."""
    del rng
    draw: Draw = lambda r, n: r.standard_t(3, (n, inputs)) / np.sqrt(3.0)  # noqa: E731
    return Inputs(np.eye(inputs), np.zeros(inputs), draw, np.ones(inputs))


def rounded(rng: np.random.Generator, inputs: int) -> Inputs:
    """Multiples of 1/4 to 1: rows repeat themselves, and labels change between values that no row has."""
    step = float(rng.choice([0.25, 0.5, 1.0]))
    draw: Draw = lambda r, n: step * np.round(r.standard_normal((n, inputs)) / step)  # noqa: E731
    # What rounding adds to the variance, by Sheppard's correction.
    return Inputs(np.eye(inputs), np.zeros(inputs), draw, np.full(inputs, np.sqrt(1.0 + step**2 / 12.0)))


def repeated(rng: np.random.Generator, samples: int, most: int) -> np.ndarray:
    """Numbers of rows, each of which comes again: all as often, or some of them, as whoever balances classes has it."""
    if most == 1:
        return np.arange(samples)
    times = int(rng.integers(2, most + 1))
    counts = np.full(samples // times + 1, times)
    if rng.random() < 0.5:
        counts = np.where(rng.random(len(counts)) < 0.3, 2 * times, 1)
    return rng.permutation(np.repeat(np.arange(len(counts)), counts))


def unit_rows(rng: np.random.Generator, rows: int, inputs: int) -> np.ndarray:
    """Random unit vectors."""
    found = rng.standard_normal((rows, inputs))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def near_duplicates(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """The same rows, but the second is nearly the first: by an angle of 1e-6 to 0.3."""
    rows = rows.copy()
    if len(rows) > 1:
        rows[1] = rows[0] + 10.0 ** rng.uniform(-6, -0.5) * unit_rows(rng, 1, rows.shape[1])[0]
        rows[1] /= np.linalg.norm(rows[1])
    return rows


def matched(
    found: np.ndarray, truth: np.ndarray, levels: tuple[np.ndarray, np.ndarray] | None = None, *, signed: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of found and true unit vectors, one to one, and the angle of each pair in radians.

    Where levels of both are given, vectors of the same direction are paired by them.
    """
    cosines = found @ truth.T if signed else np.abs(found @ truth.T)
    cost = -cosines
    if levels is not None:
        signs = 1.0 if signed else np.where(found @ truth.T < 0, -1.0, 1.0)
        cost = cost + 0.5 * (levels[0][:, None] - signs * levels[1]) ** 2
    mine, its = scipy.optimize.linear_sum_assignment(cost)
    signs = np.where(np.einsum("ni,ni->n", found[mine], truth[its]) < 0, -1.0, 1.0)[:, None] if not signed else 1.0
    gaps = np.linalg.norm(found[mine] - signs * truth[its], axis=1)
    return mine, its, 2 * np.arcsin(np.clip(gaps / 2, 0.0, 1.0))
