"""Many adaptive searches at once, so that every round of them is one batch of queries.

A search is a generator: it yields the points it wants to know, receives the answers there, and
returns what it found; whatever it returns that is itself a search is run as well.
"""

from collections.abc import Callable, Generator, Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

from unweave.arrays import Points, Values

Ask = Callable[[Points], Values]
Search = Generator[Points, Values, list[Any]]


def remembered(ask: Ask) -> Ask:
    """Ask no point twice: answers that are known are given again."""
    known: dict[bytes, np.ndarray] = {}

    def asked(points: Points) -> Values:
        if len(points) == 0:
            return ask(points)
        keys = [blake2b(row.tobytes(), digest_size=16).digest() for row in np.ascontiguousarray(points)]
        new = {key: index for index, key in enumerate(keys) if key not in known}
        if new:
            known.update(zip(new, ask(points[list(new.values())]), strict=True))
        return np.array([known[key] for key in keys])

    return asked


def run_together(searches: Iterable[Search], ask: Ask) -> list[Any]:
    """Run all searches to their ends and collect what they found, in no particular order."""
    found: list[Any] = []
    waiting: list[tuple[Search, Points]] = []

    def advance(search: Search, answers: Values | None) -> None:
        try:
            waiting.append((search, search.send(answers)))  # pyright: ignore[reportArgumentType]
        except StopIteration as end:
            for item in end.value:
                if isinstance(item, Generator):
                    advance(item, None)
                else:
                    found.append(item)

    for search in searches:
        advance(search, None)
    while waiting:
        asked, waiting = waiting, []
        values = ask(np.concatenate([points for _, points in asked]))
        edges = np.cumsum([len(points) for _, points in asked])[:-1]
        for (search, _), answers in zip(asked, np.split(values, edges), strict=True):
            advance(search, answers)
    return found
