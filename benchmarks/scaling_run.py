"""One run of `scaling.py` in a process of its own: identify a planted network, and print what it took as JSON.

Only what every version of Unweave has is used, so that another checkout can be measured by the same lines: the network
is planted with NumPy, and its error is that of the function at fresh points.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import special

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "relu": lambda z: np.maximum(z, 0.0),
}
FRESH = 2_000
Model = Callable[[np.ndarray], np.ndarray]


def planted(activation: str, shape: tuple[int, ...], rng: np.random.Generator) -> Model:
    """Plant a network: smooth ones of one layer in general form, others with weights N(0, 1) / sqrt(fan-in)."""
    bend, layers = ACTIVATIONS[activation], []
    for inputs, neurons in pairwise(shape):
        layers.append((rng.standard_normal((neurons, inputs)) / np.sqrt(inputs), 0.3 * rng.standard_normal(neurons)))
    if activation != "relu":
        directions = layers[0][0] / np.linalg.norm(layers[0][0], axis=1, keepdims=True)
        layers[0] = (rng.uniform(0.5, 2.0, (shape[1], 1)) * directions, rng.uniform(-1.0, 1.0, shape[1]))

    def answer(points: np.ndarray) -> np.ndarray:
        for weights, biases in layers[:-1]:
            points = bend(points @ weights.T + biases)
        weights, biases = layers[-1]
        return points @ weights.T + biases

    return answer


class Stages:
    """CPU seconds of each stage, from the calls at its beginning and end; stages within others count for themselves."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open, self._since = ["other"], time.process_time()

    def __call__(self, stage: str, _: int) -> None:
        """Note that a stage begins, or that the last one ends."""
        now = time.process_time()
        self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._since
        self._since = now
        if self._open[-1] == stage:
            self._open.pop()
        else:
            self._open.append(stage)


def main() -> None:
    """Identify the network of the command line: activation, shape, domain and seed."""
    activation, shape, domain, seed = sys.argv[1], tuple(map(int, sys.argv[2].split("-"))), sys.argv[3], sys.argv[4]
    import unweave

    box = unweave.Box(-1.0, 1.0) if domain == "box" else None
    # What is loaded or compiled when first used is no part of the time.
    unweave.identify(planted(activation, (3, 2, 1), np.random.default_rng(0)), inputs=3, domain=box)
    rng, stages, asked = np.random.default_rng(int(seed)), Stages(), 0
    truth = planted(activation, shape, rng)

    def model(points: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(points)
        return truth(points)

    before = time.process_time()
    found = unweave.identify(model, inputs=shape[0], domain=box, progress=stages, seed=int(seed))
    seconds = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    points = rng.uniform(-1, 1, (FRESH, shape[0])) if domain == "box" else rng.standard_normal((FRESH, shape[0]))
    values, error = truth(points), float("nan")
    if found.network is not None:
        error = float(np.max(np.abs(found.network(points) - values) / np.std(values, axis=0)))
    radius = float(found.certificate.radius) if found.certificate is not None else float("nan")
    print(
        json.dumps(
            {
                "activation": activation,
                "shape": sys.argv[2],
                "domain": domain,
                "seed": int(seed),
                "parameters": sum((inputs + 1) * neurons for inputs, neurons in pairwise(shape)),
                "identified": bool(found.is_identified),
                "queries": asked,
                "seconds": seconds,
                "stages": stages.seconds,
                "gigabytes": memory,
                "error": error,
                "radius": radius,
            }
        )
    )


if __name__ == "__main__":
    main()
