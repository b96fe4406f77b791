"""How a route to the neurons ends: with a network, with a first layer, or with nothing."""

from dataclasses import dataclass

from unweave.certificates.certify import Certificate
from unweave.exceptions import BudgetExhausted, OracleError
from unweave.identification.refiner import Candidate
from unweave.networks.network import Layer, Network
from unweave.result import Diagnostic, Outcome


@dataclass(frozen=True)
class FirstLayer:
    """The first hidden layer of a network that is not shallow.

    Args:
        standard: in standard coordinates.
        layer: in the oracle's units.
        reason: what is said about it if nothing more is found.
        is_last: whether no other route goes on from it.
    """

    standard: Layer
    layer: Layer
    reason: str
    is_last: bool = True


@dataclass(frozen=True)
class Settled:
    """A network whose outcome its route knows itself, without the judgement of the identifier.

    Args:
        outcome: identified or partly identified.
        reason: one paragraph that says why.
        network: in the oracle's units.
        certificate: what may be claimed about it; None if nothing may.
    """

    outcome: Outcome
    reason: str
    network: Network
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Found:
    """How a route has ended: with a network, with a first layer, or with nothing.

    Args:
        reason: why there is no network; empty if there is one.
        is_conclusive: whether no network is determined by the answers, so that no other route is tried.
        is_tentative: whether other routes say more about a function that this one has not explained.
        candidate: a refined network with its certificate.
        settled: a network whose outcome is known already.
        first_layer: the first layer of a network whose other layers were not found.
        stopped: what the oracle said before the route had come to an end.
        checks: the assumptions that were checked on the way.
        notes: facts that a user should know.
    """

    reason: str = ""
    is_conclusive: bool = False
    is_tentative: bool = False
    candidate: Candidate | None = None
    settled: Settled | None = None
    first_layer: FirstLayer | None = None
    stopped: BudgetExhausted | OracleError | None = None
    checks: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
