"""`ReluNetworkRegressor`: a depth-2 relu network with biases, from samples.

The passes: mean and covariance of the inputs; moments up to order two and a check that the inputs are Gaussian; moments
of higher order inside the span of the weights. Search and finish work on rows in memory; where there are more, the last
fit to noisy labels reads all of them again.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64
from sklearn.utils.validation import check_is_fitted

from unweave.arrays import Vector, as_float64, kept_errors
from unweave.exceptions import InputWarning, InvalidInput
from unweave.learn.base import NetworkRegressor, check_neurons, check_sizes, seed_of
from unweave.learn.relu_network.affine import PenalisedAffine
from unweave.learn.relu_network.all_rows import AllRowsFit
from unweave.learn.relu_network.candidates import Finisher, Finishing, JudgedNetwork, Rows
from unweave.learn.relu_network.certificate import ReluCertificate, ReluEvidence
from unweave.learn.relu_network.claims import Case, ReluClaims, doubt_of_inputs, lack_of_rows, notes, too_few, verdict
from unweave.learn.relu_network.evidence import StandardErrors
from unweave.learn.relu_network.search import NetworkSearch, SearchedNetwork, SearchedSamples, describe_fit
from unweave.learn.relu_network.starts import FirstLook, Moments, affine_network
from unweave.learn.relu_network.units import SignChoices, equivalent_signs, in_inputs
from unweave.learn.stages import Progress, Stages
from unweave.networks.network import Network
from unweave.result import Cost, Outcome, Result
from unweave.samples.hermite.inputs import Coordinates, InputMoments, InputSummary
from unweave.samples.sources import (
    ArraySource,
    DistinctRows,
    Part,
    Source,
    first_rows,
    note_of_copies,
    split,
    without_copies,
)
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
        search: which networks are tried.
        finishing: what is made of networks that are tried.
        last_fit: to all rows, where labels have noise and not all rows are in memory.
        evidence: what is measured on rows that nothing has seen.
        claims: what may be said then.
        held_out: share of the rows that no fit sees: half choose among networks, half judge the choice; customary.
        most_held_out: of them: 5,000 show what fills 0.06 % of the inputs, at 95 % (``3 / 5,000``).
        rows_per_input: with fewer, moments of order two are hardly better than chance: their relative errors are about
            ``sqrt(inputs / rows)``, a quarter.
        most_numbers: of the rows that the search keeps in memory: 128 MB, of which up to four copies are made.
    """

    neurons: int | None = None
    mean: Vector | None = None
    covariance: Float64[np.ndarray, "inputs inputs"] | None = None
    search: NetworkSearch = field(default_factory=NetworkSearch)
    finishing: Finishing = field(default_factory=Finishing)
    last_fit: AllRowsFit = field(default_factory=AllRowsFit)
    evidence: ReluEvidence = field(default_factory=ReluEvidence)
    claims: ReluClaims = field(default_factory=ReluClaims)
    held_out: float = 0.2
    most_held_out: int = 10_000
    rows_per_input: int = 20
    most_numbers: int = 2**24

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
            source: samples, read five to ten times.
            inputs: number of inputs.
            seed: of the held out rows and of the decomposition; the same seed gives the same network.
            engine: where moments are summed; this process if omitted.
            progress: called with the name of every stage and the number of samples.

        Returns:
            The result, whose network is never None: an affine one where no neuron is seen; and details.

        Raises:
            InvalidInput: for rows that are not finite or of another size, and for a given covariance that is not
                positive definite.

        Assumes: independent rows, Gaussian inputs, labels of a depth-2 relu network with zero-mean noise.
        Guarantees: a network is called identified only on the evidence of rows that no fit has seen.
        """
        stages = Stages(progress)
        rng = np.random.default_rng(seed)
        # Squares of huge numbers are infinite, which is refused below.
        with stages("inputs"), np.errstate(over="ignore", invalid="ignore"):
            summary = accumulate(source, InputMoments(_first_point(source, inputs)), engine=engine).finalise()
        stages.samples = summary.rows
        _check_moments(summary.whole)
        needed = self.rows_per_input * (inputs + 1)
        if summary.rows < needed:
            return _affine_only(source, inputs, summary.rows, stages, too_few(summary.rows, needed))
        problem = _Problem.of(self, source, summary.whole, rows=summary.rows, seed=seed, engine=engine)
        if not problem.coordinates.rank:
            reason = "All inputs are constant: they tell nothing about the labels. The network is a constant."
            return _affine_only(source, inputs, summary.rows, stages, reason)
        with stages("moments of order two"):
            look = problem.moments.look(rng, rows=summary.rows)
        with stages("rows in memory"):
            finisher, held_out, copies = problem.rows(self)
        # Labels whose squares are no floats have a root mean square of zero.
        check_sizes(np.zeros((1, 1)), problem.spread * finisher.fitted.labels)
        unseen = len(finisher.unseen.labels), len(held_out.labels)
        different = len(finisher.fitted.labels) + sum(unseen)
        if reason := lack_of_rows(different, copies, unseen, needed=needed):
            return _affine_only(source, inputs, summary.rows, stages, reason)
        samples = SearchedSamples(problem.moments, look, finisher, rng, stages, problem.spread, self.neurons)
        found = self.search(samples)
        if self._has_more_rows(found.best, finisher):
            with stages("last fit to all rows"):
                best = self.last_fit(found.best, problem.training, finisher, spread=problem.spread, engine=engine)
                found = replace(found, best=best)
        with stages("certificate"):
            result, details = _result(self, problem, look, found, finisher, held_out, stages)
        return replace(result, notes=(*result.notes, *note_of_copies(different + copies, copies))), details

    def _has_more_rows(self, best: JudgedNetwork, finisher: Finisher) -> bool:
        """Whether there may be rows that were not fitted and would tell more: those of exact labels don't."""
        return best.neurons > 0 and not best.is_exact and len(finisher.fitted.labels) >= self._most_rows(finisher)

    def _most_rows(self, finisher: Finisher) -> int:
        return self.most_numbers // finisher.coordinates.inputs


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
        if learner.covariance is not None:
            coordinates = Coordinates.whitening(mean, learner.covariance)
        else:
            coordinates = Coordinates.varying(mean, summary.covariance)
        training, held_out = split(source, share=min(learner.held_out, learner.most_held_out / rows), seed=seed)
        spread = summary.label_rms if summary.label_rms > 0.0 else 1.0
        moments = Moments(training, coordinates, engine, learner.search.starts)
        return cls(training, held_out, moments, coordinates, spread, rows)

    def rows(self, learner: ReluLearner) -> tuple[Finisher, Rows, int]:
        """Rows to fit and to choose by, rows that judge the choice, and how many more were copies of these."""
        inputs = self.coordinates.inputs
        fitted, copies = self._in_coordinates(self.training, learner.most_numbers // inputs)
        unseen, more = self._in_coordinates(self.held_out, 2 * learner.most_held_out)
        # Rows at one point, whose labels differ, are on one side here, too.
        distinct = DistinctRows.of(unseen.points)
        is_choosing = distinct.which < distinct.count // 2
        choosing = Rows(unseen.points[is_choosing], unseen.labels[is_choosing])
        judging = Rows(unseen.points[~is_choosing], unseen.labels[~is_choosing])
        finisher = Finisher(fitted, choosing, self.coordinates, learner.finishing)
        return finisher, judging, copies + more

    def _in_coordinates(self, part: Part, most: int) -> tuple[Rows, int]:
        points, labels = first_rows(part, inputs=self.coordinates.inputs, most=most)
        points, labels, copies = without_copies(points, labels)
        return Rows(np.ascontiguousarray(self.coordinates.rows_of(points).T), labels / self.spread), copies

    def in_inputs(self, network: Network) -> Network:
        """The network for the inputs and labels as they came."""
        return in_inputs(network, self.coordinates, spread=self.spread)


def _result(
    learner: ReluLearner,
    problem: _Problem,
    look: FirstLook,
    found: SearchedNetwork,
    finisher: Finisher,
    held_out: Rows,
    stages: Stages,
) -> tuple[ReluResult, ReluDetails]:
    best, how = found.best, describe_fit(found)
    certificate = learner.evidence.certificate_of(
        best,
        fitted=finisher.fitted,
        held_out=held_out,
        coordinates=problem.coordinates,
        spread=problem.spread,
    )
    untold = problem.coordinates.inputs - problem.coordinates.rank
    case = Case(best, certificate, look.gaussianity.diagnostics(), learner.neurons, learner.claims, untold)
    outcome, reason = verdict(case)
    choices = equivalent_signs(best.network) if best.is_exact and best.network.skip is None and best.neurons else None
    result = Result(
        outcome=outcome,
        reason=reason,
        network=problem.in_inputs(best.network),
        certificate=certificate,
        diagnostics=(*case.gaussian, *case.diagnostics()),
        cost=Cost(samples=problem.samples, seconds=dict(stages.seconds)),
        notes=(*notes(case), *how),
        fresh_errors=kept_errors(np.abs(held_out.residuals(best.network))[:, None]),
    )
    scaled = replace(best.errors, output_weights=problem.spread * best.errors.output_weights)
    start, doubt = problem.in_inputs(best.start), doubt_of_inputs(case)
    return result, ReluDetails(start, scaled, best.open_signs, choices, doubt)


def _affine_only(source: Source, inputs: int, rows: int, stages: Stages, reason: str) -> tuple[ReluResult, ReluDetails]:
    """An affine fit, which is all that these rows allow: of fewer rows than inputs the one that leaves least unseen."""
    points, labels = first_rows(source, inputs=inputs, most=rows)
    slope, offset = PenalisedAffine()(points, labels)
    network = affine_network(slope, np.array([offset]))
    result = Result(Outcome.NOT_IDENTIFIED, reason, network, cost=Cost(samples=rows, seconds=dict(stages.seconds)))
    return result, ReluDetails(None, None, np.zeros(0, dtype=bool), None, None)


def _check_moments(summary: InputSummary) -> None:
    """Make sure that moments are numbers: the rows of a stream are not looked at one by one."""
    with np.errstate(invalid="ignore"):
        sizes = np.append(np.hypot(summary.mean, np.sqrt(np.diag(summary.covariance))), summary.label_rms)
    # What is no number is a difference of infinite ones.
    sizes = np.nan_to_num(sizes, nan=np.inf, posinf=np.inf)
    check_sizes(sizes[None, :-1], sizes[-1:])


def _first_point(source: Source, inputs: int) -> Vector:
    """A point near the mean: covariances about a far origin lose digits."""
    points, _ = first_rows(source, inputs=inputs, most=1)
    return points[0] if len(points) else np.zeros(inputs)


class ReluNetworkRegressor(NetworkRegressor):
    """Recover ``y = sum_i a_i relu(<w_i, x> + b_i)`` from samples.

    Args:
        neurons: their number; found if None.
        mean: of the inputs; estimated if None.
        covariance: of the inputs; estimated if None.
        random_state: seed or generator for the held out rows and the search.

    Attributes:
        result_: outcome, reason, network, certificate, diagnostics and notes.
        network_: the network, with unit weights.
        certificate_: what held out rows say about it.
        outcome_: identified, partly identified or not identified.
        start_network_: what moments or local search gave, before the fit; None if there was too little to see.
        standard_errors_: of weights, biases and output weights by the noise of the labels.
        open_signs_: neurons ``(w_i, b_i)`` whose sign the labels do not tell.
        sign_choices_: all flips that leave the function as it is, for exact labels; None otherwise.

    A fit never fails for mathematical reasons: if the samples are not those of such a network, `outcome_` and
    ``result_.reason`` say so, and the network is the best approximation that was met. Inputs need not be Gaussian:
    binary columns, one-hot codes and constants count like others, and ``result_.notes`` say what the fit started from.

    Examples:
        >>> import numpy as np
        >>> from unweave.learn import ReluNetworkRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((2_000, 4))
        >>> y = 2 * np.maximum(X[:, 0] + 0.5, 0) - np.maximum(X[:, 1] - X[:, 2], 0) + 0.1 * rng.standard_normal(2_000)
        >>> model = ReluNetworkRegressor(random_state=0).fit(X, y)
        >>> model.network_.widths, round(model.score(X, y), 2)
        ((2,), 1.0)
        >>> model.rows_needed(0.001) > 2_000  # for a largest standard error of 0.001
        True
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
            InvalidInput: for settings that can't be used, and numbers that are not finite or whose powers are not.
        """
        points, labels = self._check_samples(X, y)
        check_sizes(points, labels)
        return self._learn(ArraySource(points, labels), points.shape[1], None)

    def fit_source(self, source: Source, *, inputs: int, engine: Engine | None = None) -> "ReluNetworkRegressor":
        """Learn from samples that need not fit into memory.

        Args:
            source: such as a `ParquetSource`; read five to ten times.
            inputs: number of inputs.
            engine: where moments are summed; this process if omitted.
        """
        self.n_features_in_ = inputs
        return self._learn(source, inputs, engine)

    def rows_needed(self, error: float) -> int:
        """Say how many rows would bring the largest standard error of a parameter down to `error`.

        That error is ``certificate_.largest_standard_error``: of directions (in radians) and biases as they are, of
        output weights relative to the largest. It falls with the square root of the number of rows, if they are like
        those of the fit.

        Args:
            error: the wanted standard error.

        Returns:
            The number of rows, held out ones included. Exact labels need no more than were given.

        Raises:
            InvalidInput: if `error` is not positive, or no neuron was found whose error could be told.
        """
        check_is_fitted(self)
        if not (np.isfinite(error) and error > 0):
            raise InvalidInput(f"rows_needed needs a positive error, got {error!r}.")
        certificate, given = self.certificate_, self.result_.cost.samples
        if certificate is None or not self.network_.widths[0]:
            raise InvalidInput("rows_needed tells from standard errors of neurons, and none was found: give more rows.")
        bar = certificate.largest_standard_error
        if not np.isfinite(bar):
            raise InvalidInput("rows_needed can't tell: these rows leave a parameter open altogether. Give more rows.")
        return given if bar == 0.0 else int(np.ceil(given * (bar / error) ** 2))

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
