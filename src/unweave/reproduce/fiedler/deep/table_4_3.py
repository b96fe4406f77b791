"""Errors of the span and of entangled weights with exact derivatives [fiedler, Table 4.3]."""

from unweave.reproduce.fiedler.deep.recovery_tables import entangled_weights_table
from unweave.reproduce.fiedler.deep.teachers import EXACT

EXPERIMENT = entangled_weights_table(EXACT)
