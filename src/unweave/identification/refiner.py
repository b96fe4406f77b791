"""From starting networks to refined ones, on the answers that were paid for, judged on fresh ones."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from unweave.activations import Activation, base_of
from unweave.arrays import Points, Values, root_mean_square, threads_for
from unweave.certificates.certify import Certificate, Floors, ParameterClaim, certify, certify_by
from unweave.exceptions import BudgetExhausted
from unweave.identification.answers import AnswerPool
from unweave.networks.network import Network
from unweave.networks.parameters import is_shallow
from unweave.networks.pruning import weakest_neuron, without_affine_part, without_neuron
from unweave.networks.symmetries import express
from unweave.numerics.network_fit import LevenbergMarquardt, Refinement
from unweave.oracles.views import StandardOracle, error_in_oracle_units, in_oracle_units
from unweave.result import Diagnostic


@dataclass(frozen=True)
class Start:
    """A network that is close enough to be refined, and the evidence for it.

    Args:
        network: in standard coordinates.
        misfit: how far its neurons are from the profiles that they were read from, relative.
        checks: the assumptions of the way it was found.
        is_student: whether it was fitted from random starts: its answers are the only evidence for its neurons.
    """

    network: Network
    misfit: float
    checks: tuple[Diagnostic, ...] = ()
    is_student: bool = False


@dataclass(frozen=True)
class Candidate:
    """A refined network in standard coordinates.

    Args:
        refinement: the network after refinement.
        certificate: what fresh answers say about it.
        missed: how many of these it misses. They may be fitted afterwards, and then the pool has others or none.
        tolerance: the largest error at any of them that does not count as missed.
        floor: the smallest residual that a right network can have.
        limit: the largest residual of a network that explains the answers.
        skip_tol: relative size up to which the affine part may be zero.
        start: what it was refined from.
        units: the coordinates that it is written in.
        is_closed_form: whether it was solved from answers that were placed for that, and not fitted to all.
        is_refuted: whether exact values contradict it, where rounded answers do not.
        are_kinks_seen: whether exact values were looked at on all of its kinks, if they were anywhere.
    """

    refinement: Refinement
    certificate: Certificate
    missed: int
    tolerance: float
    floor: float
    limit: float
    skip_tol: float
    start: Start
    units: StandardOracle
    is_closed_form: bool = False
    is_refuted: bool = False
    are_kinks_seen: bool = True

    @property
    def network(self) -> Network:
        """The refined network."""
        return self.refinement.network

    def delivered(self, activation: Activation | None) -> Network:
        """Give the network in the oracle's units, written with the activation that was asked for where it can be."""
        network = in_oracle_units(self.network, self.units)
        if activation is None or any(base_of(activation) != base_of(each) for each in network.activations[:-1]):
            return network
        return express(network, activation)

    def with_delivered_radius(self) -> "Candidate":
        """Give the same candidate with a radius that holds for the parameters in the oracle's units."""
        factor = error_in_oracle_units(self.network.layers[0], self.units)
        return replace(self, certificate=replace(self.certificate, radius=factor * self.certificate.radius))

    def with_errors(self, times: float) -> "Candidate":
        """Give the same candidate with errors in a unit that is so many times smaller."""
        errors = {name: times * getattr(self.certificate, name) for name in ("largest_error", "rms_error", "noise")}
        certificate = replace(self.certificate, **errors)
        return replace(self, certificate=certificate, floor=times * self.floor, limit=times * self.limit)

    def delivered_errors(
        self, asked: StandardOracle, points: Points, values: Values, spreads: Float64[np.ndarray, "outputs"]
    ) -> tuple[float, ...]:
        """Give errors per point, relative to the spread of the output where it is largest.

        They are those of the network that is delivered, which has fewer digits where the domain is far from zero, and
        where neurons with large output weights cancel.

        Args:
            asked: the units of points and values.
            points: in these.
            values: the answers there.
            spreads: of the answers.
        """
        # Answers that are constant up to rounding have no spread.
        sizes = np.where(np.isinf(spreads), asked.size, spreads)
        return tuple(np.max(self.delivered_misses(asked, points, values) / sizes, axis=1).tolist())

    def delivered_misses(self, asked: StandardOracle, points: Points, values: Values) -> Values:
        """Give absolute errors of the network that is delivered, at points and answers in the units that are asked."""
        answers = self.delivered(None)(asked.center + asked.half_width * points)
        return np.abs(asked.offset + asked.size * values - answers)

    def errors(self, points: Points, values: Values) -> Values:
        """Give absolute errors in its own units."""
        return np.abs(values - self.network(points))

    @property
    def can_be_judged_far(self) -> bool:
        """Whether it is known how errors of parameters grow far out: those of lower layers do by no known factor."""
        return is_shallow(self.network) and self.certificate.is_isolated

    @property
    def is_smooth(self) -> bool:
        """Whether its hidden activations have three derivatives everywhere."""
        return all(activation.is_smooth for activation in self.network.activations)

    @property
    def fits(self) -> bool:
        """Whether the fitted answers are met up to the noise."""
        return self.refinement.residual <= self.limit

    @property
    def explains(self) -> bool:
        """Whether fresh answers are met up to the noise."""
        return self.certificate.rms_error <= self.limit and not self.is_refuted


@dataclass(frozen=True)
class Refiner:
    """Refines starts on the answers of a session and asks fresh answers about the result.

    Args:
        answers: those that were paid for.
        refine: how networks are fitted.
        noise: standard deviation of an answer.
        explained: residual, in units of the floor, up to which a network explains the answers: estimates of rounding
            are rarely off by more.
        explained_noise: the same where the floor is noise above `noisy`: what noise excuses must not hide neurons.
        explained_single: the same for one answer of a few thousand that rounding explains, and where it is noise.
        noisy: floor, relative to the spread, from which on it is noise and not rounding.
        largest_rounding: rounding of a network's own terms, relative to the answers, up to which it excuses a residual:
            a fit whose terms cancel to fewer digits has run away and explains nothing.
        skip_margin: an affine part that vanishes up to this many radii may be zero.
        largest_fit: parameters up to which all starts are tried: fits of more take seconds.
        largest_skip: relative size from which on an affine part is not zero; chosen: with more, signs tell nothing.
        large_fits: of networks that are larger; chosen.
        loose_skip: the same relative to its units, where there is no radius; fresh answers judge the choice.
        overfitted: residual, in units of the error at fresh answers, up to which these are too different from the
            fitted ones to be told by them; chosen.
    """

    answers: AnswerPool
    refine: LevenbergMarquardt
    noise: float
    explained: float = 10.0
    explained_noise: float = 4.0
    explained_single: tuple[float, float] = (40.0, 8.0)
    noisy: float = 1e-4
    largest_rounding: float = 1e-8
    skip_margin: float = 3.0
    loose_skip: float = 1e-4
    largest_fit: int = 1_000
    largest_skip: float = 0.5
    large_fits: int = 2
    overfitted: float = 0.01

    def in_units_of(self, candidate: Candidate) -> "Refiner":
        """Give the same judge in the units that a candidate is written in."""
        ours, theirs = self.answers.oracle, candidate.units
        size = ours.size / theirs.size
        answers = self.answers.in_units(theirs, (ours.offset - theirs.offset) / theirs.size, size)
        return replace(self, answers=answers, noise=self.noise * root_mean_square(size))

    def floor(self, network: Network) -> float:
        """Give the smallest residual that this network can have if it is right."""
        return self._floors.on_average(network, *self.answers.fresh)

    def missed(
        self,
        network: Network,
        points: Points,
        values: Values,
        *,
        excused: float | Float64[np.ndarray, "points"] = 0.0,
        most: float = np.inf,
    ) -> Bool[np.ndarray, "points"]:
        """Whether a network is farther from each answer than noise and rounding explain, and errors of parameters.

        Args:
            network: what is judged.
            points: where answers are known.
            values: the answers.
            excused: what errors of its parameters may add.
            most: noise and rounding explain at most so many floors, where that is known better than from
                `explained_single`.
        """
        limits = self.tolerances(network, points, values, most=most) + excused
        return np.max(np.abs(values - network(points)), axis=1, initial=0.0) > limits

    def tolerances(
        self, network: Network, points: Points, values: Values, *, most: float = np.inf
    ) -> Float64[np.ndarray, "points"]:
        """Give the largest error at every single point that noise and rounding explain, as `missed` takes them."""
        floors = self.floors(network, points, values)
        of_rounding, of_noise = self.explained_single
        return np.minimum(np.where(floors < self.noisy, of_rounding, of_noise), max(most, of_noise)) * floors

    def floors(self, network: Network, points: Points, values: Values) -> Float64[np.ndarray, "points"]:
        """Give the smallest error that this network can have at every single point if it is right."""
        return self._floors.at_each(network, points, values)

    @property
    def _floors(self) -> Floors:
        return Floors(self.answers.oracle, self.noise, self.largest_rounding)

    def limit(self, floor: float) -> float:
        """Give the largest residual of a network that explains the answers."""
        return floor * (self.explained if floor < self.noisy else self.explained_noise)

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
                return self.without_affine_part(self._pruned(candidate))
            if start.network.parameters > self.largest_fit and len(tried) >= self.large_fits:
                break
        return min(tried, key=lambda candidate: candidate.certificate.rms_error)

    def __call__(self, start: Start) -> Candidate:
        """Refine one start, with more answers if it meets those that it was fitted to and no others."""
        self.prepare(start.network)
        with threads_for(start.network.parameters):
            candidate = self._once(start)
            if self._meets_no_others(candidate):
                # The fitted answers were too few, too close together, or not where neurons bend.
                with suppress(BudgetExhausted):
                    if is_shallow(candidate.network):
                        self.answers.excite(candidate.network)
                    self.answers.ask_more(candidate.network)
                    candidate = self._once(replace(start, network=candidate.network))
        return candidate

    def _meets_no_others(self, candidate: Candidate) -> bool:
        fresh_error = candidate.certificate.rms_error
        is_met = candidate.fits or candidate.refinement.residual <= self.overfitted * fresh_error
        return is_met and not candidate.explains

    def prepare(self, network: Network) -> None:
        """Ask what a fit of this network, and its certificate, still need.

        Below the narrowest of several layers an answer tells no more numbers than that layer has neurons.
        """
        self.answers.prepare(network.parameters, narrowest=min(network.widths[1:], default=None))

    def _once(self, start: Start) -> Candidate:
        answers = self.answers
        return self._candidate(start, self.refine(start.network, answers.points, answers.values, floor=self.noise))

    def judged(self, start: Start) -> Candidate:
        """Judge a network as it is, without any refinement."""
        residual = root_mean_square(self.answers.values - start.network(self.answers.points))
        return self._candidate(start, Refinement(start.network, residual, 0, True, (residual,)))

    def _candidate(self, start: Start, refinement: Refinement) -> Candidate:
        answers = self.answers
        certificate = self.certified(refinement.network)
        answers.judged += 1
        floor = self.floor(refinement.network)
        radius = float(np.clip(self.skip_margin * certificate.radius, 1e-9, self.largest_skip))
        skip_tol = radius if certificate.is_isolated else self.loose_skip
        missed, tolerance = self.missed_fresh(refinement.network)
        limit = self.limit(floor)
        return Candidate(refinement, certificate, missed, tolerance, floor, limit, skip_tol, start, answers.oracle)

    def solved(
        self, start: Start, network: Network, claim: ParameterClaim, *, error_margin: float, amplification: float
    ) -> Candidate:
        """Judge a network in closed form by fresh answers.

        Args:
            start: what it was solved from.
            network: the solution.
            claim: what the answers that it was solved from say about its parameters.
            error_margin: largest error of an answer that the claim allows for, in expected ones.
            amplification: expected errors of its values, per error of an answer.
        """
        answers = self.answers
        answers.prepare_fresh(network.parameters)
        floor = self.floor(network)
        errors = np.abs(answers.fresh_values - network(answers.fresh_points))
        certificate = certify_by(claim, errors=errors, noise=error_margin * floor)
        answers.judged += 1
        refinement = Refinement(network, certificate.rms_error, 0, True, (certificate.rms_error,))
        radius = float(np.clip(self.skip_margin * claim.radius, 1e-9, self.largest_skip))
        limit = max(self.limit(floor), self.explained_noise * amplification * floor)
        judged = self.missed_fresh(network)
        return Candidate(
            refinement, certificate, *judged, floor, limit, radius, start, answers.oracle, is_closed_form=True
        )

    def missed_fresh(self, network: Network) -> tuple[int, float]:
        """Count the fresh answers that a network misses, and give the largest error at any that counts as met."""
        limits = self.tolerances(network, *self.answers.fresh)
        return int(np.count_nonzero(self.missed(network, *self.answers.fresh))), float(np.max(limits, initial=0.0))

    def certified(self, network: Network) -> Certificate:
        """Say what the answers, fitted and fresh, tell about a network."""
        answers = self.answers
        return certify(
            network,
            points=answers.points,
            values=answers.values,
            fresh_points=answers.fresh_points,
            fresh_values=answers.fresh_values,
            noise=self.noise,
        )

    def finds_missed(self, candidate: Candidate, *, batch: int) -> bool:
        """Look for answers that a candidate misses, in a box at vertices and faces, too; they may be fitted afterwards.

        Args:
            candidate: a network that meets the answers it was fitted to.
            batch: trial points that are asked at a time, until one is missed.
        """
        answers, count = self.answers, 0
        if not candidate.explains:
            # The fresh answers show what the others do not: others will judge what comes of it.
            answers.give_up_fresh()
            return True
        while True:
            missed = self.missed(candidate.network, answers.trial_points[count:], answers.trial_values[count:])
            if np.any(missed):
                answers.adopt_trials(np.concatenate([np.zeros(count, dtype=bool), missed]))
                return True
            count = len(answers.trial_points)
            if not (answers.ask_trials(batch) or answers.climb_from_vertices(candidate.network)):
                return False

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

    def without_affine_part(self, candidate: Candidate) -> Candidate:
        """Choose signs that leave no affine part, if the network still explains the answers without it."""
        if candidate.network.skip is None:
            return candidate
        network = without_affine_part(candidate.network, tol=candidate.skip_tol)
        if network.skip is not None:
            return candidate
        smaller = self.again(candidate, network)
        return smaller if smaller.explains else candidate


def reach_of_parameters(network: Network, points: Points) -> Float64[np.ndarray, "points"]:
    """How far values move, at most, per relative change of all parameters of a shallow network; 0 for others."""
    if not is_shallow(network):
        return np.zeros(len(points))
    hidden, output = network.layers
    lengths = np.linalg.norm(np.hstack([hidden.weights, hidden.biases[:, None]]), axis=1)
    slopes = np.max(np.abs(output.weights), axis=0, initial=0.0) * hidden.activation.supremum(1)
    affine = 0.0 if network.skip is None else float(np.max(np.linalg.norm(network.skip, axis=1)))
    # Of a product of two factors each may change.
    return 2.0 * (float(np.sum(slopes * lengths)) + affine) * np.sqrt(1.0 + np.sum(points**2, axis=1))
