"""Pictures of filters and features: grids of small images, and rows of them before and after."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float32
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.result import FeatureCorrection
from unweave.reports.pictures.style import ACCENT, INK, QUIET, open_frame
from unweave.reproduce.allenzhu.images.figure_results import (
    CorrectedFeatures,
    FigureResult,
    FigureRun,
    FilterPhases,
    MethodTable,
    PhaseTables,
    UnitFeatures,
)

# Of all pixels, this share is within the range of colours; a few extreme ones would hide the rest.
SHOWN_SHARE = 0.995
# White lines between images, in pixels of an image of 32; at least one.
GAP_SHARE = 1 / 16
ACROSS = 16
# Inches that titles need, however few channels there are.
NARROWEST = 6.6

ManyImages = Float32[np.ndarray, "images colours height width"]


def draw_figure(run: FigureRun) -> Figure:
    """The picture of an experiment: filters, features, or accuracies of methods.

    Raises:
        InvalidInput: if the run is not complete, or its tables are drawn by `pictures.correction`.
    """
    figure = _draw(run.result)
    figure.suptitle(f"{run.name}, {run.label}, {run.source}", fontsize="small", color=QUIET, x=0.01, ha="left")
    return figure


def _draw(result: FigureResult | None) -> Figure:
    if isinstance(result, FilterPhases):
        return draw_filters(result)
    if isinstance(result, UnitFeatures):
        return draw_features(result)
    if isinstance(result, CorrectedFeatures):
        return draw_corrected_features(result)
    if isinstance(result, MethodTable):
        return draw_methods(result)
    if isinstance(result, PhaseTables):
        return draw_phases(result)
    raise InvalidInput(f"this picture needs filters, features or methods, got {type(result).__name__}.")


def draw_filters(phases: FilterPhases) -> Figure:
    """Filters of the first layer: at random, after it has trained alone, after all layers have."""
    with_random, with_together = phases.correlations
    panels = [
        ("random", phases.random),
        (f"alone: accuracy {100 * phases.accuracy_alone:.1f} %, cosine to random {with_random:.2f}", phases.alone),
        (
            f"with all layers: accuracy {100 * phases.accuracy_together:.1f} %, cosine to alone {with_together:.2f}",
            phases.together,
        ),
    ]
    return _stacked([(title, montage(images)) for title, images in panels])


def draw_features(found: UnitFeatures) -> Figure:
    """One row of features per unit, lowest first."""
    # All rows are as long as the longest: images of units with fewer channels are not drawn larger.
    widest = max(len(each.images) for each in found.features)
    width = max(0.32 * widest + 1.2, NARROWEST)
    figure = Figure(figsize=(width, 0.36 * len(found.features) + 0.8), layout="constrained")
    grid = figure.subplots(len(found.features), 1, squeeze=False)[:, 0]
    for axes, features in zip(grid, found.features, strict=True):
        axes.imshow(montage(features.images, across=widest), interpolation="nearest")
        _name_row(axes, features.unit)
    figure.supxlabel(f"{found.network}, accuracy {100 * found.accuracy:.1f} %", fontsize="medium")
    return figure


def draw_corrected_features(found: CorrectedFeatures) -> Figure:
    """Per depth two rows: features when the unit was the last to train, and after training all units."""
    widest = max(len(unit.before.images) for unit in found.units)
    width = max(0.42 * widest + 1.6, NARROWEST)
    figure = Figure(figsize=(width, 1.35 * len(found.units) + 0.5), layout="constrained")
    parts = figure.subfigures(len(found.units), 1, squeeze=False)
    for part, unit in zip(np.asarray(parts).ravel(), found.units, strict=True):
        part.suptitle(
            f"{unit.before.unit}: accuracy {100 * unit.accuracy_before:.1f} % alone, {100 * unit.accuracy_after:.1f} % "
            f"with all units; cosine of weights {unit.correlation:.3f}",
            fontsize="small",
            x=0.01,
            ha="left",
        )
        for axes, name, features in zip(
            part.subplots(2, 1), ("before", "after"), (unit.before, unit.after), strict=True
        ):
            axes.imshow(montage(features.images, across=widest), interpolation="nearest")
            _name_row(axes, name)
    return figure


def draw_methods(table: MethodTable) -> Figure:
    """Accuracies of networks: a dot per model, a bar for their ensemble."""
    figure = Figure(figsize=(8.4, 0.45 * len(table.rows) + 1.3), layout="constrained")
    axes = figure.add_subplot()
    for place, row in enumerate(reversed(table.rows)):
        colour = ACCENT if "quadratic" in row.network else INK
        singles = [100 * each for each in row.singles]
        axes.plot(singles, [place] * len(singles), "o", color=colour, alpha=0.5, markersize=5)
        axes.plot([100 * row.ensemble], [place], "|", color=colour, markersize=16, markeredgewidth=2.5)
    axes.set_yticks(range(len(table.rows)), [row.network for row in reversed(table.rows)])
    axes.set_ylim(-0.6, len(table.rows) - 0.4)
    axes.set_xlabel("accuracy, %; dots: single models, bars: ensembles")
    open_frame(axes)
    return figure


def draw_gap(tables: Mapping[str, FeatureCorrection]) -> Figure:
    """Per network, accuracy over depth: single models, their mean without the best and the worst, and ensembles."""
    figure = Figure(figsize=(4.2 * len(tables) + 0.6, 3.4), layout="constrained")
    for axes, (name, table) in zip(figure.subplots(1, len(tables), squeeze=False)[0], tables.items(), strict=True):
        rows = [(row.depth, sorted(row.train_only.values), row.ensemble) for row in table.depths]
        rows = [(depth, values, ensemble) for depth, values, ensemble in rows if values]
        for depth, values, _ in rows:
            axes.plot([depth] * len(values), [100 * each for each in values], "o", color=QUIET, alpha=0.5, markersize=4)
        # As [allenzhu, Fig. 3] averages, where there are enough.
        means = [100 * float(np.mean(values[1:-1] if len(values) > 2 else values)) for _, values, _ in rows]
        axes.plot([depth for depth, *_ in rows], means, color=INK, label="single models, without best and worst")
        together = [(depth, 100 * ensemble) for depth, _, ensemble in rows if ensemble is not None]
        axes.plot(*zip(*together, strict=True), color=ACCENT, label="ensembles")
        axes.set_title(name, fontsize="medium", loc="left")
        axes.set_xlabel("units trained")
        axes.set_ylabel("accuracy, %")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(frameon=False, fontsize="small")
        open_frame(axes)
    return figure


def draw_unit_correlations(tables: Mapping[str, FeatureCorrection]) -> Figure:
    """Per network, mean cosine of weights before and after correction: of each unit, for every depth l."""
    figure = Figure(figsize=(4.6 * len(tables) + 0.8, 3.8), layout="constrained")
    for axes, (name, table) in zip(figure.subplots(1, len(tables), squeeze=False)[0], tables.items(), strict=True):
        cosines = np.full((len(table.depths), max(len(row.unit_correlations) for row in table.depths)), np.nan)
        for line, row in enumerate(table.depths):
            for place, scores in enumerate(row.unit_correlations):
                cosines[line, place] = scores.mean
        axes.imshow(cosines, cmap="cividis", vmin=0.0, vmax=1.0, aspect="auto")
        for (line, place), cosine in np.ndenumerate(cosines):
            if np.isfinite(cosine):
                axes.text(
                    place, line, f"{cosine:.2f}", ha="center", va="center", color="white" if cosine < 0.5 else "black"
                )
        axes.set_xticks(range(cosines.shape[1]), table.units[: cosines.shape[1]])
        axes.set_yticks(range(len(table.depths)), [f"l = {row.depth}" for row in table.depths])
        axes.set_xlabel("unit, of the first l that are corrected")
        axes.set_title(f"{name}: cosine of weights, train only to train all", fontsize="medium", loc="left")
        axes.spines[:].set_visible(False)
    return figure


def draw_phases(found: PhaseTables) -> Figure:
    """Per network, accuracy over depth: layer-wise and joint, a dot per seed and a line through means."""
    figure = Figure(figsize=(3.4 * len(found.tables) + 0.6, 3.2), layout="constrained")
    panels = figure.subplots(1, len(found.tables), squeeze=False)[0]
    for axes, name in zip(panels, found.tables, strict=True):
        # Dashed, so that both are seen where they are equal, as with one unit.
        for way, colour, style in (("layer-wise", ACCENT, "-"), ("joint", INK, "--")):
            by_depth = found.accuracies(name, way)
            means = [100 * float(np.mean(each)) for each in by_depth.values()]
            axes.plot(list(by_depth), means, style, color=colour, linewidth=1.5, label=way)
            for depth, each in by_depth.items():
                axes.plot([depth] * len(each), [100 * one for one in each], "o", color=colour, alpha=0.4, markersize=4)
        axes.set_title(name, fontsize="medium", loc="left")
        axes.set_xlabel("units trained")
        axes.xaxis.get_major_locator().set_params(integer=True)
        open_frame(axes)
    panels[0].set_ylabel("accuracy, %")
    panels[0].legend(frameon=False, fontsize="small")
    return figure


def montage(images: ManyImages, *, across: int = ACROSS) -> Float32[np.ndarray, "rows columns 3"]:
    """Many images in one, each scaled for itself so that zero is grey, with white lines between them."""
    colours = np.stack([_for_the_eye(image) for image in images])
    count, height, width, _ = colours.shape
    gap = max(1, round(GAP_SHARE * height))
    down = math.ceil(count / across)
    whole = np.ones((down * (height + gap) - gap, across * (width + gap) - gap, 3), dtype=np.float32)
    for number, image in enumerate(colours):
        top, left = (number // across) * (height + gap), (number % across) * (width + gap)
        whole[top : top + height, left : left + width] = image
    return whole


def _for_the_eye(image: Float32[np.ndarray, "colours height width"]) -> Float32[np.ndarray, "height width 3"]:
    if image.shape[0] != 3:
        raise InvalidInput(f"pictures need images of 3 colours, got {image.shape[0]}.")
    largest = float(np.quantile(np.abs(image), SHOWN_SHARE))
    scaled = image / (2 * largest) + 0.5 if largest > 0 else np.full_like(image, 0.5)
    return np.clip(scaled, 0, 1).transpose(1, 2, 0).astype(np.float32)


def _stacked(panels: Sequence[tuple[str, np.ndarray]]) -> Figure:
    height, width, _ = panels[0][1].shape
    figure = Figure(figsize=(7.2, len(panels) * (7.0 * height / width + 0.35) + 0.3), layout="constrained")
    for axes, (title, picture) in zip(figure.subplots(len(panels), 1), panels, strict=True):
        axes.imshow(picture, interpolation="nearest")
        axes.set_title(title, fontsize="small", loc="left")
        axes.set_axis_off()
    return figure


def _name_row(axes: Axes, name: str) -> None:
    axes.set_anchor("W")
    axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small", color=INK)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
