"""Neurons from kinks: for piecewise linear activations, on any domain.

One line through the domain meets the hyperplane of every neuron. Its kinks give places, gradients on
both sides of them give directions and output weights; what a line could not resolve is looked for
on the next one, and of two readings of a hyperplane the better one counts. The affine part is fitted
last, and signs are those that explain it.
"""

from dataclasses import dataclass, field

import numpy as np

from unweave.arrays import PerPoint, Points, Values, threads_for
from unweave.exceptions import BudgetExhausted, OracleError, StageFailed
from unweave.identification import reasons
from unweave.identification.answers import AnswerPool
from unweave.identification.found import Found
from unweave.identification.kinks.box import BoxWalk
from unweave.identification.kinks.gradient_table import GradientTable
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.routes import KINK_WALK, SATURATION, Condition, Decision, Known, Survey, leave, take
from unweave.identification.walks.hyperplanes import Hyperplanes, measure_hyperplanes, read_weak_kinks
from unweave.identification.walks.kinked_terms import KinkedTerms, refined_with_signs
from unweave.identification.walks.kinks import KinkSearch
from unweave.identification.walks.lines import random_line, reaches
from unweave.networks.network import Network
from unweave.networks.signs import explain_kinks
from unweave.result import at_most


@dataclass(frozen=True, kw_only=True)
class ClosedForm:
    """Settings of solutions in closed form.

    Args:
        table: how networks are solved.
        large: parameters from which on they are: a fit of fewer takes no longer, and fewer queries.
        solutions: that are tried, each with the terms of one line more.
        finest_noise: relative to the spread, up to which answers are exact but for rounding: a fit averages noise.
        sign_tol: relative size of an affine part that signs of exact terms may leave.
        error_margin: largest error of an answer, in expected ones: five standard deviations, and the rounding of terms.
    """

    table: GradientTable = field(default_factory=GradientTable)
    large: int = 500
    solutions: int = 3
    finest_noise: float = 1e-11
    sign_tol: float = 1e-9
    error_margin: float = 8.0


@dataclass(frozen=True, kw_only=True)
class KinkWalk:
    """Settings of the walk along kinks.

    Args:
        suits: when it is taken.
        lines: the largest number of lines.
        in_box: how kinks are found in a box, where a line meets only some of the hyperplanes.
        attempts: the largest number of refinements, each with the terms of one line more.
        roughly: residual before refinement, relative to the spread, up to which a refinement is worth its time.
        judges: answers that judge the terms found so far, per input, and at least; the refinement uses them again.
        closed_form: how large networks are solved, and which.
        largest_fit: parameters up to which more than that is tried: fits take long.
        large_fits: of networks that are larger.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    suits: Condition
    lines: int = 16
    in_box: BoxWalk = field(default_factory=BoxWalk)
    attempts: int = 10
    roughly: float = 0.03
    judges: tuple[int, int] = (3, 48)
    closed_form: ClosedForm = field(default_factory=ClosedForm)
    largest_fit: int = 400
    large_fits: int = 2
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
        terms, tried, almost = KinkedTerms.none(oracle.inputs, oracle.outputs), [], None
        lengths = reaches(oracle.inputs)
        for number in range(self.lines):
            try:
                with session.stage("walking along kinks"):
                    if number == 0:
                        answers.ask(self._first_answers(oracle.inputs))
                    met = self._walk_as_far(survey, terms, almost, lengths)
                    terms = terms.extended(met) if almost is None else terms.extended_by_new(met)
                    session.saw(len(terms.offsets))
                    answers.excite(terms.network())
                    start = self._start(terms, met, answers)
                if start.network.widths[0] == 0 or (start.misfit > self.roughly and number < self.lines - 1):
                    continue
                with session.stage("refining"):
                    tried.append(
                        self._refined(survey, refiner, start, terms, may_solve=len(tried) < self.closed_form.solutions)
                    )
            except BudgetExhausted:
                if not tried:
                    raise
                break
            if self._is_over(tried):
                break
            almost = tried[-1].network if tried[-1].is_closed_form else None
        if not tried:
            raise StageFailed(reasons.no_kinks())
        return min(tried, key=lambda candidate: candidate.certificate.rms_error)

    def _walk_as_far(
        self, survey: Survey, terms: KinkedTerms, almost: Network | None, lengths: list[float]
    ) -> Hyperplanes:
        """Walk along a line as far as the model answers; leave out the lengths at which it does not.

        Raises:
            OracleError: if it does not answer on the shortest lines, which are where fresh points are.
        """
        while True:
            try:
                return self._walk(survey, terms, almost, lengths[0])
            except OracleError as problem:
                if len(lengths) == 1:
                    raise
                lengths.pop(0)
                survey.session.notes.append(
                    f"The model does not answer on a whole line, so shorter ones were walked along, up to "
                    f"{lengths[0]:.2g} half-widths from the centre: {problem}"
                )

    def _walk(self, survey: Survey, terms: KinkedTerms, almost: Network | None, reach: float) -> Hyperplanes:
        """Measure the hyperplanes on a line, those of the difference from a network that is almost right.

        Neurons that are too weak to be seen beside others are seen in the difference. Without such a network, those of
        the function.
        """
        session, probe = survey.session, survey.probe
        query = probe.oracle.query

        def ask(points: Points) -> Values:
            return query(points) if almost is None else query(points) - almost(points)

        # Answers and model are rounded, although their difference is small.
        largest = 0.0 if almost is None else float(np.max(np.abs(probe.answers.values)))
        search = KinkSearch(noise=probe.scale.noise + 16 * probe.rounding * largest, rounding=probe.rounding)
        try:
            line = random_line(session.oracle.domain, probe.oracle.inputs, session.rng_walk, reach=reach)
            walked = search(ask, line)
        except StageFailed:
            if almost is None:
                raise
            # The difference bends twice at every kink that is not quite in its place.
            return self._walk(survey, terms, None, reach)
        # Every kink is a neuron, whose gradients on both sides are asked.
        session.saw(len(terms.offsets) + len(walked.kinks))
        met = measure_hyperplanes(ask, walked, search)
        parameters = len(walked.kinks) * (probe.oracle.inputs + probe.oracle.outputs)
        if almost is None and self._is_large(survey, parameters):
            met = read_weak_kinks(ask, walked, search, met)
        return met

    def _is_over(self, tried: list[Candidate]) -> bool:
        """Whether the last network explains all answers, or others would not."""
        last = tried[-1]
        most, fits = self.attempts, sum(not each.is_closed_form for each in tried)
        if last.network.parameters > self.largest_fit:
            most = self.large_fits if fits else self.closed_form.solutions
        return last.explains or len(tried) >= most

    def _refined(
        self, survey: Survey, refiner: Refiner, start: Start, terms: KinkedTerms, *, may_solve: bool
    ) -> Candidate:
        """Make the terms exact, in closed form if there are many of them, and else by a fit."""
        if may_solve and self._is_large(survey, start.network.parameters):
            solved = self._in_closed_form(survey, refiner, start)
            # A fit may tell apart what the cells do not.
            if solved is not None and (solved.certificate.is_isolated or not solved.explains):
                return solved
        error = float(np.max(terms.errors))
        return refined_with_signs(survey.session, refiner, start, error=error, activation=survey.activation)

    def _is_large(self, survey: Survey, parameters: int) -> bool:
        """Whether a closed form is faster than a fit, and as exact."""
        rules = self.closed_form
        return parameters >= rules.large and survey.probe.scale.noise <= rules.finest_noise

    def _in_closed_form(self, survey: Survey, refiner: Refiner, start: Start) -> Candidate | None:
        """Solve a network from gradients in roomy cells; None if there are not enough of them."""
        network, rules = start.network, self.closed_form

        def errors_at(points: Points, values: Values) -> PerPoint:
            return rules.error_margin * refiner.floors(network, points, values)

        try:
            gradients = rules.table(survey.probe.oracle, network, errors_at, survey.session.rng_walk)
        except (OracleError, StageFailed):
            # Roomy cells are far from the centre, where a model need not answer.
            return None
        with threads_for(network.parameters):
            gradients, fit = gradients.settled(network)
        if fit.is_met:
            explained = explain_kinks(fit.network, relative_tol=rules.sign_tol, activation=survey.activation)
            if explained.solutions == 1 and explained.network.layers[0].activation.homogeneity == 1:
                signed = gradients.solve(explained.network)
                fit = signed if signed.is_met else fit
        return refiner.solved(
            start, fit.network, fit.claim, error_margin=rules.error_margin, amplification=fit.amplification
        )

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
        per_input, fewest = self.judges
        return max(fewest, per_input * (inputs + 1))


def has_kinks(survey: Survey, known: Known) -> Decision:
    """Suit functions that are straight nearby and bent farther away."""
    if why := known.closes(survey):
        return leave(why)
    if not survey.has_kinks:
        return leave("no kinks were seen in the first answers.")
    if not survey.may_walk:
        return leave("walks are switched off.")
    return take("the function is affine over short distances and not over longer ones, as kinks make it.")


def has_kinks_far_out(survey: Survey, known: Known) -> Decision:
    """Suit functions whose kinks, far out, the saturation walk could not read."""
    if why := known.closes(survey):
        return leave(why)
    if not survey.bends_far or survey.has_kinks or SATURATION not in known.tried:
        return leave("no kinks far from the centre were left unexplained.")
    return take("far from the centre the answers have sharp kinks.")


def is_straight_after_all(survey: Survey, known: Known) -> Decision:
    """Suit functions that were taken for smooth ones, and that Hessians do not explain."""
    if why := known.closes(survey):
        return leave(why)
    if survey.has_kinks is not None:
        return leave("it is known already whether there are kinks.")
    if not survey.may_walk:
        return leave("walks are switched off.")
    if not survey.look_for_kinks():
        return leave("the function is not affine over short distances.")
    return take("the Hessians do not explain a function that is affine over short distances.")


def hides_kinks(survey: Survey, known: Known) -> Decision:
    """Suit functions that are straight nearly everywhere: kinks may cut off corners of a box, or be far away."""
    if why := known.closes(survey):
        return leave(why)
    if survey.is_in_box:
        may_be_hidden = known.misses or _is_straight_everywhere(survey)
    else:
        may_be_hidden = survey.has_fine_answers and _is_straight_everywhere(survey)
    if not may_be_hidden:
        return leave("no network was found that is wrong in corners only, and the function bends at many places.")
    if KINK_WALK in known.tried or not survey.may_walk:
        return leave("kinks were walked along already, or walks are switched off.")
    return take(
        "the function is affine around most points and not around others: kinks may be far out, or cut off corners."
    )


def _is_straight_everywhere(survey: Survey) -> bool:
    """Whether none of some random places was bent, however far away: kinks are few, or there are none."""
    return survey.flatness.telling == 0
