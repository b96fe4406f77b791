"""The model of [fiedler, Ch. 3] at its sizes: D = 20, 25, 30, 40, 50 with m = 0.4 D^2 tanh neurons.

    python benchmarks/fiedler_sizes.py --inputs 20 25 30 40 50
    python benchmarks/fiedler_sizes.py --inputs 20 25 30 40 50 --hessians

The second runs without walks, by Hessians as [fiedler] does.

[fiedler, Table 3.2] gives seconds on a P100 GPU for weights and initial shifts, Hessians included.
The general form is identified here (width, activation, scales and output weights not given), and
the time before refinement is the comparable one.
"""

import argparse
import time

import numpy as np

import unweave
from command_line import say
from unweave.identification.identifier import Identifier
from unweave.networks.planted import unit_network
from unweave.oracles.oracle import CallableOracle

PUBLISHED_SECONDS = {20: 7.63, 25: 11.4, 30: 17.4, 35: 27.5, 40: 43.1, 45: 70.8, 50: 113.0}


def published_queries(inputs: int, neurons: int) -> int:
    """Queries of the practical settings of [fiedler, Sec. 3.6]."""
    hessians = int(np.ceil(neurons * np.log(inputs))) * (2 * inputs**2 + 1)
    return hessians + 4 * neurons + 1 + neurons * inputs**2


def main() -> None:
    """Run the sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, nargs="*", default=[20, 25, 30, 40, 50])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hessians", action="store_true", help="no walks")
    options = parser.parse_args()
    print(
        "  D    m outcome      error    signs  queries   of limit  of published  before refining s (GPU)   refining s"
    )
    for inputs in options.inputs:
        neurons = int(0.4 * inputs**2)
        truth = unit_network(np.random.default_rng([options.seed, inputs]), inputs=inputs, neurons=neurons)
        start = time.perf_counter()
        identify = Identifier(walks=not options.hessians)
        found = identify(CallableOracle(truth, inputs=inputs), seed=options.seed)
        match = unweave.match(found.network, truth) if found.network is not None else None
        error = match.largest_error if match is not None else np.inf
        # Output weights are one in this model, so a wrong sign would show as an output weight of -1.
        signs = int(np.sum(match.aligned.layers[1].weights > 0)) if match is not None and match.is_comparable else 0
        limit = 1.3 * neurons * (inputs**2 + inputs + 1) + 3 * truth.parameters
        refining = found.seconds.get("refining", 0.0)
        before = time.perf_counter() - start - refining
        say(
            f"{inputs:3d} {neurons:4d} {found.outcome.value:12s} {error:.1e} {signs:4d}/{neurons:4d} "
            f"{found.queries:8d} {found.queries / limit:8.3f} "
            f"{found.queries / published_queries(inputs, neurons):10.3f} "
            f"{before:16.1f} ({PUBLISHED_SECONDS.get(inputs, np.nan):5.1f}) {refining:15.1f}"
        )


if __name__ == "__main__":
    main()
