"""Half spaces that were found for one class against the others, and what follows for all classes together."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from unweave.arrays import PerPoint, Points
from unweave.learn.lowest_layer.calibration import DistanceCalibration
from unweave.learn.lowest_layer.evidence import LowestLayerCertificate
from unweave.learn.lowest_layer.layer import ThresholdLayer
from unweave.networks.network import Network
from unweave.result import Cost, Outcome, Result


@dataclass(frozen=True, eq=False)
class FoundUnion:
    """Half spaces, and which class is inside of them.

    Args:
        layer: one step per half space of the union, in the units of the inputs.
        is_second_inside: whether samples of the second class are those inside of at least one.
        result: its network is that of the layer.
        calibration: probabilities by the distance to the half spaces.
    """

    layer: ThresholdLayer
    is_second_inside: bool
    calibration: DistanceCalibration
    result: Result[Network, LowestLayerCertificate]

    def depths(self, points: Points) -> PerPoint:
        """Compute the distance to the boundary where one half space decides, positive inside of the union."""
        return np.max(self.layer.arguments(points), axis=1)

    def probabilities(self, points: Points) -> PerPoint:
        """Compute the probability of the second class."""
        inside = self.calibration(self.depths(points))
        return inside if self.is_second_inside else 1.0 - inside


def result_of_all(
    classes: np.ndarray,
    results: Sequence[Result[Network, LowestLayerCertificate]],
    network: Network,
    seconds: dict[str, float],
) -> Result[Network, LowestLayerCertificate]:
    """Join what was found for every class against the others: the worst of it is what may be claimed of all."""
    order = [Outcome.NOT_IDENTIFIED, Outcome.PARTLY_IDENTIFIED, Outcome.IDENTIFIED]
    certificates = [result.certificate for result in results if result.certificate is not None]
    worst = None
    if len(certificates) == len(results):
        joins = {"neurons": sum, "held_out": min, "confidence": min}
        names = [each.name for each in fields(LowestLayerCertificate)]
        worst = LowestLayerCertificate(
            **{name: joins.get(name, max)([getattr(each, name) for each in certificates]) for name in names}
        )
    return Result(
        min((result.outcome for result in results), key=order.index),
        " ".join(f"{name}: {result.reason}" for name, result in zip(classes, results, strict=True)),
        network,
        worst,
        tuple(each for result in results for each in result.diagnostics),
        Cost(samples=results[0].samples, seconds=seconds),
        tuple(dict.fromkeys(note for result in results for note in result.notes)),
    )
