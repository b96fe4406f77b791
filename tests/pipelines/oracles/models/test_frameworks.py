"""Models of the real Keras and the real Flax: model in, network out.

`UNWEAVE_FRAMEWORKS` names the folder of an environment with keras and flax beside all that Unweave needs; `.ci/full`
makes it. Other tests have stand-ins.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ENVIRONMENT = os.environ.get("UNWEAVE_FRAMEWORKS")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(ENVIRONMENT is None, reason="UNWEAVE_FRAMEWORKS names no environment with Keras and Flax"),
]

KERAS = """
import keras

keras.utils.set_random_seed(0)
layers = keras.layers
hidden = layers.Dense(3, activation="tanh", bias_initializer="normal")
last = layers.Dense(1, bias_initializer="normal", name="score")


def weights():
    return [each for layer in (hidden, last) for each in layer.get_weights()]
"""
SEQUENTIAL = """
model = keras.Sequential([keras.Input((4,)), hidden, last])
"""
SEVERAL_OUTPUTS = """
rows = keras.Input((4,))
inside = hidden(rows)
model = keras.Model(rows, {"score": last(inside), "other": layers.Dense(2)(inside)})
settings["output"] = "score"
"""
IMAGES = """
model = keras.Sequential([keras.Input((2, 2)), layers.Flatten(), hidden, last])
"""
OWN_CLASS = """
class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.two = hidden, last

    def call(self, rows):
        return self.two(self.one(rows))


model = Model()
model(np.zeros((1, 4)))
"""
FLAX = """
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
"""
NNX = """
from flax import nnx

normal = nnx.initializers.normal()


class Model(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(4, 3, param_dtype=jnp.float64, bias_init=normal, rngs=rngs)
        self.two = nnx.Linear(3, 1, param_dtype=jnp.float64, bias_init=normal, rngs=rngs)

    def __call__(self, rows):
        return self.two(jnp.tanh(self.one(rows)))


model = Model(nnx.Rngs(0))


def weights():
    return [np.array(each[...]) for layer in (model.one, model.two) for each in (layer.kernel, layer.bias)]
"""
LINEN = """
from flax import linen

normal = linen.initializers.normal()


class Model(linen.Module):
    @linen.compact
    def __call__(self, rows):
        inside = jnp.tanh(linen.Dense(3, param_dtype=jnp.float64, bias_init=normal)(rows))
        return linen.Dense(1, param_dtype=jnp.float64, bias_init=normal)(inside)


unbound = Model()
variables = unbound.init(jax.random.key(0), np.zeros((1, 4)))


def weights():
    layers = (variables["params"][name] for name in ("Dense_0", "Dense_1"))
    return [np.array(layer[name]) for layer in layers for name in ("kernel", "bias")]


try:
    unweave.identify(unbound, inputs=4)
except unweave.exceptions.InvalidInput as error:
    said = str(error)
"""
BOUND = """
model = unbound.bind(variables)
settings["inputs"] = 4
"""
JITTED = """
model = jax.jit(lambda rows: unbound.apply(variables, rows))
settings["inputs"] = 4
"""
BEGIN = """
import json

import numpy as np

import unweave
from unweave.activations import TANH

settings, said = {}, ""
"""
END = """
found = unweave.identify(model, **settings)
first, biases, second, offset = (np.asarray(each, dtype=np.float64) for each in weights())
truth = unweave.Network.shallow(first.T.copy(), biases, second.T.copy(), offset, TANH)
error = unweave.match(found.network, truth).largest_error if found.network else None
print(json.dumps({"outcome": found.outcome.value, "error": error, "reason": found.reason, "said": said}))
"""


def identified(folder: Path, *parts: str) -> dict[str, Any]:
    """Run a script in the environment: what it has found."""
    script = folder / "script.py"
    script.write_text("".join([BEGIN, *parts, END]))
    variables = os.environ | {"KERAS_BACKEND": "torch"}
    done = subprocess.run(
        [f"{ENVIRONMENT}/bin/python", script], capture_output=True, text=True, timeout=300, env=variables, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("model", [SEQUENTIAL, SEVERAL_OUTPUTS, IMAGES, OWN_CLASS])
def test_models_of_keras_that_compute_with_torch(model: str, tmp_path: Path) -> None:
    """Keras computes in float32, so that parameters are known to its digits; inputs come from the model."""
    found = identified(tmp_path, KERAS, model)
    assert found["outcome"] == "identified", found["reason"]
    assert found["error"] < 1e-4


@pytest.mark.parametrize("parts", [(NNX,), (LINEN, BOUND), (LINEN, JITTED)])
def test_modules_of_flax(parts: tuple[str, ...], tmp_path: Path) -> None:
    found = identified(tmp_path, FLAX, *parts)
    assert found["outcome"] == "identified", found["reason"]
    assert found["error"] < 1e-10
    assert ("holds no parameters: give model.bind(variables)" in found["said"]) == (LINEN in parts)
