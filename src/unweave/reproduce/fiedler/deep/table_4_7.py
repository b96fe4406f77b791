"""Final errors of entangled weights with exact derivatives [fiedler, Table 4.7]."""

from unweave.reproduce.fiedler.deep.recovery_tables import matrices_table
from unweave.reproduce.fiedler.deep.teachers import EXACT

EXPERIMENT = matrices_table(EXACT)
