"""Identify many random shallow networks, width and activation not given, and count the successes.

    python benchmarks/shallow_sweep.py --networks 200 --seed 0
    python benchmarks/shallow_sweep.py --networks 200 --seed 0 --hessians

The second runs without walks, by Hessians alone. Prints one line per network and a summary;
exits with 1 if any wrong network was called identified.
"""

import sys
import time

import numpy as np

import unweave
from command_line import parsed, parser_of, say
from unweave.activations import ERF, GELU, SIGMOID, SOFTPLUS, TANH
from unweave.identification.identifier import Identifier
from unweave.networks.planted import general_network
from unweave.oracles.oracle import CallableOracle

ACTIVATIONS = (TANH, SIGMOID, SOFTPLUS, ERF, GELU)
EXACT = 1e-8


def planted_case(seed: int, number: int) -> unweave.Network:
    """Inputs 3 to 20, neurons 1 to min(2 D, D(D-1)/2 - 1), 1 to 3 outputs, one of five activations."""
    rng = np.random.default_rng([seed, number])
    inputs = int(rng.integers(3, 21))
    neurons = int(rng.integers(1, min(2 * inputs, inputs * (inputs - 1) // 2 - 1) + 1))
    return general_network(
        rng,
        inputs=inputs,
        neurons=neurons,
        outputs=int(rng.integers(1, 4)),
        activation=ACTIVATIONS[rng.integers(len(ACTIVATIONS))],
    )


def main() -> int:
    """Run the sweep."""
    parser = parser_of(__doc__)
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hessians", action="store_true", help="no walks")
    options = parsed(parser)
    identify = Identifier(walks=not options.hessians)
    exact = wrong = over_budget = 0
    errors, per_parameter, start = [], [], time.perf_counter()
    for number in range(options.first, options.first + options.networks):
        truth = planted_case(options.seed, number)
        found = identify(CallableOracle(truth, inputs=truth.inputs), seed=number)
        error = unweave.match(found.network, truth).largest_error if found.network is not None else np.inf
        inputs, neurons = truth.inputs, truth.widths[0]
        limit = 1.3 * neurons * (inputs**2 + inputs + 1) + 3 * truth.parameters
        is_exact = found.is_identified and error <= EXACT
        is_wrong = found.is_identified and not error <= max(EXACT, found.certificate.radius)
        exact, wrong = exact + is_exact, wrong + is_wrong
        over_budget += neurons >= inputs and found.queries > limit
        errors.append(error)
        per_parameter.append(found.queries / truth.parameters)
        say(
            f"{number:4d} {inputs:3d} inputs {neurons:3d} neurons {truth.outputs} outputs "
            f"{truth.layers[0].activation.name:9s} {found.outcome.value:18s} error {error:.1e} "
            f"queries {found.queries:6d} ({found.queries / limit:.2f} of the limit)"
            + ("" if is_exact else f"  <-- {found.reason}")
        )
    options.json.keep(
        "sweep",
        way="Hessians alone" if options.hessians else "walks",
        trials=options.networks,
        recovered=exact,
        wrong=wrong,
        above_query_limit=over_budget,
        median_error=np.median(errors),
        largest_error=max((error for error in errors if error <= EXACT), default=None),
        queries_per_parameter=np.median(per_parameter),
    )
    print(
        f"\n{exact} of {options.networks} identified to {EXACT:g}; {wrong} wrong networks called identified; "
        f"{over_budget} above the query limit (neurons >= inputs); largest error {max(errors):.1e}, median "
        f"{np.median(errors):.1e}; median queries per parameter {np.median(per_parameter):.1f}; "
        f"{time.perf_counter() - start:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
