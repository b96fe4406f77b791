"""An oracle that tells where it is asked."""

from collections.abc import Callable

from unweave.arrays import Points, Values
from unweave.oracles.oracle import Oracle


class WatchedOracle(Oracle):
    """Ask another oracle, and tell somebody of every batch that was answered.

    Args:
        oracle: who answers; its ledger counts the queries and keeps the budget.
        watch: called with the points.
    """

    def __init__(self, oracle: Oracle, watch: Callable[[Points], None]) -> None:
        super().__init__(inputs=oracle.inputs, outputs=oracle.outputs, domain=oracle.domain)
        self._oracle, self._watch, self.ledger = oracle, watch, oracle.ledger

    def _answer(self, points: Points) -> Values:
        return self._oracle.query(points)

    def query(self, points: Points) -> Values:
        """Ask for the answers at `points`, with the checks of the oracle that answers."""
        values = self._answer(points)
        self.outputs = self._oracle.outputs
        self._watch(points)
        return values
