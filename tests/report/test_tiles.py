"""Map tiles: fetched only where a server is named, placed where they belong, and made part of the file."""

from __future__ import annotations

import io
import re
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import geoveil as gv
from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.report import Layer, Report, compose, write

pytestmark = pytest.mark.slow

URL = "https://tiles.example.org/{z}/{x}/{y}.png"
HOMES = Layer("homes", np.random.default_rng(1).normal([10.75, 59.91], 0.02, (30, 2)), "points", "released")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A server that answers with tiles of one colour, and the addresses that it was asked for."""
    addresses: list[str] = []
    image = io.BytesIO()
    Image.new("RGB", (4, 4), (250, 120, 10)).save(image, "PNG")

    def opened(request: Any, timeout: float) -> io.BytesIO:
        addresses.append(request.full_url)
        return io.BytesIO(image.getvalue())

    monkeypatch.setattr(urllib.request, "urlopen", opened)
    return addresses


def report_of(**more: Any) -> Report:
    """The report of some homes."""
    release = gv.points(np.zeros((9, 2)), rho=1e-4)
    return Report("Homes", (HOMES,), release.facts(), release.certificate(), **more)


def test_nothing_is_fetched_unless_a_server_is_named(asked: list[str], tmp_path: Path) -> None:
    """A page without tiles asks nobody; with tiles they are in the file, in place of the ground, with their source."""
    write(tmp_path / "plain.html", report_of())
    assert asked == []
    write(tmp_path / "tiled.html", report_of(tiles=URL))
    assert 4 <= len(asked) <= 64
    assert len(set(asked)) == len(asked)
    text = (tmp_path / "tiled.html").read_text()
    assert text.count('href="data:image/png;base64,') == len(asked)
    assert "Tiles: tiles.example.org" in text
    assert "https:" not in text
    assert "land and water" not in {group.name for group in compose((HOMES,), tiles=URL).groups}  # type: ignore[union-attr]


def test_tiles_are_where_they_belong(asked: list[str]) -> None:
    """The corners of each tile are at the longitudes and latitudes of its address, and tiles cover the view."""
    scene = compose((HOMES,), tiles=URL)
    assert scene is not None
    covered = np.zeros(len(HOMES.places), dtype=bool)
    flat = scene.projection.to_map(HOMES.places)
    for address, tile in zip(sorted(asked), sorted(scene.tiles, key=lambda tile: tile.matrix[4]), strict=True):
        assert re.fullmatch(r"https://tiles\.example\.org/\d+/\d+/\d+\.png", address)
        a, b, c, d, e, f = tile.matrix
        inside = np.linalg.solve(np.array([[a, c], [b, d]]), (flat * [1, -1] - [e, f]).T)
        covered |= ((inside >= 0) & (inside <= 1)).all(axis=0)
    assert covered.all()
    for tile in scene.tiles:
        lon, lat = scene.projection.to_degrees(tile.matrix[4], -tile.matrix[5])
        level = int(asked[0].split("/")[3])
        column = (lon + 180) / 360 * 2**level
        row = (1 - np.arcsinh(np.tan(np.radians(lat))) / np.pi) / 2 * 2**level
        assert column == pytest.approx(round(column), abs=1e-4)
        assert row == pytest.approx(round(row), abs=1e-4)
        assert f"https://tiles.example.org/{level}/{round(column)}/{round(row)}.png" in asked


@pytest.mark.once
def test_figures_have_tiles(asked: list[str], tmp_path: Path) -> None:
    """The picture of a map has the colour of its tiles nearly everywhere."""
    write(tmp_path / "out.png", report_of(tiles=URL, width=80))
    picture = np.asarray(Image.open(tmp_path / "out.png").convert("RGB"), dtype=float)
    assert (np.abs(picture - [250, 120, 10]).max(axis=2) < 3).mean() > 0.3


@pytest.mark.parametrize("url", ["https://example.org/map.png", "ftp://example.org/{z}/{x}/{y}", "{z}/{x}/{y}"])
def test_other_addresses_are_refused(url: str, asked: list[str]) -> None:
    """An address has a scheme and all three places for numbers; nothing is asked otherwise."""
    with pytest.raises(InvalidParameter, match="tiles"):
        compose((HOMES,), tiles=url)
    assert asked == []


@pytest.mark.deep
def test_problems_are_told(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A map of half the Earth has no tiles; an answer that is no image, or none, is an error with the address."""
    far = Layer("far", np.array([[10.0, 50.0], [60.0, 50.0]]), "points", "released")
    with pytest.raises(InvalidParameter, match=r"1,000 km"):
        compose((far,), tiles=URL)
    monkeypatch.setattr(urllib.request, "urlopen", lambda request, timeout: io.BytesIO(b"<html>no</html>"))
    with pytest.raises(InvalidFile, match="PNG, JPEG or WebP"):
        compose((HOMES,), tiles=URL)

    def refuse(request: Any, timeout: float) -> Any:
        raise OSError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(InvalidFile, match=r"tiles\.example\.org.*no route to host"):
        compose((HOMES,), tiles=URL)
