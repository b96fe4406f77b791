from itertools import pairwise

import numpy as np
import pytest

from unweave.reproduce.experiment import Cell, Scale
from unweave.reproduce.fiedler.deep.completion_curves import ROUND, checkpoints, completion_figure, measure_completion

SETTINGS = {
    "inputs": 8, "neurons": "6-4-3", "outputs": "identity", "samples": 2_000, "fresh": 300, "steps": 4 * ROUND,
    "radius": 50.0, "directions": "true",
}  # fmt: skip


@pytest.mark.parametrize("steps", [100, ROUND, 4 * ROUND, 40 * ROUND])
def test_looks_end_with_the_last_step(steps: int) -> None:
    looks = checkpoints(steps)
    assert looks[-1] == steps
    assert all(before < after for before, after in pairwise(looks))
    assert all(look % ROUND == 0 for look in looks[:-1])


def test_errors_fall_in_the_course_of_the_descent(seed: int) -> None:
    found = measure_completion(Cell(SETTINGS, seed))
    looks = found["steps"]
    assert isinstance(looks, list)
    assert looks[0] == 0.0
    assert looks[-1] == 4 * ROUND
    for name in ("mean_error", "uniform_error", "shift_error_1", "shift_error_3"):
        curve = found[name.replace("_error", "_errors")]
        assert isinstance(curve, list)
        assert len(curve) == len(looks)
        assert curve[-1] == found[name]
    means = found["mean_errors"]
    assert isinstance(means, list)
    assert means[-1] < 0.5 * means[0]
    # With true directions Levenberg-Marquardt finds the network itself.
    assert found["quick_uniform_error"] == pytest.approx(0.0, abs=1e-9)


def test_a_wrong_label_ends_a_run(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr("unweave.reproduce.fiedler.deep.recovery.RecoveredTeacher.is_right", lambda *_: False)
    assert measure_completion(Cell(SETTINGS | {"directions": "exact"}, seed)) == {"is_right": 0.0}


def test_the_published_size_has_the_published_samples() -> None:
    rows = completion_figure("50-25-50", "20-10-20", "figure-4.6").settings(Scale.FULL)
    assert {row["samples"] for row in rows} == {312_500}
    assert np.unique([str(row["directions"]) for row in rows]).tolist() == ["differences", "exact", "true"]
