"""Edges of plateaus against the hyperplanes that made them."""

from collections.abc import Callable

import numpy as np
import pytest

from plants import Counted
from unweave.identification.plateaus.edges import EdgeKind, Edges, FacetReading, Plateau, halved, leave
from unweave.identification.walks.lines import run_searches

INPUTS = 6
TOLERANCE = 1e-14
Model = Callable[[np.ndarray], np.ndarray]


def halfspace(seed: int, *, threshold: float = 2.0) -> tuple[np.ndarray, float]:
    normal = np.random.default_rng([seed, 5]).standard_normal(INPUTS)
    return normal / np.linalg.norm(normal), threshold


def step_of(normal: np.ndarray, threshold: float) -> Model:
    return lambda points: 3.0 + 0.7 * (points @ normal >= threshold)[:, None]


def relu_of(normal: np.ndarray, threshold: float) -> Model:
    return lambda points: (
        3.0
        + np.maximum(points @ normal - threshold, 0.0)[:, None] ** 2 * 0.2
        + 0.7 * np.maximum(points @ normal - threshold, 0.0)[:, None]
    )


def plateau_of(model: Model, point: np.ndarray | None = None) -> Plateau:
    point = np.zeros(INPUTS) if point is None else point
    return Plateau(point, model(point[None])[0], TOLERANCE)


def facing(normal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    direction = rng.standard_normal(len(normal))
    direction *= np.sign(direction @ normal)
    return direction / np.linalg.norm(direction)


@pytest.mark.parametrize("make", [step_of, relu_of])
@pytest.mark.parametrize("threshold", [1e-3, 6.0, 500.0])
def test_the_edge_on_a_ray_is_where_the_hyperplane_is(make: Callable[..., Model], threshold: float, seed: int) -> None:
    normal, _ = halfspace(seed)
    model, direction = make(normal, threshold), facing(normal, np.random.default_rng(seed))
    (edge,) = run_searches([leave(plateau_of(model), direction, unit=2.0)], model)
    distance = threshold / float(normal @ direction)
    np.testing.assert_allclose(edge.points[0], distance * direction, atol=1e-9 * (1.0 + distance))
    assert plateau_of(model).holds(model(edge.inside))[0]
    assert not plateau_of(model).holds(model(edge.outside))[0]


def test_a_ray_away_from_the_hyperplane_meets_nothing(seed: int) -> None:
    normal, threshold = halfspace(seed)
    model, direction = step_of(normal, threshold), -facing(normal, np.random.default_rng(seed))
    assert run_searches([leave(plateau_of(model), direction, unit=2.0)], model) == []


def test_halving_ends_at_the_last_digit_with_one_query_per_digit(seed: int) -> None:
    normal, threshold = halfspace(seed)
    model, rng, asked = step_of(normal, threshold), np.random.default_rng(seed), 0
    along = np.stack([facing(normal, rng) for _ in range(4)])
    search = halved(plateau_of(model), Edges(0.0 * along, 100.0 * along))
    points = next(search)
    while True:
        asked += len(points)
        try:
            points = search.send(model(points))
        except StopIteration as end:
            edges = end.value
            break
    np.testing.assert_allclose(edges.points @ normal, threshold, rtol=1e-14)
    assert asked <= 4 * 60


@pytest.mark.parametrize(("make", "kind"), [(step_of, EdgeKind.JUMP), (relu_of, EdgeKind.KINK)])
@pytest.mark.parametrize("threshold", [0.5, 6.0])
def test_a_facet_is_read_to_the_last_digits(
    make: Callable[..., Model], kind: EdgeKind, threshold: float, seed: int
) -> None:
    normal, _ = halfspace(seed)
    model, rng = make(normal, threshold), np.random.default_rng(seed)
    plateau = plateau_of(model)
    (edge,) = run_searches([leave(plateau, facing(normal, rng), unit=2.0)], model)
    (facet,) = run_searches([FacetReading()(plateau, edge, rng)], model)
    assert facet.kind is kind
    np.testing.assert_allclose(facet.normal, normal, atol=1e-12)
    np.testing.assert_allclose(facet.threshold, threshold, atol=1e-12)
    assert facet.error < 1e-12


def test_a_facet_costs_about_sixty_queries_per_input(seed: int) -> None:
    normal, threshold = halfspace(seed)
    model, rng = step_of(normal, threshold), np.random.default_rng(seed)
    counted = Counted(model)
    (edge,) = run_searches([leave(plateau_of(model), facing(normal, rng), unit=2.0)], model)
    run_searches([FacetReading()(plateau_of(model), edge, rng)], counted)
    assert 40 * INPUTS < counted.asked < 120 * INPUTS


def test_a_normal_points_away_from_its_plateau(seed: int) -> None:
    normal, threshold = halfspace(seed)
    model, rng = step_of(normal, threshold), np.random.default_rng(seed)
    plateau = plateau_of(model, 5.0 * normal)
    (edge,) = run_searches([leave(plateau, -facing(normal, rng), unit=2.0)], model)
    (facet,) = run_searches([FacetReading()(plateau, edge, rng)], model)
    np.testing.assert_allclose(facet.normal, -normal, atol=1e-12)
    np.testing.assert_allclose(facet.threshold, -threshold, atol=1e-12)


def test_another_hyperplane_close_by_does_not_disturb(seed: int) -> None:
    normal, threshold = halfspace(seed)
    rng = np.random.default_rng(seed)
    tilted = normal + 1e-2 * rng.standard_normal(INPUTS)
    tilted /= np.linalg.norm(tilted)

    def model(points: np.ndarray) -> np.ndarray:
        return ((points @ normal >= threshold) | (points @ tilted >= threshold))[:, None].astype(float)

    plateau = plateau_of(model)
    (edge,) = run_searches([leave(plateau, facing(normal, rng), unit=2.0)], model)
    (facet,) = run_searches([FacetReading()(plateau, edge, rng)], model)
    distances = [np.linalg.norm(facet.normal - each) for each in (normal, tilted)]
    assert min(distances) < 1e-10


def test_the_edge_of_a_ball_is_not_a_facet(seed: int) -> None:
    def ball(points: np.ndarray) -> np.ndarray:
        return (np.linalg.norm(points, axis=1) > 1.5)[:, None].astype(float)

    rng = np.random.default_rng(seed)
    plateau = plateau_of(ball)
    (edge,) = run_searches([leave(plateau, facing(np.ones(INPUTS), rng), unit=2.0)], ball)
    assert run_searches([FacetReading()(plateau, edge, rng)], ball) == []


def test_the_tail_of_a_saturated_unit_is_neither_a_jump_nor_a_kink(seed: int) -> None:
    normal, _ = halfspace(seed)

    def tail(points: np.ndarray) -> np.ndarray:
        return np.tanh(20.0 * (points @ normal - 4.0))[:, None]

    rng = np.random.default_rng(seed)
    plateau = plateau_of(tail)
    (edge,) = run_searches([leave(plateau, facing(normal, rng), unit=2.0)], tail)
    assert run_searches([FacetReading()(plateau, edge, rng)], tail) == []
