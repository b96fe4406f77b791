"""Answers that are kept: every answer is on disk before it is used, so that a run that is repeated goes on."""
