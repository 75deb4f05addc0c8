"""The browser of tests and benchmarks, and how it is started."""

from __future__ import annotations

import shutil

__all__ = ["ARGUMENTS", "CHROMIUM", "SETTLED"]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
ARGUMENTS += ["--disable-sync", "--no-first-run"]
#: Waits in a page until it has been drawn, and returns the milliseconds since it was asked for.
SETTLED = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"""
