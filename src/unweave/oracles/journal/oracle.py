"""An oracle whose answers are kept: what was asked before is read, and everything else is on disk before it is used.

Pipelines are deterministic: with the same answers they ask the same questions. A run that was stopped, by whatever, is
resumed by running it again: it gets the answers that it had, and asks from there on. Answers that are read count as
sent, so that a budget is divided as it was; the n-th question for a point gets its n-th answer, so that points that are
asked twice still show the noise.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unweave.arrays import Points, Values
from unweave.exceptions import InvalidInput
from unweave.oracles.journal.log import ModelLog
from unweave.oracles.journal.store import JournalFile
from unweave.oracles.oracle import Domain, Oracle


@dataclass(frozen=True)
class Journal:
    """Name where answers are kept.

    Args:
        path: of the file, which is made if there is none; several runs may use it, at the same time, too.
        model: name under which the answers are kept; that of the model itself if empty.
        is_forced: whether every answer is forced to the disk, so that it survives a power cut, too: a matter of some
            milliseconds per request. If omitted, those of servers are, which take longer, and may have a price; others
            survive the end of the process, and a power cut up to the last moments if they come slowly.
    """

    path: str | Path
    model: str = ""
    is_forced: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path) or not str(self.path):
            raise InvalidInput(f"a journal needs the path of a file, got {self.path!r}.")


@dataclass(frozen=True)
class ModelProbe:
    """How a journal notices that a model has changed: it asks some points of their own again at every start.

    Args:
        points: different points that are asked. A network that was trained again answers differently at any of them;
            a few are enough.
        repeats: times that each is asked, to see the noise.
        noise_factor: difference to the first answers, in units of the largest difference between repeats, that noise
            explains; chosen wide: normal noise exceeds it once in a million starts.
        rounding: difference in units of the last digit of the largest answer that is no change: other machines behind
            the same address add up in another order.
        seed: of the points, the same for all runs.
    """

    points: int = 4
    repeats: int = 2
    noise_factor: float = 8.0
    rounding: float = 256.0
    seed: int = 0

    def places(self, domain: Domain, inputs: int) -> Points:
        """Draw the points, each as often as it is asked."""
        center, half_width = domain.frame(inputs)
        drawn = domain.sample_standard(np.random.default_rng(self.seed), self.points, inputs, 0.0)
        return np.tile(center + half_width * drawn, (self.repeats, 1))

    def is_same(self, before: np.ndarray, now: np.ndarray) -> bool:
        """Whether two lists of answers to the same points are those of one model."""
        if before.shape != now.shape:
            return False
        both = np.stack([before, now]).astype(np.float64)
        repeated = both.reshape(2, self.repeats, self.points, -1)
        with np.errstate(invalid="ignore"):
            noise = _largest_number(np.ptp(repeated, axis=1))
        coarsest = max(np.finfo(each.dtype).eps if each.dtype.kind == "f" else 0.0 for each in (before, now))
        allowed = self.noise_factor * noise + self.rounding * coarsest * _largest_number(np.abs(both))
        return bool(np.allclose(both[0], both[1], rtol=0.0, atol=allowed, equal_nan=True))


def _largest_number(values: np.ndarray) -> float:
    """The largest that is finite; zero if none is."""
    return float(np.max(values, where=np.isfinite(values), initial=0.0))


class JournalOracle(Oracle):
    """Ask an oracle for what a journal does not hold yet.

    Args:
        oracle: that is asked; its ledger counts the queries, and keeps the budget.
        journal: where answers are kept.
        probe: how a model that has changed is noticed.

    Raises:
        InvalidInput: if the journal can't be opened, or holds answers of another model.
        UnreadableFile: if it is something else.
    """

    def __init__(self, oracle: Oracle, journal: Journal, *, probe: ModelProbe | None = None) -> None:
        super().__init__(inputs=oracle.inputs, outputs=oracle.outputs, domain=oracle.domain)
        self._oracle, self.ledger, self._probe = oracle, oracle.ledger, probe or ModelProbe()
        self.name, self.fingerprint = journal.model or oracle.name, oracle.fingerprint
        self.is_remote, self.probes = oracle.is_remote, self._probe.points * self._probe.repeats
        is_forced = oracle.is_remote if journal.is_forced is None else journal.is_forced
        file = JournalFile(journal.path, is_forced=is_forced)
        model = file.model_of(self.name, fingerprint=self.fingerprint, inputs=self.inputs)
        self.log, self._is_compared = ModelLog(file, model), False

    @property
    def points_at_once(self) -> int:
        """The largest number of points that the oracle sends together."""
        return self._oracle.points_at_once

    @property
    def traffic(self) -> str:
        """How many answers were read, and what was sent for the others."""
        read = f"{self.ledger.replayed:,} of {self.ledger.sent:,} answers were read from {self.log.file.path}"
        return "; ".join(said for said in (read if self.ledger.replayed else "", self._oracle.traffic) if said)

    def query(self, points: Points) -> Values:
        """Give the answers at `points`, read or asked; all are counted.

        Raises:
            InvalidInput: also if the model is not the one whose answers the journal holds.
            NotWritten: if an answer could not be kept.
        """
        if not self._is_compared:
            self._compare()
            self._is_compared = True
        return super().query(points)

    def _answer(self, points: Points) -> np.ndarray:
        is_held, parts = self.log.lookup(points)
        missing = np.flatnonzero(~is_held)
        self.ledger.replayed += len(points) - len(missing)
        sent = points if len(missing) == len(points) else points[missing]
        for rows, raw in self._oracle.pieces(sent):
            parts.append((missing[rows], self._kept(sent[rows], raw)))
        answers = np.empty((len(points), self.outputs or 1), dtype=np.result_type(*(part for _, part in parts)))
        for rows, part in parts:
            answers[rows] = part
        return answers

    def _kept(self, points: Points, raw: object) -> np.ndarray:
        answers = self._as_rows(raw, len(points))
        self.log.append(points, answers)
        return answers

    def _compare(self) -> None:
        """Ask the points that tell whether the model is still the same; the first run writes down what it says."""
        first = next((each for each in self.log.probes() if np.all(self.domain.contains(each.points))), None)
        points = self._probe.places(self.domain, self.inputs) if first is None else first.points
        self.ledger.reserve(len(points))
        self.ledger.sent += len(points)
        with self._failing_as_oracle():
            parts = sorted(self._oracle.pieces(points), key=lambda part: part[0].start)
            answers = np.concatenate([self._as_rows(raw, rows.stop - rows.start) for rows, raw in parts])
        self.ledger.answered += len(points)
        self.log.append(points, answers, is_probe=True)
        if first is not None and not self._probe.is_same(first.answers, answers):
            raise self.log.file.changed(self.log.model, "has answered differently at the same points")
