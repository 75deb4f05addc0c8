"""Pages of ten places as they look, at two widths, light and dark, compared with pictures that people have looked at.

``GEOVEIL_SCREENS=write scripts/test tests/report/test_screens.py`` takes the pictures anew: look at them before they
are committed. Texts depend on the fonts of a machine: pictures have none, and texts are looked for and measured.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.report.chromium import SETTLED
from tests.report.ten_places import PLACES, Place, release_at

pytestmark = pytest.mark.slow

SCREENS = Path(__file__).parent / "screens"
WRITING = os.environ.get("GEOVEIL_SCREENS") == "write"
#: The widths of windows in pixels, and by how much pictures of them are reduced.
WIDTHS = {1280: 3, 390: 2}
#: The largest share of pixels that may differ, and by how much before they count, of 255.
SHARE, APART = 0.006, 14.0
#: A text on the map that shows where it is, for each place.
NAMED = {
    "san-francisco": "San Francisco",
    "beijing": "Beijing",
    "zurich": "Zürich",
    "arizona": "Payson",
    "oslo": "Oslo",
    "nairobi": "Nairobi",
    "fiji": "Savusavu",
    "svalbard": "Longyearbyen",
    "singapore": "Singapore",
    "pacific": "Pacific Ocean",
}
NO_TEXT = ".frame text, .degrees, .source { visibility: hidden !important; }"

Picture = NDArray[np.float64]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of pages."""
    return tmp_path_factory.mktemp("pages")


def opened(browser: Browser, folder: Path, place: Place, width: int, scheme: Any) -> Page:
    """The page of a place in a window."""
    path = folder / f"{place.name}.html"
    if not path.exists():
        release_at(place).report(path, title="A map")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(path.as_uri())
    page.evaluate(SETTLED)
    return page


def picture(page: Page, reduced: int) -> Picture:
    """The map without texts, made smaller, from 0 to 255."""
    style = page.add_style_tag(content=NO_TEXT)
    image = Image.open(io.BytesIO(page.locator(".frame").screenshot())).convert("RGB")
    style.evaluate("element => element.remove()")
    return np.asarray(image.reduce(reduced), dtype=float)


def sheet(pictures: list[Picture]) -> Picture:
    """Pictures beside each other, on white."""
    high = max(len(each) for each in pictures)
    padded = [np.pad(each, ((0, high - len(each)), (0, 0), (0, 0)), constant_values=255) for each in pictures]
    return np.concatenate(padded, axis=1)


def differing(one: Picture, other: Picture) -> float:
    """The share of pixels that differ by more than rounding, compression and other edges of lines do."""
    assert one.shape == other.shape
    blurred = [(each[:-1, :-1] + each[1:, :-1] + each[:-1, 1:] + each[1:, 1:]) / 4 for each in (one, other)]
    return float((np.abs(blurred[0] - blurred[1]).mean(axis=2) > APART).mean())


def reference(place: Place) -> Picture:
    """The picture that people have looked at."""
    return np.asarray(Image.open(SCREENS / f"{place.name}.webp").convert("RGB"), dtype=float)


#: Texts on the map that are shown: what they say and their boxes.
TEXTS = """() => [...document.querySelectorAll(".frame > svg .name:not(.off) text, .degrees span")].map((text) => {
  const box = text.getBoundingClientRect();
  return [text.textContent, box.left, box.top, box.right, box.bottom];
})"""


def covered(texts: list[Any]) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other by more than a pixel."""
    return [
        (one[0], other[0])
        for i, one in enumerate(texts)
        for other in texts[:i]
        if min(one[3], other[3]) - max(one[1], other[1]) > 1 and min(one[4], other[4]) - max(one[2], other[2]) > 1
    ]


#: The boxes of the frame of the map, of the credit, and of what lies in the corners of the frame.
PARTS = """() => [".frame", ".source", ".locator", ".buttons", ".scale"].map((part) => {
  const box = document.querySelector(part).getBoundingClientRect();
  return [part, box.left, box.top, box.right, box.bottom];
})"""


def assert_whole(page: Page, texts: list[Any]) -> None:
    """A latitude and a longitude are written inside the frame; the credit and the corners cover nothing."""
    frame, *parts = page.evaluate(PARTS)
    degrees = [text for text in texts if "°" in text[0]]
    assert {"N", "S"} & {text[0][-1] for text in degrees}
    assert {"E", "W", "°"} & {text[0][-1] for text in degrees}
    # On a phone the small map is below the map.
    outside = [part for part in parts if part[0] == ".locator" and part[2] >= frame[4]]
    for _, left, top, right, bottom in [*degrees, *(part for part in parts[1:] if part not in outside)]:
        assert frame[1] <= left
        assert right <= frame[3] + 1
        assert frame[2] <= top
        assert bottom <= frame[4] + 1
    assert parts[0][2] >= frame[4] - 1  # the credit is below the map
    assert covered([*parts, *degrees]) == []


@pytest.mark.parametrize(
    "place",
    [*PLACES[:1], *(pytest.param(place, marks=pytest.mark.deep) for place in PLACES[1:])],
    ids=lambda place: place.name,
)
def test_pages_are_unchanged(browser: Browser, pages: Path, place: Place) -> None:
    """Pages look as they did.

    At both widths, light and dark, the map is the one that people saw; a name tells the place; no texts overlap.
    """
    found = []
    for width, reduced in WIDTHS.items():
        for scheme in ("light", "dark"):
            page = opened(browser, pages, place, width, scheme)
            found.append(picture(page, reduced))
            texts = page.evaluate(TEXTS)
            assert covered(texts) == []
            assert any(NAMED[place.name] in text for text, *_ in texts)
            assert_whole(page, texts)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.close()
    whole = sheet(found)
    if WRITING:
        path = SCREENS / f"{place.name}.webp"
        for quality in (90, 85, 80, 75):
            Image.fromarray(whole.round().astype(np.uint8)).save(path, quality=quality, method=6)
            if path.stat().st_size <= 30_000:
                break
    assert differing(whole, reference(place)) < SHARE


@pytest.mark.deep
def test_missing_layers_are_noticed(browser: Browser, pages: Path) -> None:
    """Without any one of its layers, or the small map, a map looks different; and so it does in the dark."""
    place = PLACES[0]
    page = opened(browser, pages, place, 1280, "light")
    whole = reference(place)
    now = picture(page, WIDTHS[1280])
    before = whole[: len(now), : now.shape[1]]
    assert differing(now, before) < SHARE
    parts = page.locator(".frame > svg > g.layer, .frame .locator")
    assert parts.count() >= 4
    for i in range(parts.count()):
        part = parts.nth(i)
        part.evaluate("element => element.style.display = 'none'")
        missed = differing(picture(page, WIDTHS[1280]), now)
        assert missed > SHARE / 20, part.evaluate("element => element.outerHTML")[:80]  # coasts are thin and pale
        part.evaluate("element => element.style.display = ''")
    page.close()
    dark = opened(browser, pages, place, 1280, "dark")
    assert differing(picture(dark, WIDTHS[1280]), before) > 0.5
    dark.close()
