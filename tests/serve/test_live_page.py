"""The live page and the page of a link in a real browser: what they show, load and complain about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.report.conftest import browser
from tests.serve.serving import FINE, Running, now

__all__ = ["browser"]


@pytest.fixture
def page(service: Running, browser: Browser) -> Iterator[Page]:
    """A browser of the owner, whose requests and complaints are checked at the end."""
    credentials = {"username": "owner", "password": service.tokens["owner"]}
    context = browser.new_context(viewport={"width": 1280, "height": 900}, http_credentials=credentials)  # type: ignore[arg-type]
    found = context.new_page()
    found.set_default_timeout(60_000)
    asked: list[str] = []
    complaints: list[str] = []
    found.on("request", lambda request: asked.append(request.url))
    found.on("console", lambda message: complaints.append(message.text))
    found.on("pageerror", lambda error: complaints.append(str(error)))
    service.ping("ann/phone", service.fresh("ann"))
    service.ping("bob/phone", service.fresh("bob"))
    found.goto(f"{service.url}/live")
    yield found
    context.close()
    assert not complaints
    assert asked
    assert all(each.startswith((service.url, "data:")) for each in asked)


def test_page_shows_places(service: Running, page: Page) -> None:
    """Each person has a released place, a radius and a budget, in the table and on the map."""
    rows = page.locator("section[aria-labelledby=persons] tbody tr")
    assert rows.count() == 2
    text = rows.nth(0).inner_text()
    assert "ann" in text
    assert "km" in text
    assert "hidden at 75%, in any 1 day" in text
    assert rows.nth(0).locator("meter").get_attribute("value")
    assert page.locator(".map svg circle").count() >= 2
    assert not any(each in page.content() for each in FINE)
    # The map can be moved, as in reports.
    page.get_by_label("Zoom in").click()


@pytest.mark.slow
def test_owner_ends_links(service: Running, page: Page) -> None:
    """A link is made on the page, shown once, opens for a reader without a password, and can be paused and ended."""
    page.get_by_role("textbox", name="For").fill("my sister")
    page.get_by_role("button", name="Make a link").click()
    address = page.get_by_role("status").get_by_role("link").inner_text()
    assert address.startswith(f"{service.url}/r/")
    assert page.context.browser is not None
    reader = page.context.browser.new_page()
    reader.goto(address)
    assert "ann" in reader.locator("h1").inner_text()
    assert "within" in reader.locator(".places").inner_text()
    assert reader.locator(".map svg").count() >= 1
    table = page.locator("section[aria-labelledby=links] tbody")
    assert "my sister" in table.inner_text()
    table.get_by_role("button", name="Pause").last.click()
    reader.reload()
    assert "Sharing is paused" in reader.content()
    table.get_by_role("button", name="End").last.click()
    assert reader.goto(address).status == 404  # type: ignore[union-attr]
    reader.close()


def test_owner_pauses_a_person(service: Running, page: Page) -> None:
    """A person is paused and resumed with one press."""
    page.get_by_role("button", name="Pause ann").click()
    page.get_by_text("paused: pings are dropped").wait_for()
    assert service.ping("ann/phone", now())["reason"] == "paused"
    page.get_by_role("button", name="Resume ann").click()
    page.get_by_role("button", name="Pause ann").wait_for()


def test_wrong_links_are_explained(page: Page) -> None:
    """What cannot be a link is explained on the page."""
    page.get_by_label("Ends after").fill("soon")
    page.get_by_role("button", name="Make a link").click()
    assert "expires" in page.get_by_role("alert").first.inner_text()


@pytest.mark.slow
def test_pages_fit_phones(service: Running, page: Page) -> None:
    """On a phone, no page is wider than the screen."""
    page.set_viewport_size({"width": 390, "height": 800})
    page.reload()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
