"""Where the span of Hessians stops to be found, by inputs and outputs [fiedler, Fig. 4.4]."""

from collections.abc import Sequence

from unweave.reproduce.experiment import Scale, Settings
from unweave.reproduce.fiedler.deep.concentration import PUBLISHED_NEURONS, measure_span
from unweave.reproduce.fiedler.deep.pictures import draw_transition

RADIUS, CONTRACTION, LAYERS = 1e-2, 0.5, 3
SIZES = {
    Scale.QUICK: ((20,), (4,)),
    Scale.USUAL: ((20, 28, 36), (3, 4, 5, 6)),
    Scale.FULL: ((50, 75, 100, 125, 150), tuple(range(4, 11))),
}
# Neurons over inputs times outputs.
LOADS = (0.5, 0.7, 0.85, 0.95, 1.05, 1.15, 1.25, 1.4)


def settings(scale: Scale) -> Sequence[Settings]:
    """Rows of all inputs and outputs; neurons are those published, or multiples of their product."""
    common: Settings = {"layers": LAYERS, "contraction": CONTRACTION, "radius": RADIUS}
    return [
        {"inputs": inputs, "outputs": outputs, "neurons": neurons} | common
        for inputs in SIZES[scale][0]
        for outputs in SIZES[scale][1]
        for neurons in _neurons(scale, inputs * outputs)
    ]


def _neurons(scale: Scale, product: int) -> tuple[int, ...]:
    return PUBLISHED_NEURONS if scale is Scale.FULL else tuple(round(load * product) for load in LOADS)


measure = measure_span
draw = draw_transition
TITLE = "error of the span of Hessians by inputs, outputs and neurons"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 3, Scale.FULL: 1}
COLUMNS = {"subspace": "subspace error over root of neurons"}
NOTES = (
    "The picture that was published has no numbers; its text puts the tipping point near inputs times outputs, "
    "and leaves open why. Near a point Hessians are affine in it, so that those of all outputs span at most "
    "outputs times (inputs + 1) dimensions: more neurons than that can't show.",
    "The depth of the published networks is not given: three layers here. The tipping point is taken where the "
    "error passes 0.3, between its two levels.",
)
