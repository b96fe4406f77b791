"""pytest's way through a rewritten assertion, without a generator for every level that a part lies below."""

import ast

from _pytest.assertion import rewrite

FROM_PYTEST = getattr(rewrite, "traverse_node", None)


def located_parts(node: ast.AST) -> list[ast.AST]:
    """Give a node and what is below it, in any order, as far as it can have a line: pytest asks to write that in.

    Its own way takes a quarter of the time in which assertions are rewritten, of which there are thousands.
    """
    found, waiting = [], [node]
    while waiting:
        part = waiting.pop()
        if part._attributes:
            found.append(part)
        for field in part._fields:
            value = getattr(part, field, None)
            if isinstance(value, list):
                waiting += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and (value._fields or value._attributes):
                waiting.append(value)
    return found


def use_located_parts() -> None:
    """Let pytest go this way; where it has none of that name, nothing changes."""
    rewrite.traverse_node = located_parts  # type: ignore[assignment]
