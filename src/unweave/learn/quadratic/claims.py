"""What the certificate of a network of squares is worth: outcome, reason and notes."""

from math import isfinite

from unweave.learn.quadratic.certificate import OptimalityCertificate
from unweave.learn.quadratic.fits import Fit
from unweave.learn.quadratic.optimality import Regime
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.result import Outcome, Verdict


def verdict(certificate: OptimalityCertificate, problem: QuadraticProblem) -> tuple[Outcome, str]:
    """What a certificate is worth: a global optimum that is unique, exact and over-determined is identified."""
    inputs, samples = problem.inputs, problem.directions
    freedom = certificate.rank * inputs - certificate.rank * (certificate.rank - 1) // 2
    penalised = f" plus a penalty of {certificate.penalty:.3e}" if certificate.penalty > 0 else ""
    loss = f"the training loss of {certificate.loss:.3e}{penalised}"
    if not certificate.is_global:
        return Outcome.NOT_IDENTIFIED, (
            f"{loss} is not known to be the smallest possible one: that is at least {certificate.lower_bound:.3e}, "
            f"a gap of {certificate.gap:.1e}. " + _what_to_do(certificate, inputs)
        )
    best = f"{loss} is the smallest possible one (gap at most {certificate.gap:.1e})"
    if certificate.penalty > 0:
        return Outcome.PARTLY_IDENTIFIED, (
            f"{best}; a penalty says which form is taken, so that it is an estimate and not recovered: the labels have "
            "noise, or are too few. Set ridge=0 and trace_penalty=0 for the smallest loss alone."
        )
    if not certificate.is_matrix_determined:
        return Outcome.PARTLY_IDENTIFIED, (
            f"{best}, but other networks reach it too: {samples} samples do not determine a quadratic form with "
            f"{inputs * (inputs + 1) // 2} numbers. Zero loss is not recovery here: give more samples, or output "
            "weights of one sign if the outputs have one."
        )
    if not certificate.is_zero:
        return Outcome.PARTLY_IDENTIFIED, (
            f"{best} and one quadratic form alone reaches it, but the labels are not its values: they have noise, or "
            "come from another function."
        )
    if samples <= freedom:
        return Outcome.PARTLY_IDENTIFIED, (
            f"{best}, but {samples} samples, without multiples of others, are no more than the {freedom} numbers of a "
            f"quadratic form of rank {certificate.rank}, so that nothing confirms it: give more samples."
        )
    return Outcome.IDENTIFIED, (
        f"{best}, the residuals are rounding errors, and one quadratic form alone gives the {samples} labels; it has "
        f"rank {certificate.rank} and {freedom} free numbers."
    )


def _what_to_do(certificate: OptimalityCertificate, inputs: int) -> str:
    if certificate.regime == Regime.NO_GUARANTEE.value:
        return (
            f"With these output weights spurious minima are not excluded: give {inputs} neurons of each sign, or at "
            f"least {inputs} of one sign."
        )
    return "There are no spurious minima for these output weights: give the solver more steps, or train directly."


def notes_of(best: Fit, fits: list[Fit]) -> tuple[str, ...]:
    """Say what else should be known about a fit, and what the other fits have shown."""
    notes = ["neurons are not determined: W and O W have the same outputs if O^T diag(v) O = diag(v)"]
    if best.certificate.regime == Regime.NO_GUARANTEE.value:
        notes.append(
            f"no guarantee: {len(best.problem.positive)} positive and {len(best.problem.negative)} negative output "
            f"weights are too few for {best.span} inputs, spurious minima may exist"
        )
    if len({fit.choice.sign for fit in fits}) > 1:
        losses = [f"{fit.certificate.regime} {fit.certificate.loss:.3e}" for fit in fits]
        notes.append(f"both choices were trained: {', '.join(losses)}")
    if isfinite(best.choice.error):
        notes.append(
            f"chosen by held-out rows: {best.certificate.regime} output weights, ridge {best.choice.ridge:.3g}, trace "
            f"penalty {best.choice.trace:.3g}; the mean square error there is {best.choice.error:.2e} of that of labels"
        )
    faulty = [check for check in best.diagnostics if check.verdict in (Verdict.FAIL, Verdict.WEAK)]
    notes += [f"{check.name}: {check.value:g} (wanted {check.threshold:g}): {check.advice}" for check in faulty]
    return tuple(notes)
