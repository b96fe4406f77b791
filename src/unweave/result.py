"""How every run ends, whatever the door: one result, with the evidence for it, and how its numbers are written."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload, runtime_checkable

from unweave.exceptions import NotIdentified

if TYPE_CHECKING:
    from unweave.networks.network import Layer

# A `Network`, or the class of networks that a method has of its own.
AnyNetwork = TypeVar("AnyNetwork")
AnyCertificate = TypeVar("AnyCertificate")


class Outcome(Enum):
    """Name how a run ended; wrong use and broken oracles raise instead."""

    IDENTIFIED = "identified"
    PARTLY_IDENTIFIED = "partly identified"
    NOT_IDENTIFIED = "not identified"


class Verdict(Enum):
    """Name what a diagnostic says."""

    OK = "ok"
    WEAK = "weak"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Diagnostic:
    """Describe one assumption that was checked: its number, what the number should be, and what to do about it.

    Args:
        name: the assumption.
        value: the number measured.
        threshold: what it is compared with.
        verdict: the result of the comparison.
        advice: what it means, and what to do if it is not ok.
    """

    name: str
    value: float
    threshold: float
    verdict: Verdict
    advice: str


def at_least(name: str, value: float, threshold: float, advice: str, *, weak: float | None = None) -> Diagnostic:
    """Make a diagnostic that is ok above `threshold`, weak above `weak` and failed below."""
    is_weak = weak is not None and value >= weak
    verdict = Verdict.OK if value >= threshold else Verdict.WEAK if is_weak else Verdict.FAIL
    return Diagnostic(name, float(value), float(threshold), verdict, advice)


def at_most(name: str, value: float, threshold: float, advice: str, *, weak: float | None = None) -> Diagnostic:
    """Make a diagnostic that is ok below `threshold`, weak below `weak` and failed above."""
    is_weak = weak is not None and value <= weak
    verdict = Verdict.OK if value <= threshold else Verdict.WEAK if is_weak else Verdict.FAIL
    return Diagnostic(name, float(value), float(threshold), verdict, advice)


@runtime_checkable
class Evidence(Protocol):
    """Describe a certificate: a frozen dataclass whose fields are plain numbers, texts and truth values."""

    def statements(self) -> Sequence[tuple[str, str]]:
        """State what may be claimed, as pairs of a name and a few words with the number."""
        ...


@dataclass(frozen=True)
class Cost:
    """Count what a result has cost.

    Args:
        queries: answers of the model that were asked for.
        samples: labelled points that were read.
        seconds: time per stage, in the order of the stages.
        stage_queries: queries per stage, as far as they belong to one; the same order.
    """

    queries: int = 0
    samples: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    stage_queries: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class InputRanges:
    """Hold where a model was asked, or where samples lie: one number per input each.

    Args:
        lower: the smallest value of an input that was asked for, or that a sample has.
        upper: the largest one.
        center: the middle of the domain; of samples their mean.
        scale: half the width of a box; otherwise the standard deviation of points drawn from the domain, or of samples.
        is_box: whether the domain is a box.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    center: tuple[float, ...]
    scale: tuple[float, ...]
    is_box: bool = False


class RouteEnd(Enum):
    """Name what came of a route to the neurons."""

    NOT_TAKEN = "not taken"
    NETWORK = "taken"
    FIRST_LAYER = "ended with a first layer"
    NOTHING = "ended without a network"


@dataclass(frozen=True)
class RouteChoice:
    """Say whether a route to the neurons was taken, and why.

    Args:
        route: its name.
        end: what came of it.
        because: why it was taken or not.
        reason: why it has ended without a network; empty if it has one, or was not taken.
    """

    route: str
    end: RouteEnd
    because: str
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Result(Generic[AnyNetwork, AnyCertificate]):
    """Hold a network recovered from queries or samples, or the reason why there is none.

    Args:
        outcome: identified, partly identified or not identified.
        reason: one paragraph that says why, with the numbers.
        network: the network in the units of the model or of the samples; None if there is none.
        certificate: what may be claimed about it; None if nothing may.
        diagnostics: every assumption that was checked.
        cost: queries, samples and time.
        notes: facts about the network that a user should know (merged twins, free signs).
        route: how the neurons were found, such as Hessians, saturation walk, kink walk or peeling of layers.
        routes: every route that could have been taken, in order, and why it was taken or not; empty without queries.
        first_layer: the first hidden layer of a network that is not shallow, where a walk has found it:
            directions exactly, lengths and biases as well as the reason says.
        equivalent_activations: other names under which the same network can be written.
        is_imitation: whether the network only answers like the model, as well as the reason says: its neurons and its
            activation are not claimed to be the model's.
        fresh_errors: largest errors over the outputs at fresh points, in units of the spread of the answers, in
            ascending order; of very many points some hundreds that are evenly spread among them.
        ranges: where the model was asked, or where the samples lie; None if that was not recorded.
        settings: what was asked for, as JSON can hold it: arguments of the call that differ from their defaults, or
            options of the command, without anything secret; empty if that was not recorded.
    """

    outcome: Outcome
    reason: str
    network: AnyNetwork | None = None
    certificate: AnyCertificate | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    cost: Cost = field(default_factory=Cost)
    notes: tuple[str, ...] = ()
    route: str = ""
    routes: tuple[RouteChoice, ...] = ()
    first_layer: "Layer | None" = None
    equivalent_activations: tuple[str, ...] = ()
    is_imitation: bool = False
    fresh_errors: tuple[float, ...] = ()
    ranges: InputRanges | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_identified(self) -> bool:
        """Tell whether the whole network was recovered, with a certificate."""
        return self.outcome is Outcome.IDENTIFIED

    @property
    def queries(self) -> int:
        """Return how many answers of the model it cost."""
        return self.cost.queries

    @property
    def samples(self) -> int:
        """Return how many samples were read."""
        return self.cost.samples

    @property
    def seconds(self) -> dict[str, float]:
        """Return the time per stage."""
        return self.cost.seconds

    def __repr__(self) -> str:
        return _reports().summary(self)

    @overload
    def report(self) -> str: ...

    @overload
    def report(self, path: "str | PathLike[str]") -> Path: ...

    def report(self, path: "str | PathLike[str] | None" = None) -> str | Path:
        """Write everything that is known: network, certificate, assumptions that were checked, cost, notes.

        Args:
            path: where to write it as one HTML file, which needs nothing else; as text if omitted.

        Returns:
            The text, or the path of the file.

        Raises:
            NotWritten: if the file can't be written.
        """
        if path is not None:
            from unweave.reports.html.results import write_report

            return write_report(self, Path(path))
        reports = _reports()
        return reports.as_text(reports.report(self))

    def require(self) -> "Result[AnyNetwork, AnyCertificate]":
        """Return the result if it is identified, raise `NotIdentified` with the reason if not."""
        if not self.is_identified:
            raise NotIdentified(f"{self.outcome.value}: {self.reason}")
        return self


def _reports() -> ModuleType:
    """The module that puts results into words, imported when it is needed: it knows networks, which know no reports."""
    from unweave.reports import text

    return text


def number(value: float) -> str:
    """Shorten a measured number; `-` where there is none."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value == 0 or (0.1 <= abs(value) < 10_000):
        return f"{value:.3g}" if abs(value) < 1_000 else f"{value:.0f}"
    return f"{value:.1e}"


def percent(share: float) -> str:
    """Write a share as percentage, rounded down: 0.99997 is not called 100%."""
    return f"{math.floor(share * 1000) / 10:g}%"
