"""One page: head, contents, sections and data, with styles and script inside and nothing from elsewhere.

The policy in its head lets the browser load nothing and run this one script only, which it knows by its hash: what a
page must not do is refused twice, by escaping and by the browser.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from xml.etree.ElementTree import Element, tostring

from unweave import __version__
from unweave.reports.html.elements import Section, element

DATA = "report-data"


@dataclass(frozen=True)
class Page:
    """A report before it is written.

    Args:
        title: of the window, and the first heading.
        kind: what is reported, above the heading.
        details: a line below the heading.
        sections: in this order.
        data: what the script of the page shows, searches and gives away; JSON can hold it.
    """

    title: str
    kind: str
    details: str
    sections: tuple[Section, ...]
    data: dict[str, Any]

    def as_html(self) -> str:
        """Write the page."""
        root = element("html", {"lang": "en"}, self._head(), self._body())
        return f"<!DOCTYPE html>\n{tostring(root, encoding='unicode', method='html')}\n"

    def _head(self) -> Element:
        style, script = asset("report.css"), asset("report.js")
        policy = (
            f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'"
        )
        return element(
            "head",
            None,
            element("meta", {"charset": "utf-8"}),
            element("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
            element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            element("meta", {"name": "color-scheme", "content": "light dark"}),
            element("meta", {"name": "generator", "content": f"Unweave {__version__}"}),
            element("title", None, f"{self.title} – {self.kind}"),
            # Browsers ask the server of a page for an icon unless they are given one.
            element("link", {"rel": "icon", "href": "data:,"}),
            element("style", None, style),
        )

    def _body(self) -> Element:
        links = [element("li", None, element("a", {"href": f"#{each.name}"}, each.title)) for each in self.sections]
        data = element("script", {"type": "application/json", "id": DATA}, embedded(self.data))
        return element(
            "body",
            None,
            element("a", {"class": "skip", "href": "#report"}, "Skip to the report"),
            element(
                "header",
                None,
                element("p", {"class": "kind"}, self.kind),
                element("h1", None, self.title),
                element("p", {"class": "details"}, self.details),
            ),
            element("nav", {"aria-label": "Contents"}, element("ol", None, *links)),
            element("main", {"id": "report", "tabindex": "-1"}, *(each.as_element() for each in self.sections)),
            element("footer", None, element("p", None, f"Written by Unweave {__version__}. This file loads nothing.")),
            data,
            element("script", None, asset("report.js")),
        )


def embedded(data: dict[str, Any]) -> str:
    """Write data as JSON that can't end the script element that holds it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def asset(name: str) -> str:
    """Read a file that lies beside this one."""
    return files("unweave.reports.html").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def sections(*parts: Section | None) -> tuple[Section, ...]:
    """Leave out what a result does not have."""
    return tuple(part for part in parts if part is not None)


def pieces(*parts: Element | None) -> tuple[Element, ...]:
    """Leave out what a section does not have."""
    return tuple(part for part in parts if part is not None)
