"""Public regions from files, and the cells of H3 in an area."""

from __future__ import annotations

from pathlib import Path

import geopandas
import numpy as np
import pyproj
import pytest
import shapely

import geoveil as gv
from geoveil.errors import GeoveilError, InvalidParameter
from geoveil.geo.areas import area_of
from geoveil.geo.planes import Plane, plane_of
from geoveil.geo.region_files import named_regions, region_series

h3 = pytest.importorskip("h3")

#: Areas on a plain, across the antimeridian, in the far north, and around a corner of the icosahedron.
PLACES = ["37.77,-122.42,8km", "-17.8,179.99,8km", "78.2,15.6,8km", "58.65754,10.536,30km", "2056"]


def plane_at(place: str) -> Plane:
    """The plane of an area, for data in degrees."""
    return plane_of(pyproj.CRS(4326), area_of(place))


def file_of(folder: Path, **columns: list[object]) -> Path:
    """A file of two squares with these columns."""
    squares = [shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)]
    geopandas.GeoDataFrame(columns, geometry=squares, crs=4326).to_file(folder / "regions.geojson")
    return folder / "regions.geojson"


def test_regions_have_their_names(tmp_path: Path) -> None:
    """A column of names is used if it tells the regions apart; another one is named."""
    assert named_regions(file_of(tmp_path, Name=["a", "b"])).index.tolist() == ["a", "b"]
    assert named_regions(file_of(tmp_path, name=["a", "a"])).index.tolist() == [0, 1]
    assert named_regions(file_of(tmp_path, name=["a", None])).index.tolist() == [0, 1]
    assert named_regions(file_of(tmp_path, bezirk=["a", "b"], code=[7, 8])).index.tolist() == ["a", "b"]
    assert named_regions(file_of(tmp_path, bezirk=["a", "b"], land=["c", "d"])).index.tolist() == [0, 1]
    assert named_regions(file_of(tmp_path, code=[7, 8]), "code").index.tolist() == [7, 8]
    with pytest.raises(GeoveilError, match=r"there is no column 'nom'\. The columns are code"):
        named_regions(file_of(tmp_path, code=[7, 8]), "nom")


@pytest.mark.parametrize("place", PLACES)
def test_cells_cover_the_area(place: str) -> None:
    """Cells of H3 are all of those that meet the area, each with the index that H3 gives to places in it."""
    area = area_of(place)
    plane = plane_at(place)
    cells = region_series("h3:4" if place == "2056" else "h3:7", plane)
    assert cells.index.is_unique
    inside = np.random.default_rng(1).uniform(area.low, area.high, size=(2000, 2))
    inside = inside[~area.outside(inside)]
    lon, lat = plane.degrees(inside).T
    resolution = h3.get_resolution(cells.index[0])
    found = {h3.latlng_to_cell(*at, resolution) for at in zip(lat, lon, strict=True)}
    assert found <= {*cells.index}
    # Cells that only touch the area are few.
    outer = cells.index.difference([*found])
    middles = np.array([h3.cell_to_latlng(cell)[::-1] for cell in outer]).reshape(-1, 2)
    away = plane.into(np.column_stack([(middles[:, 0] + 180) % 360 - 180, middles[:, 1]]))
    edge = 2200 * h3.average_hexagon_edge_length(resolution)
    assert (np.abs(away - area.middle) <= np.subtract(area.high, area.middle) + edge).all()


def test_cells_do_not_overlap() -> None:
    """The shares of a place in all cells add up to one, so that cells need no more noise than a grid."""
    people = gv.Locations([[-122.42, 37.77]], crs=4326, area="37.77,-122.42,8km", rng=np.random.default_rng(1))
    counted = people.counts("h3:8", rho=1e-3)
    assert isinstance(counted.answers[0].query.guarantee, gv.CGP)
    assert counted.value.persons.sum() + counted.elsewhere == pytest.approx(1)
    assert counted.answers[0].query.regions.cover == pytest.approx(1, abs=1e-6)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("h3:12", r"at most 10,000 cells in the area\. Use h3:9"),
        ("h3:16", "h3:0 to h3:15"),
        ("districts.gpkg", "file not found"),
    ],
)
def test_cells_that_are_none(given: str, said: str) -> None:
    """Too many cells are refused with a size that works."""
    people = gv.Locations([[-122.42, 37.77]], crs=4326, area="37.77,-122.42,8km")
    with pytest.raises(GeoveilError, match=said):
        people.counts(given, rho=1e-3)


def test_named_size_works() -> None:
    """The resolution that a refusal names has at most the largest number of cells."""
    plane = plane_at("37.77,-122.42,8km")
    with pytest.raises(InvalidParameter, match="Use h3:9"):
        region_series("h3:15", plane)
    assert 1000 < len(region_series("h3:9", plane)) <= 10_000


def test_metres_have_no_cells() -> None:
    """Metres without an area are nowhere on the Earth."""
    with pytest.raises(InvalidParameter, match="metres of no known plane"):
        gv.Locations(np.zeros((3, 2))).counts("h3:8", rho=1)
