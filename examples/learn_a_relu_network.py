"""Recover a ReLU network from samples that somebody else drew: no queries, and noise on the labels."""

import numpy as np

import unweave
from unweave.learn import ReluNetworkRegressor

rng = np.random.default_rng(0)
secret = unweave.Network.shallow(
    weights=rng.standard_normal((4, 8)) / np.sqrt(8),
    biases=rng.uniform(-1, 1, 4),
    output_weights=np.array([[1.5, -1.0, 0.8, -0.6]]),
    offset=np.zeros(1),
    activation=unweave.activation_named("relu"),
)
points = rng.standard_normal((20_000, 8))

for noise in (0.0, 0.2):
    labels = secret(points)[:, 0] + noise * rng.standard_normal(len(points))
    found = ReluNetworkRegressor(random_state=0).fit(points, labels)
    error = unweave.match(found.network_, secret).largest_error
    print(f"noise {noise}: {found.outcome_.value}. {found.result_.reason}")
    print(f"  largest relative error of a parameter: {error:.1e}")
