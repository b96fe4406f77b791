"""What may be claimed about a relu network that was learnt from samples: outcome, reason and numbers."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from unweave.arrays import root_mean_square
from unweave.certificates.certify import Certificate, certify
from unweave.certificates.coverage import CONFIDENCE, coverage_of
from unweave.learn.relu_network.candidates import EVEN_NOISE, EXACT_ELSEWHERE, Candidate, Rows, in_inputs
from unweave.learn.relu_network.evidence import RESOLUTION, ResidualStructure, exact_resolution, weakest_bend
from unweave.result import Diagnostic, Outcome, Verdict, at_least, at_most
from unweave.samples.hermite.inputs import Coordinates

# Answers per parameter that the claim on the parameters uses, and the least number of them.
ANSWERS_PER_PARAMETER, LEAST_ANSWERS = 20, 2_000
# Share of the spread of the labels above which noise leaves too little to call an affine function a finding; chosen.
LARGEST_NOISE = 0.95
# Largest relative radius of a parameter that counts as known.
KNOWN = 1e-3
# Error on held out rows, beyond that many standard errors, in units of the noise: a fit to few rows is better there.
STANDARD_ERRORS, LARGEST_SURPRISE = 5.0, 1.2


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
                f"{self.noticeable:.2g} (root mean square of its bend, power 95 %; that of the weakest one found is "
                f"{self.weakest:.2g})",
            )
        )
        rows.append(("neurons may be one if nearer than", f"{np.degrees(self.resolution):.2g} degrees"))
        rows.append(("largest standard error of a parameter", f"{self.largest_standard_error:.2g}"))
        return rows


def certificate_of(
    candidate: Candidate,
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
    claim = _parameter_claim(candidate, fitted, held_out) if candidate.is_exact else None
    return ReluCertificate(
        held_out=len(left),
        rms_error=spread * rms,
        error_bar=spread * bar,
        largest_error=spread * float(np.max(np.abs(left))),
        coverage=coverage_of(len(left), confidence=CONFIDENCE),
        confidence=CONFIDENCE,
        label_spread=spread * float(np.std(held_out.labels)),
        label_rms=max(spread * root_mean_square(fitted.labels), np.finfo(float).tiny),
        noise=spread * candidate.noise,
        structure_chance=1.0 if structure is None else structure.chance,
        noticeable=0.0 if structure is None else spread * structure.noticeable,
        weakest=spread * weakest_bend(candidate.network, fitted.points),
        resolution=exact_resolution(candidate.network, fitted.points, confidence=CONFIDENCE)
        if structure is None
        else RESOLUTION,
        radius=np.inf if claim is None else claim.radius,
        isolation=0.0 if claim is None else claim.isolation,
        largest_standard_error=0.0 if candidate.is_exact else _largest_standard_error(candidate, coordinates),
    )


def _parameter_claim(candidate: Candidate, fitted: Rows, held_out: Rows) -> Certificate:
    used = _telling(candidate, fitted)
    return certify(
        candidate.network,
        points=fitted.points[used],
        values=fitted.values[used],
        fresh_points=held_out.points,
        fresh_values=held_out.values,
        noise=float(np.finfo(float).eps),
    )


def _telling(candidate: Candidate, fitted: Rows) -> Int[np.ndarray, "used"]:
    """The first rows, and for every neuron the first ones on that side of its kink that has fewer."""
    network = candidate.network
    is_active = network.layers[0].preactivations(fitted.points) > 0.0
    is_rare = np.where(np.mean(is_active, axis=0) > 0.5, ~is_active, is_active)
    needed = ANSWERS_PER_PARAMETER * (network.inputs + 1)
    first = np.arange(min(len(is_active), max(LEAST_ANSWERS, ANSWERS_PER_PARAMETER * network.parameters)))
    return np.unique(np.concatenate([first, *(np.flatnonzero(side)[:needed] for side in is_rare.T)]))


def _largest_standard_error(candidate: Candidate, coordinates: Coordinates) -> float:
    """Of directions and biases as they are, of output weights relative to the largest."""
    errors, outgoing = candidate.errors, in_inputs(candidate.network, coordinates).layers[1].weights
    scale = max(float(np.max(np.abs(outgoing), initial=0.0)), np.finfo(float).tiny)
    parts = np.concatenate([errors.angles, errors.biases, errors.output_weights / scale])
    return float(np.max(parts, initial=0.0))


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that a verdict rests on.

    Args:
        candidate: the best network.
        certificate: what rows that nothing has seen say about it.
        gaussian: the check of the inputs.
        given: number of neurons that was asked for.
    """

    candidate: Candidate
    certificate: ReluCertificate
    gaussian: list[Diagnostic]
    given: int | None

    @property
    def structure(self) -> ResidualStructure | None:
        """Whether what the network leaves is noise; None if it leaves nothing."""
        return self.candidate.structure

    @property
    def is_gaussian(self) -> bool:
        """Whether no check of the inputs has failed."""
        return all(each.verdict is not Verdict.FAIL for each in self.gaussian)

    @property
    def explains(self) -> bool:
        """Whether nothing but noise is left of the labels, those included that nothing has seen before."""
        return self.candidate.explains and self.surprise <= LARGEST_SURPRISE

    @property
    def surprise(self) -> float:
        """Error on rows that neither fit nor choice has seen, relative to what it is at most expected to be."""
        if self.candidate.is_exact:
            return self.certificate.largest_error / (EXACT_ELSEWHERE * self.certificate.label_rms)
        beyond = self.certificate.rms_error - STANDARD_ERRORS * self.certificate.error_bar
        return beyond / max(self.certificate.noise, np.finfo(float).tiny)

    def diagnostics(self) -> list[Diagnostic]:
        """The assumptions that the samples themselves can tell about."""
        found = [
            at_least(
                "neurons that stand out from the noise",
                int(self.candidate.is_seen.sum()),
                self.candidate.neurons,
                "the others may be accidents of the noise: more samples would show them, or that there are fewer",
                weak=1,
            ),
            at_most(
                "error on held out rows, relative to what is expected",
                self.surprise,
                LARGEST_SURPRISE,
                "rows that were kept back show what the fitted ones do not: neurons are missing, or there are too many",
            ),
        ]
        if self.structure is not None:
            found.append(self.structure.diagnostic())
        if self.candidate.is_exact:
            found.append(
                at_most(
                    "relative radius of the parameters",
                    self.certificate.radius,
                    KNOWN,
                    "these samples do not pin the parameters down: some neuron bends at too few of them",
                )
            )
        return found


def verdict(case: Case) -> tuple[Outcome, str]:
    """The outcome, and the reason for it with its numbers."""
    if not case.explains:
        return Outcome.NOT_IDENTIFIED, _unexplained(case)
    if case.candidate.neurons == 0:
        return _affine(case)
    outcome, reason = _exact(case) if case.candidate.is_exact else _noisy(case)
    if case.given is not None and case.given != case.candidate.neurons:
        reason = (
            f"the samples show {case.candidate.neurons} neurons, not the {case.given} that were given: "
            f"leave the number out, or give the right one. With this number, {reason}"
        )
        outcome = Outcome.PARTLY_IDENTIFIED
    return outcome, reason[0].upper() + reason[1:]


def notes(case: Case) -> list[str]:
    """Facts that a user should know."""
    doubt = doubt_of_inputs(case)
    found = [] if doubt is None else [doubt]
    network = case.candidate.network
    if network.skip is not None and case.candidate.neurons:
        found.append(
            "The network has an affine part of its own: neurons with biases so large that they never bend at these "
            "samples, and signs that are open, are in it."
        )
    return found


def doubt_of_inputs(case: Case) -> str | None:
    """What inputs that are not Gaussian mean; None if they are."""
    if case.is_gaussian:
        return None
    worst = max(case.gaussian, key=lambda each: each.value / each.threshold)
    return (
        f"The inputs are not Gaussian ({worst.name}: {worst.value:.2g}, allowed {worst.threshold:.2g}): the "
        "moments gave a poor start, and no theory vouches for it. What is claimed rests on the fit to rows alone."
    )


def too_few(rows: int, needed: int) -> str:
    """Reason for samples that are too few for moments."""
    return (
        f"{rows} samples are too few for moments of order two, at least {needed} are needed: give more. "
        "The network is the affine function that fits best."
    )


def _affine(case: Case) -> tuple[Outcome, str]:
    if case.candidate.is_exact:
        return Outcome.IDENTIFIED, "The labels are an affine function of the inputs, without any neuron."
    certificate = case.certificate
    seen = f"No neuron stands out from the noise of {certificate.noise:.3g}"
    if certificate.noise > LARGEST_NOISE * certificate.label_spread:
        return Outcome.NOT_IDENTIFIED, (
            f"{seen}, which is nearly all of the spread of the labels, {certificate.label_spread:.3g}: they may not "
            "depend on the inputs at all, or in a way that no few neurons have."
        )
    return Outcome.PARTLY_IDENTIFIED, (
        f"{seen}: an affine function is what can be seen, and a neuron would have shown if it bends the labels by "
        f"{certificate.noticeable:.2g} (root mean square, power 95 %). More samples would show weaker ones."
    )


def _exact(case: Case) -> tuple[Outcome, str]:
    candidate, certificate = case.candidate, case.certificate
    count = candidate.neurons
    meets = "1 neuron meets" if count == 1 else f"{count} neurons meet"
    met = f"{meets} all labels, largest error {certificate.largest_error:.1e} on held out rows"
    if candidate.network.skip is not None:
        return Outcome.PARTLY_IDENTIFIED, (
            f"{met}, with an affine part that no choice of signs explains: every neuron is known up to its sign, "
            "and neurons that never bend at these samples are in the affine part."
        )
    if np.any(candidate.open_signs):
        named = ", ".join(str(k) for k in np.flatnonzero(candidate.open_signs))
        return Outcome.PARTLY_IDENTIFIED, (
            f"{met}, but the signs of neurons {named} are not determined by any labels: sum a w = 0 and sum a b = 0 "
            "over some of them, so that flipping these gives the same function."
        )
    if certificate.radius > KNOWN:
        return Outcome.PARTLY_IDENTIFIED, f"{met}, but these samples do not pin all parameters down."
    return Outcome.IDENTIFIED, (
        f"{met}; every parameter is within a relative {certificate.radius:.1e}, unless two neurons are so near to each "
        f"other ({certificate.resolution:.1g} radians) that no row lies between their kinks."
    )


def _noisy(case: Case) -> tuple[Outcome, str]:
    candidate, certificate = case.candidate, case.certificate
    noise = f"noise of {certificate.noise:.3g} explains what {_count(candidate.neurons)} of the labels"
    if not np.all(case.candidate.is_seen):
        weak = int(np.count_nonzero(~case.candidate.is_seen))
        return Outcome.PARTLY_IDENTIFIED, f"{noise}, but {weak} of the neurons do not stand out from it."
    if case.structure is not None and case.structure.is_doubtful:
        return Outcome.PARTLY_IDENTIFIED, (
            f"{noise} with a chance of {case.structure.chance:.1g} only, so that a weaker neuron may be missing."
        )
    if certificate.noticeable > certificate.weakest:
        return Outcome.PARTLY_IDENTIFIED, (
            f"{noise}, but these rows would not have shown all neurons that are as strong as those: the weakest bends "
            f"the labels by {certificate.weakest:.2g} (root mean square), and a missing one shows from "
            f"{certificate.noticeable:.2g} on with a probability of 95 %. More samples would tell."
        )
    if candidate.network.skip is not None or np.any(candidate.open_signs):
        return Outcome.PARTLY_IDENTIFIED, (
            f"{noise}; these neurons are known within their standard errors and up to their signs: the noise, or "
            "neurons that never bend at these samples, hide which signs leave no affine part."
        )
    if not case.is_gaussian:
        return Outcome.PARTLY_IDENTIFIED, (
            f"{noise}, but the inputs are not Gaussian, so that other networks may explain the labels as well."
        )
    return Outcome.IDENTIFIED, (
        f"{noise}; the largest standard error of a parameter is {certificate.largest_standard_error:.2g}; a missing "
        f"neuron would have shown if it bends the labels by {certificate.noticeable:.2g} (root mean square, "
        f"power 95 %), and if its weights are {np.degrees(certificate.resolution):.0f} degrees or more from all others."
    )


def _count(neurons: int) -> str:
    return "1 neuron leaves" if neurons == 1 else f"{neurons} neurons leave"


def _unexplained(case: Case) -> str:
    candidate, certificate = case.candidate, case.certificate
    count = candidate.neurons
    asked = "" if case.given is None else f" ({case.given} were given)"
    if candidate.exact_share > 0.5:
        return (
            f"{count} neurons{asked} meet {100 * candidate.exact_share:.6g} % of the fitted labels exactly, but not "
            f"all: the largest error on held out rows is {certificate.largest_error:.1e}. Neurons are missing that "
            "bend at few samples; more samples beyond their kinks would show them."
        )
    if candidate.explains:
        return (
            f"{count} neurons{asked} leave an error of {certificate.rms_error:.3g} on held out rows, and only "
            f"{certificate.noise:.3g} on those that they were fitted to: the samples are too few for so many."
        )
    if candidate.evenness < EVEN_NOISE:
        return (
            f"{count} neurons{asked} leave {certificate.rms_error:.3g} on held out rows, but half of the rows less "
            f"than {candidate.evenness:.2g} of that: this is no noise, which spoils all labels alike. Neurons are "
            "missing that bend differently at few samples, such as two that are nearly equal."
        )
    structure = case.structure
    found = "" if structure is None else f" (F = {structure.statistic:.3g}, chance {structure.chance:.1g})"
    return (
        f"The best relu network that was found, with {count} neurons{asked}, leaves {certificate.rms_error:.3g} of "
        f"labels that spread by {certificate.label_spread:.3g}, and this is no noise: it depends on the inputs{found}. "
        "The labels are not those of such a network, there are more neurons, or the samples are too few."
    )
