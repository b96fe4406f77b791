"""Which level reads which: the graph of a quadratic network, its rules, and the widths that follow from it.

Levels are numbered 2 to L. Source 0 is the input x, source 1 are its centred squares, and source j >= 2 are all
products of two features of level j.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from unweave.arrays import packed_size
from unweave.exceptions import InvalidInput

FIRST_LEVEL = 2


@dataclass(frozen=True)
class Wiring:
    """Widths and links of a quadratic network.

    Args:
        inputs: number of inputs.
        widths: features per level, from level 2 on.
        sources: for every level what it reads; its main link, the level just below, comes first.
    """

    inputs: int
    widths: tuple[int, ...]
    sources: tuple[tuple[int, ...], ...]

    @property
    def depth(self) -> int:
        """Index of the last level."""
        return FIRST_LEVEL + len(self.widths) - 1

    def terms_of(self, source: int) -> int:
        """How many numbers a source gives."""
        return self.inputs if source < FIRST_LEVEL else packed_size(self.widths[source - FIRST_LEVEL])

    def terms(self, level: int) -> int:
        """How many numbers a level reads."""
        return sum(self.terms_of(source) for source in self.sources[level - FIRST_LEVEL])

    def columns(self, level: int) -> dict[int, slice]:
        """Where each source stands among the numbers that a level reads."""
        places, start = {}, 0
        for source in self.sources[level - FIRST_LEVEL]:
            places[source] = slice(start, start + self.terms_of(source))
            start += self.terms_of(source)
        return places

    def main_and_skip(self, level: int) -> tuple[slice, slice]:
        """Columns of the link to the level just below, and of all other links."""
        main = self.columns(level)[level - 1]
        return main, slice(main.stop, self.terms(level))

    def up_to(self, level: int) -> "Wiring":
        """The lower levels alone."""
        count = level - FIRST_LEVEL + 1
        return Wiring(self.inputs, self.widths[:count], self.sources[:count])


def make_wiring(
    inputs: int,
    widths: Sequence[int],
    connections: Sequence[Sequence[int]] | None = None,
    *,
    is_strict: bool = True,
) -> Wiring:
    """A checked wiring.

    Args:
        inputs: number of inputs.
        widths: features per level, from level 2 on.
        connections: for every level the sources it reads, in any order; `default_connections` if omitted.
        is_strict: whether the rules of the theory are enforced: no link to the level before the last one, and at
            least one skip link further down from level 3 on.

    Raises:
        InvalidInput: for a graph that breaks a rule, or widths that are no positive numbers.
    """
    widths = tuple(int(width) for width in widths)
    if inputs < 1 or not widths or min(widths) < 1:
        raise InvalidInput(f"a quadratic network needs inputs and at least one level of features, got {widths}.")
    if connections is None:
        connections = default_connections(len(widths))
    if len(connections) != len(widths):
        raise InvalidInput(f"connections need one set of sources for each of {len(widths)} levels: {connections}.")
    for level, sources in enumerate(connections, start=FIRST_LEVEL):
        _check_sources(level, sources, is_strict=is_strict)
    return Wiring(inputs, widths, tuple(tuple(sorted(sources, reverse=True)) for sources in connections))


def default_connections(levels: int) -> tuple[tuple[int, ...], ...]:
    """Level 2 reads the centred squares, level l >= 3 the level below and the one three below (level 3: the input)."""
    return ((1,), *((level - 1, level - 3) for level in range(FIRST_LEVEL + 1, FIRST_LEVEL + levels)))


def _check_sources(level: int, sources: Sequence[int], *, is_strict: bool) -> None:
    given = f"level {level} reads {tuple(sources)}"
    if len(set(sources)) != len(sources) or any(source < 0 or source >= level for source in sources):
        raise InvalidInput(f"{given}: it may read each of the sources 0 to {level - 1} once.")
    if level - 1 not in sources:
        raise InvalidInput(f"{given}: it needs to read the level just below as well, which is source {level - 1}.")
    if not is_strict or level == FIRST_LEVEL:
        return
    if level - 2 in sources:
        raise InvalidInput(
            f"{given}: source {level - 2} is excluded by the theory, which needs a gap of two; "
            "remove it, or allow it by is_strict=False."
        )
    if min(sources) > level - 3:
        raise InvalidInput(
            f"{given}: a skip link to a source of at most {level - 3} is needed, since a plain chain does not pin "
            "its features down; add one, or allow the chain by is_strict=False."
        )
