"""Networks from samples that somebody else chose: scikit-learn estimators, loaded when first used."""

from typing import TYPE_CHECKING

import lazy_loader

from unweave.extras import need

need("sklearn", purpose="learning from samples")

if TYPE_CHECKING:
    from unweave.learn.hierarchical.estimators import HierarchicalClassifier, HierarchicalRegressor
    from unweave.learn.hierarchical.joint_fit import JointLevenbergMarquardt
    from unweave.learn.lowest_layer.estimators import (
        HalfspaceIntersectionClassifier,
        HalfspaceUnionClassifier,
        LowestLayerRegressor,
    )
    from unweave.learn.lowest_layer.layer import ThresholdLayer
    from unweave.learn.overparameterized.descent import GradientDescent
    from unweave.learn.overparameterized.estimator import OverparameterizedRegressor
    from unweave.learn.overparameterized.newton import GramLevenbergMarquardt
    from unweave.learn.quadratic.estimator import QuadraticNetworkRegressor
    from unweave.learn.quadratic.search import ConjugateGradients, SteepestDescent, TrustRegion
    from unweave.learn.quadratic.train import DirectTraining
    from unweave.learn.relu_network.estimator import ReluNetworkRegressor
else:
    # Type checkers see the imports above, so that they refuse names that do not exist.
    __getattr__, __dir__, _ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "hierarchical.estimators": ["HierarchicalClassifier", "HierarchicalRegressor"],
            "hierarchical.joint_fit": ["JointLevenbergMarquardt"],
            "lowest_layer.estimators": [
                "HalfspaceIntersectionClassifier",
                "HalfspaceUnionClassifier",
                "LowestLayerRegressor",
            ],
            "lowest_layer.layer": ["ThresholdLayer"],
            "overparameterized.descent": ["GradientDescent"],
            "overparameterized.estimator": ["OverparameterizedRegressor"],
            "overparameterized.newton": ["GramLevenbergMarquardt"],
            "quadratic.search": ["ConjugateGradients", "SteepestDescent", "TrustRegion"],
            "quadratic.train": ["DirectTraining"],
            "quadratic.estimator": ["QuadraticNetworkRegressor"],
            "relu_network.estimator": ["ReluNetworkRegressor"],
        },
    )

__all__ = [
    "ConjugateGradients",
    "DirectTraining",
    "GradientDescent",
    "GramLevenbergMarquardt",
    "HalfspaceIntersectionClassifier",
    "HalfspaceUnionClassifier",
    "HierarchicalClassifier",
    "HierarchicalRegressor",
    "JointLevenbergMarquardt",
    "LowestLayerRegressor",
    "OverparameterizedRegressor",
    "QuadraticNetworkRegressor",
    "ReluNetworkRegressor",
    "SteepestDescent",
    "ThresholdLayer",
    "TrustRegion",
]
