"""Figures for print: their formats, widths and fonts."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import geopandas
import numpy as np
import pytest

import geoveil as gv
from geoveil.report import Layer, Report, compose
from geoveil.report.figure import draw_scene
from geoveil.report.formatting import WARNING

pytestmark = pytest.mark.slow

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
FERRY = (-122.3937, 37.7955)


@pytest.fixture(scope="module")
def release() -> gv.Release:
    """Released homes of six persons."""
    flat = np.random.default_rng(7).normal(scale=3000.0, size=(6, 2))
    homes = geopandas.GeoDataFrame({"user": list("abcdef")}, geometry=geopandas.points_from_xy(*flat.T), crs=BAY.crs)
    return gv.Locations(homes.to_crs(4326), person="user", area=BAY, rng=np.random.default_rng(1)).points(rho=1e-4)


def report_of(release: gv.Release, *more: Layer, width: float | None = None) -> Report:
    """Its report, with a name that matplotlib would read as a formula."""
    odd = Layer("_cost in $ of $x", np.array([FERRY]), "marks", "public", texts=("$a$",))
    return Report("Homes", (*more, *release.layers(), odd), release.facts(), release.certificate(), width=width)


@pytest.mark.parametrize("truth", [False, True])
def test_pictures_warn_of_truth(release: gv.Release, truth: bool, tmp_path: Path) -> None:
    """A PNG has many colours; with truth, and only then, a red banner."""
    from matplotlib.image import imread

    more = [Layer("true places", np.array([FERRY]), "points", "truth")] if truth else []
    report_of(release, *more).save(tmp_path / "out.png")
    picture = imread(tmp_path / "out.png")[..., :3]
    assert len(np.unique((picture * 255).astype(int) @ [1 << 16, 1 << 8, 1])) > 100
    red = (np.abs(picture - [185 / 255, 28 / 255, 28 / 255]) < 0.01).all(axis=2).mean()
    assert (red > 0.005) == truth


@pytest.mark.parametrize("width", [85.0, None])
def test_pdf_width_and_fonts(release: gv.Release, width: float | None, tmp_path: Path) -> None:
    """The page of a PDF is as wide as asked for, 180 mm by default; its fonts are inside, as TrueType."""
    for name in ("one.pdf", "two.pdf"):
        report_of(release, width=width).save(tmp_path / name)
    data = (tmp_path / "one.pdf").read_bytes()
    assert data == (tmp_path / "two.pdf").read_bytes()
    [box] = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", data)
    assert float(box[0]) / 72 * 25.4 == pytest.approx(width or 180, abs=0.1)
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert b"CreationDate" not in data


def test_svg_needs_no_font(release: gv.Release, tmp_path: Path) -> None:
    """Letters are outlines, the width is stated, and nothing is referred to."""
    report_of(release, width=120).save(tmp_path / "out.svg")
    text = (tmp_path / "out.svg").read_text(encoding="utf-8")
    wide = re.findall(r'<svg [^>]*width="([\d.]+)pt"', text.replace("\n", " "))
    assert float(wide[0]) / 72 * 25.4 == pytest.approx(120, abs=0.1)
    assert "<text" not in text
    assert set(re.findall(r'(?:xlink:)?href="(.)', text)) <= {"#"}


def test_pdf_title_has_truth(release: gv.Release, tmp_path: Path) -> None:
    """A PDF with true locations says so in its title, too."""
    report_of(release, Layer("true places", np.array([FERRY]), "points", "truth")).save(tmp_path / "out.pdf")
    data = (tmp_path / "out.pdf").read_bytes()
    assert WARNING.encode() in data or any(
        WARNING.encode() in zlib.decompress(part) for part in re.findall(rb"stream\r?\n(x.*?)endstream", data, re.S)
    )


def test_polar_parallels_have_degrees() -> None:
    """A parallel that crosses the frame twice is named where it crosses its western edge."""
    from matplotlib.figure import Figure

    places = np.array([[-20.0, 89.3], [10.0, 89.5], [40.0, 89.3], [10.0, 89.8]])
    scene = compose([Layer("camps", places, "points", "released", radius=9000.0)], pixels=600, beyond=False)
    assert scene is not None
    axes = Figure(figsize=(6, 5)).add_axes((0.1, 0.1, 0.8, 0.8))
    draw_scene(axes, scene)
    assert [text.get_text() for text in axes.get_yticklabels()]
