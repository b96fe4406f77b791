"""Ways to tell the layers of entangled weights apart, for the reference pipeline of deep networks."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import IDENTITY, Activation
from unweave.arrays import Atoms, PackedHessians, PerNeuron, Points, Vector, pack_squares
from unweave.exceptions import InvalidInput, StageFailed
from unweave.identification.peeling.layer_assignment import LayerAssignment, effects_on_outputs, null_space_layers
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.reproduce.fiedler.derivative_sources import DerivativeSource
from unweave.reproduce.fiedler.direction_clusters import SAME_DIRECTION, leader_clusters, without_outputs
from unweave.reproduce.fiedler.entangled import bending_layers, normalised
from unweave.reproduce.fiedler.power_ends import PowerEnds


@dataclass(frozen=True)
class Architecture:
    """What the reference pipeline is told about the network.

    Args:
        inputs: number of inputs.
        widths: neurons of every hidden layer.
        outputs: neurons of the output layer.
        activations: one per layer, the output layer last.

    Raises:
        InvalidInput: if there is no hidden layer, a width is not positive, or activations do not fit.
    """

    inputs: int
    widths: tuple[int, ...]
    outputs: int
    activations: tuple[Activation, ...]

    def __post_init__(self) -> None:
        sizes = (self.inputs, *self.widths, self.outputs)
        if not self.widths or min(sizes) < 1 or len(self.activations) != len(self.widths) + 1:
            raise InvalidInput(
                f"an architecture needs positive sizes, a hidden layer, and one activation per layer: got sizes "
                f"{sizes} and {len(self.activations)} activations."
            )

    @property
    def neurons(self) -> int:
        """All neurons, those of the output layer included (m)."""
        return sum(self.widths) + self.outputs

    @property
    def hidden(self) -> int:
        """Neurons of all hidden layers."""
        return sum(self.widths)

    @property
    def visible(self) -> int:
        """Neurons that bend, which is the dimension of the span of Hessians (m*)."""
        return self.hidden + (self.outputs if bending_layers(self.activations) > len(self.widths) else 0)

    @property
    def is_pyramid(self) -> bool:
        """Whether no hidden layer is wider than what comes before it [fiedler, DNM4]."""
        sizes = (self.inputs, *self.widths)
        return all(before >= after for before, after in zip(sizes, self.widths, strict=False))


@dataclass(frozen=True, eq=False)
class EntangledRecovery:
    """What the first stage returns: entangled weights at the base point, in no order, and how they were found.

    Args:
        center: the base point.
        points: where Hessians were taken, around it.
        hessians: of all outputs, packed.
        subspace: their span.
        ends: of the subspace power method in it.
        gradients: of all outputs at the base point.
    """

    center: Vector
    points: Points
    hessians: PackedHessians
    subspace: MatrixSubspace
    ends: PowerEnds
    gradients: Float64[np.ndarray, "outputs inputs"]

    @property
    def output_directions(self) -> Float64[np.ndarray, "outputs inputs"]:
        """Entangled weights of the output layer up to positive factors, in order."""
        return normalised(self.gradients)

    def distinct_ends(self) -> int:
        """Number of different directions among the ends that are not those of outputs."""
        apart = without_outputs(self.ends.vectors, self.output_directions)
        return len(leader_clusters(apart, np.ones(len(apart)), distance=SAME_DIRECTION).centers)


class Labelling(ABC):
    """A way to find the hidden layer of every direction."""

    @abstractmethod
    def __call__(
        self,
        directions: Atoms,
        recovery: EntangledRecovery,
        derivatives: DerivativeSource,
        architecture: Architecture,
        rng: np.random.Generator,
    ) -> LayerAssignment:
        """Labels of `directions`, which are all hidden entangled weights at the base point."""


def far_scores(directions: Atoms, far_basis: Float64[np.ndarray, "packed rank"]) -> PerNeuron:
    """``||P(v v^T)||_F`` of unit vectors, P the projection on a span with this orthonormal basis."""
    return np.linalg.norm(pack_squares(directions) @ far_basis, axis=1)


def first_layer_by_scores(scores: PerNeuron, *, neurons: int) -> LayerAssignment:
    """The `neurons` best scores make the first layer, the others the second [fiedler, Alg. 4.2, lines 11 to 13].

    For three layers this is the whole assignment; in deeper networks label 1 means any later hidden layer.

    Raises:
        InvalidInput: if there are fewer directions than first-layer neurons.
    """
    if not 0 < neurons <= len(scores):
        raise InvalidInput(f"a first layer of {neurons} needs as many directions, got {len(scores)}.")
    order = np.argsort(-scores, kind="stable")
    labels = np.ones(len(scores), dtype=np.int64)
    labels[order[:neurons]] = 0
    ordered = scores[order]
    following = ordered[neurons] if neurons < len(scores) else 0.0
    layers = 1 + (neurons < len(scores))
    return LayerAssignment(labels, float(ordered[neurons - 1] - following), scores, ordered, layers)


@dataclass(frozen=True)
class FarHessianLabels(Labelling):
    """First layer by Hessians at far points [fiedler, Alg. 4.2]; complete for two hidden layers.

    [fiedler, Sec. 4.4] takes the radius 1000 and advises to change it where the count of fitting directions is wrong;
    here the radii are tried in order until the scores separate.

    Args:
        radii: of the spheres that the points are drawn from.
        hessians_per_neuron: points per neuron of the whole network.
        accepted: smallest score of a first-layer direction, and smallest difference of scores at the border of the
            first layer.
    """

    radii: tuple[float, ...] = (1000.0, 300.0, 100.0, 30.0)
    hessians_per_neuron: int = 4
    accepted: tuple[float, float] = (0.9, 0.2)

    def __call__(
        self,
        directions: Atoms,
        recovery: EntangledRecovery,  # noqa: ARG002
        derivatives: DerivativeSource,
        architecture: Architecture,
        rng: np.random.Generator,
    ) -> LayerAssignment:
        """Try the radii until the scores separate, or return the largest gap."""
        first = architecture.widths[0]
        if len(architecture.widths) > 2:
            raise StageFailed("far Hessians tell the first layer only: three or more hidden layers stay unsorted.")
        best = None
        for radius in self.radii:
            found = self._at(radius, directions, derivatives, architecture, rng)
            best = found if best is None or found.gap > best.gap else best
            score, gap = self.accepted
            if found.gap >= gap and found.spectrum[first - 1] >= score:
                return found
        if best is None:
            raise InvalidInput("FarHessianLabels needs at least one radius.")
        return best

    def _at(
        self,
        radius: float,
        directions: Atoms,
        derivatives: DerivativeSource,
        architecture: Architecture,
        rng: np.random.Generator,
    ) -> LayerAssignment:
        points = rng.standard_normal((self.hessians_per_neuron * architecture.neurons, architecture.inputs))
        points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
        hessians = derivatives.hessians(points)
        first = architecture.widths[0]
        far = span_of_hessians(hessians.reshape(-1, hessians.shape[2]), inputs=architecture.inputs, rank=first)
        return first_layer_by_scores(far_scores(directions, far.basis), neurons=first)


@dataclass(frozen=True)
class NullSpaceLabels(Labelling):
    """All hidden layers at once from the null space of gradients and effects; no queries; not in [fiedler].

    Args:
        counts_layers: find the number of hidden layers from the singular values instead of taking it as given.
    """

    counts_layers: bool = False

    def __call__(
        self,
        directions: Atoms,
        recovery: EntangledRecovery,
        derivatives: DerivativeSource,  # noqa: ARG002
        architecture: Architecture,
        rng: np.random.Generator,
    ) -> LayerAssignment:
        """Group by lines in the null space, order by nesting."""
        if recovery.gradients.size <= len(directions):
            raise StageFailed(
                f"the gradients have {recovery.gradients.size} numbers, too few for {len(directions)} directions: "
                "layers can't be told apart with so few outputs."
            )
        has_linear_outputs = architecture.activations[-1] == IDENTITY
        outputs = None if has_linear_outputs else recovery.output_directions
        effects, _ = effects_on_outputs(directions, recovery.hessians, outputs)
        layers = None if self.counts_layers else len(architecture.widths)
        return null_space_layers(directions, effects, recovery.gradients, rng=rng, layers=layers)


@dataclass(frozen=True)
class GivenLabels(Labelling):
    """Labels from outside, as [fiedler, Sec. 4.4] does for four layers: for tests and benchmarks that know them."""

    labels_of: Callable[[Atoms], np.ndarray]

    def __call__(
        self,
        directions: Atoms,
        recovery: EntangledRecovery,  # noqa: ARG002
        derivatives: DerivativeSource,  # noqa: ARG002
        architecture: Architecture,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> LayerAssignment:
        """Ask the given function."""
        labels = np.asarray(self.labels_of(directions), dtype=np.int64)
        layers = len(architecture.widths)
        return LayerAssignment(labels, np.inf, np.ones(len(directions)), np.ones(layers), layers)
