"""The script that reads which numbered items a work has."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TEXT = r"""
Theorem 3.1 (Full-rank setting). Suppose that
Lemma 4.5 applied with beta and the others shows this.
Lemma 4.3 (Separation of Roots). For all k
## Algorithm 2: Subroutine
Algorithm 1 decomposes two tensors.
<span id="page-5-1"></span>**Claim 1 [\(Ge et al. (2017)](#page-11-1)).** An approximate minimum
**Lemma [2](#page-4-2).** Let Delta be
Figure 4.5: Curves over time
Figure 4.5 Curves again
Claim B.4. For all x
in Figure 4.6 we see more
Theorem 10
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("numbered_items")


def test_items_are_found_where_they_begin(script: ModuleType) -> None:
    items = script.numbered_items(TEXT.splitlines())
    assert {kind: numbers for kind, numbers in items.items() if numbers} == {
        "Algorithm": ["2"],
        "Figure": ["4.5"],
        "Theorem": ["3.1", "10"],
        "Lemma": ["4.3", "2"],
        "Claim": ["1", "B.4"],
    }


def test_algorithms_tables_and_figures_need_an_entry(script: ModuleType) -> None:
    items = script.numbered_items(TEXT.splitlines())
    assert script.without_entry(items, ["algorithm-2"]) == ["figure-4.5"]
    assert script.without_entry(items, ["algorithm-2", "figure-4.5"]) == []
