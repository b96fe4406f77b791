"""The numbered items of [goel]."""

from unweave.reproduce.entries import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(number="algorithm-1", shows="rows refined by random perturbations", file="goel.refinement"),
    Entry(number="algorithm-2", shows="tangents from two quantiles", file="goel.tangents"),
    Entry(number="algorithm-3", shows="sets of inputs from a graph of correlations", file="goel.indicator_rows"),
    Entry(number="theorem-1", shows="rows from moments, by threshold", file="goel.moment_rows"),
    Entry(number="theorem-2", shows="any accuracy for monotone functions", file="goel.refinement"),
    Entry(number="theorem-3", shows="orthogonal rows without linear parts", file="goel.jump_search"),
    Entry(number="theorem-4", shows="minima of one objective are nearly those of another", file="goel.transfer"),
    Entry(number="theorem-5", shows="how fast an angle falls by refinement", file="goel.refinement"),
    Entry(number="theorem-6", shows="intersections of half spaces far from the origin", file="goel.halfspace_faces"),
    Entry(number="theorem-7", shows="rows by exhaustive search for jumps, verdict", file="goel.jump_search"),
    Entry(number="theorem-8", shows="indicator rows, also overlapping, verdicts", file="goel.indicator_rows"),
    Entry(number="theorem-9", shows="exponential units without threshold, verdicts", file="goel.free_exponentials"),
    Entry(number="theorem-10", shows="even activations, condition and verdict", file="goel.even_activations"),
    Entry(number="theorem-11", shows="rows by one objective of all columns", file="goel.moment_rows"),
    Entry(number="theorem-12", shows="the same under products of units", file="goel.moment_rows"),
    Entry(number="theorem-13", shows="sigmoid units with high thresholds", file="goel.moment_rows"),
    Entry(number="corollary-1", shows="orthogonal rows by jumps", file="goel.jump_search"),
    Entry(number="claim-2", shows="minima of the objective against rows", file="goel.transfer"),
    Entry(number="lemma-1", shows="two units at once, and the bound", file="goel.unit_products"),
    Entry(number="lemma-2", shows="labels without products of units", file="goel.unit_products"),
    Entry(number="lemma-3", shows="estimates of a tangent", file="goel.tangents"),
    Entry(number="lemma-6", shows="where the quantiles lie", file="goel.tangents"),
    Entry(number="lemma-8", shows="the jump at a row", file="goel.jump_search"),
    Entry(number="appendix-e", shows="a network learnt at a cut, verdict", file="goel.cut_learning"),
)
