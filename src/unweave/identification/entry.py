"""The query door: point Unweave at a black box and get the network back."""

from collections.abc import Callable

from unweave.activations import IDENTITY, QUADRATIC, Activation, activation_named
from unweave.exceptions import InvalidInput
from unweave.identification.identifier import Identifier
from unweave.identification.session import Progress
from unweave.networks.network import Network
from unweave.oracles.oracle import CallableOracle, Domain, Oracle
from unweave.result import Result


def identify(
    model: Oracle | Network | Callable[..., object],
    *,
    inputs: int | None = None,
    outputs: int | None = None,
    activation: str | Activation | None = None,
    neurons: int | None = None,
    domain: Domain | None = None,
    budget: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Recover the network behind a black box from its answers.

    Args:
        model: a callable on a batch (points x inputs -> points x outputs), or an `Oracle`.
        inputs: number of inputs; needed for a plain callable.
        outputs: number of outputs; learnt from the first answer if omitted.
        activation: the hidden activation, by name or as an object; chosen by evidence if omitted.
        neurons: the number of hidden neurons; found if omitted.
        domain: where the model may be asked, `Everywhere(scale=...)` or `Box(lower, upper)`.
        budget: the largest number of queries; never exceeded.
        seed: the same seed gives the same queries and the same result.
        progress: called with the name of the stage and the queries so far.

    Returns:
        The outcome, the network with its certificate, the diagnostics and the cost.

    Raises:
        InvalidInput: wrong arguments; nothing was queried.
        OracleError: the model raised or gave a bad answer.

    Assumes: one hidden layer, with an activation that is smooth or piecewise linear; or several layers of tanh or
    sigmoid, none wider than the one before, with an identity, tanh or sigmoid output. Other functions end as "not
    identified", or as partly identified with the first layer, as functions of steps do.
    """
    if isinstance(activation, str):
        activation = activation_named(activation)
    if activation in (IDENTITY, QUADRATIC):
        raise InvalidInput(f"identify needs an activation that determines its neurons, got {activation}: it does not.")
    if neurons is not None and (isinstance(neurons, bool) or not isinstance(neurons, int) or neurons < 1):
        raise InvalidInput(f"identify needs neurons to be a whole number of at least 1, got {neurons!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"identify needs a seed of at least 0, got {seed!r}.")
    oracle = as_oracle(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget)
    return Identifier(activation=activation, neurons=neurons)(oracle, seed=seed, progress=progress)


def as_oracle(
    model: Oracle | Network | Callable[..., object],
    *,
    inputs: int | None,
    outputs: int | None,
    domain: Domain | None,
    budget: int | None,
) -> Oracle:
    """The oracle that a model is, or one that asks it.

    Raises:
        InvalidInput: if its inputs are not known, or an oracle's settings are given twice.
    """
    if isinstance(model, Oracle):
        if any(setting is not None for setting in (inputs, outputs, domain, budget)):
            raise InvalidInput("an Oracle carries its own inputs, outputs, domain and budget: leave them out.")
        return model
    if isinstance(model, Network) and inputs is None:
        inputs = model.inputs
    if inputs is None:
        raise InvalidInput("identify needs inputs=, the number of inputs of the model.")
    return CallableOracle(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget)
