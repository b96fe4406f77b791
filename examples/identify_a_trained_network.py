"""Train a network with scikit-learn, hide it behind `predict`, and get its coefficients back.

python examples/identify_a_trained_network.py   (needs scikit-learn)
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

import unweave
from unweave import Network, activation_named

patients, progression = load_diabetes(return_X_y=True)
patients = StandardScaler().fit_transform(patients)
progression = (progression - progression.mean()) / progression.std()

for name, activation in {"tanh": "tanh", "logistic": "sigmoid", "relu": "relu"}.items():
    model = MLPRegressor(hidden_layer_sizes=(12,), activation=name, alpha=0.1, max_iter=3000, random_state=0)
    model.fit(patients, progression)

    # From here on the model is a black box: only `predict` is called, and not on the training data.
    found = unweave.identify(model.predict, inputs=10, seed=7)
    print(f"\n{name}: {found.outcome.value} by the {found.route}\n  {found.reason}")
    assert found.network is not None
    print(f"  {found.queries} queries, {found.queries / found.network.parameters:.1f} per parameter")

    # Now look behind `predict`: neurons have no order, some no sign or scale, which `match` takes out.
    truth = Network.shallow(
        weights=model.coefs_[0].T,
        biases=model.intercepts_[0],
        output_weights=model.coefs_[1].T,
        offset=model.intercepts_[1],
        activation=activation_named(activation),
    )
    matched = unweave.match(found.network, truth)
    for label, network in {"trained  ": matched.truth, "recovered": matched.aligned}.items():
        print(f"  first neuron, {label}:", np.round(network.layers[0].weights[0, :6], 7))
    print(f"  largest relative error of a coefficient: {matched.largest_error:.0e}")

    copied = found.network(patients)[:, 0]
    print(
        f"  largest difference to predict on the 442 patients: {np.max(np.abs(copied - model.predict(patients))):.0e}"
    )
