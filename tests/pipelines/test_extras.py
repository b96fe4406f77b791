"""The base install identifies networks; what it has not says how it is installed, before any work."""

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from unweave.exceptions import InvalidInput, MissingExtra
from unweave.extras import EXTRAS, need

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
# Where the name of a package differs from that of its distribution.
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "matplotlib", "jsonpath": "python-jsonpath"}
OPTIONAL = (
    *("jax", "jaxlib", "optax", "sklearn", "matplotlib", "torch", "pyarrow", "distributed", "onnx", "onnxruntime"),
    *("beartype", "httpx", "jsonpath"),
)

# Optional packages that can't be imported, as if they were not there.
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL}))\n"
IDENTIFY = """
import numpy as np, unweave
weights = np.random.default_rng(0).standard_normal((3, 4))
found = unweave.identify(lambda points: np.tanh(points @ weights.T) @ [1.0, -2.0, 0.5], inputs=4)
print(found.outcome.value)
"""
COMMAND = "from unweave.cli import run; sys.exit(run(sys.argv[1:]))\n"
# What was loaded though it is optional; then the package is forgotten, and imported again by whoever comes next.
LOADED = f"""
import sys
print(sorted(set({OPTIONAL}) & set(sys.modules)))
for name in [name for name in sys.modules if name.partition(".")[0] == "unweave"]:
    del sys.modules[name]
"""
# Imports and commands, one after the other in one process: how each of them ends, and what it says.
EVERYTHING = """
import contextlib, io, json, traceback
from unweave.cli import run
imports, commands = json.loads(sys.argv[1])
told = {}
for code in imports:
    try:
        exec(code, {})
    except BaseException:
        told[code] = traceback.format_exc()
for arguments in commands:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        told[" ".join(arguments)] = (run(arguments), said.getvalue())
print(json.dumps(told))
"""
IMPORTING = [
    ("learn", "from unweave.learn import ReluNetworkRegressor"),
    ("learn", "import unweave.learn; unweave.learn.LowestLayerRegressor"),
    ("jax", "import unweave.explore.landscape.experiment"),
    ("plots", "import unweave.reports.pictures.landscape"),
]
DEMO = ["demo", "--inputs", "4", "--neurons", "3"]
NEEDING = [
    ("jax", ["landscape", "--neurons", "2:3", "--inputs", "2"]),
    ("plots", ["landscape", "--neurons", "2:3", "--inputs", "2", "--picture", "curve.png"]),
    ("learn", ["learn", "relu", "no-such-file.csv", "--target", "y"]),
    ("learn", ["learn", "halfspaces", "no-such-file.csv", "--target", "y"]),
    ("learn", ["learn", "halfspaces", "no-such-file.csv", "--target", "y", "--picture", "found.png"]),
    ("torch", ["correction"]),
    ("onnx", ["identify", "model.onnx"]),
    ("http", ["identify", "http://127.0.0.1:9/v2/models/m"]),
]


def start(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """How identification ends where everything is installed, and all of it where nothing optional is.

    One process does it all: most of the time it would import the same again.
    """
    asked = json.dumps([[code for _, code in IMPORTING], [*(arguments for _, arguments in NEEDING), DEMO]])
    done = start(IDENTIFY + LOADED + WITHOUT + IDENTIFY + EVERYTHING, asked)
    assert done.returncode == 0, done.stderr
    with_all, loaded, without, ends = done.stdout.splitlines()
    return {"with all": with_all, "loaded": loaded, "without": without, **json.loads(ends)}


def test_identify_loads_no_optional_package(told: dict[str, Any]) -> None:
    assert told["with all"] == "identified"
    assert told["loaded"] == "[]"


def test_identify_and_the_demo_work_without_optional_packages(told: dict[str, Any]) -> None:
    assert told["without"] == "identified"
    code, said = told[" ".join(DEMO)]
    assert code == 0, said


@pytest.mark.parametrize(("extra", "arguments"), NEEDING)
def test_commands_say_which_extra_they_need(extra: str, arguments: list[str], told: dict[str, Any]) -> None:
    code, said = told[" ".join(arguments)]
    assert code == 2
    assert f"pip install 'unweave[{extra}]'" in " ".join(said.split())
    assert "Traceback" not in said


def test_correction_asks_for_its_picture_before_it_trains(tmp_path: Path) -> None:
    without_pictures = "import sys; sys.modules['matplotlib'] = None\n"
    done = start(without_pictures + COMMAND, "correction", "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "the picture in --out needs matplotlib" in " ".join(done.stderr.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("extra", "code"), IMPORTING)
def test_imports_say_which_extra_they_need(extra: str, code: str, told: dict[str, Any]) -> None:
    last = told[code].splitlines()[-1]
    assert last.startswith("unweave.exceptions.MissingExtra: ")
    assert f"pip install 'unweave[{extra}]'" in last


def test_a_missing_package_is_wrong_use_and_a_failed_import(monkeypatch: pytest.MonkeyPatch) -> None:
    need("jax", purpose="a test")
    monkeypatch.setattr("unweave.extras.find_spec", lambda _: None)
    with pytest.raises(MissingExtra) as raised:
        need("jax", purpose="a test")
    assert str(raised.value) == "a test needs jax: install it with pip install 'unweave[jax]'."
    assert isinstance(raised.value, InvalidInput)
    assert isinstance(raised.value, ImportError)


@pytest.mark.parametrize("package", EXTRAS)
def test_every_extra_brings_its_package(package: str) -> None:
    requirements = PROJECT["optional-dependencies"][EXTRAS[package]]
    assert any(each.startswith(f"{DISTRIBUTIONS.get(package, package)}>=") for each in requirements)
    assert importlib.import_module(package) is not None


def test_the_base_install_brings_no_optional_package() -> None:
    names = {DISTRIBUTIONS.get(package, package) for package in OPTIONAL}
    assert not [each for each in PROJECT["dependencies"] if each.split(">")[0] in names]


def test_all_means_all() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(everything.removeprefix("unweave[").removesuffix("]").split(",")) == set(extras) - {"all", "dev", "docs"}
