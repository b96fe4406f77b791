"""Deep networks recovered layer by layer: success over seeds, queries per parameter, errors, CPU seconds.

    python benchmarks/deep.py                                        six set-ups of [fiedler, Sec. 4.4], 10 seeds each
    python benchmarks/deep.py --shapes 50-50-35-25-10 --shift 0.22   with larger shifts
    python benchmarks/deep.py --shapes 50-50-40-30-20-10 --seeds 3   five layers
    python benchmarks/deep.py --sweep 100                            random small pyramids

Teachers have unit weight vectors, Gaussian shifts, tanh hidden layers, and a tanh or identity output. Nothing is
given but the number of inputs. A network counts as identified if the outcome says so and every parameter is
within `--atol` of the planted one up to symmetry; it is wrong if the outcome says so and that is not true.
"""

import argparse
import time

import numpy as np

import unweave
from command_line import median_and_largest, parsed, say, seeds_of, seeds_parser_of
from tally import Tally
from unweave.activations import activation_named
from unweave.networks.network import Network
from unweave.networks.planted import deep_network

SHAPES = ["50-50-25-10", "50-50-25-50", "50-50-35-25-10"]
# Queries of [fiedler, Sec. 4.4] for its Hessians at these set-ups: twice 4 m at 2 D (D + 1) each.
PUBLISHED_QUERIES = {"50-50-25-10": 3_468_000, "50-50-25-50": 5_100_000, "50-50-35-25-10": 4_896_000}


def recover(tally: Tally, truth: Network, seed: int, *, atol: float, name: str) -> None:
    """Recover one network, compare, and say what went wrong."""
    start = time.process_time()
    found = unweave.identify(truth, inputs=truth.inputs, seed=seed)
    error = tally.add(truth, found, time.process_time() - start, atol=atol)
    if error is not None:
        widths = None if found.network is None else found.network.widths
        print(f"    {name}, seed {seed}: {found.outcome.value} (error {error:.1e}, widths {widths}): {found.reason}")


def line(tally: Tally, name: str) -> str:
    """One row of the table."""
    return (
        f"{name:32} {tally.identified:3d} of {tally.runs:3d} {tally.wrong:6d} {np.median(tally.costs):9.2f} "
        f"{np.max(tally.costs):8.2f}  {median_and_largest(tally.errors, '9.1e')} {np.median(tally.seconds):8.1f}"
    )


def header() -> str:
    """Names of the columns."""
    return (
        f"{'network':32} {'identified':>10} {'wrong':>6} {'q/param':>9} {'largest':>8} {'error':>10} {'largest':>9} "
        f"{'CPU s':>8}"
    )


def set_ups(args: argparse.Namespace) -> None:
    """The teachers of [fiedler, Sec. 4.4], or others of that kind."""
    for shape in args.shapes:
        for output in args.outputs:
            tally = Tally()
            name = f"{shape} {output}, shifts {args.shift}"
            for seed in seeds_of(args):
                truth = deep_network(
                    np.random.default_rng(seed),
                    shape=tuple(map(int, shape.split("-"))),
                    output_activation=activation_named(output),
                    shift_deviation=args.shift,
                )
                recover(tally, truth, seed, atol=args.atol, name=name)
            say(line(tally, name))
            args.json.keep("set-ups", network=f"{shape}, {output} output", **tally.counts(), **tally.sizes())
            if shape in PUBLISHED_QUERIES:
                print(f"    [fiedler] asks {PUBLISHED_QUERIES[shape] / truth.parameters:.0f} queries per parameter")


def pyramid(seed: int, *, most_outputs: int, fewest_outputs: int, shift: float) -> Network:
    """A random network of 5 to 20 inputs and one to three hidden layers that do not widen."""
    rng = np.random.default_rng([seed, 7])
    inputs = int(rng.integers(5, 21))
    widths, widest = [], inputs
    for _ in range(int(rng.integers(1, 4))):
        widest = int(rng.integers(min(3, widest), widest + 1))
        widths.append(widest)
    shape = (inputs, *widths, int(rng.integers(fewest_outputs, most_outputs + 1)))
    return deep_network(
        rng,
        shape=shape,
        output_activation=activation_named("tanh" if rng.random() < 0.5 else "identity"),
        shift_deviation=shift,
    )


def sweep(args: argparse.Namespace) -> None:
    """Random small pyramids, by depth and in all."""
    tallies: dict[str, Tally] = {}
    for seed in range(args.first, args.first + args.sweep):
        truth = pyramid(seed, most_outputs=args.most_outputs, fewest_outputs=args.fewest_outputs, shift=args.shift)
        shape = "-".join(map(str, (truth.inputs, *truth.widths, truth.outputs)))
        kind = Tally()
        recover(kind, truth, seed, atol=args.atol, name=f"{shape} {truth.activations[-1]}")
        for name in (f"{len(truth.widths)} hidden layers", "all"):
            tallies.setdefault(name, Tally()).merge(kind)
    for name in sorted(tallies):
        print(line(tallies[name], f"pyramids, {name}"))
        if name != "all":
            args.json.keep("pyramids", network=name, **tallies[name].counts(), **tallies[name].sizes())


def main() -> None:
    """Run the set-ups or the sweep."""
    parser = seeds_parser_of(__doc__, seeds=10, atol=1e-8)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--outputs", nargs="+", default=["tanh", "identity"])
    parser.add_argument("--shift", type=float, default=0.05, help="standard deviation of the shifts")
    parser.add_argument("--sweep", type=int, default=0, help="so many random small pyramids instead")
    parser.add_argument("--fewest-outputs", type=int, default=2)
    parser.add_argument("--most-outputs", type=int, default=6)
    args = parsed(parser)
    print(header())
    if args.sweep:
        sweep(args)
    else:
        set_ups(args)


if __name__ == "__main__":
    main()
