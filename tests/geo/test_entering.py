"""Locations that enter: degrees are not taken as metres, swapped coordinates and distant places are told."""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.errors import InvalidData, InvalidParameter
from tests import questions
from tests.formats import BAY
from tests.questions import EVERY_QUESTION, PLACED, QUESTIONS, release_of

DEGREES = [[-122.4194, 37.7749], [-122.2712, 37.8044], [-122.4477, 37.7612]]
METRES: Any = [[0, 0], [200.5, 80.25], [-3.1, 17]]

FORMS: dict[str, Any] = {
    "array": np.array(DEGREES),
    "list": DEGREES,
    "tuples": [tuple(point) for point in DEGREES],
    "latitude first": [point[::-1] for point in DEGREES],
    "MultiPoint": shapely.MultiPoint(DEGREES),
    "LineString": shapely.LineString(DEGREES),
    "Point": shapely.Point(DEGREES[0]),
    "Points": [shapely.Point(point) for point in DEGREES],
    "one whole number": [[-122, 37.7749]],
    "two decimals": [[-122.42, 37.77], [-122.4, 37.8]],
    "one decimal": [[8.5, 47.4], [9, 47]],
    "around the world": [[151.2093, -33.8688], [-0.1276, 51.5072]],
}


@pytest.mark.parametrize("form", FORMS)
def test_degrees_are_refused(form: str) -> None:
    """Coordinates that could all be degrees are refused, with what to say if they are, and what if they are not."""
    for name in QUESTIONS if form == "one decimal" else ["points"]:
        near = {"near": (0.0, 0.0)}
        with pytest.raises(InvalidData, match=r"^x = .*could be degrees.*crs=4326 and area=.*crs=\"metres\""):
            questions.ask(name, FORMS[form], **near)
        assert questions.ask(name, FORMS[form], crs="metres", **near).plane is None


@EVERY_QUESTION
def test_metres_are_taken(name: str) -> None:
    """Whole metres, and coordinates farther from the origin than 180 m, need no coordinate system."""
    far = [[-122.4194, 37.7749], [1000.4477, 37.7612]]
    for x in (METRES, np.array(METRES), far, [[3, 4], [-122, 37]], np.zeros((2, 2)), [[0.0001, 0.0002]]):
        assert questions.ask(name, x, near=(0.0, 0.0)).plane is None


def test_metres_are_for_arrays() -> None:
    """A frame has a coordinate system, and an area needs one."""
    with pytest.raises(InvalidParameter, match=r"^area = .*crs=4326"):
        gv.Locations(DEGREES, crs="metres", area=BAY).points(rho=1)
    with pytest.raises(InvalidParameter, match=r"^crs = 'metres'"):
        gv.Locations(geopandas.GeoSeries([shapely.Point(0, 0)]), crs="metres").points(rho=1)


def test_shapely_points_are_lists() -> None:
    """A list of Points is a tuple of points."""
    x = FORMS["Points"]
    how: dict[str, Any] = {"rho": 1e6, "crs": 4326, "area": BAY}
    released = release_of("points", x, **how).value
    assert isinstance(released, list)
    assert [type(point) for point in released] == [shapely.Point] * 3
    np.testing.assert_allclose(shapely.get_coordinates(released), DEGREES, atol=1e-6)
    assert released != x
    assert release_of("center", x, **how).value.geom_type == "Point"
    dropped = release_of("points", [*x, shapely.Point(10, 50)], person=["a", "b", "a", "c"], outside="drop", **how)
    assert (len(dropped.value), dropped.person.tolist()) == (3, ["a", "b"])
    with pytest.raises(InvalidData, match="GeoSeries"):
        release_of("points", [*x, shapely.LineString(DEGREES)], **how)


SWAPPED = [point[::-1] for point in DEGREES]
ZURICH = gv.local(lat=47.37, lon=8.54, radius=50_000)


@pytest.mark.parametrize("name", ["points", "center"])
def test_swapped_coordinates_are_told(name: str) -> None:
    """A latitude beyond 90, or points that lie in the area if swapped, say so."""
    told = "(?i)longitude and latitude (seem to be )?swapped"
    columns: dict[str, Any] = {"lat": "lon", "lon": "lat"}
    for x, more in (
        (SWAPPED, {"crs": 4326}),
        (geopandas.GeoSeries.from_xy(*np.array(SWAPPED).T, crs=4326), {}),
        (pd.DataFrame(DEGREES, columns=["lon", "lat"]), columns),
    ):
        with pytest.raises(InvalidData, match=told):
            questions.ask(name, x, area=BAY, **more)
    with pytest.raises(InvalidData, match=told):
        questions.ask(name, [[47.3769, 8.5417]], crs=4326, area=ZURICH)
    with pytest.raises(InvalidData, match=told):
        questions.ask(name, pd.DataFrame({"lat": [8.5417], "lon": [47.3769]}), area=ZURICH)


TABLE = pd.DataFrame(DEGREES, columns=["lon", "lat"])
PLACES: dict[str, tuple[Any, str]] = {
    "a lost sign": ((122.42, 37.77), "near it.*signs"),
    "swapped": ((37.77, -122.42), "swapped"),
    "elsewhere": (shapely.Point(8.54, 47.37), "near it"),
    "of another system": (geopandas.GeoSeries([shapely.Point(0, 0)], crs=32631), "near it"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", PLACED)
def test_far_places_are_refused(name: str, place: str) -> None:
    """A place with a lost sign or swapped coordinates is not answered about."""
    p, why = PLACES[place]
    for x, more in ((TABLE, {}), (np.array(DEGREES), {"crs": 4326})):
        with pytest.raises(InvalidParameter, match=rf"(?i)^p = .*{why}"):
            questions.ask(name, x, near=p, area=BAY, **more)
    assert questions.ask(name, TABLE, near=(-122.9, 37.9), area=BAY)


def test_far_geometries_are_refused() -> None:
    """A line or an area may extend beyond the public area, but a part of it must be near."""
    with pytest.raises(InvalidParameter, match=r"^p = 'Polygon'.*near it"):
        gv.Locations(TABLE, area=BAY).distance(shapely.box(-102, 37, -101, 38), rho=1e-4)
    coast = shapely.LineString([(-124.0, 40.0), (-122.5, 37.7), (-120.5, 34.5)])
    assert gv.Locations(TABLE, area=BAY).distance(coast, rho=1e-4).value >= 0


@pytest.mark.parametrize(
    "x",
    [
        [],
        (),
        np.empty((0, 2)),
        np.empty(0),
        shapely.MultiPoint(),
        geopandas.GeoSeries([], crs=4326),
        geopandas.GeoDataFrame({"user": []}, geometry=[], crs=4326),
        pd.DataFrame({"lat": [], "lon": []}),
        pd.DataFrame(columns=["lat", "lon"]),
    ],
    ids=lambda x: type(x).__name__,
)
def test_no_points_are_refused(x: Any) -> None:
    """An empty array, frame, table or geometry is told as such, in every plane and with persons."""
    ways: list[dict[str, Any]] = [{"crs": 4326, "area": BAY}, {"crs": 4326, "area": BAY, "outside": "clamp"}]
    persons: list[Any] = [None, []]
    for how in ways:
        for by in persons:
            with pytest.raises(InvalidData, match=r"at least one point|not empty"):
                gv.Locations(x, person=by, **how)
