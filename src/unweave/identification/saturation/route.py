"""Neurons from far away: for activations with constant or affine tails, where the domain has no end.

On a line far from the centre every neuron is in its tails but in a thin slab around its hyperplane, and
the slabs are met one by one. What a line could not resolve is looked for on the next one, in the
answers minus what is known, until a line shows nothing new.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation, base_of, simplest_activations
from unweave.arrays import Points, Values
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.found import FirstLayer, Found
from unweave.identification.probing import Probe
from unweave.identification.refiner import Refiner, Start
from unweave.identification.routes import SATURATION, Condition, Decision, Known, Survey, leave, take
from unweave.identification.saturation.closed_form import FarClosedForm
from unweave.identification.saturation.first_layer import FarLayerSearch
from unweave.identification.saturation.neurons import (
    FarNeuron,
    JumpReader,
    KinkReader,
    Reader,
    Reading,
    merged,
    network_of,
    with_affine_part,
)
from unweave.identification.session import Session
from unweave.identification.walks.lines import TailBehaviour, Tails, far_line
from unweave.networks.network import Network
from unweave.oracles.views import layer_in_oracle_units
from unweave.result import Diagnostic, at_least, at_most


class NotShallow(StageFailed):
    """The jumps far out are clear, and are not those of single neurons."""


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
                    return far.read_first_layer(survey, str(failure), self.first_layer)
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

    def read_first_layer(self, survey: Survey, why: str, search: FarLayerSearch) -> Found:
        """What can be said of a network whose upper layers bend what its first layer says."""
        oracle, noise = survey.probe.oracle, self.noise(survey.probe)
        found = search(survey.session, survey.probe, radius=self.radius, noise=noise)
        if found.alike >= self.walk.parallel_share:
            return Found(reasons.parallel_neurons(found.ridges, found.lines), checks=found.checks)
        if found.layer is None:
            return Found(f"{why} {reasons.no_first_layer(found.ridges, found.lines)}", checks=found.checks)
        first = FirstLayer(
            standard=found.layer,
            layer=layer_in_oracle_units(found.layer, oracle),
            reason=reasons.first_layer(
                found.layer,
                why,
                lines=found.lines,
                length_error=found.length_error,
                doubts=found.new + found.met_once + found.unread,
            ),
            is_last=False,
        )
        return Found(why, first_layer=first, checks=found.checks)


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
