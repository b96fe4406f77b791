"""Directions -> network: neuron profiles, scales, biases, output weights and signs."""
