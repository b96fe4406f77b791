import numpy as np
import pytest

from unweave.arrays import pack_squares
from unweave.reproduce.allenzhu.algorithm1 import FrameKind, GaussianFrame, StructuredFrame, frame_condition


@pytest.mark.parametrize("kind", [GaussianFrame(), StructuredFrame()])
def test_squares_behind_a_frame_are_linear_in_products(kind: FrameKind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame, points = kind(rng, 4), rng.standard_normal((9, 4))
    assert frame.shape == (10, 4)
    np.testing.assert_allclose((points @ frame.T) ** 2, pack_squares(points) @ pack_squares(frame).T, atol=1e-12)


def test_inner_products_are_squared(seed: int) -> None:
    left, right = np.random.default_rng(seed).standard_normal((2, 7))
    assert pack_squares(left) @ pack_squares(right) == pytest.approx((left @ right) ** 2, abs=1e-10)


def test_rotations_of_features_rotate_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = GaussianFrame()(rng, 5)
    rotation, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    map_ = np.linalg.solve(pack_squares(frame), pack_squares(frame @ rotation))
    np.testing.assert_allclose(map_.T @ map_, np.eye(15), atol=1e-9)


def test_variance_of_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame, weights = GaussianFrame()(rng, 3), rng.standard_normal(6)
    sampled = np.var((rng.standard_normal((400_000, 3)) @ frame.T) ** 2 @ weights)
    assert sampled == pytest.approx(2 * np.sum((weights @ pack_squares(frame)) ** 2), rel=0.05)


@pytest.mark.parametrize(("width", "condition"), [(2, 2.4), (3, 3.2), (5, 4.7), (8, 6.9), (12, 9.8)])
def test_structured_frames_are_well_conditioned(width: int, condition: float, seed: int) -> None:
    assert frame_condition(StructuredFrame()(np.random.default_rng(seed), width)) == pytest.approx(condition, abs=0.06)
