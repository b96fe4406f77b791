"""`ReluNetworkRegressor`: a depth-2 relu network with biases, from samples with Gaussian inputs.

The passes: mean and covariance of the inputs; moments up to order two and a check that the inputs are Gaussian; moments
of higher order inside the span of the weights. What follows works on rows in memory: finish, certificate.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64
from scipy.stats import chi2

from unweave.arrays import Vector, as_float64, kept_errors
from unweave.exceptions import InputWarning, InvalidInput
from unweave.learn.base import NetworkRegressor, Progress, Stages, check_neurons, seed_of
from unweave.learn.relu_network.candidates import CandidateRules, Finisher, JudgedNetwork, Rows, in_inputs
from unweave.learn.relu_network.certificate import ReluCertificate, ReluEvidence
from unweave.learn.relu_network.claims import Case, ReluClaims, doubt_of_inputs, notes, too_few, verdict
from unweave.learn.relu_network.evidence import StandardErrors
from unweave.learn.relu_network.finish import ReluFinish
from unweave.learn.relu_network.missing_neurons import NextNeuron, RareNeurons
from unweave.learn.relu_network.starts import FirstLook, Moments, StartRules, affine_network, attempts, start_of
from unweave.learn.relu_network.units import SignChoices, equivalent_signs, with_labels_in
from unweave.networks.network import Network
from unweave.result import Cost, Outcome, Result
from unweave.samples.hermite.inputs import Coordinates, InputMoments, InputSummary
from unweave.samples.sources import ArraySource, Part, Source, first_rows, split
from unweave.samples.sums import Engine, accumulate


@dataclass(frozen=True, eq=False)
class ReluDetails:
    """What is known about a relu network beside its result.

    Args:
        start: the network that moments gave, before it was finished; None if there is none.
        standard_errors: of the parameters, by the noise of the labels; None if there is no network.
        open_signs: neurons whose sign the labels leave open.
        sign_choices: all flips that give the same function, for a network that is exact.
        doubt_of_inputs: what inputs that are not Gaussian mean for the result; None if they are.
    """

    start: Network | None
    standard_errors: StandardErrors | None
    open_signs: Bool[np.ndarray, "neurons"]
    sign_choices: SignChoices | None
    doubt_of_inputs: str | None


ReluResult = Result[Network, ReluCertificate]


@dataclass(frozen=True, eq=False)
class ReluLearner:
    """Settings of the learner.

    Args:
        neurons: their number, or None to find it.
        mean: of the Gaussian inputs; estimated if omitted.
        covariance: of the Gaussian inputs; estimated if omitted.
        starts: how moments are measured, and networks read from them.
        finish: fits the network of the moments to the rows.
        rare: looks for neurons that bend at few rows.
        further: looks for neurons that moments do not show in noisy labels.
        most_attempts: numbers of neurons that are tried at most; chosen, for the time.
        rules: what is made of candidates.
        evidence: what is measured on rows that nothing has seen.
        claims: what may be said then.
        held_out: share of the rows that no fit sees: half choose among networks, half judge the choice; customary.
        most_held_out: of them: 5,000 show what fills 0.06 % of the inputs, at 95 % (``3 / 5,000``).
        rows_per_input: with fewer, moments of order two are hardly better than chance: their relative errors are about
            ``sqrt(inputs / rows)``, a quarter.
        most_numbers: of the rows that the finish keeps in memory: 256 MB.
        rows_per_number: of a network, below which it is not fitted; chosen, and `ReluClaims` allows for it.
    """

    neurons: int | None = None
    mean: Vector | None = None
    covariance: Float64[np.ndarray, "inputs inputs"] | None = None
    starts: StartRules = field(default_factory=StartRules)
    finish: ReluFinish = field(default_factory=ReluFinish)
    rare: RareNeurons = field(default_factory=RareNeurons)
    further: NextNeuron = field(default_factory=NextNeuron)
    most_attempts: int = 12
    rules: CandidateRules = field(default_factory=CandidateRules)
    evidence: ReluEvidence = field(default_factory=ReluEvidence)
    claims: ReluClaims = field(default_factory=ReluClaims)
    held_out: float = 0.2
    most_held_out: int = 10_000
    rows_per_input: int = 20
    most_numbers: int = 2**25
    rows_per_number: int = 3

    def __call__(
        self,
        source: Source,
        *,
        inputs: int,
        seed: int = 0,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> tuple[ReluResult, ReluDetails]:
        """Learn from all samples of a source.

        Args:
            source: samples, read about five times.
            inputs: number of inputs.
            seed: of the held out rows and of the decomposition; the same seed gives the same network.
            engine: where moments are summed; this process if omitted.
            progress: called with the name of every stage and the number of samples.

        Returns:
            The result, whose network is never None: an affine one where no neuron is seen; and details.

        Raises:
            InvalidInput: for rows that are not finite or of another size, and for inputs that are constant or
                combinations of others.

        Assumes: independent rows, Gaussian inputs, labels of a depth-2 relu network with zero-mean noise.
        Guarantees: a network is called identified only on the evidence of rows that no fit has seen.
        """
        stages = Stages(progress)
        rng = np.random.default_rng(seed)
        with stages("inputs"):
            summary = accumulate(source, InputMoments(_first_point(source, inputs)), engine=engine).finalise()
        stages.samples = summary.rows
        if summary.rows < self.rows_per_input * (inputs + 1):
            reason = too_few(summary.rows, self.rows_per_input * (inputs + 1))
            return _affine_only(source, inputs, summary.rows, stages, reason)
        try:
            problem = _Problem.of(self, source, summary.whole, rows=summary.rows, seed=seed, engine=engine)
        except InvalidInput as error:
            if self.covariance is not None:
                raise
            # Constant columns, or all columns of a one-hot code: no network is determined, but an affine fit exists.
            return _affine_only(source, inputs, summary.rows, stages, f"{error} The network is affine.")
        with stages("moments of order two"):
            look = problem.moments.look(rng, rows=summary.rows)
        with stages("rows in memory"):
            finisher, held_out = problem.rows(self)
        best = self._best(problem, look, finisher, rng, stages)
        with stages("certificate"):
            return _result(self, problem, look, best, finisher, held_out, stages)

    def _best(
        self, problem: "_Problem", look: FirstLook, finisher: Finisher, rng: np.random.Generator, stages: Stages
    ) -> JudgedNetwork:
        """The first candidate that nothing speaks against; otherwise the one with the least unseen error."""
        moments = look.moments.whole
        affine = affine_network(moments.entries(1), moments.entries(0))
        scaled = with_labels_in(affine, problem.spread)
        with stages("finishing"):
            finished = finisher.finish(scaled, finisher.fitted.points, finisher.fitted.values)
            if finished.is_exact:
                without_neurons = finisher.judged(scaled, finished.network, finished, rng)
                if without_neurons.is_exact:
                    return without_neurons
        tried: list[JudgedNetwork] = []
        plans = list(attempts(look, neurons=self.neurons, rules=self.starts))
        if self.neurons is not None:
            # If the given number is wrong, what the samples show tells so.
            plans += attempts(look, neurons=None, rules=self.starts)
        for attempt in plans[: self.most_attempts]:
            subspace = look.subspace(attempt.rank, rules=self.starts.directions)
            with stages("moments of higher order"):
                moments = problem.moments.within(subspace, look, degree=2 * attempt.order + 2)
            with stages("directions and biases"):
                start = start_of(attempt, moments, rng, rules=self.starts)
            if start is None or not self._has_rows_for(start.widths[0], start.inputs, finisher):
                continue
            whole = with_labels_in(look.outside_subspace(start, subspace), problem.spread)
            with stages("finishing"):
                candidate = finisher.screened(whole, rng)
            if candidate.is_good:
                with stages("further neurons"):
                    return self._with_hidden(candidate, finisher, rng)
            tried.append(candidate)
        with stages("further neurons"):
            # Judged last: the test of what an affine function leaves takes as long as a fit.
            without_neurons = finisher.judged(scaled, finished.network, finished, rng)
            best = min([without_neurons, *tried], key=lambda each: each.unseen_error)
            return finisher.completed(self._extended(best, finisher, rng), rng)

    def _has_rows_for(self, neurons: int, inputs: int, finisher: Finisher) -> bool:
        """Whether there are enough rows for a fit of so many neurons."""
        return len(finisher.fitted.labels) >= self.rows_per_number * (neurons + 1) * (inputs + 1)

    def _with_hidden(self, best: JudgedNetwork, finisher: Finisher, rng: np.random.Generator) -> JudgedNetwork:
        """Neurons that noise hides from the test of residuals, but not from a fit of one neuron more."""
        for _ in range(self.further.most):
            if best.is_exact or not self._has_rows_for(best.neurons + 1, best.network.inputs, finisher):
                break
            more = self.further(best.network, finisher.fitted.points, finisher.fitted.values, rng)
            # What one neuron more gains by chance, as twice as many parameters would: its place is searched for.
            chance = chi2.isf(self.rules.residuals.false_alarm, 2 * (more.inputs + 2)) / len(finisher.fitted.labels)
            candidate = finisher.with_all_neurons(more, rng, below=best.noise / float(np.sqrt(1.0 + chance)))
            if candidate is None:
                break
            best = replace(candidate, start=best.start)
        return best

    def _extended(self, best: JudgedNetwork, finisher: Finisher, rng: np.random.Generator) -> JudgedNetwork:
        """Neurons that moments did not show, added one by one as long as unseen rows are better explained."""
        for _ in range(self.further.most):
            if best.structure is None or best.structure.is_noise:
                break
            if not self._has_rows_for(best.neurons + 1, best.network.inputs, finisher):
                break
            more = self.further(best.network, finisher.fitted.points, finisher.fitted.values, rng)
            candidate = replace(finisher.screened(more, rng), start=best.start)
            if not candidate.unseen_error < best.unseen_error:
                break
            best = candidate
        return best


@dataclass(frozen=True, eq=False)
class _Problem:
    """The samples in coordinates in which inputs are standard, and the unit of the labels."""

    training: Part
    held_out: Part
    moments: Moments
    coordinates: Coordinates
    spread: float
    samples: int

    @classmethod
    def of(
        cls,
        learner: ReluLearner,
        source: Source,
        summary: InputSummary,
        *,
        rows: int,
        seed: int,
        engine: Engine | None,
    ) -> "_Problem":
        mean = summary.mean if learner.mean is None else learner.mean
        covariance = summary.covariance if learner.covariance is None else learner.covariance
        coordinates = Coordinates.whitening(mean, covariance)
        training, held_out = split(source, share=min(learner.held_out, learner.most_held_out / rows), seed=seed)
        spread = summary.label_rms if summary.label_rms > 0.0 else 1.0
        moments = Moments(training, coordinates, engine, learner.starts)
        return cls(training, held_out, moments, coordinates, spread, rows)

    def rows(self, learner: ReluLearner) -> tuple[Finisher, Rows]:
        """Rows to fit and to choose by, and rows that judge the choice."""
        inputs = self.coordinates.inputs
        fitted = self._in_coordinates(self.training, learner.most_numbers // inputs)
        unseen = self._in_coordinates(self.held_out, 2 * learner.most_held_out)
        half = len(unseen.labels) // 2
        choosing = Rows(unseen.points[:half], unseen.labels[:half])
        judging = Rows(unseen.points[half:], unseen.labels[half:])
        finisher = Finisher(fitted, choosing, self.coordinates, learner.finish, learner.rare, learner.rules)
        return finisher, judging

    def _in_coordinates(self, part: Part, most: int) -> Rows:
        points, labels = first_rows(part, inputs=self.coordinates.inputs, most=most)
        return Rows(np.ascontiguousarray(self.coordinates.rows_of(points).T), labels / self.spread)

    def in_inputs(self, network: Network) -> Network:
        """The network for the inputs and labels as they came."""
        return in_inputs(network, self.coordinates, spread=self.spread)


def _result(
    learner: ReluLearner,
    problem: _Problem,
    look: FirstLook,
    best: JudgedNetwork,
    finisher: Finisher,
    held_out: Rows,
    stages: Stages,
) -> tuple[ReluResult, ReluDetails]:
    certificate = learner.evidence.certificate_of(
        best,
        fitted=finisher.fitted,
        held_out=held_out,
        coordinates=problem.coordinates,
        spread=problem.spread,
    )
    case = Case(best, certificate, look.gaussianity.diagnostics(), learner.neurons, learner.claims)
    outcome, reason = verdict(case)
    choices = equivalent_signs(best.network) if best.is_exact and best.network.skip is None and best.neurons else None
    result = Result(
        outcome=outcome,
        reason=reason,
        network=problem.in_inputs(best.network),
        certificate=certificate,
        diagnostics=(*case.gaussian, *case.diagnostics()),
        cost=Cost(samples=problem.samples, seconds=dict(stages.seconds)),
        notes=tuple(notes(case)),
        fresh_errors=kept_errors(np.abs(held_out.residuals(best.network))[:, None]),
    )
    scaled = replace(best.errors, output_weights=problem.spread * best.errors.output_weights)
    start, doubt = problem.in_inputs(best.start), doubt_of_inputs(case)
    return result, ReluDetails(start, scaled, best.open_signs, choices, doubt)


def _affine_only(source: Source, inputs: int, rows: int, stages: Stages, reason: str) -> tuple[ReluResult, ReluDetails]:
    """An affine fit, which is all that these rows allow."""
    points, labels = first_rows(source, inputs=inputs, most=rows)
    solved = np.linalg.lstsq(np.column_stack([points, np.ones(rows)]), labels, rcond=None)[0]
    network = affine_network(solved[:-1], solved[-1:])
    result = Result(Outcome.NOT_IDENTIFIED, reason, network, cost=Cost(samples=rows, seconds=dict(stages.seconds)))
    return result, ReluDetails(None, None, np.zeros(0, dtype=bool), None, None)


def _first_point(source: Source, inputs: int) -> Vector:
    """A point near the mean: covariances about a far origin lose digits."""
    points, _ = first_rows(source, inputs=inputs, most=1)
    return points[0] if len(points) else np.zeros(inputs)


class ReluNetworkRegressor(NetworkRegressor):
    """Recover ``y = sum_i a_i relu(<w_i, x> + b_i)`` from samples.

    Args:
        neurons: their number; found if None.
        mean: of the Gaussian inputs; estimated if None.
        covariance: of the Gaussian inputs; estimated if None.
        random_state: seed or generator for the held out rows and the decomposition.

    Attributes:
        result_: outcome, reason, network, certificate, diagnostics and notes.
        network_: the network, with unit weights.
        certificate_: what held out rows say about it.
        outcome_: identified, partly identified or not identified.
        start_network_: what moments alone gave, before the fit; None if there was too little to see.
        standard_errors_: of weights, biases and output weights by the noise of the labels.
        open_signs_: neurons ``(w_i, b_i)`` whose sign the labels do not tell.
        sign_choices_: all flips that leave the function as it is, for exact labels; None otherwise.

    A fit never fails for mathematical reasons: if the samples are not those of such a network, `outcome_` and
    ``result_.reason`` say so, and the network is the best approximation that was met.
    """

    def __init__(
        self,
        neurons: Any = None,
        *,
        mean: Any = None,
        covariance: Any = None,
        random_state: Any = None,
    ) -> None:
        self.neurons = neurons
        self.mean = mean
        self.covariance = covariance
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "ReluNetworkRegressor":
        """Learn from samples in memory.

        Raises:
            InvalidInput: for settings that can't be used, and inputs that are constant or combinations of others.
        """
        points, labels = self._check_samples(X, y)
        return self._learn(ArraySource(points, labels), points.shape[1], None)

    def fit_source(self, source: Source, *, inputs: int, engine: Engine | None = None) -> "ReluNetworkRegressor":
        """Learn from samples that need not fit into memory.

        Args:
            source: such as a `ParquetSource`; read about five times.
            inputs: number of inputs.
            engine: where moments are summed; this process if omitted.
        """
        self.n_features_in_ = inputs
        return self._learn(source, inputs, engine)

    def _learn(self, source: Source, inputs: int, engine: Engine | None) -> "ReluNetworkRegressor":
        learner = ReluLearner(
            neurons=check_neurons(self.neurons),
            mean=_check_shape(self.mean, "mean", (inputs,)),
            covariance=_check_shape(self.covariance, "covariance", (inputs, inputs)),
        )
        result, details = learner(source, inputs=inputs, seed=seed_of(self.random_state), engine=engine)
        self.start_network_, self.standard_errors_ = details.start, details.standard_errors
        self.open_signs_, self.sign_choices_ = details.open_signs, details.sign_choices
        if details.doubt_of_inputs is not None:
            warnings.warn(details.doubt_of_inputs, InputWarning, stacklevel=3)
        return self._keep(result)


def _check_shape(value: Any, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
    if value is None:
        return None
    array = as_float64(value, name=name, ndim=len(shape))
    if array.shape != shape:
        raise InvalidInput(f"{name} needs the shape {shape} for these inputs, got {array.shape}.")
    return array
