"""Answers -> statistics: derivatives by finite differences with steps fitted to the noise."""
