"""What a text or an object names: a model, or a clear word on why it is none."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unweave
from unweave.activations import TANH
from unweave.exceptions import InvalidInput, TransportFailed, UnreadableFile
from unweave.networks.network import Network
from unweave.oracles.models.names import is_address
from unweave.oracles.models.onnx_file import OnnxOracle
from unweave.oracles.oracle import CallableOracle, Oracle, as_oracle

NETWORK = Network.shallow(np.ones((1, 2)), np.ones(1), np.ones((1, 1)), np.zeros(1), TANH)
MODELS = """
import numpy as np

def double(points):
    return 2.0 * points

number = 3
"""


def oracle_of(model: object, **given: Any) -> Oracle:
    return as_oracle(model, **{"inputs": None, "outputs": None, "domain": None, "budget": None} | given)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    # It is imported anew by every test, and forgotten at the end.
    monkeypatch.setitem(sys.modules, "some_models", sys)
    monkeypatch.delitem(sys.modules, "some_models")
    Path("some_models.py").write_text(MODELS)


@pytest.mark.parametrize("name", ["some_models.py:double", "some_models:double"])
def test_python_takes_the_same_names_as_the_command_line(name: str) -> None:
    oracle = oracle_of(name, inputs=3)
    np.testing.assert_array_equal(oracle.query(np.ones((2, 3))), np.full((2, 3), 2.0))
    assert isinstance(oracle, CallableOracle)
    # Under which answers are kept, also those of the command line.
    assert oracle.name == name


@pytest.mark.parametrize("address", ["HTTP://127.0.0.1:9/v2/models/m", "https://127.0.0.1:9/v2/models/m"])
def test_addresses_are_told_by_their_beginning(address: str) -> None:
    assert is_address(address)
    with pytest.raises(TransportFailed, match="there is no server"):
        oracle_of(address)


@pytest.mark.parametrize("address", ["ftp://me:hushhush@host/m", "http:/host/v2/models/m", "file:///tmp/model.onnx"])
def test_other_addresses_are_refused_without_what_they_hold(address: str) -> None:
    with pytest.raises(InvalidInput, match="begins with http:// or https://") as raised:
        unweave.identify(address)
    assert "hushhush" not in str(raised.value)


def test_a_folder_and_a_file_of_code_say_what_is_missing() -> None:
    with pytest.raises(UnreadableFile, match="is a folder: name a file"):
        oracle_of(".")
    with pytest.raises(InvalidInput, match=r"file of code: say what is asked in it, some_models\.py:NAME"):
        oracle_of(Path("some_models.py"))


def test_endings_may_be_written_large() -> None:
    NETWORK.to_onnx("MODEL.ONNX")
    assert isinstance(oracle_of("MODEL.ONNX"), OnnxOracle)
    with pytest.raises(InvalidInput, match="would run whatever code it names"):
        oracle_of("model.PT")


def test_a_path_with_a_colon_is_a_path() -> None:
    NETWORK.save("a:b.safetensors")
    assert oracle_of("a:b.safetensors").inputs == 2


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("", "a model needs to be a function .* got ''"),
        ("  ", "a model needs to be a function"),
        (None, "a model needs to be a function .* got an object of type NoneType"),
        (np.zeros((3, 3)), "got an object of type ndarray"),
        (CallableOracle, "the model CallableOracle is a class: give a function, or an instance"),
        (lambda points: points, "needs inputs="),
        ("some_models.py:", "needs the name of a function or of a model after the colon"),
        ("some_models.py:number", "got an object of type int"),
        ("some_models.py:nothing", "needs 'nothing'"),
        ("nowhere.py:double", "names the file nowhere.py, but there is none"),
        ("nowhere:double", "there is no module 'nowhere'"),
        ("localhost:8000/v2/models/m", "the address of a server: write http:// or https:// before it"),
        ("a b:double", "needs a module and a function as in an import"),
    ],
)
def test_what_is_no_model_is_told_before_any_query(model: Any, words: str) -> None:
    for door in (unweave.identify, unweave.audit):
        with pytest.raises(InvalidInput, match=words):
            door(model)
