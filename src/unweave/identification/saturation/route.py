"""What a function does far from the centre: whether it saturates, becomes piecewise affine, or neither."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation, base_of
from unweave.arrays import Points, Values
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.candidates import simplest_activations
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.saturation.first_layer import find_first_layer
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
from unweave.identification.session import FirstLayer, Probe, Session
from unweave.identification.walks.lines import far_line
from unweave.networks.network import Network
from unweave.oracles.views import layer_in_oracle_units
from unweave.result import Diagnostic, at_least, at_most

RAYS = 4
FACTORS = np.array([1.0, 1.5, 2.0])
MARGIN = 30.0
# Half-widths of the domain, and the rounding error of arguments that limits them where models
# calculate in single precision.
FARTHEST = 2e6
ARGUMENT_ERROR = 6e-4


class TailBehaviour(Enum):
    """How a function continues along rays."""

    JUMPS = "constant, up to an affine part, between jumps"
    KINKS = "affine between kinks"
    NEITHER = "neither constant nor affine"


@dataclass(frozen=True)
class Tails:
    """What was seen on far rays.

    Args:
        behaviour: how the function continues.
        radius: where it was seen.
        is_sloped: whether it grows.
        size: the largest answer, with what was subtracted from it to centre the answers.
    """

    behaviour: TailBehaviour
    radius: float
    is_sloped: bool
    size: float


def far_radius(probe: Probe) -> float:
    """Far enough for thin slabs, near enough for the arguments of neurons to keep some digits."""
    return float(min(FARTHEST, ARGUMENT_ERROR / probe.oracle.oracle.ledger.answer_digits))


def measure_tails(probe: Probe, rng: np.random.Generator) -> Tails:
    """Ask along a few rays and their opposites, 6 queries each.

    Along a ray a saturated function is constant and one with affine tails is affine. Their even parts tell an
    affine part, which has none, from kinks, whose even part grows with the distance.
    """
    oracle, radius = probe.oracle, far_radius(probe)
    directions = rng.standard_normal((RAYS, oracle.inputs))
    directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
    points = np.concatenate([directions, -directions])[:, None] * FACTORS[:, None]
    values = oracle.query(points.reshape(-1, oracle.inputs)).reshape(2 * RAYS, len(FACTORS), -1)
    size = float(np.max(np.abs(oracle.offset / oracle.size)) + np.max(np.abs(values)))
    error = MARGIN * (probe.scale.noise + probe.rounding * size)
    # Medians, because with many neurons some ray passes through a slab.
    bend = np.median(np.max(np.abs(values[:, 0] - 2 * values[:, 1] + values[:, 2]), axis=1))
    slope = np.median(np.max(np.abs(values[:, 2] - values[:, 0]), axis=1))
    even = values[:RAYS] + values[RAYS:]
    growth = np.median(np.max(np.abs(even[:, 2] - even[:, 0]), axis=1))
    if bend > error:
        return Tails(TailBehaviour.NEITHER, radius, False, size)
    if growth > error:
        return Tails(TailBehaviour.KINKS, radius, True, size)
    return Tails(TailBehaviour.JUMPS, radius, bool(slope > error), size)


# Share of the events on the first line that must have the profile of a single neuron.
SHALLOW_SHARE = 0.5
# Misfit, in units of the noise, above which it is the profile that is strange and not the noise.
STRANGE_NOISE = 1e3
# What known neurons leave on the next line: relative to the largest of them, and in units of the noise.
LEFTOVER, LEFTOVER_NOISE = 1e-6, 100.0
# Step of the differences that measure the slope of an affine part, relative to the radius.
SLOPE_STEP = 1e-3
# Angle at which far lines end, before their last direction.
OUTER, OUTER_SLOPED = 1e-3, 0.1
# Distance of lines where there is an affine part, relative to the usual one.
NEARER = 0.01


class NotShallow(StageFailed):
    """The jumps far out are clear, and are not those of single neurons."""


@dataclass(frozen=True)
class SaturationWalk:
    """Settings of the walk along far lines.

    Args:
        far: where and how the function continues.
        lines: the largest number of lines.
    """

    far: Tails
    lines: int = 10
    name = "saturation walk"

    def suits(self, activation: Activation | None) -> bool:
        """Whether an activation that is given continues as the function does."""
        return activation is None or self._reader.reads(base_of(activation))

    @property
    def _reader(self) -> Reader:
        return JumpReader() if self.far.behaviour is TailBehaviour.JUMPS else KinkReader()

    def __call__(self, session: Session, probe: Probe, refiner: Refiner) -> Candidate:
        """The best network found; of a network that is not shallow the run is told the first layer.

        Raises:
            StageFailed: if nothing happens far out, or most of it is not what a single neuron does.
        """
        with session.stage("walking far lines"):
            try:
                start = self._walk(session, probe)
            except NotShallow as failure:
                self._read_first_layer(session, probe, str(failure))
                raise
        with session.stage("refining"):
            return refiner.best([start])

    def _walk(self, session: Session, probe: Probe) -> Start:
        oracle, answers = probe.oracle, probe.answers
        reader = self._reader
        given = session.activation
        activations = simplest_activations(reader.reads) if given is None else (base_of(given),)
        slope = self._slope(session, probe)
        noise = first_noise = self._noise(probe)
        neurons: list[FarNeuron] = []
        misfits: list[float] = []
        model, lines, reading = network_of([], activations[0], slope=slope), 0, None
        for lines in range(1, self.lines + 1):

            def ask(points: Points, model: Network = model) -> Values:
                return oracle.query(points) - model(points)

            line = far_line(oracle.inputs, session.rng_walk, radius=self._radius, outer=self._outer)
            reading = reader(ask, line, noise=noise, rounding=probe.rounding, activations=activations)
            if lines == 1:
                _check(reading, noise)
            elif reading.events == 0:
                break
            activations = (reading.activation,)
            misfits += list(reading.misfits)
            neurons = merged(neurons, reading.neurons)
            model = network_of(neurons, reading.activation, slope=slope)
            leftover = LEFTOVER * max((float(np.max(np.abs(neuron.height))) for neuron in neurons), default=0.0)
            noise = max(LEFTOVER_NOISE * first_noise, leftover)
        answers.stretch(model)
        answers.excite(model)
        model = with_affine_part(model, answers.points, answers.values)
        misfit = float(np.median(misfits))
        return Start(model, misfit, tuple(_checks(misfit, lines, reading.events if reading else 0)))

    @property
    def _has_affine_part(self) -> bool:
        return self.far.is_sloped and self.far.behaviour is TailBehaviour.JUMPS

    @property
    def _outer(self) -> float:
        """Where lines end: earlier if an affine part was subtracted, whose error grows along the line."""
        return OUTER_SLOPED if self._has_affine_part else OUTER

    @property
    def _radius(self) -> float:
        """How far away lines are: nearer if an affine part hides jumps behind its rounding."""
        return NEARER * self.far.radius if self._has_affine_part else self.far.radius

    def _read_first_layer(self, session: Session, probe: Probe, why: str) -> None:
        """What can be said of a network whose upper layers bend what its first layer says."""
        layer, check = find_first_layer(session, probe, radius=self._radius, noise=self._noise(probe))
        session.diagnostics.append(check)
        session.first_layer = FirstLayer(
            standard=layer,
            layer=layer_in_oracle_units(layer, probe.oracle),
            reason=reasons.first_layer(layer.neurons, why, is_complete=check.value == 0),
        )

    def _noise(self, probe: Probe) -> float:
        """Expected error of answers far out, with that of a slope which was subtracted."""
        if self.far.behaviour is TailBehaviour.KINKS:
            # Growing answers carry their rounding with them; the walk knows that.
            return probe.scale.noise
        growth = NEARER / (SLOPE_STEP * self._outer) if self._has_affine_part else 1.0
        return probe.scale.noise + probe.rounding * self.far.size * growth

    def _slope(self, session: Session, probe: Probe) -> Float64[np.ndarray, "outputs inputs"]:
        """The slope of an affine part, on a plateau."""
        inputs = probe.oracle.inputs
        if not self._has_affine_part:
            return np.zeros((probe.oracle.outputs, inputs))
        line = far_line(inputs, session.rng_walk, radius=self._radius, outer=self._outer)
        step = SLOPE_STEP * self._radius
        values = probe.oracle.query(line.base + step * np.vstack([np.zeros(inputs), np.eye(inputs)]))
        return (values[1:] - values[0]).T / step


def _check(reading: Reading, noise: float) -> None:
    if reading.events == 0:
        raise StageFailed(reasons.no_slabs())
    if len(reading.neurons) >= SHALLOW_SHARE * reading.events:
        return
    if reading.finds_jumps and np.median(reading.misfits) > STRANGE_NOISE * noise:
        raise NotShallow(reading.doubt)
    raise StageFailed(reading.doubt)


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
