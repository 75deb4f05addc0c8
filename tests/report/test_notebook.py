"""A notebook that is run: what it shows of releases, sessions and ledgers needs no script and no network."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

pytestmark = [pytest.mark.deep, pytest.mark.slow]

CELLS = [
    """
import geopandas, numpy as np, pathlib, tempfile
import geoveil as gv
rng = np.random.default_rng(1)
bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
homes = geopandas.GeoSeries.from_xy(rng.normal(-122.43, 0.02, 400), rng.normal(37.76, 0.02, 400), crs=4326)
release = gv.Locations(homes, person=np.arange(400), area=bay).points(rho=1e-4)
release
""",
    "gv.Locations(homes, area=bay).hull(rho=1e-4)",
    "release.density(gv.Grid((-8000, -8000, 8000, 8000), cell=1000))",
    "session = gv.Locations(homes, area=bay).session(rho=1e-3)\nsession.mean(rho=1e-4)",
    "session",
    'ledger = gv.Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")\n_ = ledger.create("ann", rho=1e-3)\nledger',
    'gv.plan("points", n=400, rho=1e-4)',
    "%matplotlib inline\nrelease.plot(color='teal')",
    "release.explore()",
]


@pytest.fixture(scope="module")
def outputs() -> list[dict[str, Any]]:
    """The last output of each cell, by its type of content."""
    import nbclient
    import nbformat

    made: Any = nbformat.v4
    notebook = made.new_notebook(cells=[made.new_code_cell(cell.strip()) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=300).execute()
    assert all(output.output_type != "error" for cell in notebook.cells for output in cell.outputs)
    return [dict(cell.outputs[-1].data) for cell in notebook.cells]


def test_notebook_cards(outputs: list[dict[str, Any]]) -> None:
    """Each has a card; a plot is a picture; the page is in a frame."""
    *cards, plot, page = outputs
    for card in cards:
        assert 'class="geoveil-card"' in card["text/html"]
        assert len(card["text/html"]) < 100_000
    assert ["<svg" in card["text/html"] for card in cards] == [True, True, True, True, False, False, False]
    assert "Axes" in outputs[-2]["text/plain"] or "image/png" in plot
    assert page["text/html"].startswith("<iframe")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cards_are_readable(outputs: list[dict[str, Any]], browser: Browser, scheme: Any, tmp_path: Path) -> None:
    """Cards are readable, load nothing and complain about nothing.

    In a light and in a dark notebook, text and map stand out from the background; only the page is asked for.
    """
    from matplotlib.image import imread

    *cards, frame = [output["text/html"] for output in outputs if "text/html" in output]
    # The output of a cell may be hidden at first, where a map has no size.
    body = "".join(cards) + f"<div hidden>{frame}</div>"
    path = tmp_path / "notebook.html"
    head = '<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    path.write_text(f"{head}<title>Notebook</title><body>{body}</body>", encoding="utf-8")
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1100, "height": 900})
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_load_state("networkidle")
    page.evaluate("document.querySelector('[hidden]').hidden = false")
    page.frame_locator("iframe").locator("[data-does=in]").click()
    page.wait_for_load_state("networkidle")
    assert [url for url in asked if not url.startswith("about:srcdoc")] == [path.as_uri()]
    assert complaints == []
    # Nothing is wider than the window, and each card has what is darkest and lightest far apart.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for card in page.locator(".geoveil-card").all():
        picture = np.asarray(imread(io.BytesIO(card.screenshot())))[..., :3]
        background = np.median(picture.reshape(-1, 3), axis=0)
        assert (background.mean() > 0.5) == (scheme == "light")
        assert np.abs(picture - background).max() > 0.7
    context.close()
