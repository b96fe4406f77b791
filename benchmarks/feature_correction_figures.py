"""The image experiments of [allenzhu]: what they cost, and miniatures of them on digits or on your own images.

    python benchmarks/feature_correction_figures.py --costs
    python benchmarks/feature_correction_figures.py --figures figure-2 figure-1 figure-11 figure-12 --out pictures/
    python benchmarks/feature_correction_figures.py --figures figure-9 --data cifar-100-binary/ --full --out run/

Without `--data` the images are the digits of scikit-learn, 8 x 8 pixels, 500 of them for training. Miniatures of them
take one to two minutes each on one core; they show that everything runs, and say nothing about the published numbers.
"""

import argparse
import json
import time
from pathlib import Path

import torch

from command_line import parser_of
from unweave.explore.feature_correction.image_data import load_images
from unweave.reports.pictures.correction import draw_feature_correction
from unweave.reproduce.allenzhu.images.configurations import FIGURES, FigureConfiguration, figure_configuration
from unweave.reproduce.allenzhu.images.costs import cost_of
from unweave.reproduce.allenzhu.images.figure_results import CorrectionTables
from unweave.reproduce.allenzhu.images.figures import run_figure
from unweave.reproduce.allenzhu.images.image_sets import digit_images
from unweave.reproduce.allenzhu.images.pictures import draw_figure


def print_costs() -> None:
    """Trainings and GPU hours of every figure at its published size."""
    print("| figure | measured | trainings | V100 hours |\n| --- | --- | --- | --- |")
    for name, configuration in FIGURES.items():
        cost = cost_of(configuration)
        print(f"| {name} | {configuration.measured} | {cost.trainings} | {cost.gpu_hours:.2g} |")


def miniature(name: str, arguments: argparse.Namespace) -> FigureConfiguration:
    """The figure at a size for one core."""
    depths = {"figure-4": (3,), "figure-11": (2, 3)}.get(name)
    width = 0.25 if name == "figure-2" else 0.5
    # The first layer of AlexNet moves slowly at the published learning rate.
    epochs, batch = (3 * arguments.epochs, 10) if name == "figure-2" else (arguments.epochs, 25)
    return figure_configuration(name).scaled(
        width=width,
        layers=10,
        epochs=epochs,
        batch=batch,
        images=arguments.images,
        seeds=arguments.seeds,
        depths=depths,
        prox=(5e-3,) if FIGURES[name].prox else None,
        ascent_steps=200,
    )


def run(name: str, arguments: argparse.Namespace) -> None:
    """Run one figure, print its numbers and save its picture."""
    began = time.perf_counter()
    images = digit_images() if arguments.data is None else load_images(arguments.data)
    configuration = figure_configuration(name) if arguments.full else miniature(name, arguments)
    found = run_figure(configuration, images, arguments.out / name)
    found.save(arguments.out / name)
    print(f"\n{name}, {found.label}, {found.source}: {time.perf_counter() - began:.0f} s")
    if isinstance(found.result, CorrectionTables):
        for network, table in found.result.tables.items():
            print(f"\n{network}\n\n{table.as_table()}")
            draw_feature_correction(table).savefig(arguments.out / f"{name} {network}.png", dpi=110)
    elif found.result is not None:
        print(json.dumps(found.result.as_json()))
        draw_figure(found).savefig(arguments.out / f"{name}.png", dpi=110)
    for row in found.differences:
        print(row)
    print(*found.notes, sep="\n")


def main() -> None:
    """Read the arguments, and run."""
    parser = parser_of(__doc__)
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--figures", nargs="*", default=[], choices=sorted(FIGURES))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--full", action="store_true", help="at the published size: GPU hours, see --costs")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("figures"))
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.costs:
        print_costs()
    for name in arguments.figures:
        run(name, arguments)


if __name__ == "__main__":
    main()
