"""How far the certified radius is above the largest true error of a parameter, over random networks.

    python benchmarks/radius.py --networks 100 --seed 0

Shallow networks of tanh, sigmoid, softplus, GELU and ReLU with 5 to 30 inputs and 5 to 40 neurons, on an unbounded
domain and, with `--box`, in a box. Neither width nor activation is given. A radius below the error is a wrong claim.
"""

import numpy as np

import unweave
from command_line import parser_of, say
from unweave.activations import activation_named
from walks import planted

ACTIVATIONS = ("tanh", "sigmoid", "softplus", "gelu", "relu")
# Smaller differences between two numbers near one are rounding.
SMALLEST_ERROR = 1e-16


def main() -> None:
    """Identify the networks and print quantiles of the ratio."""
    parser = parser_of(__doc__)
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first network")
    parser.add_argument("--box", action="store_true", help="ask in the box from -1 to 1 only")
    args = parser.parse_args()
    ratios, errors = [], []
    for seed in range(args.seed, args.seed + args.networks):
        rng = np.random.default_rng([seed, 2])
        shape = int(rng.choice([5, 10, 20, 30])), int(rng.choice([5, 10, 20, 40])), 1
        secret = planted(activation_named(str(rng.choice(ACTIVATIONS))), shape, seed, is_general=False)
        domain = unweave.Box(-1.0, 1.0) if args.box else None
        found = unweave.identify(secret, inputs=secret.inputs, domain=domain, seed=seed)
        if not found.is_identified or found.network is None or found.network.widths != secret.widths:
            say(f"{seed}: {secret.layers[0].activation} {shape}: {found.outcome.value}, {found.reason[:100]}")
            continue
        assert found.certificate is not None
        errors.append(unweave.match(found.network, secret).largest_error)
        ratios.append(found.certificate.radius / max(errors[-1], SMALLEST_ERROR))
    wrong = sum(ratio < 1.0 for ratio in ratios)
    quantiles = ", ".join(f"{each:.3g}" for each in np.quantile(ratios, [0.0, 0.1, 0.5, 0.9, 1.0]))
    say(f"{len(ratios)} of {args.networks} identified, {wrong} with errors above the radius, largest {max(errors):.1e}")
    say(f"radius over error: smallest, 10 %, median, 90 %, largest: {quantiles}")


if __name__ == "__main__":
    main()
