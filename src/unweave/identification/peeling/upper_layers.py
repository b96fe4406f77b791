"""Networks above a known layer: from Hessians in the coordinates of its values.

One more hidden layer is a shallow network there: its Hessians at any points span the squares of its directions. If
there are more, the squares of all entangled weights are spanned only near a base point, best where the lowest of these
layers is at its inflection, and a null space tells which direction belongs to which layer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY, TANH
from unweave.arrays import Vector, unpack
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.closed_form import closed_form_network
from unweave.identification.peeling.layer_assignment import effects_on_outputs, null_space_layers
from unweave.identification.peeling.output_guesses import OutputGuess
from unweave.identification.peeling.peeled_oracle import PeeledOracle
from unweave.identification.profile_networks import assemble, without_skip
from unweave.identification.profiles import ProfileRules, fit_profiles, neuron_profiles
from unweave.networks.network import Layer, Network
from unweave.numerics.finite_differences import HessianSample, Stencil, measure_stencil
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.numerics.subspace_power import Directions, SubspacePower
from unweave.result import Diagnostic, at_least


@dataclass(frozen=True)
class UpperStart:
    """A network, close enough to be refined.

    Args:
        network: to the arguments of the output layer: from the values of a known layer, or from the inputs.
        guess: the output activation that was assumed.
        checks: the assumptions of the way it was found.
    """

    network: Network
    guess: OutputGuess
    checks: tuple[Diagnostic, ...]


@dataclass(frozen=True, kw_only=True)
class ValueCube:
    """Where the values of a layer of tanh, which end at 1, are asked for, and how finely.

    Args:
        edge: how near to their ends; chosen: arguments are up to 2.3 there.
        spread: distance from the centre, at most, of points where the layers above may be shallow.
        radii: of the points around a base point, the smallest and the largest: five steps in between.
        steps: of the differences, the smallest, from truncation for exact answers, and the largest, for noisy ones.
        largest_move: how far a base point is moved at once, at most, in any coordinate.
        farthest_base: where it ends.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    edge: float = 0.98
    spread: float = 0.6
    radii: tuple[float, float] = (0.05, 0.3)
    steps: tuple[float, float] = (5e-3, 0.1)
    largest_move: float = 0.4
    farthest_base: float = 0.85

    def step(self, noise: float) -> float:
        """The step that balances the noise of an answer against truncation."""
        return float(np.clip((10.0 * noise) ** 0.25, *self.steps))

    def radius(self, step: float) -> float:
        """The distance of points around a base point."""
        return min(max(self.radii[0], 5 * step), self.radii[1])

    def farthest(self, step: float) -> float:
        """How far a base point may be moved, so that all that is asked around it stays inside the cube."""
        return min(self.farthest_base, self.edge - self.radius(step) - 2 * step)


@dataclass(frozen=True)
class UpperLayers:
    """Settings of the search above a known layer.

    Args:
        peeled: what is above.
        frame: orthonormal directions, in the values of the layer, that the next layer looks at.
        guesses: what the output layer may do.
        noise: of one answer.
        power: how directions are found in the span of the Hessians.
        affine_share: Hessians below this share of the gradients belong to an affine function.
        spread_surplus: Hessians per expected direction, where the layers above may be shallow.
        fewest_points: points of these Hessians at least.
        gaps: ratios of singular values at the rank: from the first on the layers above are one hidden layer, from the
            second on a base point is good enough, around which they were measured.
        recentrings: how often a base point is moved.
        cube: where the values of the layer are asked for.
        profiles: how neurons are fitted to the Hessians of one hidden layer.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    peeled: PeeledOracle
    frame: Float64[np.ndarray, "inputs rank"]
    guesses: tuple[OutputGuess, ...]
    noise: float
    power: SubspacePower
    affine_share: float = 1e-2
    spread_surplus: float = 1.3
    fewest_points: int = 8
    gaps: tuple[float, float] = (8.0, 4.0)
    recentrings: int = 3
    cube: ValueCube = field(default_factory=ValueCube)
    profiles: ProfileRules = field(default_factory=ProfileRules)

    def starts(self, rng: np.random.Generator) -> Iterator[UpperStart]:
        """Networks to refine, the likeliest first: shallow ones if there are, else deep ones."""
        spread = self._ask(self._spread_points(rng))
        samples = self._samples(spread)
        for guess, sample in samples:
            if self._is_affine(sample):
                yield self._affine(guess, sample)
                return
        spans = sorted(
            ((self._span(sample), guess, sample) for guess, sample in samples), key=lambda span: -span[0].gap
        )
        clear = [span for span in spans if span[0].gap >= self.gaps[0]]
        for subspace, guess, sample in clear:
            if (start := self._shallow(subspace, guess, sample, rng)) is not None:
                yield start
        if not clear:
            yield from self._deep_starts(rng)

    @property
    def _step(self) -> float:
        return self.cube.step(self.noise)

    @property
    def _radius(self) -> float:
        return self.cube.radius(self._step)

    def _ask(self, points: np.ndarray) -> Stencil:
        return measure_stencil(self.peeled, points, step=self._step, frame=self.frame)

    def _samples(self, stencil: Stencil) -> list[tuple[OutputGuess, HessianSample]]:
        """Derivatives under every guess that the answers allow."""
        allowed = [guess for guess in self.guesses if guess.allows(stencil.answers)]
        return [(guess, stencil.sample(guess.undo)) for guess in allowed]

    def _spread_points(self, rng: np.random.Generator) -> Float64[np.ndarray, "points inputs"]:
        rank = self.frame.shape[1]
        points = max(self.fewest_points, int(np.ceil(self.spread_surplus * (rank + 2) / self.peeled.outputs)))
        values = rng.standard_normal((points, rank)) @ self.frame.T
        spread = min(self.cube.spread, self.cube.edge - 2 * self._step)
        return values * spread / np.max(np.abs(values), axis=1, keepdims=True)

    def _span(self, sample: HessianSample, *, fewest: int = 1) -> MatrixSubspace:
        """The span of Hessians, its rank where the ratio of neighbouring singular values is largest."""
        flat = sample.hessians.reshape(sample.matrices, -1)
        values = np.linalg.svd(flat, compute_uv=False)
        ratios = values[:-1] / np.maximum(values[1:], np.finfo(float).eps * values[0])
        rank = fewest + int(np.argmax(ratios[fewest - 1 :])) if len(ratios) >= fewest else len(values)
        return span_of_hessians(flat, inputs=self.frame.shape[1], rank=rank)

    def _affine(self, guess: OutputGuess, sample: HessianSample) -> UpperStart:
        slope = np.mean(sample.gradients, axis=0) @ self.frame.T
        offset = np.mean(sample.values - sample.points @ slope.T, axis=0)
        return UpperStart(Network((Layer(slope, offset, IDENTITY),)), guess, ())

    def _shallow(
        self, subspace: MatrixSubspace, guess: OutputGuess, sample: HessianSample, rng: np.random.Generator
    ) -> UpperStart | None:
        directions = self.power(subspace, rng)
        if len(directions.atoms) == 0:
            return None
        fit = fit_profiles(neuron_profiles(sample, directions.atoms), TANH, rules=self.profiles)
        outside = np.zeros((self.peeled.outputs, self.peeled.inputs))
        network = without_skip(assemble(sample, directions.atoms, fit, outside=outside))
        return UpperStart(network, guess, _checks(subspace, directions, self.gaps[1]))

    def _deep_starts(self, rng: np.random.Generator) -> Iterator[UpperStart]:
        """Entangled weights at a base point, which is moved until their span is clear."""
        base = np.zeros(self.peeled.inputs)
        best: tuple[MatrixSubspace, OutputGuess, HessianSample] | None = None
        for attempt in count():
            around = self._radius * np.vstack([np.zeros(len(base)), self.frame.T])
            stencil = self._ask(base + around)
            for guess, sample in self._samples(stencil):
                subspace = self._span(sample, fewest=self.frame.shape[1])
                if best is None or subspace.gap > best[0].gap:
                    best = subspace, guess, sample
            if best is None or best[0].gap >= self.gaps[1] or attempt == self.recentrings:
                break
            base = self._recentred(base, stencil.sample(best[1].undo))
        if best is not None and (start := self._deep(*best, rng)) is not None:
            yield start

    def _deep(
        self, subspace: MatrixSubspace, guess: OutputGuess, sample: HessianSample, rng: np.random.Generator
    ) -> UpperStart | None:
        """Directions, their layers, and closed forms for their lengths and shifts."""
        directions = self.power(subspace, rng)
        atoms, gradients = directions.atoms, sample.gradients[0]
        if len(atoms) == 0:
            return None
        effects, series = effects_on_outputs(atoms, sample.hessians, None)
        try:
            layers = null_space_layers(atoms, effects, gradients, rng=rng)
            groups = [layers.labels == layer for layer in range(layers.layers)]
            model = closed_form_network(
                (*layers.groups(atoms), gradients / np.linalg.norm(gradients, axis=1, keepdims=True)),
                (*[TANH] * layers.layers, IDENTITY),
                effects=tuple(effects[group] for group in groups),
                series=tuple(series[group] for group in groups),
                gradients=gradients,
                value=sample.values[0],
                points=sample.points @ self.frame,
                center=sample.points[0] @ self.frame,
            )
        except InvalidInput:
            # Too few outputs to tell the layers apart, or layers that widen.
            return None
        network = model.network()
        lowest = network.layers[0]
        # Along the frame only: what the base point has outside of it belongs to no neuron.
        lifted = replace(lowest, weights=lowest.weights @ self.frame.T)
        checks = (
            *_checks(subspace, directions, self.gaps[1]),
            at_least("gap between the layers above", layers.gap, 10.0, "layers may be mixed up", weak=2.0),
        )
        return UpperStart(Network((lifted, *network.layers[1:])), guess, checks)

    def _recentred(self, base: Vector, sample: HessianSample) -> Vector:
        """Move the base point to where the lowest layer bends less: a Gauss-Newton step on part of the Hessians.

        Where that layer is at its inflection, gradients and Hessians lie in the row space of the layer after it.
        What lies outside of the larger half of their directions is driven to zero; the rest is left to upper layers.
        """
        rank = self.frame.shape[1]
        hessians = unpack(sample.hessians, rank)
        rates = (hessians[1:] - hessians[0]) / self._radius
        gradients = sample.gradients[0] / np.linalg.norm(sample.gradients[0])
        left = np.linalg.svd(np.hstack([gradients.T, *hessians[0]]))[0]
        outside = left[:, rank // 2 :]
        residual = np.einsum("ia,oij->aoj", outside, hessians[0]).ravel()
        jacobian = np.einsum("ia,voij->aojv", outside, rates).reshape(len(residual), -1)
        move = -np.linalg.lstsq(jacobian, residual, rcond=None)[0] @ self.frame.T
        move *= min(1.0, self.cube.largest_move / float(np.max(np.abs(move))))
        moved = base + move
        return moved * min(1.0, self.cube.farthest(self._step) / float(np.max(np.abs(moved))))

    def _is_affine(self, sample: HessianSample) -> bool:
        return bool(np.linalg.norm(sample.hessians) < self.affine_share * np.linalg.norm(sample.gradients))


def _checks(subspace: MatrixSubspace, directions: Directions, good_gap: float) -> tuple[Diagnostic, ...]:
    return (
        at_least(
            "gap of the singular values above the first layer",
            subspace.gap,
            good_gap,
            "the Hessians do not show how many neurons there are: more outputs, or a better base point, are needed",
            weak=1.1,
        ),
        at_least(
            "share of directions found above the first layer",
            len(directions.atoms) / max(subspace.rank, 1),
            1.0,
            "neurons are missing in the layers above",
        ),
    )
