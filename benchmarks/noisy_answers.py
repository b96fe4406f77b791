"""Identify networks behind noisy answers: float32 evaluation and additive noise, many seeds.

    python benchmarks/noisy_answers.py --networks 40

For every kind of noise: outcomes, wrong networks called identified, and the median largest relative
parameter error, also as a multiple of the noise.
"""

import argparse
import sys
from collections import Counter

import numpy as np

import unweave
from command_line import say
from unweave.activations import ERF, GELU, SIGMOID, SOFTPLUS, TANH
from unweave.networks.planted import general_network

ACTIVATIONS = (TANH, SIGMOID, SOFTPLUS, ERF, GELU)


def answers(kind: str, network: unweave.Network, rng: np.random.Generator):
    """The network behind one kind of noise."""
    hidden, output = network.layers
    single = [array.astype(np.float32) for array in (hidden.weights, hidden.biases, output.weights, output.biases)]

    def evaluated_in_float32(points: np.ndarray) -> np.ndarray:
        weights, biases, output_weights, offset = single
        inner = (points.astype(np.float32) @ weights.T + biases).astype(np.float32)
        return hidden.activation(inner).astype(np.float32) @ output_weights.T + offset

    if kind == "float32":
        return evaluated_in_float32
    level = float(kind)
    return lambda points: network(points) + level * rng.standard_normal((len(points), network.outputs))


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = 0
    for kind in ("1e-10", "1e-8", "float32", "1e-6", "1e-4"):
        outcomes, errors = Counter(), []
        for number in range(options.networks):
            rng = np.random.default_rng([options.seed, number])
            inputs = int(rng.integers(4, 11))
            neurons = int(rng.integers(1, min(2 * inputs, inputs * (inputs - 1) // 2 - 1) + 1))
            truth = general_network(
                rng, inputs=inputs, neurons=neurons, activation=ACTIVATIONS[number % len(ACTIVATIONS)]
            )
            found = unweave.identify(answers(kind, truth, rng), inputs=inputs, seed=number)
            outcomes[found.outcome.value] += 1
            if found.is_identified:
                error = unweave.match(found.network, truth).largest_error
                errors.append(error)
                wrong += error > found.certificate.radius
                if error > found.certificate.radius:
                    print(f"WRONG {kind} {number}: error {error:.1e} radius {found.certificate.radius:.1e}")
        level = 2.0**-24 if kind == "float32" else float(kind)
        typical, worst = (np.median(errors), np.max(errors)) if errors else (np.nan, np.nan)
        say(
            f"{kind:8s} {dict(outcomes)}  error median {typical:.1e} ({typical / level:.0f} times the noise), "
            f"largest {worst:.1e}"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
