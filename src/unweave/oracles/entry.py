"""From whatever a user has to the oracle that asks it: a model of any kind, with a journal if answers are kept."""

from pathlib import Path
from types import FunctionType
from typing import Any

from unweave.exceptions import InvalidInput
from unweave.oracles.oracle import CallableOracle, Domain, Oracle, inputs_of_domain


def as_oracle(
    model: Any,
    *,
    inputs: int | None,
    outputs: int | None,
    domain: Domain | None,
    budget: int | None,
    output: str | None = None,
    journal: object = None,
) -> Oracle:
    """Give the oracle that a model is, or one that asks it; wrong settings raise `InvalidInput`.

    Args:
        model: an oracle, a model of a known kind, the path or the address of one, or a callable.
        inputs, outputs, domain, budget: of the oracle.
        output: name of the output that is asked, where the model has several.
        journal: a `Journal`, or the path of one, if answers are to be kept.
    """
    oracle = _oracle_of(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget, output=output)
    if journal is None or oracle.is_recorded:
        return oracle
    from unweave.oracles.journal.oracle import Journal, JournalOracle

    if isinstance(oracle, JournalOracle):
        raise InvalidInput("the model is asked through a journal already: leave journal= out.")
    if not isinstance(journal, str | Path | Journal):
        raise InvalidInput(f"identify needs journal= to be a path or a Journal, got {journal!r}.")
    return JournalOracle(oracle, journal if isinstance(journal, Journal) else Journal(journal))


def _oracle_of(
    model: Any,
    *,
    inputs: int | None,
    outputs: int | None,
    domain: Domain | None,
    budget: int | None,
    output: str | None,
) -> Oracle:
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
        from unweave.oracles.models.kinds import oracle_of_model

        known = oracle_of_model(model, inputs=inputs, outputs=outputs, domain=domain, budget=budget, output=output)
    inputs = inputs_of_domain(domain) if inputs is None else inputs
    if known is None and inputs is None:
        raise InvalidInput("identify needs inputs=, the number of inputs of the model.")
    return known or CallableOracle(model, inputs=inputs or 0, outputs=outputs, domain=domain, budget=budget)


def _names_outputs(model: Any) -> bool:
    """Whether outputs of a model may have names: those of files, of servers and of Keras."""
    from unweave.oracles.models.kinds import is_keras

    return isinstance(model, str | Path) or is_keras(model)
