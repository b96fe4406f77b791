"""Training of one-hidden-layer networks on given samples, with the theory's guarantees checked on the samples."""
