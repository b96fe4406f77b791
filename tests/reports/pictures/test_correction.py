from dataclasses import replace

import unweave
from unweave.explore.feature_correction.recipes import Recipe


def measured(seed: int, seconds: float | None = None) -> unweave.FeatureCorrection:
    from correction_models import SmallConvolutions, small_images

    recipe = Recipe(epochs=1, batch=20)
    return unweave.measure_feature_correction(
        SmallConvolutions(), small_images(seed), recipe=recipe, seeds=1, prox=(1e-3,), seconds=seconds
    )


def test_three_questions_are_drawn(seed: int) -> None:
    from unweave.reports.pictures.correction import draw_feature_correction

    result = measured(seed)
    figure = draw_feature_correction(result)
    left, middle, right = figure.axes
    assert [len(axes.get_legend().get_texts()) for axes in (left, middle, right)] == [4, 5, 3]
    drawn = middle.containers[0].lines[0].get_ydata()
    assert list(drawn) == [100 * row.train_all.mean for row in result.depths[:2]]


def test_every_window_has_a_line_of_its_own(seed: int) -> None:
    from matplotlib.container import ErrorbarContainer

    from unweave.reports.pictures.correction import draw_feature_correction

    found = measured(seed)
    windows = tuple(range(11))
    row = replace(found.depths[0], fixed=dict.fromkeys(windows, found.full))
    middle = draw_feature_correction(replace(found, depths=(row,), windows=windows)).axes[1]
    lines = [each.lines[0] for each in middle.containers if isinstance(each, ErrorbarContainer)]
    assert len(lines) == 12
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 12


def test_ways_of_one_unit_alone_are_not_compared(seed: int) -> None:
    from unweave.reports.pictures.correction import draw_feature_correction

    found = measured(seed)
    empty = replace(found.depths[1].joint, values=())
    depths = (found.depths[0], replace(found.depths[1], joint=empty, layerwise=empty))
    left = draw_feature_correction(replace(found, depths=depths)).axes[0]
    names = {each.get_text() for each in left.get_legend().get_texts()}
    assert names == {"trained at once, from scratch", "whole model from scratch"}


def test_an_incomplete_measurement_says_so(seed: int) -> None:
    from unweave.reports.pictures.correction import draw_feature_correction

    figure = draw_feature_correction(measured(seed, seconds=1e-9))
    assert "INCOMPLETE" in figure.get_suptitle()
