"""Recover a ReLU network from samples that somebody else drew: no queries, and noise on the labels."""

import numpy as np

import unweave
from unweave.learn import ReluNetworkRegressor
from unweave.networks.planted import relu_network

rng = np.random.default_rng(0)
secret = relu_network(rng, inputs=8, neurons=4)
points = rng.standard_normal((20_000, 8))

for noise in (0.0, 0.2):
    labels = secret(points)[:, 0] + noise * rng.standard_normal(len(points))
    found = ReluNetworkRegressor(random_state=0).fit(points, labels)
    error = unweave.match(found.network_, secret).largest_error
    print(f"noise {noise}: {found.outcome_.value}. {found.result_.reason}")
    print(f"  largest relative error of a parameter: {error:.1e}")
