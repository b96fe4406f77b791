"""Identify a shallow smooth network from queries: Hessians, subspace, atoms, profiles, refinement.

Every stage hands one frozen object to the next. A mathematical failure ends the run with an outcome
and a reason, never with a wrong network.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from unweave._kernels import limited_threads
from unweave.activations import ERF, GAUSSIAN, GELU, IDENTITY, SILU, SIN, SOFTPLUS, TANH, Activation
from unweave.assembly.profiles import ProfileFit, Profiles, fit_profiles, neuron_profiles
from unweave.assembly.shallow import absorb_skip, assemble, without_skip
from unweave.certificates import Certificate, certify
from unweave.decompositions.subspace_power import Directions, SubspacePower
from unweave.diagnostics import diagnose
from unweave.exceptions import BudgetExhausted
from unweave.identification.result import Identification
from unweave.identification.stages import FIRST_HESSIANS, Span, StageFailed, active_frame, measure_span
from unweave.measurements.derivatives import HessianSample, measure_hessians
from unweave.measurements.steps import FunctionScale, function_scale, measure_flatness, scale_points
from unweave.networks import Layer, Network
from unweave.oracles.noise import NoiseFloor, measure_noise
from unweave.oracles.oracle import Oracle
from unweave.oracles.standard import StandardOracle, standardise
from unweave.outcomes import Diagnostic, Outcome, at_most
from unweave.refinement import LevenbergMarquardt, Refinement
from unweave.symmetries import base_of, equivalent_names, express

Progress = Callable[[str, int], None]

KNOWN_ACTIVATIONS = (TANH, SOFTPLUS, GELU, ERF, SILU, SIN, GAUSSIAN)
# Neurons whose profiles decide on the activation.
JURY = 16
# Activations that are tried to the end if the best profile fit does not lead to an exact network.
TRIALS = 3
# Residual, in units of the noise, up to which a network explains the answers.
EXPLAINED = 10.0
# Residual, relative to the spread, up to which a network that does not explain everything is shown.
PARTLY_EXPLAINED = 1e-5
# Relative change of second differences between two fine steps above which kinks are looked for.
SMOOTH_ROUGHNESS = 0.2
# Answers per parameter in the refinement, and fresh ones in the certificate.
REFINEMENT_SURPLUS = 2.0
CERTIFICATE_SHARE = 0.4
SMALLEST_CERTIFICATE, LARGEST_CERTIFICATE = 16, 2_000
# Change on asking again, relative to the spread of the answers, above which there is no function.
LARGEST_REPEAT = 1e-2


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
        run = _Run(self, oracle, np.random.default_rng(seed), progress or (lambda stage, queries: None))
        with limited_threads():
            return run.result()


@dataclass(frozen=True)
class _Candidate:
    """A refined network in standard coordinates, judged on fresh answers."""

    refinement: Refinement
    certificate: Certificate
    fit: ProfileFit
    floor: float

    @property
    def explains(self) -> bool:
        return self.certificate.rms_error <= EXPLAINED * self.floor


class _Run:
    """One identification: the oracle, the randomness, and what has been learnt so far."""

    def __init__(self, settings: ShallowIdentifier, oracle: Oracle, rng: np.random.Generator, progress: Progress):
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
            noise = self._check_noise(measure_noise(self._raw, self._rng_probe))
            oracle, scale = self._standard(noise)
        with self._stage("measuring Hessians"):
            first = self._first_hessians(oracle, scale)
            frame = active_frame(first, error=scale.hessian_error)
        if frame.shape[1] == 0:
            return self._affine(oracle, scale)
        with self._stage("measuring Hessians"):
            outside = np.mean(first.gradients - first.gradients @ frame @ frame.T, axis=0)
            span = measure_span(
                oracle, first.along(frame), scale, self._rng_hessians, neurons=self._settings.neurons
            )
        with self._stage("finding directions"):
            directions = self._settings.power(span.subspace, self._rng_power)
            self._check_directions(span, directions)
        with self._stage("reading neurons"):
            profiles = neuron_profiles(span.sample, directions.atoms)
            fits = self._ranked_fits(profiles)
        with self._stage("refining"):
            best = self._best_candidate(oracle, scale, span, directions, profiles, fits, outside)
        self._diagnostics += diagnose(span, directions, best.fit, best.refinement.network, best.certificate)
        return self._judge(oracle, best)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self._progress(name, self._raw.ledger.answered)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - start
            self._progress(name, self._raw.ledger.answered)

    def _standard(self, noise: NoiseFloor) -> tuple[StandardOracle, FunctionScale]:
        """Choose units, look at the function's scale, and keep all answers for the refinement."""
        center, half_width = self._raw.domain.frame(self._raw.inputs)
        points = scale_points(self._raw, self._rng_probe)
        values = self._raw.query(center + half_width * points)
        oracle = standardise(self._raw, np.concatenate([noise.values, values]))
        self._known_points = np.concatenate([oracle.to_standard(noise.points), points])
        self._known_values = (np.concatenate([noise.values, values]) - oracle.offset) / oracle.size
        scale = function_scale((values - oracle.offset) / oracle.size, noise=noise.deviation / oracle.size)
        return oracle, scale

    def _check_noise(self, noise: NoiseFloor) -> NoiseFloor:
        spread = float(np.max(np.std(noise.values, axis=0)))
        if noise.repeat_spread > LARGEST_REPEAT * spread:
            raise StageFailed(
                f"the answers change between calls: asking the same points again moved them by "
                f"{noise.repeat_spread:.3g}, while they spread by {spread:.3g}. A network that answers at random "
                "(dropout, sampling, a model with a memory) can't be identified: query it in evaluation mode, or "
                "average its answers."
            )
        return noise

    def _first_hessians(self, oracle: StandardOracle, scale: FunctionScale) -> HessianSample:
        is_suspicious = scale.roughness > SMOOTH_ROUGHNESS or scale.second < 1e3 * scale.noise
        if is_suspicious:
            self._check_kinks(oracle, scale)
        points = oracle.sample(self._rng_hessians, FIRST_HESSIANS, margin=2 * scale.hessian_step)
        return measure_hessians(oracle, points, step=scale.hessian_step)

    def _check_kinks(self, oracle: StandardOracle, scale: FunctionScale) -> None:
        flatness = measure_flatness(oracle, scale.noise, self._rng_probe)
        self._diagnostics.append(
            at_most("share of places that are straight nearby and bent farther away", flatness, 0.5,
                    "piecewise linear activations (ReLU) have kinks instead of curvature")
        )  # fmt: skip
        if flatness > 0.5:
            raise StageFailed(
                f"the function is piecewise linear: at {flatness:.0%} of the places tried it is straight nearby and "
                "bent farther away, as ReLU networks are. Second derivatives carry no information about its kinks."
            )

    def _affine(self, oracle: StandardOracle, scale: FunctionScale) -> Identification:
        """No curvature was seen: fit an affine function and let fresh answers judge it."""
        with self._stage("refining"):
            count = 2 * (oracle.inputs + 1)
            points, values = self._ask(oracle, count)
            lifted = np.hstack([points, np.ones((count, 1))])
            solution = np.linalg.lstsq(lifted, values, rcond=None)[0]
            network = Network.shallow(
                weights=np.empty((0, oracle.inputs)),
                biases=np.empty(0),
                output_weights=np.empty((oracle.outputs, 0)),
                offset=solution[-1],
                activation=IDENTITY,
                skip=solution[:-1].T,
            )
            fresh_points, fresh_values = self._ask(oracle, max(SMALLEST_CERTIFICATE, count // 2))
            certificate = certify(
                network, points=points, values=values, fresh_points=fresh_points, fresh_values=fresh_values,
                noise=scale.noise,
            )  # fmt: skip
        if certificate.rms_error > EXPLAINED * max(scale.noise, 4 * np.finfo(float).eps):
            self._check_kinks(oracle, scale)
            raise StageFailed(
                f"no curvature was seen at the first {FIRST_HESSIANS} points, and yet the best affine function "
                f"misses fresh answers by {certificate.rms_error:.2e} of their spread (noise {scale.noise:.1e}): "
                "the neurons are saturated or linear there. Choose a domain (scale, center) where the function bends."
            )
        kind = "constant" if np.max(np.abs(network.skip), initial=0.0) < 1e-12 else "affine"
        self._notes.append(
            f"The answers are those of {'a' if kind == 'constant' else 'an'} {kind} function on this domain: "
            "no hidden neuron is visible, so none is reported."
        )
        return self._finish(
            Outcome.IDENTIFIED, f"the function is {kind}: no neuron bends it.", _in_oracle_units(network, oracle),
            certificate,
        )  # fmt: skip

    def _check_directions(self, span: Span, directions: Directions) -> None:
        if directions.is_complete:
            return
        found, rank = len(directions.atoms), directions.rank
        evidence = (
            f"{found} of {rank} directions found in the span of the Hessians (gap of the singular values "
            f"{span.subspace.gap:.3g}, {directions.starts} starts, {directions.rejected} ended at matrices that are "
            f"not of rank one, {directions.unconverged} did not settle)"
        )
        if found == 0 and rank == 1:
            raise StageFailed(
                f"every Hessian is a multiple of one matrix of higher rank: the function is quadratic, or a function "
                f"of one quadratic form, and its neurons are determined only up to a rotation. {evidence}."
            )
        raise StageFailed(
            f"{evidence}: the Hessians are not combinations of one rank-one matrix per neuron, so the function is "
            "not a shallow network on this domain (a deep one, perhaps), or the answers are too noisy for its size."
        )

    def _ranked_fits(self, profiles: Profiles) -> list[ProfileFit]:
        """Fit a jury of the strongest neurons with every candidate activation, best first."""
        given = self._settings.activation
        candidates = KNOWN_ACTIVATIONS if given is None else (base_of(given),)
        strength = np.linalg.norm(profiles.coefficients, axis=(0, 1))
        jury = np.argsort(-strength)[:JURY]
        fits = [fit_profiles(profiles, activation, neurons=jury) for activation in candidates]
        return sorted(fits, key=lambda fit: fit.typical_misfit)

    def _best_candidate(
        self, oracle: StandardOracle, scale: FunctionScale, span: Span, directions: Directions,
        profiles: Profiles, fits: list[ProfileFit], outside: np.ndarray,
    ) -> _Candidate:  # fmt: skip
        """Refine the most likely networks until one explains fresh answers; the best one if none does."""
        centers = span.sample.points, span.sample.values
        data = np.concatenate([self._known_points, centers[0]]), np.concatenate([self._known_values, centers[1]])
        fresh: tuple[np.ndarray, np.ndarray] | None = None
        tried: list[_Candidate] = []
        for jury_fit in fits[:TRIALS]:
            fit = fit_profiles(profiles, jury_fit.activation)
            start = assemble(span.sample, directions.atoms, fit, outside=outside)
            for network in _skip_variants(start, span):
                data, fresh = self._enough_answers(oracle, network, data, fresh)
                refinement = self._settings.refine(network, *data, floor=scale.noise)
                certificate = certify(
                    refinement.network, points=data[0], values=data[1], fresh_points=fresh[0], fresh_values=fresh[1],
                    noise=scale.noise,
                )  # fmt: skip
                floor = max(scale.noise, _rounding(refinement.network, fresh[0]))
                tried.append(_Candidate(refinement, certificate, fit, floor))
                if tried[-1].explains:
                    return tried[-1]
        return min(tried, key=lambda candidate: candidate.certificate.rms_error)

    def _enough_answers(
        self, oracle: StandardOracle, network: Network, data: tuple[np.ndarray, np.ndarray],
        fresh: tuple[np.ndarray, np.ndarray] | None,
    ) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:  # fmt: skip
        """Ask for what the fit still needs, and once for what the certificate needs."""
        per_answer = network.parameters / oracle.outputs
        spread_out = len(data[0]) - len(self._known_points)
        wanted = int(np.ceil(REFINEMENT_SURPLUS * per_answer)) - len(data[0])
        wanted = max(wanted, int(np.ceil(0.8 * per_answer)) - spread_out)
        if wanted > 0:
            points, values = self._ask(oracle, wanted)
            data = np.concatenate([data[0], points]), np.concatenate([data[1], values])
        if fresh is None:
            count = int(np.clip(CERTIFICATE_SHARE * per_answer, SMALLEST_CERTIFICATE, LARGEST_CERTIFICATE))
            points = oracle.sample(self._rng_fresh, count)
            fresh = points, oracle.query(points)
        return data, fresh

    def _ask(self, oracle: StandardOracle, count: int) -> tuple[np.ndarray, np.ndarray]:
        points = oracle.sample(self._rng_fit, count)
        return points, oracle.query(points)

    def _judge(self, oracle: StandardOracle, best: _Candidate) -> Identification:
        certificate, network = best.certificate, best.refinement.network
        error, noise = certificate.rms_error, best.floor
        if not best.explains and error > PARTLY_EXPLAINED:
            return self._finish(
                Outcome.NOT_IDENTIFIED,
                f"no network of the known kinds explains the answers: the best, {network.widths[0]} neurons of "
                f"{best.fit.activation}, misses fresh answers by {error:.2e} of their spread, {error / noise:.1e} "
                f"times the noise, and fits its neurons' profiles only to {best.fit.typical_misfit:.1e}. The "
                "activation is not among the known ones, or the network is not shallow.",
            )
        tolerance = max(1e-9, 100 * certificate.radius if certificate.is_isolated else 1e-6)
        network = absorb_skip(network, relative_tol=tolerance)
        if network.skip is not None and network.layers[0].activation.reflection.slope != 0.0:
            self._notes.append(
                "Signs are determined up to an affine part for this activation: the network carries one (skip)."
            )
        network = _in_oracle_units(network, oracle)
        if self._settings.activation is not None:
            network = express(network, self._settings.activation)
        if not best.explains:
            return self._finish(
                Outcome.PARTLY_IDENTIFIED,
                f"{network.widths[0]} neurons were found and reproduce fresh answers to {error:.2e} of their spread, "
                f"but the noise is {noise:.1e}: something {error / noise:.1e} times larger than the noise is left "
                "unexplained, such as a neuron with a tiny output weight.",
                network, certificate,
            )  # fmt: skip
        if not certificate.is_isolated:
            return self._finish(
                Outcome.PARTLY_IDENTIFIED,
                f"the network reproduces fresh answers to {error:.2e} of their spread, the noise, but its parameters "
                f"are not pinned down: the smallest singular value of the Jacobian is "
                f"{certificate.smallest_singular:.1e} per answer. Nearly parallel or nearly linear neurons can trade "
                "weight with each other.",
                network, certificate,
            )  # fmt: skip
        return self._finish(
            Outcome.IDENTIFIED,
            f"{network.widths[0]} neurons of {network.layers[0].activation}; fresh answers are met to {error:.1e} of "
            f"their spread, and every parameter is within a relative {certificate.radius:.1e} of the exact one.",
            network, certificate,
        )  # fmt: skip

    def _finish(
        self, outcome: Outcome, reason: str, network: Network | None = None, certificate: Certificate | None = None
    ) -> Identification:
        has_neurons = network is not None and network.widths[0] > 0
        return Identification(
            outcome=outcome,
            reason=reason,
            network=network,
            certificate=certificate,
            diagnostics=tuple(self._diagnostics),
            queries=self._raw.ledger.answered,
            equivalent_activations=equivalent_names(network.layers[0].activation) if has_neurons else (),
            notes=tuple(self._notes),
            seconds=dict(self._seconds),
        )


def _skip_variants(start: Network, span: Span) -> list[Network]:
    """With or without an affine part: what the activation needs, then what the gradients suggest."""
    if start.layers[0].activation.reflection.slope != 0.0:
        return [start]
    size = float(np.sqrt(np.mean(span.sample.gradients**2)))
    plain = without_skip(start)
    is_needed = float(np.max(np.abs(start.skip), initial=0.0)) > 1e-2 * size if start.skip is not None else False
    return [start, plain] if is_needed else [plain, start]


def _rounding(network: Network, points: np.ndarray) -> float:
    """Rounding error of evaluating the network: one unit in the last place of its largest terms."""
    hidden, output = network.layers
    terms = np.abs(hidden.activation(hidden.preactivations(points[:64]))) @ np.abs(output.weights.T)
    return float(np.finfo(float).eps * np.sqrt(np.mean((terms + np.abs(output.biases)) ** 2)))


def _in_oracle_units(network: Network, oracle: StandardOracle) -> Network:
    """Undo the standard coordinates: ``z = (x - center) / half_width`` and ``f = offset + size y``."""
    hidden, output = network.layers
    weights = hidden.weights / oracle.half_width
    skip = None if network.skip is None else oracle.size[:, None] * network.skip / oracle.half_width
    offset = oracle.offset + oracle.size * output.biases
    return Network(
        layers=(
            Layer(weights, hidden.biases - weights @ oracle.center, hidden.activation),
            replace(
                output,
                weights=oracle.size[:, None] * output.weights,
                biases=offset if skip is None else offset - skip @ oracle.center,
            ),
        ),
        skip=skip,
    )
