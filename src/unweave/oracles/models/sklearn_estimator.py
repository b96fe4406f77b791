"""Ask a fitted scikit-learn estimator or pipeline, in the units that its scaler has learnt."""

import warnings
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
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
        self._estimator, self.method, self._names = estimator, _method_of(estimator), _names_of(estimator)

    def _answer(self, points: Points) -> object:
        with warnings.catch_warnings():
            # An estimator that was fitted to a table with names of columns is asked without them.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            answers = getattr(self._estimator, self.method)(_framed(points, self._names) if self._names else points)
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
    learnt = _learnt(steps[0]) if steps else None
    return None if learnt is None else Everywhere(scale=learnt[1], center=learnt[0])


def _learnt(step: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Centre and scale of its inputs that a step has learnt; None if it has learnt none."""
    if hasattr(step, "steps"):
        return _learnt(inner[0]) if (inner := _steps_of(step)) else None
    if hasattr(step, "transformers_"):
        return _learnt_of_columns(step)
    if hasattr(step, "data_min_"):
        center, scale = 0.5 * (step.data_min_ + step.data_max_), 0.5 * (step.data_max_ - step.data_min_)
    elif getattr(step, "scale_", None) is not None:
        scale = np.asarray(step.scale_, dtype=np.float64)
        learnt = next((each for each in ("mean_", "center_") if getattr(step, each, None) is not None), None)
        center = np.zeros_like(scale) if learnt is None else np.asarray(getattr(step, learnt), dtype=np.float64)
    else:
        return None
    # Columns that were constant have no unit.
    return center, np.where(scale > 0.0, scale, 1.0)


def _learnt_of_columns(step: Any) -> tuple[np.ndarray, np.ndarray]:
    """Put together what the parts of a ColumnTransformer have learnt; columns without units keep theirs."""
    places = np.arange(step.n_features_in_)
    by_name: dict[str, int] = {name: place for place, name in enumerate(getattr(step, "feature_names_in_", ()))}
    center, scale = np.zeros(len(places)), np.ones(len(places))
    for _, part, columns in step.transformers_:
        learnt = _learnt(part)
        if learnt is None:
            continue
        chosen = [columns] if isinstance(columns, str) else columns
        # Names, numbers, a slice, or one truth value per column.
        where = [by_name[each] if isinstance(each, str) else each for each in chosen] if _is_list(chosen) else chosen
        center[places[where]], scale[places[where]] = learnt
    return center, scale


def _is_list(columns: object) -> bool:
    return isinstance(columns, list | tuple | np.ndarray)


def _names_of(estimator: Any) -> list[str]:
    """Names of the columns of an estimator with a part that picks columns, where it was fitted to a DataFrame."""
    for inner in ("best_estimator_", "regressor_"):
        if hasattr(estimator, inner):
            return _names_of(getattr(estimator, inner))
    picks = any(hasattr(part, "transformers_") or _names_of(part) for part in _steps_of(estimator))
    return [str(name) for name in getattr(estimator, "feature_names_in_", ())] if picks else []


def _framed(points: Points, names: list[str]) -> Any:
    """Write points as a DataFrame of a library that is installed."""
    columns = {name: np.ascontiguousarray(column) for name, column in zip(names, points.T, strict=True)}
    for library in ("pandas", "polars"):
        if find_spec(library) is not None:
            return import_module(library).DataFrame(columns)
    # Steps of scikit-learn that pass columns through take no such table, but whoever has fitted them has the others.
    need("pyarrow", purpose="asking an estimator that picks columns by their names")
    return import_module("pyarrow").table(columns)
