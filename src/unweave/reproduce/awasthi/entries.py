"""The numbered items of [awasthi]."""

from dataclasses import replace

from unweave.reproduce.entries import Entry

# What the largest sizes are: nothing was published to compare with.
PUBLISHED = "none: the work has no experiments, and all sizes are ours"

_MEASURED = (
    Entry(
        number="algorithm-1",
        shows="parameters from exact tensors",
        file="awasthi.exact_recovery",
        quick_seconds=0.2,
        usual_seconds=1.2,
    ),
    Entry(
        number="algorithm-2",
        shows="biases and output weights by a recurrence",
        file="awasthi.printed_scalars",
        quick_seconds=0.1,
        usual_seconds=0.1,
    ),
    Entry(
        number="algorithm-3",
        shows="signs from the tensor of order 1, two rules",
        file="awasthi.sign_rules",
        quick_seconds=0.1,
        usual_seconds=1.5,
    ),
    Entry(
        number="algorithm-4",
        shows="neurons up to signs from samples",
        file="awasthi.sampled_units",
        quick_seconds=1,
        usual_seconds=12,
    ),
    Entry(
        number="algorithm-5",
        shows="predictors from samples, large biases too",
        file="awasthi.sampled_predictors",
        quick_seconds=0.3,
        usual_seconds=8,
    ),
    Entry(
        number="algorithm-6",
        shows="all parameters with signs from samples",
        file="awasthi.sampled_networks",
        quick_seconds=0.6,
        usual_seconds=14,
    ),
    Entry(
        number="theorem-1.5",
        shows="simultaneous diagonalisation of a tensor with errors",
        file="awasthi.diagonalisation_noise",
    ),
    Entry(
        number="theorem-3.1",
        shows="parameter error against samples",
        file="awasthi.sampled_networks",
        quick_seconds=0.6,
        usual_seconds=14,
    ),
    Entry(
        number="theorem-3.2",
        shows="risk of the predictor against samples",
        file="awasthi.sampled_predictors",
        quick_seconds=0.3,
        usual_seconds=8,
    ),
    Entry(
        number="theorem-3.4",
        shows="signs that leave the function as it is",
        file="awasthi.sign_freedom",
        quick_seconds=0.1,
        usual_seconds=0.3,
    ),
    Entry(
        number="theorem-4.1",
        shows="all parameters from exact tensors",
        file="awasthi.exact_recovery",
        quick_seconds=0.2,
        usual_seconds=1.2,
    ),
    Entry(
        number="theorem-4.2",
        shows="more neurons than inputs, and a predictor",
        file="awasthi.exact_recovery",
        quick_seconds=0.2,
        usual_seconds=1.2,
    ),
    Entry(
        number="theorem-5.1",
        shows="error of moderate neurons against samples",
        file="awasthi.sampled_units",
        quick_seconds=1,
        usual_seconds=12,
    ),
    Entry(
        number="corollary-3.3",
        shows="smoothed analysis: weights moved at random",
        file="awasthi.smoothed",
        quick_seconds=1,
    ),
    Entry(
        number="proposition-3.6",
        shows="the risk as a sum over tensors",
        file="awasthi.risk_orders",
        quick_seconds=0.1,
        usual_seconds=1.6,
    ),
    Entry(
        number="lemma-4.3",
        shows="how far consecutive roots are apart",
        file="awasthi.root_separation",
        quick_seconds=0.1,
        usual_seconds=0.1,
    ),
    Entry(
        number="lemma-4.5",
        shows="bias and weight from consecutive orders",
        file="awasthi.printed_scalars",
        quick_seconds=0.1,
        usual_seconds=0.1,
    ),
    Entry(number="lemma-5.2", shows="errors of tensors from samples", file="awasthi.tensor_errors", quick_seconds=0.5),
    Entry(
        number="lemma-5.9",
        shows="neurons with large biases are affine",
        file="awasthi.affine_units",
        quick_seconds=0.1,
        usual_seconds=0.5,
    ),
    Entry(
        number="claim-1.4",
        shows="singular values of Khatri-Rao products",
        file="awasthi.power_conditioning",
        quick_seconds=0.1,
        usual_seconds=0.2,
    ),
    Entry(
        number="claim-4.8",
        shows="dependent weights: signs stay open",
        file="awasthi.sign_freedom",
        quick_seconds=0.1,
        usual_seconds=0.3,
    ),
)
ENTRIES: tuple[Entry, ...] = tuple(replace(entry, published_cost=PUBLISHED) for entry in _MEASURED)
