"""Entangled weight matrices from directions in no order [fiedler, Alg. 4.2]."""

from collections.abc import Sequence

from unweave.reproduce.experiment import Scale, Settings
from unweave.reproduce.fiedler.deep.recovery import measure_labels
from unweave.reproduce.fiedler.deep.teachers import DIFFERENCES, set_ups

# With the radius at which about as many units are unsaturated as for 50 inputs at 1000, or more.
SHAPES = {
    Scale.QUICK: (20, ("20-10-6",), 50.0),
    Scale.USUAL: (30, ("30-15-8", "20-15-8", "25-20-12-8"), 100.0),
    Scale.FULL: (50, ("50-25-10", "50-25-50", "50-35-25-10"), 1000.0),
}


def settings(scale: Scale) -> Sequence[Settings]:
    """Three layers, which is what the algorithm is for, and four, which only the null space sorts."""
    inputs, shapes, radius = SHAPES[scale]
    return [row | {"derivatives": DIFFERENCES, "radius": radius} for row in set_ups(inputs, shapes)]


measure = measure_labels
TITLE = "layers of entangled weights from queries at far points"
REPETITIONS = {Scale.QUICK: 3, Scale.USUAL: 10, Scale.FULL: 10}
COLUMNS = {
    "share_1": "share right in layer 1",
    "share_2": "share right in layer 2",
    "share_3": "share right in layer 3",
    "is_right": "runs all right",
    "is_right_radii": "all right, radii tried (ours)",
    "is_right_null_space": "all right, null space (ours)",
}
NOTES = (
    "Line 2 prints the set with directions of outputs; they are left out, as line 1 says. k-means begins with "
    "k-means++ ten times, and directions within 0.2 of an output's are that output's: both numbers are not "
    "published.",
    "Layers of networks with four layers are given, as published; the column on the null space is not.",
    "Shares and runs are medians over the seeds; the file of numbers has all of them.",
)
