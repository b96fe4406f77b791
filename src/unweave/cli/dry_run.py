"""What an identification would cost, after at most 50 queries: `unweave identify TARGET --dry-run`."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unweave.cli.console import show, show_json
from unweave.writing import envelope

if TYPE_CHECKING:
    from rich.table import Table

    from unweave.identification.estimate import Effort
    from unweave.oracles.oracle import Oracle
    from unweave.oracles.views import NoiseFloor


@dataclass(frozen=True)
class Prospect:
    """What is known of a model after a look at it.

    Args:
        inputs, outputs: of the model.
        queries: that the look has taken.
        answers: what kind of answers they are, in words.
        efforts: what an identification takes, for one width or several; none where nothing is known.
        seconds_per_request: at the given rate, or as measured; None for a model in this process without a rate.
        price: of a thousand queries; None if nobody has said it.
    """

    inputs: int
    outputs: int
    queries: int
    answers: str
    efforts: "tuple[Effort, ...]"
    seconds_per_request: float | None
    price: float | None


def look_at(
    oracle: "Oracle",
    *,
    neurons: int | None,
    seed: int,
    rate: float | None,
    max_batch: int | None,
    price: float | None,
) -> Prospect:
    """Ask what an identification asks first, and estimate the rest; a journal keeps these answers for it.

    Args:
        oracle: that is asked.
        neurons, seed: of the identification.
        rate: requests per second, also where a function of the user makes them.
        max_batch: points in a request; what the oracle sends together if omitted.
        price: of a thousand queries.
    """
    import numpy as np

    from unweave.identification.estimate import are_whole_numbers, estimate, rounded_rule
    from unweave.identification.session import Session
    from unweave.oracles.oracle import MAX_BATCH, Box
    from unweave.oracles.views import NoiseLook

    began = time.perf_counter()
    noise = NoiseLook()(oracle, Session(oracle, np.random.default_rng(seed)).rng_probe)
    # The look asks twice, and once more where there may be kinks.
    measured = (time.perf_counter() - began) / 2
    is_in_box = isinstance(oracle.domain, Box)
    together = max_batch or (oracle.points_at_once if oracle.is_remote or rate is None else MAX_BATCH)
    is_label = noise.is_deterministic and are_whole_numbers(oracle)
    # Nothing was measured behind labels.
    efforts = (
        ()
        if is_label
        else estimate(
            inputs=oracle.inputs,
            is_in_box=is_in_box,
            neurons=neurons,
            max_batch=together,
            rounded=rounded_rule(oracle) if noise.is_deterministic else None,
        )
    )
    slowest = max(measured if oracle.is_remote else 0.0, 1.0 / rate if rate else 0.0)
    return Prospect(
        inputs=oracle.inputs,
        outputs=noise.values.shape[1],
        queries=oracle.ledger.sent,
        answers=_answers(oracle, noise),
        efforts=efforts,
        seconds_per_request=slowest if oracle.is_remote or rate is not None else None,
        price=price,
    )


def _answers(oracle: "Oracle", noise: "NoiseFloor") -> str:
    """Say what kind of answers they are."""
    import numpy as np

    from unweave.identification.estimate import are_whole_numbers, seen_kind
    from unweave.oracles.views import are_probabilities

    if not noise.is_deterministic:
        exactness = "that change when they are asked again"
    elif are_whole_numbers(oracle):
        return "whole numbers, as class labels are: ask for scores or probabilities instead"
    elif (grid := seen_kind(oracle)) is not None:
        exactness = f"rounded to {grid.name}"
    else:
        exactness = f"of about {-np.log10(oracle.ledger.answer_digits):.0f} digits"
    return f"{'probabilities' if are_probabilities(noise.values) else 'numbers'} {exactness}"


def show_prospect(prospect: Prospect, *, as_json: bool) -> None:
    """Print an estimate on stdout."""
    if as_json:
        show_json(_document(prospect))
        return
    show(
        f"{prospect.inputs} inputs, {prospect.outputs} outputs, {prospect.answers}. "
        f"{prospect.queries} queries were asked; nothing was identified."
    )
    if not prospect.efforts:
        show("There is no estimate for such answers.")
        return
    show(_table(prospect))
    for network, meaning in dict.fromkeys((each.network, each.meaning) for each in prospect.efforts):
        show(f"{network}: {meaning}.")


def _table(prospect: Prospect) -> "Table":
    from rich.table import Table

    table = Table(title="One hidden layer takes about; deeper networks take more", title_justify="left")
    timed = ("requests", "time") if prospect.seconds_per_request is not None else ()
    priced = ("price",) if prospect.price is not None else ()
    table.add_column("network")
    for column in ("neurons", "queries", *timed, *priced):
        table.add_column(column, justify="right")
    for effort in prospect.efforts:
        cells = [effort.network, f"{effort.neurons:,}", str(effort.queries)]
        if prospect.seconds_per_request is not None:
            seconds = effort.requests.times(prospect.seconds_per_request)
            cells += [str(effort.requests), " to ".join(dict.fromkeys(map(_duration, seconds)))]
        if prospect.price is not None:
            cells.append(" to ".join(f"{each:,.2f}" for each in effort.queries.times(prospect.price / 1000)))
        table.add_row(*cells)
    return table


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 else "1 s"


def _document(prospect: Prospect) -> dict[str, Any]:
    pace = prospect.seconds_per_request
    efforts = [
        {
            "network": effort.network,
            "meaning": effort.meaning,
            "neurons": effort.neurons,
            "queries": [effort.queries.least, effort.queries.most],
            "requests": [effort.requests.least, effort.requests.most],
            "seconds": None if pace is None else list(effort.requests.times(pace)),
            "price": None if prospect.price is None else list(effort.queries.times(prospect.price / 1000)),
        }
        for effort in prospect.efforts
    ]
    told = {"inputs": prospect.inputs, "outputs": prospect.outputs, "queries": prospect.queries}
    return envelope("estimate") | told | {"answers": prospect.answers, "efforts": efforts}
