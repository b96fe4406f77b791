"""Refine networks of kinked terms, and choose the signs that explain their affine part."""

from dataclasses import replace

from unweave.identification import reasons
from unweave.identification.refiner import Candidate, Judge, Start
from unweave.identification.session import Run
from unweave.networks.signs import KinkExplanation, explain_kinks

# Errors of the terms before refinement up to which signs can be chosen, and the margin that they get. Estimates of
# these errors are cautious: where they are too large to choose, what the terms leave unexplained is tried instead,
# and fresh answers judge the choice.
LARGEST_ERROR = 1e-5
ERROR_MARGIN = 10.0


def refined_with_signs(run: Run, judge: Judge, start: Start, *, error: float) -> Candidate:
    """Refine a network of kinked terms, without an affine part if signs explain it and with one if not.

    Args:
        run: where open signs are noted.
        judge: refines and asks fresh answers.
        start: terms with an affine part.
        error: relative error of the terms.
    """
    likely = error if error < LARGEST_ERROR else start.misfit
    if likely < LARGEST_ERROR:
        explained = explain_kinks(start.network, relative_tol=ERROR_MARGIN * likely, activation=run.activation)
        if explained.solutions == 1:
            candidate = judge(replace(start, network=explained.network))
            if candidate.explains:
                return candidate
    candidate = judge(start)
    if not candidate.explains:
        return candidate
    explained = explain_kinks(candidate.network, relative_tol=candidate.skip_tol, activation=run.activation)
    _report_signs(run, explained)
    if explained.solutions != 1:
        return candidate
    smaller = judge.again(candidate, explained.network)
    return smaller if smaller.explains else candidate


def _report_signs(run: Run, explained: KinkExplanation) -> None:
    if explained.solutions != 1:
        run.notes.append(reasons.open_signs(explained))
