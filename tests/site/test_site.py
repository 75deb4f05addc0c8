"""The site: every page is on it, it opens from the disk, and it loads nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient
from playwright.sync_api import sync_playwright

import geoveil as gv
from tests.questions import release_of

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def script() -> Any:
    """The module of scripts/docs.py."""
    specification = importlib.util.spec_from_file_location("scripts_docs", ROOT / "scripts" / "docs.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from another folder and then moved."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, str(ROOT / "scripts" / "docs.py"), "first"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "first").rename(folder / "a folder of another name")


def in_menu(part: Any) -> list[str]:
    """The pages of a part of the menu."""
    if isinstance(part, str):
        return [part]
    return [page for item in (part.values() if isinstance(part, dict) else part) for page in in_menu(item)]


def test_pages_are_in_menu() -> None:
    """Every page is in the menu once. Nobody has to know the address of a page."""
    menu = in_menu(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert len(menu) == len(set(menu))
    assert pages == {page for page in menu if not page.startswith("project/")}


def test_names_are_in_reference() -> None:
    """Every public name is on one page of the reference.

    All that geoveil offers can be looked up; its errors have a page of their own.
    """
    pages = (DOCS / "look-up" / "python").glob("*.md")
    shown = [name for page in pages for name in re.findall(r"^::: geoveil\.(\w+)$", page.read_text(), re.MULTILINE)]
    assert sorted(shown) == sorted(set(gv.__all__) - {"__version__", "errors"})


def test_site_problems_are_found(tmp_path: Path) -> None:
    """Missing pages, headings and pictures, other hosts and large pages."""
    docs = script()
    (tmp_path / "good.html").write_text('<h1 id="top">x</h1><a href="#top">y</a><a href="https://example.org">z</a>')
    (tmp_path / "404.html").write_text(f'<a href="{docs.HOME}good.html">at any depth</a>')
    assert docs.problems(tmp_path) == []
    (tmp_path / "large.html").write_text("x" * 300_001)
    (tmp_path / "style.css").write_text("a { background: url(//example.org/a.png) }")
    (tmp_path / "bad.html").write_text(
        '<a href="none.html">a</a><a href="good.html#none">b</a><img src="none.png"><script src="//example.org/a.js">'
        '</script><link rel="stylesheet" href="https://example.org/a.css"><p style="background: url(http://a/b.png)">'
    )
    found = docs.problems(tmp_path)
    for part in ("large", "none.html", "good.html#none", "none.png", "a.js", "a.css", "b.png", "style.css"):
        assert any(part in line for line in found), part
    assert len(found) == 8


def test_certificate_fields_are_described() -> None:
    """The page of fields has no empty cell, and no field twice."""
    rows = [row.split(" | ") for row in script().certificate().splitlines()[2:]]
    assert len(rows) > 60
    assert all(len(row) == 4 and len(row[3]) > 5 for row in rows)
    assert len({row[0] for row in rows}) == len(rows)


def fields(part: Any, prefix: str = "") -> set[str]:
    """The names of all fields in a certificate, as the page writes them; the options to read a file are one field."""
    if isinstance(part, list):
        return {name for item in part for name in fields(item, f"{prefix}[]")} if prefix else set()
    if not isinstance(part, dict) or prefix == "file.reading":
        return set()
    inner = {name: f"{prefix}.{name}" if prefix else name for name in part}
    return set(inner.values()) | {name for own, path in inner.items() for name in fields(part[own], path)}


def test_certificate_fields_are_complete(tmp_path: Path) -> None:
    """No field of a certificate is missing on the page: not one that is required, and not one that is written."""
    listed = {row.split("`")[1] for row in script().certificate().splitlines()[2:]}

    def required(part: Any) -> set[str]:
        inside = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        own = set(part.get("required", ())) if isinstance(part, dict) else set()
        return own.union(*map(required, inside))

    path = ROOT / "src" / "geoveil" / "certificates" / "certificate.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert required(schema) <= {name.rpartition(".")[2] for name in listed}
    homes = {"who": ["ann", "ann", "bob"], "lat": [47.37, 47.38, 47.36], "lon": [8.54, 8.55, 8.53]}
    trips = pd.DataFrame(homes)
    trips.to_csv(tmp_path / "homes.csv", index=False)
    about: dict[str, Any] = {"area": gv.local(lat=47.37, lon=8.54, radius=10_000), "rho": 1e-4}
    key = gv.SigningKey.create("test")
    release_of("points", tmp_path / "homes.csv", person="who", sign=key, to=tmp_path / "out.csv", **about)
    heat = release_of("heatmap", trips, 2000, person="who", **about)
    heat.to_file(tmp_path / "heat.csv")
    found = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.certificate.json")]
    found += [release_of("mean", trips, method=method, **about).certificate() for method in ("best", "both")]
    assert len(found) == 4
    assert {"file.name", "file.reading", "mechanism[].GP", "also.epsilon", "crowd_noise.zcdp"} <= listed
    assert set().union(*map(fields, found)) <= listed


def test_outside_links_lead_somewhere() -> None:
    """Pages beside the docs are on the site; all else is in the repository. What is inside code stays."""
    docs = script()
    text = "[a](../../benchmarks/README.md#x) [b](../../conftest.py) [c](units.md)\n```\n[d](e)\n```\n"
    assert docs.linked(text, "docs/understand/a.md", "understand/a.md") == (
        "[a](../project/benchmarks.md#x) [b](https://github.com/geoveil/geoveil/blob/main/conftest.py) [c](units.md)"
        "\n```\n[d](e)\n```\n"
    )


@pytest.mark.deep
def test_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The notebook that readers take home has the code of the page, and runs beside the file that it names."""
    page = DOCS / "learn" / "data-scientist.md"
    text = page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert text == script().notebook(page.read_text(encoding="utf-8")), "scripts/docs writes it anew"
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shutil.copy(DOCS / "learn" / "bike-trips.csv", tmp_path)
    run = nbformat.NotebookNode(nbformat.from_dict(json.loads(text)))  # type: ignore[no-untyped-call]
    NotebookClient(run, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert "image/png" in str([cell.get("outputs") for cell in run.cells])


@pytest.mark.deep
def test_site_builds(site: Path) -> None:
    """No broken link, no missing picture, no other host, no large page; what is generated is there."""
    pages = [page.relative_to(site).as_posix() for page in site.rglob("*.html")]
    assert len(pages) >= len([*DOCS.rglob("*.md")])
    assert "geoveil budget restore" in (site / "look-up" / "commands.html").read_text(encoding="utf-8")
    assert "LedgerTampered" in (site / "look-up" / "errors.html").read_text(encoding="utf-8")
    assert "beyond_the_map" in (site / "look-up" / "certificate.html").read_text(encoding="utf-8")
    assert (site / "sitemap.xml").read_text(encoding="utf-8").count("<loc>") >= len([*DOCS.rglob("*.md")])
    assert not any("<!-- generated:" in page.read_text(encoding="utf-8") for page in site.rglob("*.html"))


@pytest.mark.deep
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium was found: apt-get install chromium")
def test_search_works_from_disk(site: Path) -> None:
    """A page on the disk finds words of other pages as they are typed, and asks for files of the site alone.

    The copy button of a block copies the code, without prompts and results. No page logs an error.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(permissions=["clipboard-read", "clipboard-write"]).new_page()
        asked: list[str] = []
        logged: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda problem: logged.append(str(problem)))
        page.on("console", lambda said: logged.append(said.text) if said.type == "error" else None)
        page.goto((site / "understand" / "units.html").as_uri())
        page.get_by_role("button", name="Search").first.click()
        field = page.get_by_role("combobox").or_(page.get_by_placeholder("Search")).first
        # One letter after another: a search for the first ones answers before the last is typed.
        field.press_sequentially("HMAC", delay=50)
        page.get_by_text("Tampering that is detected").first.wait_for()
        assert field.input_value() == "HMAC"
        page.goto((site / "understand" / "definitions.html").as_uri())
        page.locator("button[data-clipboard-target]").first.click(force=True)
        copied = page.evaluate("navigator.clipboard.readText()")
        browser.close()
    assert not logged
    assert all(address.startswith(site.as_uri()) for address in asked)
    assert copied.startswith("import geoveil as gv\nguarantee = gv.CGP(rho=5e-5)\n")
    assert ">>>" not in copied
    assert "(104, 0.92)" not in copied
