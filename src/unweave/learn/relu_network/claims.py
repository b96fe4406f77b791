"""What may be claimed about a relu network that was learnt from samples: the outcome and the reason for it."""

from dataclasses import dataclass, field

import numpy as np

from unweave.learn.relu_network.candidates import JudgedNetwork
from unweave.learn.relu_network.certificate import ReluCertificate
from unweave.learn.relu_network.evidence import ResidualStructure
from unweave.learn.relu_network.units import unit_parameters
from unweave.result import Diagnostic, Outcome, Verdict, at_least, at_most

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, kw_only=True)
class HeldOutLimits:
    """How much larger errors may be on rows that no fit has seen.

    Args:
        standard_errors: by which the error may be larger by chance: that exceeds five of them, for a normal error, in
            3e-7 of all cases.
        surprise: error beyond these, in units of the noise. A fit to few rows is better there than elsewhere: with
            three rows per number, which are the fewest, the error elsewhere is ``sqrt(1 + 1 / 3) = 1.15`` of the
            noise, for least squares.
        outlier: largest error, in units of the largest on fitted rows. A neuron that bends at hardly any row may show
            at one of them only, and enlarges the standard error above with it. For noise with the tails of Student's t
            with three degrees of freedom, a ninth as many rows exceed three times the largest with a chance of
            ``3^-3 / 9 = 0.4 %``, for normal noise never.
    """

    standard_errors: float = 5.0
    surprise: float = 1.2
    outlier: float = 3.0

    def allow(self, surprise: float, outlier: float) -> bool:
        """Whether errors that are so much larger may be chance."""
        return surprise <= self.surprise and outlier <= self.outlier


@dataclass(frozen=True, kw_only=True)
class ReluClaims:
    """Limits beyond which a claim is not made.

    Args:
        largest_noise: share of the spread of the labels above which noise leaves too little to call an affine function
            a finding: it explains less than a tenth of their variance (``1 - 0.95^2``).
        known: largest relative radius of a parameter that counts as known: three digits; chosen. Exact labels of 634
            planted networks gave 2e-10 at most, and neurons that bend at too few rows give none.
        held_out: how much larger errors may be on rows that no fit has seen.
        largest_pull: output weight times length of a neuron, in units of the spread of the labels, where these are
            noisy. Larger ones cancel each other at the samples and nowhere else. A neuron that bends at three standard
            deviations, alone, has 210.
    """

    largest_noise: float = 0.95
    known: float = 1e-3
    held_out: HeldOutLimits = field(default_factory=HeldOutLimits)
    largest_pull: float = 1e3


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that a verdict rests on.

    Args:
        candidate: the best network.
        certificate: what rows that nothing has seen say about it.
        gaussian: the check of the inputs.
        given: number of neurons that was asked for.
        rules: limits beyond which a claim is not made.
        untold: inputs that are constant or combinations of others, so that no label tells their weights.
    """

    candidate: JudgedNetwork
    certificate: ReluCertificate
    gaussian: list[Diagnostic]
    given: int | None
    rules: ReluClaims
    untold: int = 0

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
        return self.candidate.explains and self.rules.held_out.allow(self.surprise, self.outlier)

    @property
    def surprise(self) -> float:
        """Error on rows that neither fit nor choice has seen, relative to what it is at most expected to be."""
        if self.candidate.is_exact:
            certificate = self.certificate
            return certificate.largest_error / self.candidate.rules.allowed(
                certificate.label_spread, certificate.label_rms
            )
        beyond = self.certificate.rms_error - self.rules.held_out.standard_errors * self.certificate.error_bar
        return beyond / max(self.certificate.noise, TINY)

    @property
    def outlier(self) -> float:
        """Largest error on rows that nothing has seen, relative to the largest on fitted ones; 0 for exact labels."""
        if self.candidate.is_exact:
            return 0.0
        expected = self.candidate.largest_left * self.certificate.noise / max(self.candidate.noise, TINY)
        return self.certificate.largest_error / max(expected, TINY)

    @property
    def pull(self) -> float:
        """The largest output weight times length of a neuron, in units of the spread of the labels."""
        hidden, output = self.candidate.network.layers
        lengths = np.linalg.norm(np.column_stack([hidden.weights, hidden.biases]), axis=1)
        return float(np.max(np.abs(output.weights[0]) * lengths, initial=0.0))

    @property
    def smallest_angle(self) -> float:
        """Between the lines of two neurons, in radians; a right angle where there are fewer than two."""
        directions = unit_parameters(self.candidate.network)[0]
        products = np.abs(directions @ directions.T) - 2.0 * np.eye(len(directions))
        return float(np.arccos(np.clip(np.max(products, initial=0.0), 0.0, 1.0)))

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
                self.rules.held_out.surprise,
                "rows that were kept back show what the fitted ones do not: neurons are missing, or there are too many",
            ),
        ]
        if self.structure is not None:
            found.append(self.structure.diagnostic())
            found.append(
                at_most(
                    "largest error on held out rows, relative to the largest on fitted ones",
                    self.outlier,
                    self.rules.held_out.outlier,
                    "a neuron is missing that bends at hardly any row: give more rows beyond its kink",
                )
            )
        if self.candidate.is_exact:
            found.append(
                at_most(
                    "relative radius of the parameters",
                    self.certificate.radius,
                    self.rules.known,
                    "these samples do not pin the parameters down: some neuron bends at too few of them",
                )
            )
        return found


def verdict(case: Case) -> tuple[Outcome, str]:
    """The outcome, and the reason for it with its numbers."""
    if not case.explains:
        return Outcome.NOT_IDENTIFIED, _unexplained(case)
    if case.candidate.neurons == 0:
        return _without_untold(case, *_affine(case))
    if not case.candidate.is_exact and case.pull > case.rules.largest_pull:
        return Outcome.NOT_IDENTIFIED, _cancelling(case)
    outcome, reason = _exact(case) if case.candidate.is_exact else _noisy(case)
    if case.given is not None and case.given != case.candidate.neurons:
        reason = (
            f"the samples show {case.candidate.neurons} neurons, not the {case.given} that were given: "
            f"leave the number out, or give the right one. With this number, {reason}"
        )
        outcome = Outcome.PARTLY_IDENTIFIED
    return _without_untold(case, outcome, reason)


def _without_untold(case: Case, outcome: Outcome, reason: str) -> tuple[Outcome, str]:
    """The same, but nothing about weights of inputs that depend on each other."""
    if case.untold and outcome is not Outcome.NOT_IDENTIFIED:
        reason = (
            f"the inputs have {case.untold} constant columns or dependences (such as between all columns of a one-hot "
            f"code): weights along these are one choice of many that give the same function. Beside that, {reason}"
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
        f"The inputs are not Gaussian ({worst.name}: {worst.value:.2g}, allowed {worst.threshold:.2g}): moments of "
        "them are no good start, and no theory vouches for one. What is claimed rests on the fit to rows alone."
    )


def too_few(rows: int, needed: int, *, what: str = "samples") -> str:
    """Reason for samples that are too few for moments."""
    return (
        f"{rows} {what} are too few for moments of order two, at least {needed} are needed: give more. "
        "The network is the affine function that fits best."
    )


def lack_of_rows(different: int, copies: int, unseen: tuple[int, int], *, needed: int) -> str:
    """Reason why samples with copies among them, or at few points, tell too little; empty if they tell enough."""
    if copies and different < needed:
        return too_few(different, needed, what="different samples")
    if 0 in unseen:
        return (
            "The samples lie at so few different points that those held out are at one or none of them: give inputs "
            "with more digits. The network is the affine function that fits best."
        )
    return ""


def _affine(case: Case) -> tuple[Outcome, str]:
    if case.candidate.is_exact:
        return Outcome.IDENTIFIED, "The labels are an affine function of the inputs, without any neuron."
    certificate = case.certificate
    seen = f"No neuron stands out from the noise of {certificate.noise:.3g}"
    if certificate.noise > case.rules.largest_noise * certificate.label_spread:
        return Outcome.NOT_IDENTIFIED, (
            f"{seen}, which is nearly all of the spread of the labels, {certificate.label_spread:.3g}: they may not "
            "depend on the inputs at all, or in a way that no few neurons have."
        )
    return Outcome.PARTLY_IDENTIFIED, (
        f"{seen}: the affine part is what can be seen, and a single neuron would have shown if it bends the labels by "
        f"{certificate.noticeable:.2g} (root mean square, power 95 %), with 2 % of the samples or more on either side "
        "of its kink. What looks like noise may be a function that no few neurons come near. More samples would show "
        "weaker neurons."
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
    if certificate.radius > case.rules.known:
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
    if case.smallest_angle < certificate.resolution:
        return Outcome.PARTLY_IDENTIFIED, (
            f"{noise}, but two of them are only {np.degrees(case.smallest_angle):.2g} degrees apart. One round bend "
            "looks like that behind noise: the sum of both is known, not each of them."
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
        f"{noise}; the largest standard error of a parameter is {certificate.largest_standard_error:.2g}, if no neuron "
        f"is missing; such a one would have shown if it bends the labels by {certificate.noticeable:.2g} (root mean "
        f"square, power 95 %), if 2 % of the samples or more are on either side of its kink, and if its weights are "
        f"{np.degrees(certificate.resolution):.0f} degrees or more from all others."
    )


def _cancelling(case: Case) -> str:
    return (
        f"{case.candidate.neurons} neurons meet the labels up to noise of {case.certificate.noise:.3g}, with terms "
        f"that are {case.pull:.1e} times as large as the labels and cancel each other at these samples. Elsewhere they "
        "need not: the samples are too few, or too much alike, to tell so many neurons apart."
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
            "bend at few samples, or some labels are wrong; more samples beyond their kinks would show them."
        )
    if candidate.explains and case.outlier > case.rules.held_out.outlier:
        return (
            f"{count} neurons{asked} leave {certificate.largest_error:.3g} of a held out label, {case.outlier:.2g} "
            f"times as much as of any fitted one, with noise of {certificate.noise:.3g}. Neurons are missing that "
            "bend at hardly any row, or the noise has outliers; more samples would tell."
        )
    if candidate.explains:
        return (
            f"{count} neurons{asked} leave an error of {certificate.rms_error:.3g} on held out rows, and only "
            f"{certificate.noise:.3g} on those that they were fitted to: the samples are too few for so many."
        )
    if candidate.evenness < candidate.rules.even_noise:
        return (
            f"{count} neurons{asked} leave an error of {certificate.rms_error:.3g} on held out rows, but on half of "
            f"them less than {candidate.evenness:.2g} times that: noise would spoil all labels alike. Neurons are "
            "missing that matter at few samples only, or one was found in the place of two that are nearly equal."
        )
    structure = case.structure
    found = "" if structure is None else f" (F = {structure.statistic:.3g}, chance {structure.chance:.1g})"
    return (
        f"The best relu network that was found, with {count} neurons{asked}, leaves {certificate.rms_error:.3g} of "
        f"labels that spread by {certificate.label_spread:.3g}, and this is no noise: it depends on the inputs{found}. "
        "The labels are not those of such a network, there are more neurons, or the samples are too few."
    )
