"""Paths along which neurons can be read off one by one: where they lead, and what is met on them."""
