"""[allenzhu, Alg. 1] on planted networks: what it switches on, which widths it reads, and how far it gets."""

from collections.abc import Sequence

from unweave.networks.quadratic.teacher import UniformInputs
from unweave.reproduce.allenzhu.algorithm1 import Algorithm1, FrameKind, GaussianFrame, StructuredFrame
from unweave.reproduce.allenzhu.planted_tasks import OTHER_SIZES, PlantedTask
from unweave.reproduce.allenzhu.schedules import PlateauSchedule
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

FRAMES: dict[str, FrameKind] = {"Gaussian": GaussianFrame(), "structured": StructuredFrame()}


def settings(scale: Scale) -> Sequence[Settings]:
    """Steps, and both kinds of random frames."""
    inputs, widths, samples, steps = {
        Scale.QUICK: (5, "2-1", 1_000, 4_000),
        Scale.USUAL: (6, "2-1", 3_000, 12_000),
        Scale.FULL: (20, "3-2", 8_000, 40_000),
    }[scale]
    return [
        {"inputs": inputs, "widths": widths, "samples": samples, "steps": steps, "frame": name}
        for name in (("structured",) if scale is Scale.QUICK else FRAMES)
    ]


def measure(cell: Cell) -> Numbers:
    """Errors on fresh points, and what the algorithm has found out about the shape."""
    given, steps = cell.settings, int(cell.settings["steps"])
    widths = tuple(map(int, str(given["widths"]).split("-")))
    weights = (1.0, 0.2)
    task = PlantedTask(cell.seed, int(given["inputs"]), widths, weights, int(given["samples"]), UniformInputs())
    # Shorter runs wait less; the defaults are those of 40,000 steps.
    schedule = PlateauSchedule(least_steps=min(2_000, steps // 8), patience=steps // 3)
    fit = Algorithm1(most_steps=steps, schedule=schedule, frame=FRAMES[str(given["frame"])])(
        task.teacher.wiring, task.points, task.labels, level_weights=weights, mean_squares=task.means, rng=task.rng
    )
    read = [switch.width for switch in fit.switches if switch.what == "features"]
    features = task.feature_errors(fit.network)
    return {
        "widths": float(tuple(read) == widths),
        "switches": float(len(fit.switches)),
        "objective": fit.objectives[-1] / fit.objectives[0],
        "error": task.error(fit.network),
        "level_2": features[0],
        "level_3": features[1] if len(features) > 1 else float("inf"),
        "truncated": fit.truncated_share,
    }


TITLE = "the algorithm of the theory on planted networks"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 2, Scale.FULL: 10}
COLUMNS = {
    "widths": "all widths read right",
    "switches": "things switched on",
    "objective": "last objective over first",
    "error": "error",
    "level_2": "features of level 2",
    "level_3": "features of level 3",
    "truncated": "share of squares cut off",
}
NOTES = (
    OTHER_SIZES,
    "Switches go by plateaus of the objective and by visible gaps of singular values: the printed thresholds, "
    "powers of d such as d^(1/(6 C^l)), are near 1 for any d that can be computed with. Steps take batches of 32 "
    "samples.",
)
