"""Evidence: run benchmarks for `docs/evidence/NAME.json`, and write the pages that show their figures.

    python benchmarks/evidence.py                          write index.md, and the tables of README and docs
    python benchmarks/evidence.py --run                    run everything in its small size, about ten CPU minutes
    python benchmarks/evidence.py --run --full             in its full size, some CPU hours
    python benchmarks/evidence.py --run --only walks deep  some of it, and write the pages
    python benchmarks/evidence.py --list                   names and commands

First seeds are the number that the first seven hexadecimal digits of a commit form (`--seeds-of main`), so that nobody
has worked on them. In a page a table is what stands between two comments. The first one says what is in it, the
script writes the rest, and the tests compare:

    <!-- evidence: deep set-ups: network, recovered of trials, largest_error as error -->
    ...
    <!-- end of evidence -->

That is the table `set-ups` of `deep.json`, in the named columns. `<!-- evidence: headlines -->` is a line of every
file, `<!-- evidence: campaigns -->` one of every `campaign-*.json`, which `campaign.py --summary` writes.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from command_line import parser_of, say
from evidence_pages import EVIDENCE, pages, read_evidence, summed_up
from evidence_runs import EXPERIMENTS, Experiment
from figures import ROOT


def first_seed(reference: str) -> int:
    """The number that the first seven hexadecimal digits of a commit form."""
    git = ["git", "-C", str(ROOT), "rev-parse", reference]
    digits = subprocess.run(git, capture_output=True, text=True, check=True).stdout[:7]
    return int(digits, 16)


def run(experiment: Experiment, commands: Sequence[str], *, first: int) -> dict[str, Any] | None:
    """Run the commands of an experiment, and put what they wrote together; None if one of them wrote nothing."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        for command in commands:
            script, *options = shlex.split(command.format(first=first))
            say(f"{experiment.name}: {script} {shlex.join(options)}")
            words = [sys.executable, str(ROOT / "benchmarks" / script), *options, "--json", str(file)]
            # In a folder of its own, so that no earlier run is gone on with.
            done = subprocess.run(words, cwd=folder, check=False)
            # Benchmarks end with 1 if something was wrong, which is evidence as well.
            if done.returncode not in (0, 1) or not file.exists():
                say(f"{script} ended with {done.returncode}: {experiment.name} stays as it was.")
                return None
            runs.append(json.loads(file.read_text(encoding="utf-8")))
            file.unlink()
    return {"name": experiment.name, "runs": runs, "summary": summed_up(runs)}


def main() -> int:
    """Run what is asked for, and write all pages."""
    parser = parser_of(__doc__)
    names = [experiment.name for experiment in EXPERIMENTS]
    parser.add_argument("--run", action="store_true", help="run benchmarks first")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--full", action="store_true", help="in their full size")
    parser.add_argument("--seeds-of", default="main", metavar="COMMIT", help="whose digits are the first seed")
    parser.add_argument("--list", action="store_true", help="print names and commands, and do nothing")
    args = parser.parse_args()
    failed = False
    chosen = [experiment for experiment in EXPERIMENTS if experiment.name in args.only]
    for experiment in chosen if args.run or args.list else ():
        commands = experiment.full if args.full else experiment.small
        if args.list:
            say("\n".join([experiment.name, *(f"    python benchmarks/{command}" for command in commands)]))
        elif commands:
            found = run(experiment, commands, first=first_seed(args.seeds_of))
            if found is not None:
                EVIDENCE.mkdir(exist_ok=True)
                (EVIDENCE / f"{experiment.name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            failed = failed or found is None
    if not args.list:
        for path, text in pages(read_evidence()).items():
            path.write_text(text, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
