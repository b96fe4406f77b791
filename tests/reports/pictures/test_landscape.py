from pathlib import Path

import numpy as np

from unweave.explore.landscape.experiment import LandscapePoint
from unweave.explore.landscape.logistic import fit_logistic
from unweave.explore.landscape.sweeps import LandscapeCurve
from unweave.explore.landscape.trainings import TrainingCurves


def curve_of(clean: dict[int, int]) -> LandscapeCurve:
    """What was seen if so many of two planted networks were clean, for numbers of neurons."""
    points = []
    for neurons, count in clean.items():
        losses = np.where(np.arange(2) < count, 1e-12, 1e-2)[:, None] * np.ones((2, 3))
        points.append(LandscapePoint(neurons, 5, losses, np.full((2, 3), 10), losses < 1e-8, 0.1))
    sizes, counts = np.array([*clean], dtype=np.float64), np.array([*clean.values()], dtype=np.float64)
    return LandscapeCurve("neurons", tuple(clean), tuple(points), fit_logistic(sizes, counts, 2))


def test_a_curve_is_drawn_with_its_crossing(tmp_path: Path) -> None:
    from unweave.reports.pictures.landscape import draw_landscape

    curve = curve_of({1: 0, 2: 1, 8: 2})
    figure = draw_landscape(curve, reference=3.0)
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert f"crosses 1/2 at {curve.fit.crossing:.1f}" in texts
    assert "published: 3.0" in texts
    figure.savefig(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5_000


def test_no_transition_is_drawn_without_a_curve() -> None:
    from unweave.reports.pictures.landscape import draw_landscape

    figure = draw_landscape(curve_of({8: 2, 9: 2}))
    assert len(figure.axes[0].get_legend().get_texts()) == 2


def test_trainings_end_where_runs_end(seed: int) -> None:
    from unweave.reports.pictures.landscape import draw_trainings

    falling = np.cumprod(np.random.default_rng(seed).uniform(0.3, 0.9, (2, 12)), axis=1)
    # The first run has ended at its fifth step and keeps its error.
    falling[0, 5:] = falling[0, 4]
    curves = TrainingCurves(12, 5, 250 * np.arange(12), falling)
    lines = draw_trainings([curves]).axes[0].get_lines()
    assert [len(np.asarray(line.get_ydata())) for line in lines] == [5, 12]
    for line, errors in zip(lines, curves.errors, strict=True):
        drawn = np.asarray(line.get_ydata())
        assert drawn[-1] == errors[-1]
        assert np.array_equal(drawn, errors[: len(drawn)])
