"""The numbered items of [allenzhu]; figures on images have configurations of their own."""

from unweave.reproduce.allenzhu.images.configurations import FIGURES
from unweave.reproduce.entries import Entry

# CPU seconds of the quick and of the usual form, as seen on one core, and what the published size takes.
_COSTS: dict[str, tuple[float, float | None, str]] = {
    "figure-1": (0.2, 6.3, "1 training, about 0.3 hours of a V100"),
    "figure-2": (0.1, 8.0, "1 training, a minute of a V100"),
    "figure-3": (1.3, 7.6, "160 trainings, about 350 hours of a V100"),
    "figure-4": (0.3, None, "2 trainings, about 11 hours of a V100"),
    "figure-6": (1.1, 40.0, "1240 trainings, about 900 hours of a V100"),
    "figure-9": (0.2, 15.0, "415 trainings, about 400 hours of a V100"),
    "figure-10": (0.2, 15.0, "415 trainings, about 400 hours of a V100"),
    "figure-11": (0.3, None, "6 trainings, about 33 hours of a V100"),
    "figure-12": (1.6, 21.0, "60 trainings, about 360 hours of a V100"),
    "figure-13": (0.4, None, "760 trainings, about 320 hours of a V100"),
    "figure-14": (0.2, 15.0, "415 trainings, about 400 hours of a V100"),
    "figure-14-l2": (2, None, "415 trainings, about 3000 hours of a V100"),
    "figure-14-linf": (1.1, None, "415 trainings, about 2700 hours of a V100"),
}
_FOLDER = "allenzhu."
_ON_IMAGES = tuple(
    Entry(
        number=number,
        shows=f"{figure.measured}; {' and '.join(figure.datasets)}",
        quick_seconds=_COSTS[number][0],
        usual_seconds=_COSTS[number][1],
        published_cost=_COSTS[number][2],
    )
    for number, figure in FIGURES.items()
)


def _measured(number: str, shows: str, file: str, quick: float, usual: float | None = None) -> Entry:
    """An item without images; [allenzhu] prints no sizes for these."""
    cost = "no published size; --full was not run"
    return Entry(
        number=number,
        shows=shows,
        file=_FOLDER + file,
        quick_seconds=quick,
        usual_seconds=usual,
        published_cost=cost,
    )


_MEASURED = (
    _measured("algorithm-1", "the algorithm of the theory", "literal_runs", 6),
    _measured("figure-5", "correction in a network of four levels", "hierarchy_traces", 9.3),
    _measured("figure-7", "learner with distillation", "distilled_learner", 0.1, 0.1),
    _measured("figure-8", "truncated quadratic activation", "truncation", 0.1, 0.1),
    _measured("theorem-1", "all levels reach any error", "joint_learning", 5.1),
    _measured("theorem-2", "level 3 corrects level 2", "correction_law", 0.1, 1.2),
    _measured("theorem-3", "labels beyond the class", "agnostic_learning", 0.2, 3.6),
    _measured("theorem-4", "signs as labels", "class_labels", 1.5, 9),
    _measured("proposition-5.1", "assumptions on the inputs", "input_moments", 1.2),
    _measured("lemma-c.6", "random frames", "frame_spectra", 0.1, 0.8),
    _measured("corollary-f.3", "error of features against the gap", "correction_law", 0.2, 1.2),
    _measured("theorem-i.1", "kernels on hard functions", "limits", 0.1),
    _measured("theorem-i.3", "fixed features on hard functions", "limits", 0.2),
    _measured("theorem-i.6", "two layers on hard functions", "limits", 0.1),
)
ENTRIES: tuple[Entry, ...] = (*_ON_IMAGES, *_MEASURED)
