"""What a refinement returns."""

from dataclasses import dataclass

from unweave.networks.network import Network


@dataclass(frozen=True)
class Refinement:
    """A refined network and how it got there.

    Args:
        network: the best network found.
        residual: root mean square of its residuals on the answers it was fitted to.
        steps: accepted steps.
        has_converged: whether the last step changed nothing any more.
        history: residual before every step, and after the last.
    """

    network: Network
    residual: float
    steps: int
    has_converged: bool
    history: tuple[float, ...]
