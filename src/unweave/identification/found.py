"""How a route to the neurons ends: with a network, with a first layer, or with nothing; and how an examination does."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY
from unweave.arrays import root_mean_square
from unweave.certificates.certify import Certificate
from unweave.certificates.claims import in_words
from unweave.certificates.evidence import Evidence
from unweave.exceptions import BudgetExhausted, OracleError
from unweave.identification import answer_reasons
from unweave.identification.corners import VERTICES
from unweave.identification.probing import Probe
from unweave.identification.refiner import Candidate
from unweave.networks.network import Layer, Network
from unweave.networks.parameters import is_shallow, twin_distance
from unweave.result import Diagnostic, Outcome


@dataclass(frozen=True)
class FirstLayer:
    """The first hidden layer of a network that is not shallow.

    Args:
        standard: in standard coordinates.
        layer: in the oracle's units.
        reason: what is said about it if nothing more is found.
        is_last: whether no other route goes on from it.
    """

    standard: Layer
    layer: Layer
    reason: str
    is_last: bool = True


@dataclass(frozen=True)
class Settled:
    """A network whose outcome its route knows itself, without the judgement of the identifier.

    Args:
        outcome: identified or partly identified.
        reason: one paragraph that says why.
        network: in the oracle's units.
        certificate: what may be claimed about it; None if nothing may.
    """

    outcome: Outcome
    reason: str
    network: Network
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Found:
    """How a route has ended: with a network, with a first layer, or with nothing.

    Args:
        reason: why there is no network; empty if there is one.
        is_conclusive: whether no network is determined by the answers, so that no other route is tried.
        is_tentative: whether other routes say more about a function that this one has not explained.
        candidate: a refined network with its certificate.
        settled: a network whose outcome is known already.
        first_layer: the first layer of a network whose other layers were not found.
        stopped: what the oracle said before the route had come to an end.
        checks: the assumptions that were checked on the way.
        notes: facts that a user should know.
    """

    reason: str = ""
    is_conclusive: bool = False
    is_tentative: bool = False
    candidate: Candidate | None = None
    settled: Settled | None = None
    first_layer: FirstLayer | None = None
    stopped: BudgetExhausted | OracleError | None = None
    checks: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Examined:
    """A network after its examination.

    Args:
        candidate: the network, refined once more if that was needed, with a certificate from all fresh answers.
        missed: fresh points that it misses.
        missed_trials: vertices and points of faces, or far ones, and points on kinks that it misses.
        is_complete: whether the budget was enough for all of it.
        reach: how far from the centre it was tried, in units of the domain's reach.
        fresh_errors: some of its errors at fresh points, for reports; nothing is decided by them.
        unit_excess: how many times the spread of an output its unit was, by which errors are larger than they were
            measured; 1 if units are right.
        cancels: whether rounding of its parameters leaves a network that does not explain the answers.
        delivered_certificate: that of the network in the oracle's units; None if it is the same.
    """

    candidate: Candidate
    missed: int = 0
    missed_trials: int = 0
    is_complete: bool = True
    reach: float = 0.0
    fresh_errors: tuple[float, ...] = ()
    unit_excess: float = 1.0
    cancels: bool = False
    delivered_certificate: Certificate | None = None

    @property
    def is_passed(self) -> bool:
        """Whether it met every answer, as far as the budget went."""
        return self.missed == 0 and self.missed_trials == 0

    @property
    def explains(self) -> bool:
        """Whether the answers are met, also by the network as it is delivered."""
        return self.candidate.explains and not self.cancels

    @property
    def is_right(self) -> bool:
        """Whether it explains the answers that it was fitted to, and met every other one."""
        return self.explains and self.is_passed

    @property
    def is_imitation(self) -> bool:
        """Whether it was fitted from random starts and is not the network itself."""
        return self.candidate.start.is_student and not self.is_right

    @property
    def error(self) -> float:
        """Root mean square error of fresh answers, relative to their spread."""
        return self.candidate.certificate.rms_error

    def relative_to(self, spreads: Float64[np.ndarray, "outputs"], *, misjudged: float = 2.0) -> "Examined":
        """Give errors relative to the spread of the answers, if units are much larger for some output.

        Units are chosen from a few first answers, which may all be the same where others are not.

        Args:
            spreads: standard deviation of the answers, per output.
            misjudged: units, relative to the spread, up to which they are an estimate of it; chosen.
        """
        candidate = self.candidate
        times = float(np.max(candidate.units.size / spreads))
        if times <= misjudged:
            return self
        errors = {
            name: times * getattr(candidate.certificate, name) for name in ("largest_error", "rms_error", "noise")
        }
        certificate = replace(candidate.certificate, **errors)
        floor, limit = times * candidate.floor, times * candidate.limit
        candidate = replace(candidate, certificate=certificate, floor=floor, limit=limit)
        fresh_errors = tuple(times * error for error in self.fresh_errors)
        return replace(self, candidate=candidate, fresh_errors=fresh_errors, unit_excess=times)

    def as_delivered(self, probe: Probe, *, blurring: float = 10.0) -> "Examined":
        """Give the errors of the network that is delivered, where they are larger than those of the one that was found.

        Both are the same but for rounding, which matters where neurons with large output weights cancel, and where
        the domain is far from zero. Of a network that cancels, and misses the answers therefore, nothing is claimed.

        Args:
            probe: with fresh answers, and the units that they are in.
            blurring: errors in units of those that are excused, from which on the delivered network does not explain
                the answers any more.
        """
        candidate, asked, answers = self.candidate, probe.oracle, probe.answers
        if not len(answers.fresh_points):
            return self
        network, size = candidate.delivered(None), candidate.units.size / self.unit_excess
        points = asked.center + asked.half_width * answers.fresh_points
        errors = np.abs(asked.offset + asked.size * answers.fresh_values - network(points)) / size
        certificate = candidate.certificate
        larger = replace(
            certificate,
            largest_error=max(certificate.largest_error, float(np.max(errors))),
            rms_error=max(certificate.rms_error, root_mean_square(errors)),
        )
        judged = replace(self, delivered_certificate=larger)
        excused = blurring * max(candidate.limit, certificate.rms_error)
        if larger.rms_error <= excused:
            return judged
        missed = int(np.count_nonzero(np.max(errors, axis=1) > excused))
        return replace(judged, missed=max(self.missed, missed), cancels=True)

    def evidence(
        self, probe: Probe, *, largest_noise: float, contradiction: str, constant_slope: float = 1e-12
    ) -> Evidence:
        """Put together what a claim about the network is decided from.

        Args:
            probe: units and digits of the answers, and those that were asked.
            largest_noise: residual, relative to the spread, that may be excused.
            contradiction: how the network contradicts what the user has given; empty if it does not.
            constant_slope: slope, in standard units, below which a function without neurons is constant; chosen, above
                rounding.
        """
        candidate, network = self.candidate, self.candidate.network
        spreads = probe.spreads
        is_coarse = probe.digits.are_cause(candidate.floor, spreads)
        said = (
            answer_reasons.too_coarse(probe.digits.unit, spreads, candidate.limit, largest_noise) if is_coarse else ""
        )
        errors_at = partial(candidate.delivered_errors, probe.oracle)
        slope = 0.0 if network.skip is None else float(np.max(np.abs(network.skip), initial=0.0))
        known = candidate.certificate.radius * float(np.min(spreads))
        return Evidence(
            network=in_words(network),
            certificate=self.delivered_certificate or candidate.certificate,
            floor=candidate.floor,
            limit=candidate.limit,
            explains=self.explains,
            missed=self.missed,
            missed_trials=self.missed_trials,
            is_complete=self.is_complete,
            reach=self.reach,
            is_box=probe.answers.is_box,
            drawn_vertices=0 if network.inputs <= VERTICES.most_inputs else VERTICES.drawn,
            is_constant=network.widths == (0,) and (slope < constant_slope or bool(np.all(np.isinf(spreads)))),
            is_rounded=bool(np.any(probe.may_hide_changes)),
            coarseness=said,
            misfit=candidate.start.misfit,
            is_shallow=is_shallow(network),
            contradiction=contradiction,
            constants=answer_reasons.constants(same, known=known) if (same := same_outputs(probe)) else "",
            blurred=(
                answer_reasons.blurred(spreads, probe.digits.unit, np.ptp(probe.answers.unseen[1], axis=0), known=known)
                if np.any(np.isinf(spreads))
                else ""
            ),
            twins=twin_distance(network, probe.answers.points, candidate.certificate.crossing_error or candidate.limit),
            is_student=candidate.start.is_student,
            fresh_errors=errors_at(probe.answers.fresh_points, probe.answers.fresh_values, spreads),
            trial_error=max(errors_at(*probe.answers.trials_in_domain, spreads), default=0.0),
            are_corners_tried=probe.answers.are_corners_tried,
            unit_excess=self.unit_excess,
            is_refuted=candidate.is_refuted,
            cancels=self.cancels,
        )


def same_outputs(probe: Probe) -> dict[int, float]:
    """Give outputs that were the same wherever they were asked, beside others that were not, and what they were."""
    oracle = probe.oracle
    values = np.concatenate([probe.answers.values * oracle.size, probe.answers.unseen[1]])
    is_same = np.ptp(values, axis=0) == 0.0
    chosen = np.flatnonzero(is_same) if not np.all(is_same) else []
    return {int(output): float(values[0, output] + oracle.offset[output]) for output in chosen}


def with_constants(network: Network, outputs: dict[int, float]) -> Network:
    """Give outputs that were always the same no weights at all, where a fit leaves those of its rounding."""
    last = network.layers[-1]
    if not outputs or last.activation != IDENTITY:
        return network
    weights, biases, rows = last.weights.copy(), last.biases.copy(), list(outputs)
    weights[rows], biases[rows] = 0.0, list(outputs.values())
    skip = None if network.skip is None else network.skip.copy()
    if skip is not None:
        skip[rows] = 0.0
    return Network((*network.layers[:-1], replace(last, weights=weights, biases=biases)), skip)
