"""An oracle as somebody sees it who gets less than its answers: rounded, as probabilities, as labels."""

from collections.abc import Callable
from math import ceil

import numpy as np

from unweave.arrays import Points, Values
from unweave.exceptions import BudgetExhausted
from unweave.oracles.oracle import MAX_BATCH, Oracle


class ExposedOracle(Oracle):
    """Ask another oracle, and show what is left of its answers.

    Args:
        oracle: who answers; its own ledger counts these queries, too.
        show: what is left of a batch of answers.
        max_batch: points in a request of somebody who asks the same over a network.
        budget: how many points may be asked through this one; no limit of its own if omitted.

    Attributes:
        requests: that the queries so far are sent in.
        was_refused: whether a batch was asked for that the budget, or the time, did not allow any more.
    """

    def __init__(
        self,
        oracle: Oracle,
        show: Callable[[Values], np.ndarray],
        *,
        max_batch: int = MAX_BATCH,
        budget: int | None = None,
    ) -> None:
        super().__init__(inputs=oracle.inputs, domain=oracle.domain, budget=budget)
        self._oracle, self._show, self._max_batch = oracle, show, max_batch
        self.requests, self.was_refused = 0, False

    def _answer(self, points: Points) -> np.ndarray:
        self.requests += ceil(len(points) / self._max_batch)
        return self._show(self._oracle.query(points))

    def query(self, points: Points) -> Values:
        """Ask for what is shown at `points`."""
        try:
            return super().query(points)
        except BudgetExhausted as problem:
            self.was_refused = self.was_refused or not problem.is_default
            raise
