"""How many queries an identification will take, before it is begun or after a budget was too small for it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np

from unweave.identification.routes import HESSIANS, POLE_WALK, STUDENT_FIT
from unweave.oracles.ledger import AnswerKind, KindLook
from unweave.oracles.oracle import MAX_BATCH, Box, Oracle
from unweave.oracles.views import ROUNDING_DEVIATION

# Widths that an estimate is made for where nobody knows it.
TYPICAL_WIDTHS = (10, 100, 1000)


@dataclass(frozen=True)
class Span:
    """A range that most runs lie in."""

    least: int
    most: int

    def times(self, factor: float) -> tuple[float, float]:
        """Both ends in another unit."""
        return self.least * factor, self.most * factor

    def above(self, spent: int) -> str:
        """Write what is left of it after so many."""
        if self.least <= spent:
            return f"up to {_rounded(self.most - spent):,} more"
        return f"{Span(self.least - spent, self.most - spent)} more"

    def __str__(self) -> str:
        return f"{_rounded(self.least):,} to {_rounded(self.most):,}"


@dataclass(frozen=True)
class Effort:
    """What identifying one hidden layer takes.

    Args:
        network: the kind of network, in a word.
        meaning: of this word.
        neurons: of the layer.
        queries: that are asked.
        requests: that they are sent in.
    """

    network: str
    meaning: str
    neurons: int
    queries: Span
    requests: Span


@dataclass(frozen=True, kw_only=True)
class EffortRule:
    """Straight lines through what planted networks of one hidden layer took, from below and from above.

    Measured by `benchmarks/estimates.py`. Weights are those of the first layer; every search of lines or planes is one
    request for all neurons together, as long as they fit.

    Args:
        network: the kind of network that it is for, in a word.
        meaning: of this word.
        queries: that every run takes, more for every neuron, and more for every weight.
        requests: that every run takes, and more for every neuron.
        widest: times the lower end that the upper end is.
        most_neurons: up to which it holds, with some room above what was measured; None for any number.
        most_inputs: that its route is made for; None for any number.
    """

    network: str
    meaning: str
    queries: tuple[int, float, float]
    requests: tuple[int, float]
    widest: float
    most_neurons: int | None = None
    most_inputs: int | None = None

    def __call__(self, *, inputs: int, neurons: int, max_batch: int) -> Effort:
        """Estimate for a network of this size."""
        always, per_neuron, per_weight = self.queries
        least = always + neurons * (per_neuron + per_weight * inputs)
        queries = Span(round(least), round(self.widest * least))
        requests, more = self.requests
        few = requests + ceil(queries.least / max_batch)
        many = self.widest * requests + more * neurons + ceil(queries.most / max_batch)
        return Effort(self.network, self.meaning, neurons, queries, Span(few, round(many)))

    def reaches(self, *, inputs: int, neurons: int) -> bool:
        """Whether it holds for networks of this size."""
        limits = ((inputs, self.most_inputs), (neurons, self.most_neurons))
        return all(most is None or size <= most for size, most in limits)


# Tanh and ReLU networks of 5 to 50 inputs and 3 to 40 neurons, whose weights are about one.
UNBOUNDED = EffortRule(
    network="ordinary",
    meaning="tanh, ReLU and what is like them, with any weights; sin and Gaussian networks take more, and are not "
    "estimated",
    queries=(220, 15.0, 3.8),
    requests=(30, 1.0),
    widest=1.6,
)
IN_A_BOX = EffortRule(
    network="ordinary",
    meaning="neurons that bend on a good part of the box, and no more smooth ones than Hessians tell apart",
    queries=(300, 30.0, 15.0),
    requests=(6, 25.0),
    widest=3.0,
)
# 36 tanh and sigmoid networks of 1 to 10 inputs and 2 to 15 neurons, with weights of 10 to 300 in a box of sides 2.
STEEP = EffortRule(
    network="steep",
    meaning="tanh or sigmoid neurons that are saturated at most places of the box, as training leaves them",
    queries=(300, 40.0, 20.0),
    requests=(15, 10.0),
    widest=3.5,
    most_neurons=20,
)
# 24 networks of 1 to 5 inputs and 2 to 10 neurons, tanh in a box, sin and Gaussian on all of space: ten of them were
# identified by students, others ended with as many queries.
CROWDED = EffortRule(
    network="crowded",
    meaning="more smooth neurons than Hessians tell apart, or one input: fits from random starts, which do not always "
    "find them, and seldom more than 12",
    queries=(480, 40.0, 5.0),
    requests=(14, 5.0),
    widest=3.5,
    most_neurons=12,
    most_inputs=12,
)
NEAR_RULES = (IN_A_BOX, STEEP, CROWDED)
# 64 tanh and ReLU networks of 3 to 10 inputs and 2 to 8 neurons, in a box and on all of space, behind one output of 3
# decimals and bfloat16, and of 6 decimals and float32: places where answers switch take more than all else.
COARSE = EffortRule(
    network="rounded",
    meaning="tanh, sigmoid and ReLU behind answers of few digits, which are fitted, and known exactly where answers "
    "switch; seldom more than 12 neurons are found so",
    queries=(800, 20.0, 42.0),
    requests=(50, 5.0),
    widest=2.6,
)
FINE = EffortRule(
    network="rounded",
    meaning="networks behind answers that are rounded finely, and known exactly where the answers switch",
    queries=(450, 10.0, 25.0),
    requests=(25, 5.0),
    widest=3.2,
)
# Error of an answer, relative to the spread, from which on neurons are fitted first, as the route for it has it.
COARSE_ERROR = 1e-6


# Answers are called whole numbers up to here: larger ones may have no other digits left.
LARGEST_LABEL = 1e6
WHOLE_NUMBERS = (
    "The answers so far are whole numbers, as class labels are, and what these take is not known: ask for scores or "
    "probabilities instead, such as decision_function or predict_proba give."
)


def are_whole_numbers(oracle: Oracle) -> bool:
    """Tell whether all answers so far are whole numbers: those of a type of whole numbers are not in the ledger."""
    values = oracle.ledger.grid.kept
    is_small = bool(np.all(np.abs(values) < LARGEST_LABEL))
    return oracle.ledger.answered > 0 and is_small and bool(np.all(values == np.rint(values)))


def seen_kind(oracle: Oracle) -> AnswerKind | None:
    """Tell the grid that the answers of one output so far lie on: from few of them, since nothing is claimed by it."""
    values = oracle.ledger.grid.kept
    return KindLook(fewest=2)(values[:, None])[0] if oracle.outputs == 1 and len(values) else None


def rounded_rule(oracle: Oracle) -> EffortRule | None:
    """Choose the rule for rounded answers, if the answers so far are those of one output that is rounded."""
    kind, values = seen_kind(oracle), oracle.ledger.grid.kept
    if kind is None:
        return None
    error = ROUNDING_DEVIATION * float(np.median(kind.step(values)))
    return COARSE if error > COARSE_ERROR * float(np.std(values)) else FINE


def estimate(
    *,
    inputs: int,
    is_in_box: bool,
    neurons: int | None = None,
    max_batch: int = MAX_BATCH,
    rounded: EffortRule | None = None,
) -> tuple[Effort, ...]:
    """Estimate what an identification takes, for the width that is known or for some typical ones.

    Where neurons can't be read far away, in a box and along one input, there is an estimate for every kind of network:
    nobody knows which one it is before it was asked. Where answers are rounded, the rule for that is the only one.
    """
    if rounded is not None:
        return _efforts((rounded,), inputs=inputs, neurons=neurons, max_batch=max_batch)
    rules = NEAR_RULES if is_in_box or inputs == 1 else (UNBOUNDED,)
    efforts = _efforts(rules, inputs=inputs, neurons=neurons, max_batch=max_batch)
    return tuple(each for each in efforts if each.network != CROWDED.network or _are_crowded(inputs, each.neurons))


def _efforts(rules: Iterable[EffortRule], *, inputs: int, neurons: int | None, max_batch: int) -> tuple[Effort, ...]:
    widths = TYPICAL_WIDTHS if neurons is None else (neurons,)
    return tuple(
        rule(inputs=inputs, neurons=width, max_batch=max_batch)
        for width in widths
        for rule in rules
        if rule.reaches(inputs=inputs, neurons=width)
    )


def _are_crowded(inputs: int, neurons: int) -> bool:
    """Whether these may be more neurons than Hessians tell apart."""
    return inputs == 1 or neurons >= inputs * (inputs - 1) // 2


def plan_of(oracle: Oracle, *, neurons: int | None, tried: Collection[str]) -> str:
    """Say what a run would have taken whose budget has ended.

    Args:
        oracle: that was asked.
        neurons: as far as they are known.
        tried: routes that were taken.
    """
    if are_whole_numbers(oracle):
        return WHOLE_NUMBERS
    return budget_needed(
        inputs=oracle.inputs,
        is_in_box=isinstance(oracle.domain, Box),
        neurons=neurons,
        spent=oracle.ledger.sent,
        tried=tried,
        rounded=rounded_rule(oracle),
    )


def budget_needed(
    *,
    inputs: int,
    is_in_box: bool,
    neurons: int | None,
    spent: int,
    tried: Collection[str] = (),
    rounded: EffortRule | None = None,
) -> str:
    """Say how many more queries the whole plan takes, after so many were not enough.

    Args:
        inputs, is_in_box, neurons, rounded: as for `estimate`.
        spent: queries so far.
        tried: routes that were taken: what earlier ones find is not meant any more once a later one was.
    """
    efforts = estimate(inputs=inputs, is_in_box=is_in_box, neurons=neurons, rounded=rounded)
    if rounded is not None:
        pass
    elif STUDENT_FIT in tried:
        efforts = _efforts((CROWDED,), inputs=inputs, neurons=neurons, max_batch=MAX_BATCH)
    elif POLE_WALK in tried:
        efforts = tuple(each for each in efforts if each.network != IN_A_BOX.network)
    elif HESSIANS in tried and not is_in_box:
        efforts = _efforts((IN_A_BOX, CROWDED), inputs=inputs, neurons=neurons, max_batch=MAX_BATCH)
    parts = [
        f"{effort.queries} for {effort.neurons:,} {effort.network} neurons ({effort.queries.above(spent)})"
        for effort in efforts
        if effort.queries.most > spent
    ]
    if not parts:
        return (
            "This function takes more than networks of one hidden layer and that many neurons usually do: raise the "
            "budget further, with a journal that keeps the answers."
        )
    behind = f"{inputs} input{'s' if inputs > 1 else ''}"
    return (
        f"In all, one hidden layer behind {behind} takes about this many queries: {', '.join(parts)}; deeper networks "
        "take more."
    )


def _rounded(number: int) -> int:
    """Two digits that count."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return unit * round(number / unit)
