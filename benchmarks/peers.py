"""Four ways to recover a network with one hidden layer from queries, on the same networks, in one run.

    pip install torch adversarial-robustness-toolbox scikit-learn    # the peers; no dependencies of Unweave
    python benchmarks/peers.py --seeds 20                            # --json FILE to keep the table
    python benchmarks/peers.py --without-toolbox --without-student   # Unweave alone needs neither of them
    python benchmarks/peers.py --shapes relu:784-32-1 --seeds 1      # or --large: added to the default shapes

* Unweave: `unweave.identify`; nothing is given but the number of inputs.
* Toolbox: the functionally equivalent extraction of the Adversarial Robustness Toolbox, after Jagielski et al.
  (arXiv:1909.01838), for ReLU. Width and activation are given. It wants two classes, so it is shown the logits ``(f,
  -f)`` and one query answers both; a second output with output weights of its own was tried and helped no more. The
  toolbox rounds to float32 by default: that is switched off. Settings are the toolbox's own, except three that were
  chosen for these networks on other seeds (see TOOLBOX_SETTINGS). If it raises or hangs, it starts again on another
  random line, three attempts in all; the queries of all attempts count. They are counted as asked, repeated ones
  included.
* Student: a network of the same architecture, trained by Adam in float64 on as many answers at Gaussian points as
  Unweave asked for (on 50 per parameter if Unweave identified nothing), best of three starts.
* sklearn: scikit-learn's `MLPRegressor` of the same architecture on the same answers, by L-BFGS without regularisation,
  best of three starts.

Each has 120 CPU seconds per network (--time-limit), the toolbox a third of them per attempt.

Networks: weights N(0, 1) / sqrt(fan-in) in both layers, all biases 0.3 N(0, 1). Errors are the largest output error at
2000 fresh Gaussian points, relative to the standard deviation of the true outputs there. The columns:

    tried = <=1e-3 + wrong + failed
    <=1e-9   recovered to this error; contained in the next column
    <=1e-3   recovered to this error, with nothing said against it
    wrong    a larger error, and no exception or statement: wrong silently
    failed   exception, time limit or statement: Unweave's is any outcome but "identified", the student's is its own
             largest error above 1e-3 at the tenth of its answers that it holds out, the toolbox's are its exceptions
    queries  per parameter of the network (D m + 2 m + 1), median of all tried
    error    median of all models that came back, good or not; worst of those in the column <=1e-3
    params   largest relative parameter error after matching, worst of those Unweave identified
    CPU s    median of all tried, over all threads; the first run of Unweave at a shape includes compilation
"""

import argparse
import os
import re
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from threadpoolctl import threadpool_limits

import unweave
from command_line import parsed, parser_of, say, seeds_of
from peers_student import best_regressor, best_student
from unweave.activations import activation_named

THREADS = 2
EXACT, CLOSE = 1e-9, 1e-3
FRESH_POINTS = 2000
DEFAULT_SHAPES = ("relu:10-5-1", "relu:20-10-1", "relu:50-25-1", "relu:5-10-1", "tanh:10-5-1", "tanh:20-10-1")
LARGE_SHAPE = "relu:784-32-1"

TOOLBOX_ATTEMPTS = 3
# The weights are read off differences over `delta_init_value` and `delta_sign` around a kink. The defaults of 0.1 and
# 0.02 step over other kinks: of ten networks 10-5-1 and ten 20-10-1, none came out to 1e-3, and none with the values of
# the toolbox's unit test either. `d2_min` is that of the unit test: the default makes it widen the difference at small
# weights. What remains wrong is mostly its search: a kink in the first or last tenth of an interval is accepted at the
# wrong place, which happens to one neuron in five.
TOOLBOX_SETTINGS = {"delta_init_value": 1e-3, "delta_sign": 1e-3, "d2_min": 1e-20}
TOOLBOX_SAMPLES_PER_NEURON = 20

STUDENT_QUERIES_PER_PARAMETER = 50

Function = Callable[[np.ndarray], np.ndarray]


class TimeLimit(BaseException):
    """The time is up. Not an Exception, so that nobody takes it for a fault of the model."""


@dataclass(frozen=True)
class Shape:
    """Activation and sizes of the planted networks."""

    activation: str
    inputs: int
    neurons: int

    def __str__(self) -> str:
        return f"{self.activation}:{self.inputs}-{self.neurons}-1"

    def planted(self, seed: int) -> unweave.Network:
        """One network of this shape."""
        rng = np.random.default_rng([seed, self.inputs, self.neurons])
        return unweave.Network.shallow(
            weights=rng.standard_normal((self.neurons, self.inputs)) / np.sqrt(self.inputs),
            biases=0.3 * rng.standard_normal(self.neurons),
            output_weights=rng.standard_normal((1, self.neurons)) / np.sqrt(self.neurons),
            offset=0.3 * rng.standard_normal(1),
            activation=activation_named(self.activation),
        )


class CountedModel:
    """A network that answers and counts: all that a method gets to see of it."""

    def __init__(self, network: unweave.Network) -> None:
        self._network = network
        self.queries = 0

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Answer a batch, in float64."""
        self.queries += len(points)
        return self._network(np.asarray(points, dtype=np.float64))


@dataclass(frozen=True)
class Answer:
    """What a method returns: a model or none, and what it says against it (None: nothing)."""

    model: Function | None
    objection: str | None = None


@dataclass(frozen=True)
class Run:
    """One method on one network."""

    shape: str
    method: str
    seed: int
    objection: str | None
    queries: int
    queries_per_parameter: float
    error: float | None
    parameter_error: float | None
    seconds: float

    @property
    def is_close(self) -> bool:
        """Whether the network was recovered, with nothing said against it."""
        return self.objection is None and self.error is not None and self.error <= CLOSE

    @property
    def is_wrong(self) -> bool:
        """Whether a wrong network was returned silently."""
        return self.objection is None and not self.is_close


def run_unweave(model: CountedModel, shape: Shape, seed: int) -> Answer:
    """Identify the network; everything but an identified one is an objection."""
    found = unweave.identify(unweave.CallableOracle(model, inputs=shape.inputs), seed=seed)
    return Answer(found.network, None if found.is_identified else f"{found.outcome.value}: {found.reason}")


def run_toolbox(model: CountedModel, shape: Shape, seed: int, *, seconds: float) -> Answer:
    """Extract the network with the toolbox, on another random line if an attempt raises or hangs."""
    import art.config
    from art.attacks.extraction.functionally_equivalent_extraction import FunctionallyEquivalentExtraction
    from art.estimators.classification import BlackBoxClassifierNeuralNetwork

    art.config.ART_NUMPY_DTYPE = np.float64
    np.random.seed(seed)  # noqa: NPY002 - the toolbox draws from the global generator
    samples = np.random.default_rng(seed).standard_normal(
        (TOOLBOX_SAMPLES_PER_NEURON * (shape.neurons + 1), shape.inputs)
    )
    objection = None
    for _ in range(TOOLBOX_ATTEMPTS):
        # Preprocessing, even by the identity, would round the queries to float32.
        classifier = BlackBoxClassifierNeuralNetwork(
            lambda points: model(points) * [1.0, -1.0], input_shape=(shape.inputs,), nb_classes=2, preprocessing=None
        )
        try:
            with limited_to(seconds / TOOLBOX_ATTEMPTS), np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                attack = FunctionallyEquivalentExtraction(classifier, num_neurons=shape.neurons)
                extracted = attack.extract(samples, **TOOLBOX_SETTINGS)
            return Answer(lambda points, extracted=extracted: extracted.predict(points)[:, :1])
        except TimeLimit as error:
            objection = str(error)
        except Exception as error:  # whatever the toolbox raises is its answer
            objection = f"{type(error).__name__}: {error}"
    return Answer(None, objection)


def run_student(model: CountedModel, shape: Shape, seed: int, *, queries: int, method: str) -> Answer:
    """Train students on Gaussian queries; the best one objects to itself if its held-out error is large."""
    points = np.random.default_rng([seed, 1]).standard_normal((queries, shape.inputs))
    best = best_student if method == "student" else best_regressor
    student, error = best(points, model(points), neurons=shape.neurons, activation=shape.activation, seed=seed)
    return Answer(student, None if error <= CLOSE else f"held-out error above {CLOSE:g}")


@contextmanager
def limited_to(seconds: float) -> Iterator[None]:
    """Raise `TimeLimit` in the block after so many CPU seconds; it waits for compiled code to return."""

    def stop(*_: object) -> None:
        raise TimeLimit(f"time limit of {seconds:.0f} CPU s")

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous)


def measured(method: str, shape: Shape, seed: int, *, seconds: float, student_queries: int | None = None) -> Run:
    """Run one method on one network and compare what comes back with the truth."""
    truth = shape.planted(seed)
    model = CountedModel(truth)
    start = time.process_time()
    try:
        if method == "toolbox":
            answer = run_toolbox(model, shape, seed, seconds=seconds)
        else:
            with limited_to(seconds):
                if method == "unweave":
                    answer = run_unweave(model, shape, seed)
                else:
                    answer = run_student(model, shape, seed, queries=student_queries, method=method)
    except TimeLimit as error:
        answer = Answer(None, str(error))
    except Exception as error:  # a benchmark reports an exception, of Unweave too, and goes on
        answer = Answer(None, f"{type(error).__name__}: {error}")
    spent = time.process_time() - start
    return Run(
        shape=str(shape),
        method=method,
        seed=seed,
        objection=answer.objection,
        queries=model.queries,
        queries_per_parameter=model.queries / truth.parameters,
        error=None if answer.model is None else output_error(answer.model, truth, seed),
        parameter_error=unweave.match(answer.model, truth).largest_error
        if method == "unweave" and answer.objection is None
        else None,
        seconds=spent,
    )


def output_error(model: Function, truth: unweave.Network, seed: int) -> float:
    """Largest error at fresh Gaussian points, relative to the spread of the true outputs."""
    points = np.random.default_rng([seed, 2]).standard_normal((FRESH_POINTS, truth.inputs))
    values = truth(points)
    error = float(np.max(np.abs(model(points) - values)) / np.std(values))
    return error if np.isfinite(error) else float("inf")


def median_or_dash(values: list[float], form: str) -> str:
    """The median, or a dash if there is nothing."""
    return format(float(np.median(values)), form) if values else "-"


def largest_or_dash(values: list[float]) -> str:
    """The largest, or a dash if there is nothing."""
    return f"{max(values):.1e}" if values else "-"


HEADER = (
    f"{'network':14s} {'method':8s} {'tried':>5s} {'<=1e-9':>6s} {'<=1e-3':>6s} {'wrong':>5s} {'failed':>6s} "
    f"{'queries':>8s} {'error':>8s} {'worst':>8s} {'params':>8s} {'CPU s':>7s}"
)


def row(shape: Shape, method: str, runs: list[Run]) -> str:
    """One line of the table."""
    if not runs:
        return f"{shape!s:14s} {method:8s} {'-':>5s}   not applicable"
    close = [run for run in runs if run.is_close]
    return (
        f"{shape!s:14s} {method:8s} {len(runs):5d} {sum(run.error <= EXACT for run in close):6d} {len(close):6d} "
        f"{sum(run.is_wrong for run in runs):5d} {sum(run.objection is not None for run in runs):6d} "
        f"{median_or_dash([run.queries_per_parameter for run in runs], '.1f'):>8s} "
        f"{median_or_dash([run.error for run in runs if run.error is not None], '.1e'):>8s} "
        f"{largest_or_dash([run.error for run in close]):>8s} "
        f"{largest_or_dash([run.parameter_error for run in runs if run.parameter_error is not None]):>8s} "
        f"{median_or_dash([run.seconds for run in runs], '.2f'):>7s}"
    )


def figures(shape: Shape, method: str, runs: list[Run]) -> dict[str, object]:
    """What is kept of the table."""
    close = [run for run in runs if run.is_close]
    return {
        "network": str(shape),
        "method": method,
        "trials": len(runs),
        "recovered": len(close),
        "wrong": sum(run.is_wrong for run in runs),
        "failed": sum(run.objection is not None for run in runs),
        "largest_error": max((run.error for run in close), default=None),
        "queries_per_parameter": np.median([run.queries_per_parameter for run in runs]),
        "cpu_seconds": np.median([run.seconds for run in runs]),
    }


def reasons(runs: list[Run]) -> Iterator[str]:
    """Why runs failed, most frequent first; numbers are left out so that equal reasons meet."""
    counts = Counter(
        (run.shape, run.method, re.sub(r"\d+(\.\d+)?(e-?\d+)?", "#", run.objection)) for run in runs if run.objection
    )
    for (shape, method, reason), count in counts.most_common():
        yield f"{count:4d} x {shape:14s} {method:8s} {reason if len(reason) <= 88 else reason[:85] + '...'}"


def shape_named(name: str) -> Shape:
    """Read `relu:10-5-1`; a shape without activation is ReLU."""
    found = re.fullmatch(r"(?:(relu|tanh):)?([1-9]\d*)-([1-9]\d*)-1", name)
    if found is None:
        raise argparse.ArgumentTypeError(f"a shape needs to look like relu:10-5-1 or tanh:10-5-1, got {name!r}.")
    return Shape(found[1] or "relu", int(found[2]), int(found[3]))


def parsed_options() -> argparse.Namespace:
    """The command line; ends with a message if a peer is missing."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="networks per shape")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--shapes", type=shape_named, nargs="+", default=[shape_named(name) for name in DEFAULT_SHAPES])
    parser.add_argument("--large", action="store_true", help=f"also {LARGE_SHAPE}")
    parser.add_argument("--time-limit", type=float, default=120.0, help="CPU seconds per network and method")
    parser.add_argument("--without-toolbox", action="store_true")
    parser.add_argument("--without-student", action="store_true")
    options = parsed(parser)
    if options.large:
        options.shapes.append(shape_named(LARGE_SHAPE))
    if not options.without_student and find_spec("torch") is None:
        parser.exit(2, "the student needs PyTorch: pip install torch, or give --without-student.\n")
    if not options.without_toolbox and (find_spec("art") is None or find_spec("sklearn") is None):
        parser.exit(
            2,
            "the toolbox is missing: pip install adversarial-robustness-toolbox scikit-learn, "
            "or give --without-toolbox.\n",
        )
    return options


def runs_of_network(shape: Shape, seed: int, methods: list[str], *, seconds: float) -> Iterator[Run]:
    """All methods on one network; Unweave first, for it says how many answers the student gets."""
    first = measured("unweave", shape, seed, seconds=seconds)
    yield first
    if "toolbox" in methods and shape.activation == "relu":
        yield measured("toolbox", shape, seed, seconds=seconds)
    queries = first.queries
    if first.objection is not None:
        queries = STUDENT_QUERIES_PER_PARAMETER * shape.planted(seed).parameters
    for method in ("student", "sklearn"):
        if method in methods:
            yield measured(method, shape, seed, seconds=seconds, student_queries=queries)


def main() -> int:
    """Run the comparison; 1 if Unweave called a wrong network identified."""
    options = parsed_options()
    # For libraries that are loaded later; NumPy's are loaded, and limited below.
    os.environ["OMP_NUM_THREADS"] = str(THREADS)
    methods = ["unweave"]
    methods += [] if options.without_toolbox else ["toolbox"]
    methods += [] if options.without_student else ["student"]
    methods += [] if find_spec("sklearn") is None else ["sklearn"]
    runs: list[Run] = []
    say(HEADER)
    with threadpool_limits(limits=THREADS):
        for shape in options.shapes:
            for seed in seeds_of(options):
                for run in runs_of_network(shape, seed, methods, seconds=options.time_limit):
                    runs.append(run)
                    error = "-" if run.error is None else f"{run.error:.1e}"
                    said = f" {run.objection}" if run.objection else ""
                    print(f"  {shape} seed {seed} {run.method}: error {error}{said}", file=sys.stderr, flush=True)
            for method in methods:
                here = [run for run in runs if (run.shape, run.method) == (str(shape), method)]
                print(row(shape, method, here))
                if here:
                    options.json.keep("peers", **figures(shape, method, here))
            sys.stdout.flush()
    if any(run.objection for run in runs):
        print("\nfailed (# is a number):", *reasons(runs), sep="\n", flush=True)
    return 1 if any(run.method == "unweave" and run.is_wrong for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
