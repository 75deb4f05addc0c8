"""Areas proposed by looking at the data."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import geoveil as gv
from geoveil.errors import InvalidCoordinateSystem, InvalidParameter
from geoveil.geo.proposals import propose_area, seem_swapped


def around(lat: float, lon: float, km: float, count: int = 200) -> NDArray[np.float64]:
    """Longitudes and latitudes around a point."""
    rng = np.random.default_rng(7)
    away = rng.normal(0, km / 111, (count, 2)) / [np.cos(np.radians(lat)), 1]
    return np.asarray(away + np.array([lon, lat]))


@pytest.mark.parametrize(
    ("lat", "lon", "km", "argument"),
    [
        (37.77, -122.42, 8, 'area="San Francisco"'),
        (40.75, -73.97, 6, 'area="New York City"'),
        (47.4, 8.5, 5, 'area="Zürich"'),
        (46.8, 8.2, 40, 'area="Switzerland"'),
        (-17.0, 179.9, 60, 'area="Fiji"'),
    ],
)
def test_covering_place_is_proposed(lat: float, lon: float, km: float, argument: str) -> None:
    """A city, else a region or a country; its area takes the data."""
    degrees = around(lat, lon, km)
    degrees[:, 0] = (degrees[:, 0] + 180) % 360 - 180
    found = gv.suggest_area(degrees)
    assert found.argument == argument
    assert found.outside == 0
    assert "looked at the data" in repr(found)
    assert found.place is not None
    assert gv.Locations(degrees, crs=4326, area=found.place).points(rho=1e-4).n == len(degrees)


def test_outliers_are_counted() -> None:
    """Points at 0, 0 and a few far away do not change the area."""
    degrees = np.vstack([around(37.77, -122.42, 8), np.zeros((9, 2)), [[100.0, 20.0], [np.nan, 1.0]]])
    found = propose_area(degrees)
    assert found is not None
    assert (found.place, found.points, found.outside, found.clamps) == ("San Francisco", 211, 11, False)
    assert "covers 200 of 211 points; 11 are outside: --outside drop removes them." in found.described(option=True)
    near = propose_area(np.vstack([around(39.95, 116.35, 10), around(31.2, 121.4, 3, 20)]))
    assert near is not None
    assert near.clamps
    assert "outside='clamp' moves them" in near.described()


def test_disc_is_proposed() -> None:
    """Its centre and radius are round numbers, and it covers the data."""
    degrees = around(-40.0, -100.0, 100)
    found = propose_area(degrees)
    assert found is not None
    assert found.place is None
    assert found.option == f"--area {found.lat:g},{found.lon:g},{found.radius / 1000:g}km"
    area = gv.local(lat=found.lat, lon=found.lon, radius=found.radius)
    assert gv.Locations(degrees, crs=4326, area=area).points(rho=1e-4).n == len(degrees)
    assert found.argument.startswith("area=gv.local(lat=")


def test_worldwide_data_has_none() -> None:
    """The remedy is to release it part by part."""
    rng = np.random.default_rng(1)
    degrees = np.column_stack([rng.uniform(-180, 180, 300), rng.uniform(-60, 70, 300)])
    assert propose_area(degrees) is None
    with pytest.raises(InvalidParameter, match="part by part"):
        gv.suggest_area(degrees)
    with pytest.raises(InvalidParameter, match="at least one longitude"):
        gv.suggest_area(np.empty((0, 2)))


def test_swapped_columns_are_noticed() -> None:
    """Out of range, or nowhere near a city where they would be if exchanged; the ocean by itself is no sign."""
    for lat, lon in ((48.85, 2.35), (37.77, -122.42), (39.9, 116.4), (-33.45, -70.66), (52.52, 13.4)):
        degrees = around(lat, lon, 5)
        assert not seem_swapped(degrees)
        assert seem_swapped(degrees[:, ::-1])
        assert seem_swapped(np.vstack([degrees[:, ::-1], np.zeros((50, 2))]))
    assert not seem_swapped(around(-40, -60, 50))
    assert not seem_swapped(np.zeros((3, 2)))
    assert not seem_swapped(np.array([[500.0, 400.0]]))


def test_frames_and_tables() -> None:
    """The system of a frame is used, and the columns of a table are named."""
    degrees = around(47.4, 8.5, 5)
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*degrees.T), crs=4326).to_crs(2056)
    table = pd.DataFrame(degrees, columns=["lng", "lat"])
    table.loc[3, "lat"] = np.nan
    odd = table.rename(columns={"lng": "a", "lat": "b"})
    assert gv.suggest_area(frame).place == gv.suggest_area(frame.geometry).place == "Zürich"
    assert gv.suggest_area(table).place == gv.suggest_area(odd, lat="b", lon="a").place == "Zürich"
    assert gv.suggest_area(table).points == len(table) - 1


def test_suggestions_are_no_areas() -> None:
    """Whoever releases the data writes the area that is published."""
    degrees = around(47.4, 8.5, 5)
    with pytest.raises(InvalidCoordinateSystem):
        gv.Locations(degrees, crs=4326, area=gv.suggest_area(degrees)).points(rho=1e-4)  # type: ignore[arg-type]
