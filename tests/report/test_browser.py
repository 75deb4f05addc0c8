"""The page of a report in a real browser: it loads nothing, and what it shows is where and as large as it says."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, BrowserContext, Page

import geoveil as gv
from geoveil.report import Balance, Layer, Report, Scene, compose
from geoveil.report.formatting import WARNING
from geoveil.report.palette import LIGHT
from tests.report.chromium import SETTLED

pytestmark = [pytest.mark.deep, pytest.mark.slow]

RADIUS = 468.0
CITY, OCEAN = (-122.45, 37.75), (-122.56, 37.75)
GUARANTEE = gv.CGP.hiding(distance=200, chance=0.75)
BALANCE = Balance("ann", "rho", Decimal("1e-3"), Decimal("6e-4"), Decimal("1.5e-4"))
#: Reads of the page what the map shows: metres in a pixel, the middle, and the box of the frame.
STATE = """() => {
  const svg = document.querySelector(".frame > svg"), box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
  return {metres: view.width / box.width, x: view.x + view.width / 2, y: view.y + view.height / 2,
          left: box.left, top: box.top, width: box.width, height: box.height, ratio: view.height / view.width};
}"""


class Shown(NamedTuple):
    """A page that is open, with what it should show and all that it asked for or complained about."""

    page: Page
    scene: Scene
    context: BrowserContext
    requests: list[str]
    complaints: list[str]

    def state(self) -> dict[str, float]:
        """What the map shows, when it has been drawn."""
        self.page.evaluate(SETTLED)
        return self.page.evaluate(STATE)  # type: ignore[no-any-return]

    def pixel(self, place: tuple[float, float]) -> tuple[float, float]:
        """Where in the window a place, in degrees, is shown."""
        state = self.state()
        east, north = self.scene.projection.to_map(np.array([place]))[0]
        across, down = (east - state["x"]) / state["metres"], (-north - state["y"]) / state["metres"]
        return state["left"] + state["width"] / 2 + across, state["top"] + state["height"] / 2 + down

    def picture(self) -> NDArray[np.float64]:
        """The window, from 0 to 255."""
        from matplotlib.image import imread

        return np.asarray(imread(io.BytesIO(self.page.screenshot())))[..., :3] * 255.0

    def colour(self, place: tuple[float, float]) -> NDArray[np.float64]:
        """What is drawn at a place."""
        across, down = self.pixel(place)
        return np.asarray(self.picture()[round(down - 0.5), round(across - 0.5)])

    def round_ness(self) -> float:
        """The radius of the first circle by the length of the scale bar, both as they are drawn."""
        self.page.evaluate(SETTLED)
        return self.page.evaluate(  # type: ignore[no-any-return]
            """() => {
              const circle = document.querySelector(".frame circle.circle");
              const bar = document.querySelector(".scale path");
              const radius = circle.r.baseVal.value * circle.getScreenCTM().a;
              const long = bar.getBBox().width * bar.getScreenCTM().a;
              return radius / long * +document.querySelector(".scale").dataset.metres;
            }"""
        )


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Open the page of some layers."""
    contexts: list[BrowserContext] = []

    def opened(layers: tuple[Layer, ...], *, balances: tuple[Balance, ...] = (BALANCE,), **how: Any) -> Shown:
        path = tmp_path / "report.html"
        release = gv.Locations(np.zeros((9, 2))).points(rho=GUARANTEE)
        report = Report("Homes </script><b>", layers, release.facts(), release.certificate(), balances)
        report.save(path, overwrite=True)
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **how})
        contexts.append(context)
        page = context.new_page()
        requests: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        scene = compose(layers)
        assert scene is not None
        return Shown(page, scene, context, requests, complaints)

    yield opened
    for context in contexts:
        context.close()


def homes(count: int = 60, **more: Any) -> Layer:
    """Made-up released points of San Francisco, the first two of them at known places."""
    places = np.random.default_rng(4).normal([-122.44, 37.76], [0.03, 0.02], size=(count, 2))
    places[:2] = [[-122.50, 37.74], [-122.40, 37.72]]
    return Layer("released points", places, "points", "released", radius=RADIUS, **more)


STATION = Layer("station", np.array([[-122.3937, 37.7955]]), "marks", "public", texts=("ferry",))
TRUTH = Layer("true points", np.array([[-122.44, 37.76]]), "points", "truth")


def test_nothing_is_loaded(show: Any) -> None:
    """The page asks for itself alone, also after everything on it was used, and says nothing on the console."""
    shown = show((homes(), STATION, TRUTH))
    shown.page.locator(".legend input").nth(0).click()
    shown.page.locator("summary").click()
    shown.page.locator("[data-does=in]").click()
    shown.page.wait_for_load_state("networkidle")
    assert [url.rsplit("/", 1)[1] for url in shown.requests] == ["report.html"]
    assert shown.page.evaluate("performance.getEntriesByType('resource').length") == 0
    assert shown.complaints == []
    assert shown.page.locator("h1").inner_text() == "Homes </script><b>"


def test_circles_are_true(show: Any) -> None:
    """A circle of 468 m is 468 m by the scale bar, at every scale and wherever the map is moved."""
    shown = show((homes(), STATION))
    assert shown.round_ness() == pytest.approx(RADIUS, rel=0.01)
    texts = set()
    for key in ("+", "+", "+", "ArrowLeft", "-", "-", "-", "-", "-", "-", "-", "-", "ArrowDown"):
        shown.page.locator(".frame").press(key)
        assert shown.round_ness() == pytest.approx(RADIUS, rel=0.01)
        bar = shown.page.locator(".scale")
        metres = float(bar.get_attribute("data-metres") or 0)
        assert re.fullmatch(r"[125]0*(\.0)?", str(metres))
        text = bar.locator("text").first.text_content().strip()
        number, unit = text.split()
        assert float(number) * {"m": 1, "km": 1000}[unit] == metres
        assert 40 < shown.page.locator(".scale > path").bounding_box()["width"] <= 143
        texts.add(text)
    assert len(texts) >= 3


def test_map_fills_its_frame(show: Any) -> None:
    """At first all that most points span is inside of the frame, whatever the window's form."""
    for width, height in ((1200, 900), (400, 800), (900, 420)):
        shown = show((homes(),), viewport={"width": width, "height": height})
        state = shown.state()
        assert state["ratio"] == pytest.approx(state["height"] / state["width"], rel=1e-3)
        for place in ((-122.50, 37.74), (-122.40, 37.72)):
            across, down = shown.pixel(place)
            assert state["left"] < across < state["left"] + state["width"]
            assert state["top"] < down < state["top"] + state["height"]
        assert shown.round_ness() == pytest.approx(RADIUS, rel=0.01)


def test_buttons_and_keys(show: Any) -> None:
    """Buttons and keys zoom about the middle, arrows move, and one of each shows all again."""
    shown = show((homes(),))
    first = shown.state()
    button, frame = shown.page.locator("[data-does=in]"), shown.page.locator(".frame")
    for press in (button.click, functools.partial(frame.press, "+")):
        before = shown.state()
        press()
        after = shown.state()
        assert after["metres"] == pytest.approx(before["metres"] / 1.5, rel=1e-6)
        assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=1e-3)
    shown.page.locator("[data-does=out]").click()
    shown.page.locator(".frame").press("-")
    assert shown.state()["metres"] == pytest.approx(first["metres"], rel=1e-6)
    for key, across, down in (("ArrowRight", 60, 0), ("ArrowUp", 0, -60)):
        before = shown.state()
        shown.page.locator(".frame").press(key)
        after = shown.state()
        assert after["x"] - before["x"] == pytest.approx(across * before["metres"], abs=1e-3)
        assert after["y"] - before["y"] == pytest.approx(down * before["metres"], abs=1e-3)
    shown.page.locator(".frame").press("0")
    assert shown.state() == pytest.approx(first)
    shown.page.locator("[data-does=in]").click()
    shown.page.locator("[data-does=reset]").click()
    assert shown.state() == pytest.approx(first)
    for _ in range(60):
        shown.page.locator(".frame").press("-")
    view = shown.scene.view
    farthest = 100 * max(view.width, view.height)
    assert shown.state()["metres"] * shown.state()["width"] == pytest.approx(farthest, rel=0.01)


def test_wheel_and_drag(show: Any) -> None:
    """What is under the pointer stays under it: the wheel and a double click zoom, dragging moves."""
    shown = show((homes(), STATION))
    place = (-122.3937, 37.7955)
    at = shown.pixel(place)
    before = shown.state()
    shown.page.mouse.move(*at)
    shown.page.mouse.wheel(0, -200)
    shown.page.wait_for_function(f"() => ({STATE})().metres < {0.9 * before['metres']}")
    assert shown.pixel(place) == pytest.approx(at, abs=1)
    shown.page.mouse.dblclick(*at)
    assert shown.state()["metres"] < 0.6 * before["metres"]
    # A click is at a whole pixel, and what is half of one beside it is moved by as much.
    assert shown.pixel(place) == pytest.approx(at, abs=2)
    at = shown.pixel(place)
    shown.page.mouse.move(*at)
    shown.page.mouse.down()
    shown.page.mouse.move(at[0] - 130, at[1] + 40, steps=5)
    shown.page.mouse.up()
    assert shown.pixel(place) == pytest.approx((at[0] - 130, at[1] + 40), abs=1)
    shown.page.mouse.move(at[0], at[1])
    assert shown.pixel(place) == pytest.approx((at[0] - 130, at[1] + 40), abs=1)
    assert shown.page.evaluate("scrollY") == 0


def test_pinch_and_drag(show: Any) -> None:
    """Fingers that move apart to twice their distance halve the metres in a pixel; one finger moves the map."""
    shown = show((homes(),), viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    state = shown.state()
    x, y = state["left"] + state["width"] / 2, state["top"] + state["height"] / 2
    session = shown.context.new_cdp_session(shown.page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": a, "y": b, "id": i} for i, (a, b) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x - 40, y), (x + 40, y))
    for apart in (50, 60, 70, 80):
        touch("touchMove", (x - apart, y), (x + apart, y))
    touch("touchEnd")
    after = shown.state()
    assert after["metres"] == pytest.approx(state["metres"] / 2, rel=0.02)
    assert (after["x"], after["y"]) == pytest.approx((state["x"], state["y"]), abs=2 * state["metres"])
    touch("touchStart", (x, y))
    for step in (10, 20, 30):
        touch("touchMove", (x + step, y))
    touch("touchEnd")
    assert shown.state()["x"] == pytest.approx(after["x"] - 30 * after["metres"], abs=2 * after["metres"])
    assert shown.page.evaluate("scrollY") == 0


def test_check_boxes_hide_layers(show: Any) -> None:
    """A layer that is unchecked is gone from the map; circles of all are there when they are asked for."""
    shown = show((homes(), STATION))
    layers, boxes = shown.page.locator("g.layer:not(.ground)"), shown.page.locator(".legend input")
    place = (-122.50, 37.74)
    released = shown.colour(place)
    boxes.nth(0).uncheck()
    assert not layers.nth(0).is_visible()
    assert layers.nth(1).is_visible()
    assert np.abs(shown.colour(place) - released).max() > 60
    boxes.nth(0).check()
    assert shown.colour(place) == pytest.approx(released, abs=3)
    assert not shown.page.locator(".more").is_visible()
    shown.page.get_by_label("all 60 circles").check()
    assert shown.page.locator(".more").is_visible()
    name = shown.page.locator(".name", has_text="ferry")
    assert name.is_visible()
    boxes.nth(2).uncheck()
    assert not name.is_visible()


def test_page_fits_a_phone(show: Any) -> None:
    """At a width of 360 pixels nothing sticks out, and no text is smaller than 12 pixels."""
    named = Layer("a long name of a layer with many words in it", STATION.places, "marks", "public", texts=("x" * 30,))
    long = Balance("somebody-with-a-very-long-name-" * 3, "rho", Decimal("1e-3"), Decimal("6e-4"), Decimal("1.5e-4"))
    shown = show((homes(), named, TRUTH), balances=(long,) * 5, viewport={"width": 360, "height": 740})
    shown.page.locator("summary").click()
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 360
    smallest = shown.page.evaluate(
        """() => {
          const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), sizes = [];
          while (walk.nextNode()) {
            const parent = walk.currentNode.parentElement;
            if (!walk.currentNode.data.trim() || parent.closest("script")) continue;
            sizes.push(parseFloat(getComputedStyle(parent).fontSize));
          }
          return Math.min(...sizes);
        }"""
    )
    assert smallest >= 12


def luminance(colour: str) -> float:
    """As WCAG defines it."""
    channels = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(show: Any, scheme: str) -> None:
    """Every text has a contrast of at least 4.5 to what is behind it, by light and by dark."""
    shown = show((homes(), STATION, TRUTH), color_scheme=scheme)
    assert (luminance(shown.page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.1) == (
        scheme == "dark"
    )
    pairs = shown.page.evaluate(
        """() => [...document.querySelectorAll("h1, h2, p, td, th, small, label, footer, summary, .said, .chart span, "
             + ".chart b, .banner, button, .remarks li")].map((element) => {
          let behind = element;
          while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
          return [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor, element.outerHTML];
        })"""
    )
    assert len(pairs) > 20
    for text, behind, where in pairs:
        low, high = sorted((luminance(text), luminance(behind)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, where


def test_truth_has_a_banner(show: Any) -> None:
    """With truth a red banner stays at the top, however far one scrolls, and in print; without truth there is none."""
    shown = show((homes(), TRUTH))
    assert shown.page.title().startswith(WARNING)
    banner = shown.page.locator(".banner")
    assert banner.inner_text() == WARNING
    for scrolled in (0, 700):
        shown.page.mouse.move(5, 5)
        shown.page.evaluate(f"scrollTo(0, {scrolled})")
        assert banner.bounding_box()["y"] == 0
        red, green, blue = shown.picture()[3, 600]
        assert red > 150
        assert max(green, blue) < 60
    shown.page.emulate_media(media="print")
    assert banner.is_visible()
    without = show((homes(),))
    assert without.page.locator(".banner").count() == 0
    assert "true locations" not in without.page.title()


def test_map_colours_are_right(show: Any) -> None:
    """The picture has the layer's colour at a released point, land at a known place and sea at another."""
    shown = show((homes(), STATION))

    def rgb(hue: str) -> list[int]:
        return [int(hue[i : i + 2], 16) for i in (1, 3, 5)]

    layer, land, sea = (np.array(rgb(LIGHT[name])) for name in ("person-0", "land", "sea"))
    shown.page.locator(".frame").press("-")
    assert shown.colour((-122.56, 37.75)) == pytest.approx(sea, abs=2)
    empty = (-122.46, 37.68)
    assert shown.colour(empty) == pytest.approx(land, abs=2)
    for place in ((-122.50, 37.74), (-122.40, 37.72)):
        found = shown.colour(place)
        assert np.linalg.norm(found - layer) < 0.5 * np.linalg.norm(land - layer)
    for key in ("+", "+", "ArrowLeft"):
        shown.page.locator(".frame").press(key)
    assert np.linalg.norm(shown.colour((-122.50, 37.74)) - layer) < 0.5 * np.linalg.norm(land - layer)


def test_gauges_and_curve(show: Any) -> None:
    """The filled share of a gauge is what was spent; the curve passes where the guarantee says."""
    shown = show((homes(),))
    gauge, chart = shown.page.locator(".gauge"), shown.page.locator("#curve svg")
    gauge.scroll_into_view_if_needed()
    picture, box = shown.picture(), gauge.bounding_box()
    row = picture[round(box["y"] + box["height"] / 2), round(box["x"]) + 1 : round(box["x"] + box["width"]) - 1]
    empty = row[-8]
    assert (np.abs(row - empty).max(axis=1) > 20).mean() == pytest.approx(0.6, abs=0.02)
    accent = row[round(0.55 * len(row))]
    assert (np.abs(row - accent).max(axis=1) < 8).mean() == pytest.approx(0.15, abs=0.02)
    chart.scroll_into_view_if_needed()
    picture, box = shown.picture(), chart.bounding_box()
    most = float(shown.page.locator("#curve").get_attribute("data-most") or 0)
    for distance in (0.25 * most, 0.5 * most, 0.8 * most):
        column = picture[
            round(box["y"]) : round(box["y"] + box["height"]), round(box["x"] + box["width"] * distance / most)
        ]
        darkest = np.flatnonzero(np.abs(column - accent).max(axis=1) < 40).mean()
        chance = 1 - 0.5 * darkest / box["height"]
        assert chance == pytest.approx(GUARANTEE.attacker(distance=distance), abs=0.01)


def test_many_points_few_paths(show: Any) -> None:
    """A map of many points has few elements, and moving it touches none of its layers."""
    shown = show((homes(60_000),))
    assert shown.page.locator("g.layer.released path").count() <= 7
    shown.page.evaluate(
        """() => {
          window.changed = new Set();
          new MutationObserver((all) => all.forEach((one) => window.changed.add(
            one.target.closest(".layer, .legend") ? "what is on the map" : "the view, its names and its scale bar")))
            .observe(document.querySelector(".map"), {subtree: true, childList: true, attributes: true});
        }"""
    )
    before = shown.state()
    for _ in range(5):
        shown.page.locator(".frame").press("ArrowRight")
    assert shown.state()["x"] > before["x"]
    assert shown.page.evaluate("[...window.changed]") == ["the view, its names and its scale bar"]
