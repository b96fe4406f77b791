"""What may be claimed about trained weights of a network of squares, with every constant.

All bounds come from the residual matrix R and the singular values ``s_min, s_max`` of the squares of the points.

Every optimal network takes the same values at the points. If those values determine a symmetric matrix, the samples
determine the quadratic form; with output weights of one sign, fewer samples may do (`uniqueness`).
"""

from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np
import scipy  # its parts are loaded when first used

from unweave.arrays import Atoms, PerPoint
from unweave.learn.quadratic.lifted import LiftedSemidefinite
from unweave.learn.quadratic.optimality import OptimalityTest, Regime, SpectrumRules, curvature_bound, trace_bound
from unweave.learn.quadratic.problem import QuadraticProblem, State
from unweave.learn.quadratic.ridge import ridge_evidence
from unweave.learn.quadratic.uniqueness import UniquenessRules, semidefinite_uniqueness


@dataclass(frozen=True, kw_only=True)
class OptimalityRules:
    """Limits that decide what may be claimed.

    Args:
        global_tol: a gap of this share of the mean square of the labels is none: a thousand times the gap at which
            `LiftedSemidefinite` ends. Networks that fit random labels left 6e-24 at most, in 9,772 trainings.
        zero_tol: residuals above this share of the largest label are none of rounding, whatever the bound of rounding
            errors is: six digits; chosen, because large weights that cancel would let rounding explain everything.
        rank_tol: eigenvalues of a quadratic form below this share of the largest are none; chosen: rounding left 2e-15
            in 795 planted forms of low rank.
        vanishing: gradients below this are zero, as far as bounds are concerned: divided by a curvature near 1, their
            square is still within the range in which `second_order_bound` looks for its best t.
        spectrum: which singular values of the squares count.
        uniqueness: when a semidefinite form is proven to be the only one.
    """

    global_tol: float = 1e-10
    zero_tol: float = 1e-6
    rank_tol: float = 1e-9
    vanishing: float = 1e-60
    spectrum: SpectrumRules = field(default_factory=SpectrumRules)
    uniqueness: UniquenessRules = field(default_factory=UniquenessRules)


RULES = OptimalityRules()


@dataclass(frozen=True)
class OptimalityCertificate:
    """Evidence for trained weights. Losses are half mean squares in the squared unit of the labels.

    Gradient, curvature and the residual matrix of an estimator are those in white coordinates, with labels of root
    mean square 1.

    Args:
        regime: what theory says about all minima for these output weights.
        loss: reached; of an estimator that of `predict`, with all its rounding errors.
        lower_bound: no network with these output weights has a smaller loss, penalty included. Directions of the
            inputs that are rounding errors are taken for none, those that could not be told from rounding errors count
            as if they fitted all.
        gap: how far loss plus penalty is above it.
        gap_tol: the gap up to which the optimum counts as reached.
        residual_gap_bound: bound of the gap by the norm of R alone; infinite where it does not apply.
        second_order_bound: bound of the gap from the gradient and the curvature, for every point that has them.
        planted_bound: the bound of [soltanolkotabi, Thm. 2.2] on the loss, if the labels come from a network of this
            sign (in high probability, for Gaussian points); infinite where it does not apply.
        planted_bound_sharp: the same with all constants carried through, for any points.
        gradient: norm of the gradient.
        curvature: no eigenvalue of the Hessian is below minus this.
        residual_norm: Frobenius norm of R.
        smallest_eigenvalue: of R.
        largest_eigenvalue: of R.
        largest_residual: of all points, in absolute value.
        rounding: size of the rounding errors of that residual.
        rank: of the matrix of the network.
        is_matrix_determined: whether no other optimal network has another quadratic form.
        uniqueness_margin: of the dual matrix that proves it, where counting samples does not; 0 if there is none.
        penalty: that is added to the loss, at these weights; 0 if there is none. With a penalty all that is said of the
            optimum, of R and of its derivatives is said of loss plus penalty.
    """

    regime: str
    loss: float
    lower_bound: float
    gap: float
    gap_tol: float
    residual_gap_bound: float
    second_order_bound: float
    planted_bound: float
    planted_bound_sharp: float
    gradient: float
    curvature: float
    residual_norm: float
    smallest_eigenvalue: float
    largest_eigenvalue: float
    largest_residual: float
    rounding: float
    rank: int
    is_matrix_determined: bool
    uniqueness_margin: float
    penalty: float = 0.0

    @property
    def objective(self) -> float:
        """What is minimised: loss plus penalty."""
        return self.loss + self.penalty

    @property
    def is_global(self) -> bool:
        """Whether the loss, penalty included, is the smallest possible one, up to the tolerance."""
        return bool(self.gap <= self.gap_tol)

    @property
    def is_zero(self) -> bool:
        """Whether the residuals are rounding errors."""
        return bool(self.largest_residual <= self.rounding)

    def statements(self) -> list[tuple[str, str]]:
        """What may be claimed, as pairs of a name and a few words with the number."""
        reached = "the global optimum" if self.is_global else "not known to be the global optimum"
        matrix = "determined by the samples" if self.is_matrix_determined else "not determined by the samples"
        proof = f", by a dual matrix with margin {self.uniqueness_margin:.1e}" if self.uniqueness_margin > 0 else ""
        penalised = f" plus a penalty of {self.penalty:.3e}" if self.penalty > 0 else ""
        smallest = "smallest possible loss plus penalty" if self.penalty > 0 else "smallest possible loss"
        lines = [
            ("training loss", f"{self.loss:.3e}{penalised}, {reached}"),
            (smallest, f"at least {self.lower_bound:.3e}; the gap is at most {self.gap:.1e}"),
            ("output weights", f"{self.regime}"),
            ("residual matrix", f"norm {self.residual_norm:.1e}, eigenvalues from {self.smallest_eigenvalue:.1e} "
             f"to {self.largest_eigenvalue:.1e}"),
            ("second order", f"gradient {self.gradient:.1e}, no curvature below -{self.curvature:.1e}"),
            ("largest residual", f"{self.largest_residual:.1e}, rounding errors {self.rounding:.1e}"),
            ("quadratic form", f"of rank {self.rank}, {matrix}{proof}"),
        ]  # fmt: skip
        for name, bound in (
            ("gap by the norm of the residual matrix", self.residual_gap_bound),
            ("gap by gradient and curvature", self.second_order_bound),
            ("loss if planted, by Theorem 2.2 of Soltanolkotabi et al.", self.planted_bound),
            ("loss if planted, constants carried through", self.planted_bound_sharp),
        ):
            if isfinite(bound):
                lines.append((name, f"at most {bound:.1e}"))
        return lines


def certify_training(test: OptimalityTest, weights: Atoms, *, rules: OptimalityRules = RULES) -> OptimalityCertificate:
    """Judge trained weights by the samples they were trained on."""
    problem, state = test.problem, test.problem.at(weights)
    gap = float(min(test.gap(state), _relaxed_gap(test, state, rules)))
    values, size = scipy.linalg.eigvalsh(state.residual_matrix), float(np.linalg.norm(state.matrix, 2))
    curvature = curvature_bound(problem, state.residual_matrix)
    gap_tol = rules.global_tol * float(np.mean(problem.labels**2))
    is_determined, margin = _uniqueness(test, state, rules, is_optimal=gap <= gap_tol)
    return OptimalityCertificate(
        regime=test.regime.value,
        loss=state.loss,
        lower_bound=max(0.0, state.loss - gap),
        gap=gap,
        gap_tol=gap_tol,
        residual_gap_bound=residual_gap_bound(test, state),
        second_order_bound=second_order_bound(test, state, curvature, rules=rules),
        planted_bound=planted_bound(test, state, curvature),
        planted_bound_sharp=sharp_planted_bound(test, state),
        gradient=float(np.linalg.norm(state.gradient)),
        curvature=curvature,
        residual_norm=float(np.linalg.norm(state.residual_matrix)),
        smallest_eigenvalue=float(values[0]),
        largest_eigenvalue=float(values[-1]),
        largest_residual=float(np.max(np.abs(state.residuals))),
        rounding=rounding_of_residuals(problem, weights),
        rank=int(np.linalg.matrix_rank(state.matrix, tol=rules.rank_tol * max(size, 1e-300))),
        is_matrix_determined=is_determined,
        uniqueness_margin=margin,
    )


def certify_predictions(
    certificate: OptimalityCertificate,
    given: QuadraticProblem,
    weights: Atoms,
    *,
    unit: float,
    is_spanned: bool,
    trace: float = 0.0,
    rules: OptimalityRules = RULES,
) -> OptimalityCertificate:
    """Carry a certificate over from good units to the predictions of a network in the units of the samples.

    A penalty of ``t`` times the mean absolute output of a network of one sign is the loss of labels that are smaller
    by t, up to a constant: ``|f - y|^2 / (2 n) + t mean(f) = |f - (y - t)|^2 / (2 n) + t mean(y) - t^2 / 2``.

    Args:
        certificate: in units in which labels have root mean square 1, of labels that are smaller by the trace penalty.
        given: the samples in their own units.
        weights: of the network that users get.
        unit: of the labels.
        is_spanned: whether the points have all directions.
        trace: weight of the mean absolute output, in units in which labels have root mean square 1.
        rules: limits of the claims.
    """
    outputs = outputs_of(given, weights)
    residuals, sign = outputs - given.labels, 1.0 if len(given.positive) else -1.0
    loss, square = given.loss_of(residuals), unit**2
    penalty = unit * trace * float(np.mean(np.abs(outputs))) if trace > 0 else 0.0
    constant = unit * trace * sign * float(np.mean(given.labels)) - 0.5 * square * trace**2
    lower_bound = min(max(0.0, square * certificate.lower_bound + constant), loss + penalty)
    gap, gap_tol = loss + penalty - lower_bound, rules.global_tol * float(np.mean(given.labels**2))
    is_determined = certificate.is_matrix_determined and is_spanned and gap <= gap_tol
    return replace(
        certificate,
        loss=loss,
        lower_bound=lower_bound,
        gap=gap,
        gap_tol=gap_tol,
        residual_gap_bound=max(gap, square * certificate.residual_gap_bound),
        second_order_bound=max(gap, square * certificate.second_order_bound),
        # Labels that are smaller by a penalty are none of a teacher.
        planted_bound=np.inf if trace > 0 else square * certificate.planted_bound,
        planted_bound_sharp=np.inf if trace > 0 else square * certificate.planted_bound_sharp,
        largest_residual=float(np.max(np.abs(residuals))),
        rounding=min(rounding_of_residuals(given, weights), rules.zero_tol * float(np.max(np.abs(given.labels)))),
        is_matrix_determined=is_determined,
        uniqueness_margin=certificate.uniqueness_margin if is_determined else 0.0,
        penalty=penalty,
    )


def certify_ridge(
    test: OptimalityTest,
    inside: Atoms,
    given: QuadraticProblem,
    weights: Atoms,
    *,
    unit: float,
    ridge: float,
    has_constant: bool,
    rules: OptimalityRules = RULES,
) -> OptimalityCertificate:
    """Judge a network that minimises its loss plus a ridge penalty, which makes the optimal form unique.

    Args:
        test: of standardised samples.
        inside: weights in their units.
        given: the samples in their own units.
        weights: the same weights in these.
        unit: of the labels.
        ridge: weight of half the squared norm of the form of standardised inputs.
        has_constant: whether the last entry of the form is a constant, which is not penalised.
        rules: limits of the claims.
    """
    matrix, square = test.problem.matrix_of(inside), unit**2
    evidence = ridge_evidence(test, matrix, ridge, has_constant=has_constant)
    residuals = outputs_of(given, weights) - given.labels
    loss, penalty = given.loss_of(residuals), square * evidence.penalty
    lower_bound = min(square * evidence.lower_bound, loss + penalty)
    gap, gap_tol = loss + penalty - lower_bound, rules.global_tol * float(np.mean(given.labels**2))
    values, size = scipy.linalg.eigvalsh(evidence.slope), max(float(np.linalg.norm(matrix, 2)), 1e-300)
    return OptimalityCertificate(
        regime=test.regime.value,
        loss=loss,
        lower_bound=lower_bound,
        gap=gap,
        gap_tol=gap_tol,
        residual_gap_bound=np.inf,
        second_order_bound=np.inf,
        planted_bound=np.inf,
        planted_bound_sharp=np.inf,
        gradient=float(np.linalg.norm(2 * test.problem.output_weights[:, None] * (inside @ evidence.slope))),
        curvature=curvature_bound(test.problem, evidence.slope),
        residual_norm=float(np.linalg.norm(evidence.slope)),
        smallest_eigenvalue=float(values[0]),
        largest_eigenvalue=float(values[-1]),
        largest_residual=float(np.max(np.abs(residuals))),
        rounding=min(rounding_of_residuals(given, weights), rules.zero_tol * float(np.max(np.abs(given.labels)))),
        rank=int(np.linalg.matrix_rank(matrix, tol=rules.rank_tol * size)),
        is_matrix_determined=bool(gap <= gap_tol),
        uniqueness_margin=0.0,
        penalty=penalty,
    )


def outputs_of(given: QuadraticProblem, weights: Atoms) -> PerPoint:
    """Answer neuron by neuron as the network does it: through its matrix rounding errors would be others."""
    return (given.points @ weights.T) ** 2 @ given.output_weights


def residual_gap_bound(test: OptimalityTest, state: State) -> float:
    """``L - L* <= n |R|^2 / (2 s_min^2)`` for d neurons of each sign.

    For one sign ``L - L* <= <R, M> + max(0, -lambda_min(R)) tr(M*)``, with a bound of the trace from the labels.
    """
    if test.regime is Regime.TWO_SIGNED and test.spectrum is not None and test.spectrum.smallest > 0:
        norm = float(np.linalg.norm(state.residual_matrix))
        return test.problem.samples * norm**2 / (2 * test.spectrum.smallest**2)
    if test.regime is Regime.ONE_SIGNED:
        below = _wrong_eigenvalue(test.problem, state)
        inner = max(0.0, float(np.sum(state.residual_matrix * state.matrix)))
        return inner + (below * trace_bound(test.problem, is_planted=False) if below > 0 else 0.0)
    return np.inf


def second_order_bound(
    test: OptimalityTest, state: State, curvature: float, *, rules: OptimalityRules = RULES
) -> float:
    """Bound of the gap for d neurons of each sign from gradient norm g and negative curvature h alone.

    For every t > 0 either the output-weighted rows have no singular value below t and the gradient bounds R, or some
    of either sign are nearly dependent and the curvature does:
    ``L - L* <= max(n g^2 / (8 t^2 s_min^2), n d (h + 4 t^2 s_max^2 / n)^2 / (8 v_min^2 s_min^2))``.
    """
    problem, spectrum = test.problem, test.spectrum
    if test.regime is not Regime.TWO_SIGNED or spectrum is None or spectrum.smallest == 0:
        return np.inf
    weakest = float(np.min(np.abs(problem.output_weights[problem.output_weights != 0])))
    samples, scale = problem.samples, problem.samples / (8 * spectrum.smallest**2)
    gradient = float(np.linalg.norm(state.gradient))
    bend = 4 * spectrum.largest**2 / samples

    def by_curvature(square: float) -> float:
        return scale * problem.inputs / weakest**2 * (curvature + bend * square) ** 2

    if gradient < rules.vanishing:
        return max(scale * rules.vanishing, by_curvature(rules.vanishing))

    def excess(logarithm: float) -> float:
        square = float(np.exp(logarithm))
        return float(np.log(scale * gradient**2 / square) - np.log(max(by_curvature(square), 1e-300)))

    # One side falls and the other grows with t, so that the best t makes them equal.
    logarithm: float = scipy.optimize.brentq(excess, -300.0, 300.0)  # pyright: ignore[reportAssignmentType]
    square = float(np.exp(logarithm))
    return max(scale * gradient**2 / square, by_curvature(square))


def planted_bound(test: OptimalityTest, state: State, curvature: float) -> float:
    """Bound the loss for one common output weight nu and more neurons than inputs [soltanolkotabi, Thm. 2.2 B].

    ``L <= (g / sqrt(nu)) max(sqrt(1 + 14 T), 4 g / sqrt(nu)) + h T / (2 nu)`` with the teacher's trace T, for which
    the labels give a bound.
    """
    problem, strengths = test.problem, np.abs(test.problem.output_weights)
    is_common = bool(np.all(strengths == strengths[0]))
    if test.regime is not Regime.ONE_SIGNED or not is_common or problem.neurons <= problem.inputs:
        return np.inf
    trace, root = trace_bound(problem, is_planted=True), float(np.sqrt(strengths[0]))
    slope = float(np.linalg.norm(state.gradient)) / root
    return slope * max(float(np.sqrt(1 + 14 * trace)), 4 * slope) + curvature / (2 * root**2) * trace


def sharp_planted_bound(test: OptimalityTest, state: State) -> float:
    """``L <= (1/4) <W, grad> + (1/2) max(0, -lambda_min(R)) T`` for labels of a network of the same sign.

    The sharp form of the bound of [soltanolkotabi, Thm. 2.2].
    """
    if test.regime is not Regime.ONE_SIGNED:
        return np.inf
    below = _wrong_eigenvalue(test.problem, state)
    bent = 0.5 * below * trace_bound(test.problem, is_planted=True) if below > 0 else 0.0
    return 0.25 * max(0.0, float(np.sum(state.weights * state.gradient))) + bent


def rounding_of_residuals(problem: QuadraticProblem, weights: Atoms) -> float:
    """Rounding errors that the largest residual may have, to first order."""
    arguments = problem.points @ weights.T
    sizes = np.abs(problem.points) @ np.abs(weights).T
    strengths = np.abs(problem.output_weights)
    terms = (arguments**2 + 2 * np.abs(arguments) * sizes) @ strengths + np.abs(problem.labels)
    return (problem.neurons + problem.inputs) * float(np.finfo(float).eps) * float(np.max(terms))


def _wrong_eigenvalue(problem: QuadraticProblem, state: State) -> float:
    """How far R is from semidefinite, of the sign of the output weights."""
    sign = 1.0 if len(problem.positive) else -1.0
    return max(0.0, -float(scipy.linalg.eigvalsh(sign * state.residual_matrix)[0]))


def _relaxed_gap(test: OptimalityTest, state: State, rules: OptimalityRules) -> float:
    """The gap to the optimum for more neurons of the one sign, where there are too few for it to be reached."""
    if test.regime is not Regime.NO_GUARANTEE or not test.is_one_signed:
        return np.inf
    relaxed = (
        test.problem.form_values(LiftedSemidefinite(spectrum=rules.spectrum)(test.problem).matrix) - test.problem.labels
    )
    return max(0.0, state.loss - test.semidefinite_bound(relaxed))


def _uniqueness(test: OptimalityTest, state: State, rules: OptimalityRules, *, is_optimal: bool) -> tuple[bool, float]:
    if test.spectrum is not None and test.spectrum.determines_matrix:
        return is_optimal, 0.0
    if not (is_optimal and test.is_one_signed and test.spectrum is not None):
        return False, 0.0
    if test.spectrum.error > rules.uniqueness.blurred * test.spectrum.largest:
        return False, 0.0
    found = semidefinite_uniqueness(test.problem, state.matrix, rules=rules.uniqueness)
    return found.is_proven, found.margin if found.is_proven else 0.0
