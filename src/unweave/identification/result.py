"""What an identification returns."""

from dataclasses import dataclass

from unweave.certificates.certify import Certificate
from unweave.exceptions import NotIdentified
from unweave.networks.network import Layer, Network
from unweave.result import Diagnostic, Outcome


@dataclass(frozen=True, eq=False)
class Identification:
    """A network recovered from queries, or the reason why there is none.

    Args:
        outcome: identified, partly identified or not identified.
        reason: one paragraph that says why, with the numbers.
        network: the recovered network, in the oracle's own units; None if there is none.
        certificate: what may be claimed about it; None if there is no network.
        diagnostics: every assumption that was checked.
        queries: how many answers it cost.
        equivalent_activations: other names under which the same network can be written.
        notes: facts about the network that a user should know (merged twins, free signs).
        seconds: time per stage.
        route: how the neurons were found, such as Hessians, saturation walk, kink walk or peeling of layers.
        first_layer: the first hidden layer of a network that is not shallow, where a walk has found it:
            directions exactly, lengths and biases as well as the reason says.
    """

    outcome: Outcome
    reason: str
    network: Network | None
    certificate: Certificate | None
    diagnostics: tuple[Diagnostic, ...]
    queries: int
    equivalent_activations: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: dict[str, float]
    route: str = ""
    first_layer: Layer | None = None

    @property
    def is_identified(self) -> bool:
        """Whether the whole network was recovered, with a certificate."""
        return self.outcome is Outcome.IDENTIFIED

    def require(self) -> "Identification":
        """Return the result if it is identified, raise `NotIdentified` with the reason if not."""
        if not self.is_identified:
            raise NotIdentified(f"{self.outcome.value}: {self.reason}")
        return self
