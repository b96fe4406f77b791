"""Over-parameterised shallow networks with differentiable activations."""
