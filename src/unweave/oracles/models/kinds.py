"""Which kind of model something is, without importing the framework that it belongs to."""

from pathlib import Path
from types import FunctionType
from typing import Any, Unpack, cast

from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.networks.network import Network
from unweave.oracles.models.names import is_address, is_object, named_object
from unweave.oracles.oracle import MODELS, CallableOracle, Domain, Oracle, OracleSettings, oracle_of_callable
from unweave.seals import checksum

# Files that hold pickled objects: reading one runs whatever code it names.
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".joblib")
# Files of models that `oracle_of_file` knows, or refuses by name.
CODE = ".py"
TABLES = (".csv", ".parquet", ".pq")
FILES = (".onnx", CODE, *PICKLES, *TABLES)


def oracle_of(
    model: Any,
    *,
    inputs: int | None,
    outputs: int | None,
    domain: Domain | None,
    budget: int | None,
    output: str | None,
) -> Oracle:
    """Give the oracle that a model is, or one that asks it; see `as_oracle`."""
    name = model if isinstance(model, str) else None
    if name is not None:
        model = _named(name)
    if output is not None and not _names_outputs(model):
        raise InvalidInput(
            f"only ONNX files, Keras models and servers have outputs with names, got output={output!r}: leave it out."
        )
    if isinstance(model, Oracle):
        if any(setting is not None for setting in (inputs, outputs, domain, budget)):
            raise InvalidInput("an Oracle carries its own inputs, outputs, domain and budget: leave them out.")
        return model
    known = None
    if not isinstance(model, FunctionType):
        known = oracle_of_model(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget, output=output)
    if known is None:
        known = oracle_of_callable(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget)
    if name is not None and name is not model:
        known.name = name
    return known


def _named(text: str) -> Any:
    """Give the object that a text names, or the text itself where it is an address or a path."""
    if not text.strip():
        raise InvalidInput(f"{MODELS}, got {text!r}.")
    return named_object(text, name="the model") if is_object(text) else text


def _names_outputs(model: Any) -> bool:
    """Whether outputs of a model may have names: those of files, of servers and of Keras."""
    return isinstance(model, str | Path) or is_keras(model)


def knows_inputs(model: object) -> bool:
    """Whether a model is of a kind that may say its number of inputs itself."""
    return is_keras(model) or _is_torch(model) or _is_estimator(model) or _flax_inputs(model) is not None


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
        output: name of the output that is asked, if an ONNX model, a Keras model or a server has several.
        settings: of the oracle.

    Raises:
        InvalidInput: if the model can't be asked, or contradicts what is given.
        UnreadableFile: for a path at which there is no model.
        MissingExtra: if a package that it needs is not installed.
        TransportFailed: if a server can't be asked what its model is.
    """
    if isinstance(model, str) and is_address(model):
        from unweave.oracles.http.oracle import HttpOracle

        return HttpOracle(model, inputs=inputs, output=output, **settings)
    if isinstance(model, str | Path):
        return oracle_of_file(Path(model), inputs=inputs, output=output, **settings)
    if isinstance(model, Network):
        return _oracle_of_network(model, inputs=inputs, **settings)
    if is_keras(model):
        # Before torch, which may be what Keras computes with.
        from unweave.oracles.models.keras_model import KerasOracle

        return KerasOracle(model, inputs=inputs, output=output, **settings)
    if _is_torch(model):
        from unweave.oracles.models.torch_module import TorchOracle

        return TorchOracle(model, inputs=inputs, **settings)
    if _is_estimator(model):
        from unweave.oracles.models.sklearn_estimator import SklearnOracle

        return SklearnOracle(model, inputs=inputs, **settings)
    return _oracle_of_flax(model, inputs=inputs, **settings)


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
    ending = path.suffix.lower()
    if ending == ".onnx":
        from unweave.oracles.models.onnx_file import OnnxOracle

        return OnnxOracle(path, output=output, inputs=inputs, **settings)
    if ending in TABLES:
        from unweave.oracles.models.recorded_answers import RecordedAnswers

        return RecordedAnswers(path, inputs=inputs, **settings)
    if output is not None:
        raise InvalidInput(f"only ONNX files have outputs with names, got output={output!r} for {path}: leave it out.")
    if ending == CODE:
        raise InvalidInput(f"{path} is a file of code: say what is asked in it, {path}:NAME.")
    if ending in PICKLES:
        raise InvalidInput(
            f"{path} may hold pickled objects, and reading it would run whatever code it names: load it in a file of "
            "your own, and give the model, or file.py:model on the command line."
        )
    if not path.exists():
        raise UnreadableFile(f"there is no model at {path}: check the path.")
    if path.is_dir():
        raise UnreadableFile(f"{path} is a folder: name a file, such as the network.safetensors of a run.")
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


def is_keras(model: object) -> bool:
    """Whether a model is one of Keras, or says the shape of its inputs as those do."""
    is_one = _is_of(model, "keras", "Model") or _is_of(model, "tf_keras", "Model")
    return callable(model) and not isinstance(model, type) and (is_one or input_shape_of(model) is not None)


def input_shape_of(model: object) -> tuple[int, ...] | None:
    """Shape of one point that a Keras model says; None if it does not, or leaves sizes open."""
    shape: Any = getattr(model, "input_shape", None)
    if shape is None and hasattr(model, "get_build_config"):
        # Of a model of the user's own class: what it was called with.
        shape = (cast("Any", model).get_build_config() or {}).get("input_shape")
    if not isinstance(shape, tuple | list) or len(shape) < 2:
        return None
    return tuple(shape[1:]) if all(isinstance(each, int) for each in shape[1:]) else None


def _oracle_of_flax(model: object, *, inputs: int | None, **settings: Unpack[OracleSettings]) -> Oracle | None:
    """Give the oracle that asks a module of Flax that holds its parameters; None for anything else."""
    if _is_of(model, "flax.linen", "Module") and getattr(model, "scope", None) is None:
        raise InvalidInput("a module of flax.linen holds no parameters: give model.bind(variables), and inputs=.")
    known = _flax_inputs(model)
    if known is None or not callable(model):
        return None
    check_size("inputs", inputs, known)
    return CallableOracle(model, inputs=known, **settings)


def _flax_inputs(model: object) -> int | None:
    """Number of inputs of the first linear layer of a module of flax.nnx; None for anything else."""
    if not _is_of(model, "flax.nnx", "Module"):
        return None
    known = getattr(model, "in_features", None)
    if isinstance(known, int):
        return known
    for part in vars(model).values():
        for each in part if isinstance(part, list | tuple) or _is_of(part, "flax.nnx", "List") else (part,):
            if (known := _flax_inputs(each)) is not None:
                return known
    return None


def _is_of(model: object, package: str, name: str) -> bool:
    """Whether an object is of a class of a package that need not be there."""
    kinds = type(model).__mro__
    return any(kind.__name__ == name and kind.__module__.startswith((f"{package}.", package)) for kind in kinds)
