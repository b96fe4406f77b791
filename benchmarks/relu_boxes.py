"""Identify random ReLU and leaky ReLU networks in a box: how many, how many wrong, and for how many queries.

    python benchmarks/relu_boxes.py --networks 500 --seed 0

2 to 10 inputs, 1 to 12 neurons, weights N(0, 1) / sqrt(fan-in), biases of one size between 0.3 and 2. In a box no line
has to meet a kink that cuts off a corner, so that results are compared with the truth at all vertices and 100,000
points, parameter by parameter, by the judge of the campaign (campaign_identify.py).
"""

from collections import Counter

import numpy as np

import unweave
from campaign_identify import verdict
from campaign_planted import kinked_in_a_box
from command_line import parser_of, say


def main() -> None:
    """Identify the networks, and print outcomes, verdicts and queries per parameter of those that were identified."""
    parser = parser_of(__doc__)
    parser.add_argument("--networks", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="of the first network")
    args = parser.parse_args()
    outcomes: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    costs = []
    for seed in range(args.seed, args.seed + args.networks):
        rng = np.random.default_rng([seed, *b"relu boxes"])
        truth = kinked_in_a_box(rng)
        assert truth.network is not None
        found = unweave.identify(truth.function, inputs=truth.inputs, domain=truth.domain, seed=seed)
        judged = verdict(found, truth, rng)
        outcomes[found.outcome.value] += 1
        verdicts[judged.verdict.value] += 1
        if found.is_identified:
            costs.append(found.cost.queries / truth.network.parameters)
        if judged.verdict.value == "wrong":
            say(f"{seed}: {judged.detail}")
    say(f"{args.networks} networks: {dict(outcomes)}; against the truth: {dict(verdicts)}")
    say(f"queries per parameter of identified networks: median {np.median(costs):.1f}, largest {max(costs):.1f}")


if __name__ == "__main__":
    main()
