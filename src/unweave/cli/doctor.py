"""`unweave doctor`: what is installed, and what it can do."""

import os
import platform
import sqlite3
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import typer

from unweave import __version__
from unweave.cli.console import AsJson, show_json
from unweave.extras import EXTRAS
from unweave.writing import envelope

# Where the name of a package differs from that of its distribution.
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "jsonpath": "python-jsonpath"}
# What every installation has.
BASE = ("numpy", "scipy", "safetensors", "threadpoolctl", "typer", "rich")
# Variables that limit the threads of linear algebra.
LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def doctor(as_json: AsJson = False) -> None:
    """Show versions, extras and threads: what to put into a report of a problem."""
    found = envelope("environment") | _environment()
    if as_json:
        show_json(found)
        return
    versions, threads = found["versions"], found["threads"]
    typer.echo(f"unweave {versions['unweave']}, Python {versions['python']} ({sys.executable})")
    typer.echo(f"{found['platform']}, SQLite {versions['sqlite']}")
    typer.echo("base: " + ", ".join(f"{name} {versions[name]}" for name in BASE))
    for extra, packages in found["extras"].items():
        there = ", ".join(f"{name} {number}" for name, number in packages.items() if number is not None)
        missing = [name for name, number in packages.items() if number is None]
        advice = f"needs {', '.join(missing)}: pip install 'unweave[{extra}]'" if missing else ""
        typer.echo(f"extra {extra}: " + "; ".join(said for said in (there, advice) if said))
    typer.echo(f"cores that may be used: {threads['cores']}")
    for library in threads["libraries"]:
        typer.echo(f"{library['name']} {library['version']}: {library['threads']} threads ({library['file']})")
    limits = ", ".join(f"{name}={value}" for name, value in threads["limits"].items())
    typer.echo(f"limits in the environment: {limits or 'none'}")


def _environment() -> dict[str, Any]:
    own = {"unweave": __version__, "python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    extras: dict[str, dict[str, str | None]] = {}
    for package, extra in EXTRAS.items():
        is_there = find_spec(package) is not None
        extras.setdefault(extra, {})[package] = _version_of(package) if is_there else None
    return {
        "versions": own | {name: _version_of(name) for name in BASE},
        "platform": platform.platform(),
        "extras": extras,
        "threads": _threads(),
    }


def _version_of(package: str) -> str:
    try:
        return version(DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return "of unknown version"


def _threads() -> dict[str, Any]:
    import numpy as np
    from scipy import linalg
    from threadpoolctl import threadpool_info

    from unweave.arrays import available_cores

    # Libraries of threads are there when they were used once.
    linalg.svd(np.eye(2))
    libraries = [
        {
            "name": each["internal_api"],
            "version": each.get("version") or "of unknown version",
            "threads": each["num_threads"],
            "file": each["filepath"],
        }
        for each in threadpool_info()
    ]
    limits = {name: os.environ[name] for name in LIMITS if name in os.environ}
    return {"cores": available_cores(), "libraries": libraries, "limits": limits}
