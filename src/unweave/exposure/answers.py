"""Forms in which a service may give answers, from all digits to a label: one table, tried in order."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from unweave.arrays import Values
from unweave.oracles.ledger import to_bfloat16, to_float16
from unweave.oracles.views import are_probabilities

# Answers that are larger at the first look may be too large for float16 elsewhere in the domain: an eighth of its
# largest number, chosen.
LARGEST_IN_FLOAT16 = float(np.finfo(np.float16).max) / 8.0


@dataclass(frozen=True, eq=False)
class FirstAnswers:
    """What an audit has seen of a model before it begins.

    Args:
        values: answers at random points of the domain.
        rng: what noise is drawn from.
    """

    values: Values
    rng: np.random.Generator

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of every output."""
        return np.std(self.values, axis=0)

    @property
    def are_probabilities(self) -> bool:
        """Whether the model gives probabilities by itself."""
        is_share = self.values.shape[1] == 1 and bool(np.all((self.values > 0.0) & (self.values < 1.0)))
        return is_share or are_probabilities(self.values)

    @property
    def are_labels(self) -> bool:
        """Whether the model gives whole numbers, as labels are."""
        return bool(np.all(self.values == np.rint(self.values)))


# Turns a batch of answers into what is shown of it.
Show = Callable[[Values, FirstAnswers], np.ndarray]


def as_they_are(values: Values, first: FirstAnswers) -> np.ndarray:  # noqa: ARG001
    """Show all digits."""
    return values


def in_single_precision(values: Values, first: FirstAnswers) -> np.ndarray:  # noqa: ARG001
    """Show the 24 binary digits of float32."""
    return values.astype(np.float32)


def in_half_precision(values: Values, first: FirstAnswers) -> np.ndarray:  # noqa: ARG001
    """Show the 11 binary digits of float16; what is too large for it is infinite, as from models of that type."""
    return to_float16(values)


def in_brain_floats(values: Values, first: FirstAnswers) -> np.ndarray:  # noqa: ARG001
    """Show the 8 binary digits of bfloat16."""
    return to_bfloat16(values)


def as_probabilities(values: Values, first: FirstAnswers) -> np.ndarray:  # noqa: ARG001
    """Show the probabilities of classes whose logits the answers are; of two classes one number."""
    return special.expit(values) if values.shape[1] == 1 else special.softmax(values, axis=1)


def as_labels(values: Values, first: FirstAnswers) -> np.ndarray:
    """Show the most likely class only."""
    if values.shape[1] > 1:
        return np.argmax(values, axis=1)[:, None]
    return (values > (0.5 if first.are_probabilities else 0.0)).astype(np.int64)


@dataclass(frozen=True)
class Rounded:
    """Show so many decimals."""

    decimals: int

    def __call__(self, values: Values, first: FirstAnswers) -> np.ndarray:  # noqa: ARG002
        """Round."""
        return np.round(values, self.decimals)


@dataclass(frozen=True)
class Noisy:
    """Show answers with normal noise, drawn anew for every answer: this share of the spread of the answers."""

    share: float

    def __call__(self, values: Values, first: FirstAnswers) -> np.ndarray:
        """Add noise."""
        return values + self.share * first.spread * first.rng.standard_normal(values.shape)


@dataclass(frozen=True)
class AnswerForm:
    """One form of answers.

    Args:
        name: what users call it by.
        shows: what is seen, in a few words.
        show: how it is made from the answers of the model.
        defence: what a service does that shows no more; empty for answers as they are.
        useless: why it would say nothing new about a model; empty if it would.
    """

    name: str
    shows: str
    show: Show
    defence: str = ""
    useless: Callable[[FirstAnswers], str] = lambda _: ""


def _already_probabilities(first: FirstAnswers) -> str:
    if first.are_probabilities:
        return "the model answers with probabilities already: see full precision."
    return "the answers are class labels already: see full precision." if first.are_labels else ""


def _already_labels(first: FirstAnswers) -> str:
    return "the answers are class labels already: see full precision." if first.are_labels else ""


def _no_digits(first: FirstAnswers) -> str:
    return "the answers are class labels, which have no digits to hide." if first.are_labels else ""


def _no_half_precision(first: FirstAnswers) -> str:
    if not first.are_labels and np.max(np.abs(first.values)) > LARGEST_IN_FLOAT16:
        return f"the answers are too large for float16, whose largest number is {np.finfo(np.float16).max:.0f}."
    return _no_digits(first)


# In the order in which they are tried: what shows most comes first.
FORMS = (
    AnswerForm("full precision", "all digits of every answer", as_they_are),
    AnswerForm("float32", "answers in single precision", in_single_precision, "rounding to float32", _no_digits),
    AnswerForm("6 decimals", "answers rounded to 6 decimals", Rounded(6), "rounding to 6 decimals", _no_digits),
    AnswerForm("4 decimals", "answers rounded to 4 decimals", Rounded(4), "rounding to 4 decimals", _no_digits),
    AnswerForm("3 decimals", "answers rounded to 3 decimals", Rounded(3), "rounding to 3 decimals", _no_digits),
    AnswerForm("float16", "answers in half precision", in_half_precision, "rounding to float16", _no_half_precision),
    AnswerForm("bfloat16", "answers in bfloat16", in_brain_floats, "rounding to bfloat16", _no_digits),
    AnswerForm("noise 1e-6", "answers with noise of 1e-6 of their spread", Noisy(1e-6), "noise of 1e-6", _no_digits),
    AnswerForm("noise 1e-3", "answers with noise of 1e-3 of their spread", Noisy(1e-3), "noise of 1e-3", _no_digits),
    AnswerForm(
        "probabilities", "softmax or sigmoid of the answers", as_probabilities, "probabilities", _already_probabilities
    ),
    AnswerForm("top-1", "the most likely class only", as_labels, "labels only", _already_labels),
)
