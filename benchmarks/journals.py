"""What journals stand and cost: kill -9 at random moments, servers that fail, and a million answers.

    python benchmarks/journals.py                                  # all of it, some minutes
    python benchmarks/journals.py kills --kills 100
    python benchmarks/journals.py failing --runs 50
    python benchmarks/journals.py overhead --shape 100-100 --answers 1000000

* kills: `unweave identify ADDRESS --out run` is killed and run again. Printed are answers that were in the journal and
  were asked again, points that were in flight at a kill (at most a request per connection is allowed), and results that
  differ in a bit from those of a run that was left alone.
* failing: a fifth of all requests fails. Printed are runs that are identified, and requests per request without faults.
* overhead: the same runs with and without journals in turn, of a network of 100 inputs and 100 neurons. Printed are
  seconds and their ratio, of CPU and wall, over all runs, which other work on the machine moves by a tenth and more,
  and in the median of the pairs; and what memory as many answers in one journal add.

The exit code is 1 if an answer was asked again or more were lost than were in flight, a result differs, a run is not
identified, more than 1.3 times the requests were sent, or, from a million answers on, journals take more than a tenth
of the time on the wall, or memory grows with the answers.
"""

import io
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from command_line import parser_of, say
from faults import in_child
from model_server import DROPPED, SLOW, ModelServer, random_faults
from unweave import CallableOracle, HttpOracle, Journal, Network, Transport, identify, read_run
from unweave.cli import run
from unweave.networks.planted import general_network
from unweave.oracles.journal.oracle import JournalOracle
from unweave.oracles.journal.store import NAME, JournalFile
from unweave.reports.json import as_document

# Requests under way at a kill.
CONCURRENCY = 2
# What fails: refusals, connections that are cut, and now and then an answer that never comes.
FAULTS = (*(429, 503, DROPPED) * 6, SLOW)
# Times as many requests as without faults that are allowed: a fifth that fails makes 1.25 of them.
MOST_REQUESTS = 1.3
MOST_OVERHEAD = 0.1
# Answers from which on overhead and memory are judged, and MB of memory that do not grow with them: a million points
# of the journal that memory is measured with are 400 MB.
JUDGED_ANSWERS, MOST_MEMORY = 1_000_000, 60.0


def journalled(folder: Path) -> Counter[bytes]:
    """Points that the journal of a run holds, and how often; none if there is no journal yet."""
    if not (folder / NAME).exists():
        return Counter()
    file = JournalFile(folder / NAME, is_read=True)
    requests = (request for model in file.models() for request in file.requests(model))
    found = Counter(point.tobytes() for request in requests for point in request.points)
    file.connection.close()
    return found


def contents(folder: Path) -> tuple[object, ...]:
    """What a run has found, as far as it does not depend on the clock."""
    found = read_run(folder).result
    return (
        found.outcome,
        found.reason,
        found.queries,
        found.certificate,
        found.diagnostics,
        as_document(found)["network"],
    )


def is_same(folder: Path, whole: Path, status: int) -> bool:
    """Whether a run has found what the other one has; what differs is printed."""
    if status != 0:
        say(f"{folder.name}: the second run ended with {os.waitstatus_to_exitcode(status)}")
        return False
    differing = [(one, other) for one, other in zip(contents(folder), contents(whole), strict=True) if one != other]
    if differing:
        say(f"{folder.name}: {differing}")
    return not differing


def kill_runs(place: Path, kills: int, rng: np.random.Generator) -> Counter[str]:
    """Kill a run, look at its journal, run it again, and compare with one that was left alone."""
    secret = general_network(np.random.default_rng(3), inputs=5, neurons=3)
    counts: Counter[str] = Counter(kills=0, begun=0, again=0, in_flight=0, too_many=0, different=0)
    with ModelServer(secret, inputs=5, seconds=0.002).running() as server:

        def command(folder: Path) -> int:
            address = f"{server.address}/v2/models/secret"
            options = ["--out", str(folder), "--max-batch", "10", "--concurrency", str(CONCURRENCY), "--quiet"]
            return run(["identify", address, *options])

        # Here, so that copies of this process import nothing; the second one tells how long a run takes.
        whole = place / "whole"
        with redirect_stdout(io.StringIO()):
            command(whole)
        began = time.perf_counter()
        _, status = os.waitpid(in_child(lambda: command(place / "timed")), 0)
        seconds = time.perf_counter() - began
        if status != 0:
            raise RuntimeError(f"a run that is left alone ends with {os.waitstatus_to_exitcode(status)}")
        for kill in range(kills):
            folder = place / str(kill)
            server.asked.clear()
            child = in_child(lambda folder=folder: command(folder))
            time.sleep(seconds * float(rng.uniform(0.0, 1.0)))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            # What is under way still arrives.
            time.sleep(0.05)
            before, kept = Counter(server.asked), journalled(folder)
            _, status = os.waitpid(in_child(lambda folder=folder: command(folder)), 0)
            after = server.asked - before
            lost = sum((before - kept).values())
            counts.update(kills=1, begun=bool(kept), in_flight=lost, too_many=lost > 10 * CONCURRENCY)
            # Nothing is asked but what is added to the journal, the probe of the second start among it.
            again = sum((after - (journalled(folder) - kept)).values())
            counts.update(again=again, different=not is_same(folder, whole, status))
    return counts


def fail_runs(runs: int) -> tuple[int, list[float]]:
    """Identify networks behind a server that fails a fifth of the time: how many, and requests per needed one."""
    identified, ratios = 0, []
    transport = Transport(first_wait=0.01, longest_wait=0.1, timeout=2.0)
    for seed in range(runs):
        secret = general_network(np.random.default_rng(seed), inputs=5, neurons=3)
        sent = []
        for fault in (lambda _: None, random_faults(0.2, FAULTS, seed)):
            with ModelServer(secret, inputs=5, fault=fault).running() as server:
                oracle = HttpOracle(f"{server.address}/v2/models/secret", transport=transport)
                found = identify(oracle)
                sent.append(server.requests)
        identified += found.is_identified
        ratios.append(sent[1] / sent[0])
    return identified, ratios


def measure_overhead(place: Path, shape: tuple[int, int], answers: int) -> tuple[int, np.ndarray, np.ndarray]:
    """Identify one network again and again, with and without a journal in turn.

    Returns:
        Answers, and CPU and wall seconds of every run without and with journals.
    """
    secret = general_network(np.random.default_rng(0), inputs=shape[0], neurons=shape[1])
    # What is imported and set up once belongs to neither.
    identify(secret_of(secret), inputs=shape[0], journal=place / "first.sqlite")
    asked = seed = 0
    seconds: dict[bool, list[np.ndarray]] = {False: [], True: []}
    while asked < answers:
        # In turn, the first one now this and now that: other work on the machine slows down both.
        for is_kept in (seed % 2 == 0, seed % 2 == 1):
            began = clocks()
            journal = place / f"{seed}.sqlite" if is_kept else None
            queries = identify(secret_of(secret), inputs=shape[0], seed=seed, journal=journal).queries
            seconds[is_kept].append(clocks() - began)
        asked, seed = asked + queries, seed + 1
    return asked, np.array(seconds[False]), np.array(seconds[True])


def clocks() -> np.ndarray:
    """CPU time of this process, and that on the wall."""
    return np.array([time.process_time(), time.perf_counter()])


def measure_memory(place: Path, answers: int, inputs: int = 50, batch: int = 10_000) -> float:
    """Ask a function that takes no time, through one journal: memory in MB that is added after the first tenth."""
    reading, writing = os.pipe()

    def work() -> int:
        oracle = JournalOracle(CallableOracle(lambda points: points[:, :1], inputs=inputs), Journal(place / NAME))
        rng, memory = np.random.default_rng(0), [0.0]
        for number in range(answers // batch):
            oracle.query(rng.standard_normal((batch, inputs)))
            if number in (answers // batch // 10, answers // batch - 1):
                memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        os.write(writing, f"{memory[-1] - memory[1]}".encode())
        return 0

    child = in_child(work)
    # A child that fails says nothing, and is not waited for.
    os.close(writing)
    os.waitpid(child, 0)
    return float(os.read(reading, 100).decode())


def secret_of(network: Network) -> Callable[[np.ndarray], np.ndarray]:
    """Hide a network behind a function."""
    return lambda points: network(points)


def main(arguments: list[str] | None = None) -> int:
    """Run the parts that are named, all if none is."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", choices=["kills", "failing", "overhead", []])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--runs", type=int, default=50, help="of failing")
    parser.add_argument("--answers", type=int, default=1_000_000, help="of overhead")
    parser.add_argument("--shape", default="100-100", help="inputs and neurons of overhead")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    parts, is_bad = options.parts or ["kills", "failing", "overhead"], False
    with tempfile.TemporaryDirectory() as name:
        if "kills" in parts:
            counts = kill_runs(Path(name), options.kills, np.random.default_rng(options.seed))
            say("kills     " + "  ".join(f"{word} {number}" for word, number in counts.items()))
            is_bad |= bool(counts["again"] or counts["too_many"] or counts["different"])
        if "failing" in parts:
            runs = options.runs
            identified, ratios = fail_runs(runs)
            say(f"failing   {identified} of {runs} identified, requests {np.mean(ratios):.3f}, most {max(ratios):.2f}")
            is_bad |= identified < runs or float(np.mean(ratios)) > MOST_REQUESTS
        if "overhead" in parts:
            inputs, neurons = map(int, options.shape.split("-"))
            asked, without, kept = measure_overhead(Path(name), (inputs, neurons), options.answers)
            shares = np.median(kept / without, axis=0) - 1.0
            for clock, share, before, now in zip(("CPU", "wall"), shares, without.sum(0), kept.sum(0), strict=True):
                in_all = f"{before:.1f} {clock} s without, {now:.1f} with journals: {now / before - 1.0:.1%}"
                say(f"overhead  {asked:,} answers: {in_all}; median of {len(kept)} pairs of runs: {share:.1%}")
            is_slow = float(kept[:, 1].sum()) > (1.0 + MOST_OVERHEAD) * float(without[:, 1].sum())
            added = measure_memory(Path(name), options.answers)
            say(f"memory    {added:.0f} MB more after the first tenth of as many answers in one journal")
            is_judged = options.answers >= JUDGED_ANSWERS
            is_bad |= is_judged and (is_slow or added > MOST_MEMORY)
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main())
