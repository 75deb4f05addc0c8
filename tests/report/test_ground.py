"""The ground of maps: what lies where, in any view; meridians; base maps of the user."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import geoveil as gv
from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter
from geoveil.geo.distortion import earth
from geoveil.report import Layer, backdrop, compose
from geoveil.report.graticules import graticules_of, meridians_of, parallels_of
from geoveil.report.ground import packed
from geoveil.report.ground.basemap import check_basemap, read_basemap
from geoveil.report.ground.surroundings import Ground, _components, _without_stumps, ground_around
from geoveil.report.map_projection import Box, Projection

pytestmark = pytest.mark.slow

TEN = {
    "San Francisco": (-122.42, 37.77),
    "Beijing": (116.40, 39.91),
    "Zürich": (8.54, 47.37),
    "Arizona": (-111.2, 34.6),
    "Oslo": (10.73, 59.9),
    "Nairobi": (36.82, -1.29),
    "Fiji": (179.95, -16.8),
    "Svalbard": (15.6, 78.2),
    "Singapore": (103.83, 1.33),
    "Pacific": (-150.0, 12.0),
}


def around(lon: float, lat: float, reach: float = 20_000.0, *, beyond: bool = False) -> Ground:
    """The ground around a location."""
    return ground_around(Projection(lon, lat).to_map, lon, lat, reach, beyond=beyond)


def covers(shapes: Any, lon: float, lat: float, middle: tuple[float, float]) -> bool:
    """Whether shapes of the map around a middle cover a place."""
    return bool(
        shapely.intersects(shapes, shapely.Point(*Projection(*middle).to_map(np.array([[lon, lat]]))[0])).any()
    )


@pytest.mark.parametrize(
    ("lon", "lat", "land"),
    [
        (-122.45, 37.75, True),  # San Francisco
        (-122.65, 37.75, False),
        (-122.33, 37.72, False),  # the bay
        (-122.371, 37.825, True),  # Treasure Island, 1 km wide
        (179.2, -16.5, True),  # Vanua Levu, Fiji
        (-179.97, -16.85, True),  # Taveuni, on the other side of the antimeridian
        (179.5, -18.5, False),
        (179.9, 68.0, True),  # Chukotka
        (-179.9, 68.0, True),
        (16.0, 78.5, True),  # Svalbard
        (10.0, 80.5, False),
        (-150.0, 0.0, False),  # mid-Pacific
        (0.0, 89.9, False),
        (0.0, -90.0, True),
        (0.0, -84.99, True),
        (10.0, 50.0, True),
        (-98.0, 39.0, True),
    ],
)
def test_land_is_right(lon: float, lat: float, land: bool) -> None:
    """Land and sea of known places, on a map of their own and on a wide one of another place, 300 km away."""
    assert covers(around(lon, lat).land, lon, lat, (lon, lat)) == land
    away, north, _ = earth().fwd(lon, lat, 200.0, 3e5)
    middle = (float(away), float(north))
    assert covers(around(*middle, 3.2e5).land, lon, lat, middle) == land


def test_water_is_right() -> None:
    """Lakes and wide rivers lie on land, or land has a hole there."""
    for lon, lat in [(8.58, 47.31), (-87.0, 43.5), (50.0, 42.0), (108.0, 53.5)]:  # Zürich, Michigan, Caspian, Baikal
        ground = around(lon, lat)
        assert covers(ground.water, lon, lat, (lon, lat)) or not covers(ground.land, lon, lat, (lon, lat))
    assert not covers(around(8.54, 47.37).water, 8.54, 47.40, (8.54, 47.37))


@pytest.mark.parametrize("name", TEN)
def test_ten_places_are_recognisable(name: str) -> None:
    """A map of each place names it or what is near; it is valid, and small enough for a page."""
    ground = around(*TEN[name], 15_000.0, beyond=name == "Fiji")
    known = {"Fiji": "Fiji", "Svalbard": "Longyearbyen", "Arizona": "Arizona", "Pacific": "Hawaii"}
    assert known.get(name, name) in ground.where
    assert shapely.is_valid(ground.land).all()
    assert shapely.is_valid(ground.water).all()
    lines = (ground.borders, ground.rivers, ground.roads)
    corners = shapely.get_num_coordinates(
        np.concatenate([ground.land, ground.water, *(each.shapes for each in lines)])
    )
    assert corners.sum() < 50_000
    assert all(len(each.shapes) == len(each.ranks) for each in lines)
    places = ground.places
    assert len(places.names) == len(places.flat) == len(places.populations) == len(places.reaches)
    assert name != "Fiji" or len(places.names) > 50
    assert (np.diff(places.populations) <= 0).all()
    if name in ("Beijing", "Zürich", "Oslo", "Nairobi", "Singapore", "San Francisco"):
        near = np.abs(places.flat).max(axis=1) < 15_000
        assert near.sum() > 5
        assert name in np.array(places.names)[near]
        assert len(ground.roads.shapes) > 20


@pytest.mark.parametrize("reach", [300.0, 1e5, 2e7])
@pytest.mark.parametrize("middle", [(180.0, -17.0), (0.0, 90.0), (8.54, 47.37)])
def test_views_of_any_size(middle: tuple[float, float], reach: float) -> None:
    """Everything lies in the square, from some hundred metres to the whole world."""
    ground = around(*middle, reach)
    lines = [each.shapes for each in (ground.borders, ground.rivers, ground.roads)]
    bounds = shapely.bounds(np.concatenate([ground.land, ground.water, *lines]))
    assert np.isfinite(bounds).all()
    assert np.abs(bounds).max(initial=0.0) <= min(reach, 1.5e7) * 1.001
    assert np.abs(ground.places.flat).max(initial=0.0) <= reach
    assert shapely.get_num_coordinates(ground.land).sum() < 50_000


def test_land_has_no_gaps() -> None:
    """Pieces of land of neighbouring degrees meet, also where a coast leaves their edge at a small angle."""
    middle = (179.85, -17.38)
    to_map = Projection(*middle).to_map
    inland = shapely.transform(shapely.box(177.76, -18.02, 177.92, -17.98), to_map)  # on Viti Levu
    land = shapely.union_all(around(*middle, 228_000.0).land)
    assert shapely.difference(inland, land).is_empty


def test_city_coasts_have_corners() -> None:
    """The piers of San Francisco and the islands of Oslo's fjord are drawn, and few corners are needed for them."""
    for middle, least, most in (((-122.40, 37.78), 150, 1500), ((10.74, 59.90), 400, 3000)):
        land = around(*middle, 8_000.0).land
        assert least < shapely.get_num_coordinates(land).sum() < most


def test_lone_roads_are_dropped() -> None:
    """A piece of road is drawn if it is long, or joins others with which it is."""
    ends = [(0, 0, 3e3, 0), (3.1e3, 0, 5e3, 0), (0, 9e3, 3e3, 9e3), (0, -9e3, 5e3, -9e3)]
    roads = np.array([shapely.LineString(np.reshape(end, (2, 2))) for end in ends])
    assert _without_stumps(roads).tolist() == [True, True, False, True]


@pytest.mark.parametrize("edges", [0, 20, 60, 400])
def test_components_match_scipy(edges: int) -> None:
    """Lines that join each other, directly or through others, form one road."""
    pairs = np.random.default_rng(edges).integers(100, size=(2, edges))
    first, second = np.hstack([pairs, pairs[::-1]])
    found = _components(100, first, second)
    _, expected = connected_components(coo_array((np.ones(2 * edges), (first, second)), shape=(100, 100)))
    assert len(np.unique(found)) == len(np.unique(np.column_stack([found, expected]), axis=0)) == expected.max() + 1


def test_city_roads_are_joined() -> None:
    """In San Francisco nearly all roads that are drawn join each other."""
    roads = around(-122.43, 37.77, 7_600.0).roads.shapes
    joined = shapely.get_parts(shapely.union_all(shapely.buffer(roads, 100.0)))
    assert shapely.area(joined).max() > 0.8 * shapely.area(joined).sum()


def test_map_squares_do_not_overlap() -> None:
    """Land of the nearest square and land beyond it touch at most."""
    land = around(-122.42, 37.77, 500_000.0, beyond=True).land
    assert shapely.area(shapely.union_all(land)) == pytest.approx(shapely.area(land).sum(), rel=1e-3)


@pytest.fixture
def no_ground(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Maps as they are where geoveil-ground is not installed."""
    monkeypatch.setattr(packed, "_DATA", "geoveil_ground_that_is_not_installed")
    backdrop._ground.cache_clear()
    yield
    backdrop._ground.cache_clear()


@pytest.mark.usefixtures("no_ground")
def test_maps_without_ground(tmp_path: Path) -> None:
    """Without geoveil-ground a map has meridians, a scale and names, on a plain sheet, and says what to install."""
    for at in ([-122.41, 37.78], [-150.0, 0.0]):
        scene = compose([Layer("places", np.array([at]), "marks", "released")])
        assert scene is not None
        assert "pip install 'geoveil[maps]'" in scene.source
        assert "GSHHG" not in scene.source
        assert scene.locator is None
        assert scene.graticules
        assert {group.name for group in scene.groups if any(len(shape.parts) for shape in group.shapes)} == {
            *("land and water", "places")
        }
        assert not any("Ocean" in label.text for label in scene.labels)
    release = gv.Locations([at], crs=4326, area=gv.local(lat=0, lon=-150, radius=1e5)).points(hide=20_000)
    assert "pip install &#39;geoveil[maps]&#39;" in release.report(tmp_path / "map.html").read_text(encoding="utf-8")
    assert release.report(tmp_path / "map.png").stat().st_size > 10_000
    assert "no coasts or roads" in release._repr_html_()
    assert "San Francisco" in around(-122.41, 37.78).where


@pytest.mark.usefixtures("no_ground")
def test_own_maps_without_ground(tmp_path: Path) -> None:
    """The user's own base map is drawn without geoveil-ground, too."""
    path = tmp_path / "streets.geojson"
    streets(Projection(8.54, 47.37)).to_file(path)
    scene = compose(
        [Layer("places", np.array([[8.54, 47.37], [8.55, 47.37]]), "points", "released")], basemap=str(path)
    )
    assert scene is not None
    assert "base map" in [group.name for group in scene.groups]
    assert scene.source.startswith("Base map: streets.geojson. ")


def test_where_a_location_is() -> None:
    """A location is named by its city, or by the nearest place with direction and distance."""
    assert around(36.82, -1.29).where == "Nairobi, Kenya."
    assert " km " in around(-150.0, 12.0).where
    assert " of " in around(0.0, -90.0).where


def test_meridians_meet() -> None:
    """A map of a pole has meridians all around it and parallels that are circles."""
    pole, box = Projection(0.0, 90.0), Box(-1e6, -1e6, 1e6, 1e6)
    meridians, parallels = meridians_of(pole, box, 30.0, 5.0), parallels_of(pole, box, 5.0)
    assert len(meridians) == 12
    assert len(parallels) > 1
    assert {"0°", "180°", "90° E", "90° W"} <= {name for name, _ in meridians}
    assert all(np.ptp(np.hypot(*line.T)) < 1.0 for _, line in parallels)


def test_polar_maps_have_meridians() -> None:
    """The lines that a map around a pole shows first are meridians and parallels."""
    view = Box(-5e4, -5e4, 5e4, 5e4)
    for lat in (89.8, -89.8):
        lines = [*graticules_of(Projection(0.0, lat), view, view.side / 900, beyond=True)]
        [first] = [each for each in lines if each.finest <= view.side / 900 < each.coarsest]
        assert len(first.meridians) > 11
        assert first.parallels


@pytest.mark.parametrize("width", [3e3, 3e4, 1e6])
def test_meridians_are_few(width: float) -> None:
    """A view has some lines, with names that differ."""
    for middle in TEN.values():
        view = Box(-width / 2, -width / 3, width / 2, width / 3)
        for graticule in graticules_of(Projection(*middle), view, width / 900, beyond=False):
            for lines in (graticule.meridians, graticule.parallels):
                assert 2 <= len(lines) <= 70
                assert len({name for name, _ in lines}) == len(lines)
                assert all(np.isfinite(line).all() for _, line in lines)


def streets(projection: Projection) -> Any:
    """A park, two streets and a tree in a view, and a street far away, as a frame in degrees."""
    import geopandas

    shapes = [
        shapely.box(-200, -200, 200, 200),
        shapely.LineString([(-3000, 0), (3000, 10)]),
        shapely.LineString([(0, -900), (0, 900)]),
        shapely.Point(50, 50),
        shapely.LineString([(50_000, 0), (51_000, 0)]),
    ]
    back = np.vectorize(projection.to_degrees)
    shapes = [shapely.transform(shape, lambda flat: np.column_stack(back(*flat.T))) for shape in shapes]
    return geopandas.GeoDataFrame({"n": range(5)}, geometry=shapes, crs="EPSG:4326")


@pytest.mark.parametrize(
    "name", ["a.gpkg", "a.geojson", "a.parquet", "a.shp", "a.pmtiles", "swiss.gpkg", "covered.parquet"]
)
def test_base_maps_are_clipped(tmp_path: Path, name: str) -> None:
    """Files of all formats give the areas, lines and points of the view."""
    import pyogrio

    projection, path = Projection(8.54, 47.37), tmp_path / name
    frame = streets(projection)
    if name == "swiss.gpkg":
        frame = frame.to_crs("EPSG:2056")
    if path.suffix == ".parquet":
        frame.to_parquet(path, write_covering_bbox=name.startswith("covered"))
    elif path.suffix == ".shp":
        pyogrio.write_dataframe(frame[frame.geom_type == "LineString"], path)
    else:
        options = {"driver": "PMTiles", "MINZOOM": 8, "MAXZOOM": 15} if path.suffix == ".pmtiles" else {}
        pyogrio.write_dataframe(frame, path, layer="streets", **options)
    found = read_basemap(path, projection, Box(-1000, -1000, 1000, 1000))
    assert shapely.length(shapely.union_all(found.lines)) == pytest.approx(3800, rel=0.02)
    if path.suffix != ".shp":
        assert shapely.area(shapely.union_all(found.areas)) == pytest.approx(160_000, rel=0.05)
        assert len(found.points) == 1
    assert np.abs(shapely.bounds(np.concatenate([found.areas, found.lines, found.points]))).max() <= 1000.1
    assert not found.remark


def test_antimeridian_base_maps(tmp_path: Path) -> None:
    """A view across 180 degrees has what lies on both sides."""
    import geopandas

    sides = [shapely.box(179.99, -17.01, 180.0, -16.99), shapely.box(-180.0, -17.01, -179.99, -16.99)]
    geopandas.GeoDataFrame(geometry=sides, crs="EPSG:4326").to_file(tmp_path / "fiji.geojson")
    areas = read_basemap(tmp_path / "fiji.geojson", Projection(180.0, -17.0), Box(-5e3, -5e3, 5e3, 5e3)).areas
    assert shapely.bounds(shapely.union_all(areas)) == pytest.approx([-1065, -1107, 1065, 1107], abs=5)
    assert len(areas) == 2


def test_base_maps_stay_small(tmp_path: Path) -> None:
    """Of a file with more than a map has room for, the coarser part is drawn, and the map says so."""
    import geopandas

    x = np.linspace(8.4, 8.7, 100_000)
    line = shapely.LineString(np.column_stack([x, 47.37 + 0.02 * np.random.default_rng(1).random(len(x))]))
    points = shapely.points(np.column_stack([x[::10], np.full(10_000, 47.38)]))
    path = tmp_path / "much.parquet"
    geopandas.GeoDataFrame(geometry=[line, *points], crs="EPSG:4326").to_parquet(path)
    found = read_basemap(path, Projection(8.54, 47.37), Box(-20_000, -20_000, 20_000, 20_000))
    assert shapely.get_num_coordinates(found.lines).sum() <= 60_000
    assert len(found.points) <= 2_000
    assert "much.parquet" in found.remark
    away = read_basemap(path, Projection(-120.0, 40.0), Box(-20_000, -20_000, 20_000, 20_000))
    assert away.remark == "Base map much.parquet: nothing of it lies in this view."


def test_wrong_maps_are_refused(tmp_path: Path) -> None:
    """Errors name the file, what is wrong, what is allowed, and the remedy."""
    import geopandas

    projection, box = Projection(8.54, 47.37), Box(-1000, -1000, 1000, 1000)
    with pytest.raises(InvalidParameter, match=r"basemap.*streets\.osm.*GeoPackage"):
        check_basemap("streets.osm")
    with pytest.raises(FileUnavailable, match=r"none\.gpkg"):
        read_basemap(tmp_path / "none.gpkg", projection, box)
    (tmp_path / "bad.gpkg").write_text("nothing")
    with pytest.raises(InvalidFile, match=r"bad\.gpkg"):
        read_basemap(tmp_path / "bad.gpkg", projection, box)
    streets(projection).set_crs(None, allow_override=True).to_parquet(tmp_path / "nowhere.parquet")
    with pytest.raises(InvalidFile, match="coordinate system"):
        read_basemap(tmp_path / "nowhere.parquet", projection, box)
    geopandas.pd.DataFrame({"n": [1]}).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(InvalidFile, match="GeoParquet"):
        read_basemap(tmp_path / "table.parquet", projection, box)
    (tmp_path / "empty.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": []}))
    assert "nothing" in read_basemap(tmp_path / "empty.geojson", projection, box).remark
