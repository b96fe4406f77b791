"""Recover a neural network from its answers."""

__version__ = "0.1.0"
