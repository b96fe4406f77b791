"""[soltanolkotabi, Fig. 2 and 3]: the share of planted networks without spurious minima, and where it crosses 1/2.

Each figure is a file of its own; all of them measure a whole curve per cell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from unweave.explore.landscape.experiment import GradientSearch, NewtonSearch, Search
from unweave.explore.landscape.figures import FIGURES, CurveFigure
from unweave.explore.landscape.logistic import LogisticFit
from unweave.explore.landscape.sweeps import sweep
from unweave.reproduce.experiment import Cell, Experiment, Numbers, Row, Scale, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEARCHES: dict[str, Search] = {
    "Levenberg-Marquardt": NewtonSearch(),
    "gradient descent": GradientSearch(steps=50_000, polish=0),
}
# Loss below which a minimum is global: gradient descent alone does not get as far.
LOSS_TOLS = {"Levenberg-Marquardt": 1e-8, "gradient descent": 1e-4}
# As the text prints them: where every run succeeded.
PUBLISHED_ALL = {"2a": 13, "2b": 12}
NOTES = (
    "[soltanolkotabi] trains by gradient descent and does not say when a minimum counts as global. Here searches go by "
    "Levenberg-Marquardt from the same random starts (global: loss below 1e-8); --full has gradient descent, too "
    "(50,000 steps, loss below 1e-4). The crossing depends on this by about one neuron.",
    "A crossing is the 1/2 of a logistic curve through all sizes. 10 planted networks with 10 starts each are those "
    "published.",
)
CAPTION_NOTE = (
    "The caption of Figure 3 repeats the sizes d = 10 and k = 10 of Figure 2; those of the text are used, d = 20 and "
    "k = 5, as with the others nothing crosses."
)


def curve_experiment(name: str) -> Experiment:
    """The experiment of one of the four figures."""
    figure = FIGURES[name]
    assert isinstance(figure, CurveFigure)

    def settings(scale: Scale) -> Sequence[Settings]:
        count = 3 if scale is Scale.QUICK else 10
        searches = tuple(SEARCHES) if scale is Scale.FULL else tuple(SEARCHES)[:1]
        return [{"figure": name, "search": search, "planted": count, "starts": count} for search in searches]

    def published(_: Settings) -> Mapping[str, float]:
        crossing = {} if figure.crossing is None else {"crossing": figure.crossing}
        return crossing | ({"all_from": float(PUBLISHED_ALL[name])} if name in PUBLISHED_ALL else {})

    varied = "neurons" if len(figure.neurons) > 1 else "inputs"
    return Experiment(
        title=f"share of networks without spurious minima over {varied}, {figure.design.activation}",
        settings=settings,
        measure=measure,
        repetitions={Scale.QUICK: 1, Scale.USUAL: 1, Scale.FULL: 5},
        columns={
            "crossing": f"{varied} at which it crosses 1/2",
            "error": "its standard error",
            "all_from": f"{varied} from which all runs succeed",
        },
        published=published,
        draw=draw_curves,
        notes=(*NOTES, CAPTION_NOTE) if name.startswith("3") else NOTES,
    )


def measure(cell: Cell) -> Numbers:
    """One whole curve."""
    figure, search = FIGURES[str(cell.settings["figure"])], str(cell.settings["search"])
    assert isinstance(figure, CurveFigure)
    counts = {name: int(cell.settings[name]) for name in ("planted", "starts")}
    design = replace(figure.design, loss_tol=LOSS_TOLS[search], **counts)
    sizes = figure.sizes
    curve = sweep(design, neurons=sizes["neurons"], inputs=sizes["inputs"], search=SEARCHES[search], seed=cell.seed)
    failing = [size for size, point in zip(curve.sizes, curve.points, strict=True) if point.clean_share < 1.0]
    later = [size for size in curve.sizes if size > max(failing, default=-1)]
    return {
        "crossing": curve.fit.crossing,
        "error": curve.fit.crossing_error,
        "slope": curve.fit.slope,
        # Beyond the sizes that were tried if some run failed at the largest one.
        "all_from": float(later[0]) if later else float("inf"),
        "sizes": [float(size) for size in curve.sizes],
        "clean": curve.clean_shares.tolist(),
        "runs": [point.run_share for point in curve.points],
    }


def draw_curves(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Shares over sizes, logistic curves, and the published crossing; a colour per search."""
    from matplotlib.figure import Figure

    from unweave.reports.pictures.style import ACCENT, INK, legend_above, open_frame

    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for colour, row in zip((INK, "#1d4ed8"), rows, strict=False):
        sizes = np.array(row.curves("sizes")[0])
        axes.plot(sizes, np.mean(row.curves("clean"), axis=0), "o", color=colour, label=str(row.settings["search"]))
        for crossing, slope in zip(row.values("crossing"), row.values("slope"), strict=True):
            fine = np.linspace(sizes.min(), sizes.max(), 400)
            axes.plot(fine, LogisticFit(crossing, slope, np.nan, False)(fine), color=colour, linewidth=1.2)
            axes.axvline(crossing, color=colour, linestyle="--", linewidth=1, label=f"crosses 1/2 at {crossing:.2f}")
    if (reference := rows[0].published.get("crossing")) is not None:
        axes.axvline(reference, color=ACCENT, linestyle=":", label=f"published: {reference:g}")
    neurons_vary = str(rows[0].settings["figure"]).endswith("a")
    axes.set_xlabel("neurons" if neurons_vary else "inputs")
    axes.set_ylabel("share of networks without spurious minima")
    axes.set_ylim(-0.04, 1.04)
    legend_above(figure, columns=2)
    open_frame(axes)
    return {"figure.png": figure}
