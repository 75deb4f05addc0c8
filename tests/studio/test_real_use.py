"""The studio for everybody: by keyboard alone, with a screen reader, on a phone, by dark; and its end."""

from __future__ import annotations

import functools
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from geoveil.studio.server import Studio
from tests.studio.driving import Visitor, asked
from tests.studio.test_browser_studio import decided
from tests.systems import POSIX

pytestmark = [
    pytest.mark.slow,
    pytest.mark.deep,
]

Visit = Callable[..., Visitor]
STEPS = ("data", "protection", "budget", "question", "release", "account")
PICTURES = Path(__file__).parent / "pictures"


@functools.cache
def axe() -> str:
    """The script of axe-core, which npm fetches into a folder of this run."""
    if shutil.which("npm") is None:
        pytest.skip("npm was not found, which fetches axe-core")
    folder = tempfile.mkdtemp(prefix="geoveil-axe-")
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, "axe-core@4"], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"npm could not fetch axe-core: {done.stderr.strip()[-200:]}")
    found = (Path(folder) / "node_modules" / "axe-core" / "axe.min.js").read_text()
    shutil.rmtree(folder)
    return found


def walked(studio: Studio, visitor: Visitor) -> None:
    """Make the release that is decided, and wait for it."""
    visitor.page.goto(studio.address + "release")
    visitor.release()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme: str, studio: Studio, visit: Visit, trips: Path, tmp_path: Path) -> None:
    """No page of the studio has a fault that axe-core knows, empty or filled, by light or by dark."""
    script = axe()
    visitor = visit(color_scheme=scheme, bypass_csp=True)
    page = visitor.page
    found: dict[str, list[str]] = {}

    def looked(name: str) -> None:
        page.evaluate(script)
        told = page.evaluate("axe.run({resultTypes: ['violations']})")
        faults = [f"{each['id']}: {each['nodes'][0]['html']}" for each in told["violations"]]
        if faults:
            found[name] = faults

    for step in STEPS:
        page.goto(studio.address + step)
        looked(f"{step}, empty")
    decided(studio, trips, ledger=str(tmp_path / "budget.db"))
    for step in STEPS:
        page.goto(studio.address + step)
        visitor.at_rest()
        looked(step)
    page.goto(studio.address + "account")
    page.locator("form:has(button[value=create]) input[name=times]").fill("3")
    visitor.press("Open the accounts")
    page.get_by_role("button", name="History of u0").click()
    page.wait_for_selector("#history")
    looked("history")
    walked(studio, visitor)
    looked("released")
    assert not found, json.dumps(found, indent=2)


def test_by_keyboard_alone(visit: Visit, trips: Path) -> None:
    """The whole way can be gone with Tab, arrows, space and Enter, and what has the focus can be seen."""
    visitor = visit()
    page = visitor.page

    def to(selector: str) -> None:
        """Press Tab until an element has the focus."""
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"{selector} cannot be reached by keyboard")

    def enter() -> None:
        with page.expect_navigation():
            page.keyboard.press("Enter")
        visitor.at_rest()

    to("#chosen")
    seen = "() => getComputedStyle(document.querySelector('label[for=chosen]')).outlineStyle"
    assert page.evaluate(seen) == "solid"
    page.locator("#chosen").set_input_files(trips)
    page.wait_for_selector(".frame > svg")
    visitor.at_rest()
    to("select[name=persons]")
    page.keyboard.type("Each user")
    to("input[name=pseudonyms]")
    page.keyboard.press("Space")
    to("input[name=area]")
    page.keyboard.type("San Francisco")
    to("button[value=next]")
    enter()
    to("input[name=unit]")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    to("input[name=planned]")
    page.keyboard.type("2")
    to("button[value=next]")
    enter()
    to("[data-middle]")
    enter()
    assert page.locator(".hidden-distance").count() == 1
    to("#range")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("#curve")
    assert float(page.locator(".hidden-distance").get_attribute("r") or 0) == 150
    to("button[value=next]")
    enter()
    to("input[name=question]")
    with page.expect_navigation():
        page.keyboard.press("Space")
    to("#options ~ .go button[value=next]")
    enter()
    to("input[name=looked]")
    page.keyboard.press("Space")
    to("button[value=release]")
    enter()
    page.wait_for_selector("#released")
    to(".files a")
    to("[data-copy]")
    assert visitor.complaints == []


def test_page_fits_a_phone(studio: Studio, visit: Visit, trips: Path) -> None:
    """At a width of 390 pixels nothing sticks out of any page, and no text is smaller than 12 pixels."""
    decided(studio, trips)
    visitor = visit(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page = visitor.page
    walked(studio, visitor)
    for step in ("release", *STEPS[:4], "account"):
        page.goto(studio.address + step)
        visitor.at_rest()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, step
        smallest = page.evaluate(
            """() => {
              const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), sizes = [];
              while (walk.nextNode()) {
                const parent = walk.currentNode.parentElement;
                if (!walk.currentNode.data.trim() || parent.closest("script, svg")) continue;
                sizes.push(parseFloat(getComputedStyle(parent).fontSize));
              }
              return Math.min(...sizes);
            }"""
        )
        assert smallest >= 12, step


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("step", ["data", "protection", "question"])
def test_pages_are_unchanged(step: str, width: int, scheme: str, visit: Visit) -> None:
    """Pages look like the pictures that are kept: blocks of 16 pixels differ little, whatever the fonts.

    GEOVEIL_PICTURES=keep keeps new ones.
    """
    from matplotlib.image import imread, imsave

    visitor = visit(step, viewport={"width": width, "height": 900}, color_scheme=scheme)
    picture: NDArray[np.float64] = np.asarray(imread(io.BytesIO(visitor.page.screenshot())))[..., :3].mean(axis=2)
    high, wide = (length // 16 for length in picture.shape)
    blocks = picture[: 16 * high, : 16 * wide].reshape(high, 16, wide, 16).mean(axis=(1, 3))
    path = PICTURES / f"{step}-{width}-{scheme}.png"
    if os.environ.get("GEOVEIL_PICTURES") == "keep":
        PICTURES.mkdir(exist_ok=True)
        imsave(path, blocks, cmap="gray", vmin=0, vmax=1)
    kept = np.asarray(imread(path))[..., 0]
    assert np.abs(blocks - kept).mean() < 0.03
    # A page of the other scheme would not pass.
    assert np.abs(1 - blocks - kept).mean() > 0.3


@contextmanager
def started(file: Path, temporary: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the studio as a program, whose private folder is in a temporary one; yield it and its address."""
    environment = {**os.environ, "TMPDIR": str(temporary), "GEOVEIL_RECORD": "off"}
    line = [sys.executable, "-m", "geoveil", "studio", str(file), "--no-browser"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\S+", process.stdout.readline())
        assert found is not None
        yield process, found[0]


@POSIX
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_folder_is_removed(number: int, code: int, trips: Path, tmp_path: Path) -> None:
    """After Ctrl-C and after SIGTERM the private folder with what was dropped is gone; a file that was named stays."""
    with started(trips, tmp_path) as (process, address):
        own = {"Origin": address.rsplit("/", 2)[0]}
        assert asked(address, "upload?as=data&name=more.csv", form={"a": "1"}, headers=own).status == 200
        assert [path.name for path in tmp_path.glob(".geoveil-*/*/*")] == ["more.csv"]
        process.send_signal(number)
        assert process.wait(60) == code
    assert [*tmp_path.glob(".geoveil-*")] == []
    assert trips.exists()


@POSIX
def test_end_has_no_traceback(trips: Path, tmp_path: Path) -> None:
    """Ctrl-C just after the first page, while later pages are prepared, prints that the studio has ended."""
    with started(trips, tmp_path) as (process, address):
        assert asked(address, "data").status == 200
        process.send_signal(signal.SIGINT)
        told, complaints = process.communicate(timeout=60)
    assert "The studio has ended" in told + complaints
    assert "Traceback" not in told + complaints
