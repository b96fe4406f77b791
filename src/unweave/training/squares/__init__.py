"""Networks of squares with fixed output weights: global optima on any samples, with certificates."""
