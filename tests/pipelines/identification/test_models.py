"""A newcomer's model in, the network out again: torch, scikit-learn and ONNX, in Python and on the command line."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import unweave
from late import sklearn
from unweave.activations import TANH, activation_named
from unweave.cli import run
from unweave.networks.network import Network
from unweave.reports.files import read_run

MODELS = """
import torch
from sklearn.linear_model import LinearRegression

torch.manual_seed(0)
module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()
not_fitted = LinearRegression()
"""


def test_a_torch_model_comes_back_as_one_with_equal_answers(seed: int) -> None:
    import torch
    from torch import nn

    torch.manual_seed(seed)
    module = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2)).double().train()
    found = unweave.identify(module, seed=seed)
    assert found.is_identified
    assert module.training
    points = torch.tensor(np.random.default_rng(seed).standard_normal((100, 6)))
    assert found.network is not None
    with torch.no_grad():
        np.testing.assert_allclose(found.network.to_torch()(points), module.eval()(points), atol=1e-11)


@pytest.mark.parametrize("network", range(2, 8))
def test_a_torch_model_in_float32_comes_back(network: int) -> None:
    """What torch makes by default: it computes with as many digits as it answers with."""
    import torch
    from torch import nn

    torch.manual_seed(network)
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    found = unweave.identify(module)
    assert found.is_identified, found.reason
    assert found.network is not None
    hidden, output = (module[number].double() for number in (0, 2))
    tables = [each.detach().numpy() for layer in (hidden, output) for each in (layer.weight, layer.bias)]
    assert unweave.match(found.network, Network.shallow(*tables, TANH)).largest_error < 1e-3
    points = torch.tensor(np.random.default_rng(0).standard_normal((100, 4)))
    with torch.no_grad():
        np.testing.assert_allclose(found.network.to_torch()(points), module.double()(points), atol=1e-5)


def in_units_of_the_columns(pipeline: "sklearn.pipeline.Pipeline") -> Network:
    """Write the network of a pipeline without its scaler, whose units go into the first layer."""
    scaler, network = (step for _, step in pipeline.steps)
    weights = network.coefs_[0].T / scaler.scale_
    biases = network.intercepts_[0] - weights @ scaler.mean_
    activation = activation_named(network.activation)
    return Network.shallow(weights, biases, network.coefs_[1].T, network.intercepts_[1], activation)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("activation", ["tanh", "logistic", "relu"])
def test_a_pipeline_comes_back_as_coefficients_in_its_own_units(activation: str) -> None:
    from sklearn.datasets import load_diabetes
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    points, labels = load_diabetes(return_X_y=True)
    # Columns far from zero, and labels of hundreds, which training meets by neurons as steep as steps.
    points = points * np.linspace(1.0, 300.0, 10) + 50.0
    network = MLPRegressor(hidden_layer_sizes=(5,), activation=activation, solver="lbfgs", random_state=1)
    pipeline = make_pipeline(StandardScaler(), network)
    pipeline.fit(points, labels)
    found = unweave.identify(pipeline)
    assert found.is_identified, found.reason
    assert found.network is not None
    # The sigmoid of scikit-learn is found as tanh, which writes the same functions.
    again = found.network.to_sklearn()
    assert again.coefs_[0].shape == (10, 5)
    if activation == again.activation:
        truth = in_units_of_the_columns(pipeline)
        of_coefficients = Network.shallow(
            again.coefs_[0].T, again.intercepts_[0], again.coefs_[1].T, again.intercepts_[1], truth.activations[0]
        )
        assert unweave.match(of_coefficients, truth).largest_error < 1e-8
    predicted = pipeline.predict(points)
    np.testing.assert_allclose(again.predict(points), predicted, atol=1e-9 * float(np.std(predicted)))


@pytest.mark.parametrize(("is_double", "largest_error"), [(False, 1e-4), (True, 1e-10)])
def test_a_jitted_function_of_jax_is_identified_as_flax_gives_one(is_double: bool, largest_error: float) -> None:
    """Flax keeps parameters apart: ``model.apply(variables, points)``, with kernels of one column per neuron."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    kernels, biases = (rng.standard_normal((4, 3)), rng.standard_normal((3, 1))), (rng.standard_normal(3), np.zeros(1))
    truth = Network.shallow(kernels[0].T, biases[0], kernels[1].T, biases[1], TANH)

    def apply(variables: dict[str, dict[str, jax.Array]], points: jax.Array) -> jax.Array:
        first, last = variables["Dense_0"], variables["Dense_1"]
        return jnp.tanh(points @ first["kernel"] + first["bias"]) @ last["kernel"] + last["bias"]

    with jax.enable_x64(is_double):
        variables = {
            f"Dense_{layer}": {"kernel": jnp.asarray(kernels[layer]), "bias": jnp.asarray(biases[layer])}
            for layer in (0, 1)
        }
        found = unweave.identify(jax.jit(partial(apply, variables)), inputs=4)
    assert found.is_identified, found.reason
    assert found.network is not None
    assert unweave.match(found.network, truth).largest_error < largest_error


def test_an_onnx_file_on_the_command_line(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    secret = Network.shallow(
        rng.standard_normal((3, 5)), rng.standard_normal(3), rng.standard_normal((2, 3)), np.zeros(2), TANH
    )
    secret.to_onnx(tmp_path / "secret.onnx")
    assert run(["identify", str(tmp_path / "secret.onnx"), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    found = read_run(tmp_path / "run").result.network
    assert found is not None
    assert unweave.match(found, secret).largest_error < 1e-10


def test_a_module_in_a_file_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "my_models.py").write_text(MODELS)
    assert run(["identify", f"{tmp_path / 'my_models.py'}:module", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("{here}/my_models.py:not_fitted", "LinearRegression does not say how many inputs it has"),
        ("{here}/my_models.py:missing", "needs 'missing'"),
        ("{here}/nothing.py:model", "there is none: check the path"),
        ("{here}/nothing.onnx", "there is no model at"),
        ("{here}/model.pt", "would run whatever code it names"),
    ],
)
def test_wrong_use_is_said_with_exit_code_2(
    target: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_models.py").write_text(MODELS)
    (tmp_path / "model.pt").write_bytes(b"")
    assert run(["identify", target.format(here=tmp_path), "--quiet"]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())
