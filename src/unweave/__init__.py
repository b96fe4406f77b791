"""Recover a neural network from its answers.

found = unweave.identify(model, inputs=30, budget=20_000, seed=7)
found.outcome, found.network, found.certificate, found.queries

Everything that users need is imported from here or, for estimators, from `unweave.learn`.
"""

from typing import TYPE_CHECKING

import lazy_loader

__version__ = "0.2.0"

if TYPE_CHECKING:
    from unweave.activations import Activation, activation_named
    from unweave.certificates.certify import Certificate
    from unweave.exceptions import (
        BadAnswer,
        BudgetExhausted,
        InputWarning,
        InvalidInput,
        MissingExtra,
        NotIdentified,
        NotWritten,
        OracleError,
        OracleFailed,
        TransportFailed,
        UnreadableFile,
        UnweaveError,
    )
    from unweave.explore.feature_correction.entry import measure_feature_correction
    from unweave.explore.feature_correction.recipes import CosineSchedule, LinearSchedule, Recipe
    from unweave.explore.feature_correction.result import FeatureCorrection
    from unweave.explore.feature_correction.runner import MeasurementProgress
    from unweave.exposure.entry import audit
    from unweave.exposure.result import Audit, Exposure
    from unweave.identification.identifier import identify
    from unweave.identification.plateaus.entry import identify_lowest_layer
    from unweave.networks.network import Layer, Network
    from unweave.networks.quadratic.densenet import QuadraticDenseNet
    from unweave.networks.symmetries import Match, canonical, match
    from unweave.oracles.http.client import Transport
    from unweave.oracles.http.oracle import HttpOracle
    from unweave.oracles.journal.oracle import Journal
    from unweave.oracles.oracle import Box, CallableOracle, Everywhere, Oracle
    from unweave.reports.files import SavedRun, read_run, write_run
    from unweave.result import Cost, Diagnostic, InputRanges, Outcome, Result, Verdict
    from unweave.samples.arrow_files import ArrowSource, ParquetSource
    from unweave.samples.csv_files import CsvSource
    from unweave.samples.frames import FrameSource
    from unweave.samples.npy_files import NpySource
    from unweave.samples.sources import ArraySource, ChunkSource
    from unweave.samples.sums import DaskCluster
else:
    # Names are loaded when first used, so that `unweave --help` does not wait for the numerics.
    # Type checkers see the imports above, so that they refuse names that do not exist.
    __getattr__, __dir__, _ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "activations": ["Activation", "activation_named"],
            "certificates.certify": ["Certificate"],
            "exceptions": [
                "BadAnswer",
                "BudgetExhausted",
                "InputWarning",
                "InvalidInput",
                "MissingExtra",
                "NotIdentified",
                "NotWritten",
                "OracleError",
                "OracleFailed",
                "TransportFailed",
                "UnreadableFile",
                "UnweaveError",
            ],
            "explore.feature_correction.entry": ["measure_feature_correction"],
            "explore.feature_correction.recipes": ["CosineSchedule", "LinearSchedule", "Recipe"],
            "explore.feature_correction.runner": ["MeasurementProgress"],
            "explore.feature_correction.result": ["FeatureCorrection"],
            "exposure.entry": ["audit"],
            "exposure.result": ["Audit", "Exposure"],
            "identification.identifier": ["identify"],
            "identification.plateaus.entry": ["identify_lowest_layer"],
            "networks.network": ["Layer", "Network"],
            "networks.quadratic.densenet": ["QuadraticDenseNet"],
            "networks.symmetries": ["Match", "canonical", "match"],
            "oracles.http.client": ["Transport"],
            "oracles.http.oracle": ["HttpOracle"],
            "oracles.journal.oracle": ["Journal"],
            "oracles.oracle": ["Box", "CallableOracle", "Everywhere", "Oracle"],
            "reports.files": ["SavedRun", "read_run", "write_run"],
            "result": ["Cost", "Diagnostic", "InputRanges", "Outcome", "Result", "Verdict"],
            "samples.npy_files": ["NpySource"],
            "samples.sources": ["ArraySource", "ChunkSource"],
            "samples.sums": ["DaskCluster"],
            "samples.frames": ["FrameSource"],
            "samples.arrow_files": ["ArrowSource", "ParquetSource"],
            "samples.csv_files": ["CsvSource"],
        },
    )

__all__ = [
    "Activation",
    "ArraySource",
    "ArrowSource",
    "Audit",
    "BadAnswer",
    "Box",
    "BudgetExhausted",
    "CallableOracle",
    "Certificate",
    "ChunkSource",
    "CosineSchedule",
    "Cost",
    "CsvSource",
    "DaskCluster",
    "Diagnostic",
    "Everywhere",
    "Exposure",
    "FeatureCorrection",
    "FrameSource",
    "HttpOracle",
    "InputRanges",
    "InputWarning",
    "InvalidInput",
    "Journal",
    "Layer",
    "LinearSchedule",
    "Match",
    "MeasurementProgress",
    "MissingExtra",
    "Network",
    "NotIdentified",
    "NotWritten",
    "NpySource",
    "Oracle",
    "OracleError",
    "OracleFailed",
    "Outcome",
    "ParquetSource",
    "QuadraticDenseNet",
    "Recipe",
    "Result",
    "SavedRun",
    "Transport",
    "TransportFailed",
    "UnreadableFile",
    "UnweaveError",
    "Verdict",
    "activation_named",
    "audit",
    "canonical",
    "identify",
    "identify_lowest_layer",
    "match",
    "measure_feature_correction",
    "read_run",
    "write_run",
]
