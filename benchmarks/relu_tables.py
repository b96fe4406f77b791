"""ReLU networks from noisy tables: what is claimed, how well few rows and other inputs are predicted, large files.

    python benchmarks/relu_tables.py                                all tables but the files, 10 networks each
    python benchmarks/relu_tables.py --tables claims --seeds 100    the share identified, and what is missed
    python benchmarks/relu_tables.py --tables predictions inputs width
    python benchmarks/relu_tables.py --tables files --rows 10000000

Networks are `planted.relu_network`, as in `relu_samples.py`; neither their number of neurons nor the distribution of
the inputs is given. R2 is of labels without noise at rows that nothing has seen. Seconds are CPU time, of this process.
"""

import resource
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV

from command_line import parser_of, say
from unweave import match
from unweave.exceptions import InputWarning
from unweave.learn import ReluNetworkRegressor
from unweave.learn.relu_network.units import unit_parameters
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.result import Outcome
from unweave.samples.arrow_files import ParquetSource

SHAPES, NOISES = ((10, 6), (20, 8)), (0.1, 1.0)
FRESH = 20_000
# Rows that are written to a file at a time.
BATCH = 250_000
KINDS = ("Gaussian", "mixture", "uniform", "exponential", "half binary", "one-hot")


def drawn(kind: str, rng: np.random.Generator, rows: int, inputs: int) -> np.ndarray:
    """Inputs of a kind; the same generator gives the same centres."""
    centers = 1.5 * rng.standard_normal((3, inputs))
    normal = rng.standard_normal((rows, inputs))
    if kind == "mixture":
        return centers[rng.integers(3, size=rows)] + normal
    if kind == "uniform":
        return rng.uniform(-1.7, 1.7, (rows, inputs))
    if kind == "exponential":
        return rng.exponential(1.0, (rows, inputs)) - 1.0
    if kind == "half binary":
        normal[:, ::2] = rng.choice([-1.0, 1.0], (rows, len(normal[0, ::2])))
    if kind == "one-hot":
        normal[:, :4] = 2.0 * (rng.integers(4, size=rows)[:, None] == np.arange(4))
    return normal


def planted(
    seed: int, inputs: int, neurons: int, rows: int, noise: float, kind: str = "Gaussian"
) -> tuple[Network, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """A network, rows of it with noise, and fresh points."""
    rng = np.random.default_rng([seed, inputs, neurons, rows, KINDS.index(kind)])
    truth = relu_network(rng, inputs=inputs, neurons=neurons)
    points = drawn(kind, rng, rows + FRESH, inputs)
    labels = truth(points[:rows])[:, 0] + noise * rng.standard_normal(rows)
    return truth, (points[:rows], labels), points[rows:]


def fitted(points: np.ndarray, labels: np.ndarray, seed: int) -> tuple[ReluNetworkRegressor, float]:
    """The estimator with defaults, and the seconds that it took."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        model = ReluNetworkRegressor(random_state=seed).fit(points, labels)
    return model, time.process_time() - start


def largest_missed(found: Network, truth: Network, fresh: np.ndarray, resolution: float) -> float:
    """The bend (root mean square beside affine functions) of the largest true neuron that was not found."""
    directions, true = unit_parameters(found)[0], unit_parameters(truth)[0]
    mine, its = linear_sum_assignment(-np.abs(directions @ true.T))
    near = np.abs(np.sum(directions[mine] * true[its], axis=1)) > np.cos(resolution)
    missed = np.ones(len(true), dtype=bool)
    missed[its[near]] = False
    hidden, output = truth.layers
    lifted = np.linalg.qr(np.column_stack([fresh, np.ones(len(fresh))]))[0]
    bent = np.maximum(hidden.preactivations(fresh), 0.0) * output.weights[0]
    sizes = np.sqrt(np.mean((bent - lifted @ (lifted.T @ bent)) ** 2, axis=0))
    return float(np.max(sizes[missed], initial=0.0))


def r2(predicted: np.ndarray, exact: np.ndarray) -> float:
    """Share of the variance that is explained."""
    return float(1.0 - np.mean((predicted - exact) ** 2) / np.var(exact))


@dataclass
class Tally:
    """Fits of some planted networks."""

    ends: list[Outcome] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    right: int = 0
    missed: int = 0

    def counts(self) -> tuple[int, int]:
        """How many are identified, and partly identified."""
        return self.ends.count(Outcome.IDENTIFIED), self.ends.count(Outcome.PARTLY_IDENTIFIED)

    def quality(self, *, digits: int = 5) -> str:
        """How many have the right width, median and worst R2, and the median time."""
        scores = " ".join(f"{score:{digits + 3}.{digits}f}" for score in (np.median(self.scores), min(self.scores)))
        return f"{self.right:7d} {scores} {np.median(self.seconds):6.2f}"


def tallied(seeds: int, inputs: int, neurons: int, rows: int, noise: float, kind: str = "Gaussian") -> Tally:
    """Plant, fit and compare."""
    tally = Tally()
    for seed in range(seeds):
        truth, samples, fresh = planted(seed, inputs, neurons, rows, noise, kind)
        model, took = fitted(*samples, seed)
        claim = model.certificate_
        if model.outcome_ is Outcome.IDENTIFIED:
            size = largest_missed(model.network_, truth, fresh, claim.resolution)
            tally.missed += size > 2.0 * claim.noticeable
        tally.ends.append(model.outcome_)
        tally.right += model.network_.widths == truth.widths
        tally.scores.append(r2(model.predict(fresh), truth(fresh)[:, 0]))
        tally.seconds.append(took)
    return tally


def claims(seeds: int, counts: Sequence[int]) -> None:
    """What is called identified, and whether it lacks a neuron of twice the size that it names as visible."""
    print(f"\nGaussian inputs, {seeds} networks each; missed: identified without a neuron of twice `noticeable`")
    header = f"{'rows':>7} {'inputs':>6} {'neurons':>7} {'noise':>5} {'identified':>10} {'partly':>6} {'missed':>6}"
    print(f"{header} {'right m':>7} {'R2':>7} {'worst':>7} {'CPU s':>6}")
    for rows, (inputs, neurons), noise in product(counts, SHAPES, NOISES):
        tally = tallied(seeds, inputs, neurons, rows, noise)
        identified, partly = tally.counts()
        say(
            f"{rows:7,d} {inputs:6d} {neurons:7d} {noise:5.1f} {identified:10d} {partly:6d} {tally.missed:6d} "
            + tally.quality(digits=4)
        )


def predictions(seeds: int) -> None:
    """Few rows beside what everybody has."""
    print(f"\nGaussian inputs, medians of R2 over {seeds} networks; lost: below the ridge or the mean by more than .01")
    print(f"{'rows':>6} {'inputs':>6} {'neurons':>7} {'noise':>5} {'here':>7} {'ridge':>7} {'boosting':>8} {'lost':>4}")
    for rows, (inputs, neurons), noise in product((300, 1_000, 10_000), SHAPES, NOISES):
        scores = []
        for seed in range(seeds):
            truth, (points, labels), fresh = planted(seed, inputs, neurons, rows, noise)
            others = (RidgeCV(np.logspace(-3, 3, 13)), HistGradientBoostingRegressor(), DummyRegressor())
            models = (fitted(points, labels, seed)[0], *(each.fit(points, labels) for each in others))
            scores.append([r2(each.predict(fresh), truth(fresh)[:, 0]) for each in models])
        own, ridge, boosting, mean = np.array(scores).T
        lost = np.count_nonzero(own < np.maximum(ridge, mean) - 0.01)
        shown = " ".join(f"{np.median(each):7.3f}" for each in (own, ridge, boosting))
        say(f"{rows:6,d} {inputs:6d} {neurons:7d} {noise:5.1f} {shown} {lost:5d}")


def inputs_of_tables(seeds: int) -> None:
    """Other inputs than Gaussian ones."""
    print(f"\n10 inputs, 6 neurons, 10,000 rows, noise 0.1; {seeds} networks each")
    print(f"{'inputs':12} {'identified':>10} {'partly':>6} {'right m':>7} {'R2':>8} {'worst':>8} {'CPU s':>6}")
    for kind in KINDS:
        tally = tallied(seeds, 10, 6, 10_000, 0.1, kind)
        identified, partly = tally.counts()
        say(f"{kind:12} {identified:10d} {partly:6d} {tally.quality()}")


def width(seeds: int) -> None:
    """More neurons than inputs."""
    print(f"\n10,000 rows, {seeds} networks each")
    print(f"{'inputs':>6} {'neurons':>7} {'noise':>5} {'right m':>7} {'R2':>8} {'worst':>8} {'CPU s':>6} {'most':>6}")
    for inputs, neurons, noise in ((10, 12, 1.0), (10, 12, 0.1), (10, 30, 0.1), (5, 15, 0.1), (5, 15, 0.0)):
        tally = tallied(seeds, inputs, neurons, 10_000, noise)
        say(f"{inputs:6d} {neurons:7d} {noise:5.1f} {tally.quality()} {max(tally.seconds):6.2f}")


def written(path: Path, truth: Network, rows: int, noise: float) -> ParquetSource:
    """A Parquet file of samples, which are never all in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(1), None
    names = [*(f"x{k}" for k in range(truth.inputs)), "y"]
    for first in range(0, rows, BATCH):
        points = rng.standard_normal((min(BATCH, rows - first), truth.inputs))
        labels = truth(points)[:, 0] + noise * rng.standard_normal(len(points))
        table = pa.table(dict(zip(names, [*points.T.copy(), labels], strict=True)))
        writer = writer or pq.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
    if writer is not None:
        writer.close()
    return ParquetSource((path,), "y")


def files(rows: int) -> None:
    """Files that are larger than memory: all rows in the last fit, standard errors that fall with their number."""
    truth = relu_network(np.random.default_rng(0), inputs=20, neurons=8)
    print("\n20 inputs, 8 neurons, noise 0.5, Parquet; error and standard error of the worst parameter")
    print(f"{'rows':>11} {'in last fit':>11} {'outcome':>17} {'error':>8} {'bar':>8} {'CPU s':>7} {'peak GB':>7}")
    for count in (rows // 100, rows // 10, rows):
        with tempfile.TemporaryDirectory() as folder:
            source = written(Path(folder) / "samples.parquet", truth, count, 0.5)
            start = time.process_time()
            model = ReluNetworkRegressor(random_state=0).fit_source(source, inputs=20)
            took = time.process_time() - start
        used = next(note for note in model.result_.notes if "last fit used" in note).split()[4]
        error = match(model.network_, truth).largest_error if model.network_.widths == truth.widths else np.inf
        bar, peak = model.certificate_.largest_standard_error, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        say(
            f"{count:11,d} {used:>11} {model.outcome_.value:>17} {error:8.5f} {bar:8.5f} {took:7.1f} "
            f"{peak / 2**20:7.2f}"
        )


TABLES = {"predictions": predictions, "inputs": inputs_of_tables, "width": width}


def main() -> None:
    """Run the tables that are asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--tables", nargs="+", choices=["claims", *TABLES, "files"], default=["claims", *TABLES])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--samples", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="rows of claims")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the largest file")
    args = parser.parse_args()
    for name in args.tables:
        if name == "files":
            files(args.rows)
        elif name == "claims":
            claims(args.seeds, args.samples)
        else:
            TABLES[name](args.seeds)


if __name__ == "__main__":
    main()
