"""The profile of each neuron: what it does with its argument, over the arguments that it meets in the domain."""

import math
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, spread_of_columns
from unweave.networks.network import Layer, Network
from unweave.reports.html.elements import element, paragraph, svg
from unweave.result import InputRanges, number

# Profiles on one page: those of the neurons whose values vary most; more would be neither looked at nor small.
MOST_PROFILES = 60
# Points of the domain that tell which arguments a neuron meets, and points of a curve.
POINTS, CURVE_POINTS, BINS = 512, 61, 24
WIDTH, HEIGHT, FLOOR = 150.0, 84.0, 66.0


@dataclass(frozen=True)
class Profile:
    """One neuron over the arguments that it meets.

    Args:
        layer: counted from 1.
        neuron: counted from 1.
        arguments: where the curve is drawn.
        values: of the activation there.
        counts: how often arguments fall into equal parts of the range.
        bias: of the neuron.
        weight_size: length of its weights.
        spread: standard deviation of its value over the domain, times the size of its weights upwards.
    """

    layer: int
    neuron: int
    arguments: PerPoint
    values: PerPoint
    counts: Float64[np.ndarray, "bins"]
    bias: float
    weight_size: float
    spread: float

    def drawing(self) -> Element:
        """Draw the curve above a histogram of the arguments."""
        low, high = float(np.min(self.values)), float(np.max(self.values))
        size = (high - low) or 1.0
        across = np.linspace(6.0, WIDTH - 6.0, len(self.values))
        up = (
            FLOOR - 4.0 - (self.values - low) / size * (FLOOR - 14.0) if high > low else np.full(len(across), FLOOR / 2)
        )
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, up, strict=True))
        bars = [
            element("rect", {"x": f"{6 + index * step:.2f}", "y": f"{HEIGHT - 2 - height:.2f}",
                             "width": f"{step - 0.6:.2f}", "height": f"{height:.2f}", "class": "share"})
            for step in [(WIDTH - 12) / BINS]
            for index, height in enumerate(14.0 * self.counts / max(float(np.max(self.counts)), 1.0))
            if height > 0
        ]  # fmt: skip
        name = f"Neuron {self.neuron} of layer {self.layer}"
        first, last = number(float(self.arguments[0])), number(float(self.arguments[-1]))
        told = f"Values from {number(low)} to {number(high)} for arguments from {first} to {last}."
        curve = element("polyline", {"points": points, "class": "series series-1 curve"})
        return svg(name, told, width=WIDTH, height=HEIGHT, kind="profile", shapes=[*bars, curve])

    def figure(self) -> Element:
        """Make the drawing with its numbers."""
        words = f"bias {number(self.bias)}, weights {number(self.weight_size)}"
        title = element("strong", None, f"layer {self.layer}, neuron {self.neuron}")
        return element("figure", None, self.drawing(), element("figcaption", None, title, element("br"), words))


def profiles_of(network: Network, ranges: InputRanges | None) -> list[Profile]:
    """Look at every hidden neuron at random points of the domain; standard normal ones if that is not known."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((POINTS, network.inputs))
    if ranges is not None:
        if ranges.is_box:
            values = rng.uniform(-1.0, 1.0, values.shape)
        values = np.array(ranges.center) + np.array(ranges.scale) * values
    found = []
    for place, (layer, above) in enumerate(zip(network.layers[:-1], network.layers[1:], strict=True), start=1):
        arguments = layer.preactivations(values)
        found += [_profile(layer, above, place, neuron, arguments[:, neuron]) for neuron in range(layer.neurons)]
        values = layer.activation(arguments)
    return found


def _profile(layer: Layer, above: Layer, place: int, neuron: int, arguments: PerPoint) -> Profile:
    low, high = (float(each) for each in np.quantile(arguments, [0.005, 0.995]))
    largest = max(abs(low), abs(high))
    if not high - low > 1e-6 * largest:
        # Constant, or so nearly that rounding is all that a curve would show.
        low, high = low - max(1.0, 0.1 * largest), high + max(1.0, 0.1 * largest)
    grid = np.linspace(low, high, CURVE_POINTS)
    pull = float(np.max(np.abs(above.weights[:, neuron]), initial=0.0))
    return Profile(
        layer=place,
        neuron=neuron + 1,
        arguments=grid,
        values=layer.activation(grid),
        counts=np.histogram(arguments, bins=BINS, range=(low, high))[0].astype(np.float64),
        bias=float(layer.biases[neuron]),
        weight_size=math.hypot(*layer.weights[neuron]),
        spread=pull * float(spread_of_columns(layer.activation(arguments)[:, None])[0]),
    )


def profile_grid(network: Network, ranges: InputRanges | None) -> tuple[Element, ...]:
    """Draw the profiles of all neurons, or of those that matter most, and say so."""
    profiles = profiles_of(network, ranges)
    shown = sorted(profiles, key=lambda profile: -profile.spread)[:MOST_PROFILES]
    shown.sort(key=lambda profile: (profile.layer, profile.neuron))
    where = "the domain" if ranges is not None else "standard normal inputs, as the range of the inputs is not known"
    said = (
        f"The line is the activation over the arguments that the neuron meets in {where}; "
        "the bars below show how often it meets them."
    )
    if len(shown) < len(profiles):
        said += f" Shown are the {len(shown)} neurons of {len(profiles):,} whose values move the layer above most."
    return paragraph(said), element("div", {"class": "profiles"}, *(each.figure() for each in shown))
