"""Networks of squares trained to the global optimum."""
