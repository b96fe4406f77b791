"""Train a network of two hidden layers with scikit-learn, hide it behind `predict`, and get it back.

python examples/identify_a_deep_network.py   (needs scikit-learn)
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

import unweave
from unweave import Layer, Network, activation_named

patients, progression = load_diabetes(return_X_y=True)
patients = StandardScaler().fit_transform(patients)
progression = (progression - progression.mean()) / progression.std()

model = MLPRegressor(hidden_layer_sizes=(8, 5), activation="tanh", alpha=0.1, max_iter=3000, random_state=0)
model.fit(patients, progression)

# From here on the model is a black box: only `predict` is called, and not on the training data.
found = unweave.identify(model.predict, inputs=10, seed=7)
print(f"{found.outcome.value} by the {found.route}\n  {found.reason}")

if found.network is None:
    # Of a network that is not identified in full the first layer may be known.
    print(f"  first layer: {found.first_layer and found.first_layer.weights.shape}, {found.queries} queries")
else:
    print(f"  hidden layers of {' and '.join(map(str, found.network.widths))} neurons")
    print(f"  {found.queries} queries, {found.queries / found.network.parameters:.1f} per parameter")
    copied = found.network(patients)[:, 0]
    print(
        f"  largest difference to predict on the 442 patients: {np.max(np.abs(copied - model.predict(patients))):.0e}"
    )

    # Now look behind `predict`: neurons have no order and no sign, which `match` takes out.
    truth = Network(
        tuple(
            Layer(weights.T, biases, activation_named(activation))
            for weights, biases, activation in zip(
                model.coefs_, model.intercepts_, ("tanh", "tanh", "identity"), strict=True
            )
        )
    )
    print(f"  largest relative error of a coefficient: {unweave.match(found.network, truth).largest_error:.0e}")
