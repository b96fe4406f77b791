"""What a release says about itself is the same everywhere."""

import re
import tomllib
from pathlib import Path

import unweave

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def cited_release(citation: str) -> tuple[str, str]:
    """Version and date in a CITATION.cff."""
    version = re.search(r"^version: (\S+)$", citation, flags=re.MULTILINE)
    date = re.search(r'^date-released: "(\S+)"$', citation, flags=re.MULTILINE)
    assert version is not None
    assert date is not None
    return version[1], date[1]


def newest_release(changelog: str) -> tuple[str, str]:
    """Version and date of the first release in a changelog; what is not released yet may stand above it."""
    found = re.search(r"^## \[(\d[^\]]*)\] - (\d{4}-\d\d-\d\d)$", changelog, flags=re.MULTILINE)
    assert found is not None
    return found[1], found[2]


def test_version_and_date_are_the_same_everywhere() -> None:
    cited = cited_release(text_of("CITATION.cff"))
    assert cited == newest_release(text_of("CHANGELOG.md"))
    assert cited[0] == unweave.__version__


def test_the_newest_release_stands_first() -> None:
    changelog = "## [Unreleased]\n\n## [1.2.0] - 2030-01-02\n\n## [1.1.0] - 2029-01-01\n"
    assert newest_release(changelog) == ("1.2.0", "2030-01-02")


def test_what_the_sdist_includes_exists() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [name for name in included if not (ROOT / name).exists()] == []


def test_all_supported_pythons_are_named_on_the_page_of_platforms() -> None:
    pythons = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"
    page = text_of("docs/platforms.md")
    assert [python for python in pythons if python not in page] == []


def test_the_nightly_run_calls_every_script_of_ci() -> None:
    nightly = text_of(".ci/full")
    scripts = {path.name for path in (ROOT / ".ci").iterdir() if path.is_file() and not path.suffix}
    # `run` comes before it.
    assert {name for name in scripts - {"run", "full"} if f".ci/{name}\n" not in nightly} == set()
