"""Results to be shown, and what a terminal shows of them."""

from dataclasses import replace
from io import StringIO

import numpy as np
from rich.console import Console, RenderableType

from unweave.activations import TANH, Activation
from unweave.certificates.certify import Certificate
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.result import Cost, Diagnostic, InputRanges, Outcome, Result, Verdict

CERTIFICATE = Certificate(
    largest_error=1.21e-15,
    rms_error=2e-16,
    fresh_queries=67,
    confidence=0.95,
    coverage=0.95627,
    noise=3e-16,
    smallest_singular=0.1,
    is_singular_estimated=False,
    radius=4.4e-12,
    isolation=3.2e-5,
)


def planted(activation: Activation = TANH, outputs: int = 1) -> Network:
    return general_network(np.random.default_rng(0), inputs=6, neurons=5, outputs=outputs, activation=activation)


def identification(
    outcome: Outcome = Outcome.IDENTIFIED,
    network: Network | None = None,
    certificate: Certificate | None = CERTIFICATE,
    diagnostics: tuple[Diagnostic, ...] = (),
) -> Result:
    return Result(
        outcome=outcome,
        reason="because of [red]this[/red] and [2, 3]",
        network=network,
        certificate=certificate,
        diagnostics=diagnostics,
        equivalent_activations=("sigmoid",),
        notes=("two neurons were [merged].",),
        cost=Cost(queries=1234, seconds={"probing the answers": 0.25, "refining": 1.5}),
    )


def strange_result(network: Network | None) -> Result:
    """A result with numbers of NumPy, and such that JSON has no words for."""
    certificate = replace(CERTIFICATE, rms_error=np.float64(2e-16), radius=np.inf, isolation=0.0)
    return Result(
        outcome=Outcome.PARTLY_IDENTIFIED if network else Outcome.NOT_IDENTIFIED,
        reason="one [reason] with brackets, and an umlaut: ä",
        network=network,
        certificate=certificate if network else None,
        diagnostics=(
            Diagnostic("gap", 12.5, 3.0, Verdict.OK, "fine"),
            Diagnostic("kinks", np.nan, -np.inf, Verdict.NOT_APPLICABLE, "not measured"),
        ),
        equivalent_activations=("sigmoid",) if network else (),
        notes=("a note",),
        cost=Cost(
            123, seconds={"probing the answers": 0.25, "refining": np.float64(1.5)}, stage_queries={"refining": 9}
        ),
        fresh_errors=(1e-16, np.inf),
        ranges=InputRanges((-3.0, -1.0), (np.float64(2.0), 1.0), (0.0, 0.0), (1.0, 0.5)),
    )


def shown(renderable: RenderableType, *, width: int = 100, is_coloured: bool = False) -> str:
    file = StringIO()
    colours = "standard" if is_coloured else None
    Console(file=file, width=width, force_terminal=is_coloured, color_system=colours).print(renderable)
    return file.getvalue()


def words(renderable: RenderableType) -> str:
    return " ".join(shown(renderable).split())
