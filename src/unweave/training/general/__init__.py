"""Networks with differentiable activations: training with the constants and certificates of the theory."""
