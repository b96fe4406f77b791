"""Recover a neural network from its answers.

found = unweave.identify(model, inputs=30, budget=20_000, seed=7)
found.outcome, found.network, found.certificate, found.queries
"""

from typing import TYPE_CHECKING

import lazy_loader

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unweave.correction.entry import measure_feature_correction
    from unweave.correction.result import FeatureCorrection
    from unweave.identification.entry import identify
    from unweave.identification.result import Identification
    from unweave.networks import Layer, Network
    from unweave.oracles.callables import CallableOracle
    from unweave.oracles.domains import Box, Everywhere
    from unweave.oracles.oracle import Oracle
    from unweave.outcomes import Outcome
    from unweave.symmetries import canonical, match

# Names are loaded when first used, so that `unweave --help` does not wait for the numerics.
__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "correction.entry": ["measure_feature_correction"],
        "correction.result": ["FeatureCorrection"],
        "identification.entry": ["identify"],
        "identification.result": ["Identification"],
        "networks": ["Layer", "Network"],
        "oracles.callables": ["CallableOracle"],
        "oracles.domains": ["Box", "Everywhere"],
        "oracles.oracle": ["Oracle"],
        "outcomes": ["Outcome"],
        "symmetries": ["canonical", "match"],
    },
)

__all__ = [
    "Box",
    "CallableOracle",
    "Everywhere",
    "FeatureCorrection",
    "Identification",
    "Layer",
    "Network",
    "Oracle",
    "Outcome",
    "canonical",
    "identify",
    "match",
    "measure_feature_correction",
]
