"""From directions to refined networks, judged on fresh answers: the most likely ones, best first."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float64

from unweave.activations import ERF, GAUSSIAN, GELU, SILU, SIN, SOFTPLUS, TANH, Activation
from unweave.assembly.collinear import split_collinear
from unweave.assembly.profiles import ProfileFit, Profiles, fit_profiles, neuron_profiles
from unweave.assembly.shallow import absorb_skip, assemble, without_skip
from unweave.certificates import Certificate, certify
from unweave.decompositions.subspace_power import Directions
from unweave.exceptions import BudgetExhausted
from unweave.identification.answers import Answers
from unweave.identification.stages import Span
from unweave.networks import Layer, Network
from unweave.refinement import LevenbergMarquardt, Refinement
from unweave.symmetries import base_of

KNOWN_ACTIVATIONS = (TANH, SOFTPLUS, GELU, ERF, SILU, SIN, GAUSSIAN)
# Neurons whose profiles decide on the activation.
JURY = 16
# Activations that are tried to the end if the best profile fit does not lead to an exact network.
TRIALS = 3
# Residual, in units of the floor, up to which a network explains the answers.
EXPLAINED = 10.0
# Mean gradient of the remainder, relative to the gradients, above which an affine part comes first.
VISIBLE_SKIP = 1e-2
# An affine part that vanishes up to this many radii, or up to this share if there is no radius, may be zero.
SKIP_MARGIN = 3.0
LOOSE_SKIP = 1e-4


@dataclass(frozen=True)
class Candidate:
    """A refined network in standard coordinates, with all that led to it.

    Args:
        refinement: the network after refinement.
        certificate: what fresh answers say about it.
        fit: the profile fit that it started from.
        span: the matrix subspace.
        directions: the atoms.
        floor: the smallest residual that a right network can have.
    """

    refinement: Refinement
    certificate: Certificate
    fit: ProfileFit
    span: Span
    directions: Directions
    floor: float

    @property
    def network(self) -> Network:
        """The refined network."""
        return self.refinement.network

    @property
    def fits(self) -> bool:
        """Whether the fitted answers are met up to the noise."""
        return self.refinement.residual <= EXPLAINED * self.floor

    @property
    def explains(self) -> bool:
        """Whether fresh answers are met up to the noise."""
        return self.certificate.rms_error <= EXPLAINED * self.floor


def best_candidate(
    starts: Iterable[tuple[ProfileFit, Network]],
    span: Span,
    directions: Directions,
    answers: Answers,
    *,
    refine: LevenbergMarquardt,
    noise: float,
) -> Candidate:
    """Refine networks until one explains fresh answers; the best one if none does."""
    tried: list[Candidate] = []
    answers.keep(span.sample.points, span.sample.values, are_spread=True)

    def judge(fit: ProfileFit, start: Network) -> Candidate:
        refinement = refine(start, answers.points, answers.values, floor=noise)
        floor = answers.floor(refinement.network, noise)
        certificate = certify(
            refinement.network,
            points=answers.points,
            values=answers.values,
            fresh_points=answers.fresh_points,
            fresh_values=answers.fresh_values,
            noise=noise,
        )
        return Candidate(refinement, certificate, fit, span, directions, floor)

    for fit, start in starts:
        try:
            answers.prepare(start.parameters)
        except BudgetExhausted:
            if not tried:
                raise
            break
        candidate = judge(fit, start)
        if candidate.fits and not candidate.explains:
            # The fitted answers are met and fresh ones are not: these were too few, or too close together.
            with suppress(BudgetExhausted):
                answers.ask_more(start.parameters)
                candidate = judge(fit, candidate.network)
        tried.append(candidate)
        if candidate.explains:
            rejudge = partial(judge, fit)
            return _without_affine_part(_pruned(candidate, rejudge), rejudge)
    return min(tried, key=lambda candidate: candidate.certificate.rms_error)


def _pruned(candidate: Candidate, judge: Callable[[Network], Candidate]) -> Candidate:
    """Drop neurons that noise has added, as long as the answers stay explained: the weakest first.

    Only where the parameters are not isolated: a neuron that the answers need is never tried.
    """
    while not candidate.certificate.is_isolated and candidate.network.widths[0] > 1:
        hidden, output = candidate.network.layers
        weakest = int(np.argmin(np.linalg.norm(output.weights, axis=0)))
        smaller = judge(
            replace(
                candidate.network,
                layers=(
                    Layer(np.delete(hidden.weights, weakest, 0), np.delete(hidden.biases, weakest), hidden.activation),
                    replace(output, weights=np.delete(output.weights, weakest, 1)),
                ),
            )
        )
        if not smaller.explains:
            break
        candidate = smaller
    return candidate


def _without_affine_part(candidate: Candidate, judge: Callable[[Network], Candidate]) -> Candidate:
    """Choose signs that leave no affine part, if the network still explains the answers without it."""
    certificate = candidate.certificate
    tolerance = max(1e-9, SKIP_MARGIN * certificate.radius) if certificate.is_isolated else LOOSE_SKIP
    network = absorb_skip(candidate.network, relative_tol=tolerance)
    if candidate.network.skip is None or network.skip is not None:
        return candidate
    smaller = judge(network)
    return smaller if smaller.explains else candidate


def likely_networks(
    span: Span,
    directions: Directions,
    *,
    activation: Activation | None,
    outside: Float64[np.ndarray, "outputs inputs"],
) -> Iterator[tuple[ProfileFit, Network]]:
    """Networks to refine: by activation, then with several neurons per direction where one does not fit."""
    profiles = neuron_profiles(span.sample, directions.atoms)
    for likely in _ranked_activations(profiles, activation)[:TRIALS]:
        fit = fit_profiles(profiles, likely)
        for network in _skip_variants(assemble(span.sample, directions.atoms, fit, outside=outside), span):
            yield fit, network
        split = split_collinear(profiles, fit)
        if split is not None:
            atoms = directions.atoms[split.atom]
            for network in _skip_variants(assemble(span.sample, atoms, split.fit, outside=outside), span):
                yield split.fit, network


def _ranked_activations(profiles: Profiles, given: Activation | None) -> list[Activation]:
    """Fit a jury of the strongest neurons with every known activation, best first."""
    if given is not None:
        return [base_of(given)]
    strength = np.linalg.norm(profiles.coefficients, axis=(0, 1))
    jury = np.argsort(-strength)[:JURY]
    fits = [fit_profiles(profiles, activation, neurons=jury) for activation in KNOWN_ACTIVATIONS]
    return [fit.activation for fit in sorted(fits, key=lambda fit: fit.typical_misfit)]


def _skip_variants(start: Network, span: Span) -> list[Network]:
    """With or without an affine part: what the activation needs, then what the gradients suggest."""
    if start.skip is None or start.layers[0].activation.reflection.slope != 0.0:
        return [start]
    size = float(np.sqrt(np.mean(span.sample.gradients**2)))
    is_visible = float(np.max(np.abs(start.skip), initial=0.0)) > VISIBLE_SKIP * size
    return [start, without_skip(start)] if is_visible else [without_skip(start), start]
