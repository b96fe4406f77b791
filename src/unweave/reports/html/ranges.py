"""What the model was asked: the range of every input, beside the domain that it was asked in."""

import math
from xml.etree.ElementTree import Element

from unweave.reports.html.elements import Section, details, paragraph, table
from unweave.reports.html.plots import bar
from unweave.result import InputRanges, Result, number

# Inputs whose ranges are listed; those of others are in the summary and in result.json.
MOST_INPUTS = 200
# Inputs up to which the list is open from the beginning.
FEW_INPUTS = 24


def asked_section(found: Result, names: tuple[str, ...]) -> Section | None:
    """Say where the model was asked, or where the samples lie."""
    ranges = found.ranges
    if ranges is None:
        return None
    made = _table(ranges, names, is_asked=not found.samples)
    few = len(ranges.lower) <= FEW_INPUTS
    listed = made if few else details(f"Ranges of {min(len(ranges.lower), MOST_INPUTS):,} inputs", made)
    title = "Where the samples lie" if found.samples else "What was asked"
    return Section("asked", title, (paragraph(_summary(ranges, is_asked=not found.samples)), listed))


def _summary(ranges: InputRanges, *, is_asked: bool) -> str:
    lowest, highest = min(ranges.lower), max(ranges.upper)
    between = f"inputs between {number(lowest)} and {number(highest)}"
    if not is_asked:
        return f"The samples have {between}."
    if ranges.is_box:
        return f"The model was asked at {between}, inside of the box that was allowed and nowhere else."
    farthest = max(
        max(abs(low - center), abs(high - center)) / scale
        for low, high, center, scale in zip(ranges.lower, ranges.upper, ranges.center, ranges.scale, strict=True)
    )
    return (
        f"The model was asked at {between}: up to {number(farthest)} times as far from the center as its inputs "
        "usually are, because walks look from far away. A box forbids that."
    )


def _table(ranges: InputRanges, names: tuple[str, ...], *, is_asked: bool) -> Element:
    numbers = list(zip(ranges.lower, ranges.upper, ranges.center, ranges.scale, strict=True))
    units = [(low - center, high - center) for low, high, center, _ in numbers]
    reach = max((max(abs(low), abs(high)) for low, high in units), default=0.0) or 1.0
    small = min((scale for *_, scale in numbers if scale > 0), default=1.0)
    rows = []
    for place, (low, high, center, scale) in enumerate(numbers[:MOST_INPUTS]):
        first, last, left, right = (_bent(each, small, reach) for each in (*units[place], -scale, scale))
        name = names[place] if names else f"input {place + 1}"
        drawn = bar(last, first=first, inside=(max(left, first), min(right, last)))
        rows.append((name, drawn, number(low), number(high), number(center), number(scale)))
    unit = ("center", "half width" if ranges.is_box else "scale") if is_asked else ("mean", "deviation")
    headers = ("input", "range", "from", "to", *unit)
    usual = "the box" if ranges.is_box else "the domain" if is_asked else "one standard deviation"
    caption = f"Ranges of the inputs around the center; the dark part is {usual}, long distances are shortened"
    return table(caption, headers, rows, numbers=(2, 3, 4, 5), kind="bars")


def _bent(distance: float, small: float, reach: float) -> float:
    """Put a distance on a scale from 0 to 1 that is linear up to a small one and logarithmic beyond."""
    share = math.asinh(distance / small) / math.asinh(reach / small)
    return 0.5 + 0.5 * max(-1.0, min(1.0, share))
