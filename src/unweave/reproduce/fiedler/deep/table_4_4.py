"""Layers of entangled weights by differences [fiedler, Table 4.4]."""

from unweave.reproduce.fiedler.deep.recovery_tables import labels_table
from unweave.reproduce.fiedler.deep.teachers import DIFFERENCES

EXPERIMENT = labels_table(DIFFERENCES)
