"""Kinks that may be of the first layer, from a slice of a few inputs: the others need no gradient.

Restricted to a linear slice of the inputs a network keeps its layers, and its kinks are on full hyperplanes of the
slice where they are on full hyperplanes of the whole. In a slice of four inputs a gradient costs five queries, so that
with hundreds of inputs it pays to look there before whole gradients are asked.
"""

from dataclasses import dataclass, replace

import numpy as np

from unweave.arrays import Points, Values
from unweave.identification.relu_layers.crossings import Accuracy, Plane, continues_everywhere
from unweave.identification.walks.hyperplanes import hyperplanes_between, measure_sides
from unweave.identification.walks.kinks import KinkedLine, KinkSearch
from unweave.identification.walks.lines import Ask, run_searches


@dataclass(frozen=True, kw_only=True)
class SliceLook:
    """Settings of the look at kinks in a slice.

    Args:
        inputs: of the slice. Two hold the line and the centre; the others leave room for the different directions that
            `continues_everywhere` tries.
        fewest: inputs from which on it pays: a look costs about 25 queries per kink, and saves a gradient for a third
            of them or more.
        wider: factor of the width of looks across hyperplanes: readings in a slice differ from whole ones by chance,
            and what is let through in error is found out with its whole normal.
    """

    inputs: int = 4
    fewest: int = 64
    wider: float = 3.0

    def __call__(
        self,
        ask: Ask,
        walked: KinkedLine,
        settings: KinkSearch,
        kinks: list[int],
        accuracy: Accuracy,
        *,
        rng: np.random.Generator,
    ) -> set[int]:
        """Those of some kinks on a line whose hyperplanes seem to be full.

        Args:
            ask: answers points.
            walked: the line.
            settings: how it was walked.
            kinks: their indices.
            accuracy: of answers far out.
            rng: for the slice.
        """
        line = walked.line
        spanning = np.column_stack([line.base, line.direction, rng.standard_normal((len(line.base), self.inputs - 2))])
        axes = np.linalg.qr(spanning)[0]

        def ask_slice(points: Points) -> Values:
            return ask(points @ axes.T)

        inside = replace(walked, line=replace(line, base=line.base @ axes, direction=line.direction @ axes))
        pieces = sorted({side for kink in kinks for side in (kink, kink + 1)})
        met = hyperplanes_between(measure_sides(ask_slice, inside, settings, pieces), inside, settings)
        wide = replace(accuracy, rules=replace(accuracy.rules, look=self.wider * accuracy.rules.look))
        points = inside.line.points(np.array([walked.kinks[kink].position for kink in met.kinks]))
        planes = [
            Plane(kink, point, normal, float(error))
            for kink, point, normal, error in zip(met.kinks, points, met.normals, met.errors, strict=True)
            if kink in kinks
        ]
        return set(run_searches([continues_everywhere(plane, wide, rng) for plane in planes], ask_slice))
