"""The numbered items of [allenzhu]; figures on images have configurations of their own."""

from unweave.reproduce.allenzhu.images.configurations import FIGURES
from unweave.reproduce.entries import Entry

# CPU seconds seen on one core: of the quick form, and of the usual one.
_IMAGE_SECONDS: dict[str, tuple[float, float]] = {}
_FOLDER = "allenzhu."
_ON_IMAGES = tuple(
    Entry(
        number=number,
        shows=f"{figure.measured}; {' and '.join(figure.datasets)}",
        quick_seconds=_IMAGE_SECONDS.get(number, (None, None))[0],
        usual_seconds=_IMAGE_SECONDS.get(number, (None, None))[1],
    )
    for number, figure in FIGURES.items()
)
_MEASURED = (
    Entry(number="algorithm-1", shows="the algorithm of the theory", file=_FOLDER + "literal_runs"),
    Entry(number="figure-5", shows="correction in a network of four levels", file=_FOLDER + "hierarchy_traces"),
    Entry(number="figure-7", shows="learner with distillation", file=_FOLDER + "distilled_learner"),
    Entry(number="figure-8", shows="truncated quadratic activation", file=_FOLDER + "truncation"),
    Entry(number="theorem-1", shows="all levels reach any error", file=_FOLDER + "joint_learning"),
    Entry(number="theorem-2", shows="level 3 corrects level 2", file=_FOLDER + "correction_law"),
    Entry(number="theorem-3", shows="labels beyond the class", file=_FOLDER + "agnostic_learning"),
    Entry(number="theorem-4", shows="signs as labels", file=_FOLDER + "class_labels"),
    Entry(number="proposition-5.1", shows="assumptions on the inputs", file=_FOLDER + "input_moments"),
    Entry(number="lemma-c.6", shows="random frames", file=_FOLDER + "frame_spectra"),
    Entry(number="corollary-f.3", shows="error of features against the gap", file=_FOLDER + "correction_law"),
    Entry(number="theorem-i.1", shows="kernels on hard functions", file=_FOLDER + "limits"),
    Entry(number="theorem-i.3", shows="fixed features on hard functions", file=_FOLDER + "limits"),
    Entry(number="theorem-i.6", shows="two layers on hard functions", file=_FOLDER + "limits"),
)
ENTRIES: tuple[Entry, ...] = (*_ON_IMAGES, *_MEASURED)
