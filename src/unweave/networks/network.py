"""Feed-forward networks as immutable values: evaluation, exact derivatives in the inputs, and files.

A network is ``f(x) = layers(x) + skip x``; its last layer is the output layer, as a rule with the
identity as activation. The linear part `skip` is needed because the sign of a neuron is often
undetermined only up to an affine function (see `unweave.networks.symmetries`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64
from safetensors.numpy import save

from unweave.activations import IDENTITY, Activation
from unweave.arrays import (
    CHUNK_NUMBERS,
    Gradients,
    PackedHessians,
    PerNeuron,
    Points,
    Values,
    as_float64,
    frozen,
    in_chunks,
    pack,
    pack_squares,
    packed_size,
    slices,
)
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.extras import need
from unweave.folders import read_file, write_file
from unweave.networks.tensor_files import FORMAT, FORMAT_VERSION, activations_of, layer_tensors, read_tensors
from unweave.seals import UNSEALED, metadata_of, seal_tensors

if TYPE_CHECKING:
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from torch import nn

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Layer:
    """Describe one layer ``g(weights x + biases)``. The arrays are copied and made read-only.

    Args:
        weights: one row per neuron; a layer without neurons has the shape ``(0, inputs)``.
        biases: one per neuron.
        activation: the scalar function g.

    Raises:
        InvalidInput: if shapes do not fit, or a number is not finite.
    """

    weights: Float64[np.ndarray, "neurons inputs"]
    biases: PerNeuron
    activation: Activation

    def __post_init__(self) -> None:
        weights = as_float64(self.weights, name="Layer.weights", ndim=2)
        biases = as_float64(self.biases, name="Layer.biases", ndim=1)
        if len(biases) != len(weights):
            raise InvalidInput(
                f"Layer needs one bias for each of its {len(weights)} neurons, got {len(biases)} biases: "
                "weights have one row per neuron."
            )
        if not isinstance(self.activation, Activation):
            raise InvalidInput(
                f"Layer.activation needs an Activation, got {self.activation!r}: "
                "use unweave.activations.activation_named to find one by name."
            )
        object.__setattr__(self, "weights", frozen(weights))
        object.__setattr__(self, "biases", frozen(biases))

    @property
    def inputs(self) -> int:
        """Return the number of inputs."""
        return self.weights.shape[1]

    @property
    def neurons(self) -> int:
        """Return the number of neurons."""
        return self.weights.shape[0]

    def preactivations(self, values: Array) -> Array:
        """Compute the affine part ``weights x + biases`` for every row of `values`."""
        return values @ self.weights.T + self.biases


@dataclass(frozen=True, eq=False)
class Network:
    """Compute the function ``f(x) = layers(x) + skip x``.

    Args:
        layers: hidden layers in order of evaluation, then the output layer.
        skip: slope of a linear part, one row per output, or None.

    Raises:
        InvalidInput: if there is no layer, or the shapes do not fit together.
    """

    layers: tuple[Layer, ...]
    skip: Float64[np.ndarray, "outputs inputs"] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.layers, tuple) or not all(isinstance(layer, Layer) for layer in self.layers):
            raise InvalidInput(f"Network.layers needs a tuple of Layer, got {type(self.layers).__name__}.")
        if not self.layers or self.outputs == 0 or self.inputs == 0:
            shapes = [layer.weights.shape for layer in self.layers]
            raise InvalidInput(
                f"Network needs at least one input and one output, got layers of shapes {shapes}: "
                "the last layer is the output layer, and only hidden layers may be empty."
            )
        for index, (layer, following) in enumerate(zip(self.layers, self.layers[1:], strict=False)):
            if following.inputs != layer.neurons:
                raise InvalidInput(
                    f"layer {index + 1} needs {layer.neurons} inputs, the neurons of layer {index}, "
                    f"got weights of shape {following.weights.shape}."
                )
        if self.skip is not None:
            skip = as_float64(self.skip, name="Network.skip", ndim=2)
            if skip.shape != (self.outputs, self.inputs):
                needed = (self.outputs, self.inputs)
                raise InvalidInput(f"Network.skip needs shape {needed} (outputs, inputs), got {skip.shape}.")
            object.__setattr__(self, "skip", frozen(skip))

    @classmethod
    def shallow(
        cls,
        weights: Float64[np.ndarray, "neurons inputs"],
        biases: PerNeuron,
        output_weights: Float64[np.ndarray, "outputs neurons"],
        offset: Float64[np.ndarray, "outputs"],
        activation: Activation,
        skip: Float64[np.ndarray, "outputs inputs"] | None = None,
    ) -> "Network":
        """Make the network ``f(x) = offset + output_weights g(weights x + biases) + skip x``."""
        return cls((Layer(weights, biases, activation), Layer(output_weights, offset, IDENTITY)), skip)

    @property
    def inputs(self) -> int:
        """Return the number of inputs."""
        return self.layers[0].inputs

    @property
    def outputs(self) -> int:
        """Return the number of outputs."""
        return self.layers[-1].neurons

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the number of neurons of every hidden layer."""
        return tuple(layer.neurons for layer in self.layers[:-1])

    @property
    def activations(self) -> tuple[Activation, ...]:
        """Return the activation of every layer, the output layer last."""
        return tuple(layer.activation for layer in self.layers)

    @property
    def parameters(self) -> int:
        """Return the number of weights and biases, with the entries of `skip` if there is one."""
        numbers = sum(layer.weights.size + layer.biases.size for layer in self.layers)
        return numbers + (0 if self.skip is None else self.skip.size)

    def __call__(self, points: Points) -> Values:
        """Value at every point.

        Raises:
            InvalidInput: if the points are not finite, or have the wrong number of inputs.
        """
        points = self._check_rows(points, name="points")
        return in_chunks(self._values, (points,), (self.outputs,), max(self.inputs, *self._neurons()))

    def gradients(self, points: Points) -> Gradients:
        """Compute the exact gradient of every output at every point (for relu: the one of the active side).

        Raises:
            InvalidInput: if the points are not finite, or have the wrong number of inputs.
        """
        points = self._check_rows(points, name="points")
        numbers = self.outputs * (self.inputs + sum(self._neurons()))
        return in_chunks(self._gradients, (points,), (self.outputs, self.inputs), numbers)

    def hessians(self, points: Points) -> PackedHessians:
        """Compute the exact Hessian of every output at every point, packed as in `unweave.arrays`.

        With ``t`` the value before the activation of a neuron and ``v = g(t)``, the Hessian of an
        output f is the sum over all neurons of ``df/dv g''(t) grad t (grad t)^T``.

        Raises:
            InvalidInput: if the points are not finite, or have the wrong number of inputs.
        """
        points = self._check_rows(points, name="points")
        size = packed_size(self.inputs)
        numbers = self.outputs * (size + sum(self._neurons()))
        if self._curved_layers() > 1:
            numbers += (self.outputs + 1) * self.inputs * (self.inputs + sum(self._neurons()))
        return in_chunks(self._hessians, (points,), (self.outputs, size), numbers)

    def directional_derivatives(self, points: Points, directions: Points, order: int) -> Values:
        """Compute the exact derivative ``(d/ds)^order f(x + s u)`` at s = 0, with one direction u for each point x.

        Args:
            points: where to differentiate.
            directions: one per point, of any length.
            order: 1, 2 or 3.

        Raises:
            InvalidInput: if shapes do not fit, a number is not finite, or the order is another one.
        """
        points = self._check_rows(points, name="points")
        directions = self._check_rows(directions, name="directions")
        if len(directions) != len(points):
            raise InvalidInput(
                f"directional_derivatives needs one direction per point, got {len(points)} points "
                f"and {len(directions)} directions: repeat the shorter one."
            )
        if order not in (1, 2, 3):
            raise InvalidInput(f"directional_derivatives needs an order of 1, 2 or 3, got {order!r}.")
        numbers = (order + 1) * max(self.inputs, *self._neurons())
        derivative = partial(self._derivative, order=order)
        return in_chunks(derivative, (points, directions), (self.outputs,), numbers)

    def save(self, path: str | Path) -> None:
        """Write the network to a safetensors file, which holds numbers, names and a checksum but no code.

        Raises:
            NotWritten: if that is not possible; an earlier file is then still there.
        """
        write_file(path, self.as_bytes())

    def as_bytes(self) -> bytes:
        """Return what `save` writes."""
        # Imported late: the package imports this module while it is being initialised.
        from unweave import __version__

        tensors = {} if self.skip is None else {"skip": self.skip}
        for index, layer in enumerate(self.layers):
            tensors |= {f"layers.{index}.weights": layer.weights, f"layers.{index}.biases": layer.biases}
        metadata = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "activations": json.dumps([activation.name for activation in self.activations]),
            "unweave_version": __version__,
        }
        return seal_tensors(save(tensors, metadata | UNSEALED))

    @classmethod
    def load(cls, path: str | Path) -> "Network":
        """Read a network that `save` has written.

        Raises:
            UnreadableFile: if there is no such file, or it is not a network in a known format, or damaged.
        """
        try:
            return cls.from_bytes(read_file(path), path)
        except FileNotFoundError as error:
            raise UnreadableFile(f"no network at {path}: there is no such file, check the path.") from error
        except OSError as error:
            raise UnreadableFile(f"{path} can't be read as a network: {error}.") from error

    @classmethod
    def from_bytes(cls, data: bytes, path: str | Path) -> "Network":
        """Make the network of a file whose bytes were read.

        Raises:
            UnreadableFile: if it is not a network in a known format, or damaged; it names the `path`.
        """
        try:
            # What it is comes first: a file of something else has no checksum either.
            activations = activations_of(metadata_of(data))
            tensors = layer_tensors(read_tensors(data), layers=len(activations))
            layers = tuple(
                Layer(tensors[f"layers.{index}.weights"], tensors[f"layers.{index}.biases"], activation)
                for index, activation in enumerate(activations)
            )
            return cls(layers, tensors.get("skip"))
        except InvalidInput as error:
            raise UnreadableFile(
                f"{path} needs to be a file written by Network.save, but it is not: {error}"
            ) from error

    def to_torch(self) -> "nn.Module":
        """Make a torch module of the same numbers, in float64: linear layers and activations in turn."""
        need("torch", purpose="a torch module")
        from unweave.networks.exports.torch_modules import torch_module

        return torch_module(self)

    def to_safetensors(self, path: str | Path) -> None:
        """Write the numbers under the names that `load_state_dict` of the module of `to_torch` takes."""
        from unweave.networks.exports.names import state_of

        write_file(path, save(state_of(self)))

    def to_onnx(self, path: str | Path) -> None:
        """Write an ONNX model of the same numbers, in double precision, for any number of points per batch."""
        from unweave.networks.exports.onnx_files import onnx_model

        write_file(path, onnx_model(self).SerializeToString())

    def to_sklearn(self, *, classes: Sequence | None = None) -> "MLPRegressor | MLPClassifier":
        """Make a fitted network of scikit-learn; a classifier if its outputs are the logits of `classes`."""
        from unweave.networks.exports.sklearn_networks import sklearn_network

        return sklearn_network(self, classes=classes)

    def _neurons(self) -> tuple[int, ...]:
        return (*self.widths, self.outputs)

    def _curved_layers(self) -> int:
        """Number of layers up to the last one that is not affine."""
        return max((i + 1 for i, layer in enumerate(self.layers) if layer.activation != IDENTITY), default=0)

    def _check_rows(self, points: Points, *, name: str) -> Array:
        array = as_float64(points, name=name, ndim=2)
        if array.shape[1] != self.inputs:
            raise InvalidInput(f"{name} need {self.inputs} columns, one per input, got shape {array.shape}.")
        return array

    def _values(self, points: Array) -> Array:
        values = points
        for layer in self.layers:
            values = layer.activation(layer.preactivations(values))
        return values if self.skip is None else values + points @ self.skip.T

    def _preactivations(self, points: Array) -> list[Array]:
        preactivations = [self.layers[0].preactivations(points)]
        for layer, following in zip(self.layers, self.layers[1:], strict=False):
            preactivations.append(following.preactivations(layer.activation(preactivations[-1])))
        return preactivations

    def _sensitivities(self, preactivations: list[Array]) -> list[Array]:
        """Derivative of every output in the inputs and in the values of every layer but the last."""
        layer, t = self.layers[-1], preactivations[-1]
        sensitivities = [layer.activation(t, 1)[:, :, None] * layer.weights]
        for layer, t in zip(self.layers[-2::-1], preactivations[-2::-1], strict=True):
            slopes = sensitivities[-1] * layer.activation(t, 1)[:, None, :]
            sensitivities.append(np.tensordot(slopes, layer.weights, axes=1))
        return sensitivities[::-1]

    def _gradients(self, points: Array) -> Array:
        gradients = self._sensitivities(self._preactivations(points))[0]
        return gradients if self.skip is None else gradients + self.skip

    def _hessians(self, points: Array) -> Array:
        preactivations = self._preactivations(points)
        sensitivities = [*self._sensitivities(preactivations)[1:], np.eye(self.outputs)[None]]
        hessians = np.zeros((len(points), self.outputs, packed_size(self.inputs)))
        # The gradients of the first preactivations are the same at every point.
        jacobian = self.layers[0].weights
        for index in range(self._curved_layers()):
            layer, t = self.layers[index], preactivations[index]
            if index > 0:
                slopes = self.layers[index - 1].activation(preactivations[index - 1], 1)
                jacobian = layer.weights @ (slopes[:, :, None] * jacobian)
            _add_squares(hessians, sensitivities[index] * layer.activation(t, 2)[:, None, :], jacobian)
        return hessians

    def _derivative(self, points: Array, directions: Array, order: int) -> Array:
        """Push the derivatives of order 0 to `order` along the directions through one layer after another."""
        jet = [points, directions]
        for layer in self.layers:
            affine = [derivative @ layer.weights.T for derivative in jet]
            affine[0] = affine[0] + layer.biases
            jet = _compose(layer.activation, affine, order)
        if self.skip is not None:
            jet[1] = jet[1] + directions @ self.skip.T
        return jet[order]


def _add_squares(hessians: Array, curvatures: Array, jacobian: Array) -> None:
    """Add the sum over neurons of curvature times ``grad t (grad t)^T``, packed, in place."""
    if jacobian.ndim == 2:
        for block in slices(len(jacobian), max(1, CHUNK_NUMBERS // hessians.shape[-1])):
            hessians += np.tensordot(curvatures[:, :, block], pack_squares(jacobian[block]), axes=1)
    else:
        rows = jacobian[:, None]
        hessians += pack(np.swapaxes(rows, -1, -2) @ (curvatures[..., None] * rows))


def _compose(activation: Activation, t: list[Array], order: int) -> list[Array]:
    """Derivatives of ``g(t(s))`` from those of ``t(s)`` (Faa di Bruno); missing ones of t are zero."""
    g = [activation(t[0], k) for k in range(order + 1)]
    t1, t2, t3 = [*t[1:], 0.0, 0.0][:3]
    jet = [g[0], g[1] * t1]
    if order >= 2:
        jet.append(g[2] * t1**2 + g[1] * t2)
    if order >= 3:
        jet.append(g[3] * t1**3 + 3.0 * g[2] * t1 * t2 + g[1] * t3)
    return jet
