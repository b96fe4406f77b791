"""[soltanolkotabi, Fig. 2 to 4]: how often training finds a global minimum, and where the logistic curve crosses 1/2.

    python benchmarks/landscape.py                      the four curves of Figures 2 and 3 (Levenberg-Marquardt)
    python benchmarks/landscape.py --search gradient    the same by gradient descent with a polish
    python benchmarks/landscape.py --search raw         the same by gradient descent alone, judged at 1e-4
    python benchmarks/landscape.py --figures 4a 4b      random labels: root of the loss against steps
    python benchmarks/landscape.py --pictures folder    also draw them

100 samples; 10 planted networks with 10 random starts each per size, output weights and hidden weights trained. A
planted network counts as clean if all of its starts reach a global minimum. In Figure 4 output weights start as
random signs: with ones they could not fit the negative half of the labels by non-negative neurons, as `4a-ones` and
`4b-ones` show.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from command_line import parser_of, say
from unweave.activations import QUADRATIC, softplus
from unweave.explore.landscape.experiment import (
    GradientSearch,
    LandscapeCurve,
    LandscapeDesign,
    LandscapePoint,
    NewtonSearch,
    Search,
    sweep,
)
from unweave.reproduce.soltanolkotabi.training_curves import TrainingCurves, training_curves

SHARP = softplus(10.0)
# Figure: activation, what varies, the sizes, the other size, and the crossing that [soltanolkotabi] reports.
CURVES = {
    "2a": (SHARP, "neurons", (8, 9, 10, 11, 12, 13, 14), 10, 11.4),
    "2b": (SHARP, "inputs", (8, 9, 10, 11, 12, 13, 14), 10, 10.7),
    "3a": (QUADRATIC, "neurons", (3, 4, 5, 6, 7, 8, 9), 20, 5.5),
    "3b": (QUADRATIC, "inputs", (19, 21, 23, 25, 27, 29, 31), 5, 25.4),
}
# Figure: activation, inputs, numbers of neurons, and whether the output weights stay at ones.
TRAININGS = {
    "4a": (SHARP, 10, (10, 12, 15, 20, 30), False),
    "4b": (QUADRATIC, 20, (6, 8, 10, 20), False),
    "4a-ones": (SHARP, 10, (15, 30), True),
    "4b-ones": (QUADRATIC, 20, (10, 20), True),
}
SEARCHES: dict[str, Search] = {
    "newton": NewtonSearch(),
    "gradient": GradientSearch(),
    "raw": GradientSearch(steps=50_000, polish=0),
}


def show(point: LandscapePoint) -> None:
    """Print a line about one size."""
    say(
        f"     k={point.neurons:3d} d={point.inputs:3d} clean {point.clean_share:5.2f} runs {point.run_share:5.2f} "
        f"mean steps {np.mean(point.steps):8.0f} {point.seconds:7.1f} s"
    )


def run_curve(name: str, args: argparse.Namespace) -> LandscapeCurve:
    """Sweep one curve and print it."""
    activation, varied, sizes, other, crossing = CURVES[name]
    loss_tol = 1e-4 if args.search == "raw" else 1e-8
    design = LandscapeDesign(activation, samples=100, planted=args.planted, starts=args.starts, loss_tol=loss_tol)
    search = SEARCHES[args.search]
    print(f"{name}: {activation}, {varied} {sizes}")
    neurons, inputs = (sizes, other) if varied == "neurons" else (other, sizes)
    curve = sweep(design, neurons=neurons, inputs=inputs, search=search, seed=args.seed, progress=show)
    say(
        f"     crossing {curve.fit.crossing:.2f} +- {curve.fit.crossing_error:.2f}, published {crossing}: "
        f"{100 * (curve.fit.crossing / crossing - 1):+.1f} %, {curve.seconds:.0f} s"
    )
    return curve


def run_training(name: str, args: argparse.Namespace) -> list[TrainingCurves]:
    """Follow the trainings of one part of Figure 4 and print where they ended."""
    activation, inputs, sizes, stays_at_ones = TRAININGS[name]
    design = LandscapeDesign(
        activation, planted=args.trainings, starts=1, has_random_labels=True, starts_at_ones=stays_at_ones,
        trains_outputs=not stays_at_ones,
    )  # fmt: skip
    print(f"{name}: {activation}, random labels, {args.trainings} trainings, root of the loss after {args.steps} steps")
    curves = []
    for neurons in sizes:
        begin = time.perf_counter()
        curve = training_curves(design, neurons=neurons, inputs=inputs, steps=args.steps, seed=args.seed)
        last = curve.errors[:, -1]
        say(
            f"     k={neurons:3d} kd/n={neurons * inputs / 100:4.1f} from {np.min(last):8.1e} to {np.max(last):8.1e} "
            f"zero in {np.mean(last <= 1.0001e-5):5.2f} of them {time.perf_counter() - begin:7.1f} s"
        )
        curves.append(curve)
    return curves


def draw(curves: dict[str, LandscapeCurve], trainings: dict[str, list[TrainingCurves]], folder: Path) -> None:
    """Save a picture per figure."""
    from unweave.reports.pictures.landscape import draw_landscape
    from unweave.reproduce.soltanolkotabi.pictures import draw_trainings

    folder.mkdir(parents=True, exist_ok=True)
    for name, curve in curves.items():
        draw_landscape(curve, reference=CURVES[name][4]).savefig(folder / f"figure-{name}.png", dpi=120)
    for name, parts in trainings.items():
        draw_trainings(parts).savefig(folder / f"figure-{name}.png", dpi=120)


def main() -> None:
    """Run the figures asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--figures", nargs="+", default=list(CURVES), choices=[*CURVES, *TRAININGS])
    parser.add_argument("--search", choices=list(SEARCHES), default="newton")
    parser.add_argument("--planted", type=int, default=10)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--trainings", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=Path, help="folder for pictures")
    args = parser.parse_args()
    begin = time.perf_counter()
    curves = {name: run_curve(name, args) for name in args.figures if name in CURVES}
    trainings = {name: run_training(name, args) for name in args.figures if name in TRAININGS}
    minutes, busy = (time.perf_counter() - begin) / 60, time.process_time() / 60
    print(f"all in {minutes:.1f} minutes, {busy:.1f} minutes of processor time")
    if args.pictures:
        draw(curves, trainings, args.pictures)


if __name__ == "__main__":
    main()
