"""Neurons that are constant or affine far out, each read where only it changes."""
