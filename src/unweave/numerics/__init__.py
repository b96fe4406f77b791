"""Numerical methods that two or more methods share."""
