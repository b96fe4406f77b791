"""What one far line says: the neurons behind its jumps, or behind its kinks."""

from collections import Counter
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from unweave.activations import GELU, SILU, SOFTPLUS, Activation
from unweave.identification import reasons
from unweave.identification.saturation.jumps import SATURATING, TAIL, JumpWalk
from unweave.identification.saturation.neurons import FarNeuron
from unweave.identification.saturation.rounded_kinks import measure_corners
from unweave.identification.saturation.rounded_neurons import fit_corners
from unweave.identification.saturation.slabs import measure_slabs
from unweave.identification.walks.hyperplanes import measure_hyperplanes
from unweave.identification.walks.kinks import KinkWalk
from unweave.identification.walks.lines import Line
from unweave.identification.walks.searches import Ask

AFFINE_TAILED = (SOFTPLUS, GELU, SILU)
# Angle within which a far kink counts as rounded off.
BLUR = 3e-4
# Steps of gradients on far lines, relative to the distance of the next kink.
FAR_STEP = 3e-3
# Misfit of a rounded kink up to which its neuron is believed.
CLEAR_CORNER = 1e-2
# Misfit of a jump up to which its neuron is believed: in any case, and in units of the typical one.
SMALL_MISFIT, TYPICAL_MISFITS = 1e-7, 100.0
# Weights along the line and rate of the profile must agree, relatively.
LARGEST_MISMATCH = 1e-3


@dataclass(frozen=True)
class Reading:
    """The neurons that were met on a line.

    Args:
        events: places where something happened.
        neurons: those whose profile was clear.
        misfits: of all profiles, relative.
        activation: the one that fits most of them.
        doubt: what it means if most profiles are not clear.
        finds_jumps: whether the events are jumps, not kinks.
    """

    events: int
    neurons: list[FarNeuron]
    misfits: Float64[np.ndarray, "events"]
    activation: Activation
    doubt: str
    finds_jumps: bool


@runtime_checkable
class Reader(Protocol):
    """Walks along a line and reads the neurons that it meets."""

    known: tuple[Activation, ...]

    def __call__(
        self, ask: Ask, line: Line, *, noise: float, rounding: float, activations: tuple[Activation, ...]
    ) -> Reading:
        """Read one line."""
        ...


class JumpReader:
    """Saturating activations: constant between jumps."""

    known = tuple(SATURATING)

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
        jumps = JumpWalk(noise, activations)(ask, line)
        misfits = np.array([jump.misfit for jump in jumps])
        votes = Counter(jump.activation for jump in jumps if jump.misfit < TAIL)
        activation = votes.most_common(1)[0][0] if votes else activations[0]
        # Slabs that overlap a little fit a little worse than the others: another line shows them apart.
        limit = min(TAIL, max(SMALL_MISFIT, TYPICAL_MISFITS * float(np.median(misfits)))) if len(jumps) else TAIL
        clear = [jump for jump in jumps if jump.misfit < limit and jump.activation == activation]
        neurons = [
            FarNeuron(slab.weights, slab.bias, slab.height)
            for slab in measure_slabs(ask, line, clear)
            if slab.mismatch < LARGEST_MISMATCH
        ]
        doubt = reasons.strange_profiles(len(jumps), len(clear), float(np.median(misfits)) if len(jumps) else 0.0)
        return Reading(len(jumps), neurons, misfits, activation, doubt, finds_jumps=True)


class KinkReader:
    """Activations with affine tails: affine between rounded kinks."""

    known = AFFINE_TAILED

    def __call__(
        self, ask: Ask, line: Line, *, noise: float, rounding: float, activations: tuple[Activation, ...]
    ) -> Reading:
        """Find the kinks on a line, their hyperplanes, and how they are rounded off."""
        settings = KinkWalk(noise, rounding, BLUR, FAR_STEP)
        walked = settings(ask, line)
        met = measure_hyperplanes(ask, walked, settings)
        corners = measure_corners(ask, walked, met)
        fit = min((fit_corners(corners, activation) for activation in activations), key=lambda f: f.typical_misfit)
        neurons = [
            FarNeuron(length * normal, float(length * offset), jump / length)
            for length, normal, offset, jump, misfit in zip(
                fit.lengths, met.normals, met.offsets, met.jumps, fit.misfits, strict=True
            )
            if misfit < CLEAR_CORNER
        ]
        doubt = reasons.strange_corners(len(walked.kinks), fit.typical_misfit)
        return Reading(len(walked.kinks), neurons, fit.misfits, fit.activation, doubt, finds_jumps=False)
