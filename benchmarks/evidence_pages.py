"""How the files of `docs/evidence` become tables: of `docs/evidence/index.md`, the README and the other pages."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evidence_runs import EXPERIMENTS
from figures import ROOT

EVIDENCE = ROOT / "docs" / "evidence"
INDEX = EVIDENCE / "index.md"
BLOCK = re.compile(r"(<!-- evidence: (.*?) -->\n)(.*?)(<!-- end of evidence -->)", re.DOTALL)
COLUMN = re.compile(r"(\w+)(?: of (\w+))?(?: as (.+))?")
# What is counted, and of what the largest counts; all other columns keep their values.
SUMMED = ("recovered", "wrong", "certified")
LARGEST = ("largest_error", "largest_loss", "worst_angle")
# More numbers than this are told as a range.
MOST_LISTED = 4
VERDICTS = ("right", "partly right", "honest no", "wrong", "crash", "over time")

Rows = Sequence[Mapping[str, Any]]
Evidence = Mapping[str, dict[str, Any]]


def read_evidence(folder: Path = EVIDENCE) -> dict[str, dict[str, Any]]:
    """Read all files, by name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def summed_up(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum the rows of runs up: counts, largest errors, and the values of everything else in their order."""
    rows = [row for run in runs for row in run["rows"]]
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row if name not in ("table", "trials")):
        values = [row[name] for row in rows if row.get(name) not in (None, "nan")]
        if name in SUMMED:
            found[name] = sum(values)
        elif name in LARGEST:
            found[name] = max(values, key=float, default=None)
        else:
            found[name] = list(dict.fromkeys(values))
    for name, trials in (("recovered", "trials"), ("certified", "certified_trials")):
        if name in found:
            found[trials] = sum(row["trials"] for row in rows if name in row)
    if any("method" in row for row in rows):
        for name in ("trials", "recovered", "wrong"):
            found[f"{name}_by_unweave"] = sum(row[name] for row in rows if row["method"] == "unweave")
            found[f"{name}_by_others"] = sum(row[name] for row in rows if row["method"] != "unweave")
    return found


def shown(value: Any) -> str:
    """Write one value of a file as it stands in a table."""
    if value is None or value == "nan":
        return "-"
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.3g}"
    return f"{value:.1e}"


def worded(value: Any) -> str:
    """Write a value of a summary: a list of words or of some numbers, or the range of many."""
    if not isinstance(value, list):
        return shown(value)
    numbers = [each for each in value if isinstance(each, int | float)]
    if len(numbers) > MOST_LISTED:
        return f"{shown(min(numbers))} to {shown(max(numbers))}"
    words = list(dict.fromkeys(map(shown, value)))
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def table(columns: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    """Write a table of Markdown."""
    rows = [columns, ["---"] * len(columns), *lines]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def chosen_table(rows: Rows, columns: str) -> str:
    """Write rows in the columns that a comment names: `name`, `name of name` or `name as heading`, after commas."""
    parts = [match.groups() for match in map(COLUMN.fullmatch, columns.split(", ")) if match]
    if len(parts) != len(columns.split(", ")):
        raise ValueError(f"columns need to look like `name`, `name of name` or `name as heading`, got {columns!r}.")
    heads = [head or heading(name) for name, _, head in parts]
    lines = (
        [shown(row.get(name)) + (f" of {shown(row[whole])}" if whole else "") for name, whole, _ in parts]
        for row in rows
    )
    return table(heads, lines)


def rows_of(evidence: Evidence, name: str, title: str) -> Rows:
    """The rows of a table in a file, of all runs.

    Raises:
        ValueError: if there is no such table.
    """
    found = [row for run in evidence.get(name, {}).get("runs", ()) for row in run["rows"] if row["table"] == title]
    if not found:
        raise ValueError(f"there is no table {title!r} in docs/evidence/{name}.json.")
    return found


def headlines(evidence: Evidence, names: Sequence[str] = ()) -> str:
    """Write one line per experiment: of all, or of those that are named."""
    lines = []
    for experiment in EXPERIMENTS:
        if experiment.name in evidence and experiment.name in (names or evidence):
            told = {name: worded(value) for name, value in evidence[experiment.name]["summary"].items()}
            lines.append([experiment.title.format_map(told), experiment.figures.format_map(told)])
    return table(["what was tried", "what came of it"], iter(lines))


def campaigns(evidence: Evidence) -> str:
    """Write one line per campaign and door."""
    lines = []
    for name, campaign in evidence.items():
        for door, families in campaign.get("doors", {}).items():
            counts = [sum(family.get(word, 0) for family in families.values()) for word in ("trials", *VERDICTS)]
            lines.append([door, f"`{name}.json`, {campaign['commit']}", *map(shown, counts)])
    if not lines:
        return "No campaign is kept with this version.\n"
    return table(["door", "file, commit", "trials", *VERDICTS], iter(lines))


def filled(text: str, evidence: Evidence) -> str:
    """Write the tables of a page anew."""

    return BLOCK.sub(lambda block: f"{block[1]}\n{written(block[2], evidence)}\n{block[4]}", text)


def written(asked: str, evidence: Evidence) -> str:
    """Write the table that a comment asks for."""
    if asked == "campaigns":
        return campaigns(evidence)
    title, _, rest = asked.partition(": ")
    if title == "headlines":
        return headlines(evidence, rest.split())
    name, _, kind = title.partition(" ")
    return chosen_table(rows_of(evidence, name, kind), rest)


def heading(column: str) -> str:
    """Write the name of a column in words."""
    return column.replace("_", " ").replace("cpu", "CPU")


def circumstances(run: Mapping[str, Any]) -> str:
    """Tell when and where figures were made."""
    machine = run["machine"]
    packages = ", ".join(f"{name} {found}" for name, found in machine.items() if name not in ("system", "cores"))
    begin = "" if run["first_seed"] is None else f", first seed {run['first_seed']}"
    beside = "; seconds were seen beside other work" if run["beside_other_work"] else ""
    return (
        f"Commit {run['commit'][:7]}{begin}, {run['date']}, {machine['system']}, {machine['cores']} cores, "
        f"{packages}{beside}.\n"
    )


def section(name: str, title: str, found: Mapping[str, Any]) -> str:
    """Show a file: how it was made, and all of its rows."""
    commands = "".join(f"* `{run['command']}`\n" for run in found["runs"])
    parts = [f"## {name}\n", f"{title}.\n", commands, *dict.fromkeys(map(circumstances, found["runs"]))]
    for kind in dict.fromkeys(row["table"] for run in found["runs"] for row in run["rows"]):
        rows = [row for run in found["runs"] for row in run["rows"] if row["table"] == kind]
        columns = [column for column in rows[0] if column != "table"]
        lines = ([shown(row.get(column)) for column in columns] for row in rows)
        parts += [f"{kind}:\n", table([heading(column) for column in columns], lines)]
    return "\n".join(parts)


def campaign_section(name: str, campaign: Mapping[str, Any]) -> str:
    """Show a campaign, family by family."""
    lines = [
        [door, family, *(shown(counts.get(word, 0)) for word in ("trials", *VERDICTS, "largest_cpu_seconds"))]
        for door, families in campaign["doors"].items()
        for family, counts in families.items()
    ]
    made = f"Commit {campaign['commit']}, first seed {campaign['first_seed']}, {campaign['cores']} cores.\n"
    columns = ["door", "family", "trials", *VERDICTS, "largest CPU s"]
    return "\n".join([f"## {name}\n", made, table(columns, iter(lines))])


HEAD = """# Evidence

<!-- Written by benchmarks/evidence.py from the files beside this page: change those. -->

Figures of the README, and of tables in these docs that do not say otherwise, are in JSON files of this folder, which
benchmarks have written with their command, commit, seeds, date and kind of machine. `python benchmarks/evidence.py
--run` makes small ones anew, with `--full` the ones that take hours; without options it writes this page and all
tables from the files. A test fails if one of them differs. A first seed is the number that the first seven hexadecimal
digits of a commit form, so that nobody has worked on the seeds.

`recovered` counts networks that were called identified and are right to the tolerance of the benchmark; `wrong` those
that were called identified and are not; the error is the largest of a parameter, up to symmetry, of those recovered.
Queries per parameter, errors and counts do not depend on the machine; CPU seconds do, and are of one trial (median).
"""


def index_page(evidence: Evidence) -> str:
    """Show all files."""
    known = [each for each in EXPERIMENTS if each.name in evidence]
    parts = [section(each.name, each_title(each.title, evidence[each.name]), evidence[each.name]) for each in known]
    parts += [campaign_section(name, found) for name, found in evidence.items() if "doors" in found]
    return "\n".join([HEAD, f"## Headlines\n\n{headlines(evidence)}", *parts])


def each_title(title: str, found: Mapping[str, Any]) -> str:
    """Say what was tried, as a sentence begins."""
    told = title.format_map({name: worded(value) for name, value in found["summary"].items()})
    return told[:1].upper() + told[1:]


def pages(evidence: Evidence) -> dict[Path, str]:
    """Write every page that shows figures."""
    written = {path: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))}
    found = {path: filled(text, evidence) for path, text in written.items() if BLOCK.search(text) and path != INDEX}
    return found | {INDEX: index_page(evidence)}
