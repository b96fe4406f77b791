"""Neurons from kinks: for piecewise linear activations, on any domain.

One line through the domain meets the hyperplane of every neuron. Its kinks give places, gradients on
both sides of them give directions and output weights; what a line could not resolve is looked for
on the next one, and of two readings of a hyperplane the better one counts. The affine part is fitted
last, and signs are those that explain it.
"""

from dataclasses import dataclass

import numpy as np

from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification import reasons
from unweave.identification.refiner import AnswerPool, Candidate, Refiner, Start
from unweave.identification.session import Probe, Session
from unweave.identification.walks.hyperplanes import Hyperplanes, measure_hyperplanes
from unweave.identification.walks.kinked_terms import KinkedTerms, refined_with_signs
from unweave.identification.walks.kinks import KinkSearch
from unweave.identification.walks.lines import random_line
from unweave.oracles.oracle import Box
from unweave.result import at_most

# Answers per input that judge the terms found so far; the refinement uses them again.
ANSWERS_PER_INPUT = 3
FEWEST_ANSWERS = 48
# Residual, relative to the spread, up to which a refinement is worth its time.
ROUGHLY = 0.03


@dataclass(frozen=True)
class KinkWalk:
    """Settings of the walk along kinks.

    Args:
        lines: the largest number of lines.
        lines_in_box: the same in a box, where a line meets only some of the hyperplanes.
        attempts: the largest number of refinements, each with the terms of one line more.
    """

    lines: int = 16
    lines_in_box: int = 64
    attempts: int = 10
    name = "kink walk"

    def __call__(self, session: Session, probe: Probe, refiner: Refiner) -> Candidate:
        """The best network found.

        Raises:
            StageFailed: if no kink could be read.
        """
        oracle, answers = probe.oracle, probe.answers
        settings = KinkSearch(noise=probe.scale.noise, rounding=probe.rounding)
        terms, tried = KinkedTerms.none(oracle.inputs, oracle.outputs), []
        lines = self.lines_in_box if isinstance(session.oracle.domain, Box) else self.lines
        for number in range(lines):
            try:
                with session.stage("walking along kinks"):
                    if number == 0:
                        answers.ask(max(FEWEST_ANSWERS, ANSWERS_PER_INPUT * (oracle.inputs + 1)))
                    line = random_line(session.oracle.domain, oracle.inputs, session.rng_walk)
                    met = measure_hyperplanes(oracle.query, settings(oracle.query, line), settings)
                    terms = terms.extended(met)
                    answers.excite(terms.network())
                    start = _start(terms, met, answers)
                if start.network.widths[0] == 0 or (start.misfit > ROUGHLY and number < lines - 1):
                    continue
                with session.stage("refining"):
                    tried.append(refined_with_signs(session, refiner, start, error=float(np.max(terms.errors))))
            except BudgetExhausted:
                if not tried:
                    raise
                break
            if tried[-1].explains or len(tried) == self.attempts:
                break
        if not tried:
            raise StageFailed(reasons.no_kinks())
        return min(tried, key=lambda candidate: candidate.certificate.rms_error)


def _start(terms: KinkedTerms, met: Hyperplanes, answers: AnswerPool) -> Start:
    network = terms.fitted(answers.points, answers.values)
    misfit = float(np.sqrt(np.mean((answers.values - network(answers.points)) ** 2)))
    checks = (
        at_most(
            "kinks that could not be read on the last line",
            met.unresolved,
            0.0,
            "kinks close together or weak ones; another line may show them apart",
            weak=np.inf,
        ),
        at_most(
            "what the kinks leave unexplained before refinement",
            misfit,
            ROUGHLY,
            "kinks are missing, or do not lie on hyperplanes as those of one hidden layer do",
            weak=1.0,
        ),
    )
    return Start(network, misfit, checks)
