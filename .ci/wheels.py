"""Ask the package index for which systems the dependencies of Unweave have wheels, and print docs/platforms.md's table.

    python .ci/wheels.py                       in an environment with all extras, such as the one of .ci/run

Looks at the newest release for each Python of whatever the base install and every extra need in turn, as the
environment has it. Packages without compiled parts have wheels for all systems and are only counted. Nothing is
installed.
"""

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from html import unescape
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
# Wheels for newer systems than these do not count; older ones have fewer wheels than are listed.
GLIBC, MACOS = 28, (14, 0)
# A file in the pages that all indexes have: attributes, and the name.
FILE = re.compile(r"<a ([^>]*)>\s*([^<\s]+)\s*</a>")
PYTHONS_OF_FILE = re.compile(r'data-requires-python="([^"]*)"')


def linux(machine: str) -> list[str]:
    """Platform tags of a Linux with glibc 2.28 or older."""
    return [f"manylinux_2_{minor}_{machine}" for minor in range(GLIBC, 4, -1)] + [f"manylinux2014_{machine}"]


SYSTEMS = {
    "Linux x86-64": linux("x86_64"),
    "Linux ARM": linux("aarch64"),
    "macOS arm64": list(mac_platforms(MACOS, "arm64")),
    "macOS Intel": list(mac_platforms(MACOS, "x86_64")),
    "Windows x86-64": ["win_amd64"],
    "Windows ARM": ["win_arm64"],
}


@cache
def tags(system: str, python: tuple[int, int]) -> frozenset[Tag]:
    """What an installer of a system takes."""
    platforms, abi = SYSTEMS[system], f"cp{python[0]}{python[1]}"
    return frozenset((*cpython_tags(python, [abi], platforms), *compatible_tags(python, abi, platforms)))


@cache
def wheels(index: str, package: str) -> list[tuple[Version, frozenset[Tag] | None, str]]:
    """Releases of a package, newest first: version, tags (None for a source distribution), Pythons."""
    with urlopen(f"{index}/{package}/", timeout=60) as answer:
        page = answer.read().decode()
    found = []
    for attributes, name in FILE.findall(page):
        pythons = unescape(match[1]) if (match := PYTHONS_OF_FILE.search(attributes)) else ""
        if "data-yanked" in attributes:
            continue
        # Files of long ago have names that are not valid any more.
        with suppress(InvalidWheelFilename):
            if name.endswith(".whl"):
                _, version, _, kinds = parse_wheel_filename(name)
                found.append((version, kinds, pythons))
            elif match := re.search(r"-(\d+(?:\.\d+)+(?:\.post\d+)?)\.tar\.gz$", name):
                found.append((Version(match[1]), None, pythons))
    return sorted((each for each in found if not each[0].is_prerelease), key=lambda each: each[0], reverse=True)


@cache
def allows(pythons: str, python: tuple[int, int]) -> bool:
    """Whether a release is for a Python."""
    return f"{python[0]}.{python[1]}.9" in SpecifierSet(pythons)


def newest(index: str, wanted: Requirement, python: tuple[int, int], system: str | None) -> Version | None:
    """The newest release for a Python, or of those the newest with a wheel for a system; None below the lower bound."""
    there = (
        version
        for version, kinds, pythons in wheels(index, canonicalize_name(wanted.name))
        if allows(pythons, python)
        and (system is None or (kinds is not None and not kinds.isdisjoint(tags(system, python))))
        and version in wanted.specifier
    )
    return next(there, None)


def cell(index: str, wanted: Requirement, system: str) -> str:
    """For which Pythons there is a wheel: of the newest release, of an older one, or of none."""
    found: dict[str, list[str]] = {}
    for python in PYTHONS:
        last, here = newest(index, wanted, python, None), newest(index, wanted, python, system)
        label = "none" if here is None else "newest" if here == last else str(here)
        found.setdefault(label, []).append(".".join(map(str, python)))
    if len(found) == 1:
        label = next(iter(found))
        return "all" if label == "newest" else label
    return "; ".join(f"{', '.join(pythons)}: {label}" for label, pythons in found.items())


def needed(requirements: list[str]) -> Iterator[Requirement]:
    """Requirements with all that they need in turn, as the environment has it."""
    waiting, seen = [Requirement(each) for each in requirements], set()
    while waiting:
        current = waiting.pop(0)
        if current.name in seen or (current.marker and not current.marker.evaluate({"extra": ""})):
            continue
        seen.add(current.name)
        yield current
        try:
            waiting += [Requirement(each) for each in requires(current.name) or ()]
        except PackageNotFoundError:
            raise SystemExit(f"{current.name} is not installed: pip install -e '.[dev]' first.") from None


def configured_index() -> str:
    """The index that pip is told to use."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    address = os.environ.get("PIP_INDEX_URL") or told.stdout.strip()
    if not address:
        raise SystemExit("pip has no index in its configuration: name one with --index.")
    return address.rstrip("/")


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", help="address of an index; that of pip's configuration if omitted")
    index = parser.parse_args().index or configured_index()
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = {name: each for name, each in project["optional-dependencies"].items() if name not in ("all", "dev")}
    print(f"| for | package | {' | '.join(SYSTEMS)} |\n| --- | --- |{' --- |' * len(SYSTEMS)}")
    seen: set[str] = set()
    everywhere: list[str] = []
    pure = 0
    for part, requirements in {"base": project["dependencies"], **extras}.items():
        for wanted in needed(requirements):
            if wanted.name in seen:
                continue
            seen.add(wanted.name)
            cells = [cell(index, wanted, system) for system in SYSTEMS]
            is_everywhere = set(cells) == {"all"}
            if is_everywhere and _is_pure(index, wanted):
                pure += 1
            elif is_everywhere and part != "base":
                everywhere.append(wanted.name)
            else:
                print(f"| {part} | {wanted.name} | {' | '.join(cells)} |", flush=True)
    print(f"\nFor all systems and Pythons, in extras: {', '.join(everywhere)}.")
    print(f"\n{pure} other packages have no compiled parts, and wheels for all systems and Pythons.")


def _is_pure(index: str, wanted: Requirement) -> bool:
    last = newest(index, wanted, PYTHONS[-1], None)
    kinds = [each for version, each, _ in wheels(index, canonicalize_name(wanted.name)) if version == last and each]
    return all(tag.platform == "any" for each in kinds for tag in each)


if __name__ == "__main__":
    main()
