"""What must not be seen: values of headers and of the environment, and what an address holds beside its path.

They go to the server and nowhere else: no file, report, message or line of a log holds them.
"""

import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from unweave.exceptions import InvalidInput

HIDDEN = "***"
# Words shorter than this, such as "Basic", are no secrets, and would be struck out of innocent text.
SHORTEST = 6
# The name of a variable, as the only content of a value.
VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")


@dataclass(frozen=True, repr=False)
class Secrets:
    """Words that are struck out of every text that others may read."""

    words: tuple[str, ...] = ()

    def hide(self, text: str) -> str:
        """Strike the words out of a text."""
        for word in self.words:
            text = text.replace(word, HIDDEN)
        return text

    def having(self, *values: str) -> "Secrets":
        """Add values, and the words in them."""
        words = {each for value in values for each in (value, *value.split()) if len(each) >= SHORTEST}
        return Secrets(tuple(sorted({*self.words, *words}, key=len, reverse=True)))

    def hide_in_log(self, name: str) -> None:
        """Strike the words out of what a library logs."""

        def hide(record: logging.LogRecord) -> bool:
            record.msg, record.args = self.hide(record.getMessage()), ()
            return True

        if self.words:
            logging.getLogger(name).addFilter(hide)


def from_environment(text: str, *, name: str, is_json: bool = False, kept: tuple[str, ...] = ()) -> dict[str, str]:
    """Look up the variables that a text names as ``$NAME``.

    Args:
        text: as `string.Template` reads it.
        name: of what the text is, for messages.
        is_json: whether values stand between the quotes of JSON.
        kept: names that mean something else.

    Raises:
        InvalidInput: if a variable is not set, or the text is no template.
    """
    template = Template(text)
    if not template.is_valid():
        raise InvalidInput(f"{name} needs names of variables after every $, and $$ for the character itself.")
    names = [each for each in template.get_identifiers() if each not in kept]
    missing = [each for each in names if each not in os.environ]
    if missing:
        raise InvalidInput(f"{name} needs the environment variable {missing[0]}, which is not set.")
    return {each: json.dumps(os.environ[each])[1:-1] if is_json else os.environ[each] for each in names}


def resolved_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Put the variables of the environment into headers.

    Raises:
        InvalidInput: if a variable is not set, or a header is none.
    """
    found = {}
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~\w-]+", name):
            raise InvalidInput("a header needs a name and a value, such as 'Authorization: Bearer $TOKEN'.")
        value = Template(value).substitute(from_environment(value, name=f"the header {name}"))
        if not (value.isascii() and value.isprintable()):
            raise InvalidInput(f"the header {name} needs a value of printable characters of ASCII on one line.")
        found[name] = value.strip()
    return found


def shown_address(address: str) -> str:
    """Write an address without user and password, and without values in its query that are no names of variables."""
    parts = urlsplit(address)
    query = "&".join(
        f"{name}={value if VARIABLE.fullmatch(value) else HIDDEN}"
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))


def secrets_of_address(address: str) -> tuple[str, ...]:
    """Give what an address holds that must not be seen: as it is meant, and as it is written there."""
    parts = urlsplit(address)
    values = [value for _, value in parse_qsl(parts.query)]
    written = [each.partition("=")[2] for each in parts.query.split("&")]
    return tuple(each for each in (parts.username, parts.password, *values, *written) if each)
