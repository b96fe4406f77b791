"""Exact values from rounded answers: places where the answer switches to the next number of its grid."""
