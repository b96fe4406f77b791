"""The numbered items of [fiedler, Ch. 1 to 3]."""

from unweave.reproduce.entries import Entry

IDENTIFIED = "63 sizes, 10 runs each, up to 113 s of a GPU and 180 s of descent; days on a core, by estimate"


def _figures_of_students() -> tuple[Entry, ...]:
    """Chapter 1: students by stochastic descent."""
    return (
        Entry(
            number="figure-1.2",
            shows="shallow students by stochastic descent: errors over samples and neurons",
            file="fiedler.shallow_students",
            quick_seconds=2.3,
            usual_seconds=11.5,
            published_cost="64 sizes, 5 runs of 10 minutes of a GPU each",
        ),
        Entry(
            number="figure-1.3",
            shows="the same over inputs and neurons",
            file="fiedler.wider_students",
            quick_seconds=1.2,
            usual_seconds=8.3,
            published_cost="64 sizes, 4 runs of 10 minutes of a GPU each",
        ),
        Entry(
            number="figure-1.4",
            shows="the same at 50 inputs with other rates and longer training",
            file="fiedler.student_rates",
            quick_seconds=1.5,
            usual_seconds=10.8,
            published_cost="3 runs of 50 minutes of a GPU for every rate and size",
        ),
        Entry(
            number="figure-1.5",
            shows="deep students by stochastic descent: relative uniform error over time",
            file="fiedler.deep_students",
            quick_seconds=1.7,
            published_cost="24 settings, 5 runs of 2 hours of a GPU each",
        ),
    )


def _rank_one_recovery() -> tuple[Entry, ...]:
    """Chapter 2: rank-one matrices of a span."""
    searched = {"file": "fiedler.rank_one_search", "quick_seconds": 0.54, "usual_seconds": 4.4}
    landscape = {"file": "fiedler.power_landscape", "quick_seconds": 0.07, "usual_seconds": 1.4}
    return (
        Entry(
            number="proposition-1.1",
            shows="error of the span of measured Hessians, and Wedin's bound",
            file="fiedler.learnability",
            quick_seconds=0.14,
            usual_seconds=3.0,
        ),
        Entry(
            number="figure-2.1",
            shows="the Mercedes-Benz frame, and simplices in more dimensions",
            file="fiedler.mercedes_benz",
            quick_seconds=0.01,
            usual_seconds=0.11,
        ),
        Entry(number="algorithm-2.1", shows="atoms of a span by ascent of the spectral norm", **searched),
        Entry(number="algorithm-2.2", shows="atoms of a span by the subspace power method", **searched),
        Entry(
            number="theorem-2.1",
            shows="an atom's certificate from eigenvalues: bound and distance",
            file="fiedler.atom_certificates",
            quick_seconds=0.19,
            usual_seconds=1.9,
        ),
        Entry(
            number="theorem-2.2",
            shows="local maximisers of the spectral norm: no first eigenvalue between two levels",
            file="fiedler.spectral_landscape",
            quick_seconds=0.12,
            usual_seconds=0.38,
        ),
        Entry(number="theorem-2.6", shows="a maximiser of Phi near every atom, and how near", **landscape),
        Entry(number="theorem-2.7", shows="no maximiser of Phi between two levels", **landscape),
        Entry(number="corollary-2.2", shows="distance of a maximiser to its atom by its Phi", **landscape),
        Entry(number="lemma-2.19", shows="a spurious maximiser of Phi", **landscape),
        Entry(number="theorem-2.8", shows="number of maximisers of Phi above a level", **landscape),
        Entry(
            number="proposition-2.2",
            shows="incoherence constants c1, c2 and c3 of random directions",
            file="fiedler.incoherence_constants",
            quick_seconds=0.08,
            usual_seconds=0.29,
        ),
        Entry(
            number="theorem-2.10",
            shows="maximisers of Phi for random atoms, more than inputs",
            file="fiedler.overcomplete_landscape",
            quick_seconds=1.3,
            usual_seconds=3.4,
        ),
    )


def _shallow_networks() -> tuple[Entry, ...]:
    """Chapter 3: shallow networks from queries."""
    identified = {
        "file": "fiedler.reconstruction",
        "quick_seconds": 0.51,
        "usual_seconds": 4.8,
        "published_cost": IDENTIFIED,
    }
    return (
        Entry(
            number="figure-3.1",
            shows="shifts that the second derivative of tanh tells apart, and of the sigmoid",
            file="fiedler.shift_interval",
            quick_seconds=0.06,
            usual_seconds=0.08,
        ),
        Entry(
            number="figure-3.2",
            shows="descent on the shifts beside descent on the idealised objective",
            file="fiedler.idealised_descent",
            quick_seconds=0.14,
            usual_seconds=3.2,
        ),
        Entry(number="algorithm-3.1", shows="a shallow network from queries, end to end", **identified),
        Entry(number="algorithm-3.2", shows="its weights up to sign, from Hessians", **identified),
        Entry(number="algorithm-3.3", shows="its signs and first shifts", **identified),
        Entry(
            number="table-3.1",
            shows="settings of all sizes, and the queries that they cost",
            file="fiedler.hyperparameters",
            quick_seconds=0.2,
            usual_seconds=2.2,
        ),
        Entry(number="table-3.2", shows="seconds for weights, signs and first shifts, with all errors", **identified),
        Entry(number="figure-3.3", shows="errors over inputs and neurons", **identified),
        Entry(
            number="theorem-3.5",
            shows="how well Hessians show all neurons: alpha and its lower bounds",
            file="fiedler.learnability",
            quick_seconds=0.14,
            usual_seconds=3.0,
        ),
        Entry(
            number="figure-3.4",
            shows="errors at 2/5 of the squared inputs as neurons",
            file="fiedler.quadratic_widths",
            quick_seconds=0.44,
            usual_seconds=16,
            published_cost="7 sizes, 10 runs each; 50 inputs take half a day on a core, by estimate",
        ),
        Entry(
            number="figure-3.5",
            shows="scales of the shifts' errors before and after descent",
            file="fiedler.shift_scales",
            quick_seconds=0.14,
            usual_seconds=2.2,
            published_cost="20 sizes at 50 inputs, 10 runs each",
        ),
    )


SHALLOW: tuple[Entry, ...] = (*_figures_of_students(), *_rank_one_recovery(), *_shallow_networks())
