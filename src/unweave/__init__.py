"""Recover a neural network from its answers.

found = unweave.identify(model, inputs=30, budget=20_000, seed=7)
found.outcome, found.network, found.certificate, found.queries
"""

from typing import TYPE_CHECKING

import lazy_loader

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unweave.explore.feature_correction.entry import measure_feature_correction
    from unweave.explore.feature_correction.result import FeatureCorrection
    from unweave.identification.identifier import identify
    from unweave.identification.plateaus.entry import identify_lowest_layer
    from unweave.networks.network import Layer, Network
    from unweave.networks.symmetries import canonical, match
    from unweave.oracles.oracle import Box, CallableOracle, Everywhere, Oracle
    from unweave.result import Outcome, Result

# Names are loaded when first used, so that `unweave --help` does not wait for the numerics.
__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "explore.feature_correction.entry": ["measure_feature_correction"],
        "explore.feature_correction.result": ["FeatureCorrection"],
        "identification.identifier": ["identify"],
        "identification.plateaus.entry": ["identify_lowest_layer"],
        "networks.network": ["Layer", "Network"],
        "oracles.oracle": ["Box", "CallableOracle", "Everywhere", "Oracle"],
        "result": ["Outcome", "Result"],
        "networks.symmetries": ["canonical", "match"],
    },
)

__all__ = [
    "Box",
    "CallableOracle",
    "Everywhere",
    "FeatureCorrection",
    "Layer",
    "Network",
    "Oracle",
    "Outcome",
    "Result",
    "canonical",
    "identify",
    "identify_lowest_layer",
    "match",
    "measure_feature_correction",
]
