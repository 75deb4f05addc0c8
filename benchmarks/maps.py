"""Maps: the size of pages and the time until Chromium has drawn them; and pictures of ten places, without their names.

``python -m benchmarks.maps`` prints the table; with a folder it also writes pages, screenshots and figures of the ten
places there, under numbers, for eyes that have not seen them: which place is which is printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

import geoveil as gv
from geoveil.report import Layer, Report
from tests.report.chromium import ARGUMENTS, CHROMIUM, SETTLED
from tests.report.ten_places import PLACES, release_at

RUNS = 5


def drawn(browser: Browser, path: Path) -> float:
    """Return the median of the seconds from the request of a page until it has been drawn."""
    found = []
    for _ in range(RUNS):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        found.append(float(page.evaluate(SETTLED)) / 1000)
        page.close()
    return statistics.median(found)


def million() -> Report:
    """Return the report of 10^6 made-up released points around San Francisco."""
    rng = np.random.default_rng(1)
    centres = rng.normal([-122.43, 37.76], [0.05, 0.04], size=(40, 2))
    places = centres[rng.integers(40, size=10**6)] + rng.normal(scale=0.012, size=(10**6, 2))
    release = gv.Locations(np.zeros((9, 2))).points(rho=1e-4)
    layer = Layer("released points", places, "points", "released", radius=300.0)
    return Report("A million points", (layer,), release.facts(), release.certificate())


def row(browser: Browser, name: str, path: Path, report: Any) -> None:
    """Write a page and print its size, the seconds to write it, and those to draw it."""
    start = time.perf_counter()
    report.save(path)
    written = time.perf_counter() - start
    print(
        f"| {name} | {path.stat().st_size / 1000:,.0f} kB | {written:.1f} s | {drawn(browser, path):.2f} s |",
        flush=True,
    )


def pictures(browser: Browser, folder: Path, number: int, place: Any) -> None:
    """Write screenshots of a page at two widths, light and dark, and the figure."""
    for width in (390, 1280):
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.goto((folder / f"{number:02}.html").as_uri())
            page.evaluate(SETTLED)
            page.screenshot(path=folder / f"{number:02}-{width}-{scheme}.png")
            context.close()
    release_at(place).report(folder / f"{number:02}.png", title=f"Map {number}", width=120)


def main() -> None:
    """Measure, and draw the ten places into a folder if one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="for pages, screenshots and figures of the ten places")
    folder = parser.parse_args().folder
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        print("| map | page | written in | drawn in |\n|---|---|---|---|")
        row(browser, "10^6 points in San Francisco", Path(scratch) / "million.html", million())
        for number, place in enumerate(PLACES, 1):
            print(f"{number:02} {place.name}", file=sys.stderr)
            path = (folder or Path(scratch)) / f"{number:02}.html"
            report = release_at(place).explore(title=f"Map {number}")
            row(browser, place.name.replace("-", " "), path, report)
            if folder is not None:
                pictures(browser, folder, number, place)
        browser.close()


if __name__ == "__main__":
    main()
