"""What a learner returns: the same few things for every system that learns from samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from unweave.exceptions import NotIdentified
from unweave.result import Diagnostic, Outcome

# A `Network`, or the class of networks that a system has of its own.
AnyNetwork = TypeVar("AnyNetwork")


@runtime_checkable
class Evidence(Protocol):
    """A certificate of a learner: a frozen dataclass whose fields are plain numbers, texts and truth values."""

    def statements(self) -> Sequence[tuple[str, str]]:
        """What may be claimed, as pairs of a name and a few words with the number."""
        ...


@dataclass(frozen=True, eq=False)
class Learnt(Generic[AnyNetwork]):
    """A network learnt from samples, or the reason why there is none.

    Args:
        outcome: identified, partly identified or not identified.
        reason: one paragraph that says why, with the numbers.
        network: the network, in the units of the samples; None if there is none.
        certificate: what may be claimed about it; None if nothing may.
        diagnostics: every assumption that was checked.
        samples: how many samples were read.
        notes: facts that a user should know, such as signs that no sample can tell.
        seconds: time per stage.
    """

    outcome: Outcome
    reason: str
    network: AnyNetwork | None
    certificate: Evidence | None
    diagnostics: tuple[Diagnostic, ...]
    samples: int
    notes: tuple[str, ...]
    seconds: dict[str, float]

    @property
    def is_identified(self) -> bool:
        """Whether the network was found, with a certificate."""
        return self.outcome is Outcome.IDENTIFIED

    def require(self) -> "Learnt[AnyNetwork]":
        """This result, if it is identified.

        Raises:
            NotIdentified: with the reason, if it is not.
        """
        if not self.is_identified:
            raise NotIdentified(f"{self.outcome.value}: {self.reason}")
        return self
