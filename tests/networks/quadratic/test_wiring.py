import pytest

from unweave.exceptions import InvalidInput
from unweave.networks.quadratic.wiring import make_wiring


@pytest.mark.parametrize(
    "connections",
    [
        ((1,), (2, 0)),
        ((1, 0), (2, 0)),
        ((1,), (2, 0), (3, 1)),
        ((1,), (0, 2), (0, 3, 1)),
        ((1,), (2, 0), (3, 1), (4, 0)),
        ((1,), (2, 0), (3, 1), (4, 2), (5, 1)),
    ],
)
def test_permitted_graphs(connections: tuple[tuple[int, ...], ...]) -> None:
    wiring = make_wiring(9, (2,) * len(connections), connections)
    assert all(sources[0] == level - 1 for level, sources in enumerate(wiring.sources, start=2))


@pytest.mark.parametrize(
    ("connections", "message"),
    [
        (((0,),), "level just below"),
        (((1,), (2,)), "skip link"),
        (((1,), (2, 1)), "excluded"),
        (((1,), (2, 1, 0)), "excluded"),
        (((1,), (2, 0), (3, 2, 0)), "excluded"),
        (((1,), (2, 0), (3,)), "skip link"),
        (((1,), (2, 0), (4, 3, 0)), "sources 0 to 3"),
        (((1,), (2, 0, 0)), "once"),
        (((1,),), "one set of sources"),
    ],
)
def test_other_graphs_are_refused(connections: tuple[tuple[int, ...], ...], message: str) -> None:
    levels = max(2, len(connections)) if len(connections[0]) == 1 and connections[0][0] == 1 else 1
    with pytest.raises(InvalidInput, match=message):
        make_wiring(9, (2,) * levels, connections)


def test_experiments_may_break_the_rules() -> None:
    assert make_wiring(3, (2, 1), ((1,), (2, 1)), is_strict=False).sources == ((1,), (2, 1))


def test_columns_partition_what_a_level_reads() -> None:
    wiring = make_wiring(7, (4, 3, 2))
    assert wiring.columns(4) == {3: slice(0, 6), 1: slice(6, 13)}
    assert wiring.main_and_skip(4) == (slice(0, 6), slice(6, 13))
    assert wiring.terms(3) == 10 + 7
