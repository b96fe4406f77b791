"""[soltanolkotabi, Fig. 2 to 4]: how often training finds a global minimum, and where the logistic curve crosses 1/2.

    python benchmarks/landscape.py                          the four curves of Figures 2 and 3 (Levenberg-Marquardt)
    python benchmarks/landscape.py --search gradient        the same by gradient descent with a polish
    python benchmarks/landscape.py --search raw             the same by gradient descent alone, judged at 1e-4
    python benchmarks/landscape.py --figures 4a 4b          random labels: root of the loss against steps
    python benchmarks/landscape.py --pictures folder        also draw them
    python benchmarks/landscape.py --scheduler processes:2  sizes in two processes, or on a Dask cluster

100 samples; 10 planted networks with 10 random starts each per size, output weights and hidden weights trained. A
planted network counts as clean if all of its starts reach a global minimum. In Figure 4 output weights start as
random signs: with ones they could not fit the negative half of the labels by non-negative neurons, as `4a-ones` and
`4b-ones` show.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from command_line import parsed, parser_of, say
from unweave.explore.landscape.experiment import GradientSearch, LandscapePoint, NewtonSearch, Search
from unweave.explore.landscape.figures import FIGURES, CurveFigure, TrainingFigure
from unweave.explore.landscape.sweeps import LandscapeCurve, sweep
from unweave.explore.landscape.trainings import TrainingCurves, follow_trainings
from unweave.jobs import Workers, opened_workers

CURVES = {name: each for name, each in FIGURES.items() if isinstance(each, CurveFigure)}
TRAININGS = {name: each for name, each in FIGURES.items() if isinstance(each, TrainingFigure)}
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


def run_curve(name: str, args: argparse.Namespace, workers: Workers) -> LandscapeCurve:
    """Sweep one curve and print it."""
    figure = CURVES[name]
    loss_tol = 1e-4 if args.search == "raw" else 1e-8
    design = replace(figure.design, planted=args.planted, starts=args.starts, loss_tol=loss_tol)
    print(f"{name}: {design.activation}, neurons {figure.neurons}, inputs {figure.inputs}")
    search = SEARCHES[args.search]
    curve = sweep(design, **figure.sizes, search=search, seed=args.seed, workers=workers, progress=show)
    crossing = figure.crossing or np.nan
    say(
        f"     crossing {curve.fit.crossing:.2f} +- {curve.fit.crossing_error:.2f}, published {crossing}: "
        f"{100 * (curve.fit.crossing / crossing - 1):+.1f} %, {curve.seconds:.0f} s"
    )
    args.json.keep(
        "transitions",
        figure=name,
        activation=str(design.activation),
        planted=args.planted,
        starts=args.starts,
        crossing=curve.fit.crossing,
        crossing_error=curve.fit.crossing_error,
        published_crossing=figure.crossing,
        seconds=curve.seconds,
    )
    return curve


def run_training(name: str, args: argparse.Namespace, workers: Workers) -> tuple[TrainingCurves, ...]:
    """Follow the trainings of one part of Figure 4 and print where they ended."""
    figure = TRAININGS[name]
    design = replace(figure.design, planted=args.trainings)
    print(
        f"{name}: {design.activation}, random labels, {args.trainings} trainings, root of the loss after {args.steps} "
        "steps"
    )
    return follow_trainings(
        design,
        **figure.sizes,
        steps=args.steps,
        seed=args.seed,
        workers=workers,
        progress=show_training,
    )


def show_training(curve: TrainingCurves) -> None:
    """Print a line about one number of neurons."""
    last = curve.errors[:, -1]
    say(
        f"     k={curve.neurons:3d} kd/n={curve.neurons * curve.inputs / 100:4.1f} from {np.min(last):8.1e} to "
        f"{np.max(last):8.1e} zero in {np.mean(last <= 1.0001e-5):5.2f} of them"
    )


def draw(curves: dict[str, LandscapeCurve], trainings: dict[str, tuple[TrainingCurves, ...]], folder: Path) -> None:
    """Save a picture per figure."""
    from unweave.reports.pictures.landscape import draw_landscape, draw_trainings

    folder.mkdir(parents=True, exist_ok=True)
    for name, curve in curves.items():
        draw_landscape(curve, reference=CURVES[name].crossing).savefig(folder / f"figure-{name}.png", dpi=120)
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
    parser.add_argument("--scheduler", help="processes:2, or the address of a Dask scheduler")
    parser.add_argument("--pictures", type=Path, help="folder for pictures")
    args = parsed(parser)
    begin = time.perf_counter()
    with opened_workers(args.scheduler) as workers:
        curves = {name: run_curve(name, args, workers) for name in args.figures if name in CURVES}
        trainings = {name: run_training(name, args, workers) for name in args.figures if name in TRAININGS}
    minutes, busy = (time.perf_counter() - begin) / 60, time.process_time() / 60
    print(f"all in {minutes:.1f} minutes, {busy:.1f} minutes of processor time")
    if args.pictures:
        draw(curves, trainings, args.pictures)


if __name__ == "__main__":
    main()
