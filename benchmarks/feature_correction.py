"""Feature correction: the figures of docs/feature-correction.md.

    python benchmarks/feature_correction.py                          # all parts, 5 seeds
    python benchmarks/feature_correction.py digits --out run/        # one part, kept in a folder, with a picture

Parts: `digits` (four small convolutions on handwritten digits: table, correlations, information gap), `steps` (the
same on all 625 rows in smaller batches, 300 steps instead of 120: what remains of the gaps), `levels` (a quadratic
network with skip links on samples of a planted one).
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import unweave
from command_line import parsed, parser_of
from unweave.explore.feature_correction.digits import (
    DIGITS_PROX,
    DIGITS_RECIPE,
    DIGITS_WINDOWS,
    DigitsNetwork,
    digits_data,
)
from unweave.explore.feature_correction.recipes import Recipe
from unweave.explore.feature_correction.result import DepthResult
from unweave.networks.quadratic.teacher import UniformInputs, make_teacher
from unweave.networks.quadratic.wiring import make_wiring
from unweave.reports.correction import save_with_picture


def digits(seeds: int, folder: Path | None) -> unweave.FeatureCorrection:
    """The recipe of the published figures, four times shorter."""
    return unweave.measure_feature_correction(
        DigitsNetwork(),
        digits_data(),
        recipe=DIGITS_RECIPE,
        prox=DIGITS_PROX,
        windows=DIGITS_WINDOWS,
        seeds=seeds,
        folder=folder,
    )


def steps(seeds: int, folder: Path | None) -> unweave.FeatureCorrection:
    """More steps per training; with one strength of the pull nothing is chosen, and all rows train."""
    return unweave.measure_feature_correction(
        DigitsNetwork(),
        digits_data(),
        recipe=replace(DIGITS_RECIPE, batch=63),
        prox=(DIGITS_PROX[0],),
        windows=(0,),
        seeds=seeds,
        folder=folder,
    )


def levels(seeds: int, folder: Path | None) -> unweave.FeatureCorrection:
    """Levels of widths 3 and 2 on 10 uniform inputs, the second of weight 0.3, 4000 rows."""
    rng, draw = np.random.default_rng(0), UniformInputs()
    teacher = make_teacher(rng, inputs=10, widths=(3, 2), level_weights=(1.0, 0.3), distribution=draw)
    points = draw(rng, 8_000, 10)
    labels = teacher(points)[:, 0]
    data = (points[:4_000], labels[:4_000], points[4_000:], labels[4_000:])
    wiring, recipe = make_wiring(10, (3, 2)), Recipe(epochs=60)
    # Weaker pulls leave features at -w, which is as good as w to a square.
    return unweave.measure_feature_correction(
        wiring, data, recipe=recipe, prox=(0.1,), windows=(0, 1), seeds=seeds, folder=folder
    )


PARTS: dict[str, Callable[[int, Path | None], unweave.FeatureCorrection]] = {
    "digits": digits,
    "steps": steps,
    "levels": levels,
}


def row(depth: DepthResult) -> dict[str, object]:
    """What is kept of a depth: scores and gaps in %, gaps with their standard errors."""
    scores = {"train_only": depth.train_only, "joint": depth.joint, "layer_wise": depth.layerwise}
    gaps = {"layer_wise_gap": depth.layerwise_gap, "freezing_gap": depth.freezing_gap}
    return {
        "depth": depth.depth,
        **{name: 100 * each.mean for name, each in scores.items()},
        **{name: 100 * each.mean for name, each in gaps.items()},
        **{f"{name}_error": 100 * each.standard_error for name, each in gaps.items()},
        "weights_with_train_all": depth.with_train_all.mean,
        "layer_wise_verdict": depth.layerwise_verdict,
    }


def main() -> None:
    """Run parts, print their tables."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all if omitted")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="folder for trainings and pictures; the same goes on")
    arguments = parsed(parser)
    torch.set_num_threads(1)
    for name in arguments.parts or PARTS:
        start = time.perf_counter()
        folder = None if arguments.out is None else arguments.out / name
        result = PARTS[name](arguments.seeds, folder)
        gaps = ", ".join(f"{100 * gap:.1f}" for gap in result.gap_by_depth)
        print(f"\n## {name}\n\n{result.as_table()}")
        print(f"Information gap, points that every depth adds: {gaps}.")
        print(f"{time.perf_counter() - start:.0f} s, of which {result.seconds:.0f} s are training.")
        for depth in result.depths:
            arguments.json.keep(name, seeds=len(result.seeds), **row(depth))
        if folder is not None:
            save_with_picture(result, folder)


if __name__ == "__main__":
    main()
