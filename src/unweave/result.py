"""How a run ends, and the evidence for it."""

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """Every run ends in one of these; wrong use and broken oracles raise instead."""

    IDENTIFIED = "identified"
    PARTLY_IDENTIFIED = "partly identified"
    NOT_IDENTIFIED = "not identified"


class Verdict(Enum):
    """What a diagnostic says."""

    OK = "ok"
    WEAK = "weak"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Diagnostic:
    """One assumption that was checked: its number, what the number should be, and what to do about it.

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
    """A diagnostic that is ok above `threshold`, weak above `weak` and failed below."""
    is_weak = weak is not None and value >= weak
    verdict = Verdict.OK if value >= threshold else Verdict.WEAK if is_weak else Verdict.FAIL
    return Diagnostic(name, float(value), float(threshold), verdict, advice)


def at_most(name: str, value: float, threshold: float, advice: str, *, weak: float | None = None) -> Diagnostic:
    """A diagnostic that is ok below `threshold`, weak below `weak` and failed above."""
    is_weak = weak is not None and value <= weak
    verdict = Verdict.OK if value <= threshold else Verdict.WEAK if is_weak else Verdict.FAIL
    return Diagnostic(name, float(value), float(threshold), verdict, advice)
