"""`unweave doctor`: what is installed, and what it can do."""

import os
import platform
import sqlite3
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import typer

from unweave import __version__
from unweave.extras import EXTRAS

# Where the name of a package differs from that of its distribution.
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "jsonpath": "python-jsonpath"}
# What every installation has.
BASE = ("numpy", "scipy", "safetensors", "threadpoolctl", "typer", "rich")


def doctor() -> None:
    """Show versions, extras and threads: what to put into a report of a problem."""
    typer.echo(f"unweave {__version__}, Python {platform.python_version()} ({sys.executable})")
    typer.echo(f"{platform.platform()}, SQLite {sqlite3.sqlite_version}")
    typer.echo("base: " + ", ".join(f"{name} {_version_of(name)}" for name in BASE))
    for extra in dict.fromkeys(EXTRAS.values()):
        packages = [package for package, brings in EXTRAS.items() if brings == extra]
        missing = [package for package in packages if find_spec(package) is None]
        found = ", ".join(f"{package} {_version_of(package)}" for package in packages if package not in missing)
        advice = f"needs {', '.join(missing)}: pip install 'unweave[{extra}]'" if missing else ""
        typer.echo(f"extra {extra}: " + "; ".join(said for said in (found, advice) if said))
    _show_threads()


def _version_of(package: str) -> str:
    try:
        return version(DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return "of unknown version"


def _show_threads() -> None:
    import numpy as np
    from scipy import linalg
    from threadpoolctl import threadpool_info

    from unweave.arrays import available_cores

    # Libraries of threads are there when they were used once.
    linalg.svd(np.eye(2))
    typer.echo(f"cores that may be used: {available_cores()}")
    for each in threadpool_info():
        typer.echo(f"{each['internal_api']} {each.get('version')}: {each['num_threads']} threads ({each['filepath']})")
    limits = {name: os.environ[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name in os.environ}
    typer.echo(
        "limits in the environment: " + (", ".join(f"{name}={value}" for name, value in limits.items()) or "none")
    )
