from dataclasses import replace

import numpy as np
import pytest

from unweave.exceptions import StageFailed
from unweave.reproduce.experiment import Cell
from unweave.reproduce.fiedler.deep.recovery import (
    RecoveredTeacher,
    measure_entangled_weights,
    measure_labels,
    measure_matrices,
    recovered,
)
from unweave.reproduce.fiedler.entangled_metrics import worst_of_truth
from unweave.reproduce.fiedler.power_ends import PowerEnds

SETTINGS = {"inputs": 14, "neurons": "12-6-6", "outputs": "identity", "derivatives": "exact", "radius": 50.0}


@pytest.fixture(scope="module")
def found() -> RecoveredTeacher:
    return recovered(Cell(SETTINGS, 0))


def test_entangled_weights_are_found(found: RecoveredTeacher) -> None:
    directions = found.hidden_directions()
    assert directions.shape == (18, 14)
    assert all(worst_of_truth(directions, rows) < 0.1 for rows in found.teacher.seen)


def test_wrong_layers_are_noticed(found: RecoveredTeacher) -> None:
    directions = found.hidden_directions()
    owners = found.teacher.layers_of(directions)
    outputs = found.recovery.output_directions
    layers = (directions[owners == 0], directions[owners == 1], outputs)
    assert found.is_right(layers)
    swapped = (np.vstack([layers[0][1:], layers[1][:1]]), np.vstack([layers[1][1:], layers[0][:1]]), outputs)
    assert not found.is_right(swapped)
    assert not found.is_right(None)


def test_too_few_ends_are_a_failure(found: RecoveredTeacher) -> None:
    ends = found.recovery.ends
    few = replace(found.recovery, ends=PowerEnds(ends.vectors[:5], ends.values[:5], ends.starts, 0))
    with pytest.raises(StageFailed, match="for 18 hidden neurons"):
        replace(found, recovery=few).hidden_directions()


def test_measurements_agree_with_each_other() -> None:
    first, last = measure_entangled_weights(Cell(SETTINGS, 0)), measure_matrices(Cell(SETTINGS, 0))
    assert set(first) >= {"subspace", "error_1", "error_2", "false_positives"}
    assert last["is_right"] == 1.0
    # Centres of groups are no worse than the nearest ends by much; output directions are exact.
    for name in ("error_1", "error_2"):
        assert float(last[name]) == pytest.approx(float(first[name]), rel=0.5)  # type: ignore[arg-type]
    assert float(last["error_3"]) < 1e-12  # type: ignore[arg-type]


def test_labels_by_the_null_space_need_no_far_points() -> None:
    numbers = measure_labels(Cell(SETTINGS, 0))
    assert numbers["is_right_null_space"] == 1.0
    assert numbers["share_3"] == 1.0
    # Points so far that no unit bends there tell nothing.
    far = measure_labels(Cell(SETTINGS | {"radius": 1e7}, 0))
    assert far["is_right"] == 0.0
