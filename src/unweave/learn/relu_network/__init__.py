"""Depth-2 relu networks with biases from samples with Gaussian inputs."""
