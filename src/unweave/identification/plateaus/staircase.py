"""Whether hyperplanes where answers jump are the first steps of a staircase, as a rounded function has one.

On a line, a layer of steps has one value more than hyperplanes, at most; a rounded function that goes on to change
has as many as are asked.
"""

from dataclasses import dataclass

import numpy as np

from unweave.identification.walks.lines import Ask
from unweave.networks.network import Layer


@dataclass(frozen=True)
class StaircaseLook:
    """Settings of the look behind a hyperplane.

    Args:
        places: on the line that are asked, and `places_per_row` more of them per row.
        places_per_row: see `places`.
        reach: of the line, in units of the domain and distances of the hyperplane.
        others, others_per_row: values beside those of the rows from which on there are too many: some hyperplanes may
            not be known.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    places: int = 48
    places_per_row: int = 4
    reach: float = 30.0
    others: int = 8
    others_per_row: int = 1

    def __call__(self, ask: Ask, layer: Layer, *, tolerance: float) -> bool:
        """Say whether more values are met behind the first hyperplane than a layer of steps has.

        Args:
            ask: answers batches of points.
            layer: the hyperplanes, with unit weights.
            tolerance: how far the same answer may be rounded away.
        """
        normal, place = layer.weights[0], -layer.biases[0]
        places = self.places + self.places_per_row * layer.neurons
        distances = self.reach * (1.0 + abs(place)) * np.arange(1, places + 1) / places
        values = np.sort(ask((place + distances)[:, None] * normal), axis=0)
        distinct = 1 + np.count_nonzero(np.diff(values, axis=0) > tolerance, axis=0)
        return int(np.max(distinct)) > 1 + layer.neurons * (1 + self.others_per_row) + self.others
