"""How many queries an identification will take, before it is begun or after a budget was too small for it."""

from dataclasses import dataclass
from math import ceil

from unweave.oracles.oracle import MAX_BATCH

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

    def __str__(self) -> str:
        return f"{_rounded(self.least):,} to {_rounded(self.most):,}"


@dataclass(frozen=True)
class Effort:
    """What identifying one hidden layer takes.

    Args:
        neurons: of the layer.
        queries: that are asked.
        requests: that they are sent in.
    """

    neurons: int
    queries: Span
    requests: Span


@dataclass(frozen=True, kw_only=True)
class EffortRule:
    """Straight lines through what planted networks of one hidden layer took, from below and from above.

    Measured by `benchmarks/estimates.py` on tanh and ReLU networks of 5 to 50 inputs and 3 to 40 neurons. Weights are
    those of the first layer; every search of lines or planes is one request for all neurons together, as long as they
    fit.

    Args:
        queries: that every run takes.
        per_neuron: more for every neuron.
        per_weight: more for every weight.
        requests: that every run takes.
        requests_per_neuron: more for every neuron.
        widest: times the lower end that the upper end is.
    """

    queries: int
    per_neuron: float
    per_weight: float
    requests: int
    requests_per_neuron: float
    widest: float

    def __call__(self, *, inputs: int, neurons: int, max_batch: int) -> Effort:
        """Estimate for a network of this size."""
        least = self.queries + neurons * (self.per_neuron + self.per_weight * inputs)
        queries = Span(round(least), round(self.widest * least))
        few = self.requests + ceil(queries.least / max_batch)
        many = self.widest * self.requests + self.requests_per_neuron * neurons + ceil(queries.most / max_batch)
        return Effort(neurons, queries, Span(few, round(many)))


UNBOUNDED = EffortRule(queries=220, per_neuron=15.0, per_weight=3.8, requests=30, requests_per_neuron=1.0, widest=1.6)
IN_A_BOX = EffortRule(queries=300, per_neuron=30.0, per_weight=15.0, requests=6, requests_per_neuron=25.0, widest=3.0)


def estimate(
    *, inputs: int, is_in_box: bool, neurons: int | None = None, max_batch: int = MAX_BATCH
) -> tuple[Effort, ...]:
    """Estimate what an identification takes, for the width that is known or for some typical ones."""
    rule = IN_A_BOX if is_in_box else UNBOUNDED
    widths = TYPICAL_WIDTHS if neurons is None else (neurons,)
    return tuple(rule(inputs=inputs, neurons=width, max_batch=max_batch) for width in widths)


def budget_needed(*, inputs: int, is_in_box: bool, neurons: int | None, spent: int) -> str:
    """Say how many more queries the whole plan takes, after so many were not enough."""
    efforts = estimate(inputs=inputs, is_in_box=is_in_box, neurons=neurons)
    parts = [f"{effort.queries} for {effort.neurons:,} neurons" for effort in efforts if effort.queries.most > spent]
    if not parts:
        return "This function takes more than a network of one hidden layer and that many neurons does."
    return f"In all, one hidden layer behind {inputs} inputs takes about {', '.join(parts)}; deeper networks take more."


def _rounded(number: int) -> int:
    """Two digits that count."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return unit * round(number / unit)
