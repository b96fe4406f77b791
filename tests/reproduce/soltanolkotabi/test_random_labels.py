import numpy as np

from unweave.reproduce.experiment import Numbers, Row
from unweave.reproduce.soltanolkotabi.random_labels import SIGNS, draw

TIMES = [0.0, 100.0, 200.0, 300.0]


def test_runs_that_end_early_are_drawn_beside_longer_ones() -> None:
    curves = ([1.0, 1e-6], [1.0, 0.5, 0.25, 0.125])
    numbers: list[Numbers] = [{"times": TIMES[: len(errors)], "errors": errors} for errors in curves]
    figure = draw([Row({"part": "a", "outputs": SIGNS, "neurons": 10}, numbers, {})])["softplus.png"]
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "softplus"
    for line, errors in zip(axes.lines, curves, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([TIMES[: len(errors)], errors]))
