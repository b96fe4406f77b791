"""The conditions of the theorems on networks of squares, checked on the samples at hand, each with its number."""

from dataclasses import dataclass

import numpy as np

from unweave.learn.quadratic.optimality import OptimalityTest, SquareSpectrum
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.result import Diagnostic, Verdict, at_least, at_most


@dataclass(frozen=True, kw_only=True)
class ConditionRules:
    """Limits of the conditions.

    Args:
        comfortable_points: per squared number of inputs, up to which Gaussian squares are well conditioned: their
            smallest singular value is about ``d - sqrt(2 n)``, here a sixth of d.
        largest_condition: condition number of the squares above which rounding shows in a zero loss: its square times
            the rounding of one number leaves four digits of a Gram matrix.
        parallel: cosine from which on two points are parallel, to rounding; chosen, thousands of roundings below 1.
        paired_points: up to which all pairs are compared: their cosines take 200 MB then.
        chance: in units of ``sqrt(d / n)``, which is how much moments of Gaussian points scatter, up to which a
            deviation is chance; three, as is usual.
        no_share: what is below this share of the size of labels, or of inputs, is rounding; chosen: some
            thousand roundings of float64.
    """

    comfortable_points: float = 0.35
    largest_condition: float = 1e6
    parallel: float = 1.0 - 1e-12
    paired_points: int = 5_000
    chance: float = 3.0
    no_share: float = 1e-12


RULES = ConditionRules()


def check_conditions(
    test: OptimalityTest, given: QuadraticProblem | None = None, *, rules: ConditionRules = RULES
) -> tuple[Diagnostic, ...]:
    """All conditions that concern these samples and output weights.

    Args:
        test: of the samples in the units in which they are trained.
        given: the same samples in their own units; those of the test if omitted.
        rules: the limits.
    """
    problem = test.problem if given is None else given
    return (
        *sign_conditions(test),
        *sample_conditions(problem, test.problem.span, rules),
        *column_conditions(problem),
        *(rank_conditions(problem, test.spectrum, rules) if test.spectrum is not None else ()),
        *parallel_points(problem, rules),
        *(one_sign_conditions(problem, rules) if test.is_one_signed else ()),
        *gaussian_conditions(problem, rules),
    )


def sign_conditions(test: OptimalityTest) -> list[Diagnostic]:
    """Neurons of each sign against the number of inputs [soltanolkotabi, Thm. 2.1, and 2.2 for one sign]."""
    problem, inputs = test.problem, test.problem.span
    positive, negative = len(problem.positive), len(problem.negative)
    if test.is_one_signed:
        return [
            at_least(
                "neurons of the one sign",
                max(positive, negative),
                inputs,
                "with fewer neurons than directions of the points spurious minima are not excluded: add neurons",
            )
        ]
    advice = "spurious minima are not excluded, and do occur: give as many output weights of each sign as inputs"
    return [
        at_least("neurons, against twice the inputs", problem.neurons, 2 * inputs, advice),
        at_least("neurons with positive output weights", positive, inputs, advice),
        at_least("neurons with negative output weights", negative, inputs, advice),
    ]


def sample_conditions(problem: QuadraticProblem, span: int, rules: ConditionRules) -> list[Diagnostic]:
    """Number of points against the number of inputs and its square."""
    samples, inputs = problem.points.shape
    dimension = inputs * (inputs + 1) // 2
    return [
        at_least(
            "points, against inputs",
            samples,
            inputs,
            f"the points span {span} of {inputs} directions: along the others weights are set to zero, "
            "because no sample sees them",
            weak=0,
        ),
        at_most(
            "points, against products of two inputs",
            samples,
            dimension,
            "more points than d (d + 1) / 2 do not fit arbitrary labels: the optimum is that of least squares",
            weak=np.inf,
        ),
        at_most(
            "points per squared number of inputs",
            samples / inputs**2,
            rules.comfortable_points,
            "squares of Gaussian points lose their conditioning near 1/2",
            weak=np.inf,
        ),
    ]


def column_conditions(problem: QuadraticProblem) -> list[Diagnostic]:
    """Inputs that do not vary."""
    is_constant = np.ptp(problem.points, axis=0) == 0
    zeros = int(np.count_nonzero(is_constant & (problem.points[0] == 0)))
    constant = int(np.count_nonzero(is_constant)) - zeros
    return [
        at_most(
            "columns that are zero",
            zeros,
            0,
            "an input that is always zero has no influence; its weights are set to zero: drop the column",
            weak=np.inf,
        ),
        at_most(
            "columns that are constant",
            constant,
            1,
            "one constant column acts as biases, more are parallel to each other: keep one",
            weak=np.inf,
        ),
    ]


def rank_conditions(problem: QuadraticProblem, spectrum: SquareSpectrum, rules: ConditionRules) -> list[Diagnostic]:
    """Rank and conditioning of the squares of the points, which decide on zero loss [soltanolkotabi, Lemma 5.6]."""
    return [
        at_least(
            "rank of the squares of the points, against points",
            spectrum.rank,
            problem.samples,
            "arbitrary labels can be fitted exactly if and only if it is the number of points",
            weak=0,
        ),
        at_least(
            "rank of the squares of the points, against products of two inputs",
            spectrum.rank,
            spectrum.dimension,
            "below, many quadratic forms fit the samples equally well and zero loss is not recovery",
            weak=0,
        ),
        at_least(
            "smallest singular value of the squares, per input",
            spectrum.smallest / problem.inputs,
            0.0,
            f"the largest is {spectrum.largest:.3g}; Gaussian points have about 1 - sqrt(2 n) / d",
        ),
        at_most(
            "condition number of the squares",
            spectrum.condition,
            rules.largest_condition,
            "a zero loss will show its rounding errors: scale the inputs, or look for nearly parallel points",
            weak=np.inf,
        ),
    ]


def parallel_points(problem: QuadraticProblem, rules: ConditionRules) -> list[Diagnostic]:
    """Pairs ``x_i = c x_j``, whose labels have to obey ``y_i = c^2 y_j``."""
    if problem.samples > rules.paired_points:
        return []
    lengths = np.linalg.norm(problem.points, axis=1)
    units = problem.points / np.where(lengths > 0, lengths, 1.0)[:, None]
    rows, columns = np.nonzero(np.triu(np.abs(units @ units.T) >= rules.parallel, 1))
    ratio = (lengths[rows] / lengths[columns]) ** 2
    misfit = np.abs(problem.labels[rows] - ratio * problem.labels[columns])
    advice = "parallel points make the squares dependent"
    if len(rows):
        worst = int(np.argmax(misfit))
        advice += (
            f"; the labels of points {rows[worst]} and {columns[worst]} differ by {misfit[worst]:.3g} from "
            "what any quadratic form gives"
        )
    return [at_most("pairs of parallel points", len(rows), 0, advice, weak=np.inf)]


def one_sign_conditions(problem: QuadraticProblem, rules: ConditionRules) -> list[Diagnostic]:
    """Labels of the wrong sign: outputs of such a network can't reach them."""
    sign = 1.0 if len(problem.positive) else -1.0
    wrong = np.minimum(sign * problem.labels, 0.0)
    floor = float(wrong @ wrong) / (2 * problem.samples)
    size = float(np.mean(problem.labels**2))
    return [
        at_least(
            "smallest label in the sign of the output weights",
            float(np.min(sign * problem.labels)),
            0.0,
            f"outputs have one sign: the loss can't fall below {floor:.3e}; take output weights of both signs",
            weak=0.0 if floor <= rules.no_share * size else None,
        )
    ]


def gaussian_conditions(problem: QuadraticProblem, rules: ConditionRules) -> list[Diagnostic]:
    """Moments of the points, for the one theorem (2.2 B) that speaks of standard normal ones."""
    points = problem.points
    chance = rules.chance * np.sqrt(problem.inputs / problem.samples)
    covariance = points.T @ points / problem.samples
    deviation = float(np.linalg.norm(covariance - np.eye(problem.inputs), 2))
    spread = points.std(axis=0)
    # Of a constant column nothing but rounding is left, and its kurtosis is that of no Gaussian.
    varies = spread > rules.no_share * np.max(np.abs(points), axis=0)
    standard = (points - points.mean(axis=0))[:, varies] / spread[varies]
    kurtosis = np.concatenate([np.mean(standard**4, axis=0), np.zeros(np.count_nonzero(~varies))])
    advice = "only the probabilistic bound for planted labels needs it; nothing else here does"

    def information(name: str, value: float, threshold: float) -> Diagnostic:
        verdict = Verdict.OK if value <= threshold else Verdict.NOT_APPLICABLE
        return Diagnostic(name, value, threshold, verdict, advice)

    return [
        information("largest mean of an input", float(np.max(np.abs(points.mean(axis=0)))), chance),
        information("distance of the second moments from the identity", deviation, chance + chance**2),
        information("largest distance of a kurtosis from 3", float(np.max(np.abs(kurtosis - 3.0))), 3.0 * chance),
    ]
