from pathlib import Path

import numpy as np
import pytest

from unweave.explore.landscape.experiment import LandscapePoint
from unweave.explore.landscape.figures import FIGURES, ActivationFigure
from unweave.explore.landscape.logistic import fit_logistic
from unweave.explore.landscape.sweeps import LandscapeCurve, PhaseDiagram
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
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert f"crosses 1/2 at {curve.fit.crossing:.2f} ± {curve.fit.crossing_error:.2f} (s.e.)" in texts
    assert "published: 3.0" in texts
    figure.savefig(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5_000


def test_no_transition_is_drawn_without_a_curve() -> None:
    from unweave.reports.pictures.landscape import draw_landscape

    figure = draw_landscape(curve_of({8: 2, 9: 2}))
    assert len(figure.legends[0].get_texts()) == 3
    # Numbers of neurons are whole.
    assert all(tick == int(tick) for tick in figure.axes[0].get_xticks())


def test_intervals_are_drawn_around_shares() -> None:
    from unweave.reports.pictures.landscape import draw_landscape

    curve = curve_of({1: 0, 2: 1, 8: 2})
    (bars,) = draw_landscape(curve).axes[0].collections
    drawn = np.array([segment[:, 1] for segment in bars.get_segments()])  # pyright: ignore[reportAttributeAccessIssue]
    assert np.array_equal(drawn, curve.clean_intervals)
    assert np.all(drawn[:, 0] < drawn[:, 1])


@pytest.mark.parametrize("is_crossed", [True, False])
def test_a_phase_diagram_says_every_share(is_crossed: bool, tmp_path: Path) -> None:
    from unweave.reports.pictures.landscape import draw_phase_diagram

    counts = [{1: 0, 2: 1, 3: 2}, {1: 0, 2: 2, 3: 2}] if is_crossed else [{1: 0, 2: 0, 3: 0}, {1: 2, 2: 2, 3: 2}]
    diagram = PhaseDiagram((1, 2, 3), (5, 6), tuple(curve_of(each) for each in counts))
    figure = draw_phase_diagram(diagram, samples=10)
    image = figure.axes[0].images[0].get_array()
    assert np.array_equal(np.asarray(image), diagram.clean_shares)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == [f"{share:.0%}" for share in diagram.clean_shares.ravel()]
    crossing, equal = (np.asarray(line.get_xdata()) for line in figure.axes[0].get_lines())
    # Places of columns, of which the first is that of one neuron.
    assert np.allclose(crossing + 1.0, diagram.crossings, equal_nan=True)
    assert np.all(np.isfinite(crossing)) == is_crossed
    assert equal[0] == pytest.approx(10 / 5 - 1)
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ("half of the networks" in told) == is_crossed
    figure.savefig(tmp_path / "diagram.png")


def test_a_phase_diagram_names_no_line_that_it_does_not_show() -> None:
    from unweave.reports.pictures.landscape import draw_phase_diagram

    nowhere = PhaseDiagram((1, 2), (5, 6), tuple(curve_of({1: 0, 2: 0}) for _ in range(2)))
    assert not draw_phase_diagram(nowhere, samples=100).legends
    equal = draw_phase_diagram(nowhere, samples=10)
    assert [text.get_text() for text in equal.legends[0].get_texts()] == ["neurons x inputs = 10 samples"]


def test_activations_are_drawn() -> None:
    from unweave.reports.pictures.landscape import draw_activations

    shown = FIGURES["1"]
    assert isinstance(shown, ActivationFigure)
    axes = draw_activations(shown).axes[0]
    for line, values in zip(axes.get_lines(), shown.values.values(), strict=True):
        assert np.array_equal(np.asarray(line.get_ydata()), values)


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
