"""The numbered items of [awasthi]."""

from unweave.reproduce.entries import Entry

SAMPLED = "samples at will: the work has no experiments and no constants"

ENTRIES: tuple[Entry, ...] = (
    Entry(number="algorithm-1", shows="parameters from exact tensors", file="awasthi.exact_recovery"),
    Entry(number="algorithm-2", shows="biases and output weights by a recurrence", file="awasthi.printed_scalars"),
    Entry(number="algorithm-3", shows="signs from the tensor of order 1, two rules", file="awasthi.sign_rules"),
    Entry(number="algorithm-4", shows="neurons up to signs from samples", file="awasthi.sampled_units"),
    Entry(number="algorithm-5", shows="predictors from samples, large biases too", file="awasthi.sampled_predictors"),
    Entry(number="algorithm-6", shows="all parameters with signs from samples", file="awasthi.sampled_networks"),
    Entry(number="theorem-3.1", shows="parameter error against samples", file="awasthi.sampled_networks"),
    Entry(number="theorem-3.2", shows="risk of the predictor against samples", file="awasthi.sampled_predictors"),
    Entry(number="theorem-3.4", shows="signs that leave the function as it is", file="awasthi.sign_freedom"),
    Entry(number="theorem-4.1", shows="all parameters from exact tensors", file="awasthi.exact_recovery"),
    Entry(number="theorem-4.2", shows="more neurons than inputs, and a predictor", file="awasthi.exact_recovery"),
    Entry(number="theorem-5.1", shows="error of moderate neurons against samples", file="awasthi.sampled_units"),
    Entry(number="corollary-3.3", shows="smoothed analysis: weights moved at random", file="awasthi.smoothed"),
    Entry(number="proposition-3.6", shows="the risk as a sum over tensors", file="awasthi.risk_orders"),
    Entry(number="lemma-4.3", shows="how far consecutive roots are apart", file="awasthi.root_separation"),
    Entry(number="lemma-4.5", shows="bias and weight from consecutive orders", file="awasthi.printed_scalars"),
    Entry(number="lemma-5.2", shows="errors of tensors from samples", file="awasthi.tensor_errors"),
    Entry(number="lemma-5.9", shows="neurons with large biases are affine", file="awasthi.affine_units"),
    Entry(number="claim-1.4", shows="singular values of Khatri-Rao products", file="awasthi.power_conditioning"),
    Entry(number="claim-4.8", shows="dependent weights: signs stay open", file="awasthi.sign_freedom"),
)
