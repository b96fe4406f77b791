"""Every error that Unweave raises, on one screen, and the lookup by name that raises one.

Wrong use raises at the boundary, before a query is spent. A mathematical failure (no gap, no
convergence, budget too small) is not an error: it is the `Outcome` of the returned result, and
`result.require()` turns it into `NotIdentified` for those who prefer an exception.
"""

from collections.abc import Mapping
from typing import TypeVar

Entry = TypeVar("Entry")


class UnweaveError(Exception):
    """Report an error of Unweave: the base class of all of them."""


class InvalidInput(UnweaveError, ValueError):
    """Report that an argument has the wrong shape, type or range. Nothing was queried."""


class MissingExtra(InvalidInput, ImportError):
    """Report that an optional package is missing. The message says how to install it; nothing was computed."""


class OracleError(UnweaveError):
    """Report that the black box did not answer as it must. `queries` were sent, those that failed included."""

    def __init__(self, message: str, *, queries: int = 0) -> None:
        super().__init__(message)
        self.queries = queries


class OracleFailed(OracleError):
    """Report that the black box raised an exception of its own (kept as `__cause__`)."""


class BadAnswer(OracleError):
    """Report that the black box returned an answer of the wrong shape or type, or one that is not finite."""


class UnusableAnswer(BadAnswer):
    """Report an answer that the black box may well give, and that is too large to be computed with."""


class TransportFailed(UnweaveError):
    """Report that the server of a model could not be asked, or refused: that says nothing about the model."""


class BudgetExhausted(UnweaveError):
    """Report that a stage needs more queries than the budget has left. The batch was not sent."""

    def __init__(self, *, needed: int, left: int, budget: int, is_default: bool = False) -> None:
        which = "default budget (in proportion to what was explained so far)" if is_default else "budget"
        super().__init__(
            f"the next step needs {needed} queries but only {left} of the {which} of {budget} are left: "
            f"{'give a budget' if is_default else 'raise it'}."
        )
        self.needed = needed
        self.left = left
        self.budget = budget
        self.is_default = is_default

    @property
    def reason(self) -> str:
        """Say why a run has ended."""
        return f"the budget is too small: {self}"


class TimeExhausted(BudgetExhausted):
    """Report that the time the user has given is over. Nothing more was sent."""

    def __init__(self) -> None:
        UnweaveError.__init__(self, "the time that was given is over: give more seconds.")
        self.needed = self.left = self.budget = 0
        self.is_default = False

    @property
    def reason(self) -> str:
        """Say why a run has ended."""
        return str(self)


class NotIdentified(UnweaveError):
    """Report that `require()` was called on a result whose outcome is not `identified`."""


class UnreadableFile(UnweaveError, ValueError):
    """Report that a file is not a network or a run that Unweave has written."""


class NotWritten(UnweaveError):
    """Report that results could not be written: the disk is full, or the place turned out to be protected."""


class WorkersFailed(UnweaveError):
    """Report that the processes or machines that were given for jobs have died. What was done before is not lost."""


class StageFailed(UnweaveError):
    """Report that a stage failed for a mathematical reason; becomes the outcome of a run, never leaves it."""


class InputWarning(UserWarning):
    """Warn that samples are not as a theory needs them, and what that means. A result still says what it rests on."""


def entry_named(name: str, table: Mapping[str, Entry], *, kind: str) -> Entry:
    """Look an entry of a table up by its name.

    Raises:
        InvalidInput: if there is none.
    """
    if name not in table:
        raise InvalidInput(f"there is no {kind} {name!r}: use one of {', '.join(table)}.")
    return table[name]
