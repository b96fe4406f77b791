"""Networks from samples that somebody else chose: scikit-learn estimators, loaded when first used."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from unweave.learn.hierarchical.estimators import HierarchicalClassifier, HierarchicalRegressor
    from unweave.learn.lowest_layer.halfspaces import HalfspaceIntersectionClassifier, HalfspaceUnionClassifier
    from unweave.learn.lowest_layer.regressor import LowestLayerRegressor
    from unweave.learn.overparameterized.estimator import OverparameterizedRegressor
    from unweave.learn.quadratic.estimator import QuadraticNetworkRegressor
    from unweave.learn.relu_network.regressor import ReluNetworkRegressor

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "hierarchical.estimators": ["HierarchicalClassifier", "HierarchicalRegressor"],
        "lowest_layer.halfspaces": ["HalfspaceIntersectionClassifier", "HalfspaceUnionClassifier"],
        "lowest_layer.regressor": ["LowestLayerRegressor"],
        "overparameterized.estimator": ["OverparameterizedRegressor"],
        "quadratic.estimator": ["QuadraticNetworkRegressor"],
        "relu_network.regressor": ["ReluNetworkRegressor"],
    },
)

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
