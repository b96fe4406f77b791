"""Default subspace power method against [fiedler, Alg. 2.2], on the same subspaces, in one run.

    python benchmarks/subspace_power.py              # D = 20, 25, 30, exact subspaces, m = 0.4 D^2
    python benchmarks/subspace_power.py --inputs 20

Both run the same compiled kernel on both cores; compilation is excluded by a warm-up on the same
shapes. The reference takes its fixed 1000 steps from 5 m log D starts.
"""

import argparse
import time

import numpy as np

from unweave.arrays import pack_squares
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.numerics.subspace_power import SubspacePower
from unweave.reproduce.fiedler.subspace_power import FixedSubspacePower


def exact_subspace(rng: np.random.Generator, inputs: int, neurons: int) -> tuple[np.ndarray, MatrixSubspace]:
    """Random unit atoms and the span of their squares."""
    atoms = rng.standard_normal((neurons, inputs))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    mixed = rng.standard_normal((2 * neurons, neurons)) @ pack_squares(atoms)
    return atoms, span_of_hessians(mixed, inputs=inputs, rank=neurons)


def recovered(atoms: np.ndarray, found: np.ndarray) -> int:
    """Number of true atoms that some found one matches to 1e-6."""
    return int(np.count_nonzero(np.max(np.abs(atoms @ found.T), axis=1) > 1 - 1e-12)) if len(found) else 0


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, nargs="*", default=[20, 25, 30])
    options = parser.parse_args()
    print("  D     m  default s  found  starts  reference s  found  starts   ratio")
    for inputs in options.inputs:
        neurons = int(0.4 * inputs**2)
        atoms, subspace = exact_subspace(np.random.default_rng(inputs), inputs, neurons)
        methods = SubspacePower(), FixedSubspacePower()
        SubspacePower()(subspace, np.random.default_rng(1))
        FixedSubspacePower(steps=2)(subspace, np.random.default_rng(1))
        rows = []
        for method in methods:
            start = time.perf_counter()
            directions = method(subspace, np.random.default_rng(2))
            rows.append((time.perf_counter() - start, recovered(atoms, directions.atoms), directions.starts))
        (fast, found, starts), (slow, found_slow, starts_slow) = rows
        print(
            f"{inputs:3d} {neurons:5d} {fast:10.2f} {found:6d} {starts:7d} {slow:12.2f} {found_slow:6d} "
            f"{starts_slow:7d} {slow / fast:7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
