"""Weights of the neurons behind crossings, from answers beside the chord.

Moved along an axis, a neuron's argument changes by its weight times the step. In the slab of one neuron the others
change, too, but more slowly: they count as a slope that is the same all through the slab, if they were not read
themselves.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, PerNeuron
from unweave.identification.poles.chords import Chord
from unweave.identification.poles.crossings import Crossings
from unweave.identification.walks.lines import Ask


@dataclass(frozen=True, eq=False)
class SlabNeurons:
    """Neurons ``heights tanh(weights x + biases)``.

    Args:
        weights: one row per neuron.
        biases: one per neuron.
        heights: output weights.
        mismatches: relative difference between the weights along the chord and the rates that were read from poles:
            how far the weights are off, since nothing else ties the two together.
    """

    weights: Atoms
    biases: PerNeuron
    heights: Float64[np.ndarray, "neurons outputs"]
    mismatches: PerNeuron


@dataclass(frozen=True, kw_only=True)
class SlabSteps:
    """Settings of the steps beside a chord.

    Args:
        arguments: of a neuron at the places on the chord that steps begin from: in the middle of the slab its slope is
            five times that at the sides, and the slope of all others is not.
        step: length of a step, in units of the slab's width along the chord; chosen: arguments change by less than one
            unless the chord runs along the slab.
        seen: share of the largest change of answers at a place from which on a neuron counts there.
        rounds: of Gauss-Newton, which the small steps end in two or three.
        largest_mismatch: of weights and rates, relative, up to which a neuron is believed: a fit goes on from there.
    """

    arguments: tuple[float, ...] = (-1.5, 0.0, 1.5)
    step: float = 0.05
    seen: float = 1e-2
    rounds: int = 6
    largest_mismatch: float = 1e-2

    def __call__(self, ask: Ask, chord: Chord, crossings: Crossings) -> SlabNeurons:
        """Read the weights of all crossings at once: three queries per neuron and input, and three per neuron.

        A function of one input needs none.
        """
        inputs = len(chord.middle)
        if inputs == 1:
            # The only axis runs along the chord.
            weights = (crossings.rates / chord.half)[:, None]
            shifts = crossings.shifts - weights @ chord.middle
            return SlabNeurons(weights, shifts, crossings.heights, np.zeros(len(crossings)))
        positions, owners = self._places(crossings)
        places = chord.points(positions)
        # Inside a box one of the two directions of every axis is.
        steps = self._lengths(crossings, positions)[:, None] * np.where(places > 0.0, -1.0, 1.0)
        moved = places[:, None] + steps[:, :, None] * np.eye(inputs)
        points = np.concatenate([places, moved.reshape(-1, inputs)])
        values = ask(points)
        before, after = np.split(values, [len(places)])
        after = after.reshape(len(places), inputs, -1)
        # What is added is what the rounded points differ by.
        steps = np.einsum("pii->pi", moved) - places
        weights = np.stack(
            [
                self._weights(crossings, positions, owners, steps[:, axis], after[:, axis] - before)
                for axis in range(inputs)
            ],
            axis=1,
        )
        along = weights @ chord.half
        mismatches = np.abs(along - crossings.rates) / crossings.rates
        return SlabNeurons(weights, crossings.shifts - weights @ chord.middle, crossings.heights, mismatches)

    def _places(
        self, crossings: Crossings
    ) -> tuple[Float64[np.ndarray, "places"], Float64[np.ndarray, "places neurons"]]:
        """Give positions on the chord, and which neuron each belongs to (one column per neuron)."""
        positions = (np.array(self.arguments) - crossings.shifts[:, None]) / crossings.rates[:, None]
        owners = np.repeat(np.eye(len(crossings)), len(self.arguments), axis=0)
        inside = np.abs(positions.ravel()) <= 1.0
        return positions.ravel()[inside], owners[inside]

    def _lengths(self, crossings: Crossings, positions: Float64[np.ndarray, "places"]) -> Float64[np.ndarray, "places"]:
        """Give steps that suit the steepest of the neurons that count at a place."""
        slopes = 1.0 / np.cosh(np.clip(crossings.arguments(positions), -300.0, 300.0)) ** 2
        changes = slopes * np.max(np.abs(crossings.heights), axis=1) * crossings.rates
        counts = changes >= self.seen * np.max(changes, axis=1, keepdims=True)
        return self.step / np.max(np.where(counts, crossings.rates, 0.0), axis=1)

    def _weights(
        self,
        crossings: Crossings,
        positions: Float64[np.ndarray, "places"],
        owners: Float64[np.ndarray, "places neurons"],
        steps: Float64[np.ndarray, "places"],
        changes: Float64[np.ndarray, "places outputs"],
    ) -> PerNeuron:
        """Solve for the weights along one axis, and for a slope per slab that all others have together."""
        neurons, outputs = crossings.heights.shape
        start = crossings.arguments(positions)
        # One slope per slab and output: the same for all of its places.
        slopes = np.einsum("pn,qo->pqno", steps[:, None] * owners, np.eye(outputs)).reshape(-1, neurons * outputs)
        unknown = np.zeros(neurons + neurons * outputs)
        for _ in range(self.rounds):
            weights, others = np.split(unknown, [neurons])
            moved = np.tanh(start + steps[:, None] * weights)
            residuals = changes - (moved - np.tanh(start)) @ crossings.heights
            columns = ((1.0 - moved**2) * steps[:, None])[:, None, :] * crossings.heights.T
            columns = np.hstack([columns.reshape(-1, neurons), slopes])
            scales = np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
            step = np.linalg.lstsq(columns / scales, residuals.ravel() - slopes @ others, rcond=1e-12)[0] / scales
            # An argument that changes by more leaves the slab.
            longest = 1.0 / np.max(np.abs(steps))
            unknown = unknown + np.concatenate([np.clip(step[:neurons], -longest, longest), step[neurons:]])
        return unknown[:neurons]
