"""Networks from samples that somebody else chose."""
