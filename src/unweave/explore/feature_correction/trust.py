"""Whether trainings may be compared at all: a difference of two trainings that learnt nothing says nothing.

Four questions come before any verdict. Is the model above chance? Is the whole model no worse than its parts? Have the
compared trainings converged? Had both the same budget, or does that not matter because the shorter one has converged?
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unweave.explore.feature_correction.samples import Samples
from unweave.explore.feature_correction.statistics import Conclusion, Need, Scores, conclude

# Learning rate in the last part of a training, relative to the largest one, below which little progress does not tell
# that the training has converged: the schedule may have ended it. Chosen: a cosine leaves 0.03, a line 0.1.
LEAST_LATE_RATE = 0.25


def late_progress(losses: Sequence[float], *, rates: Sequence[float] = (), parts: int = 5) -> float | None:
    """Share of the decrease of the loss that came in the last part of the epochs, by default the last fifth.

    Args:
        losses: of the first batch, and of every epoch.
        rates: learning rate of every epoch, of a schedule that may end the training by itself.
        parts: into which the epochs are divided. Chosen: more leave few epochs to average over, fewer call a training
            late that has long slowed down.

    Returns:
        None for fewer than two epochs, and if steps became so small that their progress tells nothing; 1 if the loss
        did not decrease.
    """
    epochs = losses[1:]
    late = max(1, len(epochs) // parts)
    if len(rates) and float(np.mean(rates[-late:])) < LEAST_LATE_RATE * max(rates):
        return None
    if len(epochs) < 2 * late or not np.all(np.isfinite(losses)):
        return None
    end, before = float(np.mean(epochs[-late:])), float(np.mean(epochs[-2 * late : -late]))
    decrease = losses[0] - end
    return max(0.0, before - end) / decrease if decrease > 0 else 1.0


def chance_score(samples: Samples) -> float:
    """What the best constant answer scores on test rows."""
    if not samples.is_classification:
        return 0.0
    return float(np.max(np.bincount(samples.test_labels.astype(int)))) / len(samples.test_labels)


@dataclass(frozen=True)
class Comparison:
    """Two trainings of a model, and what else is known of the model.

    Args:
        free: scores of the training with nothing frozen.
        frozen: of the other.
        parts: scores of lower units alone, or of units added one by one, by name.
        whole: score of the whole model from random weights, if that is not `free`.
        chance: score of a constant answer.
        late_progress: of both trainings, of all seeds; empty if not known.
        has_equal_budgets: whether the free training was as long as the other, all that it builds on included, or a
            longer one is among the parts.
        tolerance: differences of scores that do not matter.
        most_late_progress: mean share of progress in the last fifth of the epochs up to which trainings count as
            converged; a training at a steady rate has a fifth, one that has ended a few hundredths. Chosen.
    """

    free: Scores
    frozen: Scores
    parts: Mapping[str, Scores]
    whole: Scores
    chance: float
    late_progress: Sequence[float]
    has_equal_budgets: bool
    tolerance: float
    most_late_progress: float = 0.1

    def conclusion(self) -> Conclusion:
        """What the difference says; no conclusion if there are doubts."""
        found = conclude(self.free.minus(self.frozen), tolerance=self.tolerance)
        if found.need is Need.UNKNOWN:
            return found
        doubt = next((each for each in self._doubts(found.need) if each), "")
        return replace(found, need=Need.UNKNOWN, doubt=doubt) if doubt else found

    def _doubts(self, need: Need) -> tuple[str, ...]:
        return self._untrained(), self._below_parts(need), self._unsettled(), self._unequal(need)

    def _untrained(self) -> str:
        for name, scores in (("the whole model", self.whole), ("the model with nothing frozen", self.free)):
            above = Scores(tuple(value - self.chance for value in scores.values))
            if conclude(above, tolerance=self.tolerance).need is not Need.YES:
                return f"{name} scores {100 * scores.mean:.1f}, a constant answer {100 * self.chance:.1f}: train longer"
        return ""

    def _below_parts(self, need: Need) -> str:
        """A gap that is needed is one even if the whole model could be better, unless that lacks more than the gap."""
        harmless = self.free.minus(self.frozen).mean if need is Need.YES else 0.0
        for whole in (self.whole, self.free):
            for name, part in self.parts.items():
                lack = part.minus(whole)
                if conclude(lack, tolerance=self.tolerance).need is Need.YES and lack.mean > harmless:
                    return (
                        f"the whole model scores {100 * whole.mean:.1f}, less than its parts ({name}: "
                        f"{100 * part.mean:.1f}): it is not trained well"
                    )
        return ""

    def _unsettled(self) -> str:
        late = float(np.mean(self.late_progress)) if len(self.late_progress) else 0.0
        if late <= self.most_late_progress:
            return ""
        return f"the trainings have not converged, {100 * late:.0f} % of their progress came at the end: train longer"

    def _unequal(self, need: Need) -> str:
        """A free training that was shorter and better all the same needs no excuse."""
        if self.has_equal_budgets or need is Need.YES or len(self.late_progress) > 0:
            return ""
        return "the frozen model was trained longer, and whether the other one had converged is not known"
