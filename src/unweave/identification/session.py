"""One identification while it runs: the oracle, the randomness, and what has been learnt so far."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from unweave.activations import Activation
from unweave.certificates.certify import Certificate
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.answer_pool import Answers
from unweave.identification.function_scale import FunctionScale, function_scale, measure_flatness, scale_points
from unweave.networks.network import Layer, Network
from unweave.networks.symmetries import equivalent_names
from unweave.oracles.logits import LogitsOracle, are_probabilities
from unweave.oracles.noise import NoiseFloor, measure_noise
from unweave.oracles.oracle import Oracle
from unweave.oracles.standard import StandardOracle, standardise
from unweave.result import Cost, Diagnostic, Outcome, Result, at_most


@dataclass(frozen=True)
class FirstLayer:
    """The first hidden layer of a network that is not shallow.

    Args:
        standard: in standard coordinates.
        layer: in the oracle's units.
        reason: what is said about it if nothing more is found.
    """

    standard: Layer
    layer: Layer
    reason: str


Progress = Callable[[str, int], None]

# Change on asking again, relative to the spread of the answers, above which there is no function.
LARGEST_REPEAT = 1e-2
# Share of places that are straight nearby and bent farther away, above which there are kinks.
MOSTLY_FLAT = 0.25
# Places that the units of the answers are chosen from, beside those of the first lines.
SPREAD_POINTS = 12
# Rounding of answers against the terms that they add up, in units of the last digit: what is seen
# for sums of a few hundred terms in float64, and for answers that were only rounded in the end.
DOUBLE_ROUNDING, SINGLE_ROUNDING = 4.0, 0.5


@dataclass(frozen=True)
class Probe:
    """What the first answers say: units, noise, and the scale of the function.

    Args:
        oracle: in standard coordinates.
        answers: all answers that may be fitted.
        scale: of the function, near the centre of the domain.
        rounding: error of an answer relative to the size of the terms that it adds up.
    """

    oracle: StandardOracle
    answers: Answers
    scale: FunctionScale
    rounding: float


def answer_rounding(oracle: Oracle) -> float:
    """Rounding of answers, as seen so far, relative to the size of the terms that they add up."""
    digits = oracle.ledger.answer_digits
    return (DOUBLE_ROUNDING if digits < 1e-12 else SINGLE_ROUNDING) * digits


class Run:
    """The oracle of a run, its random streams, and its record: time, notes and diagnostics."""

    def __init__(
        self,
        oracle: Oracle,
        rng: np.random.Generator,
        progress: Progress,
        *,
        activation: Activation | None,
        neurons: int | None,
    ) -> None:
        self.oracle, self.activation, self.neurons = oracle, activation, neurons
        # One stream per purpose, so that more Hessians do not change the fresh points.
        self.rng_probe, self.rng_hessians, self.rng_power, self.rng_fit, self.rng_fresh, self.rng_walk = rng.spawn(6)
        self.diagnostics: list[Diagnostic] = []
        self.notes: list[str] = []
        self.route = ""
        # Whether the function was seen to bend far from the centre, where an affine function does not.
        self.bends_far = False
        # Known as soon as a walk has shown that the network is not shallow.
        self.first_layer: FirstLayer | None = None
        # Whether answers are probabilities, and what is identified are the logits behind them.
        self.gives_logits = False
        self._progress = progress
        self._seconds: dict[str, float] = {}

    def choose(self, route: str, why: str) -> None:
        """Note which way to the neurons is taken, and why."""
        self.route = route
        self.notes.append(f"Route: {route}, because {why}")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, and report its beginning and end."""
        self._progress(name, self.oracle.ledger.answered)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - start
            self._progress(name, self.oracle.ledger.answered)

    def probe(self) -> Probe:
        """Measure the noise, choose units, and look at the function's scale; all answers are kept."""
        noise = measure_noise(self.oracle, self.rng_probe)
        self._check_repeats(noise)
        if are_probabilities(noise.values):
            self.gives_logits, self.oracle = True, LogitsOracle(self.oracle)
            self.notes.append(reasons.gives_logits())
            noise = measure_noise(self.oracle, self.rng_probe)
        center, half_width = self.oracle.domain.frame(self.oracle.inputs)
        lines = scale_points(self.oracle, self.rng_probe)
        spread = self.oracle.domain.sample_standard(self.rng_probe, SPREAD_POINTS, self.oracle.inputs, 0.0)
        asked = np.concatenate([lines, spread])
        values = np.concatenate([noise.values, self.oracle.query(center + half_width * asked)])
        oracle = standardise(self.oracle, values)
        standard = (values - oracle.offset) / oracle.size
        first, last = len(noise.values), len(noise.values) + len(lines)
        answers = Answers(oracle, self.rng_fit, self.rng_fresh)
        answers.keep(np.concatenate([oracle.to_standard(noise.points), lines]), standard[:last], are_spread=False)
        answers.keep(spread, standard[last:], are_spread=True)
        scale = function_scale(standard[first:last], noise=noise.deviation / oracle.size)
        return Probe(oracle, answers, scale, answer_rounding(self.oracle))

    def has_kinks(self, probe: Probe) -> bool:
        """Whether the function is straight nearby and bent farther away."""
        flatness = measure_flatness(probe.oracle, probe.scale.noise, self.rng_probe)
        self.diagnostics.append(
            at_most(
                "share of places that are straight nearby and bent farther away",
                flatness,
                MOSTLY_FLAT,
                "piecewise linear activations (ReLU) have kinks instead of curvature: they are walked along",
                weak=1.0,
            )
        )
        return flatness > MOSTLY_FLAT

    def _check_repeats(self, noise: NoiseFloor) -> None:
        spread = float(np.max(np.std(noise.values, axis=0)))
        self.diagnostics.append(
            at_most(
                "change when asked again, relative to the spread",
                noise.repeat_spread / spread if spread > 0 else 0.0,
                LARGEST_REPEAT,
                "a black box that answers at random is not a function",
            )
        )
        if noise.repeat_spread > LARGEST_REPEAT * spread:
            raise StageFailed(reasons.changing_answers(noise, spread))

    def finish(
        self,
        outcome: Outcome,
        reason: str,
        network: Network | None = None,
        certificate: Certificate | None = None,
    ) -> Result:
        """The result of the run, with its record."""
        names = equivalent_names(network.layers[0].activation) if network is not None and network.widths[0] > 0 else ()
        return Result(
            outcome=outcome,
            reason=f"{reason} {reasons.gives_logits()}" if self.gives_logits and network is not None else reason,
            network=network,
            certificate=certificate,
            diagnostics=tuple(self.diagnostics),
            equivalent_activations=names,
            notes=tuple(self.notes),
            cost=Cost(queries=self.oracle.ledger.answered, seconds=dict(self._seconds)),
            route=self.route,
            first_layer=self.first_layer.layer if self.first_layer is not None and network is None else None,
        )
