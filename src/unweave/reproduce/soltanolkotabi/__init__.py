"""[soltanolkotabi] Theoretical insights into the optimization landscape of over-parameterized shallow networks."""
