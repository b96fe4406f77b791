"""Deep networks, layer by layer: the first layer from far away, the layers above in its coordinates.

The walk far out has given the directions of the first layer. Gradients give its lengths and biases, and with
them every pattern of its values can be asked for: what is above is a smaller network on a cube.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from unweave.activations import IDENTITY
from unweave.assembly.alignment import CLEAR_GAP, Alignment, align
from unweave.assembly.output_guesses import OutputGuess, output_guesses
from unweave.decompositions.subspace_power import SubspacePower
from unweave.exceptions import StageFailed
from unweave.identification import verdicts
from unweave.identification.candidates import Candidate, Judge, Start
from unweave.identification.run import Probe, Run
from unweave.identification.upper_layers import UpperLayers, UpperStart
from unweave.networks import Layer, Network
from unweave.oracles.peeled import PeeledOracle
from unweave.oracles.standard import StandardOracle
from unweave.outcomes import Diagnostic, at_least

# Gradients above the first layer: columns per neuron, some more, and the largest argument.
COLUMNS_PER_NEURON, MORE_POINTS, LARGEST_ARGUMENT = 4.0, 5, 1.0
SMALLEST_STEP = 1e-4


@dataclass(frozen=True)
class DeepRoute:
    """Settings of the way through the layers.

    Args:
        power: how directions are found in the span of the Hessians.
    """

    power: SubspacePower = field(default_factory=SubspacePower)
    name = "peeling of layers"

    def __call__(self, run: Run, probe: Probe, judge: Judge) -> Candidate:
        """The best network found above the first layer that the run knows.

        Raises:
            StageFailed: if the first layer can't be inverted, or nothing is found above it.
        """
        if run.first_layer is None:
            raise StageFailed("there is no first layer to peel off.")
        layer = run.first_layer.standard
        if layer.neurons > layer.inputs:
            raise StageFailed(verdicts.too_wide(layer))
        with run.stage("peeling the first layer"):
            layer, alignment = _aligned(run, probe, layer)
            run.diagnostics.append(_alignment_check(alignment))
        upper = UpperLayers(
            PeeledOracle(probe.oracle, layer),
            alignment.frame,
            _guesses(probe),
            probe.scale.noise,
            self.power,
        )
        best: Candidate | None = None
        starts = upper.starts(run.rng_power)
        while True:
            with run.stage("finding the layers above"):
                start = next(starts, None)
            if start is None:
                break
            with run.stage("refining"):
                candidate = _refined(probe, judge, layer, start)
            if best is None or candidate.certificate.rms_error < best.certificate.rms_error:
                best = candidate
            if best.explains:
                return best
        if best is None:
            raise StageFailed(verdicts.nothing_above(layer))
        return best


def _guesses(probe: Probe) -> tuple[OutputGuess, ...]:
    oracle = probe.oracle
    return output_guesses(probe.answers.values, oracle.offset, oracle.size)


def _aligned(run: Run, probe: Probe, layer: Layer) -> tuple[Layer, Alignment]:
    """The first layer with lengths and biases from gradients, where these tell."""
    oracle, peeled = probe.oracle, PeeledOracle(probe.oracle, layer)
    points = int(np.ceil(COLUMNS_PER_NEURON * layer.neurons / oracle.outputs)) + MORE_POINTS
    arguments = run.rng_walk.uniform(-LARGEST_ARGUMENT, LARGEST_ARGUMENT, (points, layer.neurons))
    step = max(SMALLEST_STEP, (2.0 * probe.scale.noise) ** (1 / 3))
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
        CLEAR_GAP,
        "the second layer is not narrower than the first, whose biases are then known only roughly",
        weak=0.0,
    )


def _refined(probe: Probe, judge: Judge, layer: Layer, start: UpperStart) -> Candidate:
    """Fit the layers above alone, then all of them, in units that the output activation allows."""
    output = replace(start.network.layers[-1], activation=start.guess.activation)
    network = Network((layer, *start.network.layers[:-1], output))
    if start.guess.activation != IDENTITY:
        judge = _in_raw_units(probe, judge)
    judge.answers.prepare(network.parameters)
    points, values = judge.answers.points, judge.answers.values
    above = judge.refine(network, points, values, floor=judge.noise, layers=range(1, len(network.layers)))
    return judge.best([Start(above.network, above.residual, start.checks)])


def _in_raw_units(probe: Probe, judge: Judge) -> Judge:
    """The same judge with answers as the oracle gives them: an output activation fixes their units."""
    oracle = probe.oracle
    outputs = np.ones(oracle.outputs)
    raw = StandardOracle(oracle.oracle, oracle.center, oracle.half_width, 0.0 * outputs, outputs)
    return replace(
        judge,
        answers=judge.answers.in_units(raw, oracle.offset, oracle.size),
        noise=judge.noise * float(np.sqrt(np.mean(oracle.size**2))),
    )
