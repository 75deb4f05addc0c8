"""Other libraries take releases as they take a table, and `Locations` takes what other libraries make."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import duckdb
import geopandas
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import shapely

import geoveil as gv
from geoveil.errors import InvalidCoordinateSystem, InvalidData
from tests.formats import BAY
from tests.questions import CROWD_QUESTIONS, QUESTIONS, ask, release_of

HOMES = pd.DataFrame({"user": ["ann", "bob"], "lat": [37.78, 37.76], "lon": [-122.41, -122.45]})
FRAME = geopandas.GeoDataFrame(HOMES[["user"]], geometry=geopandas.points_from_xy(HOMES.lon, HOMES.lat), crs=4326)
FEATURES = FRAME.__geo_interface__
HOW: dict[str, Any] = {"person": "user", "area": BAY, "hide": 1}


def released(source: Any, **more: Any) -> Any:
    """The value of a release of points that hides a metre, which moves no point by a kilometre."""
    return release_of("points", source, **{**HOW, **more}).value


def check_frame(value: Any) -> None:
    """Check that a released GeoDataFrame is about `HOMES`, and has their system."""
    assert isinstance(value, geopandas.GeoDataFrame)
    assert value.crs == 4326
    assert value.user.tolist() == ["ann", "bob"]
    assert (value.to_crs(BAY.crs).distance(FRAME.to_crs(BAY.crs)) < 1000).all()


RELEASE = release_of("points", HOMES, **HOW)


def test_polars_takes_releases() -> None:
    """A release is a DataFrame of polars, whose shapes are of a type of GeoArrow; it is taken again."""
    table = pl.DataFrame(RELEASE)
    assert table.columns == ["user", "geometry", "radius_95", "rho"]
    assert "geoarrow.wkb" in str(table.schema["geometry"])
    check_frame(released(table))
    check_frame(released(table.lazy()))


def test_duckdb_takes_releases() -> None:
    """A release is a relation of DuckDB by its name, whose shapes are GEOMETRY with their system."""
    release = RELEASE
    shapes: Any = duckdb.sql("SELECT st_astext(geometry) FROM release ORDER BY user")
    texts = [text for (text,) in shapes.fetchall()]
    assert shapely.equals(shapely.from_wkt(texts), release.to_frame().geometry.array).all()
    relation: Any = duckdb.sql("SELECT * FROM release WHERE rho > 0")
    assert str(relation.types[1]).startswith("GEOMETRY")
    check_frame(released(relation))


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
def test_ibis_takes_releases() -> None:
    """A release is a table of Ibis, and a table of Ibis returns as one."""
    import ibis

    shown = ibis.memtable(pa.table(RELEASE))
    assert shown.filter(shown.user == "ann").count().execute() == 1
    check_frame(released(shown))
    value = released(ibis.memtable(HOMES))
    assert isinstance(value, ibis.Table)
    assert value.columns == ("user", "lat", "lon")
    assert np.abs(value.execute()[["lat", "lon"]] - HOMES[["lat", "lon"]]).max(axis=None) < 0.01


def test_shapely_takes_releases() -> None:
    """Features of a release are geometries of shapely, in WGS 84 whatever its own system is."""
    flat = release_of("hull", FRAME.to_crs(32610), area=BAY, rho=1e-4, k=12)
    [feature] = flat.__geo_interface__["features"]
    shape = shapely.geometry.shape(feature)
    assert shape.geom_type == "Polygon"
    assert -180 <= shape.centroid.x <= -100
    assert flat.to_frame().crs == 32610


def test_geopandas_takes_releases() -> None:
    """GeoPandas reads the stream of a release, with its coordinate system."""
    frame = geopandas.GeoDataFrame.from_arrow(RELEASE)
    assert frame.crs == 4326
    assert frame.equals(RELEASE.to_frame())


@pytest.mark.parametrize("name", sorted({*QUESTIONS, *CROWD_QUESTIONS}))
def test_answers_are_streams(name: str) -> None:
    """The answer of every question is a table, and features if it has a location."""
    x = np.array([[300.0, 320.0], [340.0, 390.0], [310.0, 350.0]])
    if name in CROWD_QUESTIONS:
        given = {**CROWD_QUESTIONS[name]}
        if name == "flows":
            given["trip"] = gv.Locations(x)
        release: Any = getattr(gv.Locations(x, person=["ann", "bob", "eve"]), name)(**given, rho=1e-2)
    else:
        release = ask(name, x)
    frame = release.to_frame()
    assert pa.table(release).column_names[: len(frame.columns)] == [*map(str, frame.columns)]
    assert hasattr(release, "__geo_interface__") == hasattr(frame, "geometry")


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_movingpandas_is_taken() -> None:
    """Trajectories of MovingPandas are points with times, and `person` names their column of trajectories."""
    with warnings.catch_warnings():
        # It tells which of its optional libraries are missing.
        warnings.simplefilter("ignore")
        import movingpandas

    times = pd.date_range("2026-05-04", periods=4, freq="min")
    rows = pd.DataFrame({"user": ["ann", "ann", "bob", "bob"], "when": times})
    rows = pd.concat([HOMES.loc[[0, 1, 1, 0], ["lat", "lon"]].reset_index(drop=True), rows], axis=1)
    frame = geopandas.GeoDataFrame(
        rows[["user", "when"]], geometry=geopandas.points_from_xy(rows.lon, rows.lat), crs=4326
    )
    trips = movingpandas.TrajectoryCollection(frame, "user", t="when")
    release = release_of("points", trips, person="user", area=BAY, hide=50, protect="1 hour")
    assert release.value.user.tolist() == ["ann", "ann", "bob", "bob"]
    assert release.value.when.tolist() == [*times]
    assert len(release.smooth("car").value) == 4
    again = movingpandas.TrajectoryCollection(release.value, "user", t="when")
    assert len(again) == 2
    alone = release_of("points", trips.trajectories[0], area=BAY, hide=50)
    assert len(alone.value) == 2


class Stream:
    """A table of which nothing is known but the Arrow C stream interface."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class WellKnown(pa.ExtensionType):  # type: ignore[misc]
    """The type geoarrow.wkb, as a library registers it with pyarrow."""

    def __init__(self) -> None:
        super().__init__(pa.large_binary(), "geoarrow.wkb")

    def __arrow_ext_serialize__(self) -> bytes:
        return b'{"crs": "EPSG:4326"}'

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> WellKnown:
        return cls()


STREAMS: dict[str, Callable[[], Any]] = {
    "geopandas": FRAME.to_arrow,
    "native points": lambda: FRAME.to_arrow(geometry_encoding="geoarrow", interleaved=False),
    "pyarrow": lambda: pa.table(FRAME.to_arrow()),
    "anything": lambda: Stream(FRAME.to_arrow()),
    "release": lambda: release_of("points", FRAME, **HOW),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_geoarrow_is_taken(kind: str) -> None:
    """A stream with a column of GeoArrow is a GeoDataFrame in the system that the column states."""
    check_frame(released(STREAMS[kind]()))


def test_registered_geoarrow_is_taken() -> None:
    """A type that a library registered with pyarrow no longer stands in the metadata of its column."""
    shapes = pa.ExtensionArray.from_storage(WellKnown(), pa.array(FRAME.geometry.to_wkb(), pa.large_binary()))
    check_frame(released(pa.table({"user": HOMES.user, "place": shapes})))


def test_columns_come_before_geoarrow() -> None:
    """A table with columns of coordinates beside shapes returns as a table of its library, without the shapes."""
    both = pl.DataFrame(FRAME.assign(lat=HOMES.lat, lon=HOMES.lon).to_arrow())
    assert released(both).columns == ["user", "lat", "lon"]
    assert released(both, lat="lat", lon="lon").columns == ["user", "lat", "lon"]


def test_column_streams_are_tables() -> None:
    """A stream that tells nothing before it is read is a table like any other."""
    assert released(Stream(pa.table(HOMES))).column_names == ["user", "lat", "lon"]


def test_one_column_is_refused() -> None:
    """A stream of single values has no locations."""
    with pytest.raises(InvalidData, match=r"^x = 'Stream'"):
        gv.Locations(Stream(pa.chunked_array([HOMES.lat])))


def test_geo_interfaces_are_taken() -> None:
    """A FeatureCollection is a frame, a geometry is one of shapely, and a stated system is used."""
    check_frame(released(SimpleNamespace(__geo_interface__=FEATURES), crs=4326))
    named = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    crs = released(SimpleNamespace(__geo_interface__={**FEATURES, "crs": named})).crs
    assert crs.to_authority() == ("OGC", "CRS84")
    shape = shapely.MultiPoint(HOMES[["lon", "lat"]].to_numpy())
    value = released(SimpleNamespace(__geo_interface__=shape.__geo_interface__), person=None, crs=4326)
    assert isinstance(value, shapely.MultiPoint)
    [feature] = FRAME.iloc[:1].__geo_interface__["features"]
    assert len(released(SimpleNamespace(__geo_interface__=feature), crs=4326)) == 1


def test_geo_interfaces_name_remedies() -> None:
    """Features without a system and broken ones are refused with the remedy, which works."""
    with pytest.raises(InvalidCoordinateSystem, match="crs=4326 for longitude and latitude"):
        gv.Locations(SimpleNamespace(__geo_interface__=FEATURES), area=BAY)
    for broken in ({}, {"type": "FeatureCollection"}, {"type": "Curve", "coordinates": []}, 7):
        with pytest.raises(InvalidData, match="must be a geometry, a Feature or a FeatureCollection"):
            gv.Locations(SimpleNamespace(__geo_interface__=broken))
