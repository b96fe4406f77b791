"""Networks from samples that somebody else chose: scikit-learn estimators, loaded when first used."""

from typing import TYPE_CHECKING

import lazy_loader

from unweave.extras import need

need("sklearn", purpose="learning from samples")

if TYPE_CHECKING:
    from unweave.learn.hierarchical.estimators import HierarchicalClassifier, HierarchicalRegressor
    from unweave.learn.lowest_layer.estimators import (
        HalfspaceIntersectionClassifier,
        HalfspaceUnionClassifier,
        LowestLayerRegressor,
    )
    from unweave.learn.overparameterized.estimator import OverparameterizedRegressor
    from unweave.learn.quadratic.estimator import QuadraticNetworkRegressor
    from unweave.learn.relu_network.estimator import ReluNetworkRegressor
else:
    # Type checkers see the imports above, so that they refuse names that do not exist.
    __getattr__, __dir__, _ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "hierarchical.estimators": ["HierarchicalClassifier", "HierarchicalRegressor"],
            "lowest_layer.estimators": [
                "HalfspaceIntersectionClassifier",
                "HalfspaceUnionClassifier",
                "LowestLayerRegressor",
            ],
            "overparameterized.estimator": ["OverparameterizedRegressor"],
            "quadratic.estimator": ["QuadraticNetworkRegressor"],
            "relu_network.estimator": ["ReluNetworkRegressor"],
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
