from pathlib import Path

import numpy as np
import pytest

from halfspace_samples import planted_rows
from unweave.exceptions import InvalidInput


@pytest.mark.parametrize(
    ("inputs", "sign"),
    [
        (2, 1.0),
        (3, -1.0),
        pytest.param(2, -1.0, marks=pytest.mark.slow),
        pytest.param(3, 1.0, marks=pytest.mark.slow),
    ],
)
def test_pictures_are_written(inputs: int, sign: float, tmp_path: Path, seed: int) -> None:
    from unweave.reports.pictures.halfspaces import draw_halfspaces

    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, inputs, inputs), rng.standard_normal((300, inputs))
    is_inside = np.all(points @ rows.T < 1.0, axis=1)
    target = tmp_path / "picture.png"
    offsets = np.full(inputs, sign * 1.0)
    draw_halfspaces(points, is_inside, sign * rows, offsets, target, true_normals=sign * rows, true_offsets=offsets)
    assert target.stat().st_size > 10_000


@pytest.mark.parametrize("names", [("age", "income in $"), ()])
def test_axes_have_the_names_of_the_inputs(names: tuple[str, ...], tmp_path: Path) -> None:
    import matplotlib

    from unweave.reports.pictures.halfspaces import draw_halfspaces

    points = np.random.default_rng(0).standard_normal((50, 2))
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        draw_halfspaces(points, points[:, 0] > 0, np.eye(2), np.ones(2), tmp_path / "p.svg", names=names)
    drawn = (tmp_path / "p.svg").read_text()
    assert all(f">{name}</text>" in drawn for name in names or ("input 1", "input 2"))


def test_only_two_and_three_inputs_can_be_drawn(tmp_path: Path) -> None:
    from unweave.reports.pictures.halfspaces import draw_halfspaces

    with pytest.raises(InvalidInput, match="2 or 3 inputs"):
        draw_halfspaces(np.zeros((5, 4)), np.ones(5, dtype=bool), np.eye(4), np.ones(4), tmp_path / "p.png")
