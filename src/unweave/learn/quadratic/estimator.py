"""Networks of squares from samples, trained to the global optimum with a certificate."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unweave.activations import QUADRATIC
from unweave.arrays import PerNeuron, as_float64
from unweave.exceptions import InvalidInput
from unweave.learn.base import NetworkRegressor, Stages, check_neurons, check_sizes, seed_of
from unweave.learn.quadratic.certificate import OptimalityCertificate, certify_predictions, certify_training
from unweave.learn.quadratic.conditions import check_conditions
from unweave.learn.quadratic.frame import Frame
from unweave.learn.quadratic.optimality import OptimalityTest, Regime
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.learn.quadratic.search import TrainedWeights
from unweave.learn.quadratic.train import DirectTraining, LocalSolver, train
from unweave.networks.network import Network
from unweave.result import Cost, Diagnostic, Outcome, Result, Verdict

SIGNS = ("auto", "both", "positive", "negative")


@dataclass(frozen=True, eq=False)
class _Fit:
    """One training with its evidence.

    Args:
        problem: the samples in their own units, with a last column of ones for biases.
        span: directions of the points.
        trained: weights in the same units.
    """

    problem: QuadraticProblem
    span: int
    trained: TrainedWeights
    certificate: OptimalityCertificate
    diagnostics: tuple[Diagnostic, ...]


class QuadraticNetworkRegressor(NetworkRegressor):
    """Train ``f(x) = sum_l v_l <w_l, x>^2`` with fixed output weights v to the global optimum.

    With as many output weights of each sign as inputs, no local minimum is spurious, and any labels of up to
    d (d + 1) / 2 points in general position are fitted exactly. The certificate says how far the loss is from the
    smallest possible one, for any data and any output weights. Neurons themselves are never determined, only the
    quadratic form is.

    Args:
        neurons: number of neurons; by default twice the inputs for both signs, and one more than the inputs for one.
        output_weights: the fixed output weights, in place of `neurons` and `signs`.
        signs: of the output weights: "both", "positive", "negative", or "auto", which prefers one sign if that fits
            the labels exactly and takes both otherwise.
        solver: direct training if None; else `ConjugateGradients`, `TrustRegion` or `SteepestDescent`, or
            `DirectTraining` with other settings.
        fit_bias: give every neuron a bias, which makes the network a polynomial of degree two with all its terms.
        random_state: for random starts and the search for saddles; direct training does not depend on it as long as
            there are enough neurons.

    Attributes:
        result_: outcome, reason, network, certificate, diagnostics, notes and times.
        network_: the trained network.
        certificate_: what may be claimed about it.
        outcome_: identified, partly identified or not identified.
        matrix_: of the quadratic form, with a last row and column for the constant if there are biases.
        output_weights_: the fixed ones that were used.
        trained_: how the solver got there.
    """

    def __init__(
        self,
        neurons: int | None = None,
        *,
        output_weights: Any = None,
        signs: str = "auto",
        solver: LocalSolver | DirectTraining | None = None,
        fit_bias: bool = False,
        random_state: Any = None,
    ) -> None:
        self.neurons = neurons
        self.output_weights = output_weights
        self.signs = signs
        self.solver = solver
        self.fit_bias = fit_bias
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "QuadraticNetworkRegressor":
        """Train on samples, one per row of X.

        Raises:
            InvalidInput: if the settings contradict each other, or there are NaN or infinite numbers, or such whose
                squares are.
        """
        self._check_settings()
        points, labels = self._check_samples(X, y, fewest=1)
        check_sizes(points, labels)
        frame = Frame.of(points, labels, has_biases=self.fit_bias)
        lifted = np.column_stack([points, np.ones(len(points))]) if self.fit_bias else points
        rng = np.random.default_rng(seed_of(self.random_state))
        stages = Stages()
        choices = [QuadraticProblem(lifted, labels, v) for v in self._choices(lifted.shape[1], labels)]
        fits = [self._train(frame, problem, rng, stages) for problem in choices]
        # One sign is more to say than both, if it fits; the choices come in that order.
        best = next((fit for fit in fits if fit.certificate.is_zero), fits[-1])
        self.output_weights_ = best.problem.output_weights
        self.trained_ = best.trained
        self.matrix_ = best.problem.matrix_of(best.trained.weights)
        return self._keep(_result(best, fits, self._network(best), stages), points)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Without biases the model has no linear part, which is all that the common checks plant.
        tags.regressor_tags.poor_score = True
        return tags

    def _check_settings(self) -> None:
        if self.signs not in SIGNS:
            raise InvalidInput(f"signs needs to be one of {', '.join(SIGNS)}, got {self.signs!r}.")
        check_neurons(self.neurons)
        if self.output_weights is not None and (self.neurons is not None or self.signs != "auto"):
            raise InvalidInput(
                "output_weights say all about the neurons: leave neurons and signs at their defaults, "
                f"got neurons={self.neurons!r} and signs={self.signs!r}."
            )
        if self.neurons == 1 and self.signs == "both":
            raise InvalidInput("signs='both' needs at least 2 neurons, got 1.")

    def _choices(self, inputs: int, labels: np.ndarray) -> list[PerNeuron]:
        """Output weights to train with, the preferred ones first."""
        if self.output_weights is not None:
            return [as_float64(self.output_weights, name="output_weights", ndim=1)]
        one = np.ones(self.neurons or inputs + 1)
        if self.signs in ("positive", "negative"):
            return [one if self.signs == "positive" else -one]
        neurons = self.neurons or 2 * inputs
        both = np.where(np.arange(neurons) < (neurons + 1) // 2, 1.0, -1.0)
        if self.signs == "both" or np.min(labels) < 0 < np.max(labels):
            return [both]
        single = one if np.max(labels) > 0 or np.min(labels) == 0 else -one
        return [single, both] if neurons > 1 else [single]

    def _train(self, frame: Frame, given: QuadraticProblem, rng: np.random.Generator, stages: Stages) -> _Fit:
        problem = QuadraticProblem(frame.points, frame.labels, given.output_weights)
        with stages("conditions"):
            test = OptimalityTest.of(problem, frame.blur)
            diagnostics = check_conditions(test, given)
        with stages("training"):
            trained = train(problem, self.solver, rng=rng)
        with stages("certificate"):
            weights, is_spanned = frame.outside(trained.weights), not frame.lacks_directions
            inside = certify_training(test, trained.weights)
            certificate = certify_predictions(inside, given, weights, unit=frame.unit, is_spanned=is_spanned)
        history = tuple(frame.unit**2 * loss for loss in trained.history)
        trained = replace(trained, weights=weights, loss=certificate.loss, history=history)
        return _Fit(given, problem.span, trained, certificate, diagnostics)

    def _network(self, best: _Fit) -> Network:
        weights, inputs = best.trained.weights, best.problem.inputs - self.fit_bias
        biases = weights[:, -1] if self.fit_bias else np.zeros(len(weights))
        output = best.problem.output_weights[None]
        return Network.shallow(weights[:, :inputs], biases, output, np.zeros(1), QUADRATIC)


def verdict(certificate: OptimalityCertificate, problem: QuadraticProblem) -> tuple[Outcome, str]:
    """What a certificate is worth: a global optimum that is unique, exact and over-determined is identified."""
    inputs, samples = problem.inputs, problem.samples
    freedom = certificate.rank * inputs - certificate.rank * (certificate.rank - 1) // 2
    loss = f"the training loss of {certificate.loss:.3e}"
    if not certificate.is_global:
        return Outcome.NOT_IDENTIFIED, (
            f"{loss} is not known to be the smallest possible one: that is at least {certificate.lower_bound:.3e}, "
            f"a gap of {certificate.gap:.1e}. " + _what_to_do(certificate, inputs)
        )
    best = f"{loss} is the smallest possible one (gap at most {certificate.gap:.1e})"
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
            f"{best}, but {samples} samples are no more than the {freedom} numbers of a quadratic form of rank "
            f"{certificate.rank}, so that nothing confirms it: give more samples."
        )
    return Outcome.IDENTIFIED, (
        f"{best}, the residuals are rounding errors, and one quadratic form alone gives the {samples} labels; it has "
        f"rank {certificate.rank} and {freedom} free numbers."
    )


def _result(best: _Fit, fits: list[_Fit], network: Network, stages: Stages) -> Result:
    outcome, reason = verdict(best.certificate, best.problem)
    return Result(
        outcome=outcome,
        reason=reason,
        network=network,
        certificate=best.certificate,
        diagnostics=best.diagnostics,
        cost=Cost(samples=best.problem.samples, seconds=stages.seconds),
        notes=_notes(best, fits),
    )


def _what_to_do(certificate: OptimalityCertificate, inputs: int) -> str:
    if certificate.regime == Regime.NO_GUARANTEE.value:
        return (
            f"With these output weights spurious minima are not excluded: give {inputs} neurons of each sign, or at "
            f"least {inputs} of one sign."
        )
    return "There are no spurious minima for these output weights: give the solver more steps, or train directly."


def _notes(best: _Fit, fits: list[_Fit]) -> tuple[str, ...]:
    notes = ["neurons are not determined: W and O W have the same outputs if O^T diag(v) O = diag(v)"]
    if best.certificate.regime == Regime.NO_GUARANTEE.value:
        notes.append(
            f"no guarantee: {len(best.problem.positive)} positive and {len(best.problem.negative)} negative output "
            f"weights are too few for {best.span} inputs, spurious minima may exist"
        )
    if len(fits) > 1:
        losses = [f"{fit.certificate.regime} {fit.certificate.loss:.3e}" for fit in fits]
        notes.append(f"all labels have one sign, both choices were trained: {', '.join(losses)}")
    faulty = [check for check in best.diagnostics if check.verdict in (Verdict.FAIL, Verdict.WEAK)]
    notes += [f"{check.name}: {check.value:g} (wanted {check.threshold:g}): {check.advice}" for check in faulty]
    return tuple(notes)
