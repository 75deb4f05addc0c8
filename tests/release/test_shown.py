"""The faces of a release: frames, files, plots, pages and what a notebook shows, for every kind of release."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path
from typing import Any

import geopandas
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import shapely

import geoveil as gv
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.report.formatting import WARNING
from geoveil.report.small_map import small_map
from tests.questions import release_of

pytestmark = pytest.mark.slow

mpl.use("agg")

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
STATION = geopandas.GeoSeries.from_xy([-122.39], [37.79], crs=4326)


def trips(n: int = 60, spread: float = 2000.0) -> geopandas.GeoDataFrame:
    """Made-up points around San Francisco with persons and times, in degrees."""
    flat = np.random.default_rng(3).normal(scale=spread, size=(n, 2))
    columns = {"user": np.arange(n) % 3, "time": pd.date_range("2026-05-01", periods=n, freq="min")}
    return geopandas.GeoDataFrame(columns, geometry=geopandas.points_from_xy(*flat.T, crs=BAY.crs)).to_crs(4326)


def tracks() -> geopandas.GeoDataFrame:
    """Three made-up lines."""
    walk = np.cumsum(np.random.default_rng(3).normal(scale=200, size=(3, 30, 2)), axis=1)
    return geopandas.GeoDataFrame({"user": [0, 1, 2]}, geometry=shapely.linestrings(walk), crs=BAY.crs).to_crs(4326)


def table() -> pd.DataFrame:
    """The same points in columns of coordinates."""
    frame = trips()
    return pd.DataFrame(frame[["user", "time"]]).assign(lat=frame.geometry.y, lon=frame.geometry.x)


def rides() -> pd.DataFrame:
    """Origins and destinations, both in one row."""
    here, there = trips().get_coordinates().to_numpy(), trips(spread=3000.0).get_coordinates().to_numpy()
    ends = {"start_lat": here[:, 1], "start_lon": here[:, 0], "end_lat": there[:, 1], "end_lon": there[:, 0]}
    return pd.DataFrame({"user": np.arange(60) % 3, **ends})


def of_file(tmp_path: Path) -> gv.Release:
    """A file that was released."""
    trips().to_file(tmp_path / "trips.gpkg")
    return gv.Locations(tmp_path / "trips.gpkg", person="user", area=BAY).points(to=tmp_path / "out.gpkg", rho=1e-3)


HOW: dict[str, Any] = {"rho": 1e-3, "area": BAY}
#: Releases of every kind, by name, with the types of their geometries; "" where the value has no location.
KINDS: dict[str, tuple[Any, str]] = {
    "points": (lambda tmp_path: release_of("points", trips(), person="user", **HOW), "Point"),
    "series": (lambda tmp_path: release_of("points", trips().geometry, **HOW), "Point"),
    "array": (lambda tmp_path: release_of("points", trips().get_coordinates().to_numpy(), crs=4326, **HOW), "Point"),
    "lines": (lambda tmp_path: release_of("points", tracks(), person="user", **HOW), "LineString"),
    "tracks": (lambda tmp_path: release_of("points", tracks().geometry, person=[0, 1, 2], **HOW), "LineString"),
    "hull": (lambda tmp_path: release_of("hull", trips(), **HOW), "Polygon"),
    "hulls": (lambda tmp_path: release_of("hull", trips(), person="user", **HOW), "Polygon"),
    "bounds": (lambda tmp_path: release_of("bounds", trips(), **HOW), "Polygon"),
    "boxes": (lambda tmp_path: release_of("bounds", trips(), person="user", **HOW), "Polygon"),
    "center": (lambda tmp_path: release_of("center", trips(), **HOW), "Point"),
    "centers": (lambda tmp_path: release_of("center", trips(), person="user", **HOW), "Point"),
    "nearest": (lambda tmp_path: release_of("nearest", trips(), STATION, k=3, locations=0.5, **HOW), "Point"),
    "indices": (lambda tmp_path: release_of("nearest", trips(), STATION, k=3, **HOW), ""),
    "radius": (lambda tmp_path: release_of("radius", trips(), **HOW), ""),
    "radii": (lambda tmp_path: release_of("radius", trips(), person="user", **HOW), ""),
    "numbers": (lambda tmp_path: release_of("answer", trips(), lambda x: x[0], lipschitz=1, size=2, **HOW), ""),
    "smoothed": (
        lambda tmp_path: release_of("points", trips(), person="user", **HOW).smooth("car"),
        "Point",
    ),
    "heat map": (
        lambda tmp_path: release_of("points", trips(), person=np.arange(60), **HOW).density(
            gv.Grid((0, 0, 3000, 2000), cell=500)
        ),
        "Polygon",
    ),
    "pandas": (lambda tmp_path: release_of("points", table(), person="user", **HOW), "Point"),
    "polars": (lambda tmp_path: release_of("points", pl.from_pandas(table()), person="user", **HOW), "Point"),
    "arrow": (lambda tmp_path: release_of("points", pa.Table.from_pandas(table()), person="user", **HOW), "Point"),
    "rides": (lambda tmp_path: release_of("points", rides(), person="user", **HOW), "LineString"),
    "file": (of_file, "Point"),
    "loaded": (lambda tmp_path: gv.load(of_file(tmp_path).value), "Point"),
}
#: The kinds that are shown in every run of the tests; the others in a deep one.
_FIRST = ("points", "lines", "hull", "indices", "file")
EVERY_KIND = pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in _FIRST else [pytest.mark.deep, pytest.mark.slow]) for kind in KINDS],
)


@EVERY_KIND
def test_faces_of_releases(kind: str, tmp_path: Path) -> None:
    """All faces of a release work, or say why there is nothing to draw; the value keeps its coordinate system."""
    make, geometry = KINDS[kind]
    release: gv.Release = make(tmp_path)
    frame = release.to_frame()
    assert frame["rho"].eq(1e-3).all()
    if geometry:
        assert set(frame.geom_type) == {geometry}
        assert frame.crs == 4326
        assert release.to_frame(crs=32610).crs.to_epsg() == 32610
        axes = release.plot()
        assert release.plot(axes, color="red") is axes
        assert axes.collections
        plt.close("all")
    else:
        assert type(frame) is pd.DataFrame
        with pytest.raises(InvalidData, match="has a location"):
            release.plot()
    if kind == "tracks":
        with pytest.raises(InvalidData, match="column of persons"):
            release.to_file(tmp_path / "saved.parquet")
        return
    path = release.to_file(tmp_path / "saved.parquet")
    read = geopandas.read_parquet(path) if geometry else pd.read_parquet(path)
    assert len(read) == len(frame)
    assert (tmp_path / "saved.parquet.certificate.json").exists()
    assert release.report(tmp_path / "report.html", title="A <b>title</b>").read_text().startswith("<!DOCTYPE")
    view = release.explore()
    assert view.save(tmp_path / "page.html").exists()
    card = release._repr_html_()
    assert "will be right at most 75% of the time" in card
    assert ("<svg" in card) == (bool(geometry) or kind == "indices")
    for text in (card, view._repr_html_()):
        # The only addresses are names of XML, of which there are none here.
        assert not re.search(r"https?://|<link|<img|@import|url\(", text)
    assert "<script" not in card
    assert len(card.encode()) < 50_000


def test_metres_are_drawn() -> None:
    """A plot is in these metres; there is no map of the Earth, and a file is refused."""
    release = gv.Locations(np.zeros((10, 2))).points(rho=1e-3)
    assert release.to_frame().crs is None
    assert release.plot().collections
    assert (
        gv.Locations(np.zeros((10, 2)), person=np.arange(10) % 2)
        .center(rho=1e-3)
        .to_frame()
        .geom_type.eq("Point")
        .all()
    )
    heat = release.density(gv.Grid((0, 0, 1000, 1000), cell=500))
    assert heat.to_frame().shape == (4, 3)
    assert "<svg" not in release._repr_html_()
    with pytest.raises(InvalidData, match="in the plane"):
        gv.Locations(np.zeros((10, 3))).points(rho=1e-3).to_frame()
    plt.close("all")


def test_heat_map_frame() -> None:
    """A row for each cell, from the south-west; the numbers are those of the value; the system is as asked for."""
    release = release_of("points", trips(), person=np.arange(60), **HOW)
    heat = release.density(gv.Grid((-1000, -1000, 2000, 1000), cell=500))
    assert repr(heat).startswith("Heat map of 4 by 6 cells: 60 points of 60 persons\n")
    frame = heat.to_frame(crs=heat.crs)
    np.testing.assert_array_equal(frame["points"], heat.value.ravel())
    assert frame.geometry.iloc[0].bounds == pytest.approx((-1000, -1000, -500, -500))
    assert frame.geometry.iloc[-1].bounds == pytest.approx((1500, 500, 2000, 1000))
    inside = heat.to_frame().to_crs(heat.crs)
    np.testing.assert_allclose(inside.bounds, frame.bounds, atol=0.01)


def test_cards_are_small() -> None:
    """Points are counted in hexagons, so the card has the size of its map, whatever their number."""
    flat = np.random.default_rng(3).normal(scale=5000, size=(1_000_000, 2))
    release = gv.Locations(flat, crs=BAY.crs, area=BAY).points(rho=1e-9)
    assert len(release._repr_html_().encode()) < 100_000


def test_dense_cards_are_small() -> None:
    """Hulls of many persons are drawn in part, and the card says so; noisy lines are hexagons."""
    frame = trips(900)
    hulls = release_of("hull", frame, person=np.arange(900) // 3, **HOW)._repr_html_()
    assert "100 of 300 drawn" in hulls
    walk = np.cumsum(np.random.default_rng(3).normal(scale=50, size=(5000, 2)), axis=0)
    line = geopandas.GeoSeries([shapely.LineString(walk)], crs=BAY.crs)
    long = gv.Locations(line, area=BAY).points(rho=1e-2)._repr_html_()
    fine = release_of("points", frame, person=np.arange(900), **HOW).density(
        gv.Grid((-9000, -9000, 9000, 9000), cell=60)
    )
    for card in (hulls, long, fine._repr_html_()):
        assert len(card.encode()) < 100_000
    assert "points in hexagons" in long


def test_truth_only_if_given(tmp_path: Path) -> None:
    """A page with them says that it must not be shared; neither card nor plot has them."""
    frame = trips()
    release = release_of("hull", frame, **HOW)
    assert WARNING not in release.report(tmp_path / "page.html").read_text()
    assert WARNING in release.report(tmp_path / "mine.html", truth=frame).read_text()
    assert "layer truth" in release.explore(truth=frame.geometry)._repr_html_()
    assert "layer truth" not in release.explore()._repr_html_()
    for wrong in (frame.get_coordinates().to_numpy(), frame.geometry.set_crs(None, allow_override=True)):
        with pytest.raises(InvalidParameter, match="truth"):
            release.explore(truth=wrong)


def test_pages_are_isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook shows it in a frame without access to anything; outside, a browser opens a temporary file."""
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    view = release_of("hull", trips(), **HOW).explore(title='Hull "of" <all>')
    html = view._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert html.count("<") == 2
    assert 'sandbox="allow-scripts"' in html
    path = view.show_in_browser()
    assert opened == [path.as_uri()]
    assert "Hull &#34;of&#34; &lt;all&gt;" in path.read_text()
    assert "save(path)" in repr(view)


def test_missing_files_are_shown(tmp_path: Path) -> None:
    """What is shown never fails: without the file, the facts are shown alone."""
    release = of_file(tmp_path)
    assert "<svg" in release._repr_html_()
    release.value.unlink()
    assert "<svg" not in release._repr_html_()
    assert "60 points of 3 persons" in release._repr_html_()


def test_card_texts_are_escaped() -> None:
    """Labels of persons and names of columns are data."""
    frame = trips(3).assign(user=["<b>", "&amp;", '"'], **{"<i>": 1})
    card = (
        release_of("center", frame, person="user", **HOW)._repr_html_()
        + release_of("points", frame, person="user", **HOW)._repr_html_()
    )
    assert "<b></text>" not in card
    assert "<i>" not in card
    assert "&lt;b&gt;</text>" in card


def test_card_warnings_are_red() -> None:
    """A column released unchanged whose name says that it holds coordinates is a warning that cannot be overlooked."""
    frame = table().assign(home_lat=37.7)
    with pytest.warns(gv.errors.GeoveilWarning, match="home_lat"):
        card = release_of("points", frame, person="user", lat="lat", lon="lon", keep=["home_lat"], **HOW)._repr_html_()
    assert '<dd class="warning">the column home_lat' in card


def test_empty_map() -> None:
    """Without a location there is no map."""
    assert small_map([]) == ""


def test_default_error() -> None:
    """`error()` is `error(0.05)`, for releases and mechanisms."""
    release = release_of("nearest", trips(), STATION, k=3, locations=0.5, **HOW)
    assert release.error() == release.error(0.05)
    assert release.place_error() == release.place_error(0.05)
    mean = release_of("mean", trips(), **HOW)
    assert mean.mechanism.error() == mean.mechanism.error(0.05)


def test_tables_of_darwin_core() -> None:
    """Released points have the terms of Darwin Core: place, datum, uncertainty, and what was done."""
    frame = pd.DataFrame({"species": ["lynx", "lynx", "wolf"], "lat": [47.0, 47.1, 47.2], "lon": [8.0, 8.1, 8.2]})
    data = gv.Locations(frame, person="species", area="Switzerland", rng=np.random.default_rng(1))
    release = data.points(hide=500)
    table = release.darwin_core()
    np.testing.assert_array_equal(table.decimalLatitude, release.value.lat)
    np.testing.assert_array_equal(table.decimalLongitude, release.value.lon)
    assert table.species.tolist() == frame.species.tolist()
    radius = release.to_frame().radius_95
    assert ((table.coordinateUncertaintyInMeters - radius).between(0, 1)).all()
    assert table.dataGeneralizations.str.contains("(500 m hidden at 75%, CGP", regex=False).all()
    assert len(data.center(rho=1e-4).darwin_core()) == 2
    with pytest.raises(InvalidParameter, match="single points"):
        data.hull(rho=1e-3).darwin_core()
