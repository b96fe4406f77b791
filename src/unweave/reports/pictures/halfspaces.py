"""A union or intersection of half spaces in two or three inputs: the samples before, the boundaries after."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial import HalfspaceIntersection, QhullError

from unweave.arrays import Atoms, PerNeuron, PointMask, Points
from unweave.exceptions import InvalidInput
from unweave.folders import write_file

Offsets = PerNeuron
# Samples that are drawn: more hide each other.
MOST_SAMPLES = 3_000
# Colours that remain apart for readers who do not see red and green as different.
INSIDE, OUTSIDE, TRUE, FOUND = "#0072b2", "#d55e00", "#000000", "#009e73"
# Share of all coordinates that the axes cover: the rest are stragglers.
SHOWN_SHARE = 0.998
# Corners closer than this to a plane lie on it.
ON_PLANE = 1e-9


def draw_halfspaces(
    points: Points,
    is_inside: PointMask,
    normals: Atoms,
    offsets: Offsets,
    path: str | Path,
    *,
    true_normals: Atoms | None = None,
    true_offsets: Offsets | None = None,
    names: Sequence[str] = (),
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
        names: of the inputs, if they have some.

    Raises:
        InvalidInput: for other numbers of inputs.
    """
    inputs = points.shape[1]
    if inputs not in (2, 3):
        raise InvalidInput(f"half spaces can be drawn in 2 or 3 inputs, got {inputs}: project the samples first.")
    points, is_inside = points[:MOST_SAMPLES], is_inside[:MOST_SAMPLES]
    radius = float(np.quantile(np.abs(points), SHOWN_SHARE))
    figure = Figure(figsize=(11, 5), layout="constrained")
    FigureCanvasAgg(figure)
    titles = ("samples", f"{len(normals)} half spaces found")
    # A dollar sign would begin a formula.
    labels = [name.replace("$", r"\$") for name in names] or [f"input {place + 1}" for place in range(inputs)]
    for place, title in enumerate(titles):
        axes = figure.add_subplot(1, 2, place + 1, projection="3d" if inputs == 3 else None)
        _draw_samples(axes, points, is_inside, is_faint=place == 1)
        if place == 1:
            _draw_boundaries(axes, normals, offsets, radius, colour=FOUND, label="found", style="-")
            if true_normals is not None and true_offsets is not None:
                _draw_boundaries(axes, true_normals, true_offsets, radius, colour=TRUE, label="true", style="--")
        axes.set(title=title, xlabel=labels[0], ylabel=labels[1], xlim=(-radius, radius), ylim=(-radius, radius))
        if inputs == 3:
            axes.set(zlabel=labels[2], zlim=(-radius, radius))
        axes.set_aspect("equal")
    handles, words = figure.axes[1].get_legend_handles_labels()
    legend = figure.legend(handles, words, loc="outside lower center", ncols=4, markerscale=4)
    for handle in legend.legend_handles:
        # Samples are faint because they are many; their colours need to be seen in the legend.
        if handle is not None:
            handle.set_alpha(1.0)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=120, format=Path(path).suffix.lower().removeprefix(".") or "png")
    write_file(path, drawn.getvalue())


def _draw_samples(axes: Axes, points: Points, is_inside: PointMask, *, is_faint: bool) -> None:
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
        width = 1.2 if style == "--" else 3.0
        axes.plot(*ends.T, style, color=colour, label=label if index == 0 else None, linewidth=width)


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
    faces = []
    for plane in planes[: len(normals)]:
        on_plane = np.abs(corners @ plane[:3] + plane[3]) < ON_PLANE * radius
        if np.count_nonzero(on_plane) > 2:
            faces.append(_ordered(corners[on_plane], plane[:3]))
    is_filled = style == "-"
    collection = Poly3DCollection(
        faces,
        facecolors=colour if is_filled else "none",
        edgecolors="none" if is_filled else colour,
        linestyles=style,
        alpha=0.35 if is_filled else 1.0,
        label=label,
    )
    # Lines of the truth stay visible in front of the faces that were found.
    collection.set_sort_zpos(0.0 if is_filled else 1.0)
    axes.add_collection3d(collection)  # type: ignore[attr-defined]


def _ordered(corners: Float64[np.ndarray, "corners 3"], normal: Float64[np.ndarray, "3"]) -> np.ndarray:
    """Corners of a convex face in the order of its edge."""
    corners = np.array([c for i, c in enumerate(corners) if all(np.max(np.abs(c - d)) > ON_PLANE for d in corners[:i])])
    basis = np.linalg.qr(np.column_stack([normal, np.eye(3)]))[0][:, 1:]
    flat = (corners - corners.mean(axis=0)) @ basis
    return corners[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))]
