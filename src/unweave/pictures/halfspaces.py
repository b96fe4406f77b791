"""A union or intersection of half spaces in two or three inputs: the samples before, the boundaries after."""

from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float64
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial import HalfspaceIntersection, QhullError

from unweave.arrays import Atoms, Points
from unweave.exceptions import InvalidInput

Offsets = Float64[np.ndarray, "neurons"]
# Samples that are drawn: more hide each other.
MOST_SAMPLES = 3_000
# Colours that remain apart for readers who do not see red and green as different.
INSIDE, OUTSIDE, TRUE, FOUND = "#0072b2", "#d55e00", "#000000", "#009e73"
# Corners closer than this to a plane lie on it.
ON_PLANE = 1e-9


def draw_halfspaces(
    points: Points,
    is_inside: Bool[np.ndarray, "points"],
    normals: Atoms,
    offsets: Offsets,
    path: str | Path,
    *,
    true_normals: Atoms | None = None,
    true_offsets: Offsets | None = None,
) -> None:
    """Write a picture: samples with their labels on the left, with the half spaces that were found on the right.

    Args:
        points: samples of two or three inputs.
        is_inside: their labels.
        normals: of the half spaces ``<normal, x> >= offset`` that were found.
        offsets: one per half space.
        path: where the picture goes; its ending says the format.
        true_normals: of the half spaces that made the labels, if they are known.
        true_offsets: one per true half space.

    Raises:
        InvalidInput: for other numbers of inputs.
    """
    inputs = points.shape[1]
    if inputs not in (2, 3):
        raise InvalidInput(f"half spaces can be drawn in 2 or 3 inputs, got {inputs}: project the samples first.")
    points, is_inside = points[:MOST_SAMPLES], is_inside[:MOST_SAMPLES]
    figure = Figure(figsize=(11, 5), layout="constrained")
    FigureCanvasAgg(figure)
    titles = ("samples", f"{len(normals)} half spaces found")
    for place, title in enumerate(titles):
        axes = figure.add_subplot(1, 2, place + 1, projection="3d" if inputs == 3 else None)
        _draw_samples(axes, points, is_inside, is_faint=place == 1)
        radius = float(np.max(np.abs(points)))
        if place == 1:
            if true_normals is not None and true_offsets is not None:
                _draw_boundaries(axes, true_normals, true_offsets, radius, colour=TRUE, label="true", style="--")
            _draw_boundaries(axes, normals, offsets, radius, colour=FOUND, label="found", style="-")
        axes.set_title(title)
        axes.set_xlabel("input 1")
        axes.set_ylabel("input 2")
    handles, labels = figure.axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=120)


def _draw_samples(axes: Axes, points: Points, is_inside: Bool[np.ndarray, "points"], *, is_faint: bool) -> None:
    for side, colour, label in ((is_inside, INSIDE, "inside"), (~is_inside, OUTSIDE, "outside")):
        axes.scatter(*points[side].T, s=4, c=colour, alpha=0.15 if is_faint else 0.5, label=label, linewidths=0)


def _draw_boundaries(
    axes: Axes, normals: Atoms, offsets: Offsets, radius: float, *, colour: str, label: str, style: str
) -> None:
    if normals.shape[1] == 3:
        _draw_polytope(axes, normals, offsets, radius, colour=colour, label=label, style=style)
        return
    for index, (normal, offset) in enumerate(zip(normals, offsets, strict=True)):
        along = np.array([-normal[1], normal[0]])
        ends = offset * normal + np.outer([-2 * radius, 2 * radius], along)
        axes.plot(*ends.T, style, color=colour, label=label if index == 0 else None, linewidth=2)
    axes.set_xlim(-radius, radius)
    axes.set_ylim(-radius, radius)
    axes.set_aspect("equal")


def _draw_polytope(
    axes: Axes, normals: Atoms, offsets: Offsets, radius: float, *, colour: str, label: str, style: str
) -> None:
    """Faces of the region around the origin that all boundaries cut out of a cube."""
    # Of each half space the side of the origin: the same picture for unions and intersections.
    outward = np.where(offsets > 0, 1.0, -1.0)[:, None] * normals
    planes = np.vstack(
        [
            np.column_stack([outward, -np.abs(offsets)]),
            np.column_stack([np.vstack([np.eye(3), -np.eye(3)]), np.full(6, -radius)]),
        ]
    )
    try:
        corners = HalfspaceIntersection(planes, np.zeros(3)).intersections
    except QhullError:
        return
    faces = [
        _ordered(corners[np.abs(corners @ p[:3] + p[3]) < ON_PLANE * radius], p[:3]) for p in planes[: len(normals)]
    ]
    faces = [face for face in faces if len(face) > 2]
    fill = "none" if style == "--" else colour
    axes.add_collection3d(  # type: ignore[attr-defined]
        Poly3DCollection(faces, facecolors=fill, edgecolors=colour, linestyles=style, alpha=0.35, label=label)
    )


def _ordered(corners: Float64[np.ndarray, "corners 3"], normal: Float64[np.ndarray, "3"]) -> np.ndarray:
    """Corners of a convex face in the order of its edge."""
    if len(corners) < 3:
        return corners
    corners = np.array([c for i, c in enumerate(corners) if all(np.max(np.abs(c - d)) > ON_PLANE for d in corners[:i])])
    basis = np.linalg.qr(np.column_stack([normal, np.eye(3)]))[0][:, 1:]
    flat = (corners - corners.mean(axis=0)) @ basis
    return corners[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))]
