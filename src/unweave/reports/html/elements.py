"""Elements of a page: text goes in as text, and is escaped when the page is written."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

Child = Element | str
Attributes = Mapping[str, str | float]

# Numbers with a negative exponent: browsers would break a line after its sign.
_BREAKING = re.compile(r"(\d[\d.]*e-\d+)")
# What HTML and XML know no character for: a file may not hold it, whatever a name holds.
_NO_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def element(tag: str, attributes: Attributes | None = None, *children: Child) -> Element:
    """Make an element with texts and elements in it, in this order."""
    made = Element(tag, {name: _clean(str(value)) for name, value in (attributes or {}).items()})
    last: Element | None = None
    for child in children:
        if isinstance(child, str):
            text = _clean(child)
            if last is None:
                made.text = (made.text or "") + text
            else:
                last.tail = (last.tail or "") + text
        else:
            made.append(child)
            last = child
    return made


def _clean(text: str) -> str:
    return _NO_CHARACTERS.sub("\ufffd", text)


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading, to which the contents link.

    Args:
        name: of the anchor.
        title: the heading.
        body: what is in it.
    """

    name: str
    title: str
    body: tuple[Element, ...]

    def as_element(self) -> Element:
        """Make the section."""
        heading = element("h2", {"id": f"{self.name}-title"}, self.title)
        return element("section", {"id": self.name, "aria-labelledby": f"{self.name}-title"}, heading, *self.body)


def paragraph(*children: Child, kind: str = "") -> Element:
    """Make a paragraph."""
    return element("p", {"class": kind} if kind else None, *_in_prose(children))


def bullets(items: Iterable[Child]) -> Element:
    """Make a list."""
    return element("ul", None, *(element("li", None, *_in_prose([item])) for item in items))


def _in_prose(children: Iterable[Child]) -> Iterator[Child]:
    """Keep numbers of texts on one line."""
    for child in children:
        if not isinstance(child, str):
            yield child
            continue
        for place, part in enumerate(_BREAKING.split(child)):
            yield element("span", {"class": "whole"}, part) if place % 2 else part


def facts(pairs: Iterable[tuple[str, Child]], *, kind: str = "facts") -> Element:
    """Make a list of names with their values."""
    rows = (element("div", None, element("dt", None, name), element("dd", None, value)) for name, value in pairs)
    return element("dl", {"class": kind}, *rows)


def table(
    caption: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    numbers: Sequence[int] = (),
    kind: str = "",
    is_caption_hidden: bool = False,
    is_long: bool = False,
) -> Element:
    """Make a table that scrolls sideways where it is too wide; its first column names the rows.

    Args:
        caption: what it shows.
        headers: of the columns.
        rows: of cells.
        numbers: columns of numbers, which are aligned to the right.
        kind: a class for its looks.
        is_caption_hidden: whether only screen readers hear the caption, because a heading says it.
        is_long: whether it scrolls up and down, too.
    """

    def cell(place: int, child: Child) -> Element:
        looks = {"class": "number"} if place in numbers else {}
        return element("th", {"scope": "row"} | looks, child) if place == 0 else element("td", looks, child)

    head = [
        element("th", {"scope": "col"} | ({"class": "number"} if place in numbers else {}), name)
        for place, name in enumerate(headers)
    ]
    body = [element("tr", None, *(cell(place, each) for place, each in enumerate(row))) for row in rows]
    made = element(
        "table",
        {"class": kind} if kind else None,
        element("caption", {"class": "unseen"} if is_caption_hidden else None, caption),
        element("thead", None, element("tr", None, *head)),
        element("tbody", None, *body),
    )
    # It can be scrolled with the keyboard, and says what it is when it is reached.
    looks = "scroll long" if is_long else "scroll"
    return element("div", {"class": looks, "tabindex": "0", "role": "group", "aria-label": caption}, made)


def details(summary: str, *body: Element) -> Element:
    """Make a part that is folded until somebody wants it; it is printed in any case."""
    return element("details", None, element("summary", None, summary), *body)


def figure(drawing: Element, caption: str) -> Element:
    """Make a figure with its caption."""
    return element("figure", None, drawing, element("figcaption", None, caption))


def svg(title: str, description: str, *, width: float, height: float, kind: str, shapes: Iterable[Element]) -> Element:
    """Make a drawing that screen readers describe and that says its title under the mouse."""
    attributes = {
        "viewBox": f"0 0 {width:g} {height:g}",
        "class": kind,
        "role": "img",
        "aria-label": f"{title}. {description}",
    }
    return element("svg", attributes, element("title", None, title), *shapes)
