"""Shallow piecewise linear networks from kinks along lines."""
