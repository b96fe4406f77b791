"""A network as a drawing: one column of circles per layer, lines for weights."""

from dataclasses import dataclass
from itertools import pairwise
from xml.etree.ElementTree import Element

import numpy as np

from unweave.arrays import Atoms
from unweave.networks.network import Layer, Network
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.reports.html.elements import element, svg
from unweave.reports.text import architecture

# Circles of a column: of larger layers the first and the last ones are drawn.
MOST_CIRCLES = 12
# Letters of a label that fit below a column.
LONG_LABEL = 18
RADIUS, COLUMN_WIDTH, SPACING, MARGIN = 7.0, 128.0, 20.0, 64.0


@dataclass(frozen=True)
class Column:
    """One layer of a drawing.

    Args:
        label: its size and activation.
        size: its neurons.
        weights: of the lines from the column before, one row per neuron; None for lines that have no number.
        is_known: whether it was found; a column of what is not known has no circles.
    """

    label: str
    size: int
    weights: Atoms | None = None
    is_known: bool = True

    @property
    def shown(self) -> list[int]:
        """Neurons that are drawn."""
        if self.size <= MOST_CIRCLES:
            return list(range(self.size))
        half = MOST_CIRCLES // 2 - 1
        return [*range(half), *range(self.size - half, self.size)]

    def places(self, middle: float) -> dict[int, float]:
        """Heights of the neurons that are drawn; a gap stands for the others."""
        rows = len(self.shown) + (2 if self.size > MOST_CIRCLES else 0)
        first, half = middle - SPACING * (rows - 1) / 2, MOST_CIRCLES // 2 - 1
        gap = {index: 2 if self.size > MOST_CIRCLES and row >= half else 0 for row, index in enumerate(self.shown)}
        return {index: first + SPACING * (row + gap[index]) for row, index in enumerate(self.shown)}


def shape_in_words(network: Network | QuadraticDenseNet) -> str:
    """Write sizes and activations of all layers with arrows between them."""
    return architecture(network).replace("->", "→")


def drawn_network(network: Network | QuadraticDenseNet) -> Element:
    """Draw a network."""
    inputs = Column(_counted(network.inputs, "input"), network.inputs)
    if isinstance(network, QuadraticDenseNet):
        levels = [Column(f"{width} squared", width) for width in network.wiring.widths]
        return _drawing(shape_in_words(network), [inputs, *levels, Column("1 output", 1)], "")
    hidden = [_column(layer, "neuron") for layer in network.layers[:-1]]
    skip = "" if network.skip is None else "and a linear part from the inputs to the outputs"
    return _drawing(shape_in_words(network), [inputs, *hidden, _column(network.layers[-1], "output")], skip)


def drawn_first_layer(layer: Layer) -> Element:
    """Draw what is known of a network of which only the first layer was found."""
    columns = [
        Column(_counted(layer.inputs, "input"), layer.inputs),
        _column(layer, "neuron"),
        Column("not identified", 1, is_known=False),
    ]
    return _drawing(f"{layer.inputs} inputs, {layer.neurons} neurons, layers above unknown", columns, "")


def _column(layer: Layer, noun: str) -> Column:
    activation = "" if str(layer.activation) == "identity" else f" {layer.activation}"
    return Column(_counted(layer.neurons, noun, activation), layer.neurons, layer.weights)


def _counted(size: int, noun: str, kind: str = "") -> str:
    return f"{size:,}{kind} {noun}{'' if size == 1 else 's'}"


def _drawing(name: str, columns: list[Column], remark: str) -> Element:
    rows = max(len(column.shown) + (2 if column.size > MOST_CIRCLES else 0) for column in columns)
    width, height = COLUMN_WIDTH * (len(columns) - 1) + 2 * MARGIN, SPACING * max(rows, 3) + 64.0
    middle = (height - 34.0) / 2
    has_long_labels = any(len(column.label) > LONG_LABEL for column in columns)
    across = [MARGIN + COLUMN_WIDTH * place for place in range(len(columns))]
    shapes = [
        line
        for (left, right), (x, to_x) in zip(pairwise(columns), pairwise(across), strict=True)
        for line in _lines(left, right, x, to_x, middle)
    ]
    for place, (column, x) in enumerate(zip(columns, across, strict=True)):
        shapes += _circles(column, x, middle)
        # Neighbours of long labels stand on another line.
        y = height - (6.0 if has_long_labels and place % 2 else 22.0)
        shapes.append(element("text", {"x": f"{x:g}", "y": f"{y:g}", "class": "middle label"}, column.label))
    sizes = ", ".join(column.label for column in columns)
    description = f"Layers from left to right: {sizes} {remark}".strip() + "."
    drawing = svg(f"Architecture {name}", description, width=width, height=height, kind="network", shapes=shapes)
    # It is never drawn larger than its text is readable.
    drawing.set("width", f"{1.3 * width:.0f}")
    return drawing


def _circles(column: Column, x: float, middle: float) -> list[Element]:
    if not column.is_known:
        box = {
            "x": f"{x - 18:g}",
            "y": f"{middle - 30:g}",
            "width": "36",
            "height": "60",
            "rx": "6",
            "class": "unknown",
        }
        mark = element("text", {"x": f"{x:g}", "y": f"{middle + 5:g}", "class": "middle"}, "?")
        return [element("rect", box), mark]
    places = column.places(middle)
    shapes = [
        element("circle", {"cx": f"{x:g}", "cy": f"{y:g}", "r": f"{RADIUS:g}", "class": "neuron"})
        for y in places.values()
    ]
    if column.size > MOST_CIRCLES:
        shapes += [
            element("circle", {"cx": f"{x:g}", "cy": f"{middle + step:g}", "r": "1.5", "class": "more"})
            for step in (-7.0, 0.0, 7.0)
        ]
    return shapes


def _lines(left: Column, right: Column, x: float, to_x: float, middle: float) -> list[Element]:
    """Draw lines between neurons; strong weights are thick, and the two signs have two colours."""
    if not right.is_known:
        return []
    starts, ends, weights = left.places(middle), right.places(middle), right.weights
    largest = float(np.max(np.abs(weights), initial=0.0)) if weights is not None else 0.0
    lines = []
    for index, to_y in ends.items():
        for before, y in starts.items():
            strength = 0.4 if weights is None or largest == 0.0 else abs(float(weights[index, before])) / largest
            sign = "" if weights is None else " minus" if weights[index, before] < 0 else " plus"
            looks = {
                "class": f"weight{sign}",
                "stroke-width": f"{0.3 + 1.7 * strength:.2f}",
                "stroke-opacity": f"{0.12 + 0.75 * strength:.2f}",
            }
            ends_of = {"x1": f"{x + RADIUS:g}", "y1": f"{y:g}", "x2": f"{to_x - RADIUS:g}", "y2": f"{to_y:g}"}
            lines.append(element("line", ends_of | looks))
    return lines
