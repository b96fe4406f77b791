"""The only way to the secret: batched queries, counted and bounded.

A new kind of black box is a subclass that implements `_answer` for one batch. Counting, the
budget, the checks of points and answers and the splitting of large batches are done here, once.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from unweave.arrays import Points, Values, as_float64
from unweave.exceptions import BadAnswer, BudgetExhausted, InvalidInput, OracleError, OracleFailed
from unweave.oracles.domains import Domain, Everywhere


@dataclass
class Ledger:
    """How many queries were answered, and how many may be. The only mutable state of a run."""

    budget: int | None = None
    answered: int = 0
    answer_digits: float = 2.0**-52

    @property
    def left(self) -> float:
        """Queries that the budget still allows (infinite without a budget)."""
        return np.inf if self.budget is None else float(self.budget - self.answered)

    def reserve(self, queries: int) -> None:
        """Refuse a batch that the budget can't pay for, before any of it is sent."""
        if self.budget is not None and queries > self.left:
            raise BudgetExhausted(needed=queries, left=int(self.left), budget=self.budget)


class Oracle(ABC):
    """A black box that answers batches of points.

    Args:
        inputs: number of numbers in a point.
        outputs: number of numbers in an answer; learnt from the first answer if omitted.
        domain: where it may be asked.
        budget: how many points may be asked in all; no limit if omitted.
        batch: the largest number of points sent at once.
    """

    def __init__(
        self,
        *,
        inputs: int,
        outputs: int | None = None,
        domain: Domain | None = None,
        budget: int | None = None,
        batch: int = 65_536,
    ) -> None:
        for name, count in (("inputs", inputs), ("outputs", outputs), ("budget", budget), ("batch", batch)):
            if count is None and name in ("outputs", "budget"):
                continue
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
                raise InvalidInput(f"an oracle needs {name} to be a whole number of at least 1, got {count!r}.")
        self.inputs = int(inputs)
        self.outputs = outputs
        self.domain = domain if domain is not None else Everywhere()
        self.domain.frame(self.inputs)
        self.ledger = Ledger(budget=budget)
        self._batch = batch

    @abstractmethod
    def _answer(self, points: Points) -> object:
        """Ask the black box for one batch; return whatever it says."""

    def query(self, points: Points) -> Values:
        """Ask for the answers at `points`; every answered point is counted, also when a later one fails.

        Raises:
            InvalidInput: the points have the wrong shape, are not finite or lie outside the domain.
            BudgetExhausted: the budget does not cover the whole batch; nothing was sent.
            OracleFailed: the black box raised.
            BadAnswer: the black box returned something that is not a batch of finite numbers.
        """
        points = as_float64(points, name="query", ndim=2)
        if points.shape[1] != self.inputs:
            raise InvalidInput(f"the oracle takes {self.inputs} inputs per point, got {points.shape[1]}.")
        if not np.all(self.domain.contains(points)):
            outside = int(np.count_nonzero(~self.domain.contains(points)))
            raise InvalidInput(f"{outside} of {len(points)} points lie outside the domain {self.domain}.")
        self.ledger.reserve(len(points))
        answers = [self._one_batch(points[i : i + self._batch]) for i in range(0, len(points), self._batch)]
        return np.concatenate(answers) if answers else np.empty((0, self.outputs or 1))

    def _one_batch(self, points: Points) -> Values:
        try:
            raw = self._answer(points)
        except (OracleError, BudgetExhausted):
            # From an oracle that is asked through this one.
            raise
        except Exception as error:
            raise OracleFailed(
                f"the oracle raised {type(error).__name__}: {error} (after {self.ledger.answered} answered queries).",
                queries=self.ledger.answered,
            ) from error
        self.ledger.answered += len(points)
        return self._checked(raw, len(points))

    def _checked(self, raw: object, points: int) -> Values:
        try:
            values = np.asarray(raw)
        except Exception as error:
            raise self._bad(f"answers must be an array, got {type(raw).__name__}: {error}") from error
        shape = values.shape
        if values.dtype.kind not in "fiu":
            raise self._bad(f"answers must be real numbers, got dtype {values.dtype}")
        if values.ndim == 1:
            values = values[:, None]
        wanted = f"({points}, {self.outputs if self.outputs is not None else 'outputs'})"
        if values.ndim != 2 or len(values) != points or values.shape[1] < 1:
            hint = "it must take a batch of points, one per row, and answer one row per point"
            raise self._bad(f"{points} points need answers of shape {wanted}, got {shape}: {hint}")
        if self.outputs is None:
            self.outputs = values.shape[1]
        if values.shape[1] != self.outputs:
            raise self._bad(f"{points} points need answers of shape {wanted}, got {shape}")
        if values.dtype.kind == "f":
            self.ledger.answer_digits = max(self.ledger.answer_digits, float(np.finfo(values.dtype).eps))
        values = values.astype(np.float64)
        if not np.all(np.isfinite(values)):
            row = int(np.argmin(np.all(np.isfinite(values), axis=1)))
            raise self._bad(
                f"answers must be finite, got {values[row]} at point {row} of a batch of {points}: "
                "restrict the domain to where the model is defined"
            )
        return values

    def _bad(self, problem: str) -> BadAnswer:
        return BadAnswer(
            f"the oracle gave a bad answer: {problem} (after {self.ledger.answered} queries).",
            queries=self.ledger.answered,
        )
