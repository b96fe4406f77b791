"""`unweave demo`: plant a secret network, recover it, compare."""

from typing import Annotated

import typer

from unweave.cli.console import (
    IDENTIFIED,
    NOT_IDENTIFIED,
    TOLERANCE,
    AsJson,
    Seed,
    counted_progress,
    leave_with,
    show,
    show_json,
)
from unweave.writing import envelope


def demo(
    inputs: Annotated[int, typer.Option(min=1, help="Inputs of the secret network.")] = 10,
    neurons: Annotated[int, typer.Option(min=1, help="Its hidden neurons.")] = 14,
    outputs: Annotated[int, typer.Option(min=1, help="Its outputs.")] = 1,
    activation: Annotated[str, typer.Option(help="Its activation: tanh, gelu, softplus, sin, ...")] = "tanh",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Plant a secret network, recover it from its answers alone, and compare digit by digit."""
    with counted_progress() as tell:
        tell("loading", 0)
        import numpy as np

        import unweave
        from unweave.activations import activation_named
        from unweave.networks.planted import general_network
        from unweave.reports.comparison import demo_report, match_document

        secret = general_network(
            np.random.default_rng(seed),
            inputs=inputs,
            neurons=neurons,
            outputs=outputs,
            activation=activation_named(activation),
        )
        # A plain function: the pipeline gets to see answers, never the network, its width or its activation.
        found = unweave.identify(lambda points: secret(points), inputs=inputs, seed=seed, progress=tell)
        match = None if found.network is None else unweave.match(found.network, secret)
    if as_json:
        from unweave.reports.json import as_document, network_document

        parts = {"planted": network_document(secret), "found": as_document(found), "match": match_document(match)}
        show_json(envelope("demo") | parts)
    else:
        show(demo_report(secret, found, match, tolerance=TOLERANCE))
    if found.is_identified:
        is_recovered = match is not None and match.largest_error <= TOLERANCE
        raise typer.Exit(IDENTIFIED if is_recovered else NOT_IDENTIFIED)
    leave_with(found)
