"""Networks of squares from samples, trained to the global optimum with a certificate."""

from dataclasses import replace
from typing import Any

import numpy as np

from unweave.activations import QUADRATIC
from unweave.arrays import PerNeuron, as_float64
from unweave.exceptions import InvalidInput
from unweave.learn.base import NetworkRegressor, check_neurons, check_room, check_sizes, seed_of
from unweave.learn.quadratic.claims import notes_of, verdict
from unweave.learn.quadratic.fits import Fit, Samples, Trainer
from unweave.learn.quadratic.optimality import SPECTRUM_RULES, Regime
from unweave.learn.quadratic.selection import EXACT_FIT_RULES, RULES, Candidates, Choice, choose
from unweave.learn.quadratic.train import DirectTraining, LocalSolver
from unweave.learn.stages import Stages
from unweave.learn.weighed import WeighedSamples
from unweave.networks.network import Network
from unweave.result import Cost, Outcome, Result

SIGNS = ("auto", "both", "positive", "negative")


class QuadraticNetworkRegressor(NetworkRegressor):
    """Train ``f(x) = sum_l v_l <w_l, x>^2`` with fixed output weights v to the global optimum.

    With as many output weights of each sign as inputs, no local minimum is spurious, and any labels of up to
    d (d + 1) / 2 points in general position are fitted exactly. The certificate says how far the loss is from the
    smallest possible one, for any data and any output weights. Neurons themselves are never determined, only the
    quadratic form is. Labels that are met exactly are met without a penalty; for others signs and penalties are chosen
    by held-out rows, and the certificate is about loss plus penalty.

    Args:
        neurons: number of neurons; by default twice the inputs for both signs, and one more than the inputs for one.
        output_weights: the fixed output weights, in place of `neurons` and `signs`.
        signs: of the output weights: "both", "positive", "negative", or "auto": one sign if that fits the labels
            exactly, else what predicts held-out rows best.
        ridge: with both signs, weight of half the squared Frobenius norm of the form of standardised inputs (without
            its constant), for labels of root mean square 1; None to choose it by held-out rows, 0 for none.
        trace_penalty: with one sign, weight of the mean output, which is the trace of the form in white coordinates,
            in the unit of the labels' root mean square; None to choose it by held-out rows, 0 for none.
        solver: direct training if None; else `ConjugateGradients`, `TrustRegion` or `SteepestDescent`, or
            `DirectTraining` with other settings.
        fit_bias: give every neuron a bias, which makes the network a polynomial of degree two with all its terms.
        random_state: for random starts and the search for saddles; direct training, and which rows are held out, do not
            depend on it as long as there are enough neurons.

    Attributes:
        result_: outcome, reason, network, certificate, diagnostics, notes and times.
        network_: the trained network.
        certificate_: what may be claimed about it.
        outcome_: identified, partly identified or not identified.
        matrix_: of the quadratic form, with a last row and column for the constant if there are biases.
        output_weights_: the fixed ones that were used.
        trained_: how the solver got there.
        ridge_: the penalty that was used; 0 for none.
        trace_penalty_: the same of one sign.

    >>> import numpy as np
    >>> from unweave.learn import QuadraticNetworkRegressor
    >>> rng = np.random.default_rng(0)
    >>> points = rng.standard_normal((60, 8))
    >>> model = QuadraticNetworkRegressor().fit(points, (points @ np.arange(8.0)) ** 2)
    >>> model.outcome_.value, model.certificate_.rank
    ('identified', 1)
    """

    def __init__(
        self,
        neurons: int | None = None,
        *,
        output_weights: Any = None,
        signs: str = "auto",
        ridge: float | None = None,
        trace_penalty: float | None = None,
        solver: LocalSolver | DirectTraining | None = None,
        fit_bias: bool = False,
        random_state: Any = None,
    ) -> None:
        self.neurons = neurons
        self.output_weights = output_weights
        self.signs = signs
        self.ridge = ridge
        self.trace_penalty = trace_penalty
        self.solver = solver
        self.fit_bias = fit_bias
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "QuadraticNetworkRegressor":
        """Train on samples, one per row of X.

        Args:
            X: samples.
            y: their labels.
            sample_weight: of their squared errors, also where rows are held out; samples of weight 0 are left out. The
                certificate is about the weighted loss.

        Raises:
            InvalidInput: if the settings contradict each other or ask for too many neurons, there are NaN or infinite
                numbers, or such whose squares are, or a weight is negative.
        """
        self._check_settings()
        points, labels = self._check_samples(X, y, fewest=1)
        check_sizes(points, labels)
        check_room(check_neurons(self.neurons), points)
        given = WeighedSamples.of(points, labels, self._check_weights(sample_weight, points))
        samples, stages = Samples.of(given, has_biases=bool(self.fit_bias)), Stages()
        rng = np.random.default_rng(seed_of(self.random_state))
        trainer = Trainer(samples, self.solver, rng, stages)
        best, fits = self._best(trainer)
        self.output_weights_ = best.problem.output_weights
        self.ridge_, self.trace_penalty_ = best.choice.ridge, best.choice.trace
        self.trained_ = best.trained
        self.matrix_ = best.problem.matrix_of(best.trained.weights)
        outcome, reason = verdict(best.certificate, best.problem)
        cost = Cost(samples=len(given.points) + given.copies, seconds=stages.seconds)
        notes = (*notes_of(best, fits), *given.notes)
        network = self._network(best)
        return self._keep(
            Result(outcome, reason, network, best.certificate, best.diagnostics, cost, notes=notes), points
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Without biases the model has no linear part, which is all that the common checks plant.
        tags.regressor_tags.poor_score = True
        return tags

    def _check_settings(self) -> None:
        if self.signs not in SIGNS:
            raise InvalidInput(f"signs needs to be one of {', '.join(SIGNS)}, got {self.signs!r}.")
        check_neurons(self.neurons)
        for name, value, unused in (
            ("ridge", self.ridge, ("positive", "negative")),
            ("trace_penalty", self.trace_penalty, ("both",)),
        ):
            if value is not None and not (isinstance(value, int | float) and 0 <= value < np.inf):
                raise InvalidInput(f"{name} needs to be None or a number of at least 0, got {value!r}.")
            if value and self.signs in unused:
                raise InvalidInput(f"{name} is no penalty of signs={self.signs!r}: leave it out, got {value!r}.")
        if self.output_weights is not None and (self.neurons is not None or self.signs != "auto"):
            raise InvalidInput(
                "output_weights say all about the neurons: leave neurons and signs at their defaults, "
                f"got neurons={self.neurons!r} and signs={self.signs!r}."
            )
        if self.neurons == 1 and self.signs == "both":
            raise InvalidInput("signs='both' needs at least 2 neurons, got 1.")

    def _best(self, trainer: Trainer) -> tuple[Fit, list[Fit]]:
        """The fit that is kept, and all that were made.

        Labels that a network gives exactly are tried first, without a penalty; what is not identified is chosen by
        held-out rows.
        """
        samples, choice = trainer.samples, None
        weights = self._output_weights(samples)
        candidates = self._candidates(samples, weights)
        if candidates is not None and not _may_be_exact(samples):
            with trainer.stages("selection"):
                choice = choose(samples.system, samples.white, candidates)
            if choice.error > EXACT_FIT_RULES.not_exact and choice.is_penalised:
                best = trainer(weights[choice.sign], choice)
                return best, [best]
        fits = [trainer(weights[sign], Choice(sign)) for sign in self._exact_signs(samples, weights)]
        exact = [fit for fit in fits if fit.certificate.is_zero]
        identified = [fit for fit in exact if verdict(fit.certificate, fit.problem)[0] is Outcome.IDENTIFIED]
        if candidates is None or identified:
            # One sign is more to say than both, if it fits; the choices come in that order.
            return next(iter(identified or exact), fits[-1]), fits
        if choice is None:
            with trainer.stages("selection"):
                choice = choose(samples.system, samples.white, candidates)
        made = [fit for fit in fits if not choice.is_penalised and fit.choice.sign == choice.sign]
        best = replace(made[0], choice=choice) if made else trainer(weights[choice.sign], choice)
        return best, [*fits, *([] if made else [best])]

    def _output_weights(self, samples: Samples) -> dict[int, PerNeuron]:
        """Output weights that may be taken, by their sign: 0 for both."""
        inputs = samples.lifted.shape[1]
        if self.output_weights is not None:
            given = as_float64(self.output_weights, name="output_weights", ndim=1)
            is_mixed = bool(np.any(given > 0) and np.any(given < 0))
            return {0 if is_mixed else 1 if np.any(given > 0) else -1: given}
        one, neurons = np.ones(self.neurons or inputs + 1), self.neurons or 2 * inputs
        both = np.where(np.arange(neurons) < (neurons + 1) // 2, 1.0, -1.0)
        if self.signs == "auto":
            return {1: one, -1: -one, **({0: both} if neurons > 1 else {})}
        return {"both": {0: both}, "positive": {1: one}, "negative": {-1: -one}}[self.signs]

    def _exact_signs(self, samples: Samples, weights: dict[int, PerNeuron]) -> list[int]:
        """Signs that may fit exactly, the preferred ones first."""
        if len(weights) == 1:
            return list(weights)
        labels = samples.labels
        if np.min(labels) < 0 < np.max(labels) and 0 in weights:
            return [0]
        single = 1 if np.max(labels) > 0 or np.min(labels) == 0 else -1
        return [single, 0] if 0 in weights else [single]

    def _candidates(self, samples: Samples, weights: dict[int, PerNeuron]) -> Candidates | None:
        """What held-out rows choose from; None if there is nothing to choose, or no way to train it.

        Raises:
            InvalidInput: if a penalty is given that can't be trained.
        """
        is_direct = self.solver is None or isinstance(self.solver, DirectTraining)
        has_theory = all(samples.regime(each) is not Regime.NO_GUARANTEE for each in weights.values())
        is_trainable = is_direct and has_theory and SPECTRUM_RULES.allow(samples.lifted)
        if not is_trainable and (self.ridge or self.trace_penalty):
            raise InvalidInput(
                "penalties need direct training, as many neurons of a sign as inputs, and no more rows and inputs than "
                f"{SPECTRUM_RULES.most_numbers:.0e} squares: leave ridge and trace_penalty out."
            )
        sign = RULES.sign_of(samples.labels) if len(weights) > 1 else next(iter(weights))
        ridges = self._values(self.ridge, RULES.ridges, samples) if 0 in weights else ()
        traces = self._values(self.trace_penalty, RULES.traces, samples) if sign else ()
        if not is_trainable or (*ridges, *traces) == (0.0,) or len(samples.points) < RULES.fewest_rows:
            return None
        return Candidates(sign, ridges, traces)

    def _values(self, given: float | None, tried: tuple[float, ...], samples: Samples) -> tuple[float, ...]:
        """Penalties that are tried."""
        if given is not None:
            return (float(given),)
        # With more rows than products the smallest ridge is as good as none, and needs no singular values.
        is_tall = tried is RULES.ridges and len(samples.points) > samples.products
        return tried[1:] if is_tall else tried

    def _network(self, best: Fit) -> Network:
        weights, inputs = best.trained.weights, best.problem.inputs - self.fit_bias
        biases = weights[:, -1] if self.fit_bias else np.zeros(len(weights))
        output = best.problem.output_weights[None]
        return Network.shallow(weights[:, :inputs], biases, output, np.zeros(1), QUADRATIC)


def _may_be_exact(samples: Samples) -> bool:
    """Whether an exact fit is worth its time: held-out rows tell exact labels where squares are well conditioned."""
    rows, products = len(samples.points), samples.products
    if rows * products**2 < EXACT_FIT_RULES.large or rows <= products:
        return True
    return samples.spectrum.rank < products or samples.spectrum.condition > EXACT_FIT_RULES.well_conditioned
