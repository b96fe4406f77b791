"""The bibliography as a page, from references.bib."""

import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).parents[1] / "references.bib"
ACCENTS = {r"{\"a}": "ä", r"{\"o}": "ö", r"{\"u}": "ü", r"{\AA}": "Å", r"{\`e}": "è", r"{\'e}": "é"}
# Headings of other pages are keys, too.
MARK = "work-"
ABOUT = """# Bibliography {{ #{mark}all }}

Works are cited by a key and a number, in code, docstrings and pages alike: [fiedler, Alg. 2.2]. The entries
in BibTeX are in [references.bib](references.bib). Algorithms, tables and figures of the first five are in `reproduce/`,
one folder per key, and `unweave reproduce` lists those that can be run.
"""


@cache
def entries() -> dict[str, dict[str, str]]:
    """Read keys and fields of all entries, in the order of the file."""
    found = {}
    for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", FILE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        fields = re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", body, flags=re.MULTILINE)
        found[key] = {name: _plain(text) for name, text in fields}
    return found


def _plain(text: str) -> str:
    """Take TeX out of a field."""
    for tex, letter in ACCENTS.items():
        text = text.replace(tex, letter)
    return text.replace("{", "").replace("}", "").replace("--", "–")


def _authors(names: str) -> str:
    """Write authors as they are read: given names first."""
    turned = [" ".join(reversed(name.split(", "))) for name in names.split(" and ")]
    return turned[0] if len(turned) == 1 else f"{', '.join(turned[:-1])} and {turned[-1]}"


def _line(fields: dict[str, str]) -> str:
    """Write one entry as a paragraph."""
    where = fields.get("journal") or fields.get("booktitle") or fields.get("school")
    number = fields.get("volume", "") + (f"({fields['number']})" if "number" in fields else "")
    pages = f"pages {fields['pages']}" if "pages" in fields else ""
    parts = [part for part in (f"{where} {number}".strip() if where else "", pages, fields["year"]) if part]
    note = f" {fields['note']}." if "note" in fields else ""
    return f"{_authors(fields['author'])}: *{fields['title']}*. {', '.join(parts)}.{note}"


def page() -> str:
    """Write the page."""
    return ABOUT.format(mark=MARK) + "".join(
        f"\n## {key} {{#{MARK}{key}}}\n\n{_line(fields)}\n" for key, fields in entries().items()
    )
