"""The rule of the tree, read from the source: a module lives with its only user, shared ones lie below.

A user is a method folder (`identification/kinks`, `learn/quadratic`, ...), a door or a command. Oracles, sources of
samples, networks, certificates and reports are shared by nature; `reproduce/` imports everything and is imported by
commands only.
"""

import ast
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import unweave

SOURCE = Path(unweave.__file__).parent

# A module may import from its own group and from those before it.
ORDER = (
    {"exceptions", "extras", "arrays", "activations", "writing", "folders", "seals", "jobs"},
    {"_kernels"},
    {"networks", "numerics", "oracles", "result", "samples"},
    {"certificates"},
    {"identification", "learn", "explore"},
    {"exposure"},
    {"reports"},
    {"reproduce"},
    {"cli"},
)
# The one import upwards: `found.report()` and `repr(found)` put a result into words. Users look for these on the
# result, and reports need to know networks, which lie beside it; so it is imported when it is called.
UPWARDS = {("result", "reports.text"), ("result", "reports.html.results")}
# Folders that hold methods, one folder each.
METHODS = ("identification", "learn", "explore", "reproduce")
# Where a module needs two users: the shared floor, and what lies beside the methods.
SHARED = ("numerics", "samples.hermite", "identification", "learn", "explore")
# Modules beside the methods that are doors or parts of one, and the door: together they are one user.
DOORS = {
    "identification.identifier": "identification",
    "identification.examination": "identification",
}
# Shared folders that a method imports from its neighbours' parent.
COMMON_FOLDERS = {"identification.walks", "samples.hermite"}

# Networks and functions that commands, tests and benchmarks plant; each needs some of them.
PLANTS = ("networks.planted", "networks.quadratic.teacher")

Graph = Mapping[str, frozenset[str]]


def module_name(path: Path) -> str:
    """The dotted name below the package; the package itself is empty."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements in a module, in functions and branches, too; most nodes are expressions, which import nothing."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from statements(inner)


@dataclass(frozen=True)
class Module:
    """What the rules look at in a module; its tree is large, and would be searched for garbage if it were kept."""

    imports: frozenset[str]
    """Full names of all imported modules, late ones and those for type checkers included."""
    named: frozenset[str]
    """Names, attributes and texts in it."""
    defined: tuple[str, ...]
    """Functions and classes at its top."""


@cache
def parsed(source: str) -> Module:
    """Read a module once; several rules look at it."""
    tree = ast.parse(source)
    imports, named = set(), set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            imports |= {f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            named.add(node.id)
        elif isinstance(node, ast.Attribute):
            named.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Public names are loaded by their names.
            named.add(node.value)
    defined = tuple(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return Module(frozenset(imports), frozenset(named), defined)


def import_graph(sources: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """What each module of the package imports of the package."""

    def modules(names: frozenset[str]) -> Iterator[str]:
        for name in names:
            root, _, inside = name.partition(".")
            if root != "unweave":
                continue
            # The last part may be a module or a name in one.
            yield inside if inside in sources else inside.rpartition(".")[0]

    return {module: frozenset(modules(parsed(source).imports)) - {module} for module, source in sources.items()}


@cache
def sources() -> dict[str, str]:
    """The text of every module; read by the first test that needs it."""
    return {module_name(path): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


@cache
def package_graph() -> Graph:
    """What the modules of this package import."""
    return import_graph(sources())


PACKAGES = {module_name(path) for path in SOURCE.rglob("__init__.py")}


def method_of(module: str) -> str | None:
    """The method folder that a module lives in, if it does."""
    parts = module.split(".")
    folder = ".".join(parts[:2])
    is_method = parts[0] in METHODS and len(parts) > 2 and folder not in COMMON_FOLDERS
    return folder if is_method else None


def is_shared(module: str) -> bool:
    """Whether a module lies where two users are needed."""
    is_beside = any(module.startswith(f"{folder}.") for folder in SHARED) and method_of(module) is None
    return is_beside and module not in DOORS.keys() | PACKAGES


def users_of(module: str, graph: Graph) -> set[str]:
    """Methods, doors and commands that reach a module, through other shared modules where these come between."""
    users: set[str] = set()
    waiting, seen = [module], {module}
    while waiting:
        current = waiting.pop()
        for importer, imported in graph.items():
            if current not in imported or importer in seen:
                continue
            if is_shared(importer):
                seen.add(importer)
                waiting.append(importer)
            else:
                users.add(method_of(importer) or DOORS.get(importer, importer))
    return users


def lonely_modules(graph: Graph) -> dict[str, set[str]]:
    """Shared modules with fewer than two users in the product."""
    found = {}
    for module in graph:
        if is_shared(module):
            users = {user for user in users_of(module, graph) if not user.startswith("reproduce")}
            if len(users) < 2:
                found[module] = users
    return found


def level_of(module: str) -> int:
    root = module.split(".")[0]
    return next(level for level, group in enumerate(ORDER) if root in group)


def test_every_module_has_its_place() -> None:
    assert {module.split(".")[0] for module in package_graph() if module} <= set().union(*ORDER)


def test_modules_import_only_from_floors_below() -> None:
    upwards = {
        (module, imported)
        for module, targets in package_graph().items()
        for imported in targets
        if module and imported and level_of(imported) > level_of(module)
    }
    assert upwards == UPWARDS


def test_shared_modules_have_two_users() -> None:
    assert not lonely_modules(package_graph())


def test_a_module_with_one_user_on_the_shared_floor_is_noticed() -> None:
    graph = dict(package_graph()) | {"numerics.lonely": frozenset[str]()}
    graph["learn.quadratic.train"] = graph["learn.quadratic.train"] | {"numerics.lonely"}
    assert lonely_modules(graph) == {"numerics.lonely": {"learn.quadratic"}}


def test_two_parts_of_one_door_are_one_user() -> None:
    graph = dict(package_graph()) | {"identification.lonely": frozenset[str]()}
    for part in DOORS:
        graph[part] = graph[part] | {"identification.lonely"}
    assert lonely_modules(graph) == {"identification.lonely": {"identification"}}


def neighbours_imported(graph: Graph) -> set[tuple[str, str]]:
    """Imports from one method folder into another."""
    return {
        (module, imported)
        for module, targets in graph.items()
        for imported in targets
        if (here := method_of(module)) and (there := method_of(imported)) and here != there
        # Published work is reproduced with whatever exists.
        if not here.startswith("reproduce")
    }


def test_no_method_imports_another() -> None:
    assert not neighbours_imported(package_graph())


def test_an_import_between_methods_is_noticed() -> None:
    graph = {"identification.kinks.route": frozenset({"identification.hessians.route"})}
    assert neighbours_imported(graph) == {("identification.kinks.route", "identification.hessians.route")}


def imports_of_methods(graph: Graph, importing: Callable[[str], bool]) -> set[tuple[str, str]]:
    """Imports of a method by such modules."""
    importers = filter(importing, graph)
    return {(module, imported) for module in importers for imported in graph[module] if method_of(imported)}


def methods_imported_from_beside(graph: Graph) -> set[tuple[str, str]]:
    """Imports of a method by what several methods share, which would lead from one method to another."""
    return imports_of_methods(graph, is_shared)


def test_no_shared_module_imports_a_method() -> None:
    assert not methods_imported_from_beside(package_graph())


def test_a_way_between_methods_through_a_shared_module_is_noticed() -> None:
    graph = {"identification.reasons": frozenset({"identification.plateaus.route", "numerics.least_squares"})}
    assert methods_imported_from_beside(graph) == {("identification.reasons", "identification.plateaus.route")}


def methods_behind_their_doors(graph: Graph) -> set[tuple[str, str]]:
    """Imports of a method by what should go through a door: audits identify networks as users do."""
    return imports_of_methods(graph, lambda module: module.startswith("exposure"))


def test_audits_go_through_doors() -> None:
    assert not methods_behind_their_doors(package_graph())


def test_an_audit_that_passes_by_a_door_is_noticed() -> None:
    graph = {"exposure.entry": frozenset({"identification.identifier", "identification.poles.slabs"})}
    assert methods_behind_their_doors(graph) == {("exposure.entry", "identification.poles.slabs")}


def product_importing_reproduce(graph: Graph) -> set[str]:
    """Modules beside commands that import what reproduces published work."""
    importers = {module for module, targets in graph.items() if any(each.startswith("reproduce") for each in targets)}
    return {module for module in importers if not module.startswith(("reproduce", "cli"))}


def test_only_commands_import_reproduce() -> None:
    assert not product_importing_reproduce(package_graph())


def test_a_product_that_imports_reproduce_is_noticed() -> None:
    graph = dict.fromkeys(("learn.base", "cli.reproduce", "reproduce.registry"), frozenset({"reproduce.fiedler"}))
    assert product_importing_reproduce(graph) == {"learn.base"}


def behind_no_door(graph: Graph) -> set[str]:
    """Modules that neither public names nor commands lead to; kernels lie apart, and so do reproduced works."""
    waiting = [module for module in graph if module in ("", "learn") or module.startswith("cli")]
    reached = set(waiting)
    while waiting:
        following = {each for each in graph.get(waiting.pop(), ()) if not each.startswith("reproduce")} - reached
        reached |= following
        waiting += following
    others = graph.keys() - reached - PACKAGES
    return {module for module in others if not module.startswith(("reproduce", "_kernels"))}


def test_every_module_is_behind_a_door() -> None:
    assert not behind_no_door(package_graph())


def test_a_module_that_only_published_work_needs_is_noticed() -> None:
    graph = dict(package_graph()) | {"numerics.lost": frozenset[str](), "reproduce.last": frozenset({"numerics.lost"})}
    assert behind_no_door(graph) == {"numerics.lost"}


def unused_names(sources: Mapping[str, str]) -> set[str]:
    """Functions and classes of the product that nothing in it names; what tests and benchmarks plant is for them."""
    product = {name: parsed(text) for name, text in sources.items() if not name.startswith("reproduce")}
    named = frozenset().union(*(module.named for module in product.values()))
    defined = {
        f"{name}.{each}": each
        for name, module in product.items()
        for each in module.defined
        if not name.startswith((*PLANTS, "cli", "_kernels"))
    }
    return {path for path, name in defined.items() if name not in named}


def test_every_function_is_used() -> None:
    assert not unused_names(sources())


def test_a_function_that_nothing_uses_is_noticed() -> None:
    source = "def one():\n    pass\ndef two():\n    return one()\nclass Three:\n    pass\nvalue = [Three]\n"
    assert unused_names({"numerics.some": source, "reproduce.some": "two()"}) == {"numerics.some.two"}


def test_only_kernels_import_jax() -> None:
    importers = {
        module
        for module, source in sources().items()
        if {name.split(".")[0] for name in parsed(source).imports} & {"jax", "jaxlib", "optax"}
    }
    assert all(module.startswith("_kernels") for module in importers)


def test_no_method_knows_planted_networks() -> None:
    importers = {module for module, targets in package_graph().items() if "networks.planted" in targets}
    assert all(module.startswith(("reproduce", "cli")) for module in importers)


def folders_without_source(tests: Path) -> set[str]:
    """Folders of tests, and of pipelines among them, that mirror no folder of the package."""
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    mirrored = {Path(*folder.parts[1:]) if folder.parts[:1] == ("pipelines",) else folder for folder in folders}
    return {str(folder) for folder in mirrored if not (SOURCE / folder).is_dir()}


def test_tests_mirror_the_tree() -> None:
    assert not folders_without_source(Path(__file__).parent)


def test_a_folder_that_mirrors_nothing_is_noticed(tmp_path: Path) -> None:
    for folder in ("numerics", "pipelines/cli", "pipelines/gone", "lost"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "test_one.py").touch()
    assert folders_without_source(tmp_path) == {"gone", "lost"}


def test_imports_are_found_wherever_they_stand() -> None:
    source = "import a.b\nfrom c import d\ndef f():\n    from unweave.cli import run\n"
    assert parsed(source).imports == {"a.b", "c.d", "unweave.cli.run"}


@pytest.mark.parametrize("name", unweave.__all__)
def test_public_names_can_be_imported(name: str) -> None:
    assert getattr(unweave, name) is not None
    assert name in dir(unweave)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="No unweave attribute no_such_name"):
        _ = unweave.no_such_name  # type: ignore[attr-defined]


def test_every_module_can_be_imported() -> None:
    for module in package_graph():
        importlib.import_module(f"unweave.{module}" if module else "unweave")


@pytest.mark.parametrize("module", ["unweave", "unweave.cli"])
def test_the_door_opens_without_the_numerics(module: str) -> None:
    code = f"import sys, {module}; print(sorted({{'numpy', 'scipy', 'jax'}} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
