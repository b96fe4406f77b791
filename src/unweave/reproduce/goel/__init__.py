"""[goel] Recovering the lowest layer of deep networks with high threshold activations."""
