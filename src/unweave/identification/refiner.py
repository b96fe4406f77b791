"""From starting networks to refined ones, judged on fresh answers: the most likely first."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from unweave.certificates.certify import Certificate, certify
from unweave.exceptions import BudgetExhausted
from unweave.identification.answer_pool import Answers
from unweave.networks.network import Layer, Network
from unweave.networks.parameters import is_shallow
from unweave.networks.signs import absorb_skip
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.numerics.refined import Refinement
from unweave.oracles.standard import StandardOracle
from unweave.result import Diagnostic

# Residual, in units of the floor, up to which a network explains the answers.
EXPLAINED = 10.0
# An affine part that vanishes up to this many radii, or up to this share if there is no radius, may be zero.
SKIP_MARGIN = 3.0
LOOSE_SKIP = 1e-4


@dataclass(frozen=True)
class Start:
    """A network that is close enough to be refined, and the evidence for it.

    Args:
        network: in standard coordinates.
        misfit: how far its neurons are from the profiles that they were read from, relative.
        checks: the assumptions of the way it was found.
    """

    network: Network
    misfit: float
    checks: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A refined network in standard coordinates.

    Args:
        refinement: the network after refinement.
        certificate: what fresh answers say about it.
        floor: the smallest residual that a right network can have.
        start: what it was refined from.
        units: the coordinates that it is written in.
    """

    refinement: Refinement
    certificate: Certificate
    floor: float
    start: Start
    units: StandardOracle

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

    @property
    def skip_tol(self) -> float:
        """Relative size up to which the affine part may be zero."""
        certificate = self.certificate
        return max(1e-9, SKIP_MARGIN * certificate.radius) if certificate.is_isolated else LOOSE_SKIP


@dataclass(frozen=True)
class Judge:
    """Refines starts on the answers of a run and asks fresh answers about the result."""

    answers: Answers
    refine: LevenbergMarquardt
    noise: float

    def best(self, starts: Iterable[Start]) -> Candidate:
        """Refine starts until one explains fresh answers; the best one if none does."""
        tried: list[Candidate] = []
        for start in starts:
            try:
                candidate = self(start)
            except BudgetExhausted:
                if not tried:
                    raise
                break
            tried.append(candidate)
            if candidate.explains:
                return self._without_affine_part(self._pruned(candidate))
        return min(tried, key=lambda candidate: candidate.certificate.rms_error)

    def __call__(self, start: Start) -> Candidate:
        """Refine one start, with more answers if it meets those that it was fitted to and no others."""
        self.prepare(start.network)
        candidate = self._once(start)
        if candidate.fits and not candidate.explains:
            # The fitted answers were too few, or too close together.
            with suppress(BudgetExhausted):
                self.answers.ask_more(start.network.parameters)
                candidate = self._once(replace(start, network=candidate.network))
        return candidate

    def prepare(self, network: Network) -> None:
        """Ask what a fit of this network, and its certificate, still need.

        Below the narrowest of several layers an answer tells no more numbers than that layer has neurons.
        """
        self.answers.prepare(network.parameters, narrowest=min(network.widths[1:], default=None))

    def _once(self, start: Start) -> Candidate:
        answers = self.answers
        refinement = self.refine(start.network, answers.points, answers.values, floor=self.noise)
        certificate = certify(
            refinement.network,
            points=answers.points,
            values=answers.values,
            fresh_points=answers.fresh_points,
            fresh_values=answers.fresh_values,
            noise=self.noise,
        )
        return Candidate(refinement, certificate, answers.floor(refinement.network, self.noise), start, answers.oracle)

    def again(self, candidate: Candidate, network: Network) -> Candidate:
        """The same evidence with a changed network."""
        return self._once(replace(candidate.start, network=network))

    def _pruned(self, candidate: Candidate) -> Candidate:
        """Drop neurons that noise has added, as long as the answers stay explained: the weakest first.

        Only where the parameters are not isolated: a neuron that the answers need is never tried.
        """
        while not candidate.certificate.is_isolated and max(candidate.network.widths) > 1:
            layer, neuron = weakest_neuron(candidate.network)
            smaller = self.again(candidate, without_neuron(candidate.network, neuron, layer=layer))
            if not smaller.explains:
                break
            candidate = smaller
        return candidate

    def _without_affine_part(self, candidate: Candidate) -> Candidate:
        """Choose signs that leave no affine part, if the network still explains the answers without it."""
        network = candidate.network
        if network.skip is None:
            return candidate
        can_absorb = is_shallow(network)
        if can_absorb:
            network = absorb_skip(network, relative_tol=candidate.skip_tol)
        # Where signs can move an affine part around, only all of them together decide whether there is one.
        is_alone = not can_absorb or network.layers[0].activation.reflected_slope == 0.0
        if network.skip is not None and is_alone:
            is_zero = float(np.max(np.abs(network.skip))) <= candidate.skip_tol
            network = replace(network, skip=None) if is_zero else network
        if network.skip is not None:
            return candidate
        smaller = self.again(candidate, network)
        return smaller if smaller.explains else candidate


def weakest_neuron(network: Network) -> tuple[int, int]:
    """Layer and index of the neuron with the smallest outgoing weights, compared with others of its layer."""
    weakest, smallest = (0, 0), np.inf
    for index, following in enumerate(network.layers[1:]):
        if following.inputs < 2:
            continue
        pulls = np.linalg.norm(following.weights, axis=0)
        share = float(np.min(pulls) / max(np.max(pulls), np.finfo(float).tiny))
        if share < smallest:
            weakest, smallest = (index, int(np.argmin(pulls))), share
    return weakest


def without_neuron(network: Network, neuron: int, *, layer: int = 0) -> Network:
    """The network without one of the neurons of a hidden layer."""
    hidden, following = network.layers[layer : layer + 2]
    layers = list(network.layers)
    layers[layer : layer + 2] = [
        Layer(np.delete(hidden.weights, neuron, 0), np.delete(hidden.biases, neuron), hidden.activation),
        replace(following, weights=np.delete(following.weights, neuron, 1)),
    ]
    return replace(network, layers=tuple(layers))
