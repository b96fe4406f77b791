"""Assertions are rewritten to the same statements at the same places as pytest alone would rewrite them."""

import ast
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

from quick_rewriting import FROM_PYTEST, located_parts

SOURCE = '''
"""Assertions of all kinds."""

async def f(x, y):
    for each in x:
        assert (
            each.size in [1, *y]
            and not g(each, *x, key=lambda t: -t, **y)
        ), f"{each!r} is {y:>{x}}"
    with x as z:
        assert (w := z[1:2]) == {k: v async for k, v in y if v} or await w < -y <= +z is not None
    assert x if y else z
'''


def rewritten(source: str) -> str:
    tree = ast.parse(source)
    rewrite.rewrite_asserts(tree, source.encode(), "test_some.py")
    return ast.dump(tree, include_attributes=True)


@pytest.mark.skipif(FROM_PYTEST is None, reason="this pytest goes another way")
@pytest.mark.parametrize("source", [SOURCE, Path(__file__).read_text(encoding="utf-8")], ids=["all kinds", "this file"])
def test_rewritten_assertions_are_those_of_pytest(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrite, "traverse_node", FROM_PYTEST)
    expected = rewritten(source)
    monkeypatch.setattr(rewrite, "traverse_node", located_parts)
    assert rewritten(source) == expected
    monkeypatch.setattr(rewrite, "traverse_node", lambda _: ())
    assert rewritten(source) != expected


def test_failing_assertions_still_say_what_was_compared() -> None:
    with pytest.raises(AssertionError, match=r"assert 1 == 2\n.*where 1 = len\(\[0\]\)"):
        assert len([0]) == 2
