"""Networks as values: evaluation, symmetries, parameters and Jacobians, planted problems."""
