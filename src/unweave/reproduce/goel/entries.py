"""The numbered items of [goel]."""

from dataclasses import replace

from unweave.reproduce.entries import Entry

# What the largest sizes are: nothing was published to compare with.
PUBLISHED = "none: the work has no experiments, and all sizes are ours"

_MEASURED = (
    Entry(
        number="algorithm-1", shows="rows refined by random perturbations", file="goel.refinement", quick_seconds=0.7
    ),
    Entry(number="algorithm-2", shows="tangents from two quantiles", file="goel.tangents", quick_seconds=1.2),
    Entry(
        number="algorithm-3",
        shows="sets of inputs from a graph of correlations",
        file="goel.indicator_rows",
        quick_seconds=0.4,
    ),
    Entry(number="theorem-1", shows="rows from moments, by threshold", file="goel.moment_rows", quick_seconds=0.6),
    Entry(number="theorem-2", shows="any accuracy for monotone functions", file="goel.refinement", quick_seconds=0.7),
    Entry(number="theorem-3", shows="orthogonal rows without linear parts", file="goel.jump_search", quick_seconds=1.2),
    Entry(
        number="theorem-4",
        shows="minima of one objective are nearly those of another",
        file="goel.transfer",
        quick_seconds=0.3,
        usual_seconds=0.9,
    ),
    Entry(number="theorem-5", shows="how fast an angle falls by refinement", file="goel.refinement", quick_seconds=0.7),
    Entry(
        number="theorem-6",
        shows="intersections of half spaces far from the origin",
        file="goel.halfspace_faces",
        quick_seconds=2.3,
    ),
    Entry(
        number="theorem-7",
        shows="rows by exhaustive search for jumps, verdict",
        file="goel.jump_search",
        quick_seconds=1.2,
    ),
    Entry(
        number="theorem-8",
        shows="indicator rows, also overlapping, verdicts",
        file="goel.indicator_rows",
        quick_seconds=0.4,
    ),
    Entry(
        number="theorem-9",
        shows="exponential units without threshold, verdicts",
        file="goel.free_exponentials",
        quick_seconds=2.8,
    ),
    Entry(
        number="theorem-10",
        shows="even activations, condition and verdict",
        file="goel.even_activations",
        quick_seconds=0.9,
    ),
    Entry(
        number="theorem-11", shows="rows by one objective of all columns", file="goel.moment_rows", quick_seconds=0.6
    ),
    Entry(number="theorem-12", shows="the same under products of units", file="goel.moment_rows", quick_seconds=0.6),
    Entry(number="theorem-13", shows="sigmoid units with high thresholds", file="goel.moment_rows", quick_seconds=0.6),
    Entry(number="corollary-1", shows="orthogonal rows by jumps", file="goel.jump_search", quick_seconds=1.2),
    Entry(
        number="claim-2",
        shows="minima of the objective against rows",
        file="goel.transfer",
        quick_seconds=0.3,
        usual_seconds=0.9,
    ),
    Entry(
        number="lemma-1",
        shows="two units at once, and the bound",
        file="goel.unit_products",
        quick_seconds=0.1,
        usual_seconds=1.6,
    ),
    Entry(
        number="lemma-2",
        shows="labels without products of units",
        file="goel.unit_products",
        quick_seconds=0.1,
        usual_seconds=1.6,
    ),
    Entry(number="lemma-3", shows="estimates of a tangent", file="goel.tangents", quick_seconds=1.2),
    Entry(number="lemma-6", shows="where the quantiles lie", file="goel.tangents", quick_seconds=1.2),
    Entry(number="lemma-8", shows="the jump at a row", file="goel.jump_search", quick_seconds=1.2),
    Entry(number="appendix-e", shows="a network learnt at a cut, verdict", file="goel.cut_learning", quick_seconds=2.7),
)
ENTRIES: tuple[Entry, ...] = tuple(replace(entry, published_cost=PUBLISHED) for entry in _MEASURED)
