"""Neurons from kinks: for piecewise linear activations, on any domain.

One line through the domain meets the hyperplane of every neuron. Its kinks give places, gradients on
both sides of them give directions and output weights; what a line could not resolve is looked for
on the next one, and of two readings of a hyperplane the better one counts. The affine part is fitted
last, and signs are those that explain it.
"""

from dataclasses import dataclass, field

import numpy as np

from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification import reasons
from unweave.identification.answers import AnswerPool
from unweave.identification.found import Found
from unweave.identification.kinks.box import BoxWalk
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.routes import KINK_WALK, Condition, Known, Survey
from unweave.identification.walks.hyperplanes import Hyperplanes, measure_hyperplanes
from unweave.identification.walks.kinked_terms import KinkedTerms, refined_with_signs
from unweave.identification.walks.kinks import KinkSearch
from unweave.identification.walks.lines import random_line
from unweave.result import at_most


@dataclass(frozen=True, kw_only=True)
class KinkWalk:
    """Settings of the walk along kinks.

    Args:
        suits: when it is taken.
        lines: the largest number of lines.
        in_box: how kinks are found in a box, where a line meets only some of the hyperplanes.
        attempts: the largest number of refinements, each with the terms of one line more.
        roughly: residual before refinement, relative to the spread, up to which a refinement is worth its time.
        answers_per_input: answers that judge the terms found so far; the refinement uses them again.
        fewest_answers: the same at least.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    suits: Condition
    lines: int = 16
    in_box: BoxWalk = field(default_factory=BoxWalk)
    attempts: int = 10
    roughly: float = 0.03
    answers_per_input: int = 3
    fewest_answers: int = 48
    name = KINK_WALK
    asks_far = True

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:  # noqa: ARG002
        """Find the best network of kinked terms."""
        try:
            if survey.is_in_box:
                first = self._first_answers(survey.session.oracle.inputs)
                return Found(candidate=self.in_box(survey, refiner, first_answers=first))
            return Found(candidate=self._best(survey, refiner))
        except StageFailed as failure:
            return Found(str(failure))

    def _best(self, survey: Survey, refiner: Refiner) -> Candidate:
        session, probe = survey.session, survey.probe
        oracle, answers = probe.oracle, probe.answers
        search = KinkSearch(noise=probe.scale.noise, rounding=probe.rounding)
        terms, tried = KinkedTerms.none(oracle.inputs, oracle.outputs), []
        for number in range(self.lines):
            try:
                with session.stage("walking along kinks"):
                    if number == 0:
                        answers.ask(self._first_answers(oracle.inputs))
                    line = random_line(session.oracle.domain, oracle.inputs, session.rng_walk)
                    met = measure_hyperplanes(oracle.query, search(oracle.query, line), search)
                    terms = terms.extended(met)
                    session.saw(len(terms.offsets))
                    answers.excite(terms.network())
                    start = self._start(terms, met, answers)
                if start.network.widths[0] == 0 or (start.misfit > self.roughly and number < self.lines - 1):
                    continue
                with session.stage("refining"):
                    error = float(np.max(terms.errors))
                    tried.append(refined_with_signs(session, refiner, start, error=error, activation=survey.activation))
            except BudgetExhausted:
                if not tried:
                    raise
                break
            if tried[-1].explains or len(tried) == self.attempts:
                break
        if not tried:
            raise StageFailed(reasons.no_kinks())
        return min(tried, key=lambda candidate: candidate.certificate.rms_error)

    def _start(self, terms: KinkedTerms, met: Hyperplanes, answers: AnswerPool) -> Start:
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
                self.roughly,
                "kinks are missing, or do not lie on hyperplanes as those of one hidden layer do",
                weak=1.0,
            ),
        )
        return Start(network, misfit, checks)

    def _first_answers(self, inputs: int) -> int:
        return max(self.fewest_answers, self.answers_per_input * (inputs + 1))
