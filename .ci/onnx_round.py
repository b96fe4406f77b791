"""Write a network into an ONNX file and identify it from there: the tests that do so need torch, too."""

import tempfile
from pathlib import Path

import numpy as np

import unweave
from unweave.activations import TANH
from unweave.networks.planted import general_network

with tempfile.TemporaryDirectory() as folder:
    truth = general_network(np.random.default_rng(0), inputs=4, neurons=3, activation=TANH)
    file = str(Path(folder) / "truth.onnx")
    truth.to_onnx(file)
    found = unweave.identify(file)
    assert found.is_identified, found.reason
    error = unweave.match(found.network, truth).largest_error
    assert error < 1e-8, error
    print(f"identified from an ONNX file, largest error {error:.0e}")
