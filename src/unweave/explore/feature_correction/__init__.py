"""Backward feature correction, measured on anybody's network (torch is an optional extra)."""
