"""A hook of MkDocs: code that pages and docstrings name becomes a link to it, and citations lead to works."""

import re
import xml.etree.ElementTree as etree
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import BACKTICK_RE, BacktickInlineProcessor, InlineProcessor
from markdown.util import AtomicString

import bibliography
import names

# Before those of Markdown itself: backticks have 190, links 170.
BEFORE_BACKTICKS, BEFORE_LINKS = 191, 175


class NameProcessor(BacktickInlineProcessor):
    """Link code in backticks that names a module, or something in one, to the page that shows it."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Any, int | None, int | None]:
        """Wrap the code into a reference, which the plugin autorefs resolves once all pages are known."""
        element, start, end = super().handleMatch(m, data)
        text = element.text or "" if isinstance(element, etree.Element) else ""
        target = target_of(text)
        if target is None or not isinstance(element, etree.Element):
            return element, start, end
        if names.DOTTED.fullmatch(text) and text.count(".") > 2:
            element.text = AtomicString(short(text))
        return _reference(target, element), start, end


class CitationProcessor(InlineProcessor):
    """Link [key] and [key, Alg. 2.2] to the entry of the bibliography."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Any, int | None, int | None]:  # noqa: ARG002
        """Wrap the citation into a reference."""
        element = etree.Element("span", {"class": "citation"})
        element.text = AtomicString(m.group(0))
        return _reference(bibliography.MARK + m.group(1), element), m.start(0), m.end(0)


def target_of(text: str) -> str | None:
    """Give the dotted name to which code in backticks leads, or None."""
    if text in names.public_names():
        return names.public_names()[text]
    if text == "docs/references.bib":
        return f"{bibliography.MARK}all"
    if names.DOTTED.fullmatch(text) and names.exists(text):
        module, inside = names.split_name(text)
        return text if inside or module in names.modules_with_pages() else None
    return names.named_module(text)


def short(dotted: str) -> str:
    """Shorten the name of a function, a class or a member to what is read in a table."""
    return ".".join(names.split_name(dotted)[1]) or dotted


def _reference(identifier: str, inside: etree.Element) -> etree.Element:
    """An element that autorefs replaces by a link."""
    reference = etree.Element("autoref", {"identifier": identifier})
    # Docstrings name modules that no page names, and that have no page of their own.
    module = names.split_name(identifier)[0]
    if module.startswith("unweave.") and module not in (*names.modules_with_pages(), "unweave.learn"):
        reference.set("optional", "")
    reference.append(inside)
    return reference


class NamesAndCitations(Extension):
    """Link names of code and citations."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Add both."""
        keys = "|".join(bibliography.entries())
        md.inlinePatterns.register(NameProcessor(BACKTICK_RE), "names", BEFORE_BACKTICKS)
        md.inlinePatterns.register(
            CitationProcessor(rf"\[({keys})(?:,[^\]]*)?\](?![\[(])", md), "citations", BEFORE_LINKS
        )


def on_config(config: Any) -> Any:
    """Add the extension to those of every page and of every docstring."""
    config.markdown_extensions.append(NamesAndCitations())
    return config
