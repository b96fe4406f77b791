"""A network as a torch module, in float64, and its numbers under the names of that module's parameters."""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import nn

from unweave.activations import Activation
from unweave.exceptions import InvalidInput
from unweave.networks.exports.names import state_of
from unweave.networks.network import Network

# Above this argument, torch takes softplus for the identity; its default is so small that nine digits are left.
LARGEST_EXPONENT = 700.0


class Elementwise(nn.Module):
    """An activation that torch has no module for."""

    functions: ClassVar[dict[str, Callable[[torch.Tensor], torch.Tensor]]] = {
        "erf": torch.erf,
        "sin": torch.sin,
        "gaussian": lambda t: torch.exp(-(t**2)),
        "quadratic": torch.square,
        "step": lambda t: (t >= 0).to(t.dtype),
    }

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Apply it to every entry."""
        return self.functions[self.name](values)

    def extra_repr(self) -> str:
        """Show its name."""
        return self.name


class WithAffinePart(nn.Module):
    """Layers, and a linear part beside them."""

    def __init__(self, layers: nn.Sequential, skip: nn.Module) -> None:
        super().__init__()
        self.layers, self.skip = layers, skip

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        """Add both."""
        return self.layers(points) + self.skip(points)


MODULES: dict[str, Callable[[], nn.Module]] = {
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "softplus": lambda: nn.Softplus(threshold=LARGEST_EXPONENT),
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "mish": nn.Mish,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "relu": nn.ReLU,
    "hard_tanh": nn.Hardtanh,
    "hard_sigmoid": nn.Hardsigmoid,
    "identity": nn.Identity,
}
FAMILIES: dict[str, Callable[[float], nn.Module]] = {
    "softplus": lambda beta: nn.Softplus(beta, threshold=LARGEST_EXPONENT),
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
}


def torch_module(network: Network) -> nn.Module:
    """Make the module of a network: linear layers and activations in turn, in float64.

    Raises:
        InvalidInput: for an activation of the user's own, which torch does not know.
    """
    parts: list[nn.Module] = []
    for layer in network.layers:
        linear = nn.utils.skip_init(nn.Linear, layer.inputs, layer.neurons, dtype=torch.float64)
        parts += [linear, _activation(layer.activation)]
    if isinstance(parts[-1], nn.Identity):
        parts.pop()
    module: nn.Module = nn.Sequential(*parts)
    if network.skip is not None:
        skip = nn.utils.skip_init(nn.Linear, network.inputs, network.outputs, bias=False, dtype=torch.float64)
        module = WithAffinePart(nn.Sequential(*parts), skip)
    module.load_state_dict({name: torch.tensor(array) for name, array in state_of(network).items()})
    return module.eval()


def _activation(activation: Activation) -> nn.Module:
    family, _, number = activation.name.partition("(")
    if number and family in FAMILIES:
        return FAMILIES[family](float(number.removesuffix(")")))
    if activation.name in MODULES:
        return MODULES[activation.name]()
    if activation.name in Elementwise.functions:
        return Elementwise(activation.name)
    raise InvalidInput(f"torch has no activation {activation}: add it to a module of your own.")
