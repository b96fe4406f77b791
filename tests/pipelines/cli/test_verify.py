from pathlib import Path

import numpy as np
import pytest

from commands import output
from unweave.activations import TANH
from unweave.networks.network import Network
from unweave.networks.planted import deep_network, general_network
from unweave.networks.symmetries import permute, reflect


@pytest.fixture(autouse=True)
def _secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network in a file of the current directory."""
    monkeypatch.chdir(tmp_path)
    general_network(np.random.default_rng(3), inputs=5, neurons=3).save("secret.safetensors")


def test_deep_networks_are_verified_up_to_their_symmetries(capsys: pytest.CaptureFixture[str]) -> None:
    deep = deep_network(np.random.default_rng(0), shape=(4, 3, 3, 2), shift_deviation=0.3, output_activation=TANH)
    deep.save("deep.safetensors")
    permute(reflect(deep, 0, np.array([True, False, True])), 1, np.array([2, 0, 1])).save("same.safetensors")
    out, _ = output(capsys, "verify", "same.safetensors", "--against", "deep.safetensors", code=0)
    assert "the same network" in out
    output(capsys, "verify", "same.safetensors", "--against", "secret.safetensors", code=1)


def test_the_tolerance_of_verify_decides(capsys: pytest.CaptureFixture[str]) -> None:
    secret = Network.load("secret.safetensors")
    hidden, last = secret.layers
    moved = Network.shallow(hidden.weights, hidden.biases + 1e-5, last.weights, last.biases, hidden.activation)
    moved.save("moved.safetensors")
    paths = ["moved.safetensors", "--against", "secret.safetensors"]
    out, _ = output(capsys, "verify", *paths, code=1)
    assert out.startswith("not the same network")
    output(capsys, "verify", *paths, "--tolerance", "1e-4", code=0)
