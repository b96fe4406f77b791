from unweave.reproduce.experiment import Row
from unweave.reproduce.fiedler.deep.pictures import (
    draw_completion,
    draw_recovered_shares,
    draw_span_errors,
    draw_transition,
)


def rows_of_spans() -> list[Row]:
    return [
        Row(
            {"inputs": 10, "outputs": 2, "layers": layers, "contraction": 1.0, "radius": radius, "neurons": neurons},
            [{"subspace": neurons / 50, "recovered": 1.0 - neurons / 50, "false_positives": 0.0}],
            {},
        )
        for radius in (0.1, 1.0)
        for layers in (2, 3)
        for neurons in (10, 20, 30)
    ]


def test_there_is_a_panel_per_radius_and_a_line_per_shape() -> None:
    figure = draw_span_errors(rows_of_spans())["figure-4.2.png"]
    assert [axes.get_title() for axes in figure.axes] == ["radius 0.1", "radius 1"]
    for axes in figure.axes:
        # Two depths, and where inputs times outputs are.
        assert len(axes.lines) == 3
        assert axes.lines[0].get_ydata().tolist() == [0.2, 0.4, 0.6]
        assert set(axes.lines[2].get_xdata()) == {20.0}
    assert len(draw_recovered_shares(rows_of_spans())["figure-4.3.png"].axes) == 4


def test_the_transition_is_where_the_error_passes_its_level() -> None:
    rows = [row for row in rows_of_spans() if row.settings["layers"] == 3 and row.settings["radius"] == 0.1]
    left, right = draw_transition(rows)["figure-4.4.png"].axes
    assert left.lines[0].get_xdata().tolist() == [0.5, 1.0, 1.5]
    assert right.lines[0].get_ydata()[0] == 15.0


def test_courses_stand_beside_each_other_by_their_directions() -> None:
    course = {"steps": [0.0, 500.0], "mean_errors": [1.0, 0.1], "uniform_errors": [2.0, 0.2]}
    shifts = {f"shift_errors_{layer}": [1.0, 0.5] for layer in (1, 2, 3)}
    settings = {"inputs": 8, "neurons": "6-4-3", "outputs": "tanh"}
    rows = [Row(settings | {"directions": name}, [{**course, **shifts}], {}) for name in ("exact", "true")]
    rows.append(Row(settings | {"directions": "differences"}, [{"is_right": 0.0}], {}))
    figure = draw_completion(rows, "figure-4.5.png")["figure-4.5.png"]
    assert len(figure.axes) == 9
    assert [len(axes.lines) for axes in figure.axes] == [1, 1, 0, 1, 1, 0, 3, 3, 0]
