"""Errors of the span and of entangled weights by differences [fiedler, Table 4.2]."""

from unweave.reproduce.fiedler.deep.recovery_tables import entangled_weights_table
from unweave.reproduce.fiedler.deep.teachers import DIFFERENCES

EXPERIMENT = entangled_weights_table(DIFFERENCES)
