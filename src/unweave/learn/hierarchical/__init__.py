"""Deep quadratic networks from samples, all levels learnt jointly."""
