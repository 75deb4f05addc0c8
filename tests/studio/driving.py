"""A studio in this process, and a browser or plain requests that use it."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import Page

from geoveil.studio.gate import new_token
from geoveil.studio.project import Project
from geoveil.studio.server import Studio, listen

__all__ = ["Answered", "Visitor", "asked", "running"]


@contextmanager
def running(folder: Path) -> Iterator[Studio]:
    """Run a studio in a thread; its state can be replaced."""
    listening = listen(0)
    studio = Studio(Project(folder), new_token(), listening.getsockname()[1])
    server = studio.server()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield studio
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@dataclass
class Visitor:
    """A person at a page, and all that the page asked for or complained about."""

    page: Page
    address: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(60_000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def at_rest(self) -> None:
        """Wait until nothing goes on in the background."""
        self.page.wait_for_selector("body:not([data-busy])")

    def press(self, name: str) -> None:
        """Press a button, and wait for the page that follows."""
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=name, exact=True).last.click()
        self.at_rest()

    def drop(self, path: Path) -> None:
        """Drop a file on the page."""
        transfer = self.page.evaluate_handle(
            """({name, text}) => {
              const transfer = new DataTransfer();
              transfer.items.add(new File([text], name));
              return transfer;
            }""",
            {"name": path.name, "text": path.read_text()},
        )
        with self.page.expect_navigation():
            self.page.dispatch_event(".drop", "drop", {"dataTransfer": transfer})
        self.at_rest()

    def decide(self, *, unit: str = "all", planned: int = 3, steps: int = 14, area: str = "San Francisco") -> None:
        """Go through the first three steps, with labels as they are."""
        page = self.page
        page.locator("select[name=persons]").select_option("=user")
        page.locator("input[name=pseudonyms][value=no]").check()
        page.locator("input[name=area]").fill(area)
        self.press("On to protection")
        page.locator(f"input[value='{unit}']").check()
        page.locator("input[name=planned]").fill(str(planned))
        self.press("On to how much")
        page.locator("#range").focus()
        for _ in range(steps):
            page.keyboard.press("ArrowRight")
        page.wait_for_selector("#curve")
        self.press("On to the question")

    def release(self) -> None:
        """Look, and release."""
        self.page.locator("input[name=looked]").check()
        self.press("Release")
        self.page.wait_for_selector("#released")

    def download(self, folder: Path) -> list[Path]:
        """Download all files of the release."""
        found = []
        for link in self.page.locator(".files a").all():
            with self.page.expect_download() as waiting:
                link.click()
            path = folder / waiting.value.suggested_filename
            waiting.value.save_as(path)
            found.append(path)
        return found


@dataclass(frozen=True)
class Answered:
    """The answer to a plain request."""

    status: int
    headers: dict[str, str]
    body: bytes


def asked(address: str, path: str = "", **how: Any) -> Answered:
    """Send a plain request to a studio, with any headers."""
    parts = urlsplit(address)
    headers = {"Host": parts.netloc, **how.get("headers", {})}
    form = urlencode(how["form"]) if "form" in how else how.get("body")
    with closing(http.client.HTTPConnection("127.0.0.1", parts.port or 80, timeout=60)) as connection:
        connection.request(how.get("method", "POST" if form else "GET"), f"{parts.path}{path}", form, headers)
        found = connection.getresponse()
        return Answered(found.status, {name.lower(): text for name, text in found.getheaders()}, found.read())
