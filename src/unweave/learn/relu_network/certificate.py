"""What rows that nothing has seen say about a relu network that was learnt from samples."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from unweave.arrays import root_mean_square
from unweave.certificates.certify import RULES, Certificate, certify, coverage_of
from unweave.learn.relu_network.candidates import JudgedNetwork, Rows
from unweave.learn.relu_network.evidence import exact_resolution, weakest_bend
from unweave.learn.relu_network.units import in_inputs
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.sources import DistinctRows


@dataclass(frozen=True)
class ReluCertificate:
    """Evidence for a relu network from samples. Errors are in the unit of the labels.

    Args:
        held_out: rows that neither the fit nor the choice among networks has seen.
        rms_error: root mean square error on them.
        error_bar: standard error of that.
        largest_error: largest error on them.
        coverage: at least this share of all inputs has no larger error, with this `confidence`.
        confidence: probability of the claim on `coverage`.
        label_spread: standard deviation of the labels.
        label_rms: root mean square of the labels, about zero.
        noise: standard deviation of the noise of a label, as the fit suggests.
        structure_chance: probability that noise leaves residuals as structured as these; 1 for exact labels.
        noticeable: a missing neuron would have been noticed, with a probability of 95 %, if what it adds beside affine
            functions has this root mean square; 0 for exact labels.
        weakest: the same of the weakest neuron that was found; infinite without any.
        resolution: neurons whose weights are nearer than this angle (in radians, where inputs have spread 1) may have
            been taken for one.
        radius: largest relative error of a parameter, for exact labels; infinite where there is no such claim.
        isolation: no other network with these labels is nearer than this.
        largest_standard_error: of a direction, bias or output weight relative to the largest one; 0 for exact labels.
    """

    held_out: int
    rms_error: float
    error_bar: float
    largest_error: float
    coverage: float
    confidence: float
    label_spread: float
    label_rms: float
    noise: float
    structure_chance: float
    noticeable: float
    weakest: float
    resolution: float
    radius: float
    isolation: float
    largest_standard_error: float

    @property
    def is_isolated(self) -> bool:
        """Whether exact labels pin the parameters down."""
        return bool(np.isfinite(self.radius))

    def statements(self) -> list[tuple[str, str]]:
        """What may be claimed, in plain words."""
        rows = [
            (
                "error on held out rows",
                f"{self.rms_error:.2e} +- {self.error_bar:.1e} (root mean square of {self.held_out:,} rows that no "
                f"fit has seen; the labels spread by {self.label_spread:.3g})",
            ),
            (
                "largest error there",
                f"{self.largest_error:.2e}; at least {100 * self.coverage:.4g} % of the inputs have no larger one "
                f"(confidence {100 * self.confidence:.0f} %)",
            ),
        ]
        if self.is_isolated:
            rows.append(("parameter radius", f"{self.radius:.1e}: every parameter of the exact network is this close"))
            return rows
        rows.append(("noise of a label", f"{self.noise:.3g}"))
        rows.append(("chance that noise leaves such residuals", f"{self.structure_chance:.2g}"))
        rows.append(
            (
                "a missing neuron would have shown from",
                f"{self.noticeable:.2g} (root mean square of its bend, power 95 %, with 2 % of the samples or more on "
                f"either side of its kink; that of the weakest one found is {self.weakest:.2g})",
            )
        )
        rows.append(("neurons may be one if nearer than", f"{np.degrees(self.resolution):.2g} degrees"))
        rows.append(("largest standard error of a parameter", f"{self.largest_standard_error:.2g}"))
        return rows


@dataclass(frozen=True, kw_only=True)
class ReluEvidence:
    """Settings of the evidence.

    Args:
        answers_per_parameter: that the claim on the parameters uses: with twenty times as many rows as unknowns, the
            smallest singular value of a Gaussian system is within 25 % of what more rows would give
            (``1 - sqrt(1 / 20)``).
        least_answers: the least number of them; chosen, for networks with few parameters.
        bend_rows: rows that measure how much a neuron bends: the root of a mean of 20,000 squares is known to 1 %.
        density_band: half width of the band around a kink in which the density of rows is counted, in standard
            deviations: a normal density changes by 3 % within a quarter of one at its middle.
    """

    answers_per_parameter: int = 20
    least_answers: int = 2_000
    bend_rows: int = 20_000
    density_band: float = 0.25

    def certificate_of(
        self,
        candidate: JudgedNetwork,
        *,
        fitted: Rows,
        held_out: Rows,
        coordinates: Coordinates,
        spread: float,
    ) -> ReluCertificate:
        """Judge a network on rows that nothing has seen.

        Args:
            candidate: the network.
            fitted: the rows of the fit, for the claim on the parameters.
            held_out: fresh rows.
            coordinates: those of the rows.
            spread: unit of the labels.
        """
        left = held_out.residuals(candidate.network)
        rms = float(np.sqrt(np.mean(left**2)))
        # The variance of a mean of squares, carried over to its root.
        bar = float(np.std(left**2) / np.sqrt(len(left)) / (2.0 * rms)) if rms > 0.0 else 0.0
        structure = candidate.structure
        claim = self._parameter_claim(candidate, fitted, held_out) if candidate.is_exact else None
        return ReluCertificate(
            held_out=len(left),
            rms_error=spread * rms,
            error_bar=spread * bar,
            largest_error=spread * float(np.max(np.abs(left))),
            coverage=coverage_of(DistinctRows.of(held_out.points).count, confidence=RULES.confidence),
            confidence=RULES.confidence,
            label_spread=spread * float(np.std(held_out.labels)),
            label_rms=max(spread * root_mean_square(fitted.labels), np.finfo(float).tiny),
            noise=spread * candidate.noise,
            structure_chance=1.0 if structure is None else structure.chance,
            noticeable=0.0 if structure is None else spread * structure.noticeable,
            weakest=spread * weakest_bend(candidate.network, fitted.points[: self.bend_rows]),
            resolution=self._resolution(candidate, fitted),
            radius=np.inf if claim is None else claim.radius,
            isolation=0.0 if claim is None else claim.isolation,
            largest_standard_error=0.0 if candidate.is_exact else _largest_standard_error(candidate, coordinates),
        )

    def _resolution(self, candidate: JudgedNetwork, fitted: Rows) -> float:
        if candidate.structure is not None:
            return candidate.rules.residuals.resolution
        return exact_resolution(candidate.network, fitted.points, confidence=RULES.confidence, band=self.density_band)

    def _parameter_claim(self, candidate: JudgedNetwork, fitted: Rows, held_out: Rows) -> Certificate:
        used = self._telling(candidate, fitted)
        return certify(
            candidate.network,
            points=fitted.points[used],
            values=fitted.values[used],
            fresh_points=held_out.points,
            fresh_values=held_out.values,
            noise=float(np.finfo(float).eps),
        )

    def _telling(self, candidate: JudgedNetwork, fitted: Rows) -> Int[np.ndarray, "used"]:
        """The first rows, and for every neuron the first ones on that side of its kink that has fewer."""
        network = candidate.network
        is_active = network.layers[0].preactivations(fitted.points) > 0.0
        is_rare = np.where(np.mean(is_active, axis=0) > 0.5, ~is_active, is_active)
        needed = self.answers_per_parameter * (network.inputs + 1)
        first = np.arange(min(len(is_active), max(self.least_answers, self.answers_per_parameter * network.parameters)))
        return np.unique(np.concatenate([first, *(np.flatnonzero(side)[:needed] for side in is_rare.T)]))


def _largest_standard_error(candidate: JudgedNetwork, coordinates: Coordinates) -> float:
    """Of directions and biases as they are, of output weights relative to the largest."""
    errors, outgoing = candidate.errors, in_inputs(candidate.network, coordinates).layers[1].weights
    scale = max(float(np.max(np.abs(outgoing), initial=0.0)), np.finfo(float).tiny)
    parts = np.concatenate([errors.angles, errors.biases, errors.output_weights / scale])
    return float(np.max(parts, initial=0.0))
