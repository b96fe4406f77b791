"""[allenzhu, Thm. 4]: signs as labels: the share of wrong classes with level 2 alone and with both levels."""

from collections.abc import Sequence

import numpy as np

from unweave.learn.hierarchical.estimators import HierarchicalClassifier
from unweave.networks.quadratic.teacher import make_teacher
from unweave.reproduce.allenzhu.planted_tasks import OTHER_SIZES
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings


def settings(scale: Scale) -> Sequence[Settings]:
    """Growing samples."""
    inputs, samples = {
        Scale.QUICK: (5, (1_000,)),
        Scale.USUAL: (6, (1_000, 4_000)),
        Scale.FULL: (20, (5_000, 20_000, 80_000)),
    }[scale]
    return [{"inputs": inputs, "samples": count} for count in samples]


def measure(cell: Cell) -> Numbers:
    """Shares of wrong classes on fresh points, in percent."""
    rng = np.random.default_rng(cell.seed)
    inputs, samples = int(cell.settings["inputs"]), int(cell.settings["samples"])
    teacher = make_teacher(rng, inputs=inputs, widths=(2, 1), level_weights=(1.0, 0.5))
    points, fresh = rng.standard_normal((samples, inputs)), rng.standard_normal((10_000, inputs))
    values = teacher(points)[:, 0]
    unit, mean = float(np.std(values)), float(np.mean(values))
    # The input x_0 enters linearly, with mean -E G.
    given, fresh_given = (rng.standard_normal(len(each)) - mean / unit for each in (points, fresh))
    labels = np.sign(values / unit + given)
    truth = np.sign(teacher(fresh)[:, 0] / unit + fresh_given)
    wrong = []
    for widths in ((2,), (2, 1)):
        model = HierarchicalClassifier(widths, random_state=cell.seed).fit(np.column_stack([points, given]), labels)
        wrong.append(100.0 - 100.0 * float(model.score(np.column_stack([fresh, fresh_given]), truth)))
    return {"alone": wrong[0], "both": wrong[1], "given": 100.0 * float(np.mean(np.sign(fresh_given) != truth))}


TITLE = "signs of a planted network plus an input: wrong classes, in percent"
COLUMNS = {"given": "x_0 alone", "alone": "with level 2", "both": "with levels 2 and 3"}
NOTES = (
    OTHER_SIZES,
    "The theorem: with poly(d/e) samples the share of wrong classes is at most e. Training is by the library's "
    "classifier, second order on a logistic loss, instead of Algorithm 1.",
)
