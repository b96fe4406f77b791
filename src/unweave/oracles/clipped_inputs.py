"""Whether a model cuts its inputs off: beyond a bound, the same wherever the others are, nothing changes any more.

Walks go far out, where such a model shows no neurons but its bounds; users can be told where to ask instead.
"""

from dataclasses import dataclass

import numpy as np

from unweave.exceptions import BudgetExhausted, OracleError
from unweave.oracles.oracle import Box, Oracle

Bounds = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class ClipLook:
    """Settings of the look for bounds beyond which inputs do not count.

    Args:
        most_inputs: inputs that are looked at, the first ones.
        places: random values of the other inputs; two of them must have the same bound. At others the neurons that see
            the input may be off before.
        far: distance at which nothing may change any more, in units of the domain.
        halvings: how often the place of a bound is halved.
        agreement: how far bounds may differ between places, in units of the domain; more where answers have few digits.
            Where neurons saturate that have several inputs, changes end elsewhere at every place.
        change: so far inside of a bound answers have changed by so many roundings; where neurons saturate they fade out
            instead.

    Heuristic: no formula gives these numbers; planted networks in tests are what they were checked on.
    """

    most_inputs: int = 3
    places: int = 4
    far: float = 1e3
    halvings: int = 36
    agreement: float = 1e-6
    change: tuple[float, float] = (1e-2, 100.0)

    def __call__(self, oracle: Oracle, rng: np.random.Generator) -> Bounds | None:
        """Give lower and upper bounds of the inputs that were looked at; None unless all of them have both."""
        if isinstance(oracle.domain, Box):
            return None
        try:
            sides = [self._bound(oracle, rng, sign) for sign in (-1.0, 1.0)]
        except (BudgetExhausted, OracleError):
            return None
        lower, upper = sides
        return None if lower is None or upper is None else (lower, upper)

    def _bound(self, oracle: Oracle, rng: np.random.Generator, sign: float) -> np.ndarray | None:
        """Bounds on one side, one per input that is looked at; None if one of them has none."""
        count = min(self.most_inputs, oracle.inputs)
        center, unit = oracle.domain.frame(oracle.inputs)
        places = center + unit * oracle.domain.sample_standard(rng, self.places, oracle.inputs, 0.0)
        rows, columns = np.arange(count * self.places), np.repeat(np.arange(count), self.places)

        def answers(distances: np.ndarray) -> np.ndarray:
            points = np.tile(places, (count, 1))
            points[rows, columns] = center[columns] + sign * unit[columns] * distances
            return oracle.query(points)

        outside = np.full(len(rows), self.far)
        last = answers(outside)
        rounding = 16 * oracle.ledger.answer_digits * max(float(np.max(np.abs(last))), 1e-300)
        if np.max(np.abs(answers(2.0 * outside) - last)) > rounding or _are_constant(last, count, rounding):
            return None
        inside = -outside
        for _ in range(self.halvings):
            middle = 0.5 * (inside + outside)
            is_beyond = np.max(np.abs(answers(middle) - last), axis=1) <= rounding
            inside, outside = np.where(is_beyond, inside, middle), np.where(is_beyond, middle, outside)
        step, jump = self.change
        have_jumped = np.max(np.abs(answers(outside - step) - last), axis=1) > jump * rounding
        found = np.where(have_jumped, outside, -self.far).reshape(count, self.places)
        second, first = np.sort(found, axis=1)[:, -2:].T
        is_shared = (first - second <= max(self.agreement, 1e4 * oracle.ledger.answer_digits)) & (second > -self.far)
        return center[:count] + sign * unit[:count] * first if np.all(is_shared) else None


def _are_constant(values: np.ndarray, inputs: int, rounding: float) -> bool:
    """Whether far out nothing depends on the other inputs, for one of the inputs: all neurons are saturated there."""
    spreads = np.max(np.ptp(values.reshape(inputs, -1, values.shape[1]), axis=1), axis=1)
    return bool(np.min(spreads) <= rounding)
