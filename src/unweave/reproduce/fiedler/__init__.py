"""[fiedler] Finite sample identification of artificial neural networks."""
