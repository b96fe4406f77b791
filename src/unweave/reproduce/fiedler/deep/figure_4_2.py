"""Error of the span by radius, depth, shape and number of neurons [fiedler, Fig. 4.2]."""

from unweave.reproduce.experiment import Scale
from unweave.reproduce.fiedler.deep.concentration import ConcentrationRows, RowsByScale, measure_span
from unweave.reproduce.fiedler.deep.pictures import draw_span_errors

settings = RowsByScale(
    quick=ConcentrationRows(20, 4, (24, 48, 72, 96, 112), (1e-2, 10.0), ((2, 1.0), (3, 0.5))),
    usual=ConcentrationRows(30, 6, (60, 100, 140, 160, 180, 200, 220, 250)),
)
measure = measure_span
draw = draw_span_errors
TITLE = "error of the span of Hessians by radius, depth and shape"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 2, Scale.FULL: 1}
COLUMNS = {"subspace": "subspace error over root of neurons"}
NOTES = (
    "The picture that was published has no numbers: for radii up to 0.1 the error is small and does not depend on "
    "the radius, at 10 it is clearly larger, and for all shapes it jumps at 900 to 1000 neurons with 100 inputs "
    "and 10 outputs. Here the dotted line marks inputs times outputs.",
    "Smaller sizes have fewer outputs, so that depth costs more than there; the radius 1 is too far for them.",
    "The number of repetitions is not published.",
)
