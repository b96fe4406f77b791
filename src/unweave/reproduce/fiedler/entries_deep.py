"""The numbered items of [fiedler, Ch. 4]."""

from unweave.reproduce.entries import Entry

PICTURES = "hours on a CPU per seed: up to 1500 neurons with 100 to 150 inputs, and 10,000 ascents of 15,000 steps"
TEACHERS = "50 inputs, 85 to 125 neurons, ten seeds"
DESCENTS = "ten seeds, six descents of a million steps each: hours on a CPU, 20 minutes each on a GPU as published"

DEEP: tuple[Entry, ...] = (
    Entry(
        number="algorithm-4.1",
        shows="entangled weights from queries",
        file="fiedler.deep.algorithm_4_1",
        quick_seconds=4.2,
        published_cost=TEACHERS,
    ),
    Entry(
        number="algorithm-4.2",
        shows="layers of entangled weights from queries at far points",
        file="fiedler.deep.algorithm_4_2",
        quick_seconds=2.1,
        published_cost=TEACHERS,
    ),
    Entry(
        number="table-4.1",
        shows="settings of the pipeline, and the queries that they cost",
        file="fiedler.deep.hyperparameters",
        quick_seconds=0.3,
        published_cost="as the usual size",
    ),
    Entry(
        number="table-4.2",
        shows="errors of span and entangled weights, by differences",
        file="fiedler.deep.table_4_2",
        quick_seconds=1.7,
        published_cost=TEACHERS,
    ),
    Entry(
        number="table-4.3",
        shows="errors of span and entangled weights, exact derivatives",
        file="fiedler.deep.table_4_3",
        quick_seconds=1.4,
        published_cost=TEACHERS,
    ),
    Entry(
        number="table-4.4",
        shows="layers of entangled weights, by differences",
        file="fiedler.deep.table_4_4",
        quick_seconds=1.5,
        published_cost=TEACHERS,
    ),
    Entry(
        number="table-4.5",
        shows="layers of entangled weights, exact derivatives",
        file="fiedler.deep.table_4_5",
        quick_seconds=0.8,
        published_cost=TEACHERS,
    ),
    Entry(
        number="table-4.6",
        shows="final errors of entangled weights, by differences",
        file="fiedler.deep.table_4_6",
        published_cost=TEACHERS,
    ),
    Entry(
        number="table-4.7",
        shows="final errors of entangled weights, exact derivatives",
        file="fiedler.deep.table_4_7",
        published_cost=TEACHERS,
    ),
    Entry(
        number="figure-4.1",
        shows="how Hessians fan out around the span at the base point",
        file="fiedler.deep.figure_4_1",
        quick_seconds=0.6,
        published_cost="a sketch without numbers",
    ),
    Entry(
        number="figure-4.2",
        shows="error of the span by radius, depth, shape and neurons",
        file="fiedler.deep.figure_4_2",
        quick_seconds=0.8,
        published_cost=PICTURES,
    ),
    Entry(
        number="figure-4.3",
        shows="entangled weights found, and false ones, by radius, depth, shape and neurons",
        file="fiedler.deep.figure_4_3",
        quick_seconds=2.0,
        published_cost=PICTURES,
    ),
    Entry(
        number="figure-4.4",
        shows="the transition at inputs times outputs",
        file="fiedler.deep.figure_4_4",
        quick_seconds=0.4,
        published_cost=PICTURES,
    ),
    Entry(
        number="figure-4.5",
        shows="completion of 50-25-10 in the course of mini-batch descent",
        file="fiedler.deep.figure_4_5",
        quick_seconds=3.3,
        published_cost=DESCENTS,
    ),
    Entry(
        number="figure-4.6",
        shows="completion of 50-25-50 in the course of mini-batch descent",
        file="fiedler.deep.figure_4_6",
        published_cost=DESCENTS,
    ),
    Entry(
        number="figure-4.7",
        shows="completion of 50-35-25-10 in the course of mini-batch descent",
        file="fiedler.deep.figure_4_7",
        quick_seconds=3.5,
        published_cost=DESCENTS,
    ),
    Entry(
        number="lemma-4.1",
        shows="entangled weights as products of weights and slopes",
        file="fiedler.deep.hessian_identities",
        quick_seconds=0.1,
    ),
    Entry(
        number="proposition-4.1",
        shows="Hessians as sums of squares of entangled weights",
        file="fiedler.deep.hessian_identities",
        quick_seconds=0.1,
    ),
    Entry(
        number="lemma-4.2",
        shows="bounds on entangled weights, their drift and coefficients of Hessians",
        file="fiedler.deep.norm_bounds",
        quick_seconds=0.1,
    ),
    Entry(
        number="theorem-4.1",
        shows="error of the span of Hessians and its bound",
        file="fiedler.deep.span_bounds",
        quick_seconds=0.3,
    ),
    Entry(
        number="proposition-4.2",
        shows="error of a part of the span and its bound",
        file="fiedler.deep.span_bounds",
        quick_seconds=0.3,
    ),
    Entry(
        number="lemma-4.3",
        shows="distance of measured to projected Hessians and its bound",
        file="fiedler.deep.span_bounds",
        quick_seconds=0.3,
    ),
    Entry(
        number="lemma-4.4",
        shows="smallest singular values of Hessians and their bounds",
        file="fiedler.deep.span_bounds",
        quick_seconds=0.3,
    ),
    Entry(
        number="lemma-4.5",
        shows="permuted diagonals are diagonal",
        file="fiedler.deep.lossless_diagonals",
        quick_seconds=0.1,
    ),
    Entry(
        number="proposition-4.3",
        shows="diagonals for which the reparametrised network is the network",
        file="fiedler.deep.lossless_diagonals",
        quick_seconds=0.1,
    ),
    Entry(
        number="proposition-4.4",
        shows="free signs of odd activations",
        file="fiedler.deep.lossless_diagonals",
        quick_seconds=0.1,
    ),
)
