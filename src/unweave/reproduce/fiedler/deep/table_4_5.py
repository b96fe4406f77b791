"""Layers of entangled weights with exact derivatives [fiedler, Table 4.5]."""

from unweave.reproduce.fiedler.deep.recovery_tables import labels_table
from unweave.reproduce.fiedler.deep.teachers import EXACT

EXPERIMENT = labels_table(EXACT)
