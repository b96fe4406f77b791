"""The tree is the data flow: what may import what, read from the source, not from running it."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import unweave

SOURCE = Path(unweave.__file__).parent

# A module may import from its own group and from those above it.
ORDER = [
    {"exceptions", "outcomes", "arrays", "activations", "threshold_units"},
    {"_kernels"},
    {"networks", "symmetries", "parameters", "entangled", "entangled_metrics"},
    {"oracles"},
    {"measurements"},
    {"decompositions"},
    {"assembly"},
    {"refinement"},
    {"certificates", "deep_curvature"},
    {"diagnostics"},
    {"training", "hierarchical"},
    {"identification", "learn", "correction"},
    {"reports", "pictures"},
    {"planted"},
    {"cli", "reproduce"},
]
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def stage_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def imports_of(source: str) -> set[str]:
    """Full names of all imported modules, late ones and those for type checkers included."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            # The last part may be a module or a name in one; either way the stage is in front of it.
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def stages_imported_by(module: Path) -> set[str]:
    parts = [name.split(".") for name in imports_of((SOURCE / module).read_text())]
    return {part[1] for part in parts if part[0] == "unweave" and len(part) > 1}


def level_of(stage: str) -> int:
    return next(level for level, group in enumerate(ORDER) if stage in group)


def stages() -> set[str]:
    return {stage_of(module) for module in MODULES} - {"__init__", "__main__"}


def test_every_module_has_its_place() -> None:
    assert stages() <= set().union(*ORDER)


@pytest.mark.parametrize("module", [m for m in MODULES if m.name != "__init__.py" or len(m.parts) > 1], ids=str)
def test_a_stage_imports_only_from_earlier_stages(module: Path) -> None:
    level = level_of(stage_of(module))
    later = {stage for stage in stages_imported_by(module) & stages() if level_of(stage) > level}
    assert not later


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_only_the_kernels_import_jax(module: Path) -> None:
    roots = {name.split(".")[0] for name in imports_of((SOURCE / module).read_text())}
    assert stage_of(module) == "_kernels" or not roots & {"jax", "jaxlib", "optax"}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_no_stage_knows_planted_networks(module: Path) -> None:
    assert stage_of(module) in {"cli", "reproduce", "planted"} or "planted" not in stages_imported_by(module)


def test_imports_are_found_wherever_they_stand() -> None:
    source = "import a.b\nfrom c import d\ndef f():\n    from unweave.cli import run\n"
    assert imports_of(source) == {"a.b", "c.d", "unweave.cli.run"}


@pytest.mark.parametrize("name", unweave.__all__)
def test_public_names_can_be_imported(name: str) -> None:
    assert getattr(unweave, name) is not None
    assert name in dir(unweave)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="No unweave attribute no_such_name"):
        _ = unweave.no_such_name  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", [m for m in MODULES if m.name not in {"__init__.py", "__main__.py"}], ids=str)
def test_every_module_can_be_imported(module: Path) -> None:
    importlib.import_module(".".join(["unweave", *module.with_suffix("").parts]))


@pytest.mark.parametrize("module", ["unweave", "unweave.cli"])
def test_the_door_opens_without_the_numerics(module: str) -> None:
    code = f"import sys, {module}; print(sorted({{'numpy', 'scipy', 'jax'}} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
