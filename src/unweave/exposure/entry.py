"""The door to an audit: identification under every form of answers, with one budget for all."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.exposure.answers import FORMS, AnswerForm, FirstAnswers
from unweave.exposure.result import Audit, Exposure
from unweave.identification.identifier import identify
from unweave.identification.session import Progress
from unweave.networks.network import Network
from unweave.oracles.exposed import ExposedOracle
from unweave.oracles.journal.oracle import Journal
from unweave.oracles.oracle import MAX_BATCH, Domain, Oracle, as_oracle
from unweave.result import Result

# Points of a first look: enough for the spread of the answers to a tenth, and little beside any identification.
LOOKED = 64
NAMES = tuple(form.name for form in FORMS)


def audit(
    model: Any,
    *,
    inputs: int | None = None,
    outputs: int | None = None,
    output: str | None = None,
    domain: Domain | None = None,
    forms: Sequence[str] | None = None,
    budget: int | None = None,
    seconds: float | None = None,
    rate: float | None = None,
    max_batch: int | None = None,
    price_per_1000: float | None = None,
    seed: int = 0,
    journal: str | Path | Journal | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Find out how much of a model its answers give away, in every form in which a service may give them.

    Args:
        model: what `identify` takes: a callable on a batch, a torch module, a fitted estimator, the path of an ONNX
            file or of a saved network, or an `Oracle`.
        inputs: number of inputs; needed for a plain callable.
        outputs: number of outputs; learnt from the first answer if omitted.
        output: name of the output of an ONNX file that is asked, if it has several.
        domain: where the model may be asked.
        forms: names of the forms of answers that are tried, such as "4 decimals"; all if omitted.
        budget: the largest number of queries of the whole audit; never exceeded. Forms are tried in the order of the
            table, so that what shows most is tried first.
        seconds: the time after which no other form is begun, and the present one ends; no limit if omitted.
        rate: requests per second that the service allows, for the time that an attacker needs.
        max_batch: queries that the service takes in one request, for the same; if omitted, as many as are sent to a
            server that is asked, and 1000 for other models.
        price_per_1000: what a thousand queries cost, for the price.
        seed: the same seed gives the same audit.
        journal: file in which every answer is kept before it is used; the same call goes on there after it was ended.
        progress: called with the name of the stage and the queries so far.

    Returns:
        One line per form of answers: outcome, reason, queries; and what defences buy.

    Raises:
        InvalidInput: wrong arguments; nothing was queried.
        OracleError: the model raised or gave a bad answer.
    """
    chosen = _chosen(forms)
    for name, value in (("seconds", seconds), ("rate", rate), ("price_per_1000", price_per_1000)):
        if value is not None and not (isinstance(value, int | float) and value > 0 and math.isfinite(value)):
            raise InvalidInput(f"audit needs {name} to be a positive number, got {value!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"audit needs a seed of at least 0, got {seed!r}.")
    if max_batch is not None and (isinstance(max_batch, bool) or not isinstance(max_batch, int) or max_batch < 1):
        raise InvalidInput(f"audit needs max_batch to be a whole number of at least 1, got {max_batch!r}.")
    oracle = as_oracle(
        model, inputs=inputs, outputs=outputs, domain=domain, budget=budget, output=output, journal=journal
    )
    needed = LOOKED + oracle.probes
    if oracle.ledger.left < needed:
        raise InvalidInput(f"audit needs a budget of more than {needed} queries for a first look, got {budget}.")
    end = math.inf if seconds is None else time.monotonic() + seconds
    before = oracle.ledger.sent
    first = _look(oracle, seed)
    together = max_batch or (oracle.points_at_once if oracle.is_remote else MAX_BATCH)
    found = tuple(
        _exposed(form, oracle, first, max_batch=together, seed=seed, end=end, progress=progress) for form in chosen
    )
    looked = oracle.ledger.sent - before - sum(each.queries for each in found)
    return Audit(found, looked, rate, price_per_1000, together)


def _chosen(names: Sequence[str] | None) -> tuple[AnswerForm, ...]:
    if names is None:
        return FORMS
    if isinstance(names, str) or not names or not all(name in NAMES for name in names):
        raise InvalidInput(f"audit needs forms of answers out of {', '.join(NAMES)}, got {names!r}.")
    return tuple(form for form in FORMS if form.name in names)


def _look(oracle: Oracle, seed: int) -> FirstAnswers:
    """Ask at some points of the domain, to see what kind of answers they are."""
    rng = np.random.default_rng([seed, LOOKED])
    center, scale = oracle.domain.frame(oracle.inputs)
    points = center + scale * oracle.domain.sample_standard(rng, LOOKED, oracle.inputs, 0.0)
    return FirstAnswers(oracle.query(points), rng)


def _exposed(
    form: AnswerForm,
    oracle: Oracle,
    first: FirstAnswers,
    *,
    max_batch: int,
    seed: int,
    end: float,
    progress: Progress | None,
) -> Exposure:
    """Identify the model under one form of answers, with what is left of budget and time."""
    useless = form.useless(first)
    if useless:
        return Exposure(form.name, form.shows, form.defence, None, useless)
    left, time_left = oracle.ledger.left, end - time.monotonic()
    if left < 1 or time_left <= 0:
        said = "the budget was spent before." if left < 1 else "the time was over before."
        return Exposure(form.name, form.shows, form.defence, None, said, is_cut_short=True)
    shown = ExposedOracle(
        oracle,
        lambda values: form.show(values, first),
        max_batch=max_batch,
        budget=int(left) if left < math.inf else None,
    )
    begin = time.perf_counter()

    def tell(stage: str, queries: int) -> None:
        """Say which form it is."""
        if progress is not None:
            progress(f"{form.name}: {stage}", queries)

    found = identify(shown, seconds=time_left if time_left < math.inf else None, seed=seed, progress=tell)
    return _line(form, shown, found, time.perf_counter() - begin)


def _line(form: AnswerForm, shown: ExposedOracle, found: Result, seconds: float) -> Exposure:
    certificate, network = found.certificate, found.network
    if network is not None and _is_constant(network):
        # Labels that are all the same have shown nothing of the function.
        certificate = network = None
    return Exposure(
        form.name,
        form.shows,
        form.defence,
        found.outcome,
        found.reason,
        queries=shown.ledger.sent,
        requests=shown.requests,
        seconds=seconds,
        parameters=0 if network is None else network.parameters,
        error=None if certificate is None or network is None else certificate.rms_error,
        radius=None if certificate is None or network is None else certificate.radius,
        is_cut_short=shown.was_refused and not found.is_identified,
    )


def _is_constant(network: Network) -> bool:
    return sum(network.widths) == 0 and (network.skip is None or not np.any(network.skip))
