"""The only way to the secret: batched queries, counted and bounded, and where they may be asked.

A new kind of black box is a subclass that implements `_answer` for one batch. Counting, the
budget, the checks of points and answers and the splitting of large batches are done here, once.
`as_oracle` finds the subclass for whatever a user has.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, TypedDict, Unpack

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Points, Values, Vector, as_float64
from unweave.exceptions import (
    BadAnswer,
    BudgetExhausted,
    InvalidInput,
    NotWritten,
    OracleError,
    OracleFailed,
    TransportFailed,
    UnreadableFile,
)
from unweave.oracles.ledger import Ledger

# Coordinates beyond this leave no room for calculations with them.
FARTHEST = 1e100
# Differences and sums of larger answers may be no numbers of float64 any more.
LARGEST_ANSWER = 1e300
# Sides of a box, relative to its coordinates, below which these are too coarse: a million of them fit in between.
NARROWEST = 2e-10
# Inputs that are certainly a mistake: a matrix with as many rows and columns fits into no memory.
MOST_INPUTS = 1_000_000
# Points in a request to a server, where nobody says otherwise: some hundred kilobytes of JSON at 20 inputs, below the
# megabyte that nginx takes by default.
MAX_BATCH = 1000
# What a model may be, for messages.
MODELS = (
    "a model needs to be a function of a batch of points, a torch module, a fitted estimator, the path of a file, the "
    "address of a server or an Oracle"
)


def _bound(value: object, kind: str, name: str) -> np.ndarray:
    """Give one number, or one per input, as an array."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{kind} needs {name} to be a number, or one per input, got {value!r}.") from error
    if array.ndim > 1 or array.size == 0:
        raise InvalidInput(f"{kind} needs {name} to be a number, or one per input, got {value!r}.")
    return array


def _check_lengths(kind: str, **bounds: np.ndarray) -> None:
    lengths = {name: len(array) for name, array in bounds.items() if array.ndim == 1}
    if len(set(lengths.values())) > 1:
        raise InvalidInput(f"{kind} needs as many numbers for each of {' and '.join(bounds)}, got {lengths}.")


@dataclass(frozen=True)
class Everywhere:
    """Allow queries in all of space. Points are drawn from a Gaussian with this centre and standard deviation.

    Args:
        scale: how far from the centre the function is interesting; one number or one per input.
        center: where it is interesting; zero if omitted.
    """

    scale: float | Vector = 1.0
    center: float | Vector = 0.0

    def __post_init__(self) -> None:
        scale, center = _bound(self.scale, "Everywhere", "scale"), _bound(self.center, "Everywhere", "center")
        if not (np.all(scale >= 1 / FARTHEST) and np.all(scale <= FARTHEST)):
            raise InvalidInput(
                f"Everywhere needs a positive finite scale, {1 / FARTHEST:g} to {FARTHEST:g}, got {self.scale}."
            )
        if not np.all(np.abs(center) <= FARTHEST):
            raise InvalidInput(f"Everywhere needs a finite center, at most {FARTHEST:g}, got {self.center}.")
        _check_lengths("Everywhere", scale=scale, center=center)

    def frame(self, inputs: int) -> tuple[Vector, Vector]:
        """Return centre and half-width per input: the unit of length of every measurement."""
        return _per_input(self.center, inputs, "center"), _per_input(self.scale, inputs, "scale")

    def sample_standard(self, rng: np.random.Generator, points: int, inputs: int, margin: float) -> Points:  # noqa: ARG002
        """Draw points in standard coordinates ``(x - center) / half-width``."""
        return rng.standard_normal((points, inputs))

    def contains(self, points: Points) -> Bool[np.ndarray, "points"]:
        """Tell whether each point may be asked: always."""
        return np.ones(len(points), dtype=bool)


@dataclass(frozen=True)
class Box:
    """Limit queries to the points between `lower` and `upper`, one bound per input or one for all."""

    lower: float | Vector
    upper: float | Vector

    def __post_init__(self) -> None:
        lower, upper = _bound(self.lower, "Box", "lower"), _bound(self.upper, "Box", "upper")
        _check_lengths("Box", lower=lower, upper=upper)
        largest = np.maximum(np.abs(lower), np.abs(upper))
        if not (np.all(lower < upper) and np.all(largest <= FARTHEST)):
            raise InvalidInput(
                f"Box needs finite bounds with lower < upper, at most {FARTHEST:g}, got {self.lower} and {self.upper}."
            )
        if not np.all(upper - lower >= np.maximum(NARROWEST * largest, 1 / FARTHEST)):
            raise InvalidInput(
                f"Box needs sides of at least {1 / FARTHEST:g}, and {NARROWEST:g} of its coordinates, which are too "
                f"coarse for less, got {self.lower} and {self.upper}."
            )

    def frame(self, inputs: int) -> tuple[Vector, Vector]:
        """Return centre and half-width per input: the unit of length of every measurement."""
        lower, upper = _per_input(self.lower, inputs, "lower"), _per_input(self.upper, inputs, "upper")
        return 0.5 * (lower + upper), 0.5 * (upper - lower)

    def sample_standard(self, rng: np.random.Generator, points: int, inputs: int, margin: float) -> Points:
        """Draw points uniformly, at least `margin` half-widths away from every face."""
        return rng.uniform(-1.0 + margin, 1.0 - margin, (points, inputs))

    def contains(self, points: Points) -> Bool[np.ndarray, "points"]:
        """Tell whether each point may be asked; rounding in the last digits, of large coordinates too, is forgiven."""
        center, half_width = self.frame(points.shape[1])
        rounding = 1e-12 * half_width + 4 * np.finfo(float).eps * np.abs(center) + 1e-300
        return np.all(np.abs(points - center) <= half_width + rounding, axis=1)


Domain = Everywhere | Box


def inputs_of_domain(domain: Domain | None) -> int | None:
    """Give the number of inputs that a domain with one number per input says; None for any other."""
    if not isinstance(domain, Everywhere | Box):
        return None
    bounds = (domain.scale, domain.center) if isinstance(domain, Everywhere) else (domain.lower, domain.upper)
    return next((len(each) for each in map(np.asarray, bounds) if each.ndim == 1), None)


def _per_input(value: float | Vector, inputs: int, name: str) -> Float64[np.ndarray, "inputs"]:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 1 and len(array) != inputs:
        raise InvalidInput(
            f"the domain needs one {name} per input, {inputs} in all, got {len(array)}: "
            "give as many; of a table (--like), name the columns of the inputs with --columns."
        )
    return np.full(inputs, array)


class OracleSettings(TypedDict, total=False):
    """What every oracle may be told: its outputs, where and how often it may be asked, and how much at once."""

    outputs: int | None
    domain: Domain | None
    budget: int | None
    batch: int


class Oracle(ABC):
    """Ask a black box that answers batches of points, and count what was asked.

    Args:
        inputs: number of numbers in a point.
        outputs: number of numbers in an answer; learnt from the first answer if omitted.
        domain: where it may be asked.
        budget: how many points may be asked in all; no limit if omitted.
        batch: the largest number of points sent at once; chosen, so that a model of 1,000 neurons takes a quarter of
            a gigabyte, and is no slower.
    """

    # Whether the model is asked on another machine: its answers take long, and may have a price.
    is_remote = False
    # Whether its answers are on disk already: a journal would keep them twice.
    is_recorded = False
    # Queries before the first of a run, to see that the model is still the same.
    probes = 0

    def __init__(
        self,
        *,
        inputs: int,
        outputs: int | None = None,
        domain: Domain | None = None,
        budget: int | None = None,
        batch: int = 16_384,
    ) -> None:
        for name, count in (("inputs", inputs), ("outputs", outputs), ("budget", budget), ("batch", batch)):
            if count is None and name in ("outputs", "budget"):
                continue
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
                raise InvalidInput(f"an oracle needs {name} to be a whole number of at least 1, got {count!r}.")
        if inputs > MOST_INPUTS:
            raise InvalidInput(f"an oracle takes at most {MOST_INPUTS} inputs, got {inputs}.")
        if domain is not None and not isinstance(domain, Everywhere | Box):
            raise InvalidInput(f"an oracle needs a domain, Everywhere(...) or Box(lower, upper), got {domain!r}.")
        self.inputs, self.outputs = int(inputs), outputs
        self.domain = domain if domain is not None else Everywhere()
        self.domain.frame(self.inputs)
        self.ledger, self._batch = Ledger(budget=budget), batch
        # What a journal keeps the answers under, and a checksum of the model where there is one.
        self.name, self.fingerprint = type(self).__name__, ""

    @property
    def points_at_once(self) -> int:
        """Give the largest number of points that are sent together."""
        return self._batch

    @property
    def traffic(self) -> str:
        """Say what was sent on which way, in words for users; empty if there is nothing to say."""
        return ""

    @abstractmethod
    def _answer(self, points: Points) -> object:
        """Ask the black box for one batch; return whatever it says."""

    def pieces(self, points: Points) -> Iterator[tuple[slice, object]]:
        """Yield what the black box says, without counting it, in the parts in which it arrives: rows and answers."""
        for first in range(0, len(points), self._batch):
            rows = slice(first, min(first + self._batch, len(points)))
            yield rows, self._answer(points[rows])

    def query(self, points: Points) -> Values:
        """Ask for the answers at `points`; every point is counted when it is sent, whatever comes of it.

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
        if isinstance(self.domain, Box):
            # Centre and half width add up to a corner that may be one digit outside.
            points = np.clip(points, self.domain.lower, self.domain.upper)
        self.ledger.reserve(len(points))
        answers = [self._one_batch(points[i : i + self._batch]) for i in range(0, len(points), self._batch)]
        return np.concatenate(answers) if answers else np.empty((0, self.outputs or 1))

    def _one_batch(self, points: Points) -> Values:
        # A service charges for what it was sent, also if it fails.
        self.ledger.sent += len(points)
        with self._failing_as_oracle():
            raw = self._answer(points)
        self.ledger.answered += len(points)
        return self._checked(raw, len(points))

    @contextmanager
    def _failing_as_oracle(self) -> Iterator[None]:
        """Turn whatever the black box raises into `OracleFailed`, which says how many queries were answered."""
        try:
            yield
        except (OracleError, BudgetExhausted, TransportFailed, NotWritten, UnreadableFile):
            # From an oracle that is asked through this one, from the way to it, or from its journal.
            raise
        except Exception as error:
            raise OracleFailed(
                f"the oracle raised {type(error).__name__}: {error} (after {self.ledger.answered} answered queries).",
                queries=self.ledger.sent,
            ) from error

    def _checked(self, raw: object, points: int) -> Values:
        values = self._as_rows(raw, points)
        is_float = values.dtype.kind == "f"
        if is_float:
            self.ledger.type_digits = max(self.ledger.type_digits, float(np.finfo(values.dtype).eps))
        values = values.astype(np.float64)
        if not np.all(np.isfinite(values)):
            row = int(np.argmin(np.all(np.isfinite(values), axis=1)))
            raise self._bad(
                f"answers must be finite, got {values[row]} at point {row} of a batch of {points}: "
                "restrict the domain to where the model is defined"
            )
        if np.max(np.abs(values), initial=0.0) > LARGEST_ANSWER:
            raise self._bad(
                f"answers must be at most {LARGEST_ANSWER:g} in size, got {np.max(np.abs(values)):g} in a batch of "
                f"{points}: answer in another unit, or restrict the domain"
            )
        if is_float:
            self.ledger.grid = self.ledger.grid.having(values)
        return values

    def _as_rows(self, raw: object, points: int) -> np.ndarray:
        """Give answers in their own type, one row per point, or say what is wrong with their shape."""
        try:
            values = np.asarray(raw)
        except Exception as error:
            raise self._bad(f"answers must be an array, got {type(raw).__name__}: {error}") from error
        shape = values.shape
        if values.dtype.kind not in "fiu":
            labels = "; if these are class labels, give scores or probabilities" if values.dtype.kind in "bOSTU" else ""
            raise self._bad(f"answers must be real numbers, got dtype {values.dtype}{labels}")
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
        return values

    def _bad(self, problem: str) -> BadAnswer:
        return BadAnswer(
            f"the oracle gave a bad answer: {problem} (after {self.ledger.sent} queries).",
            queries=self.ledger.sent,
        )


def name_of_object(model: Any) -> str:
    """Give the name of a function, or of the class of anything else, with its module."""
    named = model if hasattr(model, "__qualname__") else type(model)
    return f"{named.__module__}.{named.__qualname__}"


class CallableOracle(Oracle):
    """Ask a Python callable that maps (points, inputs) to (points, outputs) or (points,)."""

    def __init__(self, function: Callable[..., object], *, inputs: int, **settings: Unpack[OracleSettings]) -> None:
        if not callable(function):
            raise InvalidInput(f"CallableOracle needs a callable, got {type(function).__name__}.")
        super().__init__(inputs=inputs, **settings)
        self._function = function
        self.name = name_of_object(function)

    def _answer(self, points: Points) -> object:
        # A copy, so that a model that works in place can't change our points.
        return self._function(points.copy())


def oracle_of_callable(model: Any, *, inputs: int | None, **settings: Unpack[OracleSettings]) -> CallableOracle:
    """Give the oracle that asks a function."""
    if isinstance(model, type):
        raise InvalidInput(f"the model {model.__qualname__} is a class: give a function, or an instance of it.")
    if not callable(model):
        raise InvalidInput(f"{MODELS}, got an object of type {type(model).__name__}.")
    inputs = inputs_of_domain(settings.get("domain")) if inputs is None else inputs
    if inputs is None:
        raise InvalidInput("identify needs inputs=, the number of inputs of the model.")
    return CallableOracle(model, inputs=inputs, **settings)


def as_oracle(
    model: Any,
    *,
    inputs: int | None,
    outputs: int | None,
    domain: Domain | None,
    budget: int | None,
    output: str | None = None,
    journal: object = None,
) -> Oracle:
    """Give the oracle that a model is, or one that asks it; wrong settings raise `InvalidInput`.

    Args:
        model: an oracle, a model of a known kind, the path or the address of one, what names it as ``module:name`` or
            ``file.py:name``, or a callable.
        inputs, outputs, domain, budget: of the oracle.
        output: name of the output that is asked, where the model has several.
        journal: a `Journal`, or the path of one, if answers are to be kept.
    """
    oracle: Oracle
    if isinstance(model, FunctionType) and output is None:
        oracle = oracle_of_callable(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget)
    else:
        from unweave.oracles.models.kinds import oracle_of

        oracle = oracle_of(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget, output=output)
    if journal is None or oracle.is_recorded:
        return oracle
    from unweave.oracles.journal.oracle import Journal, JournalOracle

    if isinstance(oracle, JournalOracle):
        raise InvalidInput("the model is asked through a journal already: leave journal= out.")
    if not isinstance(journal, str | Path | Journal):
        raise InvalidInput(f"identify needs journal= to be a path or a Journal, got {journal!r}.")
    return JournalOracle(oracle, journal if isinstance(journal, Journal) else Journal(journal))
