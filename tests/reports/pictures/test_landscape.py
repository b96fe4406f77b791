from pathlib import Path

import numpy as np

from unweave.activations import softplus
from unweave.explore.landscape.experiment import LandscapeDesign, sweep, training_curves
from unweave.reports.pictures.landscape import draw_landscape, draw_trainings


def test_a_curve_is_drawn_with_its_crossing(tmp_path: Path, seed: int) -> None:
    design = LandscapeDesign(softplus(10.0), samples=12, planted=2, starts=2)
    curve = sweep(design, neurons=(1, 2, 8), inputs=5, seed=seed)
    figure = draw_landscape(curve, reference=3.0)
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert f"crosses 1/2 at {curve.fit.crossing:.1f}" in texts
    assert "published: 3.0" in texts
    figure.savefig(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5_000


def test_no_transition_is_drawn_without_a_curve(seed: int) -> None:
    design = LandscapeDesign(softplus(10.0), samples=12, planted=2, starts=2)
    figure = draw_landscape(sweep(design, neurons=(8, 9), inputs=5, seed=seed))
    assert len(figure.axes[0].get_legend().get_texts()) == 2


def test_trainings_end_where_runs_end(seed: int) -> None:
    design = LandscapeDesign(softplus(10.0), samples=10, planted=2, starts=1, has_random_labels=True)
    curves = training_curves(design, neurons=12, inputs=5, steps=3_000, error_tol=1e-2, seed=seed)
    lines = draw_trainings([curves]).axes[0].get_lines()
    assert len(lines) == 2
    for line, errors in zip(lines, curves.errors, strict=True):
        drawn = np.asarray(line.get_ydata())
        assert drawn[-1] == errors[-1]
        assert np.array_equal(drawn, errors[: len(drawn)])
