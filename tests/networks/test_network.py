import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save, save_file

import unweave
from unweave.activations import GELU, IDENTITY, RELU, SIGMOID, SIN, SOFTPLUS, TANH, Activation, softplus
from unweave.arrays import unpack
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.networks import network as networks
from unweave.networks.network import Layer, Network
from unweave.seals import UNSEALED, seal_tensors

DEPTHS = {
    1: (TANH, IDENTITY),
    2: (GELU, TANH, IDENTITY),
    3: (SIN, SIGMOID, softplus(2.0), SIGMOID),
}


def planted(
    rng: np.random.Generator,
    activations: tuple[Activation, ...] = (TANH, IDENTITY),
    *,
    inputs: int = 4,
    outputs: int = 3,
    neurons: int = 5,
    has_skip: bool = True,
) -> Network:
    widths = [inputs, *(neurons + i for i in range(len(activations) - 1)), outputs]
    layers = tuple(
        Layer(rng.normal(size=(n, m)) / np.sqrt(m), rng.normal(size=n), activation)
        for m, n, activation in zip(widths, widths[1:], activations, strict=False)
    )
    return Network(layers, rng.normal(size=(outputs, inputs)) if has_skip else None)


def evaluate_by_hand(network: Network, point: np.ndarray) -> np.ndarray:
    values = point
    for layer in network.layers:
        values = np.array(
            [
                layer.activation(np.array([float(np.dot(row, values)) + bias]))[0]
                for row, bias in zip(layer.weights, layer.biases, strict=True)
            ]
        )
    return values + (0.0 if network.skip is None else network.skip @ point)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("has_skip", [False, True])
def test_values_agree_with_the_formula_neuron_by_neuron(depth: int, has_skip: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, DEPTHS[depth], has_skip=has_skip)
    points = rng.normal(size=(6, network.inputs))
    expected = np.array([evaluate_by_hand(network, point) for point in points])
    np.testing.assert_allclose(network(points), expected, rtol=1e-13, atol=1e-13)


def test_shallow_is_its_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, biases, points = rng.normal(size=(5, 3)), rng.normal(size=5), rng.normal(size=(7, 3))
    outgoing, offset, skip = rng.normal(size=(2, 5)), rng.normal(size=2), rng.normal(size=(2, 3))
    network = Network.shallow(weights, biases, outgoing, offset, TANH, skip)
    expected = offset + np.tanh(points @ weights.T + biases) @ outgoing.T + points @ skip.T
    np.testing.assert_allclose(network(points), expected, rtol=1e-13, atol=1e-13)
    assert (network.inputs, network.outputs, network.widths) == (3, 2, (5,))
    assert network.activations == (TANH, IDENTITY)
    assert network.parameters == 15 + 5 + 10 + 2 + 6


def test_a_hidden_layer_may_be_empty() -> None:
    skip = np.array([[2.0, -1.0]])
    network = Network.shallow(np.zeros((0, 2)), np.zeros(0), np.zeros((1, 0)), np.array([3.0]), TANH, skip)
    points = np.array([[1.0, 1.0], [0.0, 2.0]])
    np.testing.assert_array_equal(network(points), [[4.0], [1.0]])
    np.testing.assert_array_equal(network.gradients(points), [skip, skip])
    np.testing.assert_array_equal(network.hessians(points), np.zeros((2, 1, 3)))
    np.testing.assert_array_equal(network.directional_derivatives(points, points, 1), [[1.0], [-2.0]])
    assert network.widths == (0,)
    assert network.parameters == 3


def test_no_points_give_no_values(seed: int) -> None:
    network = planted(np.random.default_rng(seed))
    nothing = np.zeros((0, network.inputs))
    assert network(nothing).shape == (0, network.outputs)
    assert network.hessians(nothing).shape == (0, network.outputs, 10)


@pytest.mark.parametrize("depth", DEPTHS)
def test_gradients_agree_with_central_differences(depth: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, DEPTHS[depth])
    points, step = rng.normal(size=(5, network.inputs)), 1e-6
    gradients = network.gradients(points)
    for axis, unit in enumerate(np.eye(network.inputs)):
        difference = (network(points + step * unit) - network(points - step * unit)) / (2 * step)
        np.testing.assert_allclose(gradients[:, :, axis], difference, atol=1e-8)


@pytest.mark.parametrize("depth", DEPTHS)
def test_hessians_agree_with_central_differences_of_gradients(depth: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, DEPTHS[depth])
    points, step = rng.normal(size=(5, network.inputs)), 1e-6
    hessians = unpack(network.hessians(points), network.inputs)
    for axis, unit in enumerate(np.eye(network.inputs)):
        gradients = [network.gradients(points + sign * step * unit) for sign in (1, -1)]
        np.testing.assert_allclose(hessians[..., axis], (gradients[0] - gradients[1]) / (2 * step), atol=1e-8)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_directional_derivatives_agree_with_central_differences(depth: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, DEPTHS[depth])
    points, directions = rng.normal(size=(2, 5, network.inputs))
    step = 1e-5
    sides = [points + step * directions, points - step * directions]
    if order == 1:
        above, below = map(network, sides)
    else:
        above, below = (network.directional_derivatives(side, directions, order - 1) for side in sides)
    derivatives = network.directional_derivatives(points, directions, order)
    np.testing.assert_allclose(derivatives, (above - below) / (2 * step), atol=1e-6)


@pytest.mark.parametrize("depth", DEPTHS)
def test_directional_derivatives_agree_with_gradients_and_hessians(depth: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, DEPTHS[depth])
    points, directions = rng.normal(size=(2, 5, network.inputs))
    slopes = np.einsum("poi,pi->po", network.gradients(points), directions)
    hessians = unpack(network.hessians(points), network.inputs)
    curvatures = np.einsum("poij,pi,pj->po", hessians, directions, directions)
    np.testing.assert_allclose(network.directional_derivatives(points, directions, 1), slopes, atol=1e-13)
    np.testing.assert_allclose(network.directional_derivatives(points, directions, 2), curvatures, atol=1e-12)


@pytest.mark.parametrize("depth", DEPTHS)
def test_chunks_change_nothing(depth: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, DEPTHS[depth])
    points, directions = rng.normal(size=(2, 50, network.inputs))

    def results() -> list[np.ndarray]:
        third = network.directional_derivatives(points, directions, 3)
        return [network(points), network.gradients(points), network.hessians(points), third]

    whole = results()
    monkeypatch.setattr(networks, "CHUNK_NUMBERS", 40)
    monkeypatch.setattr("unweave.arrays.CHUNK_NUMBERS", 40)
    for expected, chunked in zip(whole, results(), strict=True):
        np.testing.assert_allclose(chunked, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["__call__", "gradients", "hessians"])
def test_memory_is_bounded_for_many_points_and_neurons(method: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = 2**19
    monkeypatch.setattr(networks, "CHUNK_NUMBERS", chunk)
    monkeypatch.setattr("unweave.arrays.CHUNK_NUMBERS", chunk)
    rng = np.random.default_rng(seed)
    network = planted(rng, (RELU, IDENTITY), inputs=3, outputs=1, neurons=1000)
    points = rng.normal(size=(4_000, 3))
    tracemalloc.start()
    getattr(network, method)(points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # At once, one array of points x neurons alone would take 32 MB.
    assert peak < 6 * 8 * chunk < 32e6


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("method", ["__call__", "gradients", "hessians"])
@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((3, 5)), "4 columns"),
        (np.zeros(4), "2 axes"),
        (np.full((2, 4), np.nan), "finite"),
        (np.array([["a", "b", "c", "d"]]), "numbers"),
    ],
)
def test_wrong_points_are_refused(method: str, points: Any, message: str, seed: int) -> None:
    network = planted(np.random.default_rng(seed))
    with pytest.raises(InvalidInput, match=message):
        getattr(network, method)(points)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("directions", "order", "message"),
    [
        (np.zeros((2, 4)), 1, "one direction per point"),
        (np.zeros((3, 3)), 1, "4 columns"),
        (np.zeros((3, 4)), 0, "order"),
        (np.zeros((3, 4)), 4, "order"),
    ],
)
def test_wrong_directions_are_refused(directions: Any, order: int, message: str, seed: int) -> None:
    network = planted(np.random.default_rng(seed))
    with pytest.raises(InvalidInput, match=message):
        network.directional_derivatives(np.zeros((3, 4)), directions, order)


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("weights", "biases", "activation", "message"),
    [
        (np.zeros((2, 3)), np.zeros(3), TANH, "one bias for each"),
        (np.zeros(3), np.zeros(3), TANH, "2 axes"),
        (np.zeros((2, 3)), np.zeros((2, 1)), TANH, "1 axes"),
        (np.full((2, 3), np.inf), np.zeros(2), TANH, "finite"),
        (np.zeros((2, 3)), np.array([0.0, np.nan]), TANH, "finite"),
        (np.zeros((2, 3)), np.zeros(2), "tanh", "activation_named"),
        ("weights", np.zeros(2), TANH, "numbers"),
    ],
)
def test_wrong_layers_are_refused(weights: Any, biases: Any, activation: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Layer(weights, biases, activation)


@pytest.mark.usefixtures("without_type_checks")
def test_layers_are_copied_converted_and_read_only() -> None:
    weights = np.ones((2, 3), dtype=np.float32)
    layer = Layer(weights, [0, 1], TANH)  # pyright: ignore[reportArgumentType]
    weights[0, 0] = 7.0
    assert layer.weights[0, 0] == 1.0
    assert layer.weights.dtype == layer.biases.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        layer.weights[0, 0] = 2.0


@pytest.mark.parametrize(
    ("shapes", "skip", "message"),
    [
        ([], None, "at least one input and one output"),
        ([(5, 0)], None, "at least one input and one output"),
        ([(5, 3), (0, 5)], None, "at least one input and one output"),
        ([(5, 3), (2, 4)], None, "layer 1 needs 5 inputs"),
        ([(5, 3), (2, 5)], np.zeros((3, 2)), "skip needs shape"),
        ([(5, 3), (2, 5)], np.full((2, 3), np.nan), "finite"),
    ],
)
def test_wrong_networks_are_refused(shapes: list[tuple[int, int]], skip: Any, message: str) -> None:
    layers = tuple(Layer(np.zeros(shape), np.zeros(shape[0]), TANH) for shape in shapes)
    with pytest.raises(InvalidInput, match=message):
        Network(layers, skip)


@pytest.mark.usefixtures("without_type_checks")
def test_layers_of_a_network_are_a_tuple_of_layers() -> None:
    layer = Layer(np.zeros((1, 1)), np.zeros(1), IDENTITY)
    for wrong in ([layer], (layer, "layer"), layer):
        with pytest.raises(InvalidInput, match="tuple of Layer"):
            Network(wrong)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("has_skip", [False, True])
def test_a_saved_network_is_loaded_bit_by_bit(depth: int, has_skip: bool, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, DEPTHS[depth], has_skip=has_skip)
    network.save(tmp_path / "network.safetensors")
    loaded = Network.load(str(tmp_path / "network.safetensors"))
    points = rng.normal(size=(9, network.inputs))
    np.testing.assert_array_equal(loaded(points), network(points))
    assert loaded.activations == network.activations
    assert loaded.parameters == network.parameters
    assert (loaded.skip is None) == (network.skip is None)


def test_an_empty_hidden_layer_is_saved(tmp_path: Path) -> None:
    network = Network.shallow(np.zeros((0, 2)), np.zeros(0), np.zeros((1, 0)), np.ones(1), SOFTPLUS)
    network.save(tmp_path / "network")
    assert Network.load(tmp_path / "network").widths == (0,)


def test_files_say_what_they_are(seed: int, tmp_path: Path) -> None:
    planted(np.random.default_rng(seed), DEPTHS[3]).save(tmp_path / "network")
    with safe_open(str(tmp_path / "network"), framework="numpy") as file:
        metadata, names = file.metadata(), set(file.keys())
    assert metadata == {
        "format": "unweave-network",
        "format_version": "2",
        "activations": json.dumps(["sin", "sigmoid", "softplus(2.0)", "sigmoid"]),
        "unweave_version": unweave.__version__,
        "sha256": metadata["sha256"],
    }
    assert {"skip", "layers.0.weights", "layers.3.biases"} < names


METADATA = {"format": "unweave-network", "format_version": "2", "activations": '["tanh", "identity"]'}
TENSORS = {
    "layers.0.weights": np.zeros((3, 2)),
    "layers.0.biases": np.zeros(3),
    "layers.1.weights": np.zeros((1, 3)),
    "layers.1.biases": np.zeros(1),
}


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("tensors", "metadata", "message"),
    [
        ({}, {"format": "pt"}, "format"),
        ({}, {"format_version": "3", "unweave_version": "9.1"}, "use Unweave 9.1"),
        ({}, {"activations": "tanh"}, "no list of activations"),
        ({}, {"activations": "[1, 2]"}, "no list of activations"),
        ({}, {"activations": "[" * 100_000}, "no list of activations"),
        ({}, {"activations": '["tanh", "swish"]'}, "unknown activation"),
        ({}, {"activations": '["tanh"]'}, "do not fit"),
        ({}, {"activations": "[]"}, "do not fit"),
        ({"extra": np.zeros(1)}, {}, "do not fit"),
        ({"layers.0.biases": np.zeros(4)}, {}, "one bias for each"),
        ({"layers.1.weights": np.zeros((1, 4))}, {}, "layer 1 needs 3 inputs"),
        ({"layers.1.biases": np.full(1, np.nan)}, {}, "finite"),
        ({"layers.0.weights": np.zeros((3, 2), dtype=np.float32)}, {}, "F64"),
        ({"skip": np.zeros((2, 1))}, {}, "skip needs shape"),
    ],
)
def test_foreign_and_damaged_contents_are_refused(
    tensors: dict[str, np.ndarray], metadata: dict[str, str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "network"
    path.write_bytes(seal_tensors(save(TENSORS, METADATA | UNSEALED)))
    assert Network.load(path).widths == (3,)
    path.write_bytes(seal_tensors(save(TENSORS | tensors, METADATA | metadata | UNSEALED)))
    with pytest.raises(UnreadableFile, match=message):
        Network.load(path)


def test_a_file_without_metadata_is_refused(tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "network")
    with pytest.raises(UnreadableFile, match="format None"):
        Network.load(tmp_path / "network")


def test_a_file_without_a_checksum_is_refused(tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "network", METADATA)
    with pytest.raises(UnreadableFile, match="no checksum"):
        Network.load(tmp_path / "network")


def test_no_flipped_bit_loads(tmp_path: Path) -> None:
    """audit B6: one flipped bit in a saved network loaded as another network (828 of 4,224)."""
    path = tmp_path / "network"
    network = Network.shallow(np.array([[0.5, -1.0]]), np.array([0.25]), np.ones((1, 1)), np.zeros(1), SOFTPLUS)
    network.save(path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            damaged = whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :]
            with pytest.raises(UnreadableFile, match="network"):
                Network.from_bytes(damaged, path)
    path.write_bytes(damaged)
    with pytest.raises(UnreadableFile, match="checksum"):
        Network.load(path)
    path.write_bytes(whole)
    assert Network.load(path).parameters == network.parameters


def test_files_that_are_no_safetensors_are_refused(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "network"
    planted(np.random.default_rng(seed)).save(path)
    contents = path.read_bytes()
    for broken in (b"", b"PK\x03\x04 some archive", contents[:100], contents[:-1], b"\xff" * 64):
        path.write_bytes(broken)
        with pytest.raises(UnreadableFile, match=r"Network\.save"):
            Network.load(path)


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no such file"):
        Network.load(tmp_path / "nothing")
    with pytest.raises(UnreadableFile):
        Network.load(tmp_path)
