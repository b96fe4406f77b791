"""[allenzhu, Thm. 1]: all levels together reach any error from few samples; level by level does not."""

from collections.abc import Sequence

from unweave.learn.hierarchical.joint_fit import JointLevenbergMarquardt
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.reproduce.allenzhu.planted_tasks import OTHER_SIZES, PlantedTask
from unweave.reproduce.allenzhu.staged import StagedTraining
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

SECOND_ORDER, STAGED, LAYER_WISE = "second order, joint", "staged, joint", "layer-wise"
STEPS = {Scale.QUICK: 500, Scale.USUAL: 1_000, Scale.FULL: 10_000}


def settings(scale: Scale) -> Sequence[Settings]:
    """Growing samples for joint training of both kinds, and for layer-wise training."""
    inputs, widths, samples = {
        Scale.QUICK: (6, "2-1", (500,)),
        Scale.USUAL: (8, "3-2", (1_000,)),
        Scale.FULL: (30, "5-2", (1_000, 2_000, 5_000, 10_000)),
    }[scale]
    return [
        {"inputs": inputs, "widths": widths, "samples": count, "training": name, "steps": STEPS[scale]}
        for count in samples
        for name in (SECOND_ORDER, STAGED, LAYER_WISE)
    ]


def measure(cell: Cell) -> Numbers:
    """Errors of the answers and of the features on fresh points."""
    given = cell.settings
    widths = tuple(map(int, str(given["widths"]).split("-")))
    task = PlantedTask(cell.seed, int(given["inputs"]), widths, (1.0, 0.3), int(given["samples"]))
    network = _trained(task, str(given["training"]), int(given["steps"]))
    features = task.feature_errors(network)
    return {"error": task.error(network), "level_2": features[0], "level_3": features[1]}


def _trained(task: PlantedTask, training: str, steps: int) -> QuadraticDenseNet:
    if training == SECOND_ORDER:
        return JointLevenbergMarquardt()(task.student(), task.points, task.labels, rng=task.rng).network
    staged = StagedTraining(
        stage_steps=steps, final_steps=2 * steps, batch=256, is_layer_wise=training == LAYER_WISE
    )  # fmt: skip
    wiring = task.teacher.wiring
    return staged(wiring, task.points, task.labels, mean_squares=task.means, rng=task.rng).network


TITLE = "errors on fresh points of planted networks"
COLUMNS = {"error": "error", "level_2": "features of level 2", "level_3": "features of level 3"}
NOTES = (
    OTHER_SIZES,
    "The theorem: Algorithm 1 reaches any error e from poly(d/e) samples. That algorithm itself is algorithm-1; "
    "here its practical form (staged) and second-order steps on all levels stand for it, with level 3 of weight "
    "0.3.",
)
