"""Completion of the network 50-35-25-10 in the course of the descent [fiedler, Fig. 4.7]."""

from unweave.reproduce.fiedler.deep.completion_curves import completion_figure

EXPERIMENT = completion_figure("50-35-25-10", "16-12-8-6", "figure-4.7")
