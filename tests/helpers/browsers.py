"""Chromium and the validator of HTML: what tests of reports need, and what happens where they are missing."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# What keeps the browser from asking the network for anything of its own.
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def give_up(reason: str) -> None:
    """Skip a test, or fail it where `.ci/run` has said that everything is installed."""
    if os.environ.get("UNWEAVE_NEEDS_BROWSER"):
        pytest.fail(f"{reason}, but UNWEAVE_NEEDS_BROWSER is set")
    pytest.skip(reason)


def need_program(*names: str) -> str:
    """Give the path of the first program that is installed."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        give_up(f"there is no {' or '.join(names)} on this machine")
    return str(found)


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Start Chromium, or skip the test."""
    program = need_program(*NAMES)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        give_up("Playwright is not installed")
        raise
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
