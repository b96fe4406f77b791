"""Follow the recipes of CONTRIBUTING.md, with the code that stands there."""

import re
import subprocess
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import test_activations
import unweave
from assertions import assert_recovered
from plants import shallow_network
from unweave.activations import IDENTITY, NAMED, Activation, Reflection, Tail
from unweave.arrays import Points
from unweave.exceptions import BudgetExhausted, OracleFailed
from unweave.identification.found import Found, Settled
from unweave.identification.identifier import Identifier
from unweave.identification.refiner import Refiner
from unweave.identification.routes import Condition, Decision, Known, Survey, leave, take
from unweave.learn.stages import Stages
from unweave.networks.network import Layer, Network
from unweave.oracles.oracle import Oracle
from unweave.oracles.views import in_oracle_units
from unweave.result import Cost, Outcome, Result

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
# What the files in which the recipes begin import.
IMPORTS = {
    "activation": {"np": np, "Activation": Activation, "Reflection": Reflection, "Tail": Tail},
    "oracle": {"np": np, "subprocess": subprocess, "Sequence": Sequence, "Points": Points, "Oracle": Oracle},
    "route": {
        each.__name__: each
        for each in (dataclass, Decision, Found, Known, Layer, Network, Outcome, Refiner, Settled, Survey)
    }
    | {"np": np, "Condition": Condition, "IDENTITY": IDENTITY, "take": take, "leave": leave}
    | {"in_oracle_units": in_oracle_units},
    "estimator": {each.__name__: each for each in (Cost, Layer, Network, Outcome, Result, Stages)}
    | {"np": np, "Any": Any, "Self": Self, "IDENTITY": IDENTITY},
}


def recipe(name: str, page: str) -> tuple[str, str]:
    """Where the code of a recipe belongs, and the code."""
    found = re.search(rf"```python\n# {name}: (\S+)\n(.*?)```", page, flags=re.DOTALL)
    assert found is not None, f"the page has no code for {name}"
    return found.group(1), found.group(2)


@pytest.fixture
def followed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module with the code of a recipe."""
    path, code = recipe(request.param, PAGE.read_text(encoding="utf-8"))
    module = types.ModuleType(f"recipe_{request.param}")
    module.__dict__.update(IMPORTS[request.param])
    if request.param == "estimator":
        from unweave.learn.base import NetworkRegressor

        module.__dict__["NetworkRegressor"] = NetworkRegressor
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code, path, "exec"), module.__dict__)
    return module


def follows(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("followed", [name], indirect=True)


@follows("activation")
def test_an_activation_is_one_entry(followed: types.ModuleType, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wavelet = followed.WAVELET
    monkeypatch.setitem(NAMED, wavelet.name, wavelet)
    for order in (1, 2, 3):
        test_activations.test_derivatives_agree_with_central_differences(wavelet, order, seed)
    test_activations.test_tails_are_approached(wavelet)
    test_activations.test_values_are_finite_and_quiet_far_out(wavelet)
    test_activations.test_reflection_law_holds(wavelet, seed)
    test_activations.test_homogeneity_is_stated_exactly_where_it_holds(wavelet, seed)
    assert unweave.activations.activation_named("wavelet") is wavelet
    truth = shallow_network(np.random.default_rng(seed), inputs=4, neurons=3, activation=wavelet)
    assert_recovered(unweave.identify(truth, inputs=4, activation=wavelet, seed=seed), truth)


# Two tanh neurons, in plain Python.
PROGRAM = """
import math, sys
for line in sys.stdin:
    x, y = map(float, line.split())
    print(repr(math.tanh(x + 0.5 * y + 0.1) - 2 * math.tanh(0.3 * x - y)))
"""


@follows("oracle")
def test_an_oracle_is_one_method(followed: types.ModuleType, seed: int) -> None:
    command = [sys.executable, "-S", "-c", PROGRAM]
    oracle = followed.ProgramOracle(command, inputs=2)
    points = np.random.default_rng(seed).standard_normal((5, 2))
    answers = np.tanh(points @ [1, 0.5] + 0.1) - 2 * np.tanh(points @ [0.3, -1])
    np.testing.assert_allclose(oracle.query(points)[:, 0], answers, rtol=1e-15)
    assert oracle.ledger.sent == 5
    found = unweave.identify(followed.ProgramOracle(command, inputs=2), seed=seed)
    truth = Network.shallow(
        np.array([[1, 0.5], [0.3, -1]]), np.array([0.1, 0.0]), np.array([[1.0, -2.0]]), np.zeros(1), NAMED["tanh"]
    )
    assert_recovered(found, truth)


@follows("oracle")
def test_its_failures_are_told(followed: types.ModuleType) -> None:
    broken = followed.ProgramOracle([sys.executable, "-S", "-c", "raise SystemExit(1)"], inputs=2)
    with pytest.raises(OracleFailed, match="after 0 answered queries"):
        broken.query(np.zeros((1, 2)))
    with pytest.raises(BudgetExhausted):
        followed.ProgramOracle([sys.executable], inputs=2, budget=3).query(np.zeros((4, 2)))


@follows("route")
def test_a_route_is_a_row_of_a_table(followed: types.ModuleType, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    route, before = followed.AffineFit(suits=followed.is_straight), Identifier.routes
    monkeypatch.setattr(Identifier, "routes", property(lambda self: (route, *before.fget(self))))
    rng = np.random.default_rng(seed)
    slope, offset = rng.standard_normal((4, 2)), rng.standard_normal(2)
    found = unweave.identify(lambda points: points @ slope + offset, inputs=4, seed=seed)
    assert (found.outcome, found.route) == (Outcome.PARTLY_IDENTIFIED, "affine fit")
    assert found.network is not None
    np.testing.assert_allclose(found.network.skip, slope.T, atol=1e-12)
    np.testing.assert_allclose(found.network.layers[1].biases, offset, atol=1e-12)
    truth = shallow_network(rng, inputs=4, neurons=3)
    bent = unweave.identify(truth, inputs=4, seed=seed)
    assert_recovered(bent, truth)
    assert bent.route != "affine fit"
    assert [each.because for each in bent.routes if each.route == "affine fit"] == ["the first answers show curvature."]


@follows("estimator")
def test_an_estimator_lies_beside_its_algorithm(followed: types.ModuleType, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, slope = rng.standard_normal((50, 3)), rng.standard_normal(3)
    model = followed.AffineRegressor().fit(points, points @ slope + 2.0)
    np.testing.assert_allclose(model.network_.layers[0].weights[0], slope)
    np.testing.assert_allclose(model.predict(points), points @ slope + 2.0)
    assert model.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert model.result_.cost.samples == 50
    through_zero = followed.AffineRegressor(fit_bias=False).fit(points, points @ slope + 2.0)
    assert through_zero.network_.layers[0].biases[0] == 0.0


@follows("estimator")
@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_accepts_it(followed: types.ModuleType) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(followed.AffineRegressor())


def test_a_missing_recipe_is_noticed() -> None:
    assert recipe("one", "```python\n# one: a/b.py\nx = 1\n```") == ("a/b.py", "x = 1\n")
    with pytest.raises(AssertionError, match="no code for two"):
        recipe("two", "```python\n# one: a/b.py\nx = 1\n```")
