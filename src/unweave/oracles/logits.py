"""An oracle that answers with probabilities, as the logits behind them."""

import numpy as np

from unweave.arrays import Points, Values
from unweave.exceptions import BadAnswer
from unweave.oracles.oracle import Oracle


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
        """Centred logarithms of the probabilities; rounded to few digits, what is zero counts as the smallest number.

        Raises:
            BadAnswer: if a probability has no digits left: ended at the smallest number, logits bend as under a layer.
        """
        answers = self._answer(points)
        if np.any(answers < self._smallest):
            said = f"a probability is below {self._smallest:.0e}, where its type has no digits left"
            raise BadAnswer(f"{said}, so that its logit is not known: ask in a box where probabilities are larger.")
        logits = np.log(np.maximum(answers, np.finfo(float).tiny))
        return logits - np.mean(logits, axis=1, keepdims=True)

    @property
    def _smallest(self) -> float:
        """The smallest probability with all digits of its type, float64 or float32; 0 for those that were rounded."""
        digits = self.ledger.answer_digits
        types = ((np.float64, 1e-12), (np.float32, 1e-6))
        return next((float(np.finfo(kind).tiny / np.finfo(kind).eps) for kind, most in types if digits < most), 0.0)
