"""Releases about a crowd: their noise, their forms, and what they say about themselves."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import geopandas
import jsonschema
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.errors import InvalidParameter
from tests.questions import release_of

pytestmark = pytest.mark.slow

X = np.random.default_rng(1).normal(0, 1500, size=(300, 2))
GRID = gv.Grid((-4000, -4000, 4000, 4000), cell=2000)
REGIONS = [shapely.box(-4000, -4000, 0, 4000), shapely.box(0, -4000, 4000, 4000), shapely.box(-900, -900, 900, 900)]
BAY = gv.local(lat=37.77, lon=-122.42, radius=20_000)
PEOPLE = np.arange(300)


def frame() -> pd.DataFrame:
    """Three hundred persons with one point each around San Francisco in four hours."""
    lat, lon = np.random.default_rng(1).normal([37.77, -122.42], 0.03, size=(300, 2)).T
    times = pd.Timestamp("2026-01-01T05:00Z") + pd.to_timedelta(np.arange(300) * 48, unit="s")
    return pd.DataFrame({"user": PEOPLE, "lat": lat, "lon": lon, "time": times})


def districts() -> geopandas.GeoSeries:
    """Two districts, one of them of two parts with a hole."""
    west = shapely.box(-122.6, 37.7, -122.42, 37.9) - shapely.box(-122.5, 37.75, -122.48, 37.77)
    parts = shapely.union_all([west, shapely.box(-122.3, 37.7, -122.28, 37.72)])
    return geopandas.GeoSeries([parts, shapely.box(-122.42, 37.7, -122.3, 37.9)], ["west", "east"], crs=4326)


def released(name: str, **how: Any) -> Any:
    """Ask one of the three questions about the frame."""
    data, more = frame(), {"person": "user", "area": BAY, "rho": 5e-5, "rng": np.random.default_rng(2), **how}
    if name == "heatmap":
        return release_of("heatmap", data, 5000, **more)
    if name == "counts":
        return release_of("counts", data, districts(), **more)
    ends = data[["lat", "lon"]].iloc[::-1].reset_index(drop=True)
    return release_of("flows", data, 10_000, trip=gv.Locations(ends, area=BAY), **more)


EVERY = pytest.mark.parametrize("name", ["heatmap", "counts", "flows"])
SLICED = pytest.mark.parametrize("every", [None, "1 hour"])


def asked(name: str, rng: np.random.Generator) -> Any:
    """Ask a question whose noise is measured."""
    how: dict[str, Any] = {"person": PEOPLE, "rng": rng}
    if name == "map":
        return release_of("heatmap", X, GRID, rho=5e-5, **how)
    if name == "map, GP":
        return release_of("heatmap", X, GRID, epsilon=0.01, **how)
    if name == "fine map, GP":
        return release_of("heatmap", X, GRID, epsilon=0.01, bandwidth=500, **how)
    if name == "counts, GP":
        return release_of("counts", X, REGIONS, epsilon=0.01, **how)
    return release_of("flows", X, GRID, trip=gv.Locations(X + 500), rho=5e-5, **how)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("name", ["map", "map, GP", "fine map, GP", "counts, GP", "flows"])
def test_error_is_a_quantile(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`error(0.05)` is the 95% quantile of the largest noise, within 5%, and `each` that of one number."""
    # Only unprocessed numbers are looked at.
    monkeypatch.setattr("geoveil.answering.crowd.sharpen", lambda maps, *_, **__: np.maximum(maps, 1e-9))
    rng = np.random.default_rng(5)
    draws = [asked(name, rng) for _ in range(400)]
    noisy = np.array([draw.noisy.ravel() for draw in draws])
    noise = np.abs(noisy - noisy.mean(axis=0))
    largest, each = np.quantile(noise.max(axis=1), 0.95), np.quantile(noise, 0.95)
    release = draws[0]
    assert 0.9 < release.error(0.05) / largest < 1.1
    assert 0.9 < release.error(0.05, each=True) / each < 1.1
    assert 0.94 < release.deviation / (noisy - noisy.mean(axis=0)).std() < 1.06


@EVERY
@SLICED
def test_release_is_pickled(name: str, every: Any) -> None:
    """Pickles keep all numbers, and certificates follow the schema."""
    release = released(name, every=every)
    again = pickle.loads(pickle.dumps(release))
    assert np.array_equal(again.noisy, release.noisy)
    assert again.error(0.1) == release.error(0.1)
    schema = json.loads((Path(gv.__file__).parent / "certificates" / "certificate.schema.json").read_text())
    certificate = json.loads(json.dumps(release.certificate()))
    jsonschema.validate(certificate, schema)
    assert certificate["crowd_noise"]["total"] == pytest.approx(300)
    assert certificate["crowd_noise"]["zcdp"] == release.zcdp
    shown = repr(release)
    assert "persons" in shown
    assert "95%" in shown
    assert "<" in release._repr_html_()
    table = (release.all_flows() if name == "flows" else release).to_frame()
    assert table[release.counted].sum() == pytest.approx(release._numbers.sum())
    assert ("slice" in table) == (every is not None)
    assert len(release.slices) == (4 if every else 0)


@EVERY
@SLICED
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".geojson", ".gpkg", ".json", ".tsv", ".fgb"])
def test_release_is_verified(name: str, every: Any, ending: str, tmp_path: Path) -> None:
    """Numbers are the same in the file, and its certificate is beside it."""
    release = released(name, every=every)
    path = release.to_file(tmp_path / f"out{ending}")
    assert gv.verify(path)
    if ending in (".geojson", ".gpkg"):
        read = geopandas.read_file(path)
        assert np.allclose(read[release.counted].sum(), release.to_frame()[release.counted].sum(), rtol=1e-6)


@SLICED
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_heat_map_raster(every: Any, tmp_path: Path) -> None:
    """A GeoTIFF has a band for each slice, the first row in the north, and lies where the cells lie."""
    rasterio = pytest.importorskip("rasterio")
    release = released("heatmap", every=every)
    with rasterio.open(release.to_file(tmp_path / "heat.tif")) as file:
        bands = file.read()
        assert file.descriptions == (release.slices or (None,))
        west, south, east, north = file.bounds
    assert np.array_equal(bands[:, ::-1], release.value.reshape(bands.shape))
    assert (west, south, east, north) == pytest.approx(release.grid.bounds)
    assert gv.verify(tmp_path / "heat.tif")


@EVERY
@SLICED
def test_reports_draw_a_layer(name: str, every: Any, tmp_path: Path) -> None:
    """The report of a release has its map, and says what noise and blur are."""
    release = released(name, every=every)
    layers = release.layers()
    assert len(layers) == 1
    text = release.report(tmp_path / "report.html").read_text()
    assert "persons" in text
    assert "<svg" in text
    assert release.plot() is not None


def test_elsewhere_is_off_map() -> None:
    """A grid of a part of the area leaves the rest of the total elsewhere."""
    release = gv.Locations(X, person=PEOPLE, rng=np.random.default_rng(1)).heatmap(
        gv.Grid((0, -4000, 4000, 4000), cell=1000), rho=1e-3
    )
    inside = int((X[:, 0] > 0).sum())
    assert release.value.sum() + release.elsewhere == pytest.approx(300)
    assert abs(release.value.sum() - inside) < 20


def test_whole_area_adds_up() -> None:
    """If the grid covers the area, everybody is on the map."""
    release = released("heatmap")
    assert release.value.sum() == pytest.approx(300)
    assert release.elsewhere == pytest.approx(0, abs=1e-9)


def test_ordinary_dp_is_stated() -> None:
    """Ordinary differential privacy is that of the theorem.

    ρ·s²·1.231 for a map whose kernel has the side of a cell, and no more than the cap squared times that of one.
    """
    how: dict[str, Any] = {"person": PEOPLE, "rho": 5e-6, "rng": np.random.default_rng(1)}
    cells = release_of("flows", X, gv.Grid((-4000, -4000, 4000, 4000), cell=2000), trip=gv.Locations(X), **how)
    assert cells.zcdp > 0
    one = release_of("heatmap", X, gv.Grid((-4000, -4000, 4000, 4000), cell=500), bandwidth=1000, **how)
    two = release_of("heatmap", X, gv.Grid((-4000, -4000, 4000, 4000), cell=500), bandwidth=1000, cap=2, **how)
    assert two.zcdp == pytest.approx(one.zcdp, rel=1e-6)
    squared, scale = one._crowd_query.squared_norm, one._crowd_query.mechanism.scale
    assert one.zcdp == pytest.approx(float(squared) / scale**2, rel=1e-6)


def commuters(n: int, **how: Any) -> Any:
    """Ask about trips between three places, with one trip for each person."""
    rng = np.random.default_rng(3)
    hubs = np.array([[-5000.0, -5000.0], [5000.0, -3000.0], [-3000.0, 5000.0]])
    places = [hubs[rng.integers(0, 3, n)] + rng.normal(0, 300, size=(n, 2)) for _ in range(2)]
    grid = gv.Grid((-8000, -8000, 8000, 8000), cell=how.pop("cell", 2000))
    asked = {"person": np.arange(n), "rho": 5e-5, "rng": np.random.default_rng(4), **how}
    return release_of("flows", places[0], grid, trip=gv.Locations(places[1]), **asked)


def test_flows_above_noise() -> None:
    """Nearly all listed flows are true ones, all of those are listed, and the certificate states the rule."""
    flows = commuters(900)
    listed, every = flows.to_frame(), flows.all_flows().to_frame()
    assert 9 <= len(listed) <= len(every) == (flows.value > 0).sum()
    assert listed.persons.min() > flows.floor
    assert listed.noisy.min() > flows.floor
    near = {(-5000, -5000), (5000, -3000), (-3000, 5000)}
    ends = listed.head(9)[["from_x", "from_y", "to_x", "to_y"]].to_numpy()
    assert all(min(np.hypot(x - a, y - b) for a, b in near) < 1500 for x, y in ends.reshape(-1, 2))
    assert 700 < listed.persons.sum() < 900.001
    assert "noise alone lifts about one of 4,096 numbers above it" in str(flows.certificate()["processed"])
    assert "noise alone" not in str(flows.all_flows().certificate()["processed"])
    few = commuters(60)
    assert len(few.to_frame()) < len(few.all_flows().to_frame())


def test_noise_floor() -> None:
    """A single person far outside leaves noise alone, of which about one number is above the floor."""
    flows = commuters(900)
    noise = np.random.default_rng(5).normal(0, flows.deviation, size=(200, flows.noisy.size))
    assert 0.8 < (noise > flows.floor).sum(axis=1).mean() < 1.2


def test_lines_join_regions() -> None:
    """Flows between regions have their names, and lines in the coordinate system of the input."""
    ends = frame()[["lat", "lon"]].iloc[::-1].reset_index(drop=True)
    how: dict[str, Any] = {"person": "user", "area": BAY, "rho": 5e-5, "rng": np.random.default_rng(2)}
    table = release_of("flows", frame(), districts(), trip=gv.Locations(ends, area=BAY), **how).to_frame()
    assert {*table["from"]} | {*table["to"]} <= {"west", "east"}
    assert table.crs.to_epsg() == 4326
    first = table.iloc[0]
    assert first.geometry.coords[:] == [(first.from_lon, first.from_lat), (first.to_lon, first.to_lat)]


@pytest.mark.parametrize("cells", [1, 1.5, 2])
def test_wide_kernels_are_sharpened(cells: float) -> None:
    """With kernels of up to two cells, sharpened flows are less than half as wrong as the noisy ones."""
    truth = commuters(900, rho=1.0, bandwidth=100.0).value
    wide = commuters(900, bandwidth=cells * 2000 / np.sqrt(3))
    assert np.abs(wide.value - truth).sum() < 0.5 * np.abs(np.maximum(wide.noisy, 0) - truth).sum()


@pytest.mark.parametrize(
    ("n", "how", "remedy"),
    [
        (16, {"cell": 500}, "Make the cells at least "),
        (16, {"cell": 40}, "Make the cells at least "),
        (16, {"cell": 500, "rho": None, "epsilon": 1e-3}, ""),
        (1, {"cell": 500, "rho": 1e-14}, "Make the cells 8 km, and rho at least "),
        (16, {"cell": 500, "cap": 3}, "Make the cells at least "),
    ],
)
def test_hopeless_flows_are_refused(n: int, how: dict[str, Any], remedy: str) -> None:
    """Cells that are too small for the public number of persons are refused before anything is drawn."""
    with pytest.raises(InvalidParameter) as refused:
        commuters(n, **how)
    words = str(refused.value.remedy)
    assert words.startswith(remedy)
    length, unit = re.findall(r"([\d.]+) (k?m)\b", words)[0]
    how = {**how, "cell": float(length) * (1000 if unit == "km" else 1)}
    for name, number in re.findall(r"(rho|epsilon) at least (\S+)\.", words):
        how[name] = float(number)
    assert commuters(n, **how).floor > 0


@SLICED
@EVERY
def test_small_numbers_are_blank(name: str, every: Any, tmp_path: Path) -> None:
    """They are blank in values and files, with the unprocessed numbers beside them, or not listed; the others stay."""
    release = released(name, every=every)
    before = release._numbers
    least = float(np.median(before[before > 0]))
    blank = release.at_least(least)
    np.testing.assert_array_equal(blank._numbers, np.where(before < least, np.nan, before))
    np.testing.assert_array_equal(np.isnan(blank.noisy), before < least)
    assert blank.elsewhere == pytest.approx(release.total - before[before >= least].sum())
    assert blank.guarantee == release.guarantee
    assert f"numbers below {least:g} persons are left blank" in blank.certificate()["processed"]
    frame, whole = blank.to_frame(), release.to_frame()
    assert frame[frame.persons.notna()].persons.tolist() == whole[whole.persons >= least].persons.tolist()
    assert name != "flows" or frame.persons.notna().all()
    assert blank.to_file(tmp_path / "blank.geojson") is not None
    read = geopandas.read_file(tmp_path / "blank.geojson")
    assert read.persons.isna().sum() == read.noisy.isna().sum() == frame.persons.isna().sum()
    assert gv.verify(tmp_path / "blank.geojson")
    # Pages and figures draw it, and a later step keeps the blanks.
    blank.report(tmp_path / "blank.html")
    assert "NaN" not in (tmp_path / "blank.html").read_text()


def test_flows_keep_limits() -> None:
    """Flows below a limit are listed neither above noise nor among all."""
    flows = released("flows").at_least(2)
    assert flows.floor == released("flows").floor
    assert flows.all_flows().to_frame().persons.min() >= 2
    assert flows.all_flows().above_noise().to_frame().equals(flows.to_frame())


@pytest.mark.parametrize("k", [0, -1, np.nan, "ten"])
def test_limits_that_are_none(k: Any) -> None:
    """A limit is a positive number."""
    with pytest.raises(InvalidParameter, match="a number of persons, such as 10"):
        released("heatmap").at_least(k)


def test_tables_have_no_outlines(tmp_path: Path) -> None:
    """A CSV file of counts names regions, whose outlines are public and may be long; a GeoPackage has them."""
    counts = released("counts")
    counts.to_file(tmp_path / "counts.csv")
    assert pd.read_csv(tmp_path / "counts.csv").columns.tolist() == ["index", "persons", "error", "noisy", "rho"]
    assert gv.verify(tmp_path / "counts.csv")
    counts.to_file(tmp_path / "counts.gpkg")
    assert geopandas.read_file(tmp_path / "counts.gpkg").geometry.notna().all()
