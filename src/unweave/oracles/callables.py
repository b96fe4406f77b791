"""A Python function of a batch as an oracle."""

from collections.abc import Callable

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.oracles.domains import Domain
from unweave.oracles.oracle import Oracle


class CallableOracle(Oracle):
    """Ask a Python callable that maps (points, inputs) to (points, outputs) or (points,)."""

    def __init__(
        self,
        function: Callable[..., object],
        *,
        inputs: int,
        outputs: int | None = None,
        domain: Domain | None = None,
        budget: int | None = None,
        batch: int = 65_536,
    ) -> None:
        if not callable(function):
            raise InvalidInput(f"CallableOracle needs a callable, got {type(function).__name__}.")
        super().__init__(inputs=inputs, outputs=outputs, domain=domain, budget=budget, batch=batch)
        self._function = function

    def _answer(self, points: Points) -> object:
        # A copy, so that a model that works in place can't change our points.
        return self._function(points.copy())
