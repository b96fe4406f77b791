"""Listing the tests loads no package that only running them needs: whoever runs one test waits for the list of all."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from late import LateModule

TESTS = Path(__file__).parent
# What takes long to import, or is optional; parts of SciPy are loaded when first used.
HEAVY = (
    *("torch", "jax", "jaxlib", "optax", "sklearn", "matplotlib", "PIL", "pandas", "polars", "pyarrow"),
    *("onnx", "onnxruntime", "skl2onnx", "distributed", "beartype", "html5lib", "jsonschema"),
    *("scipy.stats", "scipy.optimize", "scipy.integrate", "scipy.spatial"),
)
# Texts in which none of them stands at the beginning of a line need not be parsed.
NAMES = re.compile(r"^(?:import|from) (?:scipy|" + "|".join(HEAVY) + r")\b", flags=re.MULTILINE)
LIST = f"""
import json, sys
import pytest
code = pytest.main(["--collect-only", "-q", "-q", "-n", "0", "-p", "no:cacheprovider"])
print(json.dumps([code, sorted(set({HEAVY}) & set(sys.modules))]))
"""


def imported_at_the_top(source: str) -> set[str]:
    """Heavy packages that a file imports when it is listed."""
    if not NAMES.search(source):
        return set()
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {each for each in HEAVY if any(f"{name}.".startswith(f"{each}.") for name in names)}


def test_no_test_imports_a_heavy_package_at_its_top() -> None:
    found = {path.name: imported_at_the_top(path.read_text(encoding="utf-8")) for path in TESTS.rglob("test_*.py")}
    assert not {name: packages for name, packages in found.items() if packages}


@pytest.mark.parametrize(
    ("source", "packages"),
    [
        ("import torch\n", {"torch"}),
        ("from sklearn.base import clone\n", {"sklearn"}),
        ("import scipy\nfrom scipy import special, stats\n", {"scipy.stats"}),
        ("import scipy.optimize\n", {"scipy.optimize"}),
        ("def test() -> None:\n    import torch\n", set()),
        ('CODE = """\nimport torch\n"""\n', set()),
        ("from jaxtyping import Float64\n", set()),
    ],
)
def test_imports_at_the_top_are_noticed(source: str, packages: set[str]) -> None:
    assert imported_at_the_top(source) == packages


@pytest.mark.slow
def test_listing_loads_nothing_heavy() -> None:
    """Neither a test nor what it imports does."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "UNWEAVE_"))}
    done = subprocess.run(
        [sys.executable, "-c", LIST], cwd=TESTS.parent, env=plain, capture_output=True, text=True, timeout=300
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []], done.stdout[-1000:] + done.stderr


def test_a_late_module_is_loaded_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("colorsys", "xml.dom.pulldom"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    colours, documents = LateModule("colorsys"), LateModule("xml.dom")
    for sought_by_pytest in ("__wrapped__", "__test__", "_mock_name"):
        assert not hasattr(colours, sought_by_pytest)
    assert "colorsys" not in sys.modules
    assert colours.rgb_to_hls(0.0, 0.0, 0.0) == (0.0, 0.0, 0.0)
    assert documents.pulldom.PullDOM is sys.modules["xml.dom.pulldom"].PullDOM


def test_a_late_module_can_not_be_changed_by_mistake() -> None:
    with pytest.raises(AttributeError):
        LateModule("colorsys").rgb_to_hls = None
