"""Probabilities turned back into what softmax was applied to."""

import numpy as np

from unweave.arrays import Points, Values
from unweave.oracles.oracle import Oracle

# Difference of a sum of probabilities from one that rounding to float32 explains.
SUM_TOLERANCE = 1e-5


def are_probabilities(values: Values) -> bool:
    """Whether every answer is a list of positive numbers that sum to one."""
    return bool(
        values.shape[1] > 1 and np.all(values > 0) and np.max(np.abs(np.sum(values, axis=1) - 1.0)) < SUM_TOLERANCE
    )


class LogitsOracle(Oracle):
    """The logits behind an oracle that answers with probabilities, centred: softmax does not see a common shift.

    Args:
        oracle: answers probabilities; its ledger counts the queries and keeps the budget.
    """

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(inputs=oracle.inputs, outputs=oracle.outputs, domain=oracle.domain)
        self._oracle, self.ledger = oracle, oracle.ledger

    def _answer(self, points: Points) -> Values:
        return self._oracle.query(points)

    def query(self, points: Points) -> Values:
        """Centred logarithms of the probabilities; what has rounded to zero counts as the smallest number."""
        logits = np.log(np.maximum(self._answer(points), np.finfo(float).tiny))
        return logits - np.mean(logits, axis=1, keepdims=True)
