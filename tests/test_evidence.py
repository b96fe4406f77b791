"""Figures in tables of the README and the docs are those of files in `docs/evidence`, or say that they are not."""

import json
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))
import evidence_pages  # noqa: E402
import figures as figures_module  # noqa: E402
from evidence_runs import EXPERIMENTS  # noqa: E402

EVIDENCE = evidence_pages.read_evidence()
INDEX = ROOT / "docs" / "evidence" / "index.md"
README = ROOT / "README.md"
# Written from files of measurements of its own, which `test_estimator_gallery.py` compares it with word for word.
WRITTEN = ROOT / "docs" / "which-estimator.md"
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (README, *sorted((ROOT / "docs").rglob("*.md")))
    if path not in (INDEX, WRITTEN)
}
# Tables that define words, options and limits, or correct what is printed: nothing in them was measured.
DEFINITIONS = {
    "README.md": ["network | way"],
    "docs/activations.md": ["name | formula"],
    "docs/certainty.md": ["word | evidence"],
    "docs/commands.md": ["code | meaning", "field | value", "endings | what", "form | what is seen"],
    "docs/deep-reference.md": ["place | printed"],
    "docs/errata.md": ["where | printed"],
    "docs/feature-correction-figures.md": ["in the folder"],
    "docs/feature-correction.md": ["name | model", "verdict | when"],
    "docs/lowest-layer.md": ["`outcome_` | when", "case | function", "in print"],
    "docs/platforms.md": ["system | runs there", "for | package"],
    "docs/quadratic-training.md": ["output weights | local minima", "| statement"],
    "docs/relu-from-samples.md": ["[awasthi] | here", "in print"],
    "docs/samples.md": ["from samples | recovers"],
    "docs/shallow-identification.md": ["outcome | when"],
    "docs/walks.md": ["what the first answers say"],
}
SEEN_BEFORE = re.compile(
    r"\*Seen before, (by hand|`(?:python benchmarks/(\w+\.py)|unweave )[^`]*`); not part of the \["
)
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
# What is written as code or names a place is no figure.
NO_FIGURE = re.compile(r"`[^`]*`|\]\([^)]*\)|\[[a-z]+, [^\]]*\]")


@dataclass(frozen=True)
class Table:
    """A table of a page: its line of heads, its body, and the last line of words before it."""

    head: str
    body: str
    before: str

    @property
    def figures(self) -> list[str]:
        return FIGURE.findall(NO_FIGURE.sub("", self.body))


def tables(text: str) -> Iterator[Table]:
    lines = text.split("\n")
    for place, line in enumerate(lines[1:], start=1):
        if not (re.fullmatch(r"\|(?: *:?-+:? *\|)+", line) and lines[place - 1].startswith("|")):
            continue
        end = next((n for n in range(place + 1, len(lines)) if not lines[n].startswith("|")), len(lines))
        before = next((words for words in reversed(lines[: place - 1]) if words.strip()), "")
        yield Table(lines[place - 1], "\n".join(lines[place + 1 : end]), before)


def without_blocks(text: str) -> str:
    return evidence_pages.BLOCK.sub("", text)


def unsupported_tables(name: str, text: str) -> list[str]:
    """Heads of tables that hold figures and neither come from a file nor say that they do not."""
    return [
        table.head
        for table in tables(without_blocks(text))
        if table.figures
        and not any(table.head.strip("| ").startswith(head.strip("| ")) for head in DEFINITIONS.get(name, ()))
        and not (name != "README.md" and SEEN_BEFORE.match(table.before))
    ]


def leaves(value: Any) -> Iterator[int | float | str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif value is not None and not isinstance(value, bool):
        yield value


def is_known(figure: str, known: list[int | float | str]) -> bool:
    """Whether a number of some digits is one of a file, rounded to as many, or stands in its words."""
    plain = figure.rstrip(",").replace(",", "")
    digits = len(re.sub(r"e.*|\.", "", plain).lstrip("0")) or 1
    wanted = f"{float(plain):.{digits - 1}e}"
    return any(
        figure.rstrip(",") in FIGURE.findall(each)
        if isinstance(each, str)
        else each == float(plain) or (isinstance(each, float) and f"{each:.{digits - 1}e}" == wanted)
        for each in known
    )


def sums_of_campaigns(evidence: Mapping[str, Any]) -> list[int | float | str]:
    """What the table of campaigns may say: numbers of trials and of verdicts by door, and commits."""
    found: list[int | float | str] = [0]
    for campaign in (each for each in evidence.values() if "doors" in each):
        found.append(campaign["commit"])
        for families in campaign["doors"].values():
            words = {word for counts in families.values() for word in counts}
            found += [sum(counts.get(word, 0) for counts in families.values()) for word in words]
    return found


def unknown_figures(text: str, evidence: Mapping[str, Any]) -> list[str]:
    """Figures of the blocks of a page that are in none of the files that the block names."""
    found = []
    for _, asked, content, _ in evidence_pages.BLOCK.findall(text):
        if asked == "campaigns":
            known = sums_of_campaigns(evidence)
        else:
            named = asked.partition(":")[2].split() or list(evidence)
            names = named if asked.startswith("headlines") else [asked.split()[0]]
            known = [leaf for name in names for leaf in leaves(evidence[name])]
        found += [each for table in tables(content) for each in table.figures if not is_known(each, known)]
    return found


def spoilt(text: str) -> str:
    """A page with one wrong figure: the first one of the last row of its first block that holds a table."""
    for block in evidence_pages.BLOCK.finditer(text):
        rows = [line for line in block[3].split("\n") if line.startswith("|")]
        if len(rows) > 2:
            *kept, cell, _ = rows[-1].split("|")
            wrong = "|".join([*kept, FIGURE.sub("987.65", cell, count=1) if FIGURE.search(cell) else " 987.65 ", ""])
            return text.replace(rows[-1], wrong, 1)
    raise AssertionError("there is no table to spoil.")


WITH_BLOCKS = {name: text for name, text in PAGES.items() if evidence_pages.BLOCK.search(text)}
# A block may say that there is nothing yet.
WITH_TABLES = [
    name
    for name, text in WITH_BLOCKS.items()
    if any(list(tables(block[3])) for block in evidence_pages.BLOCK.finditer(text))
]


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_in_a_table_has_evidence(name: str) -> None:
    assert unsupported_tables(name, PAGES[name]) == []


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_tables_are_those_of_the_files(name: str) -> None:
    assert evidence_pages.filled(WITH_BLOCKS[name], EVIDENCE) == WITH_BLOCKS[name], "run python benchmarks/evidence.py"
    assert unknown_figures(WITH_BLOCKS[name], EVIDENCE) == []


@pytest.mark.parametrize("name", WITH_TABLES)
def test_a_wrong_figure_is_noticed(name: str) -> None:
    wrong = spoilt(WITH_BLOCKS[name])
    assert unknown_figures(wrong, EVIDENCE) == ["987.65"]
    assert evidence_pages.filled(wrong, EVIDENCE) != wrong
    assert unsupported_tables(name, wrong) == []


def test_the_page_of_evidence_shows_every_row_of_every_file() -> None:
    page = INDEX.read_text(encoding="utf-8")
    assert page == evidence_pages.index_page(EVIDENCE), "run python benchmarks/evidence.py"
    parts = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
    assert set(parts) - {"Headlines"} == set(EVIDENCE)
    for name, found in EVIDENCE.items():
        rows = sum(table.body.count("\n") + 1 for table in tables(parts[name]))
        families = sum(map(len, found.get("doors", {}).values()))
        assert rows == families + sum(len(run["rows"]) for run in found.get("runs", ())), name
        # A family may be named after a number: offsets of 1e5.
        names = " ".join(family for door in found.get("doors", {}).values() for family in door).split()
        unknown = [each for table in tables(parts[name]) for each in table.figures if each not in names]
        assert [each for each in unknown if not is_known(each, [0, *leaves(found)])] == []


def test_the_readme_names_files_that_exist() -> None:
    (asked,) = (asked for _, asked, *_ in evidence_pages.BLOCK.findall(PAGES["README.md"]) if "headlines" in asked)
    assert set(asked.partition(": ")[2].split()) <= EVIDENCE.keys()
    words = re.sub(r"```.*?```", "", NO_FIGURE.sub("", without_blocks(PAGES["README.md"])), flags=re.DOTALL)
    prose = "\n".join(line for line in words.split("\n") if not line.startswith("|"))
    assert re.findall(r"\d+ of \d+|\de-\d+|\d queries|\d %", prose) == []


def test_files_say_how_they_were_made() -> None:
    known = {experiment.name for experiment in EXPERIMENTS}
    for name, found in EVIDENCE.items():
        if name.startswith("campaign-"):
            assert re.fullmatch(r"[0-9a-f]{7}", found["commit"])
            continue
        assert name in known
        assert found["name"] == name
        assert found["summary"] == json.loads(json.dumps(evidence_pages.summed_up(found["runs"])))
        for run in found["runs"]:
            assert run["rows"]
            assert re.fullmatch(r"[0-9a-f]{40}", run["commit"]), f"{name}: code was changed since its commit"
            assert re.fullmatch(r"python benchmarks/\w+\.py( [^/]*)?", run["command"])
            assert (ROOT / run["command"].split()[1]).exists()
            assert run["machine"]["cores"] >= 1


def test_words_about_experiments_hold_no_figures() -> None:
    for experiment in EXPERIMENTS:
        words = re.sub(r"\{\w+\}|\[[^\]]*\]", "", experiment.title + experiment.figures)
        assert not re.search(r"\d", words), experiment.name
        for command in (*experiment.small, *experiment.full):
            assert (ROOT / "benchmarks" / command.split()[0]).exists()
    assert len({experiment.name for experiment in EXPERIMENTS}) == len(EXPERIMENTS)


def test_tables_before_name_a_command_that_exists() -> None:
    named = {each for text in PAGES.values() for _, each in SEEN_BEFORE.findall(text) if each}
    assert "halfspaces.py" in named
    assert {each for each in named if not (ROOT / "benchmarks" / each).exists()} == set()


@pytest.mark.parametrize("before", ["", "Words:\n\n", "*Seen before, `gone.py`; not part of the [evidence](x):*\n\n"])
def test_a_table_without_evidence_is_noticed(before: str) -> None:
    text = f"{before}| network | error |\n| --- | --- |\n| 10-5-1 | 3e-15 |\n"
    assert unsupported_tables("docs/walks.md", text) == ["| network | error |"]
    seen = "*Seen before, `python benchmarks/walks.py`; not part of the [evidence](x):*\n\n"
    assert unsupported_tables("docs/walks.md", seen + text.removeprefix(before)) == []
    assert unsupported_tables("README.md", seen + text.removeprefix(before)) == ["| network | error |"]


def test_figures_are_known_by_the_digits_that_are_shown() -> None:
    known = [1.4224e-15, 9.7541, 20, "relu 50-25-1", 12142.0]
    good = ["1.4e-15", "9.75", "9.8", "20", "50", "25", "12,142"]
    assert [each for each in good if not is_known(each, known)] == []
    assert [each for each in ("1.5e-15", "9.76", "21", "26", "12,143", "2") if is_known(each, known)] == []


def test_rows_are_summed_up() -> None:
    rows = [
        {
            "table": "a",
            "network": "x",
            "trials": 5,
            "recovered": 4,
            "largest_error": 1e-9,
            "queries_per_parameter": 2.5,
        },
        {
            "table": "a",
            "network": "y",
            "trials": 5,
            "recovered": 5,
            "largest_error": None,
            "queries_per_parameter": 3.5,
        },
        {"table": "b", "trials": 7},
    ]
    found = evidence_pages.summed_up([{"rows": rows[:1]}, {"rows": rows[1:]}])
    assert found == {
        "network": ["x", "y"],
        "recovered": 9,
        "trials": 10,
        "largest_error": 1e-9,
        "queries_per_parameter": [2.5, 3.5],
    }
    assert evidence_pages.worded(found["queries_per_parameter"]) == "2.5 and 3.5"
    assert evidence_pages.worded([1.0, 5.0, 2.0, 3.0, 4.0]) == "1 to 5"


def test_campaigns_are_shown_if_there_are_any() -> None:
    page = "<!-- evidence: campaigns -->\n<!-- end of evidence -->"
    assert "No campaign" in evidence_pages.filled(page, {})
    family = {"trials": 20, "right": 19, "honest no": 1, "largest_cpu_seconds": 1.25}
    campaign = {
        "commit": "d3c76e2",
        "first_seed": 222066402,
        "cores": 2,
        "doors": {"identify": {"a": family, "b": family}},
    }
    found = evidence_pages.filled(page, {"campaign-x": campaign})
    assert "| identify | `campaign-x.json`, d3c76e2 | 40 | 38 | 0 | 2 | 0 | 0 | 0 |" in found
    assert unknown_figures(found, {"campaign-x": campaign}) == []
    assert unknown_figures(found.replace("38", "39"), {"campaign-x": campaign}) == ["39"]
    assert "| identify | b | 20 | 19 | 0 | 1 | 0 | 0 | 0 | 1.25 |" in evidence_pages.index_page(
        {"campaign-x": campaign}
    )


def test_a_benchmark_writes_what_it_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "figures.json"
    command = ["/somewhere/benchmarks/walks.py", "--seeds", "2", "--json", str(file), "--out=rows.jsonl"]
    monkeypatch.setattr(sys, "argv", command)
    found = figures_module.Figures.of(Namespace(json=file, first=7, seeds=2))
    found.keep("walks", network="relu 10-5-1", largest_error=float("inf"), widths=(3, 2))
    read = json.loads(file.read_text())
    assert read["rows"] == [{"table": "walks", "network": "relu 10-5-1", "largest_error": "inf", "widths": [3, 2]}]
    assert (read["command"], read["first_seed"], read["seeds"]) == ("python benchmarks/walks.py --seeds 2", 7, 2)
    figures_module.Figures.of(Namespace(json=None)).keep("walks", network="nothing is kept without a file")
