"""The numbered items of [soltanolkotabi]; it has no numbered algorithms and tables."""

from unweave.reproduce.entries import Entry

_FOLDER = "soltanolkotabi."
# Of curves over sizes: the usual form has the published networks and starts, but other steps.
_DESCENT = "gradient descent of 50,000 steps from 100 starts per size, 5 seeds; not run"
_OWN_SIZES = "no published size; --full was not run"
ENTRIES: tuple[Entry, ...] = (
    Entry(
        number="figure-1",
        shows="activations of Example 2.4",
        file=_FOLDER + "activation_curves",
        quick_seconds=0.2,
        usual_seconds=0.2,
        published_cost="as the usual form",
    ),
    Entry(
        number="figure-2a",
        shows="softplus: no spurious minima, over neurons",
        file=_FOLDER + "figure_2a",
        quick_seconds=4.2,
        published_cost=_DESCENT,
    ),
    Entry(
        number="figure-2b",
        shows="softplus: no spurious minima, over inputs",
        file=_FOLDER + "figure_2b",
        quick_seconds=4.7,
        published_cost=_DESCENT,
    ),
    Entry(
        number="figure-3a",
        shows="squares: no spurious minima, over neurons",
        file=_FOLDER + "figure_3a",
        quick_seconds=4.2,
        published_cost=_DESCENT,
    ),
    Entry(
        number="figure-3b",
        shows="squares: no spurious minima, over inputs",
        file=_FOLDER + "figure_3b",
        quick_seconds=4.0,
        published_cost=_DESCENT,
    ),
    Entry(
        number="figure-4",
        shows="gradient descent on random labels",
        file=_FOLDER + "random_labels",
        quick_seconds=2.6,
        published_cost="30,000 steps, 10 seeds; not run",
    ),
    Entry(
        number="theorem-2.1",
        shows="squares, both signs, any labels",
        file=_FOLDER + "arbitrary_labels",
        quick_seconds=0.2,
        usual_seconds=8.0,
        published_cost=_OWN_SIZES,
    ),
    Entry(
        number="theorem-2.2",
        shows="planted squares: algorithms and bound",
        file=_FOLDER + "second_order_points",
        quick_seconds=0.3,
        usual_seconds=13.5,
        published_cost=_OWN_SIZES,
    ),
    Entry(
        number="theorem-2.5",
        shows="linear convergence near a planted network",
        file=_FOLDER + "local_convergence",
        quick_seconds=0.1,
        usual_seconds=1.9,
        published_cost=_OWN_SIZES,
    ),
    Entry(
        number="proposition-7.1",
        shows="spectrum before and after centring",
        file=_FOLDER + "centring",
        quick_seconds=0.1,
        usual_seconds=0.7,
        published_cost=_OWN_SIZES,
    ),
    Entry(
        number="proposition-7.2",
        shows="spectrum of the centred Jacobian",
        file=_FOLDER + "centred_spectrum",
        quick_seconds=0.1,
        usual_seconds=1.2,
        published_cost=_OWN_SIZES,
    ),
    Entry(
        number="remark-7.3",
        shows="the same for odd activations",
        file=_FOLDER + "centred_spectrum",
        quick_seconds=0.1,
        usual_seconds=1.2,
        published_cost=_OWN_SIZES,
    ),
    Entry(
        number="proposition-7.4",
        shows="spectrum of the Jacobian over sizes",
        file=_FOLDER + "jacobian_scaling",
        quick_seconds=0.1,
        usual_seconds=0.6,
        published_cost=_OWN_SIZES,
    ),
    Entry(
        number="corollary-7.5",
        shows="spectrum of squares of points",
        file=_FOLDER + "product_spectrum",
        quick_seconds=0.1,
        usual_seconds=0.2,
        published_cost=_OWN_SIZES,
    ),
)
