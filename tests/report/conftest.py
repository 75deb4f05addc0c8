"""One Chromium for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.report.chromium import ARGUMENTS, CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window; tests skip where there is none."""
    if CHROMIUM is None:
        pytest.skip("no Chromium was found: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()
