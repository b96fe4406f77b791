"""Deep networks of squares with skip links: evaluation, free parameters, planted teachers."""
