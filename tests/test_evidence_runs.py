"""Entries of evidence that have no file yet fit their benchmarks: options exist, and words name what is kept."""

import ast
import re
import shlex
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.append(str(BENCHMARKS))
from evidence_pages import summed_up  # noqa: E402
from evidence_runs import EXPERIMENTS, Experiment  # noqa: E402

# Options of many benchmarks are added there.
SHARED = "command_line.py"
WAITING = ("peers", "landscape", "scale-out", "subspace-power")


def kept_names(source: str) -> set[str]:
    """Names of figures that a script may keep: words of calls of `keep`, keys of dictionaries, fields of classes."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keep":
            found |= {word.arg for word in node.keywords if word.arg}
        if isinstance(node, ast.Dict):
            found |= {key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def told_names(experiment: Experiment) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", experiment.title + experiment.figures))


def scripts_of(experiment: Experiment) -> set[str]:
    return {command.split()[0] for command in (*experiment.small, *experiment.full)}


def source_of(script: str) -> str:
    return (BENCHMARKS / script).read_text(encoding="utf-8")


def names_of(script: str) -> set[str]:
    """Names that a script may keep, also by what it shares with other benchmarks."""
    modules = re.findall(r"^from (\w+) import", source_of(script), re.MULTILINE)
    scripts = [script, *(each for module in modules if (BENCHMARKS / (each := f"{module}.py")).exists())]
    return set().union(*(kept_names(source_of(each)) for each in scripts))


def with_sums(names: set[str]) -> set[str]:
    """What a summary of rows with these names holds."""
    return names | set(summed_up([{"rows": [dict.fromkeys(names | {"trials"}, 0)]}]))


def unknown_options(command: str, source: str) -> list[str]:
    """Options of a command that neither its script nor the shared file adds."""
    options = [word for word in shlex.split(command) if word.startswith("--")]
    return [option for option in options if f'"{option}"' not in source and f'"{option}"' not in source_of(SHARED)]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_words_name_what_benchmarks_keep(experiment: Experiment) -> None:
    kept = set().union(*map(names_of, scripts_of(experiment)))
    assert told_names(experiment) - with_sums(kept) == set()


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_commands_have_options_that_exist(experiment: Experiment) -> None:
    for command in (*experiment.small, *experiment.full):
        assert unknown_options(command, source_of(command.split()[0])) == []


def test_peers_landscapes_workers_and_the_power_method_have_entries_of_both_sizes() -> None:
    entries = {experiment.name: experiment for experiment in EXPERIMENTS}
    assert all(entries[name].small and entries[name].full for name in WAITING)


def test_wrong_words_and_options_are_noticed() -> None:
    source = 'args.json.keep("table", network="a", trials=3, recovered=2)\nrow = {"wrong": 1}\n'
    assert kept_names(source) == {"network", "trials", "recovered", "wrong"}
    wrong = Experiment("name", "of {network}", "{recovered} of {trials}, {lost}", ("a.py --seeds 3 --gone",), ())
    assert told_names(wrong) - with_sums(kept_names(source)) == {"lost"}
    assert unknown_options(wrong.small[0], 'parser.add_argument("--seeds")') == ["--gone"]
    peers = with_sums({"method", "recovered", "wrong"})
    assert {"recovered_by_unweave", "trials_by_others", "wrong_by_others"} <= peers
