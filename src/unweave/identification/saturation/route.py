"""Neurons from far away: for activations with constant or affine tails, where the domain has no end.

On a line far from the centre every neuron is in its tails but in a thin slab around its hyperplane, and
the slabs are met one by one. What a line could not resolve is looked for on the next one, in the
answers minus what is known, until a line shows nothing new.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Points, Values
from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.refiner import Candidate, Judge, Start
from unweave.identification.saturation.first_layer import find_first_layer
from unweave.identification.saturation.neurons import FarNeuron, merged, network_of, with_affine_part
from unweave.identification.saturation.readers import JumpReader, KinkReader, Reader, Reading
from unweave.identification.saturation.tails import FarBehaviour, FarLook
from unweave.identification.session import FirstLayer, Probe, Run
from unweave.identification.walks.lines import far_line
from unweave.networks.network import Network
from unweave.networks.symmetries import base_of
from unweave.result import Diagnostic, at_least, at_most

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
class FarRoute:
    """Settings of the walk along far lines.

    Args:
        far: where and how the function continues.
        lines: the largest number of lines.
    """

    far: FarLook
    lines: int = 10
    name = "saturation walk"

    def suits(self, activation: Activation | None) -> bool:
        """Whether an activation that is given continues as the function does."""
        return activation is None or base_of(activation) in self._reader.known

    @property
    def _reader(self) -> Reader:
        return JumpReader() if self.far.behaviour is FarBehaviour.JUMPS else KinkReader()

    def __call__(self, run: Run, probe: Probe, judge: Judge) -> Candidate:
        """The best network found; of a network that is not shallow the run is told the first layer.

        Raises:
            StageFailed: if nothing happens far out, or most of it is not what a single neuron does.
        """
        with run.stage("walking far lines"):
            try:
                start = self._walk(run, probe)
            except NotShallow as failure:
                self._read_first_layer(run, probe, str(failure))
                raise
        with run.stage("refining"):
            return judge.best([start])

    def _walk(self, run: Run, probe: Probe) -> Start:
        oracle, answers = probe.oracle, probe.answers
        reader = self._reader
        activations = reader.known if run.activation is None else (base_of(run.activation),)
        slope = self._slope(run, probe)
        noise = first_noise = self._noise(probe)
        neurons: list[FarNeuron] = []
        misfits: list[float] = []
        model, lines, reading = network_of([], activations[0], slope=slope), 0, None
        for lines in range(1, self.lines + 1):

            def ask(points: Points, model: Network = model) -> Values:
                return oracle.query(points) - model(points)

            line = far_line(oracle.inputs, run.rng_walk, radius=self._radius, outer=self._outer)
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
        return self.far.is_sloped and self.far.behaviour is FarBehaviour.JUMPS

    @property
    def _outer(self) -> float:
        """Where lines end: earlier if an affine part was subtracted, whose error grows along the line."""
        return OUTER_SLOPED if self._has_affine_part else OUTER

    @property
    def _radius(self) -> float:
        """How far away lines are: nearer if an affine part hides jumps behind its rounding."""
        return NEARER * self.far.radius if self._has_affine_part else self.far.radius

    def _read_first_layer(self, run: Run, probe: Probe, why: str) -> None:
        """What can be said of a network whose upper layers bend what its first layer says."""
        layer, check = find_first_layer(run, probe, radius=self._radius, noise=self._noise(probe))
        run.diagnostics.append(check)
        run.first_layer = FirstLayer(
            standard=layer,
            layer=reasons.layer_in_oracle_units(layer, probe.oracle),
            reason=reasons.first_layer(layer.neurons, why, is_complete=check.value == 0),
        )

    def _noise(self, probe: Probe) -> float:
        """Expected error of answers far out, with that of a slope which was subtracted."""
        if self.far.behaviour is FarBehaviour.KINKS:
            # Growing answers carry their rounding with them; the walk knows that.
            return probe.scale.noise
        growth = NEARER / (SLOPE_STEP * self._outer) if self._has_affine_part else 1.0
        return probe.scale.noise + probe.rounding * self.far.size * growth

    def _slope(self, run: Run, probe: Probe) -> Float64[np.ndarray, "outputs inputs"]:
        """The slope of an affine part, on a plateau."""
        inputs = probe.oracle.inputs
        if not self._has_affine_part:
            return np.zeros((probe.oracle.outputs, inputs))
        line = far_line(inputs, run.rng_walk, radius=self._radius, outer=self._outer)
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
