"""The tails of tanh and erf are told apart below layers that bend them, with the rate of their argument."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

from unweave.activations import TANH
from unweave.identification.saturation.jumps import Jump
from unweave.identification.saturation.tails import TailReading, read_tail
from unweave.identification.walks.lines import Line, far_line

RATE = 1.3
Function = Callable[[np.ndarray], np.ndarray]


def read(function: Function, noise: float, seed: int) -> TailReading | None:
    """Read the tail of a jump whose argument grows at `RATE` along a line, and whose rough rate is another one."""
    line: Line = far_line(2, np.random.default_rng(seed), radius=1e3, outer=1e-2)
    position = 0.3 * line.position(line.last)
    jump = Jump(position + 0.2, 1.1 * RATE, np.ones(1), np.zeros(1), TANH, 1e-2)
    search = read_tail(line, jump, noise)
    points = next(search)
    along = (points - line.base) @ line.direction - position
    try:
        search.send(function(RATE * along)[:, None])
    except StopIteration as end:
        return end.value
    raise AssertionError("one batch of answers is enough.")


@pytest.mark.parametrize(("function", "name"), [(np.tanh, "tanh"), (special.erf, "erf")])
def test_the_activation_and_its_rate_are_read_below_another_layer(function: Function, name: str, seed: int) -> None:
    reading = read(lambda t: np.sin(1.0 + 0.7 * function(t)), 1e-15, seed)
    assert reading is not None
    assert str(reading.activation) == name
    assert reading.rate == pytest.approx(RATE, rel=1e-3)
    assert abs(reading.rate / RATE - 1) <= max(2 * reading.error, 1e-3)


def test_a_tail_of_another_kind_is_of_no_known_activation(seed: int) -> None:
    reading = read(lambda t: t / np.sqrt(1.0 + t**2), 1e-15, seed)
    assert reading is None or reading.activation is None


def test_noise_hides_tails(seed: int) -> None:
    assert read(np.tanh, 1e-3, seed) is None
