"""A way to shallow networks behind coarsely rounded answers: neurons are fitted to answers all over the domain.

Walks and differences divide small changes of the answers, which rounding hides. Fits to many answers average it out.
What comes of them is claimed only if exact values confirm it, where the rounded answers switch: a fit up to the
rounding alone may have other neurons, or other activations.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import RELU, TANH, base_of
from unweave.arrays import PerPoint, Points
from unweave.identification import answer_reasons
from unweave.identification.coarse.fit import Fitted, NoisyFit, Shape
from unweave.identification.coarse.growth import CoarseGrowth
from unweave.identification.found import Found
from unweave.identification.probing import Probe
from unweave.identification.refiner import Refiner, Start
from unweave.identification.routes import COARSE_FIT, Condition, Decision, Known, Survey, leave, take
from unweave.networks.network import Network
from unweave.numerics.least_squares import is_over
from unweave.oracles.ledger import AnswerKind
from unweave.oracles.oracle import Box
from unweave.oracles.views import ROUNDING_DEVIATION

# Sigmoid is tanh with other weights.
SATURATING = Shape("tanh", np.tanh, lambda arguments: 1.0 - np.tanh(arguments) ** 2, has_affine_part=False)
KINKED = Shape("relu", np.abs, np.sign, has_affine_part=True)


@dataclass(frozen=True, kw_only=True)
class MayBeFitted:
    """Suit functions whose rounded answers were not fitted before, with an activation that such fits know.

    Args:
        only_kinked: whether the function must have been seen to have kinks: such fits meet fine answers, too.
    """

    only_kinked: bool = False

    def __call__(self, survey: Survey, known: Known) -> Decision:
        """Decide without any query, but for a look whether there are kinks."""
        if COARSE_FIT in known.tried:
            return leave("such fits were made already.")
        if known.first_layer is not None or np.any(np.isinf(survey.probe.spreads)):
            return leave("a first layer is known, or the answers are constant up to rounding.")
        if self.only_kinked and (known.closes(survey) or not survey.has_kinks):
            return leave("no kinks were seen in the first answers.")
        if not shapes_for(survey):
            return leave(f"such fits know no {survey.activation}.")
        return take(f"the answers are rounded to {rounding_grid(survey.probe).name}.")


def shapes_for(survey: Survey) -> tuple[Shape, ...]:
    """Give what neurons may be made of."""
    if survey.activation is None:
        return KINKED, SATURATING
    fitting = {TANH: SATURATING, RELU: KINKED}
    shape = fitting.get(base_of(survey.activation))
    return () if shape is None else (shape,)


@dataclass(frozen=True, kw_only=True)
class CoarseFit:
    """Settings of the fits.

    Args:
        suits: when it is taken.
        growth: how neurons are found.
        answers: per parameter of a network of `typical` neurons, in the first attempt.
        typical: neurons; chosen.
        more: factor of the answers from one attempt to the next.
        attempts: with more and more answers.
        fewest: answers per parameter, while neurons are added beyond those that are needed.
        stretch: how much farther than its scale points are drawn where the domain has no end: arguments of tanh are
            spread over its bend there.
        look: neurons that tell which shape is tried first.
        tie: squares of that look, relative to the other shape's, up to which kinks are tried first, which takes less.
    """

    suits: Condition
    growth: CoarseGrowth = field(default_factory=CoarseGrowth)
    answers: float = 15.0
    typical: int = 5
    more: float = 2.0
    attempts: int = 2
    fewest: float = 5.0
    stretch: float = 2.0
    look: int = 4
    tie: float = 1.3
    name = COARSE_FIT
    asks_far = False

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:  # noqa: ARG002
        """Fit neurons to more and more answers until these are met up to the rounding."""
        session, probe = survey.session, survey.probe
        points, values = np.empty((0, probe.oracle.inputs)), np.empty(0)
        rng, least = session.rng_fit.spawn(1)[0], np.inf
        for attempt in range(self.attempts):
            with session.stage("fitting neurons to rounded answers"):
                points, values = self._asked(probe, points, values, attempt, rng)
                noise = rounding_of(probe, values)
                for shape, fitted in self._fits(survey, points, values, noise, rng):
                    least = min(least, float(np.sqrt(fitted.squares / len(values))) / noise)
                    if not self.growth.is_met(NoisyFit(points, values, shape), fitted, noise):
                        continue
                    session.saw(fitted.width)
                    with session.stage("refining"):
                        # Growth has chosen how many neurons there are.
                        candidate = refiner(Start(as_network(shape, fitted), noise, is_student=True))
                        candidate = refiner.without_affine_part(candidate)
                    if candidate.explains:
                        return Found(candidate=candidate)
            if is_over():
                break
        return Found(answer_reasons.unmet_by_fits(least))

    def _asked(
        self, probe: Probe, points: Points, values: PerPoint, attempt: int, rng: np.random.Generator
    ) -> tuple[Float64[np.ndarray, "asked inputs"], Float64[np.ndarray, "asked"]]:
        """Ask more places of the domain; all answers may be fitted later, too."""
        inputs, oracle = probe.oracle.inputs, probe.oracle
        wanted = int(self.answers * self.more**attempt * (self.typical * (inputs + 2) + 1))
        is_box = isinstance(oracle.oracle.domain, Box)
        more = (1.0 if is_box else self.stretch) * oracle.sample(rng, wanted - len(points))
        answers = oracle.query(more)
        probe.answers.keep(more, answers, are_spread=True)
        return np.vstack([points, oracle.as_asked(more)]), np.append(values, answers[:, 0])

    def _fits(
        self, survey: Survey, points: Points, values: PerPoint, noise: float, rng: np.random.Generator
    ) -> Iterator[tuple[Shape, Fitted]]:
        """Give fits of every shape that may be it, round after round, the likelier one first."""
        most = int(len(values) / (self.fewest * (points.shape[1] + 2)))
        growth = replace(self.growth, most_width=max(1, min(self.growth.most_width, most)))
        for shape, rounds in self._planned(survey, points, values, rng):
            fit, neurons = NoisyFit(points, values, shape), np.empty((0, points.shape[1] + 1))
            for _ in range(rounds):
                fitted = growth.round(fit, neurons, noise, rng)
                yield shape, fitted
                neurons = growth.thinner(fitted, rng)
                if is_over():
                    return

    def _planned(
        self, survey: Survey, points: Points, values: PerPoint, rng: np.random.Generator
    ) -> list[tuple[Shape, int]]:
        """Choose which shape is tried how often, after a look with few neurons of each."""
        shapes, rounds = shapes_for(survey), self.growth.rounds
        if len(shapes) == 1:
            return [(shapes[0], rounds)]
        left = {
            shape.name: self.growth.first_look(
                NoisyFit(points, values, replace(shape, has_affine_part=True)), self.look, rng
            )
            for shape in shapes
        }
        if left[KINKED.name] > self.tie * left[SATURATING.name]:
            return [(SATURATING, rounds), (KINKED, 1)]
        return [(KINKED, 2), (SATURATING, rounds)]


def rounding_grid(probe: Probe) -> AnswerKind:
    """The grid of the answers, without which the identifier does not come here."""
    assert probe.rounded_to is not None
    return probe.rounded_to


def rounding_of(probe: Probe, values: PerPoint) -> float:
    """Standard deviation of the rounding of answers, in standard units."""
    kind, oracle = rounding_grid(probe), probe.oracle
    steps = kind.step(kind.roundings[0](oracle.offset[0] + oracle.size[0] * values)) / oracle.size[0]
    steps = steps[np.isfinite(steps)]
    return ROUNDING_DEVIATION * float(np.sqrt(np.mean(steps**2)))


def as_network(shape: Shape, fitted: Fitted) -> Network:
    """Write what was found as a network: ``a |t|`` is ``2 a relu(t)`` without ``a t``."""
    weights, biases = fitted.neurons[:, :-1].copy(), fitted.neurons[:, -1].copy()
    outer, offset = fitted.coefficients[: fitted.width], fitted.coefficients[fitted.width : fitted.width + 1]
    if not shape.has_affine_part:
        return Network.shallow(weights, biases, outer[None].copy(), offset.copy(), TANH)
    skip = fitted.coefficients[fitted.width + 1 :] - outer @ weights
    return Network.shallow(weights, biases, 2.0 * outer[None], offset - outer @ biases, RELU, skip[None])
