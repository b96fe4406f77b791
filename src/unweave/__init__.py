"""Recover a neural network from its answers.

found = unweave.identify(model, inputs=30, budget=20_000, seed=7)
found.outcome, found.network, found.certificate, found.queries
"""

from importlib import import_module
from typing import TYPE_CHECKING

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
_HOMES = {
    "identify": "unweave.identification.entry",
    "Identification": "unweave.identification.result",
    "Layer": "unweave.networks",
    "Network": "unweave.networks",
    "CallableOracle": "unweave.oracles.callables",
    "Box": "unweave.oracles.domains",
    "Everywhere": "unweave.oracles.domains",
    "Oracle": "unweave.oracles.oracle",
    "Outcome": "unweave.outcomes",
    "FeatureCorrection": "unweave.correction.result",
    "measure_feature_correction": "unweave.correction.entry",
    "canonical": "unweave.symmetries",
    "match": "unweave.symmetries",
}

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


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'unweave' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
