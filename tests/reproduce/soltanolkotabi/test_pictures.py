import numpy as np

from unweave.reproduce.soltanolkotabi.training_curves import TrainingCurves


def test_trainings_end_where_runs_end(seed: int) -> None:
    from unweave.reproduce.soltanolkotabi.pictures import draw_trainings

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
