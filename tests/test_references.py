"""Works are cited by keys of `docs/references.bib`, never as "the document"."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REPRODUCED = ("fiedler", "awasthi", "soltanolkotabi", "goel", "allenzhu")
# [key] or [key, Alg. 2.2]: one of the five keys, or an author and a year.
CITATION = re.compile(rf"\[({'|'.join(REPRODUCED)}|[a-z]+(?:19|20)\d\d)(?:,[^\]]*)?\]")

NAMELESS = re.compile(r"\b(?:[Tt]he|source) document(?:'s)?\b|\bdissertation\b|\[document,")


def texts() -> Iterator[tuple[str, str]]:
    """Names and texts of everything that may cite: code, pages and the README."""
    folders = (ROOT / name for name in ("src", "docs", "benchmarks", "examples", "tests"))
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".md")]
    for path in (*paths, *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG"))):
        if path != Path(__file__):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def keys_in(bibliography: str) -> set[str]:
    return set(re.findall(r"^@\w+\{(\w+),", bibliography, flags=re.MULTILINE))


KEYS = keys_in((ROOT / "docs" / "references.bib").read_text(encoding="utf-8"))


def test_cited_works_are_in_the_bibliography() -> None:
    cited = {(name, key) for name, text in texts() for key in CITATION.findall(text)}
    assert {(name, key) for name, key in cited if key not in KEYS} == set()
    assert {key for _, key in cited} >= set(REPRODUCED)


def test_every_entry_is_cited() -> None:
    assert {key for _, text in texts() for key in CITATION.findall(text)} == KEYS


def test_every_reproduced_work_has_a_key() -> None:
    folders = {path.parent.name for path in (ROOT / "src" / "unweave" / "reproduce").glob("*/__init__.py")}
    assert folders == set(REPRODUCED)


def test_works_have_names() -> None:
    nameless = {(name, found) for name, text in texts() for found in NAMELESS.findall(text)}
    assert nameless == set()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("see [fiedler, Alg. 2.2] and [wedin1972]", ["fiedler", "wedin1972"]),
        ("[nobody2031, Thm. 1]", ["nobody2031"]),
        ("array[goel]", ["goel"]),
        ("an index [0] or [document](docs/walks.md)", []),
    ],
)
def test_citations_are_found(text: str, keys: list[str]) -> None:
    assert CITATION.findall(text) == keys


def test_keys_are_found() -> None:
    assert keys_in("@article{one,\n  title = {Two},\n}\n@book{three1999,\n}") == {"one", "three1999"}
