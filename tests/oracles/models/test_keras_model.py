from typing import Any

import numpy as np
import pytest

from asked_models import oracle_of, some_points
from unweave.exceptions import InvalidInput
from unweave.oracles.oracle import CallableOracle


def test_a_model_that_says_its_inputs_as_keras_does() -> None:
    class Model:
        input_shape = (None, 4)

        def __call__(self, points: np.ndarray) -> np.ndarray:
            return points

    oracle = oracle_of(Model())
    assert isinstance(oracle, CallableOracle)
    assert oracle.inputs == 4
    with pytest.raises(InvalidInput, match="the model has 4 inputs"):
        oracle_of(Model(), inputs=3)


def test_a_model_of_keras_that_computes_with_torch_answers_in_arrays() -> None:
    from torch import nn

    class Model(nn.Module):
        input_shape = (None, 4)

        def predict_on_batch(self, points: np.ndarray) -> np.ndarray:
            return 2.0 * points

    np.testing.assert_array_equal(oracle_of(Model()).query(some_points(4)), 2.0 * some_points(4))


def test_points_are_given_in_the_shape_that_a_model_of_keras_takes() -> None:
    class Model:
        """Of the user's own class: what it was called with is known, no shape is declared."""

        def get_build_config(self) -> dict:
            return {"input_shape": (1, 2, 3)}

        def __call__(self, points: np.ndarray) -> np.ndarray:
            assert points.shape[1:] == (2, 3)
            return points[:, :, :2]

    oracle = oracle_of(Model())
    assert oracle.inputs == 6
    np.testing.assert_array_equal(oracle.query(some_points(6)), some_points(6)[:, [0, 1, 3, 4]])


@pytest.mark.parametrize("is_dictionary", [False, True])
def test_outputs_of_keras_have_names(is_dictionary: bool) -> None:
    class Model:
        input_shape = (None, 3)
        output_names = ("low", "high")

        def predict_on_batch(self, points: np.ndarray) -> Any:
            named = {"low": points, "high": 2.0 * points}
            return named if is_dictionary else list(named.values())

        __call__ = predict_on_batch

    np.testing.assert_array_equal(oracle_of(Model(), output="high").query(some_points(3)), 2.0 * some_points(3))
    with pytest.raises(InvalidInput, match=r"has several outputs: name one of low, high with output="):
        oracle_of(Model())
    with pytest.raises(InvalidInput, match="has no output 'middle': use one of low, high"):
        oracle_of(Model(), output="middle")


def test_a_model_of_keras_that_was_not_built_needs_its_inputs() -> None:
    def answer(_: object, points: np.ndarray) -> np.ndarray:
        return points

    model = type("Model", (), {"__module__": "keras.src.models.model", "__call__": answer})()
    with pytest.raises(InvalidInput, match="call it once, or give inputs="):
        oracle_of(model)
    assert oracle_of(model, inputs=4).query(some_points(4)).shape == some_points(4).shape
