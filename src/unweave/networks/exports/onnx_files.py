"""A network as an ONNX model in double precision: layers as matrix products, activations as standard operators."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unweave.activations import Activation
from unweave.activations.table import SELU_ALPHA, SELU_SCALE
from unweave.exceptions import InvalidInput
from unweave.extras import need
from unweave.networks.network import Network

if TYPE_CHECKING:
    import onnx

# The first operator set with all that is used here, read by every onnxruntime since 1.14.
OPERATORS = 17


@dataclass
class _Graph:
    """Nodes and constants of a graph, named as they come."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def __call__(self, operator: str, *inputs: "str | float | np.ndarray", **attributes: Any) -> str:
        """Apply an operator; numbers among its inputs become constants."""
        from onnx import helper

        name = f"{operator.lower()}_{len(self.nodes)}"
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(operator, names, [name], **attributes))
        return name

    def constant(self, value: "float | np.ndarray") -> str:
        """Keep a number or an array in double precision."""
        return self._kept(np.asarray(value, dtype=np.float64))

    def whole_number(self, value: int) -> str:
        """Keep a whole number, as axes are given."""
        return self._kept(np.array([value], dtype=np.int64))

    def _kept(self, array: np.ndarray) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name


def onnx_model(network: Network) -> "onnx.ModelProto":
    """Make the ONNX model of a network, with any number of points per batch.

    Raises:
        InvalidInput: for an activation that ONNX has no operators for.
        MissingExtra: without the package onnx.
    """
    need("onnx", purpose="an ONNX file")
    from onnx import TensorProto, checker, helper

    from unweave import __version__

    graph = _Graph()
    values = "points"
    for layer in network.layers:
        values = graph("Gemm", values, layer.weights, layer.biases, transB=1)
        values = _activated(graph, layer.activation, values)
    if network.skip is not None:
        values = graph("Add", values, graph("MatMul", "points", network.skip.T))
    graph.nodes.append(helper.make_node("Identity", [values], ["values"]))
    shapes = (("points", network.inputs), ("values", network.outputs))
    ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["batch", size]) for name, size in shapes]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "network", ends[:1], ends[1:], graph.constants),
        opset_imports=[helper.make_opsetid("", OPERATORS)],
        ir_version=8,
        producer_name="unweave",
        producer_version=__version__,
    )
    checker.check_model(model)
    return model


def _activated(graph: _Graph, activation: Activation, t: str) -> str:
    family, _, number = activation.name.partition("(")
    if number and family in FAMILIES:
        return FAMILIES[family](graph, t, float(number.removesuffix(")")))
    if activation.name not in FORMULAS:
        raise InvalidInput(f"ONNX has no operators for the activation {activation}: use to_torch, or your own export.")
    return FORMULAS[activation.name](graph, t)


def _softplus(graph: _Graph, t: str, beta: float = 1.0) -> str:
    """Without overflow: ``max(t, 0) + log(1 + exp(-beta |t|)) / beta``."""
    decayed = graph("Exp", graph("Mul", graph("Abs", t), -beta))
    return graph("Add", graph("Relu", t), graph("Div", graph("Log", graph("Add", decayed, 1.0)), beta))


def _elu(graph: _Graph, t: str, alpha: float, scale: float = 1.0) -> str:
    below = graph("Mul", graph("Sub", graph("Exp", graph("Min", t, 0.0)), 1.0), alpha * scale)
    return graph("Add", graph("Mul", graph("Relu", t), scale), below)


def _erf(graph: _Graph, t: str) -> str:
    """A square wave of half period 12, smoothed by ``exp(-t^2)``: its series ends at 1e-17, and erf is 1 beyond 6."""
    odd = np.arange(1, 51, 2)
    frequencies = np.pi / 12.0 * odd
    heights = 4.0 / (np.pi * odd) * np.exp(-(frequencies**2) / 4.0)
    axis = graph.whole_number(-1)
    waves = graph("Sin", graph("Mul", graph("Unsqueeze", graph("Clip", t, -6.0, 6.0), axis), frequencies))
    return graph("Squeeze", graph("MatMul", waves, heights[:, None]), axis)


def _times(graph: _Graph, t: str, factor: str) -> str:
    return graph("Mul", t, factor)


# Some operators, as Erf, exist for single precision only where models are run, so that formulas take their place.
FORMULAS: dict[str, Callable[[_Graph, str], str]] = {
    "tanh": lambda graph, t: graph("Tanh", t),
    "sigmoid": lambda graph, t: graph("Sigmoid", t),
    "softplus": _softplus,
    "erf": _erf,
    "gelu": lambda graph, t: _times(
        graph, t, graph("Mul", graph("Add", _erf(graph, graph("Div", t, math.sqrt(2.0))), 1.0), 0.5)
    ),
    "silu": lambda graph, t: _times(graph, t, graph("Sigmoid", t)),
    "sin": lambda graph, t: graph("Sin", t),
    "gaussian": lambda graph, t: graph("Exp", graph("Neg", graph("Mul", t, t))),
    "mish": lambda graph, t: _times(graph, t, graph("Tanh", _softplus(graph, t))),
    "elu": lambda graph, t: _elu(graph, t, 1.0),
    "selu": lambda graph, t: _elu(graph, t, SELU_ALPHA, SELU_SCALE),
    "relu": lambda graph, t: graph("Relu", t),
    "hard_tanh": lambda graph, t: graph("Clip", t, -1.0, 1.0),
    "hard_sigmoid": lambda graph, t: graph("Clip", graph("Add", graph("Div", t, 6.0), 0.5), 0.0, 1.0),
    "quadratic": lambda graph, t: graph("Mul", t, t),
    "identity": lambda graph, t: t,  # noqa: ARG005
    "step": lambda graph, t: graph("Cast", graph("GreaterOrEqual", t, 0.0), to=11),
}
FAMILIES: dict[str, Callable[[_Graph, str, float], str]] = {
    "softplus": _softplus,
    "leaky_relu": lambda graph, t, slope: graph("Max", t, graph("Mul", t, slope)),
    "elu": _elu,
}
