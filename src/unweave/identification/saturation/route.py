"""Neurons from far away: for activations with constant or affine tails, where the domain has no end.

On a line far from the centre every neuron is in its tails but in a thin slab around its hyperplane, and
the slabs are met one by one. What a line could not resolve is looked for on the next one, in the
answers minus what is known, until a line shows nothing new.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation, base_of, simplest_activations
from unweave.arrays import Points, Values
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.found import Found
from unweave.identification.probing import Probe
from unweave.identification.refiner import Refiner, Start
from unweave.identification.routes import SATURATION, Condition, Decision, Known, Survey, leave, take
from unweave.identification.saturation.closed_form import FarClosedForm
from unweave.identification.saturation.first_layer import FarLayerSearch
from unweave.identification.saturation.jumps import JumpSearch, SlabReading, is_saturating
from unweave.identification.saturation.neurons import FarNeuron, Reader, Reading
from unweave.identification.saturation.rounded_kinks import KinkReader
from unweave.identification.session import Session
from unweave.identification.walks.lines import Ask, Line, TailBehaviour, Tails, far_line
from unweave.networks.network import Network
from unweave.result import Diagnostic, at_least, at_most


class NotShallow(StageFailed):
    """The jumps far out are clear, and are not those of single neurons."""


@dataclass(frozen=True, kw_only=True)
class JumpReader:
    """Saturating activations: constant between jumps.

    Args:
        small_misfit: of a jump, relative to its height, up to which its neuron is believed in any case. Those of 697
            planted neurons of tanh and erf had 6e-9 at most.
        typical_misfits: the same in units of the typical one: slabs that overlap a little fit a little worse than the
            others, and another line shows them apart; chosen.
        largest_mismatch: up to which weights along the line and the rate of the profile must agree, relatively. Those
            of the 697 planted neurons differed by 3e-5 at most.
        slabs: how neurons are read in their slabs.
    """

    small_misfit: float = 1e-7
    typical_misfits: float = 100.0
    largest_mismatch: float = 1e-3
    slabs: SlabReading = field(default_factory=SlabReading)

    def reads(self, activation: Activation) -> bool:
        """Whether an activation saturates at two values, between which it can be undone."""
        return is_saturating(activation)

    def __call__(
        self,
        ask: Ask,
        line: Line,
        *,
        noise: float,
        rounding: float,  # noqa: ARG002
        activations: tuple[Activation, ...],
    ) -> Reading:
        """Find the jumps on a line and read every clear one in its slab."""
        search = JumpSearch(noise, activations)
        jumps = search(ask, line)
        misfits = np.array([jump.misfit for jump in jumps])
        votes = Counter(jump.activation for jump in jumps if jump.misfit < search.tail)
        activation = votes.most_common(1)[0][0] if votes else activations[0]
        typical = self.typical_misfits * float(np.median(misfits)) if len(jumps) else np.inf
        limit = min(search.tail, max(self.small_misfit, typical))
        clear = [jump for jump in jumps if jump.misfit < limit and jump.activation == activation]
        neurons = [
            FarNeuron(slab.weights, slab.bias, slab.height)
            for slab in self.slabs(ask, line, clear)
            if slab.mismatch < self.largest_mismatch
        ]
        misfit = float(np.median(misfits)) if len(jumps) else 0.0
        return Reading(len(jumps), neurons, misfits, activation, misfit, finds_jumps=True)


@dataclass(frozen=True, kw_only=True)
class SaturationWalk:
    """Settings of the walk along far lines.

    Args:
        suits: when it is taken.
        lines: the largest number of lines.
        shallow_share: share of the events on the first line that must have the profile of a single neuron.
        strange_noise: misfit, in units of the noise, above which it is the profile that is strange and not the noise.
        leftover: what known neurons leave on the next line, relative to the largest of them, and in units of the noise.
        first_layer: how the first layer of a network that is not shallow is found.
        closed_form: how large networks are solved for.
        large: parameters from which on they are: a fit of fewer takes no longer, and fewer queries.
        jumps: how neurons of saturating activations are read.
        kinks: how neurons with affine tails are read.
        steep: length of weights from which on neurons are read on nearer lines, in proportion, beside the others: their
            slabs are narrower, and a direction that is off by rounding moves them by many widths; chosen.
        far_neurons: per input that the first far line may meet: what 50 inputs and 1,000 neurons are.
        outer: angle at which far lines end, before their last direction: a hyperplane is met beyond with a chance of
            two thirds of it, and then on another line. And the same where an affine part was subtracted, whose error
            grows along the line; chosen.
        nearer: distance of lines where there is an affine part, relative to the usual one: its rounding is as many
            times smaller, and slabs as many times wider; chosen.
        slope_step: of the differences that measure the slope of an affine part, relative to the radius; chosen: so
            short that it rarely crosses a slab.
        parallel_share: of the hyperplanes across which answers change by the same on two lines, from which on there is
            one layer with neurons that are parallel; chosen: a slab beside another may be read wrongly.
    """

    suits: Condition
    lines: int = 10
    shallow_share: float = 0.5
    strange_noise: float = 1e3
    leftover: tuple[float, float] = (1e-6, 100.0)
    first_layer: FarLayerSearch = field(default_factory=FarLayerSearch)
    closed_form: FarClosedForm = field(default_factory=FarClosedForm)
    large: int = 1_000
    jumps: JumpReader = field(default_factory=JumpReader)
    kinks: KinkReader = field(default_factory=KinkReader)
    steep: float = 10.0
    far_neurons: int = 20
    outer: tuple[float, float] = (1e-3, 0.1)
    nearer: float = 0.01
    slope_step: float = 1e-3
    parallel_share: float = 0.8
    name = SATURATION
    asks_far = True

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:  # noqa: ARG002
        """Find the best network; of a network that is not shallow, the first layer."""
        if survey.tails is None:
            return Found(survey.near_only)
        far = _FarLines(survey.tails, self)
        try:
            with survey.session.stage("walking far lines"):
                try:
                    start = self._walk(survey, far)
                except NotShallow as failure:
                    noise = far.noise(survey.probe)
                    layer = self.first_layer(survey.session, survey.probe, radius=far.radius, noise=noise)
                    return layer.as_found(str(failure), survey.probe.oracle, parallel_share=self.parallel_share)
            with survey.session.stage("refining"):
                is_large = start.network.parameters >= self.large
                solved = self.closed_form(survey, refiner, start) if is_large else None
                return Found(candidate=solved or refiner.best([start]))
        except StageFailed as failure:
            return Found(str(failure))

    def _walk(self, survey: Survey, far: "_FarLines", known: Reading | None = None) -> Start:
        """Read neurons on far lines, beside some that are known."""
        session, probe, reader = survey.session, survey.probe, far.reader
        oracle, answers = probe.oracle, probe.answers
        given = survey.activation
        activations = simplest_activations(reader.reads) if given is None else (base_of(given),)
        activations = activations if known is None else (known.activation,)
        slope = far.slope(session, probe)
        noise = first_noise = far.noise(probe)
        neurons: list[FarNeuron] = [] if known is None else known.neurons
        misfits: list[float] = []
        model, lines, reading = network_of(neurons, activations[0], slope=slope), 0, None
        for lines in range(1, self.lines + 1):

            def ask(points: Points, model: Network = model) -> Values:
                return oracle.query(points) - model(points)

            line = far_line(oracle.inputs, session.rng_walk, radius=far.radius, outer=far.outer)
            # Every jump that is seen is a neuron; the search along a line has a limit of its own.
            session.saw(max(self.far_neurons * oracle.inputs, len(neurons)))
            reading = reader(ask, line, noise=noise, rounding=probe.rounding, activations=activations)
            if lines == 1:
                self._check(reading, noise)
                lengths = np.array([np.linalg.norm(neuron.weights) for neuron in reading.neurons])
                is_steep = lengths > self.steep * far.steepness
                if np.any(is_steep):
                    others = [neuron for neuron, each in zip(reading.neurons, is_steep, strict=True) if not each]
                    nearer = replace(far, steepness=float(np.min(lengths[is_steep])))
                    with suppress(StageFailed):
                        return self._walk(survey, nearer, replace(reading, neurons=[*neurons, *others]))
            elif reading.events == 0:
                break
            activations = (reading.activation,)
            misfits += list(reading.misfits)
            neurons = merged(neurons, reading.neurons)
            model = network_of(neurons, reading.activation, slope=slope)
            largest = max((float(np.max(np.abs(neuron.height))) for neuron in neurons), default=0.0)
            noise = max(self.leftover[1] * first_noise, self.leftover[0] * largest)
        answers.stretch(model)
        answers.excite(model)
        model = with_affine_part(model, answers.points, answers.values)
        misfit = float(np.median(misfits))
        return Start(model, misfit, tuple(_checks(misfit, lines, reading.events if reading else 0)))

    def _check(self, reading: Reading, noise: float) -> None:
        if reading.events == 0:
            raise StageFailed(reasons.no_slabs())
        if len(reading.neurons) >= self.shallow_share * reading.events:
            return
        if reading.finds_jumps and np.median(reading.misfits) > self.strange_noise * noise:
            raise NotShallow(reading.doubt)
        raise StageFailed(reading.doubt)


@dataclass(frozen=True)
class _FarLines:
    """Where far lines are walked, and how they are read, as the tails of the function and its steepness allow it."""

    tails: Tails
    walk: SaturationWalk
    steepness: float = 1.0

    @property
    def reader(self) -> Reader:
        """What reads the neurons on a line."""
        return self.walk.jumps if self.tails.behaviour is TailBehaviour.JUMPS else self.walk.kinks

    @property
    def _has_affine_part(self) -> bool:
        return self.tails.is_sloped and self.tails.behaviour is TailBehaviour.JUMPS

    @property
    def outer(self) -> float:
        """Where lines end: earlier if an affine part was subtracted, whose error grows along the line."""
        usual, sloped = self.walk.outer
        return sloped if self._has_affine_part else usual

    @property
    def radius(self) -> float:
        """How far away lines are: nearer if an affine part hides jumps behind its rounding."""
        radius = self.tails.radius / self.steepness
        return self.walk.nearer * radius if self._has_affine_part else radius

    def noise(self, probe: Probe) -> float:
        """Expected error of answers far out, with that of a slope which was subtracted."""
        if self.tails.behaviour is TailBehaviour.KINKS:
            # Growing answers carry their rounding with them; the walk knows that.
            return probe.scale.noise
        growth = self.walk.nearer / (self.walk.slope_step * self.outer) if self._has_affine_part else 1.0
        return probe.scale.noise + probe.rounding * self.tails.size * growth

    def slope(self, session: Session, probe: Probe) -> Float64[np.ndarray, "outputs inputs"]:
        """The slope of an affine part, on a plateau."""
        inputs = probe.oracle.inputs
        if not self._has_affine_part:
            return np.zeros((probe.oracle.outputs, inputs))
        line = far_line(inputs, session.rng_walk, radius=self.radius, outer=self.outer)
        step = self.walk.slope_step * self.radius
        values = probe.oracle.query(line.base + step * np.vstack([np.zeros(inputs), np.eye(inputs)]))
        return (values[1:] - values[0]).T / step


def merged(
    neurons: list[FarNeuron], more: list[FarNeuron], *, same_tol: float = 1e-3, vanished: float = 1e-3
) -> list[FarNeuron]:
    """Neurons and what a later line adds to them: a neuron that was met before is corrected, not doubled.

    Args:
        neurons: of the lines before.
        more: of a later line.
        same_tol: neurons whose weights and biases differ by less, relative to the weights, are the same: readings may
            be off by so much (`JumpReader.largest_mismatch`).
        vanished: a neuron that later lines have corrected to less than this share of what was read is not there: as
            much as a reading may be off.
    """
    result = list(neurons)
    for neuron in more:
        same = _index_of(neuron, result, same_tol)
        if same is None:
            result.append(neuron)
            continue
        other = result[same]
        sign = 1.0 if other.weights @ neuron.weights > 0 else -1.0
        height = other.height + sign * neuron.height
        if np.linalg.norm(height) < vanished * np.linalg.norm(other.height):
            del result[same]
        else:
            result[same] = replace(other, height=height)
    return result


def _index_of(neuron: FarNeuron, others: list[FarNeuron], same_tol: float) -> int | None:
    """The neuron with the same weights and bias, up to sign, if there is one."""
    if not others:
        return None
    weights = np.array([other.weights for other in others])
    signs = np.where(weights @ neuron.weights > 0, 1.0, -1.0)
    differences = np.linalg.norm(weights - signs[:, None] * neuron.weights, axis=1)
    shifts = np.abs(np.array([other.bias for other in others]) - signs * neuron.bias)
    same = np.maximum(differences, shifts) < same_tol * np.linalg.norm(weights, axis=1)
    return int(np.argmax(same)) if np.any(same) else None


def network_of(
    neurons: list[FarNeuron], activation: Activation, *, slope: Float64[np.ndarray, "outputs inputs"]
) -> Network:
    """The network of these neurons, with an affine part of this slope if it has one."""
    outputs, inputs = slope.shape
    return Network.shallow(
        weights=np.array([neuron.weights for neuron in neurons]).reshape(-1, inputs),
        biases=np.array([neuron.bias for neuron in neurons]),
        output_weights=np.array([neuron.height for neuron in neurons]).reshape(-1, outputs).T,
        offset=np.zeros(outputs),
        activation=activation,
        skip=slope if np.any(slope) else None,
    )


def with_affine_part(network: Network, points: Points, values: Values) -> Network:
    """The network with what fits the answers best: a constant, or an affine part where tails have slopes."""
    hidden, output = network.layers
    rest = values - network(points)
    if hidden.activation.bend == 0.0:
        offset = output.biases + np.mean(rest, axis=0)
        return replace(network, layers=(hidden, replace(output, biases=offset)))
    lifted = np.hstack([points, np.ones((len(points), 1))])
    affine = np.linalg.lstsq(lifted, rest, rcond=None)[0]
    return Network((hidden, replace(output, biases=output.biases + affine[-1])), skip=affine[:-1].T)


def is_constant_far_out(survey: Survey, known: Known) -> Decision:
    """Suit functions that saturate far from the centre."""
    return known_tails(survey, known, TailBehaviour.JUMPS)


def is_affine_far_out(survey: Survey, known: Known) -> Decision:
    """Suit smooth functions that are affine far from the centre, between kinks that are rounded off."""
    decision = known_tails(survey, known, TailBehaviour.KINKS)
    if decision.is_taken and survey.has_kinks:
        return leave("the function has sharp kinks near the centre.")
    return decision


def known_tails(survey: Survey, known: Known, wanted: TailBehaviour) -> Decision:
    """Suit functions that continue in one way, with an activation that does."""
    if why := known.closes(survey):
        return leave(why)
    tails = survey.tails
    if tails is None:
        return leave(survey.near_only or "the model does not answer far from the centre.")
    if tails.behaviour is not wanted:
        return leave(f"far out the answers are {tails.behaviour.value}.")
    if not _continues(survey.activation, tails):
        return leave(f"far out the answers are {tails.behaviour.value}, and {survey.activation} is not.")
    return take(f"inputs may be large, and far out the answers are {tails.behaviour.value}.")


def _continues(activation: Activation | None, tails: Tails) -> bool:
    """Whether an activation that is given continues as the function does."""
    return activation is None or _reads(tails, base_of(activation))


def _reads(tails: Tails, activation: Activation) -> bool:
    """Whether neurons of an activation look on far lines as these tails promise."""
    reader = JumpReader() if tails.behaviour is TailBehaviour.JUMPS else KinkReader()
    return reader.reads(activation)


def _checks(misfit: float, lines: int, events: int) -> list[Diagnostic]:
    return [
        at_most(
            "typical misfit of the profiles far out",
            misfit,
            1e-3,
            "the activation is another one, or the network is not shallow",
            weak=1e-1,
        ),
        at_least(
            "far lines walked",
            lines,
            2.0,
            "the last one only confirms that nothing new appears",
        ),
        at_most(
            "events on the last far line that no known neuron explains",
            events,
            0.0,
            "neurons are missing, or some were read poorly",
            weak=np.inf,
        ),
    ]
