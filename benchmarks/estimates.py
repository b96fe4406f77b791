"""Whether estimates of `unweave identify --dry-run` hold: queries and requests of planted networks beside them.

    python benchmarks/estimates.py                    # some minutes
    python benchmarks/estimates.py --shapes 5-3 10-10 --seeds 1

Printed per network are queries and requests, and the estimated ranges; at the end the share that lies inside, and the
share of identified ones that took more than the upper end.
"""

import sys
from itertools import product

import numpy as np

from command_line import say, seeds_parser_of
from unweave import Box, CallableOracle, identify
from unweave.activations import RELU, TANH
from unweave.identification.estimate import estimate
from unweave.networks.planted import general_network
from unweave.oracles.oracle import MAX_BATCH

SHAPES = ("5-3", "5-20", "10-10", "20-10", "20-40", "50-25")


class Counted(CallableOracle):
    """Counts the requests that a server would get."""

    requests = 0

    def _answer(self, points: np.ndarray) -> object:
        self.requests += -(-len(points) // MAX_BATCH)
        return super()._answer(points)


def main(arguments: list[str] | None = None) -> int:
    """Identify networks of all kinds, on all of space and in a box."""
    parser = seeds_parser_of(__doc__, seeds=3, atol=None)
    parser.add_argument("--shapes", nargs="*", default=SHAPES)
    options = parser.parse_args(arguments)
    inside = []
    for activation, shape, box, seed in product(
        (TANH, RELU), options.shapes, (None, Box(-1.0, 1.0)), range(options.first, options.first + options.seeds)
    ):
        inputs, neurons = map(int, shape.split("-"))
        if box is not None and activation is TANH and neurons >= inputs * (inputs - 1) // 2:
            continue
        secret = general_network(np.random.default_rng(seed), inputs=inputs, neurons=neurons, activation=activation)
        oracle = Counted(secret, inputs=inputs, domain=box)
        found = identify(oracle)
        (effort,) = estimate(inputs=inputs, is_in_box=box is not None, neurons=neurons, max_batch=MAX_BATCH)
        pairs = ((found.queries, effort.queries), (oracle.requests, effort.requests))
        if found.is_identified:
            inside.append([span.least <= number <= span.most for number, span in pairs])
        place = "everywhere" if box is None else "in a box"
        said = "  ".join(f"{number:6} ({span})" for number, span in pairs)
        say(f"{activation!s:5} {shape:6} {place:10} {found.outcome.value:15} {said}")
    shares = np.mean(inside, axis=0)
    say(f"inside the estimate: queries {shares[0]:.0%}, requests {shares[1]:.0%} of {len(inside)} identified networks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
