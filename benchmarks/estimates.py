"""Whether estimates of `unweave identify --dry-run` hold: queries and requests of planted networks beside them.

    python benchmarks/estimates.py                    # some minutes
    python benchmarks/estimates.py --kinds general --shapes 5-3 10-10 --seeds 1
    python benchmarks/estimates.py --kinds steep students

General networks have slopes of about one and no more neurons than Hessians tell apart; steep ones are saturated at most
places of a box, as training leaves them; those for students have more neurons than Hessians tell apart, or one input;
rounded ones are general networks whose answers have few digits.
Printed per network are the route, queries and requests, and the estimated ranges of its kind; at the end of a kind the
share that lies inside, of those that were identified by the route that the estimate is for.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import product
from time import process_time

import numpy as np

from campaign_planted import random_network
from command_line import say, seeds_parser_of
from unweave import Box, CallableOracle, Network, identify
from unweave.activations import GAUSSIAN, RELU, SIGMOID, SIN, TANH, Activation
from unweave.identification.estimate import CROWDED, IN_A_BOX, STEEP, UNBOUNDED, EffortRule, rounded_rule
from unweave.identification.routes import POLE_WALK, STUDENT_FIT
from unweave.networks.planted import general_network
from unweave.oracles.oracle import MAX_BATCH

GENERAL_SHAPES = ("5-3", "5-20", "10-10", "20-10", "20-40", "50-25")
STEEP_SHAPES = ("1-2", "2-3", "4-6", "6-8", "10-5", "10-15")
# More neurons than `inputs (inputs - 1) / 2 - 1`, or one input.
STUDENT_SHAPES = ("1-2", "2-3", "3-4", "3-6", "4-7", "5-10")

ROUNDED_SHAPES = ("3-2", "6-3", "5-8", "10-5")

# A network, and the box that it may be asked in.
Planted = tuple[Network, Box | None]


class Counted(CallableOracle):
    """Counts the requests that a server would get."""

    requests = 0

    def _answer(self, points: np.ndarray) -> object:
        self.requests += -(-len(points) // MAX_BATCH)
        return super()._answer(points)


def general(rng: np.random.Generator, inputs: int, neurons: int) -> Iterator[Planted]:
    """Plant tanh and ReLU networks, on all of space and in a box."""
    for activation, box in product((TANH, RELU), (None, Box(-1.0, 1.0))):
        if box is None or activation is RELU or neurons < inputs * (inputs - 1) // 2:
            yield general_network(rng, inputs=inputs, neurons=neurons, activation=activation), box


def steep(rng: np.random.Generator, inputs: int, neurons: int) -> Iterator[Planted]:
    """Plant tanh and sigmoid networks with weights of 10 to 300, whose hyperplanes cross the middle of the box."""
    for activation in (TANH, SIGMOID):
        weights = rng.standard_normal((neurons, inputs)) * 10.0 ** rng.uniform(1.0, 2.5, (neurons, 1))
        biases = -np.sum(weights * rng.uniform(-0.5, 0.5, (neurons, inputs)), axis=1)
        heights, offset = rng.uniform(0.5, 1.5, (1, neurons)), rng.standard_normal(1)
        yield Network.shallow(weights, biases, heights, offset, activation), Box(-1.0, 1.0)


def for_students(rng: np.random.Generator, inputs: int, neurons: int) -> Iterator[Planted]:
    """Plant tanh networks in a box, and sin or Gaussian ones on all of space."""
    waves: Activation = SIN if neurons % 2 else GAUSSIAN
    for activation, box in ((TANH, Box(-2.0, 2.0)), (waves, None)):
        yield random_network(rng, activation.name, inputs=inputs, neurons=neurons), box


# How networks are planted, in which sizes, and what is estimated of them where the general rules do not hold.
KINDS = {
    "general": (general, GENERAL_SHAPES, None),
    "steep": (steep, STEEP_SHAPES, STEEP),
    "students": (for_students, STUDENT_SHAPES, CROWDED),
    "rounded": (general, ROUNDED_SHAPES, None),
}
ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "2 decimals": lambda values: np.round(values, 2),
    "4 decimals": lambda values: np.round(values, 4),
    "6 decimals": lambda values: np.round(values, 6),
    "float32": lambda values: values.astype(np.float32),
}

# That such networks are found by, for most of the queries.
ROUTES = {STEEP.network: POLE_WALK, CROWDED.network: STUDENT_FIT}


def measured(secret: Network, box: Box | None, rule: EffortRule, rounding: str = "") -> list[bool] | None:
    """Identify a network and print what it took; whether the estimates hold, or None if nothing was estimated of it."""
    model = secret if not rounding else lambda points: ROUNDINGS[rounding](secret(points))
    oracle = Counted(model, inputs=secret.inputs, domain=box)
    began = process_time()
    found = identify(oracle)
    seconds = process_time() - began
    rule = rounded_rule(oracle) or rule
    effort = rule(inputs=secret.inputs, neurons=secret.widths[0], max_batch=MAX_BATCH)
    pairs = ((found.queries, effort.queries), (oracle.requests, effort.requests))
    place = "everywhere" if box is None else "in a box"
    shape = f"{secret.inputs}-{secret.widths[0]}"
    said = "  ".join(f"{number:6} ({span})" for number, span in pairs)
    named = f"{secret.activations[0]!s:8} {shape:6} {place:10} {found.outcome.value:17} {found.route:16}{rounding}"
    say(f"{named} {said}  {seconds:.1f} s")
    if not found.is_identified or ROUTES.get(rule.network, found.route) != found.route:
        return None
    return [span.least <= number <= span.most for number, span in pairs]


def main(arguments: list[str] | None = None) -> int:
    """Identify networks of all kinds."""
    parser = seeds_parser_of(__doc__, seeds=3, atol=None)
    parser.add_argument("--kinds", nargs="*", choices=tuple(KINDS), default=tuple(KINDS))
    parser.add_argument("--shapes", nargs="*", help="of every kind; some of its own if omitted")
    options = parser.parse_args(arguments)
    for kind in options.kinds:
        plant, shapes, rule = KINDS[kind]
        kept: list[list[bool]] = []
        for shape, seed in product(options.shapes or shapes, range(options.first, options.first + options.seeds)):
            inputs, neurons = map(int, shape.split("-"))
            secrets = plant(np.random.default_rng([seed, inputs, neurons]), inputs, neurons)
            for secret, box in secrets:
                for rounding in ROUNDINGS if kind == "rounded" else ("",):
                    held = measured(secret, box, rule or (UNBOUNDED if box is None else IN_A_BOX), rounding)
                    kept += [] if held is None else [held]
        shares = np.mean(kept, axis=0) if kept else np.zeros(2)
        say(
            f"{kind}: inside the estimate {shares[0]:.0%} (queries), {shares[1]:.0%} (requests) of {len(kept)} networks"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
