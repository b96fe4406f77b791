"""Identify a shallow smooth network from queries: Hessians, subspace, atoms, profiles, refinement.

Every stage hands one frozen object to the next. A mathematical failure ends the run with an outcome
and a reason, never with a wrong network.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import numpy as np

from unweave._kernels import limited_threads
from unweave.activations import IDENTITY, Activation
from unweave.certificates import Certificate, certify
from unweave.decompositions.subspace_power import Directions, SubspacePower
from unweave.diagnostics import diagnose
from unweave.exceptions import BudgetExhausted
from unweave.identification import verdicts
from unweave.identification.answers import Answers
from unweave.identification.candidates import EXPLAINED, Candidate, best_candidate, likely_networks
from unweave.identification.result import Identification
from unweave.identification.stages import FIRST_HESSIANS, Span, StageFailed, active_frame, measure_span
from unweave.measurements.derivatives import HessianSample, measure_hessians
from unweave.measurements.steps import FunctionScale, function_scale, measure_flatness, scale_points
from unweave.networks import Network
from unweave.oracles.noise import NoiseFloor, measure_noise
from unweave.oracles.oracle import Oracle
from unweave.oracles.standard import StandardOracle, standardise
from unweave.outcomes import Diagnostic, Outcome, at_most
from unweave.refinement import LevenbergMarquardt
from unweave.symmetries import equivalent_names

Progress = Callable[[str, int], None]

# Change on asking again, relative to the spread of the answers, above which there is no function.
LARGEST_REPEAT = 1e-2
# Relative change of second differences between two fine steps above which kinks are looked for.
SMOOTH_ROUGHNESS = 0.2
MOSTLY_FLAT = 0.5
# Residual, relative to the spread, up to which a first network is good enough to measure against.
SECOND_LOOK = 0.3


@dataclass(frozen=True)
class ShallowIdentifier:
    """Settings of the pipeline for shallow smooth networks.

    Args:
        activation: the activation, if it is known.
        neurons: the number of neurons, if it is known.
        power: how directions are found in the span of the Hessians.
        refine: how the network is refined.
    """

    activation: Activation | None = None
    neurons: int | None = None
    power: SubspacePower = field(default_factory=SubspacePower)
    refine: LevenbergMarquardt = field(default_factory=LevenbergMarquardt)

    def __call__(self, oracle: Oracle, *, seed: int = 0, progress: Progress | None = None) -> Identification:
        """Recover the network behind `oracle`, or say why that is not possible."""
        run = _Run(self, oracle, np.random.default_rng(seed), progress or (lambda *_: None))
        with limited_threads():
            return run.result()


class _Run:
    """One identification: the oracle, the randomness, and what has been learnt so far."""

    def __init__(
        self, settings: ShallowIdentifier, oracle: Oracle, rng: np.random.Generator, progress: Progress
    ) -> None:
        self._settings = settings
        self._raw = oracle
        # One stream per purpose, so that more Hessians do not change the fresh points.
        self._rng_probe, self._rng_hessians, self._rng_power, self._rng_fit, self._rng_fresh = rng.spawn(5)
        self._progress = progress
        self._seconds: dict[str, float] = {}
        self._diagnostics: list[Diagnostic] = []
        self._notes: list[str] = []

    def result(self) -> Identification:
        try:
            return self._identify()
        except StageFailed as failure:
            return self._finish(Outcome.NOT_IDENTIFIED, str(failure))
        except BudgetExhausted as failure:
            return self._finish(Outcome.NOT_IDENTIFIED, f"the budget is too small: {failure}")

    def _identify(self) -> Identification:
        with self._stage("probing the answers"):
            oracle, answers, scale = self._probe()
            if scale.roughness > SMOOTH_ROUGHNESS or scale.second < 1e3 * scale.noise:
                self._check_kinks(oracle, scale)
        with self._stage("measuring Hessians"):
            first = self._first_hessians(oracle, scale)
            frame = active_frame(first, error=scale.hessian_error)
        if frame.shape[1] == 0:
            return self._affine(oracle, answers, scale)
        best = self._attempt(oracle, answers, scale, first)
        if not best.explains and best.certificate.rms_error <= SECOND_LOOK:
            best = self._second_look(oracle, answers, scale, best)
        if not best.explains:
            with suppress(BudgetExhausted):
                self._check_kinks(oracle, scale)
        return self._judge(oracle, best)

    def _attempt(
        self,
        oracle: StandardOracle,
        answers: Answers,
        scale: FunctionScale,
        first: HessianSample,
        model: Network | None = None,
    ) -> Candidate:
        """All stages from the first Hessians to a refined network; with a `model`, measured against it."""
        with self._stage("measuring Hessians"):
            frame = active_frame(first, error=scale.hessian_error)
            outside = np.mean(first.gradients - first.gradients @ frame @ frame.T, axis=0)
            span = measure_span(
                oracle,
                first.along(frame),
                scale,
                self._rng_hessians,
                neurons=self._settings.neurons,
                model=model,
            )
        with self._stage("finding directions"):
            directions = self._settings.power(span.subspace, self._rng_power)
            _check_directions(span, directions)
        with self._stage("reading neurons"):
            networks = likely_networks(span, directions, activation=self._settings.activation, outside=outside)
            likeliest = next(networks)
        with self._stage("refining"):
            starts = itertools.chain([likeliest], networks)
            return best_candidate(starts, span, directions, answers, refine=self._settings.refine, noise=scale.noise)

    def _second_look(
        self, oracle: StandardOracle, answers: Answers, scale: FunctionScale, best: Candidate
    ) -> Candidate:
        """Measure again, against the network found: what it misses shows at larger steps, with less noise."""
        difference = scale.of_difference(best.certificate.rms_error)
        try:
            with self._stage("measuring Hessians"):
                first = self._first_hessians(oracle, difference, model=best.network)
            again = self._attempt(oracle, answers, difference, first, model=best.network)
        except (StageFailed, BudgetExhausted):
            return best
        return min(best, again, key=lambda candidate: candidate.certificate.rms_error)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self._progress(name, self._raw.ledger.answered)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - start
            self._progress(name, self._raw.ledger.answered)

    def _probe(self) -> tuple[StandardOracle, Answers, FunctionScale]:
        """Measure the noise, choose units, and look at the function's scale; all answers are kept."""
        noise = measure_noise(self._raw, self._rng_probe)
        self._check_repeats(noise)
        center, half_width = self._raw.domain.frame(self._raw.inputs)
        points = scale_points(self._raw, self._rng_probe)
        values = np.concatenate([noise.values, self._raw.query(center + half_width * points)])
        oracle = standardise(self._raw, values)
        standard = (values - oracle.offset) / oracle.size
        answers = Answers(oracle, self._rng_fit, self._rng_fresh)
        answers.keep(np.concatenate([oracle.to_standard(noise.points), points]), standard, are_spread=False)
        scale = function_scale(standard[len(noise.values) :], noise=noise.deviation / oracle.size)
        return oracle, answers, scale

    def _check_repeats(self, noise: NoiseFloor) -> None:
        spread = float(np.max(np.std(noise.values, axis=0)))
        self._diagnostics.append(
            at_most(
                "change when asked again, relative to the spread",
                noise.repeat_spread / spread if spread > 0 else 0.0,
                LARGEST_REPEAT,
                "a black box that answers at random is not a function",
            )
        )
        if noise.repeat_spread > LARGEST_REPEAT * spread:
            raise StageFailed(verdicts.changing_answers(noise, spread))

    def _check_kinks(self, oracle: StandardOracle, scale: FunctionScale) -> None:
        flatness = measure_flatness(oracle, scale.noise, self._rng_probe)
        self._diagnostics.append(
            at_most(
                "share of places that are straight nearby and bent farther away",
                flatness,
                MOSTLY_FLAT,
                "piecewise linear activations (ReLU) have kinks instead of curvature",
            )
        )
        if flatness > MOSTLY_FLAT:
            raise StageFailed(verdicts.piecewise_linear(flatness))

    def _first_hessians(
        self, oracle: StandardOracle, scale: FunctionScale, model: Network | None = None
    ) -> HessianSample:
        points = oracle.sample(self._rng_hessians, FIRST_HESSIANS, margin=2 * scale.hessian_step)
        return measure_hessians(oracle, points, step=scale.hessian_step, model=model)

    def _affine(self, oracle: StandardOracle, answers: Answers, scale: FunctionScale) -> Identification:
        """No curvature was seen: fit an affine function and let fresh answers judge it."""
        with self._stage("refining"):
            answers.prepare((oracle.inputs + 1) * oracle.outputs)
            lifted = np.hstack([answers.points, np.ones((len(answers.points), 1))])
            solution = np.linalg.lstsq(lifted, answers.values, rcond=None)[0]
            network = verdicts.affine_network(solution[:-1].T, solution[-1], IDENTITY)
            certificate = certify(
                network,
                points=answers.points,
                values=answers.values,
                fresh_points=answers.fresh_points,
                fresh_values=answers.fresh_values,
                noise=scale.noise,
            )
        if certificate.rms_error > EXPLAINED * answers.floor(network, scale.noise):
            self._check_kinks(oracle, scale)
            raise StageFailed(verdicts.hidden_bends(certificate.rms_error, scale.noise, FIRST_HESSIANS))
        kind = "a constant" if np.max(np.abs(solution[:-1]), initial=0.0) < 1e-12 else "an affine"
        self._notes.append(
            f"The answers are those of {kind} function on this domain: no hidden neuron is visible, none is reported."
        )
        reason = f"{kind} function: no neuron bends it."
        return self._finish(Outcome.IDENTIFIED, reason, verdicts.in_oracle_units(network, oracle), certificate)

    def _judge(self, oracle: StandardOracle, best: Candidate) -> Identification:
        self._diagnostics += diagnose(best.span.subspace, best.directions, best.fit, best.network, best.certificate)
        outcome, reason = verdicts.outcome_of(best)
        if not best.explains and self._raw.ledger.left < best.network.parameters:
            self._notes.append("The budget was used up before anything else could be tried: raise it.")
        if outcome is Outcome.NOT_IDENTIFIED:
            return self._finish(outcome, reason)
        network = verdicts.as_delivered(best, oracle, self._settings.activation)
        if network.skip is not None and network.layers[0].activation.reflection.slope != 0.0:
            self._notes.append(
                "This activation leaves the signs of neurons open up to an affine part: the network carries one (skip)."
            )
        return self._finish(outcome, reason, network, best.certificate)

    def _finish(
        self,
        outcome: Outcome,
        reason: str,
        network: Network | None = None,
        certificate: Certificate | None = None,
    ) -> Identification:
        names = equivalent_names(network.layers[0].activation) if network is not None and network.widths[0] > 0 else ()
        return Identification(
            outcome=outcome,
            reason=reason,
            network=network,
            certificate=certificate,
            diagnostics=tuple(self._diagnostics),
            queries=self._raw.ledger.answered,
            equivalent_activations=names,
            notes=tuple(self._notes),
            seconds=dict(self._seconds),
        )


def _check_directions(span: Span, directions: Directions) -> None:
    """Go on with most of the atoms: a rank that noise has raised leaves some that do not exist."""
    if 2 * len(directions.atoms) < directions.rank or len(directions.atoms) == 0:
        raise StageFailed(verdicts.missing_directions(span, directions))
