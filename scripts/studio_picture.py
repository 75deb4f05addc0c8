"""Take docs/studio.png: the third step of the studio, with the made-up city.

``python scripts/studio_picture.py`` starts a studio, drives Chromium to its third step and takes the picture. It needs
the extra ``studio``, Pillow, playwright, and a Chromium that GEOVEIL_CHROMIUM names (/usr/bin/chromium by default).
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURE = Path(__file__).parent.parent / "docs" / "studio.png"
#: The number of colours of the picture.
COLOURS = 96


def decide(page: Page) -> None:
    """Go to the third step with the made-up city, and draw a circle of the hidden distance."""
    page.get_by_text("Or try it on a made-up city").click()
    page.wait_for_selector("select[name=persons]")
    page.select_option("select[name=persons]", "=taxi")
    page.check("input[name=pseudonyms][value=yes]")
    page.fill("input[name=area]", "San Francisco")
    page.click("button[value=next]")
    page.check("input[name=unit][value='1 day']")
    page.fill("input[name=planned]", "4")
    page.click("button[value=next]")
    page.get_by_text("medium: 500 m").click()
    page.wait_for_selector("#curve")
    page.click("[data-middle]")
    page.wait_for_selector(".hidden-distance")
    page.wait_for_load_state("networkidle")


def main() -> None:
    """Start a studio, and take the picture."""
    line = [sys.executable, "-m", "geoveil", "studio", "--no-browser"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as studio, sync_playwright() as playwright:
        assert studio.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\S+", studio.stdout.readline())
        assert found is not None
        chromium = os.environ.get("GEOVEIL_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        try:
            page.goto(found[0])
            decide(page)
            # Few colours make a small file, as pages of the documentation need.
            taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            taken.quantize(COLOURS).save(PICTURE, optimize=True)
        finally:
            browser.close()
            studio.terminate()


if __name__ == "__main__":
    main()
