"""Completion of the network 50-25-10 in the course of the descent [fiedler, Fig. 4.5]."""

from unweave.reproduce.fiedler.deep.completion_curves import completion_figure

EXPERIMENT = completion_figure("50-25-10", "20-10-6", "figure-4.5")
