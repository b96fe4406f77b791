"""Which kind of model something is, without importing the framework that it belongs to."""

from pathlib import Path
from typing import Any, Unpack

from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.networks.network import Network
from unweave.oracles.oracle import CallableOracle, Oracle, OracleSettings
from unweave.seals import checksum

# Files that hold pickled objects: reading one runs whatever code it names.
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".joblib")
# Files of models that `oracle_of_file` knows, or refuses by name.
TABLES = (".csv", ".parquet", ".pq")
FILES = (".onnx", *PICKLES, *TABLES)
# How addresses of servers begin.
ADDRESSES = ("http://", "https://")


def knows_inputs(model: object) -> bool:
    """Whether a model is of a kind that may say its number of inputs itself."""
    return _is_torch(model) or _is_estimator(model) or _keras_inputs(model) is not None


def oracle_of_model(
    model: object,
    *,
    inputs: int | None = None,
    output: str | None = None,
    **settings: Unpack[OracleSettings],
) -> Oracle | None:
    """Give the oracle that asks a model of a known kind; None for anything else.

    Args:
        model: a network, a module, an estimator, the path of a file, or the address of a server.
        inputs: number of inputs, where the model does not say it.
        output: name of the output that is asked, if an ONNX model or a server has several.
        settings: of the oracle.

    Raises:
        InvalidInput: if the model can't be asked, or contradicts what is given.
        UnreadableFile: for a path at which there is no model.
        MissingExtra: if a package that it needs is not installed.
        TransportFailed: if a server can't be asked what its model is.
    """
    if isinstance(model, str) and model.startswith(ADDRESSES):
        from unweave.oracles.http.oracle import HttpOracle

        return HttpOracle(model, inputs=inputs, output=output, **settings)
    if isinstance(model, str | Path):
        return oracle_of_file(Path(model), inputs=inputs, output=output, **settings)
    if isinstance(model, Network):
        return _oracle_of_network(model, inputs=inputs, **settings)
    known = _keras_inputs(model)
    if known is not None and callable(model):
        # Before torch, which may be what Keras computes with. It answers in a tensor; this way in an array, and as it
        # does outside of training.
        check_size("inputs", inputs, known)
        return CallableOracle(getattr(model, "predict_on_batch", model), inputs=known, **settings)
    if _is_torch(model):
        from unweave.oracles.models.torch_module import TorchOracle

        return TorchOracle(model, inputs=inputs, **settings)
    if _is_estimator(model):
        from unweave.oracles.models.sklearn_estimator import SklearnOracle

        return SklearnOracle(model, inputs=inputs, **settings)
    return None


def oracle_of_file(
    path: Path, *, inputs: int | None = None, output: str | None = None, **settings: Unpack[OracleSettings]
) -> Oracle:
    """Give the oracle that asks the model of a file: ONNX, a network of `Network.save`, a table of recorded answers.

    Args:
        path: of the file.
        inputs: number of inputs, where the file does not say it.
        output: name of the output of an ONNX model that is asked, if it has several.
        settings: of the oracle.

    Raises:
        InvalidInput: if what is given contradicts the file, or the file would run code.
        UnreadableFile: if it is missing, or something else.
    """
    if path.suffix == ".onnx":
        from unweave.oracles.models.onnx_file import OnnxOracle

        return OnnxOracle(path, output=output, inputs=inputs, **settings)
    if path.suffix in TABLES:
        from unweave.oracles.models.recorded_answers import RecordedAnswers

        return RecordedAnswers(path, inputs=inputs, **settings)
    if output is not None:
        raise InvalidInput(f"only ONNX files have outputs with names, got output={output!r} for {path}: leave it out.")
    if path.suffix in PICKLES:
        raise InvalidInput(
            f"{path} may hold pickled objects, and reading it would run whatever code it names: load it in a file of "
            "your own, and give the model, or file.py:model on the command line."
        )
    if not path.exists():
        raise UnreadableFile(f"there is no model at {path}: check the path.")
    oracle = _oracle_of_network(Network.load(path), inputs=inputs, **settings)
    oracle.name, oracle.fingerprint = str(path.resolve()), checksum(path.read_bytes())
    return oracle


def _oracle_of_network(network: Network, *, inputs: int | None, **settings: Unpack[OracleSettings]) -> Oracle:
    check_size("inputs", inputs, network.inputs)
    check_size("outputs", settings.get("outputs"), network.outputs)
    return CallableOracle(network, inputs=network.inputs, **settings)


def check_size(name: str, given: int | None, known: int) -> None:
    """Refuse a size that contradicts the one that the model says.

    Raises:
        InvalidInput: if they differ.
    """
    if given not in (None, known):
        raise InvalidInput(f"the model has {known} {name}, got {name}={given}: leave it out.")


def _is_torch(model: object) -> bool:
    return any(kind.__module__ == "torch.nn.modules.module" for kind in type(model).__mro__)


def _is_estimator(model: object) -> bool:
    return hasattr(model, "predict") and hasattr(model, "get_params") and not isinstance(model, type)


def _keras_inputs(model: object) -> int | None:
    """Number of inputs that a Keras model says; None for anything else."""
    shape: Any = getattr(model, "input_shape", None)
    is_row = callable(model) and isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[1], int)
    return shape[1] if is_row else None
