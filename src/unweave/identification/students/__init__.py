"""A shallow network fitted from random starts: grown until it answers alike, then thinned to what is needed."""
