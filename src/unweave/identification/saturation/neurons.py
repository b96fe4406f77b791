"""What one far line says: the neurons behind its jumps or kinks, and the network that neurons of several lines make."""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import PerOutput, Points, Values, Vector
from unweave.identification import reasons
from unweave.identification.candidates import ranked_fits
from unweave.identification.saturation.jumps import JumpSearch, SlabReading, is_saturating
from unweave.identification.saturation.rounded_kinks import fit_rounded_kinks, measure_rounded_kinks
from unweave.identification.walks.hyperplanes import measure_hyperplanes
from unweave.identification.walks.kinks import KinkSearch
from unweave.identification.walks.lines import Ask, Line
from unweave.networks.network import Network


@dataclass(frozen=True)
class FarNeuron:
    """A neuron ``height g(weights x + bias)`` in standard coordinates."""

    weights: Vector
    bias: float
    height: PerOutput


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


@dataclass(frozen=True)
class Reading:
    """The neurons that were met on a line.

    Args:
        events: places where something happened.
        neurons: those whose profile was clear.
        misfits: of all profiles, relative.
        activation: the one that fits most of them.
        misfit: the typical one of all profiles, clear or not.
        finds_jumps: whether the events are jumps, not kinks.
    """

    events: int
    neurons: list[FarNeuron]
    misfits: Float64[np.ndarray, "events"]
    activation: Activation
    misfit: float
    finds_jumps: bool

    @property
    def doubt(self) -> str:
        """What it means if most profiles are not clear."""
        if self.finds_jumps:
            return reasons.strange_profiles(self.events, len(self.neurons), self.misfit)
        return reasons.strange_kinks(self.events, self.misfit)


@runtime_checkable
class Reader(Protocol):
    """Walks along a line and reads the neurons that it meets."""

    def reads(self, activation: Activation) -> bool:
        """Whether its neurons look on far lines as this reader expects."""
        ...

    def __call__(
        self, ask: Ask, line: Line, *, noise: float, rounding: float, activations: tuple[Activation, ...]
    ) -> Reading:
        """Read one line."""
        ...


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
class KinkReader:
    """Activations with affine tails: affine between rounded kinks.

    Args:
        blur: angle within which a far kink counts as rounded off; chosen: 600 units to either side at the usual
            distance.
        step: of gradients on far lines, relative to the distance of the next kink; chosen: far out larger steps are
            more exact (`KinkSearch`).
        clear_corner: misfit of a rounded kink up to which its neuron is believed; chosen: a fit goes on from there.
        sure_corner: typical misfit up to which no other activation is tried; chosen.
    """

    blur: float = 3e-4
    step: float = 3e-3
    clear_corner: float = 1e-2
    sure_corner: float = 1e-4

    def reads(self, activation: Activation) -> bool:
        """Whether an activation bends from one tail to another one over some distance."""
        return activation.bend != 0.0 and activation.is_curved

    def __call__(
        self, ask: Ask, line: Line, *, noise: float, rounding: float, activations: tuple[Activation, ...]
    ) -> Reading:
        """Find the kinks on a line, their hyperplanes, and how they are rounded off."""
        settings = KinkSearch(noise, rounding, self.blur, self.step)
        walked = settings(ask, line)
        met = measure_hyperplanes(ask, walked, settings)
        corners = measure_rounded_kinks(ask, walked, met)
        fit = ranked_fits(partial(fit_rounded_kinks, corners), activations, clear_misfit=self.sure_corner)[0]
        bend, corner = fit.activation.bend, fit.activation.corner
        neurons = [
            FarNeuron(length * normal, float(length * offset) + corner, jump / (bend * abs(length)))
            for length, normal, offset, jump, misfit in zip(
                fit.signs * fit.lengths, met.normals, met.offsets, met.jumps, fit.misfits, strict=True
            )
            if misfit < self.clear_corner
        ]
        return Reading(len(walked.kinks), neurons, fit.misfits, fit.activation, fit.typical_misfit, finds_jumps=False)
