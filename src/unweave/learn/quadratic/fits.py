"""One training of a network of squares with its evidence: without a penalty, or with the one of its signs."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from unweave.arrays import PerNeuron, PerPoint, Points, packed_size
from unweave.learn.quadratic.certificate import (
    OptimalityCertificate,
    certify_predictions,
    certify_ridge,
    certify_training,
)
from unweave.learn.quadratic.conditions import check_conditions
from unweave.learn.quadratic.frame import Frame
from unweave.learn.quadratic.lifted import factorise
from unweave.learn.quadratic.optimality import OptimalityTest, Regime, SquareSpectrum, regime_of
from unweave.learn.quadratic.problem import Labels, QuadraticProblem
from unweave.learn.quadratic.ridge import RidgeSystem
from unweave.learn.quadratic.search import Ending, TrainedWeights
from unweave.learn.quadratic.selection import Choice
from unweave.learn.quadratic.train import DirectTraining, LocalSolver, train
from unweave.learn.stages import Stages
from unweave.learn.weighed import WeighedSamples
from unweave.result import Diagnostic


@dataclass(frozen=True, eq=False)
class Fit:
    """One training with its evidence.

    Args:
        problem: the samples in their own units, with a last column of ones for biases.
        span: directions of the points.
        trained: weights in the same units.
        certificate: what may be claimed.
        diagnostics: conditions of the theory.
        choice: signs and penalties.
    """

    problem: QuadraticProblem
    span: int
    trained: TrainedWeights
    certificate: OptimalityCertificate
    diagnostics: tuple[Diagnostic, ...]
    choice: Choice


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples in all the units that fits need, each made when it is first needed.

    A quadratic form of ``s x`` is s^2 times that of x, so that samples which count w times are ``w^(1/4) x`` and
    ``w^(1/2) y``, with ``w^(1/4)`` for their constant.

    Args:
        points: as they came.
        labels: one per point, multiplied by the squares of the sizes.
        has_biases: whether neurons have biases.
        sizes: fourth roots of the weights of samples; None if all count alike.
    """

    points: Points
    labels: Labels
    has_biases: bool
    sizes: PerPoint | None = None

    @classmethod
    def of(cls, given: WeighedSamples, *, has_biases: bool) -> "Samples":
        """Give samples the sizes of their weights."""
        if given.weights is None:
            return cls(given.points, given.labels, has_biases)
        roots = np.sqrt(given.weights)
        return cls(given.points, roots * given.labels, has_biases, np.sqrt(roots))

    @cached_property
    def lifted(self) -> Points:
        """Points with a last column of ones, if there are biases."""
        lifted = np.column_stack([self.points, np.ones(len(self.points))]) if self.has_biases else self.points
        return lifted if self.sizes is None else self.sizes[:, None] * lifted

    @cached_property
    def white(self) -> Frame:
        """White coordinates, for fits without a ridge."""
        return Frame.of(self.points, self.labels, has_biases=self.has_biases, sizes=self.sizes)

    @cached_property
    def standard(self) -> Frame:
        """Standardised inputs, for fits with a ridge."""
        return Frame.standardised(self.points, self.labels, has_biases=self.has_biases, sizes=self.sizes)

    @cached_property
    def system(self) -> RidgeSystem:
        """The one Gram matrix of squares that all ridges, their choice and their conditions share."""
        return RidgeSystem.of(self.standard.points, self.standard.labels, has_constant=self.has_biases)

    @cached_property
    def spectrum(self) -> SquareSpectrum:
        """Singular values of the squares of standardised inputs."""
        return self.system.spectrum()

    @property
    def products(self) -> int:
        """Products of two inputs."""
        return packed_size(self.lifted.shape[1])

    def regime(self, output_weights: PerNeuron) -> Regime:
        """What theory says about these output weights."""
        return regime_of(QuadraticProblem(self.white.points, self.white.labels, output_weights))


@dataclass(frozen=True, eq=False)
class Trainer:
    """Train and judge.

    Args:
        samples: what is trained on.
        solver: of fits without a ridge.
        rng: of random starts.
        stages: where times are noted.
    """

    samples: Samples
    solver: LocalSolver | DirectTraining | None
    rng: np.random.Generator
    stages: Stages

    def __call__(self, output_weights: PerNeuron, choice: Choice) -> Fit:
        """Train with output weights and penalties."""
        given = QuadraticProblem(self.samples.lifted, self.samples.labels, output_weights)
        return self._with_ridge(given, choice) if choice.ridge > 0 else self._plain(given, choice)

    def _plain(self, given: QuadraticProblem, choice: Choice) -> Fit:
        """Without a penalty, or with that of the trace, which is one less in every label of a network of one sign."""
        frame = self.samples.white
        problem = QuadraticProblem(frame.points, frame.labels - choice.sign * choice.trace, given.output_weights)
        with self.stages("conditions"):
            test = OptimalityTest.of(problem, frame.blur)
            diagnostics = check_conditions(test, given)
        with self.stages("training"):
            trained = train(problem, self.solver, rng=self.rng, spectrum=test.spectrum)
        with self.stages("certificate"):
            weights, is_spanned = frame.outside(trained.weights), not frame.lacks_directions
            certificate = certify_predictions(
                certify_training(test, trained.weights),
                given,
                weights,
                unit=frame.unit,
                is_spanned=is_spanned,
                trace=choice.trace,
            )
        if self.samples.sizes is not None:
            # That theorem is about Gaussian points, which those with sizes are not.
            certificate = replace(certificate, planted_bound=np.inf)
        history = tuple(frame.unit**2 * loss for loss in trained.history)
        trained = replace(trained, weights=weights, loss=certificate.loss, history=history)
        return Fit(given, problem.span, trained, certificate, diagnostics, choice)

    def _with_ridge(self, given: QuadraticProblem, choice: Choice) -> Fit:
        """Solve for the one form that is optimal, from the Gram matrix that has chosen the ridge."""
        frame = self.samples.standard
        problem = QuadraticProblem(frame.points, frame.labels, given.output_weights)
        with self.stages("conditions"):
            test = OptimalityTest(problem, regime_of(problem), self.samples.spectrum, frame.blur)
            diagnostics = check_conditions(test, given)
        with self.stages("training"):
            form = self.samples.system.forms(np.array([choice.ridge]))[0]
            inside = factorise(form, given.output_weights).weights
        with self.stages("certificate"):
            weights = frame.outside(inside)
            certificate = certify_ridge(
                test,
                inside,
                given,
                weights,
                unit=frame.unit,
                ridge=choice.ridge,
                has_constant=self.samples.has_biases,
            )
        trained = TrainedWeights(weights, certificate.loss, Ending.OPTIMAL, (), (certificate.loss,))
        return Fit(given, problem.span, trained, certificate, diagnostics, choice)
