"""Whether hyperplanes at the edges of plateaus are seen elsewhere than where they were read.

Rows of a lowest layer go on far away. Asymptotes of curved boundaries do so, too, but are not seen near the centre.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Atoms, PerNeuron, Points
from unweave.identification.plateaus.edges import Plateau
from unweave.identification.walks.lines import Ask


@dataclass(frozen=True, eq=False)
class Planes:
    """Hyperplanes ``normal x = threshold`` around a plateau, with normals away from it.

    Args:
        normals: unit vectors.
        thresholds: of the projections.
        errors: of both.
        unit: of distances.
        is_jump: whether answers jump at each of them, and do not bend.
        rng: chooses places.
        same: length of a component up to which a direction is not seen, as two readings of one hyperplane differ.
    """

    normals: Atoms
    thresholds: PerNeuron
    errors: PerNeuron
    unit: float
    is_jump: Bool[np.ndarray, "neurons"]
    rng: np.random.Generator
    same: float = 1e-7

    @property
    def unseen(self) -> Points:
        """Directions that no normal sees."""
        count, inputs = self.normals.shape
        if count == 0:
            return np.eye(inputs)
        _, sizes, directions = np.linalg.svd(self.normals)
        return directions[np.count_nonzero(sizes > self.same) :]

    @property
    def are_independent(self) -> bool:
        """Whether a point can be on any side of all of them."""
        return self.normals.shape[1] - len(self.unseen) == len(self.normals)


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """What was asked at places far from where hyperplanes were read.

    Args:
        is_seen: whether answers change across every hyperplane there.
        levels: how many different answers there were.
    """

    is_seen: Bool[np.ndarray, "rows places"]
    levels: int


@dataclass(frozen=True, kw_only=True)
class FarPlaces:
    """Places of a hyperplane elsewhere than where it was read.

    Args:
        places: at which it is looked for.
        needed: that must show it: one can be an accident.
        far: how far, in units of its distance from the centre and that of the domain; chosen.
        sharpness: how sharply, relative to the distance: as exact as readings that agree (`FacetReading.consistent`).
        beside: how far beside it answers may change, too, relative to the distance, unless another one is nearer.
        reach: how far from the centre, in the same units, a place may be: chosen ones on the sides of hyperplanes that
            are nearly parallel are far away.
        decades: of distances, where places can't be chosen.
        corner_decades: by which other places are nearer to a corner, at least and at most.
    """

    places: int = 16
    needed: int = 2
    far: float = 8.0
    sharpness: float = 1e-9
    beside: float = 0.0
    reach: float = np.inf
    decades: float = 3.0
    corner_decades: tuple[float, float] = (2.0, 6.0)

    def __call__(self, ask: Ask, planes: Planes, home: Plateau, *, margin: float) -> Elsewhere:
        """Ask whether answers change across every hyperplane at such places.

        Args:
            ask: answers batches of points.
            planes: the hyperplanes.
            home: the plateau that they are around.
            margin: how far from a hyperplane it is asked, in its errors.
        """
        rows = len(planes.thresholds)
        places = np.concatenate([self._places_on(planes, row) for row in range(rows)])
        owners = np.repeat(np.arange(rows), self.places)
        sizes = planes.unit + np.linalg.norm(places, axis=1)
        gaps = np.abs(places @ planes.normals.T - planes.thresholds)
        gaps[np.arange(len(places)), owners] = np.inf
        widths = (self.sharpness + margin * planes.errors[owners]) * sizes
        widths = widths + np.minimum(self.beside * sizes, 0.5 * np.min(gaps, axis=1))
        steps = widths[:, None] * planes.normals[owners]
        before, after = np.split(values := ask(np.concatenate([places - steps, places + steps])), 2)
        differ = np.max(np.abs(after - before), axis=1) > home.tolerance
        is_seen = differ & (planes.is_jump[owners] | home.holds(before))
        return Elsewhere(is_seen.reshape(rows, self.places), len(np.unique(values, axis=0)))

    def _places_on(self, planes: Planes, row: int) -> Points:
        """Random points of a hyperplane where the other units are off; at half of them some are on.

        More rows than inputs can't be chosen freely: then points at all distances from the nearest one.
        """
        normal, threshold, rng = planes.normals[row], planes.thresholds[row], planes.rng
        scale = self.far * (planes.unit + abs(threshold))
        reach, none = self.reach * (planes.unit + abs(threshold)), np.full((self.places, len(normal)), np.inf)
        chosen = self._chosen(planes, row, scale) if planes.are_independent else none
        is_near = np.isfinite(chosen[:, 0]) & (np.linalg.norm(chosen, axis=1) <= reach)
        if np.all(is_near):
            return chosen
        radii = scale * 10.0 ** -rng.uniform(0.0, self.decades, (self.places, 1))
        points = threshold * normal + radii * rng.standard_normal((self.places, len(normal))) / planes.unit
        points = points + (threshold - points @ normal)[:, None] * normal
        return np.where(is_near[:, None], chosen, points)

    def _chosen(self, planes: Planes, row: int, scale: float) -> Points:
        """Points of a hyperplane with chosen margins to all others."""
        normal, threshold, unseen = planes.normals[row], planes.thresholds[row], planes.unseen
        margins = self._margins(planes, row, scale)
        points = (planes.thresholds - margins) @ np.linalg.pinv(planes.normals).T
        points = points + scale * planes.rng.standard_normal((self.places, len(unseen))) @ unseen
        return points + (threshold - points @ normal)[:, None] * normal

    def _margins(self, planes: Planes, row: int, scale: float) -> Float64[np.ndarray, "places neurons"]:
        """How far below their thresholds units are at places on a hyperplane; above them where negative."""
        rows, places, rng = len(planes.thresholds), np.arange(self.places), planes.rng
        margins = scale * rng.exponential(size=(self.places, rows))
        if rows > 1:
            other = (row + rng.integers(1, rows, self.places)) % rows
            if planes.is_jump[row]:
                margins[::2] *= rng.choice([-1.0, 1.0], margins[::2].shape)
            else:
                # A unit that acts only in products is seen where another one is on.
                margins[places[::2], other[::2]] *= -1.0
                # Kinks of higher units that are dead on the plateau look alike, but turn before others switch on.
                margins[places[1::2], other[1::2]] *= 10.0 ** -rng.uniform(*self.corner_decades, self.places // 2)
        margins[:, row] = 0.0
        return margins
