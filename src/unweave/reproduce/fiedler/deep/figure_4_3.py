"""Share of entangled weights that are found, and of false ones [fiedler, Fig. 4.3]."""

from unweave.reproduce.experiment import Scale
from unweave.reproduce.fiedler.deep.concentration import ConcentrationRows, RowsByScale, measure_recovery
from unweave.reproduce.fiedler.deep.pictures import draw_recovered_shares

settings = RowsByScale(
    quick=ConcentrationRows(20, 4, (24, 56, 112), (1e-2, 10.0), ((2, 1.0),)),
    usual=ConcentrationRows(20, 4, (24, 40, 56, 72, 80, 88, 104), (1e-2, 1e-1, 1.0, 10.0)),
)
measure = measure_recovery
draw = draw_recovered_shares
TITLE = "entangled weights found by the power method, and false ones, by radius, depth and shape"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 2, Scale.FULL: 1}
COLUMNS = {
    "subspace": "subspace error over root of neurons",
    "recovered": "share found",
    "false_positives": "share false",
}
NOTES = (
    "The picture that was published has no numbers: with 100 inputs, 10 outputs and small radii all are found up "
    "to 900 or 1000 neurons, a little less from 500 on with four layers that hardly narrow; beyond 1100 few are.",
    "An entangled weight is found if an end is within 0.05, up to sign; an end is false if it is farther than that "
    "from all. Ascents are 1.5 m log m of 300 steps for m neurons, 10,000 of 15,000 in the published size.",
    "Networks of four layers with 20 inputs and 4 outputs are too small: there are false ends from the beginning.",
)
