import numpy as np

from unweave.arrays import kept_errors
from unweave.identification.session import Record, WatchedOracle
from unweave.oracles.oracle import Box, CallableOracle


def answer(points: np.ndarray) -> np.ndarray:
    return points[:, :1]


def test_every_query_belongs_to_the_innermost_stage() -> None:
    oracle = CallableOracle(answer, inputs=2)
    told: list[tuple[str, int]] = []
    record = Record(oracle, lambda *news: told.append(news))
    oracle.query(np.zeros((5, 2)))
    with record.stage("outer"):
        oracle.query(np.zeros((1, 2)))
        with record.stage("inner"):
            oracle.query(np.zeros((10, 2)))
        oracle.query(np.zeros((100, 2)))
    with record.stage("outer"):
        oracle.query(np.zeros((1_000, 2)))
    cost = record.cost
    assert cost.stage_queries == {"outer": 1_101, "inner": 10}
    assert cost.queries == 1_116
    assert list(cost.seconds) == ["inner", "outer"]
    assert told == [
        ("outer", 5), ("inner", 6), ("inner", 16), ("outer", 116), ("outer", 116), ("outer", 1_116),
    ]  # fmt: skip


def test_ranges_are_those_of_answered_points() -> None:
    oracle = CallableOracle(answer, inputs=2, domain=Box(np.array([-1.0, 0.0]), np.array([1.0, 4.0])))
    record = Record(oracle, lambda *_: None)
    watched = WatchedOracle(oracle, record.watch)
    assert record.ranges is None
    watched.query(np.empty((0, 2)))
    assert record.ranges is None
    watched.query(np.array([[0.5, 1.0], [-0.25, 3.0]]))
    watched.query(np.array([[0.0, 0.5]]))
    ranges = record.ranges
    assert ranges is not None
    assert (ranges.lower, ranges.upper) == ((-0.25, 0.5), (0.5, 3.0))
    assert (ranges.center, ranges.scale, ranges.is_box) == ((0.0, 2.0), (1.0, 2.0), True)
    assert watched.ledger is oracle.ledger
    assert (watched.outputs, oracle.ledger.sent) == (1, 3)


def test_of_many_errors_some_are_kept_with_the_extremes() -> None:
    errors = np.random.default_rng(0).permutation(np.arange(10_000.0))[:, None] * np.array([1.0, 0.5])
    kept = kept_errors(errors)
    assert len(kept) == 500
    assert (kept[0], kept[-1]) == (0.0, 9_999.0)
    assert list(kept) == sorted(kept)
    assert kept_errors(np.array([[2.0, 3.0], [1.0, 0.0]])) == (1.0, 3.0)
