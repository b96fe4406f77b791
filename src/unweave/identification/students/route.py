"""A last way to a shallow network: students that learn to answer alike, with every activation that may be it.

With few inputs there may be more neurons than Hessians tell apart, and along one input there is nothing but overlapping
neurons. A student that is grown wide enough, fitted and thinned out often is the network itself: then it explains all
answers to rounding, and is judged as any other network. If not, it may still answer like the model: that is claimed,
and nothing about its neurons.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from unweave.activations import Activation, base_of, simplest_activations
from unweave.exceptions import BudgetExhausted, OracleError
from unweave.identification import reasons
from unweave.identification.found import Found
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.routes import STUDENT_FIT, Condition, Decision, Known, Survey, leave, take
from unweave.identification.students.growth import Growth, Student
from unweave.identification.students.lessons import LessonRules, Lessons
from unweave.networks.network import Network
from unweave.numerics.least_squares import is_over


@dataclass(frozen=True, kw_only=True)
class Unexplained:
    """Suit functions of few inputs that nothing else explains.

    Args:
        most_inputs: with more, students need more parameters than can be fitted from random starts in seconds, and
            Hessians tell 65 neurons apart.
    """

    most_inputs: int = 12

    def __call__(self, survey: Survey, known: Known) -> Decision:
        """Decide without any query."""
        if why := known.closes(survey):
            return leave(why)
        if known.first_layer is not None:
            return leave("a first layer is known, which says more than a network that only answers alike.")
        if not survey.has_fine_answers:
            return leave("the answers are too noisy for fits from random starts.")
        if np.any(np.isinf(survey.probe.spreads)):
            return leave("answers are constant up to rounding: there is no spread to compare errors with.")
        if survey.session.oracle.inputs > self.most_inputs:
            return leave(f"fits from random starts are made for at most {self.most_inputs} inputs.")
        if survey.activation is not None and not survey.activation.is_curved:
            return leave(f"{survey.activation} does not bend, so that such fits do not find its neurons.")
        if survey.has_kinks and (known.network is not None or not survey.may_walk):
            # Neurons of ELU, few in many inputs, look alike; but no kinks are found along them.
            return leave("the function has kinks, which students have not.")
        return take("nothing else explains the answers, and there are few inputs.")


@dataclass(frozen=True, kw_only=True)
class Thinning:
    """Which students are thinned, and how often.

    Args:
        breaths: how often the best students are thinned; in between they are grown again.
        grown_again: their width then, in units of that before; chosen.
        rivals: error of the next best student, in units of the best, up to which it is thinned, too; chosen.
        most_work: multiplications of all fits together after which students are not thinned any more: some 4 CPU
            seconds. With the activation given, none of 24 planted networks took more.
        completing_share: of that, what may be spent on thinning a network of an earlier route that was grown; chosen.
    """

    breaths: int = 2
    grown_again: float = 1.5
    rivals: float = 10.0
    most_work: float = 3e10
    completing_share: float = 0.25

    @property
    def completing_work(self) -> float:
        """What may be spent on thinning a network of an earlier route."""
        return self.completing_share * self.most_work

    def regrown(self, width: int) -> int:
        """Give the width that a student of some width is grown to before it is thinned again."""
        return int(self.grown_again * width) + 1


@dataclass(frozen=True, kw_only=True)
class NarrowStarts:
    """Many starts of students that are hardly wider than small networks.

    What wide students are thinned to approximates a small network, and stays wider than it; a narrow student either is
    stuck early or is the network. Of Gaussian networks 3-5-1 one start in five of width 9 was: 0.02 CPU seconds each.

    Args:
        widths: of students.
        starts: of each width, and of each activation that may be it, or of the best that wide students leave.
        most_work: multiplications of all fits together: some 2 CPU seconds.
    """

    widths: tuple[int, ...] = (6, 9, 12)
    starts: int = 16
    most_work: float = 1.5e10


@dataclass(frozen=True, kw_only=True)
class StudentFit:
    """Settings of the fits from random starts.

    Args:
        suits: when it is taken.
        largest_error: of a student that is shown though it is not the network itself, relative to the spread.
        lessons: which answers students learn from.
        growth: how students are started, grown and thinned.
        completed: neurons that the best network of earlier routes is grown by, one time after the other.
        widths: that students are grown through.
        kept: how many activations go on from each of these widths: too narrow for the function, students miss it alike
            with the right activation and with others. With half as many, sin and Gaussian were left behind.
        rounds: how often students are grown from new starts, the next time with the activations that were best.
        promising: error at each width above which the answers are not those of a small smooth network: functions with
            jumps, and noise, stay above.
        close: error of a student that is not grown further before it is thinned; chosen.
        few: activations that go on, up to which that holds: among more, the right one may still be behind.
        hopeful: error of a thinned student above which it is not grown again, and of the best one above which there is
            no other round: none of 24 planted networks was found from there, and most functions that no student
            explains stay above.
        thinning: which students are thinned, and how often.
        narrow: starts of students where wide ones come close and none is the network.
        most_numbers: weights and biases of a student, at most.
        last_widths: that the best student is grown through if it is not good enough to be shown.

    Heuristic: measured on planted networks of 1 to 10 inputs with 3 to 12 neurons.
    """

    suits: Condition
    largest_error: float
    lessons: LessonRules = field(default_factory=LessonRules)
    growth: Growth = field(default_factory=Growth)
    completed: tuple[int, ...] = (1, 2, 4)
    widths: tuple[int, ...] = (13, 20, 28)
    kept: tuple[int, ...] = (10, 4, 2)
    rounds: int = 2
    promising: tuple[float, ...] = (0.3, 0.1, 0.02)
    close: float = 1e-4
    few: int = 3
    hopeful: float = 1e-3
    thinning: Thinning = field(default_factory=Thinning)
    narrow: NarrowStarts = field(default_factory=NarrowStarts)
    most_numbers: int = 220
    last_widths: tuple[int, ...] = (28, 40, 56)
    name = STUDENT_FIT
    asks_far = False

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:
        """Fit students, and judge the best one.

        Raises:
            OracleError: if the model fails, unless an earlier route has found a network, which is not lost for that.
        """
        try:
            return self._found(survey, known, refiner)
        except OracleError as failure:
            if known.network is None:
                raise
            return Found(str(failure))

    def _found(self, survey: Survey, known: Known, refiner: Refiner) -> Found:
        students: list[Student] = []
        with survey.session.stage("fitting students"), suppress(BudgetExhausted):
            # What was learnt before the budget ended is judged all the same.
            for student in self._students(survey, known):
                students.append(student)
        if not students:
            return Found(reasons.no_students())
        with survey.session.stage("refining"), suppress(BudgetExhausted):
            candidate = self._judged(survey, students, refiner)
            if candidate is not None:
                return Found(candidate=candidate)
        best = min(students, key=_error)
        if best.error <= self.largest_error:
            return Found(reasons.unjudged_students(best.error, len(best.neurons)))
        return Found(reasons.poor_students(best.error, len(best.neurons), self.largest_error))

    def _students(self, survey: Survey, known: Known) -> Iterator[Student]:
        """Give students that complete a network, others of every width, then the best thinned, and wider."""
        rng = survey.session.rng_fit.spawn(1)[0]
        lessons = Lessons(self.lessons, survey.probe, rng)
        best: dict[Activation, Student] = {}
        work = 0.0
        for student in self._completing(known.network, lessons, rng):
            yield student
            if student.is_exact:
                return  # it is thinned already
            best, work = _with(best, student), student.work
        activations = _activations(survey)
        if len(activations) == 1:
            # Nothing has to be ranked by wide students first, which take more answers.
            for student in self._narrow(activations, lessons, rng, most_work=self.narrow.most_work):
                yield student
                if student.is_exact:
                    return
        for _ in range(self.rounds):
            for student in self._round(activations, best, lessons, rng, most_work=self.thinning.most_work - work):
                yield student
                best, work = _with(best, student), work + student.work
                if student.is_exact and student.is_thinned:
                    return
            ranked = sorted(best.values(), key=_error)
            if not ranked or ranked[0].error > self.hopeful or ranked[0].error <= self.largest_error or is_over():
                break
            survey.session.saw(len(ranked[0].neurons))
            activations = tuple(student.activation for student in ranked[: self.kept[-2]])
        if best:
            yield from self._widening(min(best.values(), key=_error), lessons, rng)

    def _round(
        self,
        activations: tuple[Activation, ...],
        best: dict[Activation, Student],
        lessons: Lessons,
        rng: np.random.Generator,
        *,
        most_work: float,
    ) -> Iterator[Student]:
        """Grow students from new starts, try narrow ones where they come close, and thin the best of all."""
        for student in self._growing(activations, lessons, rng):
            yield student
            best, most_work = _with(best, student), most_work - student.work
            if student.is_exact:
                best = {student.activation: student}
        ranked = sorted(best.values(), key=_error)[: self.kept[-1]]
        if not ranked or ranked[0].error > self.promising[-1] or is_over():
            return
        ranked = [student for student in ranked if student.error <= self.thinning.rivals * ranked[0].error]
        if ranked[0].error <= self.hopeful and not ranked[0].is_exact:
            activations, limit = tuple(each.activation for each in ranked), min(most_work, self.narrow.most_work)
            for student in self._narrow(activations, lessons, rng, most_work=limit):
                yield student
                most_work -= student.work
                if student.is_exact:
                    return
        for student in ranked:
            for thinned in self._breathing(student, lessons, rng, most_work=most_work / len(ranked)):
                yield thinned
                if thinned.is_exact:
                    return

    def _narrow(
        self, activations: tuple[Activation, ...], lessons: Lessons, rng: np.random.Generator, *, most_work: float
    ) -> Iterator[Student]:
        """Start narrow students of these activations until one may be the network; give the best of every width."""
        for width in self.narrow.widths:
            lesson = lessons.of_width(width)
            fits: list[Student] = []
            for _, activation in product(range(self.narrow.starts), activations):
                if most_work <= 0.0 or is_over():
                    return
                fits.append(self.growth.once(activation, width, lesson, rng))
                most_work -= fits[-1].work
                if fits[-1].is_exact:
                    yield self.growth.patient().thinned(fits[-1], lesson)
                    return
            yield replace(min(fits, key=_error), work=sum(fit.work for fit in fits))

    def _completing(self, network: Network | None, lessons: Lessons, rng: np.random.Generator) -> Iterator[Student]:
        """Go on from the best network of earlier routes, which may lack a few neurons only."""
        if network is None or network.widths[0] == 0 or not network.layers[0].activation.is_curved:
            return
        if (network.widths[0] + sum(self.completed)) * (network.inputs + 1) > self.most_numbers:
            return
        growth = self.growth.patient()
        student = growth.continued(network, lessons.of_width(network.widths[0] + sum(self.completed)))
        for more in self.completed:
            width = len(student.neurons) + more
            student = growth.grown(student, width, lessons.of_width(width), rng)
            if student.error > self.promising[-1] or is_over():
                return
            if student.fits:
                break
        lesson = lessons.of_width(len(student.neurons))
        yield growth.thinned(student, lesson, most_work=self.thinning.completing_work)

    def _growing(
        self, activations: tuple[Activation, ...], lessons: Lessons, rng: np.random.Generator
    ) -> Iterator[Student]:
        """Grow students of these activations, and go on with the best, until one may be the network or none can be."""
        students: list[Student] = []
        for width, kept, promising in zip(self.widths, self.kept, self.promising, strict=True):
            if width * (lessons.inputs + 1) > self.most_numbers:
                return
            lesson = lessons.of_width(width)
            if students:
                students = [self.growth.grown(each, width, lesson, rng) for each in students]
            else:
                students = [self.growth.started(each, width, lesson, rng) for each in activations]
            work = sum(student.work for student in students)
            students = sorted(students, key=_error)[:kept]
            # The work of those that are left behind counts, too.
            students[0] = replace(students[0], work=work - sum(student.work for student in students[1:]))
            yield from students
            if students[0].error > promising or students[0].is_exact or is_over():
                return
            if students[0].error <= self.close and kept <= self.few:
                return
            if students[0].is_overfitted:
                lessons.adopt_others()

    def _breathing(
        self, student: Student, lessons: Lessons, rng: np.random.Generator, *, most_work: float
    ) -> Iterator[Student]:
        """Thin a student, then grow it and thin it again, as long as work is left."""
        for breath in range(self.thinning.breaths):
            if is_over() or most_work <= 0.0:
                return
            width = self.thinning.regrown(len(student.neurons)) if breath else len(student.neurons)
            lesson = lessons.of_width(width)
            if breath:
                student = self.growth.grown(student, width, lesson, rng)
                most_work -= student.work
            # Fits that may end exactly creep along before they do.
            growth = self.growth.patient() if student.error <= self.hopeful else self.growth
            student = growth.thinned(student, lesson, most_work=most_work)
            most_work -= student.work
            yield student
            if student.error > self.hopeful:
                return
            if student.is_overfitted:
                lessons.adopt_others()

    def _widening(self, student: Student, lessons: Lessons, rng: np.random.Generator) -> Iterator[Student]:
        """Grow a student that is nearly good enough to be shown until it is."""
        if student.error > self.hopeful:
            return
        growth = self.growth.patient()
        for width in self.last_widths:
            is_large = width * student.neurons.shape[1] > self.most_numbers
            if student.error <= self.largest_error or width <= len(student.neurons) or is_large or is_over():
                return
            student = growth.grown(student, width, lessons.of_width(width), rng)
            yield student
            if student.is_overfitted:
                lessons.adopt_others()

    def _judged(self, survey: Survey, students: Sequence[Student], refiner: Refiner) -> Candidate | None:
        """Refine the smallest student that may be the network, or judge the best as it is; None if both are poor."""
        likely = [student for student in students if student.is_exact]
        if likely:
            candidate = refiner.best([_start(min(likely, key=lambda student: len(student.neurons)))])
            if candidate.explains:
                return candidate
        best = min(students, key=_error)
        if best.error > self.largest_error:
            return None
        survey.session.saw(len(best.neurons))
        start = _start(best)
        refiner.answers.prepare_fresh(start.network.parameters)
        return refiner.judged(start)


def _activations(survey: Survey) -> tuple[Activation, ...]:
    """Give the activations that may be it."""
    if survey.activation is not None:
        return (base_of(survey.activation),)
    return simplest_activations(lambda activation: activation.is_curved)


def _with(best: dict[Activation, Student], student: Student, *, worth: float = 2.0) -> dict[Activation, Student]:
    """Keep the best student of every activation, where a wider one has to be better by a factor, which is chosen."""
    known = best.get(student.activation)
    factor = worth if known is not None and len(student.neurons) > len(known.neurons) else 1.0
    return (
        best if known is not None and known.error <= factor * student.error else {**best, student.activation: student}
    )


def _error(student: Student) -> float:
    return student.error


def _start(student: Student) -> Start:
    return Start(student.network(), student.error, is_student=True)
