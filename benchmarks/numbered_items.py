"""Which numbered items a work has, read from its text: what `unweave reproduce --list` has to cover.

    python benchmarks/numbered_items.py work.txt                   all numbers, kind by kind
    python benchmarks/numbered_items.py work.txt --entries goel    and which of them lack an entry of that work

An item is named where it begins: at the start of a line, with its number, and not in the middle of a sentence.
"""

import argparse
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from command_line import parser_of

KINDS = ("Algorithm", "Table", "Figure", "Theorem", "Proposition", "Corollary", "Lemma", "Claim")
# Every one of these needs an entry; of the others those that say something measurable have one.
COVERED = ("Algorithm", "Table", "Figure")
ITEM = re.compile(rf"({'|'.join(KINDS)})\s+([A-Z]?\.?\d+(?:\.\d+)*+)\s*(?=[.:(\[A-Z$\\]|$)")


def plain(line: str) -> str:
    """The words of a line, without marks of headings, bold text, anchors and addresses of links."""
    line = re.sub(r"<[^>]*>", "", line)
    line = re.sub(r"\[([^\]]*)\]\s*\(#[^)]*\)", r"\1", line)
    return line.replace("*", "").lstrip("#|- \t")


def numbered_items(lines: Iterable[str]) -> dict[str, list[str]]:
    """The numbers of every kind, in the order of the text."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for line in lines:
        item = ITEM.match(plain(line).rstrip())
        if item and item[2] not in found[item[1]]:
            found[item[1]].append(item[2])
    return found


def without_entry(items: Mapping[str, Iterable[str]], numbers: Iterable[str]) -> list[str]:
    """Algorithms, tables and figures that no entry names."""
    known = {number.lower() for number in numbers}
    wanted = [f"{kind.lower()}-{number.lower()}" for kind in COVERED for number in items[kind]]
    return [name for name in wanted if name not in known]


def main(args: argparse.Namespace) -> None:
    """Print what the text has."""
    items = numbered_items(args.text.read_text().splitlines())
    for kind, numbers in items.items():
        print(f"{kind:12} {len(numbers):3d}  {', '.join(numbers)}")
    if args.entries:
        from unweave.reproduce.entries import entries_of

        entries = entries_of(args.entries)
        missing = without_entry(items, [entry.number for entry in entries])
        runs = sum(not entry.reason for entry in entries)
        print(f"{len(entries)} entries, {runs} of which run; without entry: {', '.join(missing) or 'none'}")


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("--entries", help="key of the bibliography")
    main(parser.parse_args())
