"""Planted deep networks of [fiedler, Ch. 4], with the entangled weights that only who planted them knows."""

from dataclasses import dataclass

import numpy as np

from unweave.activations import IDENTITY, TANH
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.layer_assignment import LayerRows
from unweave.networks.network import Network
from unweave.networks.planted import deep_network
from unweave.oracles.oracle import CallableOracle
from unweave.reproduce.experiment import Cell, Settings
from unweave.reproduce.fiedler.deep_labels import Architecture
from unweave.reproduce.fiedler.derivative_sources import DerivativeSource, EntrywiseDifferences, ExactDerivatives
from unweave.reproduce.fiedler.entangled import bending_layers, entangled_weights, normalised

OUTPUT_ACTIVATIONS = {"tanh": TANH, "identity": IDENTITY}
EXACT, DIFFERENCES = "exact", "differences"


@dataclass(frozen=True, eq=False)
class Teacher:
    """A planted network and the unit vectors along its entangled weights at zero.

    Args:
        network: the network.
        directions: one matrix per layer, the output layer last.
    """

    network: Network
    directions: LayerRows

    @property
    def architecture(self) -> Architecture:
        """What an identification is told."""
        network = self.network
        return Architecture(network.inputs, network.widths, network.outputs, network.activations)

    @property
    def seen(self) -> LayerRows:
        """Directions of the layers that bend, which are those that Hessians show."""
        return self.directions[: bending_layers(self.network.activations)]

    def derivatives(self, name: str | float) -> DerivativeSource:
        """Exact ones, or the central differences of [fiedler, (4.76) and (4.77)], which ask an oracle."""
        if name == EXACT:
            return ExactDerivatives(self.network)
        return EntrywiseDifferences(CallableOracle(self.network, inputs=self.network.inputs))

    def layers_of(self, found: np.ndarray) -> np.ndarray:
        """Hidden layer of the nearest true direction, up to sign: the oracle of [fiedler, Sec. 4.4] for four layers."""
        owners = np.concatenate([np.full(len(rows), layer) for layer, rows in enumerate(self.directions[:-1])])
        return owners[np.argmax(np.abs(found @ np.concatenate(self.directions[:-1]).T), axis=1)]


def teacher(inputs: int, sizes: tuple[int, ...], outputs: str, seed: int) -> Teacher:
    """Draw a network with tanh units as in [fiedler, Sec. 4.2.3 and 4.4].

    Args:
        inputs: of the network.
        sizes: neurons of all layers, the output layer last.
        outputs: activation of the output layer, `tanh` or `identity`.
        seed: of its weights; the same weights for both activations.
    """
    rng = np.random.default_rng([seed, *sizes])
    network = deep_network(rng, shape=(inputs, *sizes), output_activation=OUTPUT_ACTIVATIONS[outputs])
    return Teacher(network, tuple(normalised(rows) for rows in entangled_weights(network, np.zeros(inputs))))


def teacher_of(cell: Cell) -> Teacher:
    """The network of a cell whose settings name inputs, neurons such as `50-25-10`, and outputs."""
    settings = cell.settings
    sizes = tuple(int(part) for part in str(settings["neurons"]).split("-"))
    return teacher(int(settings["inputs"]), sizes, str(settings["outputs"]), cell.seed)


def contracted_sizes(neurons: int, *, layers: int, outputs: int, contraction: float) -> tuple[int, ...]:
    """Split neurons over layers that shrink by a factor, ``m_{l+1} = floor(c m_l)`` [fiedler, Sec. 4.2.3].

    The first width is the largest for which the layers have no more than the hidden neurons, and takes the rest of
    them: [fiedler] gives 127 and 63 for 190 neurons and the factor 1/2.

    Raises:
        InvalidInput: if a layer would be empty.
    """
    hidden = neurons - outputs

    def widths(first: int) -> list[int]:
        found = [first]
        while len(found) < layers - 1:
            found.append(int(contraction * found[-1]))
        return found

    first = max((each for each in range(1, hidden + 1) if sum(widths(each)) <= hidden), default=0)
    found = widths(first)
    if min(found) < 1:
        raise InvalidInput(f"{neurons} neurons are too few for {layers} layers that shrink by {contraction}.")
    found[0] += hidden - sum(found)
    return (*found, outputs)


def set_ups(inputs: int, shapes: tuple[str, ...], outputs: tuple[str, ...] = ("tanh", "identity")) -> list[Settings]:
    """Rows of all shapes with all output activations."""
    return [{"inputs": inputs, "neurons": shape, "outputs": name} for shape in shapes for name in outputs]
