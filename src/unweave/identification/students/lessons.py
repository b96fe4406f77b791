"""The answers that students learn from: those that were paid for, and more as students grow."""

from dataclasses import dataclass

import numpy as np

from unweave.arrays import Points, Values
from unweave.identification.probing import Probe
from unweave.identification.students.growth import Lesson


@dataclass(frozen=True, kw_only=True)
class LessonRules:
    """How many answers students learn from, and where they are asked.

    Args:
        surplus: numbers in the answers per parameter of a student, and answers per weight and bias: with half as many,
            students met them and no others. Several outputs tell more of output weights than of neurons.
        more: factor of both where students met them and no others all the same.
        fewest: answers that a student learns from, at least: fewer do not reach into the tails of one input.
        others: answers that compare students.
        widened: points of a box are drawn from one this much larger and moved to its faces, where fits are worst; not
            to vertices: with a tenth of the points there fewer starts led to the network.
        new_share: of these answers, those that are asked for students: earlier routes have asked where they needed to,
            and neurons that bend in a corner only show elsewhere.
        reach: points of the domain are this near to its centre, in units of the square root of the inputs; others,
            which earlier routes have asked far out, are not learnt from.
        exact: residual, in units of the noise, of a student that may be the network itself, and the least one.
    """

    surplus: tuple[float, float] = (5.0, 3.5)
    more: float = 1.5
    fewest: int = 300
    others: int = 100
    widened: float = 1.1
    new_share: float = 0.5
    reach: float = 4.0
    exact: tuple[float, float] = (100.0, 1e-11)

    def exactness(self, noise: float) -> float:
        """Give the residual of a student that may be the network itself."""
        share, least = self.exact
        return max(share * noise, least)


class Lessons:
    """Asks what students need, and reuses what was paid for."""

    def __init__(self, rules: LessonRules, probe: Probe, rng: np.random.Generator) -> None:
        self._rules, self._probe, self._rng = rules, probe, rng
        self._others: tuple[Points, Values] | None = None
        self._asked, self._more = 0, 1.0

    @property
    def inputs(self) -> int:
        """Of the model."""
        return self._probe.oracle.inputs

    def of_width(self, width: int) -> Lesson:
        """Ask what students of so many neurons still need.

        Raises:
            BudgetExhausted: if the budget does not allow it.
        """
        rules, oracle = self._rules, self._probe.oracle
        numbers, answers = rules.surplus
        hidden = width * (oracle.inputs + 1)
        by_numbers = numbers * (hidden + width * oracle.outputs) / oracle.outputs
        wanted = max(rules.fewest, int(self._more * max(by_numbers, answers * hidden)))
        if self._others is None:
            points = oracle.sample(self._rng, rules.others)
            self._others = points, oracle.query(points)
        missing = max(wanted - len(self._known()[0]), int(rules.new_share * wanted) - self._asked)
        if missing > 0:
            self._ask(missing)
        return Lesson(*self._known(), *self._others, rules.exactness(self._probe.scale.noise))

    def adopt_others(self) -> None:
        """Let students learn from the answers that have compared them, and from more, because one has missed these."""
        if self._others is not None:
            self._probe.answers.keep(*self._others, are_spread=True)
            self._others, self._more = None, self._rules.more * self._more

    def _known(self) -> tuple[Points, Values]:
        """Give the answers that were paid for, in the domain."""
        answers = self._probe.answers
        farthest = self._rules.reach * np.sqrt(answers.points.shape[1])
        is_near = np.linalg.norm(answers.points, axis=1) <= farthest
        return answers.points[is_near], answers.values[is_near]

    def _ask(self, count: int) -> None:
        """Ask more points of the domain, many of them near its end."""
        answers, oracle = self._probe.answers, self._probe.oracle
        sample = oracle.sample(self._rng, count if answers.is_box else 2 * count)
        if answers.is_box:
            points = np.clip(self._rules.widened * sample, -1.0, 1.0)
        else:
            by_distance = np.argsort(-np.linalg.norm(sample, axis=1), kind="stable")
            outermost, rest = np.split(by_distance, [count // 2])
            points = sample[np.concatenate([outermost, np.sort(rest)[: count - len(outermost)]])]
        answers.keep(points, oracle.query(points), are_spread=True)
        self._asked += count
