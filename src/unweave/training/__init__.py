"""Training of shallow networks on given samples: global optima with evidence, guarantees checked, landscapes."""
