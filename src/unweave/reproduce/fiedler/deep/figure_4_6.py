"""Completion of the network 50-25-50 in the course of the descent [fiedler, Fig. 4.6]."""

from unweave.reproduce.fiedler.deep.completion_curves import completion_figure

EXPERIMENT = completion_figure("50-25-50", "20-10-20", "figure-4.6")
