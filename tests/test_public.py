"""What users import: two lists of names, which change on purpose only, with types that checkers understand."""

import ast
import inspect
import json
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cached_property
from pathlib import Path

import pytest

import unweave
import unweave.learn

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
DOCS = [path for ending in ("*.md", "*.ipynb") for path in sorted((ROOT / "docs").rglob(ending))]
PAGES = [ROOT / "README.md", *DOCS, *sorted((ROOT / "examples").glob("*.py"))]

NAMES = """
    Activation ArraySource ArrowSource Audit BadAnswer Box BudgetExhausted CallableOracle Certificate ChunkSource
    CosineSchedule Cost CsvSource DaskCluster Diagnostic Everywhere Exposure FeatureCorrection FrameSource HttpOracle
    InputRanges InputWarning InvalidInput Journal Layer LinearSchedule Match MeasurementProgress MissingExtra Network
    NotIdentified NotWritten NpySource Oracle OracleError OracleFailed Outcome ParquetSource QuadraticDenseNet Recipe
    Result SavedRun Transport TransportFailed UnreadableFile UnweaveError Verdict activation_named audit canonical
    identify identify_lowest_layer match measure_feature_correction read_run write_run
"""
ESTIMATORS = """
    ConjugateGradients DirectTraining GradientDescent GramLevenbergMarquardt HalfspaceIntersectionClassifier
    HalfspaceUnionClassifier HierarchicalClassifier HierarchicalRegressor JointLevenbergMarquardt
    LowestLayerRegressor OverparameterizedRegressor QuadraticNetworkRegressor ReluNetworkRegressor SteepestDescent
    ThresholdLayer TrustRegion
"""
# Modules that pages about the insides of a method, or about published experiments, import from.
ADVANCED = {
    "feature-correction-figures.md": {
        "unweave.explore.feature_correction.image_data",
        "unweave.reproduce.allenzhu.images.configurations",
        "unweave.reproduce.allenzhu.images.figures",
        "unweave.reproduce.allenzhu.images.pictures",
    },
    "hermite-moments.md": {
        "unweave.learn.relu_network.directions",
        "unweave.learn.relu_network.starts",
        "unweave.samples.hermite.inputs",
        "unweave.samples.sums",
    },
    "overparameterized-training.md": {
        "unweave.activations",
        "unweave.explore.landscape.experiment",
        "unweave.explore.landscape.sweeps",
        "unweave.reports.pictures.landscape",
    },
    "theorist.ipynb": {
        "unweave.learn.quadratic.optimality",
        "unweave.learn.quadratic.problem",
        "unweave.learn.quadratic.saddles",
        "unweave.learn.quadratic.train",
    },
}
# What the docstring of a public name, and of whatever it has that is public, begins with.
VERBS = """
    Add Allow Answer Ask Begin Bring Compare Compute Count Cut Describe Draw Find Give Hold Learn Limit List Look
    Make Measure Move Name Read Recover Remember Report Return Say Shrink State Take Tell Train Warn Write Yield
"""
IMPORT = re.compile(r"^ *((?:from +unweave[\w.]* +import|import +unweave)\b.*)$", re.MULTILINE)

SCRIPT = """
import numpy as np

import unweave
from unweave.learn import QuadraticNetworkRegressor, ReluNetworkRegressor


def black_box(points: np.ndarray) -> np.ndarray:
    answers: np.ndarray = np.tanh(points)
    return answers


def largest_weight() -> float:
    try:
        found = unweave.identify(black_box, inputs=3, domain=unweave.Box(-1.0, 1.0), budget=5_000)
    except unweave.InvalidInput as error:
        raise SystemExit(str(error)) from error
    text: str = found.report()
    print(found.outcome is unweave.Outcome.IDENTIFIED, text, found.queries + 1)
    if found.network is None or found.certificate is None:
        return 0.0
    answers: np.ndarray = found.network(np.zeros((2, 3)))
    found.network.save("copy.safetensors")
    return float(np.max(np.abs(found.network.layers[0].weights))) + float(answers[0, 0])


relu: ReluNetworkRegressor = ReluNetworkRegressor(neurons=2).fit(np.zeros((5, 3)), np.zeros(5))
outcome: unweave.Outcome = relu.outcome_
squares: QuadraticNetworkRegressor = QuadraticNetworkRegressor().fit(np.zeros((5, 3)), np.zeros(5))
print(largest_weight(), outcome.value, squares.predict(np.zeros((5, 3))).shape)
"""
# Lines that must be refused, so that a checker which sees `Any` everywhere is noticed.
WRONG = (
    "budget: str = unweave.identify(black_box, inputs=3).queries",
    'unweave.identify(black_box, inputs="three")',
    "unweave.identify(black_box, inputs=3).network(np.zeros((2, 3)))",
    "unweave.no_such_name",
    "QuadraticNetworkRegressor(no_such_setting=1)",
)


def python_of(page: Path) -> str:
    """The imports of a page; of a program all of it."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return text if page.suffix == ".py" else "\n".join(IMPORT.findall(text))


def hidden_imports(source: str) -> set[str]:
    """Modules of the package, and names of its doors, that are not public."""
    doors = {"unweave": set(unweave.__all__) | {"learn"}, "unweave.learn": set(unweave.learn.__all__)}
    hidden = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = {alias.name for alias in node.names if alias.name.split(".")[0] == "unweave"}
            hidden |= modules - doors.keys()
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "unweave":
            if node.module not in doors:
                hidden.add(node.module)
            else:
                names = {alias.name for alias in node.names} - doors[node.module]
                hidden |= {f"{node.module}.{name}" for name in names}
    return hidden


def test_public_names_are_these() -> None:
    assert sorted(unweave.__all__) == NAMES.split()
    assert sorted(unweave.learn.__all__) == ESTIMATORS.split()


@pytest.mark.parametrize("name", unweave.learn.__all__)
def test_estimators_can_be_imported(name: str) -> None:
    assert getattr(unweave.learn, name).__name__ == name
    assert name in dir(unweave.learn)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_public_names_only(page: Path) -> None:
    assert hidden_imports(python_of(page)) == ADVANCED.get(page.name, set())


def test_hidden_imports_are_noticed() -> None:
    source = "import unweave.result, numpy\nfrom unweave import identify, Known\nfrom unweave.learn.base import seed_of"
    assert hidden_imports(source) == {"unweave.result", "unweave.Known", "unweave.learn.base"}


def public_docstrings() -> dict[str, str]:
    """Docstrings of public names, and of public methods and properties that their classes have from this package."""
    found = {}
    for module in (unweave, unweave.learn):
        for name in module.__all__:
            public = getattr(module, name)
            found[name] = inspect.getdoc(public) or "?"
            if not inspect.isclass(public):
                continue
            for label, member in inspect.getmembers(public, lambda each: inspect.isroutine(each) or _is_property(each)):
                owner = getattr(member, "fget", None) or getattr(member, "func", None) or member
                if not label.startswith("_") and (getattr(owner, "__module__", None) or "").startswith("unweave"):
                    found[f"{name}.{label}"] = inspect.getdoc(member) or "?"
    return found


def _is_property(member: object) -> bool:
    return isinstance(member, property | cached_property)


def test_docstrings_of_public_names_begin_with_a_verb() -> None:
    first = {name: text.split()[0] for name, text in public_docstrings().items()}
    members = {"Network", "Network.save", "Network.widths", "BadAnswer", "Outcome", "ReluNetworkRegressor.predict"}
    assert {"identify", *members} <= first.keys()
    assert {name: word for name, word in first.items() if word not in VERBS.split()} == {}


def test_classes_that_public_docstrings_name_are_public() -> None:
    public = {*unweave.__all__, *unweave.learn.__all__}
    named = {
        (name, word)
        for name, text in public_docstrings().items()
        for word in re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)+)\b[^`]*`", text)
    }
    assert {("QuadraticNetworkRegressor", "TrustRegion"), ("OverparameterizedRegressor", "GradientDescent")} <= named
    assert {(name, word) for name, word in named if word not in public} == set()


def type_errors(checker: list[str], script: str, folder: Path) -> str:
    """What a type checker has against a user's script; empty if nothing."""
    (folder / "script.py").write_text(script)
    command = [sys.executable, "-m", *checker, "script.py"]
    environment = {"MYPYPATH": str(SOURCE), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_script_of_a_user_type_checks(checker: str, tmp_path: Path) -> None:
    if checker == "mypy":
        command = ["mypy", "--strict", "--follow-imports=silent", f"--cache-dir={tmp_path / 'cache'}"]
    else:
        (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{SOURCE}"], "typeCheckingMode": "standard"}}')
        command = ["pyright", "--pythonpath", sys.executable]
    assert type_errors(command, SCRIPT, tmp_path) == ""
    lines = len(SCRIPT.splitlines())
    errors = type_errors(command, SCRIPT + "\n".join(WRONG), tmp_path)
    assert {number for number in range(lines - 2, lines + 9) if f"script.py:{number}:" in errors} == {
        lines + 1 + index for index in range(len(WRONG))
    }, errors


@pytest.mark.slow
def test_the_wheel_holds_every_package_and_its_types(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    shutil.copytree(SOURCE, project / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, project)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(project)]
    subprocess.run(command, check=True, timeout=300)
    (wheel,) = tmp_path.glob("unweave-*.whl")
    shipped = set(zipfile.ZipFile(wheel).namelist())
    written = {str(path.relative_to(SOURCE)) for path in (SOURCE / "unweave").rglob("*.py")}
    assert {name for name in shipped if name.endswith(".py")} == written
    assert {"unweave/py.typed", "unweave/reports/html/report.css", "unweave/reports/html/report.js"} <= shipped
