"""Deep networks, layer by layer: the first layer from far away, the layers above in its coordinates.

The walk far out has given the directions of the first layer. Gradients give its lengths and biases, and with
them every pattern of its values can be asked for: what is above is a smaller network on a cube.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, product

import numpy as np

from unweave.activations import IDENTITY, TANH
from unweave.arrays import root_mean_square
from unweave.exceptions import BudgetExhausted, OracleError, StageFailed
from unweave.identification import reasons
from unweave.identification.found import FirstLayer, Found
from unweave.identification.peeling.alignment import Alignment, align
from unweave.identification.peeling.output_guesses import OutputGuess, as_output_activation, output_guesses
from unweave.identification.peeling.peeled_oracle import PeeledOracle
from unweave.identification.peeling.upper_layers import UpperLayers, UpperStart
from unweave.identification.peeling.wide_starts import WideStarts, WideStudents
from unweave.identification.probing import Probe
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.routes import Condition, Decision, Known, Survey, leave, take
from unweave.identification.session import Session
from unweave.networks.network import Layer, Network
from unweave.numerics.subspace_power import SubspacePower
from unweave.oracles.views import StandardOracle, layer_in_oracle_units
from unweave.result import Diagnostic, at_least


@dataclass(frozen=True)
class Foundation:
    """A first layer that students are built on.

    Args:
        layer: the layer.
        width: of the layer above, at most.
        is_exact: whether lengths and biases were found from gradients.
    """

    layer: Layer
    width: int
    is_exact: bool


@dataclass(frozen=True, kw_only=True)
class GradientLook:
    """How gradients above the first layer are asked, which tell its lengths and biases.

    Args:
        columns: gradients per neuron.
        more_points: places that are asked beyond those.
        largest_argument: of a neuron at the places that are asked; chosen: tanh bends most at 0.66.
        smallest_step: of the differences, for exact answers; for others the noise gives it.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    columns: float = 4.0
    more_points: int = 5
    largest_argument: float = 1.0
    smallest_step: float = 1e-4


@dataclass(frozen=True, kw_only=True)
class LayerPeeling:
    """Settings of the way through the layers.

    Args:
        suits: when it is taken.
        power: how directions are found in the span of the Hessians.
        gradients: how the lengths and biases of the first layer are found.
        wide: how small networks are found where Hessians do not tell.
        most_layers_above: hidden layers above the first that wide students may have.
        hopeless: residual of the layers above, relative to the spread of the answers, from which a start is given up.
        students: how wide ones are fitted.
        whole_tol: difference of output weights from a permutation that is taken for an error: a weight is that near to
            one by accident in less than one of 1e5 cases.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    suits: Condition
    power: SubspacePower = field(default_factory=SubspacePower)
    gradients: GradientLook = field(default_factory=GradientLook)
    wide: WideStarts = field(default_factory=WideStarts)
    most_layers_above: int = 3
    hopeless: float = 0.02
    students: WideStudents = field(default_factory=WideStudents)
    whole_tol: float = 1e-6
    name = "peeling of layers"
    asks_far = True

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:
        """Find the best network above the first layer that is known."""
        if known.first_layer is None or known.first_layer.standard.neurons == 0:
            last = None if known.first_layer is None else replace(known.first_layer, is_last=True)
            return Found(
                "far from the centre no first layer was found, whose inverse would show the layers above.",
                first_layer=last,
            )
        first, rough = replace(known.first_layer, is_last=True), known.first_layer.standard
        if rough.activation != TANH:
            return Found(f"layers above a first one of {rough.activation} are not looked for.", first_layer=first)
        if rough.neurons > rough.inputs:
            why = reasons.too_wide(rough)
            return Found(why, first_layer=replace(first, reason=f"{first.reason} That is because {why}"))
        survey.session.saw(rough.neurons)
        try:
            with survey.session.stage("peeling the first layer"):
                layer, alignment = _aligned(survey.session, survey.probe, rough, self.gradients)
        except (BudgetExhausted, OracleError) as problem:
            return Found(first_layer=first, stopped=problem)
        if alignment.is_clear:
            first = FirstLayer(
                standard=layer,
                layer=layer_in_oracle_units(layer, survey.probe.oracle),
                reason=reasons.aligned_first_layer(layer, alignment.frame.shape[1]),
            )
        found = Found(first_layer=first, checks=(_alignment_check(alignment),))
        try:
            candidate = self._above(survey, refiner, rough, layer, alignment)
        except StageFailed as failure:
            return replace(found, reason=str(failure))
        except (BudgetExhausted, OracleError) as problem:
            return replace(found, stopped=problem)
        return replace(found, candidate=candidate)

    def _above(self, survey: Survey, refiner: Refiner, rough: Layer, layer: Layer, alignment: Alignment) -> Candidate:
        """Find the layers above one that is known, roughly or well."""
        session, probe = survey.session, survey.probe
        upper = UpperLayers(
            PeeledOracle(probe.oracle, layer),
            alignment.frame,
            _guesses(probe),
            probe.scale.noise,
            self.power,
        )
        foundations = [Foundation(rough, rough.neurons, is_exact=False)]
        if alignment.is_clear:
            foundations.insert(0, Foundation(layer, alignment.frame.shape[1], is_exact=True))
        best: Candidate | None = None
        for start in self._starts(session, refiner, upper, foundations):
            with session.stage("refining"):
                candidate = self._refined(probe, refiner, start)
            if candidate is None:
                continue
            if best is None or candidate.certificate.rms_error < best.certificate.rms_error:
                best = candidate
            if candidate.explains and candidate.certificate.is_isolated:
                with session.stage("refining"):
                    return self._with_output_activation(probe, refiner, candidate) or candidate
        if best is None:
            raise StageFailed(reasons.nothing_above(layer))
        return best

    def _starts(
        self, session: Session, refiner: Refiner, upper: UpperLayers, foundations: list[Foundation]
    ) -> Iterator[UpperStart]:
        """Whole networks to refine: from Hessians, then from wide students if these are small enough."""
        from_hessians = upper.starts(session.rng_power)
        while True:
            with session.stage("finding the layers above"):
                start = next(from_hessians, None)
            if start is None:
                break
            yield replace(start, network=Network((upper.peeled.layer, *start.network.layers)))
        # Every student that comes here meets the answers: if many do, and none is certified, answers do not tell.
        yield from islice(self._all_students(session, refiner, upper.guesses, foundations), self.students.most)

    def _all_students(
        self, session: Session, refiner: Refiner, guesses: tuple[OutputGuess, ...], foundations: list[Foundation]
    ) -> Iterator[UpperStart]:
        for foundation, depth, guess in product(foundations, range(1, self.most_layers_above + 1), guesses):
            students = self._students(session, refiner, guess, foundation, depth)
            while True:
                with session.stage("fitting wide students"):
                    network = next(students, None)
                if network is None:
                    break
                yield UpperStart(network, guess, ())

    def _students(
        self, session: Session, refiner: Refiner, guess: OutputGuess, foundation: Foundation, depth: int
    ) -> Iterator[Network]:
        if foundation.layer.neurons == 1:
            # What is above is a function of one number, which many networks are.
            return
        width = foundation.width + self.students.more_width
        size = self.wide.parameters(foundation.layer, outputs=len(guess.size), width=width, depth=depth)
        if size > self.wide.most_parameters:
            return
        self.students.ask(refiner.answers, size=size, width=width)
        if not guess.allows(refiner.answers.values):
            return
        yield from self.wide(
            foundation.layer,
            refiner.answers.points,
            guess.undo(refiner.answers.values),
            width=width,
            depth=depth,
            is_below_exact=foundation.is_exact,
            floor=refiner.noise,
            rng=session.rng_walk,
        )

    def _refined(self, probe: Probe, refiner: Refiner, start: UpperStart) -> Candidate | None:
        """Fit the layers above alone, then all of them, in units that the output activation allows.

        None if the layers above do not come near the answers: no fit of all layers has been seen to help then.
        """
        layers = start.network.layers
        network = Network((*layers[:-1], replace(layers[-1], activation=start.guess.activation)))
        # Asked before the units change, so that every later start has these answers, too.
        refiner.prepare(network)
        if start.guess.activation != IDENTITY:
            refiner = _in_raw_units(probe, refiner)
        points, values = refiner.answers.points, refiner.answers.values
        above = refiner.refine(network, points, values, floor=refiner.noise, layers=range(1, len(layers)))
        if above.residual > self.hopeless * root_mean_square(values - np.mean(values, axis=0)):
            return None
        return refiner.best([Start(above.network, above.residual, start.checks)])

    def _with_output_activation(self, probe: Probe, refiner: Refiner, candidate: Candidate) -> Candidate | None:
        """The same network with one layer less, if its last hidden layer is an output activation."""
        if candidate.network.activations[-1] != IDENTITY:
            return None
        offset, size = candidate.units.offset, candidate.units.size
        shorter = as_output_activation(candidate.network, offset, size, whole_tol=self.whole_tol)
        if shorter is None:
            return None
        guess = OutputGuess(shorter[1], offset, size)
        again = self._refined(probe, refiner, UpperStart(shorter[0], guess, candidate.start.checks))
        return again if again is not None and again.explains and again.certificate.is_isolated else None


def _guesses(probe: Probe) -> tuple[OutputGuess, ...]:
    oracle = probe.oracle
    return output_guesses(probe.answers.values, oracle.offset, oracle.size)


def _aligned(session: Session, probe: Probe, layer: Layer, look: GradientLook) -> tuple[Layer, Alignment]:
    """The first layer with lengths and biases from gradients, where these tell."""
    oracle, peeled = probe.oracle, PeeledOracle(probe.oracle, layer)
    points = int(np.ceil(look.columns * layer.neurons / oracle.outputs)) + look.more_points
    arguments = session.rng_walk.uniform(-look.largest_argument, look.largest_argument, (points, layer.neurons))
    step = max(look.smallest_step, (2.0 * probe.scale.noise) ** (1 / 3))
    places = (arguments - layer.biases) @ peeled.lift.T
    asked = places[:, None] + step * np.vstack([peeled.lift.T, -peeled.lift.T])
    values = oracle.query(asked.reshape(-1, oracle.inputs)).reshape(points, 2, layer.neurons, -1)
    gradients = np.swapaxes(values[:, 0] - values[:, 1], 1, 2) / (2 * step)
    alignment = align(arguments - layer.biases, gradients, layer.biases, layer.activation)
    if not alignment.is_clear:
        # The next layer may be as wide as this one: its row space says nothing.
        return layer, replace(alignment, frame=np.eye(layer.neurons))
    return Layer(alignment.scales[:, None] * layer.weights, alignment.biases, layer.activation), alignment


def _alignment_check(alignment: Alignment) -> Diagnostic:
    return at_least(
        "gap of the gradients above the first layer",
        alignment.gap,
        alignment.clear_gap,
        "the second layer is not narrower than the first, whose biases are then known only roughly",
        weak=0.0,
    )


def _in_raw_units(probe: Probe, refiner: Refiner) -> Refiner:
    """The same judge with answers as the oracle gives them: an output activation fixes their units."""
    oracle = probe.oracle
    outputs = np.ones(oracle.outputs)
    raw = StandardOracle(oracle.oracle, oracle.center, oracle.half_width, 0.0 * outputs, outputs)
    return replace(
        refiner,
        answers=refiner.answers.in_units(raw, oracle.offset, oracle.size),
        noise=refiner.noise * root_mean_square(oracle.size),
    )


def has_layers_above(survey: Survey, known: Known) -> Decision:
    """Suit networks whose first layer was read off far from the centre, under layers that bend it."""
    if why := known.closes(survey):
        return leave(why)
    if known.first_layer is None:
        return leave("no first layer of a deeper network was seen.")
    return take("the jumps far out are not those of single neurons: there are layers above.")
