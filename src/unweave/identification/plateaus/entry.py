"""The door to the lowest layer: thresholded units under anything, from the answers of the whole."""

from collections.abc import Callable

import numpy as np

from unweave.certificates.certify import Certificate
from unweave.exceptions import BudgetExhausted, InvalidInput, StageFailed
from unweave.identification.found import Found
from unweave.identification.plateaus.route import PlateauWalk, lowest_layer
from unweave.identification.plateaus.search import LowestLayerSearch
from unweave.identification.session import Progress, Session, recording_settings
from unweave.identification.walks.lines import remembered
from unweave.networks.network import Network
from unweave.oracles.oracle import Box, Domain, Oracle, as_oracle
from unweave.oracles.views import StandardOracle, answer_rounding
from unweave.result import Outcome, Result, RouteChoice, RouteEnd

ASKED_FOR = "the lowest layer was asked for."


@recording_settings
def identify_lowest_layer(
    model: Oracle | Network | Callable[..., object],
    *,
    inputs: int | None = None,
    outputs: int | None = None,
    domain: Domain | None = None,
    budget: int | None = None,
    quiet_lines: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result[Network, Certificate]:
    """Recover the rows of thresholded units under any upper layers from the answers of the whole.

    The model is ``P(u(w_1 x - t_1), ..., u(w_d x - t_d))`` with u a step or a ReLU and P any function; neither the
    number of rows, the thresholds nor P need be known, and thresholds need not be high.

    Args:
        model: a callable on a batch (points x inputs -> points x outputs), or an `Oracle`.
        inputs: number of inputs; needed for a plain callable.
        outputs: number of outputs; learnt from the first answer if omitted.
        domain: `Everywhere(scale=..., center=...)`; where ReLUs are all off near its centre they are found.
        budget: the largest number of queries; never exceeded. About 80 per weight are needed.
        quiet_lines: lines that must meet no other row before the search ends; chosen if omitted.
        seed: the same seed gives the same queries and the same result.
        progress: called with the name of the stage and the queries so far.

    Returns:
        Partly identified, with unit rows and minus the thresholds as biases in `first_layer`, or not identified. Rows
        point away from the place where all of them are off; for steps that is a convention.

    Raises:
        InvalidInput: wrong arguments; nothing was queried.
        OracleError: the model raised or gave a bad answer.

    Assumes: answers without noise.
    """
    for name, count in (("seed", seed), ("quiet_lines", quiet_lines)):
        least = 0 if name == "seed" else 1
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < least):
            raise InvalidInput(f"identify_lowest_layer needs {name} of at least {least}, got {count!r}.")
    oracle = as_oracle(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget)
    if isinstance(oracle.domain, Box):
        raise InvalidInput(
            f"identify_lowest_layer needs answers far from the centre, got the domain {oracle.domain}: give "
            "Everywhere(scale=...)."
        )
    session = Session(oracle, np.random.default_rng(seed), progress)
    session.notes.append(f"Route: {PlateauWalk.name}, because {ASKED_FOR}")
    try:
        with session.stage("leaving plateaus"):
            found = _leave_plateaus(session, LowestLayerSearch(quiet_lines=quiet_lines))
    except StageFailed as failure:
        return _finished(session, Found(str(failure)))
    except BudgetExhausted as failure:
        return _finished(session, Found(failure.reason))
    return _finished(session, found)


def _leave_plateaus(session: Session, search: LowestLayerSearch) -> Found:
    oracle = session.oracle
    center, half_width = oracle.domain.frame(oracle.inputs)
    ask = remembered(lambda points: oracle.query(center + half_width * points))
    # The first answer tells the number of outputs and how exact answers are.
    outputs = ask(search.beside_centre * session.rng_walk.standard_normal((1, oracle.inputs))).shape[1]
    found = search(ask, oracle.inputs, session.rng_walk, rounding=answer_rounding(oracle))
    standard = StandardOracle(oracle, center, half_width, np.zeros(outputs), np.ones(outputs))
    return lowest_layer(found, standard)


def _finished(session: Session, found: Found) -> Result:
    session.diagnostics += found.checks
    first, route = found.first_layer, PlateauWalk.name
    if first is None:
        choice = RouteChoice(route, RouteEnd.NOTHING, ASKED_FOR, found.reason)
        return session.finish(Outcome.NOT_IDENTIFIED, found.reason, route=route, routes=(choice,))
    choice = RouteChoice(route, RouteEnd.FIRST_LAYER, ASKED_FOR, found.reason)
    return session.finish(
        Outcome.PARTLY_IDENTIFIED, first.reason, route=route, routes=(choice,), first_layer=first.layer
    )
