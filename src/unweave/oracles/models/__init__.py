"""Models as people have them: torch modules, scikit-learn estimators and ONNX files, each as an oracle."""
