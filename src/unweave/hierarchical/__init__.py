"""Hierarchical learning: quadratic networks with skip links, whose levels correct each other while they learn."""
