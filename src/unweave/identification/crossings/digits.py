"""Whether a model has more digits than its answers: around a place where answers switch it must go on as it began."""

from dataclasses import dataclass

import numpy as np

from unweave.exceptions import StageFailed
from unweave.identification.crossings.search import Crossings, RoundedAnswers
from unweave.networks.network import Network


@dataclass(frozen=True, kw_only=True)
class DigitsLook:
    """Settings of a look at the answers some steps of the grid beside places where they switch.

    A model that computes with as few digits as it answers with, such as a network in float32, is wrong by a step of
    the grid now and then. Right beside a place where it switches that does not show, since its inputs are rounded, too.

    Args:
        steps: of the grid, on both sides, at which it is asked: the middles between two places where it switches.
        room: share of a step that the expected value keeps from such places; others are left out. A network that is
            right up to the rounding says the difference to a value a few steps away far better.
    """

    steps: tuple[float, ...] = (0.5, 1.5, 2.5)
    room: float = 0.2

    def __call__(self, network: Network, answers: RoundedAnswers, crossings: Crossings) -> None:
        """Compare answers with what exact values and the network's differences say.

        Raises:
            StageFailed: if an answer is another one: then the model has no more digits.
        """
        kind, oracle, lines = answers.kind, answers.oracle, crossings.lines
        steps = kind.step(lines.lower) / (oracle.size[0] * lines.slopes)
        levels = kind.level(lines.lower, rounding=kind.roundings[0])
        before = network(crossings.points)[:, 0]
        points, expected = [], []
        for share in (*self.steps, *(-each for each in self.steps)):
            places = lines.at(crossings.distances + share * steps)
            raw = levels + oracle.size[0] * (network(places)[:, 0] - before)
            number = kind.roundings[0](raw)
            is_clear = np.abs(raw - number) <= (0.5 - self.room) * kind.step(number)
            is_clear &= answers.contains(places)
            points.append(places[is_clear])
            expected.append(number[is_clear])
        values = oracle.oracle.query(oracle.center + oracle.half_width * np.concatenate(points))[:, 0]
        if np.any(values != np.concatenate(expected)):
            raise StageFailed(
                "steps beside them answers are others than expected, so that the model has no more digits."
            )
