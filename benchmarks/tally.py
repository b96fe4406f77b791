"""What benchmarks count while they recover planted networks, a row of the table at a time."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import unweave
from unweave.networks.network import Network
from unweave.result import Result


@dataclass
class Tally:
    """What happened to the networks of one kind.

    Args:
        runs: trials.
        wrong: networks that were called identified, and were not.
        errors: of those that were identified.
        costs: queries per parameter of every trial.
        seconds: CPU seconds of every trial.
    """

    runs: int = 0
    wrong: int = 0
    errors: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def identified(self) -> int:
        """Number of networks that were identified."""
        return len(self.errors)

    def add(self, truth: Network, found: Result, seconds: float, *, atol: float) -> float | None:
        """Count a trial; give its error if the network does not count as identified, to say why."""
        self.runs += 1
        self.seconds.append(seconds)
        self.costs.append(found.queries / truth.parameters)
        error = np.inf
        if found.network is not None and found.network.widths == truth.widths:
            error = unweave.match(found.network, truth).largest_error
        if found.is_identified and error <= atol:
            self.errors.append(error)
            return None
        self.wrong += found.is_identified
        return error

    def merge(self, other: "Tally") -> None:
        """Count another tally in."""
        self.runs += other.runs
        self.wrong += other.wrong
        self.errors += other.errors
        self.costs += other.costs
        self.seconds += other.seconds

    def counts(self) -> dict[str, Any]:
        """Give how many trials there were and how they ended, as `figures.py` names it."""
        return {"trials": self.runs, "recovered": self.identified, "wrong": self.wrong}

    def sizes(self) -> dict[str, Any]:
        """Give the largest error and what a trial cost, as `figures.py` names it."""
        return {
            "largest_error": max(self.errors, default=None),
            "queries_per_parameter": np.median(self.costs),
            "cpu_seconds": np.median(self.seconds),
        }
