"""One identification while it runs: the oracle, the randomness, and the record of what it cost and what was asked.

At the end, what was asked for: the arguments of a call that differ from their defaults, as reports and JSON hold them.
Nothing secret is among them: of an address what is shown of it, and of an oracle its name and sizes, no headers.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from unweave.activations import Activation, equivalent_names
from unweave.arrays import Points, Values
from unweave.certificates.certify import Certificate
from unweave.networks.network import Layer, Network
from unweave.oracles.journal.oracle import Journal
from unweave.oracles.ledger import Ledger
from unweave.oracles.oracle import Box, Domain, Everywhere, Oracle, name_of_object
from unweave.result import Cost, Diagnostic, InputRanges, Outcome, Result, RouteChoice
from unweave.writing import Document, for_json

Progress = Callable[[str, int], None]
Given = ParamSpec("Given")
AnyResult = TypeVar("AnyResult", bound=Result)

# Arguments that say nothing about the result.
UNRECORDED = ("progress",)


class Session:
    """The oracle of an identification, its random streams, and its record: time, queries, notes and diagnostics."""

    def __init__(self, oracle: Oracle, rng: np.random.Generator, progress: Progress | None = None) -> None:
        self._record = Record(oracle, progress or (lambda *_: None))
        self.oracle = WatchedOracle(oracle, self._record.watch)
        # One stream per purpose, so that more Hessians do not change the fresh points.
        self.rng_probe, self.rng_hessians, self.rng_power, self.rng_fit, self.rng_fresh, self.rng_walk = rng.spawn(6)
        self.diagnostics: list[Diagnostic] = []
        self.notes: list[str] = []
        self._rounding = ""
        self.fresh_errors: tuple[float, ...] = ()

    def saw(self, neurons: int, *, queries_per_parameter: int = 50) -> None:
        """Allow as many queries more as reading so many neurons may cost, where the user has given no budget.

        Args:
            neurons: how many were seen so far.
            queries_per_parameter: that a run may go on for: twice what random ReLU networks in boxes take, the dearest
                kind that is identified.
        """
        oracle = self.oracle
        oracle.ledger.allow(queries_per_parameter * neurons * (oracle.inputs + 1 + (oracle.outputs or 1)))

    def note_rounding(self, said: str) -> None:
        """Record how answers were rounded, which is the reason of what is not identified, and a note otherwise."""
        self._rounding = said

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Time a stage, count its queries, and report its beginning and end."""
        return self._record.stage(name)

    def finish(
        self,
        outcome: Outcome,
        reason: str,
        network: Network | None = None,
        certificate: Certificate | None = None,
        *,
        route: str = "",
        routes: tuple[RouteChoice, ...] = (),
        first_layer: Layer | None = None,
        is_imitation: bool = False,
    ) -> Result:
        """Put the result together with the record."""
        has_neurons = network is not None and network.widths[0] > 0 and not is_imitation
        names = equivalent_names(network.layers[0].activation) if network is not None and has_neurons else ()
        if self._rounding:
            if outcome is Outcome.NOT_IDENTIFIED:
                reason = f"{reason} {self._rounding}"
            else:
                self.notes.append(self._rounding)
        return Result(
            outcome=outcome,
            reason=reason,
            network=network,
            certificate=certificate,
            diagnostics=tuple(self.diagnostics),
            equivalent_activations=names,
            notes=tuple(self.notes),
            cost=self._record.cost,
            route=route,
            routes=routes,
            first_layer=first_layer,
            is_imitation=is_imitation,
            fresh_errors=self.fresh_errors if certificate is not None else (),
            ranges=self._record.ranges,
        )


class Record:
    """Time and queries of stages, and the ranges that were asked. Nothing is decided by it.

    Args:
        oracle: who is asked; its ledger is read, never changed.
        progress: called with the name of a stage and the queries so far, when it begins and when it ends.
    """

    def __init__(self, oracle: Oracle, progress: Progress) -> None:
        self._ledger: Ledger = oracle.ledger
        self._domain, self._inputs = oracle.domain, oracle.inputs
        self._progress = progress
        self._seconds: dict[str, float] = {}
        self._queries: dict[str, int] = {}
        # Stages that are under way, the innermost last, and how many queries their turns have counted.
        self._stages: list[str] = []
        self._counted = self._ledger.sent
        self._lower, self._upper = np.full(oracle.inputs, np.inf), np.full(oracle.inputs, -np.inf)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, count its queries, and report its beginning and end."""
        self._count()
        self._stages.append(name)
        self._progress(name, self._ledger.sent)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - start
            self._count()
            self._stages.pop()
            self._progress(name, self._ledger.sent)

    def watch(self, points: Points) -> None:
        """Note where the model was asked."""
        if len(points):
            self._lower = np.minimum(self._lower, np.min(points, axis=0))
            self._upper = np.maximum(self._upper, np.max(points, axis=0))

    @property
    def cost(self) -> Cost:
        """What was spent so far."""
        queries = {name: self._queries.get(name, 0) for name in self._seconds}
        return Cost(queries=self._ledger.sent, seconds=dict(self._seconds), stage_queries=queries)

    @property
    def ranges(self) -> InputRanges | None:
        """Where the model was asked so far; None before the first answer."""
        if not np.all(np.isfinite(self._lower)):
            return None
        center, scale = self._domain.frame(self._inputs)
        parts = (tuple(map(float, each)) for each in (self._lower, self._upper, center, scale))
        return InputRanges(*parts, is_box=isinstance(self._domain, Box))

    def _count(self) -> None:
        """Charge queries since the last change of stages to the innermost one."""
        sent = self._ledger.sent
        if self._stages:
            name = self._stages[-1]
            self._queries[name] = self._queries.get(name, 0) + sent - self._counted
        self._counted = sent


class WatchedOracle(Oracle):
    """Ask another oracle, and tell somebody of every batch that was answered.

    Args:
        oracle: who answers; its ledger counts the queries and keeps the budget.
        watch: called with the points.
    """

    def __init__(self, oracle: Oracle, watch: Callable[[Points], None]) -> None:
        super().__init__(inputs=oracle.inputs, outputs=oracle.outputs, domain=oracle.domain)
        self._oracle, self._watch, self.ledger = oracle, watch, oracle.ledger

    def _answer(self, points: Points) -> Values:
        return self._oracle.query(points)

    def query(self, points: Points) -> Values:
        """Ask for the answers at `points`, with the checks of the oracle that answers."""
        values = self._answer(points)
        self.outputs = self._oracle.outputs
        self._watch(points)
        return values


def recording_settings(door: Callable[Given, AnyResult]) -> Callable[Given, AnyResult]:
    """Let the results of a function know the arguments that it was called with."""
    called = signature(door)

    @wraps(door)
    def recorded(*args: Given.args, **kwargs: Given.kwargs) -> AnyResult:
        found = door(*args, **kwargs)
        (_, model), *others = called.bind(*args, **kwargs).arguments.items()
        given = {name: _recorded(value) for name, value in others if name not in UNRECORDED}
        told = {name: value for name, value in given.items() if value != _recorded(called.parameters[name].default)}
        return replace(found, settings={"call": door.__name__} | model_settings(model) | told)

    return recorded


def model_settings(model: object) -> Document:
    """Name a model, without anything that is secret; of an oracle, which knows more, what it was told as well."""
    if isinstance(model, Oracle):
        told = {"inputs": model.inputs, "domain": _recorded(model.domain), "budget": model.ledger.budget}
        usual = {"domain": _recorded(Everywhere()), "budget": None}
        differing = {name: value for name, value in told.items() if name not in usual or value != usual[name]}
        return {"model": model.name, "oracle": differing}
    if isinstance(model, str | Path):
        return {"model": _shown(str(model))}
    return {"model": name_of_object(model)}


def _shown(place: str) -> str:
    if not place.startswith(("http://", "https://")):
        return place
    from unweave.oracles.http.secrets import shown_address

    return shown_address(place)


def _recorded(value: Any) -> Any:
    """Write an argument as JSON can hold it."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Domain):
        return {"kind": type(value).__name__} | for_json(vars(value))
    if isinstance(value, Activation):
        return value.name
    if isinstance(value, Journal):
        value = value.path
    return str(value) if isinstance(value, Path) else for_json(value)
