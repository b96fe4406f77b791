"""Networks for other programs: torch modules, ONNX files, scikit-learn's networks, each with the same numbers."""
