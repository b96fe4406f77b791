"""What pages name in backticks, and where it is in the package: modules, functions, classes and their members."""

import ast
import re
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
PAGES = Path(__file__).parents[1]
# `learn/quadratic/problem.py`, `oracles/` or `references.py`.
NAMED_PATH = re.compile(r"(?:[a-z_]\w*/)*[a-z_]\w*\.py|(?:[a-z_]\w*/)+")
# `unweave.numerics.matrix_subspace.MatrixSubspace`.
DOTTED = re.compile(r"unweave(?:\.\w+)+")


def named_module(text: str) -> str | None:
    """Give the dotted name of the module that a path below the package names, or None."""
    if not NAMED_PATH.fullmatch(text):
        return None
    path = SOURCE / "unweave" / text
    if path.is_dir() and (path / "__init__.py").exists():
        return "unweave." + text.strip("/").replace("/", ".")
    return "unweave." + text[:-3].replace("/", ".") if path.is_file() else None


@cache
def public_names() -> dict[str, str]:
    """Give the public classes and functions whose names are no usual words, each with its dotted name."""
    listed = {}
    for module in ("unweave", "unweave.learn"):
        tree = ast.parse(file_of(module).read_text(encoding="utf-8"))
        targets = (node for node in tree.body if isinstance(node, ast.Assign) and _defined(node) == {"__all__"})
        for name in (name for node in targets for name in ast.literal_eval(node.value)):
            listed[name] = f"{module}.{name}"
    return {name: dotted for name, dotted in listed.items() if re.search("[A-Z_]", name)}


def split_name(dotted: str) -> tuple[str, list[str]]:
    """Split a dotted name into the module that it begins with, and the names inside of that."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        base = SOURCE.joinpath(*parts[:count])
        if base.with_suffix(".py").is_file() or (base / "__init__.py").is_file():
            return ".".join(parts[:count]), parts[count:]
    return "", parts


def file_of(module: str) -> Path:
    """Give the file of a module."""
    base = SOURCE.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


@cache
def names_in(module: str) -> frozenset[str]:
    """Give all names that a module defines, and those of the members of its classes with a dot."""
    found: set[str] = set()
    for node in ast.parse(file_of(module).read_text(encoding="utf-8")).body:
        found |= _defined(node)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for member in node.body for name in _defined(member)}
    return frozenset(found)


def _defined(node: ast.stmt) -> set[str]:
    """Names that one statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    return {target.id for target in targets if isinstance(target, ast.Name)}


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module of the package, or something that is defined in one."""
    if dotted in public_names().values():
        return True
    module, inside = split_name(dotted)
    return bool(module) and (not inside or ".".join(inside) in names_in(module))


def shown_path(module: str) -> str:
    """Give the path of a module as pages name it: below the package, folders with a slash at the end."""
    path = file_of(module).relative_to(SOURCE / "unweave")
    return f"{path.parent}/" if path.name == "__init__.py" else str(path)


def modules_in(folder: str) -> list[str]:
    """Give the modules of a folder; none of a module."""
    path = file_of(folder)
    if path.name != "__init__.py":
        return []
    return [f"{folder}.{each.stem}" for each in sorted(path.parent.glob("*.py")) if each != path]


@cache
def modules_with_pages() -> tuple[str, ...]:
    """Give the modules that pages name, by a path or by what is defined in them: each gets a page with its code."""
    found = set()
    for page in sorted(PAGES.rglob("*.md")):
        for text in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")):
            if module := named_module(text):
                found |= {module, *modules_in(module)}
            elif DOTTED.fullmatch(text):
                found.add(split_name(text)[0])
    return tuple(sorted(found - {"", "unweave", "unweave.learn"}))
