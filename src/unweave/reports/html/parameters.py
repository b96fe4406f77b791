"""All parameters of a network, for the searchable table of a page and for its downloads."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from unweave.networks.network import Layer, Network
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.reports.html.elements import element, paragraph, table

# Bytes of parameters in a page: with all else it stays below 2 MB.
MOST_BYTES = 1_300_000
# Rows that are there without a script; with it, the table begins with as many.
FIRST_ROWS = 25
HEADERS = ("parameter", "of", "from", "value")


@dataclass(frozen=True)
class Group:
    """Parameters of one kind: a table of numbers, or a column of them.

    Args:
        name: what they are.
        rows: what a row belongs to, such as a neuron; its number follows.
        columns: what a column belongs to, such as an input; empty if there is one column only.
        values: one list per row.
        names: of the columns, if they have some; their numbers otherwise.
    """

    name: str
    rows: str
    columns: str
    values: list[list[float]]
    names: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """What the script of the page reads."""
        return {
            "name": self.name,
            "rows": self.rows,
            "columns": self.columns,
            "names": list(self.names),
            "values": self.values,
        }

    def lines(self) -> Iterator[tuple[str, str, str, str]]:
        """Give the rows of the table as the script writes them."""
        for row, numbers in enumerate(self.values, start=1):
            for column, value in enumerate(numbers, start=1):
                source = self.names[column - 1] if self.names else f"{self.columns} {column}"
                yield self.name, f"{self.rows} {row}", source if self.columns else "", repr(value)


def groups_of(network: Network | QuadraticDenseNet, names: Sequence[str] = ()) -> list[Group]:
    """List all parameters of a network.

    Args:
        network: a network of layers, or a quadratic one.
        names: of the inputs, if they have some.
    """
    if isinstance(network, QuadraticDenseNet):
        return _quadratic_groups(network)
    groups: list[Group] = []
    for place, layer in enumerate(network.layers, start=1):
        is_output = place == len(network.layers) and place > 1
        groups += layer_groups(layer, place, is_output=is_output, names=tuple(names) if place == 1 else ())
    if network.skip is not None:
        groups.append(Group("linear part", "output", "input", network.skip.tolist(), tuple(names)))
    return groups


def layer_groups(layer: Layer, place: int, *, is_output: bool = False, names: tuple[str, ...] = ()) -> list[Group]:
    """List the parameters of one layer."""
    rows, kind = ("output", "output layer") if is_output else ("neuron", f"layer {place}")
    columns = "input" if place == 1 else f"layer {place - 1} neuron"
    return [
        Group(f"{kind} weight", rows, columns, layer.weights.tolist(), names),
        Group(f"{kind} bias", rows, "", layer.biases[:, None].tolist()),
    ]


def _quadratic_groups(network: QuadraticDenseNet) -> list[Group]:
    groups = []
    for place, level in enumerate(network.levels, start=FIRST_LEVEL):
        groups.append(Group(f"level {place} map", "feature", "term", level.features.tolist()))
        groups.append(Group(f"level {place} weight", "level", "", [[float(level.weight)]]))
        for name, numbers in (("sign", level.signs), ("readout", level.readout)):
            if numbers is not None:
                groups.append(Group(f"level {place} {name}", "feature", "entry", np.atleast_2d(numbers).tolist()))
    groups.append(Group("mean of a squared input", "input", "", network.mean_squares[:, None].tolist()))
    if network.linear is not None:
        groups.append(Group("linear part", "input", "", network.linear[:, None].tolist()))
    return [*groups, Group("constant", "output", "", [[float(network.intercept)]])]


@dataclass(frozen=True)
class Embedded:
    """The parameters that a page holds.

    Args:
        groups: with the rows that fit.
        count: parameters in them.
        all: parameters of the network.
    """

    groups: tuple[Group, ...]
    count: int
    all: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return self.count == self.all

    def as_data(self) -> dict[str, Any]:
        """What the script of the page reads."""
        return {"headers": list(HEADERS), "groups": [group.as_data() for group in self.groups], "whole": self.is_whole}


def embed(groups: Sequence[Group], *, most_bytes: int = MOST_BYTES) -> Embedded:
    """Take as many rows of parameters as fit into a page, in their order."""
    left, kept, count = most_bytes, [], 0
    for group in groups:
        rows = []
        for row in group.values:
            left -= len(json.dumps(row))
            if left < 0:
                break
            rows.append(row)
            count += len(row)
        if rows:
            kept.append(Group(group.name, group.rows, group.columns, rows, group.names))
        if left < 0:
            break
    return Embedded(tuple(kept), count, sum(len(row) for group in groups for row in group.values))


def parameter_table(held: Embedded, *, file: str) -> tuple[Element, ...]:
    """Make the search field, the downloads and the first rows of the table.

    Args:
        held: what the page holds.
        file: where all parameters are, for networks that do not fit.
    """
    rows = islice(chain.from_iterable(group.lines() for group in held.groups), FIRST_ROWS)
    field = {"id": "search", "type": "search", "autocomplete": "off", "aria-describedby": "search-hint"}
    hint = "For example: bias, or neuron 3, or layer 1, input 2. Commas narrow the search."
    controls = element(
        "div",
        {"class": "controls", "data-controls": "parameters", "hidden": "hidden"},
        element("label", {"for": "search"}, "Search the parameters"),
        element("input", field),
        element("button", {"type": "button", "data-download": "csv"}, "Download CSV"),
        element("button", {"type": "button", "data-download": "json"}, "Download JSON"),
        element("p", {"id": "search-hint", "class": "hint"}, hint),
    )
    more = element("button", {"type": "button", "id": "more", "hidden": "hidden"}, "Show more")
    said = f"{min(held.count, FIRST_ROWS):,} of {held.count:,} parameters are shown."
    parts = [
        controls,
        element("p", {"id": "count", "role": "status"}, said),
        table(
            "Parameters of the network",
            HEADERS,
            rows,
            numbers=(3,),
            kind="parameters",
            is_caption_hidden=True,
            is_long=True,
        ),
        more,
    ]
    if not held.is_whole:
        left_out = held.all - held.count
        note = (
            f"This page holds the first {held.count:,} of {held.all:,} parameters, so that it stays small; "
            f"{left_out:,} are left out, here and in the downloads. All of them are in {file}."
        )
        parts.insert(0, paragraph(note, kind="warning"))
    return tuple(parts)
