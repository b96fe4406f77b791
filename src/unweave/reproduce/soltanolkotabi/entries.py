"""The numbered items of [soltanolkotabi]; it has no numbered algorithms and tables."""

from unweave.reproduce.entries import Entry

_FOLDER = "soltanolkotabi."
ENTRIES: tuple[Entry, ...] = (
    Entry(number="figure-1", shows="activations of Example 2.4", file=_FOLDER + "activation_curves"),
    Entry(number="figure-2a", shows="softplus: no spurious minima, over neurons", file=_FOLDER + "figure_2a"),
    Entry(number="figure-2b", shows="softplus: no spurious minima, over inputs", file=_FOLDER + "figure_2b"),
    Entry(number="figure-3a", shows="squares: no spurious minima, over neurons", file=_FOLDER + "figure_3a"),
    Entry(number="figure-3b", shows="squares: no spurious minima, over inputs", file=_FOLDER + "figure_3b"),
    Entry(number="figure-4", shows="gradient descent on random labels", file=_FOLDER + "random_labels"),
    Entry(number="theorem-2.1", shows="squares, both signs, any labels", file=_FOLDER + "arbitrary_labels"),
    Entry(number="theorem-2.2", shows="planted squares: algorithms and bound", file=_FOLDER + "second_order_points"),
    Entry(number="theorem-2.5", shows="linear convergence near a planted network", file=_FOLDER + "local_convergence"),
    Entry(number="proposition-7.1", shows="spectrum before and after centring", file=_FOLDER + "centring"),
    Entry(number="proposition-7.2", shows="spectrum of the centred Jacobian", file=_FOLDER + "centred_spectrum"),
    Entry(number="remark-7.3", shows="the same for odd activations", file=_FOLDER + "centred_spectrum"),
    Entry(number="proposition-7.4", shows="spectrum of the Jacobian over sizes", file=_FOLDER + "jacobian_scaling"),
    Entry(number="corollary-7.5", shows="spectrum of squares of points", file=_FOLDER + "product_spectrum"),
)
