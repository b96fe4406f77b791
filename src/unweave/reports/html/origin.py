"""Where a result comes from, and how it is repeated: the last sections of every report."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath
from typing import Any
from xml.etree.ElementTree import Element

from unweave.reports.html.elements import Section, element, facts, paragraph, table
from unweave.reports.html.page import pieces, sections
from unweave.writing import Document

# Options whose names on the command line are others than those of the settings.
SWITCHES = {
    "fit_bias": ("--bias", "--no-bias"),
    "union": ("--union", "--intersection"),
    "is_binary": ("--binary", "--no-binary"),
}
A_MODEL = "A model"
# Longer names are cut: they are names, and a page stays small.
LONGEST_NAME = 160


@dataclass(frozen=True)
class Origin:
    """What a report says about the run that it reports.

    Args:
        name: of the model or of the samples.
        settings: what the run was asked to do; empty if that was not recorded.
        environment: versions, platform and date.
        files: checksums of the files of the run, by their names.
        command: that was given, or the call in Python; empty if neither is known.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Document = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    @classmethod
    def of_run(cls, settings: Mapping[str, Any], environment: Document, files: Mapping[str, str]) -> "Origin":
        """Say where the run of a folder comes from."""
        named = settings.get("files") or [settings.get("target", settings.get("model", A_MODEL))]
        name = PurePath(str(named[0])).name if isinstance(named, list) and named else A_MODEL
        more = f" and {len(named) - 1} more files" if isinstance(named, list) and len(named) > 1 else ""
        return cls(shortened(name) + more, settings, environment, files, command_of(settings))

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, if columns were named."""
        columns = self.settings.get("inputs")
        return (
            tuple(shortened(name.strip()) for name in columns.split(","))
            if isinstance(columns, str) and columns
            else ()
        )

    @property
    def details(self) -> str:
        """Give date and platform in a line."""
        told = [str(self.environment[name]) for name in ("date", "platform") if name in self.environment]
        return " · ".join([_day(told[0]), *told[1:]]) if told else ""

    def sections(self) -> tuple[Section, ...]:
        """Say how to repeat it, and with which versions it was made."""
        versions = self._versions()
        return sections(
            Section("repeat", "How to repeat it", self._repeat()),
            Section("versions", "Versions and checksums", versions) if versions else None,
        )

    def _repeat(self) -> tuple[Element, ...]:
        unused = (None, False, "", [])
        given = [(name, _written(value)) for name, value in self.settings.items() if not _is_one_of(value, unused)]
        if not given and not self.command:
            said = "This report was written from Python: the call that gave the result repeats it, with the same seed."
            return (paragraph(said),)
        return pieces(
            element("pre", {"tabindex": "0"}, element("code", None, self.command)) if self.command else None,
            paragraph("The same seed gives the same result, bit by bit, with the same versions on the same platform."),
            table("Settings", ("setting", "value"), given) if given else None,
        )

    def _versions(self) -> tuple[Element, ...]:
        versions = self.environment.get("versions", {})
        rows = [(str(name), str(version)) for name, version in versions.items()]
        rows += [(name, str(self.environment[name])) for name in ("platform", "date") if name in self.environment]
        sums = [(name, element("code", None, checksum)) for name, checksum in self.files.items()]
        return pieces(
            facts(rows) if rows else None,
            table("SHA-256 of the files of the run", ("file", "SHA-256"), sums) if sums else None,
        )


def _is_one_of(value: object, others: tuple[object, ...]) -> bool:
    """Whether a value is one of others, of the same type: zero is a seed, and not False."""
    return any(type(value) is type(other) and value == other for other in others)


def command_of(settings: Mapping[str, Any]) -> str:
    """Write the command or the call that a run was made with; empty if the settings are of neither."""
    left = dict(settings)
    if "learner" in left:
        words = ["unweave", "learn", str(left.pop("learner")), *map(str, left.pop("files", []))]
    elif "command" in left:
        words = ["unweave", str(left.pop("command")), *([str(left.pop("target"))] if "target" in left else [])]
    elif "target" in left:
        words = ["unweave", "identify", str(left.pop("target"))]
    else:
        return call_of(left) if "call" in left else ""
    for name, value in left.items():
        option = f"--{name.replace('_', '-')}"
        if value in (None, "", []):
            continue
        if name == "headers":
            # Their values were written nowhere: variables of the environment take their place.
            for header in value:
                words += ["--header", f"{header}: ${header.upper().replace('-', '_')}"]
        elif name in SWITCHES:
            words.append(SWITCHES[name][0 if value else 1])
        elif value is True:
            words.append(option)
        elif value is not False:
            words += [option, *(map(str, value) if isinstance(value, list) else [str(value)])]
    return shlex.join(words)


def call_of(settings: Mapping[str, Any]) -> str:
    """Write the call in Python that a result comes from, and what its model was."""
    left = dict(settings)
    door, model = str(left.pop("call")), " ".join(str(left.pop("model", A_MODEL)).split())
    oracle = left.pop("oracle", {})
    told = ", ".join([model, *_arguments(oracle)]) if isinstance(oracle, Mapping) else model
    return f"# model: {told}\nunweave.{door}({', '.join(['model', *_arguments(left)])})"


def _arguments(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_in_python(value)}" for name, value in settings.items()]


def _in_python(value: object) -> str:
    """Write a value as Python does; a domain, which is a dictionary in JSON, as what makes it."""
    if not isinstance(value, Mapping):
        return repr(value)
    left = dict(value)
    kind = left.pop("kind", "dict")
    # Bounds of one number per input are arrays.
    told = {name: f"np.array({each!r})" if isinstance(each, list) else repr(each) for name, each in left.items()}
    return f"unweave.{kind}({', '.join(f'{name}={each}' for name, each in told.items())})"


def _day(date: str) -> str:
    """Write a date for people; as it is if it is none."""
    try:
        return f"{datetime.fromisoformat(date):%-d %B %Y, %H:%M %Z}".strip()
    except ValueError:
        return date


def shortened(name: str) -> str:
    """Cut a name that is no name any more."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(_arguments(value)) if "kind" not in value else _in_python(value)
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 4 * LONGEST_NAME else text[: 4 * LONGEST_NAME] + " …"
