"""Ask a Keras model, whatever it computes with, in the shape that it says; Keras itself is not imported."""

from contextlib import suppress
from math import prod
from typing import Any, Unpack

import numpy as np

from unweave.arrays import Points
from unweave.exceptions import BadAnswer, InvalidInput
from unweave.oracles.models.kinds import check_size, input_shape_of
from unweave.oracles.oracle import CallableOracle, OracleSettings


class KerasOracle(CallableOracle):
    """Ask a Keras model as it answers outside of training; points are rows, whatever shape it takes.

    Args:
        model: with one input of numbers.
        inputs: number of inputs, where the model was not built yet.
        output: name of the output that is asked, if it has several.
        settings: of the oracle.

    Raises:
        InvalidInput: if it does not say how many inputs it has, has several, or has outputs of other names.
    """

    def __init__(
        self,
        model: Any,
        *,
        inputs: int | None = None,
        output: str | None = None,
        **settings: Unpack[OracleSettings],
    ) -> None:
        shape = input_shape_of(model)
        if shape is None and inputs is None:
            raise InvalidInput(
                "the model does not say how many inputs it has: it was not built yet, takes several inputs, or one of "
                "open size: call it once, or give inputs=."
            )
        if shape is not None:
            check_size("inputs", inputs, prod(shape))
        self._shape = shape or (inputs or 0,)
        self._names, self._output = _outputs_of(model), output
        if output is None and len(self._names) > 1:
            raise InvalidInput(f"the model has several outputs: name one of {', '.join(self._names)} with output=.")
        if output is not None and output not in self._names:
            raise InvalidInput(f"the model has no output {output!r}: use one of {', '.join(self._names) or 'none'}.")
        # It answers in a tensor when it is called; this way in an array, and as it does outside of training.
        super().__init__(getattr(model, "predict_on_batch", model), inputs=prod(self._shape), **settings)

    def _answer(self, points: Points) -> object:
        # A copy, so that a model that works in place can't change our points.
        answers = self._function(points.reshape(len(points), *self._shape).copy())
        if isinstance(answers, list | tuple) and len(answers) == len(self._names) and self._output is not None:
            answers = answers[self._names.index(self._output)]
        if isinstance(answers, dict) and self._output in answers:
            answers = answers[self._output]
        if isinstance(answers, dict | list | tuple):
            raise BadAnswer(
                f"the model answers with a {type(answers).__name__} of several outputs: wrap it in a function that "
                "gives one of them.",
                queries=self.ledger.sent,
            )
        rows = np.asarray(answers)
        return rows.reshape(len(rows), -1) if rows.ndim > 2 else rows


def _outputs_of(model: Any) -> list[str]:
    """Names of the outputs, as the model says them; none of a model that does not."""
    with suppress(AttributeError, ValueError):
        # Outputs that were given as a dictionary come back under its keys.
        if isinstance(model.output, dict):
            return list(model.output)
    return list(getattr(model, "output_names", None) or ())
