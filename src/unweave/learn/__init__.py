"""Networks from samples that somebody else chose: scikit-learn estimators, loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unweave.learn.hierarchical.estimators import HierarchicalClassifier, HierarchicalRegressor
    from unweave.learn.lowest_layer.halfspaces import HalfspaceIntersectionClassifier, HalfspaceUnionClassifier
    from unweave.learn.lowest_layer.regressor import LowestLayerRegressor
    from unweave.learn.overparameterized import OverparameterizedRegressor
    from unweave.learn.quadratic import QuadraticNetworkRegressor
    from unweave.learn.relu_network.regressor import ReluNetworkRegressor

_HOMES = {
    "HalfspaceIntersectionClassifier": "unweave.learn.lowest_layer.halfspaces",
    "HalfspaceUnionClassifier": "unweave.learn.lowest_layer.halfspaces",
    "HierarchicalClassifier": "unweave.learn.hierarchical.estimators",
    "HierarchicalRegressor": "unweave.learn.hierarchical.estimators",
    "LowestLayerRegressor": "unweave.learn.lowest_layer.regressor",
    "OverparameterizedRegressor": "unweave.learn.overparameterized",
    "QuadraticNetworkRegressor": "unweave.learn.quadratic",
    "ReluNetworkRegressor": "unweave.learn.relu_network.regressor",
}

__all__ = [
    "HalfspaceIntersectionClassifier",
    "HalfspaceUnionClassifier",
    "HierarchicalClassifier",
    "HierarchicalRegressor",
    "LowestLayerRegressor",
    "OverparameterizedRegressor",
    "QuadraticNetworkRegressor",
    "ReluNetworkRegressor",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'unweave.learn' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
