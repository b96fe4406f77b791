"""Final errors of entangled weights by differences [fiedler, Table 4.6]."""

from unweave.reproduce.fiedler.deep.recovery_tables import matrices_table
from unweave.reproduce.fiedler.deep.teachers import DIFFERENCES

EXPERIMENT = matrices_table(DIFFERENCES)
