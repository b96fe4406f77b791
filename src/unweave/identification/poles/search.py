"""The search for all neurons of a steep tanh network: chords that meet them, and chords through what is still missed.

Most neurons are saturated at most places, so that neurons which were not found add a constant there: a model of the
others meets answers up to one level. From answers that it misses, chords lead through those that it meets, and neurons
which are missing cross them.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool

from unweave.activations import TANH
from unweave.arrays import PerOutput, PerPoint, Points, Values, Vector
from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification import reasons
from unweave.identification.answers import AnswerPool
from unweave.identification.poles.chords import Chord, ChordSampling
from unweave.identification.poles.crossings import PoleReading
from unweave.identification.poles.slabs import SlabNeurons, SlabSteps
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.routes import Survey
from unweave.identification.walks.lines import line_between, random_line
from unweave.identification.walks.rules import ModelledWalk
from unweave.networks.network import Layer, Network


@dataclass(frozen=True, kw_only=True)
class ChordChoice:
    """Where chords lead.

    Args:
        every_random: chords of which one is random: those through missed answers may all be alike.
        worse: error at a vertex, relative to the largest at other answers, from which on a chord leads there instead.
        worst: share of the largest error from which on answers are missed most, and chords lead through them.
        reach: half length of the only chord of a function of one input whose domain has no end, in its scales.
    """

    every_random: int = 3
    worse: float = 2.0
    worst: float = 0.3
    reach: float = 20.0


# Readings to 1e-3 leave ten times as much of steep neurons.
WALK = ModelledWalk(lines=40, quiet=6, failures=4, met=(1e-2, 1e-6))


@dataclass(frozen=True, kw_only=True)
class PoleSearch:
    """Settings of the search.

    Args:
        sampling: how answers are asked along chords.
        poles: how neurons are read there.
        steps: how their weights are read.
        walk: when it ends; progress is another neuron, or a smaller error.
        barren: chords, and queries, without a neuron after which the search ends: steep networks show some on most
            chords, and rough functions take many queries on every chord; chosen.
        progress: share of the largest error that counts as a smaller one.
        choice: where chords lead.
        levels: constants that are tried, those of as many answers; chosen.
        same: difference of weights and biases, relative, up to which two readings are of one neuron; chosen, above the
            errors of believed readings.
        steep: rate along a chord from which on a neuron is steep: tanh is within 1 % of its limits on a third of the
            chord at least. Others bend at most places, where Hessians show them.
    """

    sampling: ChordSampling = field(default_factory=ChordSampling)
    poles: PoleReading = field(default_factory=PoleReading)
    steps: SlabSteps = field(default_factory=SlabSteps)
    walk: ModelledWalk = WALK
    barren: tuple[int, int] = (6, 300)
    progress: float = 0.5
    choice: ChordChoice = field(default_factory=ChordChoice)
    levels: int = 64
    same: float = 3e-2
    steep: float = 4.0

    def __call__(self, survey: Survey, refiner: Refiner) -> Candidate:
        """Find all neurons that chords show.

        Raises:
            StageFailed: if no neuron could be read.
        """
        return _Search(self, survey, refiner).result()

    def steep_neurons(self, survey: Survey) -> int:
        """Count the steep neurons on one chord, and keep its answers."""
        probe, rng = survey.probe, survey.session.rng_walk
        chord = self.random_chord(survey)
        samples = self.sampling(probe.oracle.query, chord)
        probe.answers.keep(chord.points(samples.positions), samples.values, are_spread=False)
        crossings = self.poles(samples, rng.standard_normal(probe.oracle.outputs), noise=probe.answer_error)
        return int(np.count_nonzero(crossings.rates >= self.steep))

    def random_chord(self, survey: Survey) -> Chord:
        """Choose a chord of a box; a function of one input has only one, which is long where its domain has no end."""
        oracle, session = survey.probe.oracle, survey.session
        if oracle.inputs == 1:
            half = 1.0 if survey.is_in_box else self.choice.reach
            return Chord(np.zeros(1), np.full(1, half))
        return Chord.of_line(random_line(session.oracle.domain, oracle.inputs, session.rng_walk))


@dataclass(frozen=True, eq=False)
class _Model:
    """A network of the neurons found so far, which answers it meets, and by how much it misses the others."""

    network: Network
    met: Bool[np.ndarray, "points"]
    errors: PerPoint


class _Search:
    """One search: the neurons found so far, and the networks that were refined from them."""

    def __init__(self, settings: PoleSearch, survey: Survey, refiner: Refiner) -> None:
        self._settings, self._survey, self._refiner = settings, survey, refiner
        self._roughly, self._sharp = settings.walk.met
        oracle = survey.probe.oracle
        self._network = Network.shallow(
            weights=np.empty((0, oracle.inputs)),
            biases=np.empty(0),
            output_weights=np.empty((oracle.outputs, 0)),
            offset=np.zeros(oracle.outputs),
            activation=TANH,
        )
        self._mix = survey.session.rng_walk.standard_normal(oracle.outputs)
        # The network whose neurons were fitted last: a fit is made when there are more of them.
        self._fitted = self._network
        self._tried: list[Candidate] = []
        self._failed = self._walked = 0

    @property
    def _answers(self) -> AnswerPool:
        return self._refiner.answers

    @property
    def _neurons(self) -> int:
        return self._network.widths[0]

    def result(self) -> Candidate:
        """Walk until nothing is missed, and give the best network."""
        try:
            self._walk()
        except BudgetExhausted:
            if not self._tried:
                raise
        if not self._tried:
            with self._survey.session.stage("refining"):
                self._tried.append(self._refined(self._model()))
        if self._tried[-1].explains:
            # Earlier ones have missed what this one was found from.
            return self._tried[-1]
        return min(self._tried, key=lambda candidate: candidate.certificate.rms_error)

    def _walk(self) -> None:
        settings, session, quiet, best = self._settings, self._survey.session, 0, (0, np.inf)
        before, (chords, queries) = session.oracle.ledger.sent, settings.barren
        for number in range(1, settings.walk.lines + 1):
            with session.stage("reading poles"):
                model = self._model()
                if not self._neurons or not np.all(model.met):
                    self._next_chord(self._with_corners(model, is_stuck=quiet > 0))
                    is_long = session.oracle.ledger.sent - before >= queries
                    if self._neurons == 0 and (is_long or number >= chords):
                        raise StageFailed(reasons.no_poles(number))
                    error = float(np.max(model.errors))
                    quiet = 0 if self._neurons > best[0] or error < settings.progress * best[1] else quiet + 1
                    best = max(self._neurons, best[0]), min(error, best[1])
                    if quiet == settings.walk.quiet:
                        return
                    continue
            with session.stage("refining"):
                self._tried.append(self._refined(model))
            with session.stage("reading poles"):
                if not self._misses_more(self._tried[-1]) or self._failed == settings.walk.failures:
                    return

    def _with_corners(self, model: _Model, *, is_stuck: bool) -> _Model:
        """Ask vertices and faces if what is missed is missed by little, or chords do not reach what is behind it."""
        answers, settings, count = self._answers, self._settings, 0
        missed = float(np.max(model.errors))
        if not self._neurons or not answers.is_box or not (is_stuck or missed <= self._roughly):
            return model
        limit = max(self._roughly, settings.choice.worse * missed)
        while count < len(answers.trial_points) or answers.ask_trials(settings.walk.batch):
            values = model.network(answers.trial_points[count:])
            errors = np.max(np.abs(answers.trial_values[count:] - values), axis=1)
            if np.any(worse := errors > limit):
                answers.adopt_trials(np.concatenate([np.zeros(count, dtype=bool), worse]))
                return replace(
                    model,
                    met=np.concatenate([model.met, np.zeros(np.count_nonzero(worse), dtype=bool)]),
                    errors=np.concatenate([model.errors, errors[worse]]),
                )
            count = len(answers.trial_points)
        return model

    def _next_chord(self, model: _Model) -> None:
        """Read the neurons on a chord through an answer that is missed, or on a random one if none is met."""
        chord = self._chord(model)
        query, known = self._survey.probe.oracle.query, self._network
        asked: list[tuple[Points, Values]] = []

        def ask(points: Points) -> Values:
            values = query(points)
            asked.append((points, values))
            return values - known(points)

        samples = self._settings.sampling(ask, chord)
        crossings = self._settings.poles(samples, self._mix, noise=self._survey.probe.answer_error)
        found = None
        if len(crossings):
            self._survey.session.saw(self._neurons + len(crossings))
            found = self._settings.steps(ask, chord, crossings)
        for points, values in asked:
            self._answers.keep(points, values, are_spread=False)
        if found is not None:
            self._add(found)

    def _chord(self, model: _Model) -> Chord:
        session, settings = self._survey.session, self._settings
        self._walked += 1
        met = self._answers.points[model.met]
        is_random = self._walked % settings.choice.every_random == 0 or met.shape[1] == 1
        if is_random or self._neurons == 0 or len(met) == 0:
            return settings.random_chord(self._survey)
        rng, missed = (
            session.rng_walk,
            self._answers.points[model.errors >= settings.choice.worst * np.max(model.errors)],
        )
        line = line_between(met[rng.integers(len(met))], missed[rng.integers(len(missed))], session.oracle.domain)
        return Chord.of_line(line)

    def _add(self, found: SlabNeurons) -> None:
        """Keep neurons that were read well and are new, if more answers are met with them, the strongest first."""
        settings = self._settings
        strengths = np.max(np.abs(found.heights), axis=1)
        met = self._levelled(self._network).met
        for number in np.argsort(-strengths).tolist():
            hidden = self._network.layers[0]
            is_read = found.mismatches[number] <= settings.steps.largest_mismatch
            if not is_read or _is_known(found, number, hidden, tol=settings.same):
                continue
            more = with_neuron(self._network, found.weights[number], float(found.biases[number]), found.heights[number])
            met_with = self._levelled(more).met
            if np.count_nonzero(met_with) > np.count_nonzero(met):
                self._network, met = more, met_with

    def _levelled(self, network: Network) -> _Model:
        """Give a network the constants with which it meets most answers."""
        answers, tol = self._answers, self._roughly
        hidden, output = network.layers
        rest = answers.values - network(answers.points)
        tried = rest[np.linspace(0, len(rest) - 1, min(self._settings.levels, len(rest))).astype(int)]
        counts = [np.count_nonzero(np.max(np.abs(rest - level), axis=1) <= tol) for level in tried]
        near = np.max(np.abs(rest - tried[int(np.argmax(counts))]), axis=1) <= tol
        level = np.mean(rest[near], axis=0)
        errors = np.max(np.abs(rest - level), axis=1)
        levelled = Network((hidden, replace(output, biases=output.biases + level)))
        return _Model(levelled, errors <= tol, errors)

    def _model(self) -> _Model:
        """Give the neurons the level that meets most answers, and fit them to those."""
        answers = self._answers
        model = self._levelled(self._network)
        if self._network is self._fitted or answers.values[model.met].size <= model.network.parameters:
            return model
        self._fitted = self._network
        points, values = answers.points[model.met], answers.values[model.met]
        fitted = self._refiner.refine(model.network, points, values, floor=self._refiner.noise).network
        errors = _errors(fitted, answers)
        if np.count_nonzero(errors <= self._sharp) < np.count_nonzero(model.met):
            return model
        self._network = self._fitted = fitted
        return _Model(fitted, errors <= self._sharp, errors)

    def _refined(self, model: _Model) -> Candidate:
        # Neurons were read around one place each, far from others on their hyperplanes.
        self._answers.excite(model.network)
        return self._refiner.best([Start(model.network, float(np.max(model.errors[model.met], initial=0.0)))])

    def _misses_more(self, candidate: Candidate) -> bool:
        """Whether the network misses fresh answers, vertices or faces; what it misses is fitted from then on."""
        if candidate.explains:
            self._network = candidate.network
            return self._refiner.finds_missed(candidate, batch=self._settings.walk.batch)
        errors = _errors(candidate.network, self._answers)
        model = _Model(candidate.network, errors <= self._sharp, errors)
        corners = self._with_corners(model, is_stuck=False)
        if len(corners.errors) == len(errors):
            self._failed += 1
            return self._refiner.finds_missed(candidate, batch=self._settings.walk.batch)
        return True


def _errors(network: Network, answers: AnswerPool) -> PerPoint:
    return np.max(np.abs(answers.values - network(answers.points)), axis=1)


def with_neuron(network: Network, weights: Vector, bias: float, height: PerOutput) -> Network:
    """Add a neuron to a shallow network."""
    hidden, output = network.layers
    return Network.shallow(
        weights=np.vstack([hidden.weights, weights]),
        biases=np.append(hidden.biases, bias),
        output_weights=np.column_stack([output.weights, height]),
        offset=output.biases,
        activation=hidden.activation,
    )


def _is_known(found: SlabNeurons, number: int, layer: Layer, *, tol: float) -> bool:
    """Whether a neuron with nearly the same weights and bias, up to sign, is known already."""
    neuron = np.append(found.weights[number], found.biases[number])
    known = np.column_stack([layer.weights, layer.biases])
    apart = np.minimum(np.linalg.norm(known - neuron, axis=1), np.linalg.norm(known + neuron, axis=1))
    return bool(np.any(apart <= tol * np.linalg.norm(neuron)))
