import numpy as np
import pytest

from unweave._kernels.truncated_square import truncated_square


@pytest.mark.parametrize("bound", [0.5, 1.0, 3.0])
def test_exact_inside_and_constant_outside(bound: float) -> None:
    inside, outside = np.linspace(-bound, bound, 41), np.array([-5.0, -2.0, 2.0, 2.5, 40.0]) * bound
    np.testing.assert_allclose(truncated_square(inside, bound), inside**2, atol=1e-14)
    np.testing.assert_allclose(truncated_square(outside, bound), 16 / 7 * bound**2, rtol=1e-12)


def test_monotone_even_and_smooth() -> None:
    grid = np.linspace(0, 2.5, 20_001)
    values = truncated_square(grid, 1.0)
    assert np.all(np.diff(values) >= -1e-15)
    np.testing.assert_array_equal(values, truncated_square(-grid, 1.0))
    slopes = np.gradient(values, grid)
    bends = np.gradient(slopes, grid)
    assert np.max(slopes) < 3.0
    assert np.max(np.abs(bends[2:-2])) < 5.0
    # Twice differentiable: second differences don't jump between neighbours of a fine grid.
    assert np.max(np.abs(np.diff(bends[2:-2]))) < 0.02


def test_is_the_integral_of_its_slope() -> None:
    from scipy.integrate import quad

    def slope(z: float) -> float:
        t = min(max(z - 1.0, 0.0), 1.0)
        return 2 * z * (1 - (10 * t**3 - 15 * t**4 + 6 * t**5))

    for end in (0.7, 1.2, 1.7, 2.3):
        expected = quad(slope, 0, end, points=[1.0, 2.0], epsabs=1e-13)[0]
        assert truncated_square(np.array([end]), 1.0)[0] == pytest.approx(expected, abs=1e-10)
