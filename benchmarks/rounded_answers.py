"""Identify networks behind rounded answers: decimals, float32, float16 and bfloat16, without bounds and in a box.

    python benchmarks/rounded_answers.py --seeds 20 --first 930000 --out rounded.jsonl

Every trial is a line of the file, so that a run that was ended goes on there. Planted are weights N(0, 1)/sqrt(inputs),
``b ~ 0.3 N``, ``a`` uniform in ±(0.3, 2) and an offset ``0.3 N``. For every cell: how many were identified with
parameters within the radius and to 1e-8, the largest error, queries per parameter (the largest) and CPU seconds
(the median). A wrong network that is called identified ends the run with 1.
"""

import json
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import unweave
from command_line import parsed, parser_of, say, seeds_of
from unweave.activations import activation_named
from unweave.networks.planted import fan_in_network

ENOUGH = 1e-8


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """Round to bfloat16 by way of float32, as frameworks do."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    even = (bits + ((bits >> 16) & 1) + 0x7FFF) & 0xFFFF0000
    return even.astype(np.uint32).view(np.float32).astype(np.float64)


def to_float16(values: np.ndarray) -> np.ndarray:
    """Round to float16; far out ReLU is too large for it, and the model fails there."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float64)


KINDS = {
    **{f"decimals-{count}": (lambda values, count=count: np.round(values, count)) for count in (6, 4, 3, 2)},
    "decimals-4-in-float32": lambda values: np.round(values.astype(np.float32), 4),
    "float32": lambda values: values.astype(np.float32).astype(np.float64),
    "float16": to_float16,
    "bfloat16": to_bfloat16,
}


def trial(activation: str, shape: str, domain: str, kind: str, seed: int) -> dict[str, object]:
    """Identify one network."""
    inputs, neurons = map(int, shape.split("-")[:2])
    rng, rounding = np.random.default_rng(seed), KINDS[kind]
    truth = fan_in_network(rng, inputs=inputs, neurons=neurons, activation=activation_named(activation))
    box = unweave.Box(-1.0, 1.0) if domain == "box" else None
    start = time.process_time()
    found = unweave.identify(lambda points: rounding(truth(points)), inputs=inputs, domain=box, seed=seed)
    error = radius = None
    network, certificate = found.network, found.certificate
    if found.is_identified and network is not None and certificate is not None:
        is_same = network.widths == truth.widths and network.skip is None
        error = float(unweave.match(network, truth).largest_error) if is_same else np.inf
        radius = certificate.radius
    return {
        "cell": [activation, shape, domain, kind],
        "seed": seed,
        "outcome": found.outcome.value,
        "error": error,
        "radius": radius,
        "per_parameter": found.cost.queries / truth.parameters,
        "seconds": time.process_time() - start,
        "reason": found.reason,
    }


def row(trials: list[dict]) -> dict[str, Any]:
    """Sum the trials of a cell up."""
    identified = [each for each in trials if each["error"] is not None]
    exact = [each for each in identified if each["error"] <= ENOUGH]
    wrong = sum(each["error"] > max(each["radius"], 1e-15) for each in identified)
    largest = max((each["error"] for each in identified), default=np.nan)
    queries = [each["per_parameter"] for each in trials]
    activation, shape, domain, kind = trials[0]["cell"]
    return {
        "network": f"{activation} {shape}",
        "domain": domain,
        "answers": kind,
        "trials": len(trials),
        "recovered": len(exact),
        "wrong": wrong,
        "largest_error": largest,
        "queries_per_parameter": np.median(queries),
        "most_queries_per_parameter": max(queries),
        "cpu_seconds": np.median([each["seconds"] for each in trials]),
    }


def line(cell: dict[str, Any]) -> str:
    """Put what is known of a cell into one line."""
    template = (
        "| {network} | {domain} | {answers} | {recovered} of {trials} | {wrong} | {largest_error:.0e} "
        "| {queries_per_parameter:.0f} (at most {most_queries_per_parameter:.0f}) | {cpu_seconds:.1f} |"
    )
    return template.format_map(cell)


def main() -> int:
    """Run what the file does not hold yet, and print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=930_000, help="the first seed")
    parser.add_argument("--activations", nargs="+", default=["tanh", "sigmoid", "relu"])
    parser.add_argument("--shapes", nargs="+", default=["10-5-1", "20-10-1"])
    parser.add_argument("--domains", nargs="+", default=["unbounded", "box"], choices=["unbounded", "box"])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--out", type=Path, default=Path("rounded.jsonl"))
    options = parsed(parser)
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    say(f"| network | domain | answers | to {ENOUGH:.0e} | wrong | largest error | queries per parameter | seconds |")
    say("| --- | --- | --- | --- | --- | --- | --- | --- |")
    wrong = 0
    for cell in product(options.activations, options.shapes, options.domains, options.kinds):
        trials = []
        for seed in seeds_of(options):
            known = [each for each in done if each["cell"] == list(cell) and each["seed"] == seed]
            trials.append(known[0] if known else trial(*cell, seed))
            if not known:
                with options.out.open("a") as file:
                    file.write(json.dumps(trials[-1]) + "\n")
        found = row(trials)
        wrong += found["wrong"]
        options.json.keep("rounded answers", **found)
        say(line(found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
