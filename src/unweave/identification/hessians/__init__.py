"""Shallow smooth networks from second derivatives."""
