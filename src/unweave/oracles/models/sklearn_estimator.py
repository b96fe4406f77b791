"""Ask a fitted scikit-learn estimator or pipeline, in the units that its scaler has learnt."""

import warnings
from contextlib import suppress
from typing import Any, Unpack

import numpy as np

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.extras import need
from unweave.oracles.models.kinds import check_size
from unweave.oracles.oracle import Everywhere, Oracle, OracleSettings


class SklearnOracle(Oracle):
    """Ask a fitted estimator: what a regressor predicts, scores of a classifier, or its probabilities.

    Args:
        estimator: regressor, classifier or pipeline that ends in one.
        inputs: number of inputs; it knows them.
        settings: of the oracle; without a domain it is all of space, in units of the scaler that it begins with.

    Raises:
        InvalidInput: if it is not fitted, or has another number of inputs.
    """

    def __init__(self, estimator: Any, *, inputs: int | None = None, **settings: Unpack[OracleSettings]) -> None:
        need("sklearn", purpose="asking an estimator")
        known = _inputs_of(estimator)
        if known is None and inputs is None:
            raise InvalidInput(
                f"the {type(estimator).__name__} does not say how many inputs it has: call its fit first, or give "
                "inputs= (--inputs)."
            )
        if known is not None:
            check_size("inputs", inputs, known)
        if settings.get("domain") is None:
            settings["domain"] = _units_of(estimator)
        super().__init__(inputs=known or inputs or 0, **settings)
        self._estimator, self.method = estimator, _method_of(estimator)

    def _answer(self, points: Points) -> object:
        with warnings.catch_warnings():
            # An estimator that was fitted to a table with names of columns is asked without them.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            answers = getattr(self._estimator, self.method)(points)
        if self.method == "predict" and hasattr(self._estimator, "classes_"):
            # Labels may be words; their places in the list of classes are numbers.
            return np.searchsorted(self._estimator.classes_, answers).astype(np.float64)
        return answers


def _inputs_of(estimator: Any) -> int | None:
    """Number of inputs, as an estimator or the first step of a pipeline that does anything says it; None before fit."""
    for part in (estimator, *_steps_of(estimator)):
        with suppress(AttributeError):
            return int(part.n_features_in_)
    return None


def _steps_of(estimator: Any) -> list[Any]:
    """Steps of a pipeline that do anything; none of another estimator."""
    return [step for _, step in getattr(estimator, "steps", ()) if step not in (None, "passthrough")]


def _method_of(estimator: Any) -> str:
    """Name the method with the most telling answers."""
    from sklearn.base import is_classifier

    if not is_classifier(estimator):
        return "predict"
    return next(name for name in ("decision_function", "predict_proba", "predict") if hasattr(estimator, name))


def _units_of(estimator: Any) -> Everywhere | None:
    """Centre and scale of the inputs, as the first step of a pipeline has learnt them; None without such a step."""
    for inner in ("best_estimator_", "regressor_"):
        if hasattr(estimator, inner):
            return _units_of(getattr(estimator, inner))
    steps = _steps_of(estimator)
    if not steps:
        return None
    scaler = steps[0]
    if hasattr(scaler, "steps"):
        return _units_of(scaler)
    if hasattr(scaler, "data_min_"):
        center, scale = 0.5 * (scaler.data_min_ + scaler.data_max_), 0.5 * (scaler.data_max_ - scaler.data_min_)
    elif getattr(scaler, "scale_", None) is not None:
        scale = np.asarray(scaler.scale_, dtype=np.float64)
        learnt = next((each for each in ("mean_", "center_") if getattr(scaler, each, None) is not None), None)
        center = np.zeros_like(scale) if learnt is None else np.asarray(getattr(scaler, learnt), dtype=np.float64)
    else:
        return None
    # Columns that were constant have no unit.
    return Everywhere(scale=np.where(scale > 0.0, scale, 1.0), center=center)
