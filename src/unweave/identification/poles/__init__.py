"""Neurons from the poles that the answers on a line have at complex positions."""
