"""A square that is cut off: exact up to a bound, constant from twice the bound on, and smooth between.

Written with operators only, so that it takes NumPy and JAX arrays alike.
"""


def truncated_square(values, bound):
    """``z^2`` for ``|z| <= bound``, ``16/7 bound^2`` for ``|z| >= 2 bound``, monotone and twice differentiable."""
    sizes = abs(values)
    t = ((sizes - bound) / bound).clip(0.0, 1.0)
    # Integral of (1 + t) times the slope multiplier 1 - (10 t^3 - 15 t^4 + 6 t^5).
    integral = t - 5 / 2 * t**4 + 3 * t**5 - t**6 + t**2 / 2 - 2 * t**5 + 5 / 2 * t**6 - 6 / 7 * t**7
    inner = sizes - bound * t
    inner = inner * (t == 0) + bound * (t > 0)
    return inner**2 + 2 * bound**2 * integral
