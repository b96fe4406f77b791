"""Which activation is tried when, and that the ones that are tried late are found by evidence."""

from dataclasses import dataclass

import numpy as np
import pytest

from unweave import Box, Outcome, identify
from unweave.activations import (
    ELU,
    ERF,
    GELU,
    MISH,
    NAMED,
    SELU,
    SILU,
    SOFTPLUS,
    TANH,
    Activation,
    activation_named,
    simplest_activations,
)
from unweave.identification.candidates import ranked_fits
from unweave.networks.planted import general_network
from unweave.networks.symmetries import match


@dataclass(frozen=True)
class Fitted:
    activation: Activation
    typical_misfit: float


def ranked(misfits: dict[Activation, float]) -> tuple[list[Activation], list[Activation]]:
    """The order of the activations, and those that were fitted."""
    asked: list[Activation] = []

    def fit(activation: Activation) -> Fitted:
        asked.append(activation)
        return Fitted(activation, misfits[activation])

    return [each.activation for each in ranked_fits(fit, misfits, clear_misfit=1e-3)], asked


def test_late_activations_are_not_fitted_if_a_usual_one_is_clear() -> None:
    order, asked = ranked({MISH: 1e-9, TANH: 0.3, SILU: 1e-4})
    assert order == asked[::-1] == [SILU, TANH]


def test_late_activations_come_first_only_if_they_fit_much_better() -> None:
    assert ranked({TANH: 0.3, SILU: 0.02, MISH: 1e-6, ELU: 0.01})[0] == [MISH, SILU, TANH]
    assert ranked({TANH: 0.3, SILU: 0.02, MISH: 0.015})[0] == [SILU, TANH]
    assert ranked({ELU: 0.5, SELU: 0.4})[0] == [SELU, ELU]


def test_candidates_are_those_of_the_table_that_nothing_simpler_replaces() -> None:
    curved = simplest_activations(lambda activation: activation.is_curved)
    usual = [each.name for each in curved if not each.is_tried_late]
    assert usual == ["tanh", "softplus", "gelu", "erf", "silu", "sin", "gaussian"]
    assert all(each.rewriting is None for each in curved)
    assert {each for each in NAMED.values() if each.is_tried_late} <= set(curved)


@pytest.mark.each_value
@pytest.mark.parametrize("domain", [None, Box(-2.0, 2.0)], ids=["everywhere", "box"])
@pytest.mark.parametrize("activation", [MISH, ELU, SELU, SILU, GELU, SOFTPLUS, ERF], ids=repr)
def test_close_relatives_are_told_apart_by_their_answers(activation: Activation, domain: Box | None) -> None:
    truth = general_network(np.random.default_rng(100), inputs=6, neurons=3, activation=activation)
    found = identify(truth, domain=domain, seed=100)
    assert found.outcome is Outcome.IDENTIFIED
    assert found.network is not None
    assert found.network.layers[0].activation == activation
    assert match(found.network, truth).largest_error < 1e-9


@pytest.mark.parametrize("name", ["elu(0.5)", "selu", "hard_sigmoid", "mish"])
def test_a_given_activation_is_the_one_that_is_delivered(name: str) -> None:
    truth = general_network(np.random.default_rng(101), inputs=5, neurons=4, activation=activation_named(name))
    found = identify(truth, activation=name, seed=101)
    assert found.outcome is Outcome.IDENTIFIED
    assert found.network is not None
    assert found.network.layers[0].activation.name == name
    assert match(found.network, truth).largest_error < 1e-9


def test_another_activation_than_the_given_one_is_never_identified() -> None:
    """ELU and SELU differ in one number: answers of one do not pass for the other."""
    truth = general_network(np.random.default_rng(102), inputs=5, neurons=4, activation=SELU)
    assert identify(truth, activation="elu", seed=102).outcome is not Outcome.IDENTIFIED
