"""Activations that carry a number, and all activations by name."""

import numpy as np

from unweave.activations.formulas import Reflection, Tail, elu_derivatives
from unweave.activations.table import (
    ELU,
    LEAKY_RELU,
    NAMED,
    RELU_TAILS,
    SELU,
    SELU_ALPHA,
    SELU_SCALE,
    SOFTPLUS,
    STEP,
    Activation,
    Rewriting,
    leaky_relu,
)
from unweave.exceptions import InvalidInput


def _positive(number: float, family: str, name: str) -> float:
    number = float(number)
    if not (np.isfinite(number) and number > 0):
        raise InvalidInput(f"{family} needs a positive finite {name}, got {number}.")
    return number


def softplus(beta: float) -> Activation:
    """The activation ``log(1 + exp(beta t)) / beta``."""
    beta = _positive(beta, "softplus", "beta")
    if beta == 1.0:
        return SOFTPLUS
    scaled = tuple((lambda t, order=order: beta ** (order - 1) * SOFTPLUS(beta * t, order)) for order in range(4))
    return Activation(
        f"softplus({beta!r})",
        scaled,
        Reflection(sign=1, slope=-1.0),
        RELU_TAILS,
        rewriting=Rewriting(base=SOFTPLUS, inner=beta, outer=1.0 / beta, offset=0.0),
    )


def elu(alpha: float) -> Activation:
    """The activation ``t`` for positive and ``alpha (exp(t) - 1)`` for negative arguments."""
    alpha = _positive(alpha, "elu", "alpha")
    if alpha == 1.0:
        return ELU
    is_selu = alpha == SELU_ALPHA
    return Activation(
        f"elu({alpha!r})",
        elu_derivatives(alpha),
        tails=(Tail(0.0, -alpha), Tail(1.0)),
        kinks=(0.0,),
        rewriting=Rewriting(base=SELU, inner=1.0, outer=1.0 / SELU_SCALE, offset=0.0) if is_selu else None,
    )


# Families with the name of their number.
FAMILIES = {"softplus": (softplus, "beta"), "leaky_relu": (leaky_relu, "slope"), "elu": (elu, "alpha")}


def activation_named(name: str) -> Activation:
    """Look an activation up by name; some carry a number, as `softplus(2.0)`, `leaky_relu(0.1)` and `elu(0.5)` do.

    Raises:
        InvalidInput: if there is none of this name.
    """
    named = {**NAMED, "leaky_relu": LEAKY_RELU, STEP.name: STEP}
    if name in named:
        return named[name]
    family, _, number = name.partition("(")
    if family in FAMILIES and number.endswith(")"):
        try:
            value = float(number[:-1])
        except ValueError as error:
            raise InvalidInput(f"{family} needs a number in its parentheses, got {name!r}.") from error
        return FAMILIES[family][0](value)
    families = ", ".join(f"{family}({number})" for family, (_, number) in FAMILIES.items())
    raise InvalidInput(f"unknown activation {name!r}: use one of {', '.join(NAMED)}, step, or a number in {families}.")
