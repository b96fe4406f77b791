"""Shallow networks behind coarsely rounded answers, from fits to answers all over the domain."""
