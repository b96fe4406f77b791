"""Kinks in a box: from every answer that the terms found so far miss, a line leads to what they explain.

In a box a line meets only some of the hyperplanes, and one that cuts off a corner is met by few. But a missing kink
leaves a difference between answers and model, which is largest at a vertex. On a line from there into the part that is
explained, the difference bends at missing kinks alone.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool

from unweave.arrays import Points, Values, Vector
from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification import reasons
from unweave.identification.answers import AnswerPool
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.routes import Survey
from unweave.identification.walks.hyperplanes import hyperplanes_between, measure_sides
from unweave.identification.walks.kinked_terms import KinkedTerms, refined_with_signs
from unweave.identification.walks.kinks import KinkSearch
from unweave.identification.walks.lines import Line, line_between, random_line
from unweave.identification.walks.rules import ModelledWalk
from unweave.networks.network import Layer, Network
from unweave.networks.pruning import without_neuron
from unweave.result import at_most


@dataclass(frozen=True, eq=False)
class Anchor:
    """A place where the function was seen to be affine.

    Args:
        point: the place.
        value: the answer there.
        gradient: of every output.
    """

    point: Vector
    value: np.ndarray
    gradient: np.ndarray

    def model(self, terms: KinkedTerms) -> Network:
        """Give the terms with the affine part that makes them right around this place."""
        network = terms.network()
        hidden, output = network.layers
        is_active = (hidden.preactivations(self.point[None])[0] > 0).astype(float)
        skip = self.gradient - (output.weights * is_active) @ hidden.weights
        offset = self.value - network(self.point[None])[0] - skip @ self.point
        return Network((hidden, replace(output, biases=offset)), skip=skip)


@dataclass(frozen=True, eq=False)
class PartModel:
    """A network of the kinks found so far, and the answers that it meets.

    Args:
        network: fitted to the answers that it meets.
        met: which answers these are.
        error: the largest error at them.
    """

    network: Network
    met: Bool[np.ndarray, "points"]
    error: float


@dataclass(frozen=True, kw_only=True)
class TrimmedFit:
    """Settings of a fit of all parameters to most answers; all are chosen.

    Args:
        share: of the answers that is fitted: a neuron that the lines have not met is active at few of them.
        rounds: how often these are chosen.
        nearly: error of most answers, relative to the spread, from which on more of them are asked: with many inputs
            and neurons errors of terms add up to more than the walk allows, and only a fit of all parameters helps.
        enough: numbers in answers that the fit needs, per parameter. The refinement needs more in any case.
    """

    share: float = 0.7
    rounds: int = 10
    nearly: float = 1e-2
    enough: float = 1.2


# Terms are measured to 1e-5, and their errors add up.
WALK = ModelledWalk(lines=200, quiet=16, failures=8, met=(1e-3, 1e-6))


@dataclass(frozen=True)
class BoxWalk:
    """Settings of the walk along kinks in a box.

    Args:
        walk: when it ends; progress is one more kink or answer that is met.
        margin: errors in units of the noise up to which answers are met as well.
        shares: of the error of measured terms that are tried, the smallest first: answers that are nearly met, and are
            not, would spoil the fit of all others.
        clear: error of a normal up to which a kink is believed.
        anchors: places that a model is tried from, the latest ones; chosen, for the time.
        trimmed: how a model is fitted that most answers are met by.
        spare: answers that a model must meet beside those that its linear parameters could be fitted to; chosen.
        doubtful: terms that one line has shown which are tried for removal at a time, the latest ones; chosen, for the
            time that functions with hundreds of kinks take.
    """

    walk: ModelledWalk = WALK
    margin: float = 30.0
    shares: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0)
    clear: float = 0.05
    anchors: int = 8
    trimmed: TrimmedFit = field(default_factory=TrimmedFit)
    spare: int = 8
    doubtful: int = 12

    def __call__(self, survey: Survey, refiner: Refiner, *, first_answers: int) -> Candidate:
        """Find all kinks that vertices and other answers show.

        Raises:
            StageFailed: if no kink could be read.
        """
        return _Search(self, survey, refiner).result(first_answers)

    def is_certain(self, network: Network, met: Bool[np.ndarray, "points"]) -> bool:
        """Whether a network meets more answers than a fit could have met by accident."""
        linear = network.widths[0] + network.inputs + 1
        return int(np.count_nonzero(met)) >= linear + self.spare


class _Search:
    """One search: the terms found so far, where they were found, and the networks that were refined from them."""

    def __init__(self, settings: BoxWalk, survey: Survey, refiner: Refiner) -> None:
        self._settings, self._survey, self._refiner = settings, survey, refiner
        oracle = survey.probe.oracle
        self._terms = KinkedTerms.none(oracle.inputs, oracle.outputs)
        self._anchors: list[Anchor] = []
        self._tried: list[Candidate] = []
        self._unresolved = self._failed = 0
        noise = settings.margin * survey.probe.scale.noise
        self._roughly, self._sharp = (max(error, noise) for error in settings.walk.met)

    @property
    def _answers(self) -> AnswerPool:
        return self._refiner.answers

    def result(self, first_answers: int) -> Candidate:
        """Walk until nothing is missed, and give the best network."""
        session, quiet, best = self._survey.session, 0, np.zeros(2)
        try:
            with session.stage("walking along kinks"):
                self._answers.ask(first_answers)
                self._random_walk()
            for _ in range(self._settings.walk.lines):
                with session.stage("walking along kinks"):
                    model = self._model()
                    if not np.all(model.met):
                        self._next_line(model)
                        reached = len(self._terms.offsets), int(np.count_nonzero(model.met))
                        quiet = 0 if any(np.greater(reached, best)) else quiet + 1
                        best = np.maximum(reached, best)
                        if quiet == self._settings.walk.quiet:
                            break
                        continue
                with session.stage("refining"):
                    self._tried.append(self._refined(self._without_twins(model)))
                with session.stage("walking along kinks"):
                    if not self._misses_more(self._tried[-1]) or self._failed == self._settings.walk.failures:
                        break
        except BudgetExhausted:
            if not self._tried:
                raise
        if not self._tried:
            if len(self._terms.offsets) == 0:
                raise StageFailed(reasons.no_kinks())
            with session.stage("refining"):
                self._tried.append(self._refined(self._model()))
        if self._tried[-1].explains:
            # Earlier ones have missed what this one was found from.
            return self._tried[-1]
        return min(self._tried, key=lambda candidate: candidate.certificate.rms_error)

    def _random_walk(self) -> int:
        session, probe = self._survey.session, self._survey.probe
        line = random_line(session.oracle.domain, session.oracle.inputs, session.rng_walk)
        return self._walk(line, KinkSearch(noise=probe.scale.noise, rounding=probe.rounding))

    def _walk(self, line: Line, search: KinkSearch, model: Network | None = None) -> int:
        """Add the kinks on a line, those of the difference from a model if there is one; say how many are new."""
        query = self._survey.probe.oracle.query

        def ask(points: Points) -> Values:
            return query(points) if model is None else query(points) - model(points)

        before = len(self._terms.offsets)
        walked = search(ask, line)
        sides = measure_sides(ask, walked, search, range(len(walked.pieces)))
        met = hyperplanes_between(sides, walked, search)
        self._unresolved = met.unresolved
        self._terms = self._terms.extended(met.chosen(np.flatnonzero(met.errors < self._settings.clear).tolist()))
        if model is None:
            values = query(np.array([side.point for side in sides.values()]).reshape(-1, len(line.base)))
            self._anchors += [
                Anchor(side.point, value, side.gradient) for side, value in zip(sides.values(), values, strict=True)
            ]
        self._survey.session.saw(len(self._terms.offsets))
        self._answers.excite(self._terms.network())
        return len(self._terms.offsets) - before

    def _next_line(self, model: PartModel) -> None:
        """Walk from an answer that is missed to what is explained, or anywhere if that shows nothing new."""
        session, probe, answers = self._survey.session, self._survey.probe, self._answers
        missed = np.flatnonzero(~model.met)
        if self._asks_enough(model):
            return
        if self._settings.is_certain(model.network, model.met) and model.error <= self._sharp:
            target = answers.points[session.rng_walk.choice(missed)]
            met = answers.points[model.met]
            anchor = met[np.argmin(np.linalg.norm(met - target, axis=1))]
            # Answers and model are rounded, although their difference is small.
            rounding = 4 * probe.rounding * float(np.max(np.abs(answers.values)))
            search = KinkSearch(noise=max(probe.scale.noise + rounding, model.error), rounding=probe.rounding)
            try:
                if self._walk(line_between(anchor, target, session.oracle.domain), search, model.network):
                    return
            except StageFailed:
                # The difference bends too often: the model is not right anywhere near.
                pass
        try:
            found = self._random_walk()
        except StageFailed:
            # Where neurons with large output weights cancel, rounding looks like kinks: other lines may miss that.
            if len(self._terms.offsets) == 0:
                raise
            found = 0
        if found == 0:
            self._drop_wrong_terms()

    def _asks_enough(self, model: PartModel) -> bool:
        """Ask what a fit of all parameters needs, if most answers are nearly met and only such a fit meets them."""
        settings, network = self._settings, model.network
        enough = self._enough(network)
        is_sharp = model.error <= self._sharp and settings.is_certain(network, model.met)
        if is_sharp or len(model.met) >= enough or not self._is_near(network):
            return False
        self._answers.ask(enough - len(model.met))
        return True

    def _enough(self, network: Network) -> int:
        """Count the answers that all parameters can be fitted to the best of."""
        settings = self._settings
        return int(np.ceil(settings.trimmed.enough / settings.trimmed.share * network.parameters / network.outputs))

    def _is_near(self, network: Network) -> bool:
        """Whether most answers are nearly met, so that a fit of all parameters may lead to what meets them."""
        most = float(np.quantile(self._errors(network), self._settings.trimmed.share))
        return most <= max(self._settings.trimmed.nearly, self._roughly)

    def _drop_wrong_terms(self) -> None:
        """Leave out terms without which more answers are met, the latest first.

        Two kinks close together can look like one, on a hyperplane that does not exist and that no other line meets.
        """
        met = self._most_met(self._terms)[1]
        doubtful = np.flatnonzero(self._terms.sightings <= 1)[::-1].tolist()
        for number in doubtful[: self._settings.doubtful]:
            others = self._terms.without(number)
            if (more := self._most_met(others)[1]) > met:
                self._terms, met = others, more

    def _most_met(self, terms: KinkedTerms) -> tuple[Network, int]:
        """Give the model, right around one of the anchors, that meets most answers, and their number."""
        if not self._anchors:
            raise StageFailed(reasons.no_kinks())
        answers = self._answers
        models = [anchor.model(terms) for anchor in self._anchors[-self._settings.anchors :]]
        # If all kinks are known, and one was measured badly, this is right and the others are not.
        models.append(_linearly_fitted(models[-1], answers.points, answers.values))
        # If nearly all are known, and most answers do not show the others, this is.
        models.append(self._linearly_fitted_to_most(models[-1]))
        counts = [int(np.count_nonzero(self._errors(model) <= self._roughly)) for model in models]
        best = int(np.argmax(counts))
        return models[best], counts[best]

    def _without_twins(self, model: PartModel) -> PartModel:
        """Leave out a term that repeats another one, if all answers are still met.

        Where few answers tell of a neuron a fit turns it a little, and its kink is read once more.
        """
        answers = self._answers
        for first, second in _near_pairs(model.network.layers[0], self._settings.clear):
            for number in (first, second):
                network = self._fitted(without_neuron(model.network, number), answers.points, answers.values)
                if not np.any(self._refiner.missed(network, answers.points, answers.values)):
                    self._terms = self._terms.without(self._terms.nearest(model.network.layers[0], number))
                    return self._without_twins(PartModel(network, model.met, float(np.max(self._errors(network)))))
        return model

    def _linearly_fitted_to_most(self, network: Network) -> Network:
        """Fit output weights and affine part to most of the answers, those that are met best, again and again."""
        settings, answers = self._settings, self._answers
        for _ in range(settings.trimmed.rounds):
            errors = self._errors(network)
            most = errors <= np.quantile(errors, settings.trimmed.share)
            if not settings.is_certain(network, most):
                break
            network = _linearly_fitted(network, answers.points[most], answers.values[most])
        return network

    def _model(self) -> PartModel:
        """Fit the terms found so far to the answers that they explain, and to no others."""
        answers = self._answers
        network, _ = self._most_met(self._terms)
        errors = self._errors(network)
        met = errors <= self._roughly
        for tol in self._roughly * np.array(self._settings.shares):
            met = errors <= tol
            fitted = _linearly_fitted(network, answers.points[met], answers.values[met])
            sharp = self._errors(fitted) <= self._sharp
            if not self._settings.is_certain(network, met):
                continue
            if 2 * np.count_nonzero(met) >= np.count_nonzero(errors <= self._roughly) and np.all(sharp[met]):
                network, met = fitted, sharp
                break
        fitted = self._fitted(network, answers.points[met], answers.values[met])
        sharp = self._errors(fitted) <= self._sharp
        if np.count_nonzero(sharp) >= np.count_nonzero(met):
            network, met = fitted, sharp
        error = float(np.max(self._errors(network)[met], initial=0.0))
        if error <= self._sharp:
            met = ~self._refiner.missed(network, answers.points, answers.values)
            error = float(np.max(self._errors(network)[met], initial=0.0))
        return PartModel(network, met, error)

    def _errors(self, network: Network) -> np.ndarray:
        return np.max(np.abs(self._answers.values - network(self._answers.points)), axis=1)

    def _fitted(self, network: Network, points: Points, values: Values) -> Network:
        if values.size < network.parameters:
            return network
        return self._refiner.refine(network, points, values, floor=self._refiner.noise).network

    def _refined(self, model: PartModel) -> Candidate:
        checks = (
            at_most(
                "kinks that could not be read on the last line",
                self._unresolved,
                0.0,
                "kinks close together or weak ones; another line may show them apart",
                weak=np.inf,
            ),
        )
        start = Start(model.network, model.error, checks)
        return refined_with_signs(
            self._survey.session, self._refiner, start, error=model.error, activation=self._survey.activation
        )

    def _misses_more(self, candidate: Candidate) -> bool:
        """Whether the network misses fresh answers, vertices or faces; what it misses is fitted from then on."""
        if not candidate.explains:
            self._failed += 1
        return self._refiner.finds_missed(candidate, batch=self._settings.walk.batch)


def _near_pairs(layer: Layer, angle: float) -> list[tuple[int, int]]:
    """Give pairs of neurons whose hyperplanes differ by at most an angle, up to sign."""
    rows = np.hstack([layer.weights, layer.biases[:, None]])
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    is_near = np.triu(np.abs(rows @ rows.T) >= np.cos(angle), k=1)
    return [(int(first), int(second)) for first, second in np.argwhere(is_near)]


def _linearly_fitted(network: Network, points: Points, values: Values) -> Network:
    """Fit output weights and affine part; what the points do not tell stays as it is."""
    hidden, output = network.layers
    columns = np.hstack([hidden.activation(hidden.preactivations(points)), points, np.ones((len(points), 1))])
    change = np.linalg.lstsq(columns, values - network(points), rcond=1e-9)[0]
    skip = np.zeros((network.outputs, network.inputs)) if network.skip is None else network.skip
    neurons = hidden.neurons
    output = replace(output, weights=output.weights + change[:neurons].T, biases=output.biases + change[-1])
    return Network((hidden, output), skip=skip + change[neurons:-1].T)
