"""[goel, Thm. 6]: intersections of half spaces far from the origin, from labelled samples."""

import numpy as np

from unweave.activations import STEP
from unweave.learn.lowest_layer.estimators import HalfspaceIntersectionClassifier
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.goel.planted import labels_of, orthonormal_rows, row_angles
from unweave.result import Outcome

SAMPLES = {
    Scale.QUICK: (10_000, 40_000),
    Scale.USUAL: (10_000, 100_000),
    Scale.FULL: (10_000, 100_000, 1_000_000),
}
FACES = {Scale.QUICK: (3,), Scale.USUAL: (3, 5), Scale.FULL: (5, 10)}
THRESHOLDS, FRESH = (1.5, 2.0), 50_000


def settings(scale: Scale) -> list[Settings]:
    """Give faces, distances and samples."""
    return [
        {"faces": faces, "distance": t, "samples": samples}
        for faces in FACES[scale]
        for t in THRESHOLDS
        for samples in SAMPLES[scale]
    ]


def measure(cell: Cell) -> Numbers:
    """Find the faces of an intersection of half spaces."""
    faces, distance, samples = (float(cell.settings[name]) for name in ("faces", "distance", "samples"))
    rng = np.random.default_rng(cell.seed)
    rows = orthonormal_rows(rng, rows=int(faces), inputs=int(faces))
    points = rng.standard_normal((int(samples) + FRESH, int(faces)))
    inside = labels_of(points, rows, unit=STEP, threshold=distance, upper="OR") == 0
    known, fresh = slice(None, int(samples)), slice(int(samples), None)
    model = HalfspaceIntersectionClassifier(random_state=cell.seed).fit(points[known], inside[known])
    angles = row_angles(-rows, model.normals_, is_signed=True)
    return {
        "found": float(len(model.normals_)),
        "median angle": float(np.median(angles)),
        "largest angle": float(np.max(angles)),
        "wrong": float(np.mean(model.predict(points[fresh]) != inside[fresh])),
        "claimed": float(model.outcome_ is not Outcome.NOT_IDENTIFIED),
    }


TITLE = "intersections of half spaces"
COLUMNS = {
    "found": "half spaces found",
    "median angle": "median angle in degrees",
    "largest angle": "largest angle",
    "wrong": "share of fresh samples with a wrong label",
    "claimed": "verdict: identified, at least in part",
}
NOTES = (
    "As many orthonormal normals as inputs, one distance; the number of half spaces is not given.",
    "Our way, not the printed one: moments or cumulants to start with, then linear programmes on the samples. The "
    "printed refinement, [goel, Alg. 1], is measured under that name.",
)
