"""Tables of every library: the same kind comes back, with released coordinates and nothing else of the input."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import shapely

import geoveil as gv
from geoveil.errors import InvalidCoordinateSystem, InvalidData, InvalidParameter
from geoveil.geo.table_kinds import table_of
from tests import questions
from tests.formats import BAY
from tests.questions import QUESTIONS, release_of

pytestmark = pytest.mark.slow

LON = [-122.41, -122.45, -122.43, -122.40]
LAT = [37.78, 37.76, 37.75, 37.79]
TIMES = [datetime.datetime(2026, 3, 1, 8, minute) for minute in range(4)]
TRIPS: dict[str, list[Any]] = {
    "user": ["ann", "bob", "ann", "bob"],
    "time": TIMES,
    "lat": LAT,
    "mode": ["bike", "walk", "bike", "bus"],
    "lon": LON,
}

KINDS: dict[str, tuple[type, Callable[[dict[str, list[Any]]], Any]]] = {
    "pandas": (pd.DataFrame, pd.DataFrame),
    "pandas of Arrow": (pd.DataFrame, lambda x: pa.table(x).to_pandas(types_mapper=pd.ArrowDtype)),
    "polars": (pl.DataFrame, pl.DataFrame),
    "lazy": (pl.LazyFrame, pl.LazyFrame),
    "pyarrow": (pa.Table, pa.table),
    "batch": (pa.Table, lambda x: pa.table(x).to_batches()[0]),
    "reader": (pa.Table, lambda x: pa.table(x).to_reader()),
    "duckdb": (duckdb.DuckDBPyRelation, lambda x: duckdb.from_arrow(pa.table(x))),
    "dicts": (list, lambda x: pa.table(x).to_pylist()),
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def table(kind: str, **columns: Any) -> Any:
    """The trips as a table of a library, with some columns replaced or added."""
    return KINDS[kind][1]({**TRIPS, **columns})


def columns(value: Any) -> dict[str, list[Any]]:
    """The columns of any table, by name and in order."""
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    if isinstance(value, list):
        value = pa.Table.from_pylist(value)
    found = pa.Table.from_pandas(value, preserve_index=False) if isinstance(value, pd.DataFrame) else pa.table(value)
    return dict(found.to_pydict())


def ask(name: str, x: Any, **more: Any) -> gv.Release:
    """Ask a question about places in the bay, with a seeded generator."""
    how = {"rng": np.random.default_rng(1), "area": BAY, "near": (-122.42, 37.77), **more}
    return questions.ask(name, x, **how)


@EVERY_KIND
def test_kinds_come_back(kind: str) -> None:
    """Persons, times and released coordinates come back in their columns, in a table of the same library."""
    release = ask("points", table(kind), lat="lat", lon="lon", person="user")
    assert isinstance(release.value, KINDS[kind][0])
    found = columns(release.value)
    assert list(found) == ["user", "time", "lat", "lon"]
    assert found["user"] == TRIPS["user"]
    assert found["time"] == TIMES
    assert release.removed.columns == ("mode",)
    plain = ask("points", np.column_stack([LON, LAT]), crs=4326, person=TRIPS["user"]).value
    np.testing.assert_array_equal(np.column_stack([found["lon"], found["lat"]]), plain)


@EVERY_KIND
def test_questions_take_every_table(kind: str) -> None:
    """A question gives one answer, whatever table its points come in."""
    # All tables become the same points: all questions are asked about one kind.
    names = [*QUESTIONS] if kind == "polars" else ["points", "nearest"]
    for name, by in product(names, (None, "user")):
        release = ask(name, table(kind), person=by)
        array = np.column_stack([LON, LAT])
        expected = ask(name, array, crs=4326, person=None if by is None else TRIPS["user"])
        np.testing.assert_array_equal(release.scale, expected.scale)
        assert release.n == 4
        if release.coords is not None:
            np.testing.assert_array_equal(release.coords, expected.coords)
        if by is not None:
            assert release.person.tolist() == ["ann", "bob"]


@EVERY_KIND
def test_sessions_take_every_table(kind: str) -> None:
    """A session asks several questions about one table."""
    with gv.Locations(table(kind), person="user", area=BAY).session(rho=1e-3) as session:
        assert columns(session.points(rho=1e-4, keep=["mode"]).value)["mode"] == TRIPS["mode"]
        assert session.center(rho=1e-4).value.index.tolist() == ["ann", "bob"]


@EVERY_KIND
def test_rows_with_two_places(kind: str) -> None:
    """Two pairs of columns are two points of the row's person, each released in its own columns."""
    ends = {"end_lat": [lat + 0.1 for lat in LAT], "end_lon": [lon - 0.1 for lon in LON]}
    x = table(kind, **ends)
    release = ask("points", x, lat=["lat", "end_lat"], lon=["lon", "end_lon"], person="user", rho=1e6)
    assert release.n == 8
    assert release.person.tolist() == ["ann", "bob"]
    found = columns(release.value)
    assert list(found) == ["user", "time", "lat", "lon", "end_lat", "end_lon"]
    for name, true in {"lat": LAT, "lon": LON, **ends}.items():
        np.testing.assert_allclose(found[name], true, atol=1e-6)
        assert found[name] != true
    near = release_of("nearest", table(kind, **ends), (LON[2] - 0.1, LAT[2] + 0.1), area=BAY, k=1, rho=1e6, **PAIRS)
    assert near.value.tolist() == [2]
    assert near.positions.tolist() == [5]


PAIRS: Any = {"lat": ["lat", "end_lat"], "lon": ["lon", "end_lon"]}


@EVERY_KIND
def test_placeless_rows_are_dropped(kind: str) -> None:
    """A row of which a coordinate is missing is refused, or removed and counted."""
    x: Any = table(kind, lat=[37.78, None, 37.75, 37.79])
    with pytest.raises(InvalidData, match=r'^x\[1\].*missing="drop"'):
        ask("points", x)
    x = table(kind, lat=[37.78, None, 37.75, 37.79])
    release = ask("points", x, person="user", missing="drop")
    assert release.removed.missing == 1
    assert columns(release.value)["user"] == ["ann", "ann", "bob"]


@EVERY_KIND
def test_empty_tables_are_refused(kind: str) -> None:
    """There is nothing to release without a row."""
    if kind == "batch":
        x: Any = pa.table(TRIPS).to_batches()[0][:0]
    elif kind == "dicts":
        x = []
    else:
        x = KINDS[kind][1]({name: [] for name in TRIPS})
    with pytest.raises(InvalidData, match="at least one point"):
        ask("points", x, **({"crs": 4326} if kind == "dicts" else {"lat": "lat", "lon": "lon"}))


@EVERY_KIND
def test_columns_by_name(kind: str) -> None:
    """Without lat= and lon= the names tell; which of several pairs is meant is asked back."""
    assert list(columns(ask("points", table(kind), person="user").value)) == ["user", "time", "lat", "lon"]
    taxi = {"pickup_longitude": LON, "pickup_latitude": LAT, "dropoff_longitude": LON, "dropoff_latitude": LAT}
    assert list(columns(ask("points", KINDS[kind][1](taxi)).value)) == list(taxi)
    assert list(columns(ask("points", KINDS[kind][1](taxi), lat="pickup_latitude", lon="pickup_longitude").value)) == [
        "pickup_longitude",
        "pickup_latitude",
    ]
    homes = {"home_lat": LAT, "home_lon": LON, "work_lat": LAT, "work_lon": LON}
    with pytest.raises(InvalidData, match=r"Say which: lat='home_lat', lon='home_lon', or lat='work_lat'"):
        ask("points", KINDS[kind][1](homes))
    with pytest.raises(InvalidData, match=r"\['a', 'b'\].* lat= and lon="):
        ask("points", KINDS[kind][1]({"a": LAT, "b": LON}))
    with pytest.raises(InvalidData, match=r"geopandas\.GeoSeries.from_wkt"):
        ask("points", KINDS[kind][1]({"geom": ["POINT (1 2)"]}))


@EVERY_KIND
def test_projected_columns(kind: str) -> None:
    """Columns x and y are in the system that crs= names; lat= and lon= then hold northings and eastings."""
    plane = {"x": [550_000.0, 551_000.0], "y": [4_180_000.0, 4_181_000.0]}
    with pytest.raises(InvalidCoordinateSystem, match=r"^crs = None.*crs=4326"):
        gv.Locations(KINDS[kind][1](plane)).points(rho=1e-4)
    named: list[dict[str, Any]] = [{}, {"lat": "y", "lon": "x"}]
    for more in named:
        release = release_of("points", KINDS[kind][1](plane), crs=32610, rho=1e6, **more)
        np.testing.assert_allclose(columns(release.value)["x"], plane["x"], atol=1)
    assert gv.Locations(KINDS[kind][1](plane), crs="metres").points(rho=1).plane is None


@EVERY_KIND
def test_wrong_names_are_told(kind: str) -> None:
    """Names that are no columns, no names, or lists of unequal length are refused."""
    wrong: list[dict[str, Any]] = [{"lat": "la", "lon": "lon"}, {"lat": "user"}, {"lon": []}]
    for more in (*wrong, {"lat": ["lat", "lat"], "lon": "lon"}):
        with pytest.raises(InvalidParameter, match=r"^(lat|lon) = "):
            ask("points", table(kind), **more)
    with pytest.raises(InvalidData, match=r"^x\['mode'\].*numbers"):
        ask("points", table(kind), lat="mode", lon="lon")
    with pytest.raises(InvalidParameter, match=r"^person = 'who'.*'user'"):
        ask("points", table(kind), person="who")


@EVERY_KIND
def test_tables_are_improved(kind: str, tmp_path: Path) -> None:
    """Smoothing and clamping keep the kind and the columns; files hold the columns as well."""
    release = ask("points", table(kind), keep=["user", "mode"])
    smoothed = release.smooth("walking", times="time")
    np.testing.assert_array_equal(smoothed.coords, release.smooth("walking", times=np.array(TIMES)).coords)
    np.testing.assert_array_equal(smoothed.coords, release.smooth("walking").coords)
    clamped = smoothed.clamp(shapely.box(-122.5, 37.7, -122.3, 37.9))
    for each in (smoothed, clamped):
        assert isinstance(each.value, KINDS[kind][0])
        found = columns(each.value)
        assert list(found) == list(TRIPS)
        assert found["mode"] == TRIPS["mode"]
        assert found["lat"] != columns(release.value)["lat"]
    assert release.to_frame()["mode"].tolist() == TRIPS["mode"]
    release.to_file(tmp_path / "trips.csv")
    assert gv.load(tmp_path / "trips.csv").value["mode"].tolist() == TRIPS["mode"]


@EVERY_KIND
def test_trips_are_smoothed(kind: str) -> None:
    """The points of a row have times in columns of their own."""
    ends = {"end_lat": LAT, "end_lon": LON, "end_time": [time + datetime.timedelta(minutes=9) for time in TIMES]}
    release = ask("points", table(kind, **ends), person="user", **PAIRS)
    assert release.smooth("walking", times=["time", "end_time"]).n == 8
    for wrong in ("time", ["time", "end"], ["time"]):
        with pytest.raises(InvalidParameter, match=r"^times = .* one for each place of a row.*\['time', 'end_time'\]"):
            release.smooth("walking", times=wrong)


@EVERY_KIND
@pytest.mark.parametrize("end", [".csv", ".geojson", ".parquet"])
def test_trips_are_written(kind: str, end: str, tmp_path: Path) -> None:
    """Trips are written row by row. A line from origin to destination; a CSV file has the columns of the table."""
    ends = {"end_lat": [lat + 0.1 for lat in LAT], "end_lon": [lon - 0.1 for lon in LON]}
    release = ask("points", table(kind, **ends), person="user", keep=["mode"], **PAIRS)
    frame, value = release.to_frame(), columns(release.value)
    places = np.column_stack([value[name] for name in ("lon", "lat", "end_lon", "end_lat")])
    assert frame["mode"].tolist() == TRIPS["mode"]
    assert np.array_equal(frame.geometry.get_coordinates().to_numpy(), places.reshape(-1, 2))
    release.to_file(tmp_path / f"trips{end}")
    loaded = gv.load(tmp_path / f"trips{end}")
    assert (loaded.n, loaded.value["user"].tolist()) == (8, TRIPS["user"])
    np.testing.assert_allclose(loaded.to_frame().geometry.get_coordinates(), places.reshape(-1, 2), atol=1e-6)
    assert gv.verify(tmp_path / f"trips{end}").holds
    if end == ".csv":
        assert {*PAIRS["lat"], *PAIRS["lon"]} <= {*pd.read_csv(tmp_path / "trips.csv")}


@EVERY_KIND
def test_rows_are_chosen(kind: str) -> None:
    """A filter on columns, and the removal of rows outside the area, leave the others."""
    x = table(kind, lat=[37.78, 37.76, 37.75, 48.0])
    release = ask("points", x, person="user", where="mode = 'bike' or mode = 'bus'", outside="drop")
    assert columns(release.value)["user"] == ["ann", "ann"]
    assert (release.removed.filtered, release.removed.outside) == (1, 1)
    found = ask("nearest", table(kind), where="mode != 'bike'", near=(LON[3], LAT[3]), rho=1e6)
    assert found.value.tolist() == [3]
    with pytest.raises(InvalidParameter, match=r"^where = "):
        ask("points", table(kind), where="lat > 37")


def test_pandas_index_is_kept() -> None:
    """Labels come back, and answers name rows by them."""
    x = table("pandas").set_index(pd.Index(list("wxyz"), name="key"))
    x.columns.name, x.attrs["note"] = "secret", "secret"
    released = ask("points", x).value
    pd.testing.assert_index_equal(released.index, x.index)
    assert released.columns.name is None
    assert not released.attrs
    assert ask("nearest", x, near=(LON[2], LAT[2]), rho=1e6).value.tolist() == ["y"]
    assert ask("center", x, person="user").value.index.tolist() == ["ann", "bob"]
    with pytest.raises(InvalidData, match=r"^person = .*reindex"):
        ask("points", x, person=pd.Series(TRIPS["user"]))


@pytest.mark.parametrize(
    "labels",
    [pl.Series(TRIPS["user"]), pa.chunked_array([TRIPS["user"]]), pa.array(TRIPS["user"]), np.array(TRIPS["user"])],
    ids=["polars", "chunks", "arrow", "numpy"],
)
@EVERY_KIND
def test_persons_given_apart(kind: str, labels: Any) -> None:
    """Persons may be given apart. Labels may be a column of another table of any library."""
    assert ask("center", table(kind), person=labels).person.tolist() == ["ann", "bob"]


def test_coordinate_types() -> None:
    """Decimals of DuckDB, whole numbers, single precision and categories are read as the numbers they are."""
    relation = duckdb.sql("select 37.78 as lat, -122.41 as lon union all select 37.75, -122.43")
    np.testing.assert_allclose(columns(ask("points", relation, rho=1e6).value)["lat"], [37.78, 37.75], atol=1e-6)
    exact = [37.75, 37.75, 38.0, 37.5]
    for lat in (
        pa.array(exact, pa.float32()),
        pa.array(map(Decimal, map(str, exact))),
        pa.array(exact).dictionary_encode(),
    ):
        found = table_of(pa.table({"lat": lat}))
        assert found is not None
        assert found.numbers("lat").tolist() == exact
    for series in (
        pd.Series(exact, dtype="Float64"),
        pd.Series(exact, dtype="category"),
        pd.Series(pd.arrays.SparseArray(exact)),
        pd.Series([Decimal(str(number)) for number in exact]),
    ):
        found = table_of(pd.DataFrame({"lat": series}))
        assert found is not None
        assert found.numbers("lat").tolist() == exact


def test_other_objects_are_not() -> None:
    """Columns and arrays are no tables."""
    for x in (np.zeros((2, 2)), [[0, 0]], [], pl.Series([1.0]), pa.array([1.0]), pd.Series([1.0]), "lat", None):
        assert table_of(x) is None


def test_duplicate_names_are_refused() -> None:
    """Which one is meant cannot be told."""
    x = pd.DataFrame([[1, 2, 3]], columns=["lat", "lon", "lat"])
    with pytest.raises(InvalidData, match="different names"):
        ask("points", x)
    with pytest.raises(InvalidData, match="one type"):
        ask("points", [{"lat": 1.0, "lon": 2.0}, {"lat": "one", "lon": 2.0}])
    with pytest.raises(InvalidData, match="nothing but dicts"):
        ask("points", [{"lat": 1.0, "lon": 2.0}, [1.0, 2.0]])


# ------------------------------------------------------------------------------------------------ nothing rides along

SECRET = "secret-of-a-removed-row"
NUMBER = 987_654_321_123


def buffers(found: pa.Table) -> bytes:
    """All bytes that a table of Arrow holds: its names and metadata, and all of its buffers, whole."""
    parts = [found.schema.to_string(show_schema_metadata=True, truncate_metadata=False).encode()]
    arrays = [chunk for column in found.columns for chunk in column.chunks]
    while arrays:
        array = arrays.pop()
        parts += [buffer.to_pybytes() for buffer in array.buffers() if buffer is not None]
        arrays += [array.dictionary] if isinstance(array, pa.DictionaryArray) else []
    return b"\0".join(parts)


def held(value: Any) -> bytes:
    """All bytes that a released table of polars, pyarrow or DuckDB holds."""
    value = value.collect() if isinstance(value, pl.LazyFrame) else value
    if isinstance(value, pl.DataFrame):
        return buffers(value.to_arrow(compat_level=pl.CompatLevel.newest()))
    return buffers(pa.table(value))


def secretive() -> pa.Table:
    """A table that hides the secret in each way that Arrow has; its second row has no location."""
    texts = pa.array([SECRET, "a", SECRET, "c", "d"])[1:]
    numbers = pa.array([5, 1, NUMBER, 3])
    beneath = pa.Array.from_buffers(pa.int64(), 4, [pa.py_buffer(bytes([0b1011])), numbers.buffers()[1]], offset=0)
    seen = {"user": texts, "time": pa.array([1, None, 3, 4], pa.timestamp("s")), "sparse": beneath}
    seen |= {"kind": texts.dictionary_encode(), "view": texts.cast(pa.string_view()), "zone": pa.array(["u"] * 4)}
    table = pa.table({**seen, "lat": pa.array([37.78, None, 37.75, 37.79]), "lon": LON})
    return table.replace_schema_metadata({"note": SECRET}).set_column(
        5, pa.field("zone", pa.string(), metadata={"note": SECRET}), pa.chunked_array([pa.array(["u"] * 4)])
    )


@pytest.mark.parametrize("kind", ["pyarrow", "polars", "lazy", "duckdb"])
def test_input_leaves_nothing(kind: str) -> None:
    """Neither slices, missing values, dictionaries, views nor metadata bring what was not released."""
    given = secretive()
    assert SECRET.encode() in buffers(given)
    assert np.int64(NUMBER).tobytes() in buffers(given)
    makers: dict[str, Any] = {"pyarrow": pa.table, "polars": pl.DataFrame, "lazy": pl.LazyFrame}
    x = {**makers, "duckdb": duckdb.from_arrow}[kind](given)
    release = ask("points", x, person="user", keep=["sparse", "kind", "view", "zone"], missing="drop")
    found = columns(release.value)
    assert found["user"] == found["kind"] == found["view"] == ["a", "c", "d"]
    assert found["sparse"] == [5, None, 3]
    bytes_held = held(release.value)
    assert SECRET.encode() not in bytes_held
    assert np.int64(NUMBER).tobytes() not in bytes_held
    for number in (*LON, *LAT):
        assert np.float64(number).tobytes() not in bytes_held


def test_polars_categories_are_texts() -> None:
    """Categories of polars are shared by all columns of a process: they would name what was not released."""
    x = pl.DataFrame({**TRIPS, "lat": [37.78, None, 37.75, 37.79]}).with_columns(pl.col("mode").cast(pl.Categorical))
    released = ask("points", x, keep=["mode"], missing="drop").value
    assert released.schema["mode"] == pl.String
    assert released["mode"].to_list() == ["bike", "bike", "bus"]


#: Columns in other units, by their names, and the factor of degrees to them; texts of angles have none.
UNITS: dict[str, tuple[tuple[str, str], float | None]] = {
    "ten-millionths": (("latitudeE7", "longitudeE7"), 1e7),
    "semicircles": (("position_lat", "position_long"), 2**31 / 180),
    "angles": (("lat", "lon"), None),
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "dicts"])
@pytest.mark.parametrize("unit", UNITS)
def test_other_units(kind: str, unit: str, tmp_path: Path) -> None:
    """Tables in memory know the units that files know: the same noise, in the units of the input, and maps of it."""
    (lat, lon), factor = UNITS[unit]
    if factor is None:
        given: dict[str, list[Any]] = {lat: [f"{y}N" for y in LAT], lon: [f"{-x}W" for x in LON]}
    else:
        given = {lat: [round(y * factor) for y in LAT], lon: [round(x * factor) for x in LON]}
    data = KINDS[kind][1]({"user": TRIPS["user"], **given})
    released = [
        gv.Locations(x, person="user", area=BAY, rng=np.random.default_rng(1)).points(rho=1e-4)
        for x in (data, table("pandas"))
    ]
    found, plain = columns(released[0].value), released[1].value
    for name, usual in ((lat, "lat"), (lon, "lon")):
        values = np.asarray(found[name])
        assert values.dtype == (float if factor is None else np.int64)
        np.testing.assert_allclose(values / (factor or 1), plain[usual], atol=2e-7)
    # Frames and files are in degrees.
    frame = released[0].to_frame()
    np.testing.assert_allclose(frame.geometry.x, plain.lon, atol=2e-7)
    released[0].to_file(tmp_path / "released.gpkg")
    loaded = gv.load(tmp_path / "released.gpkg").value.geometry
    np.testing.assert_allclose(loaded.x, plain.lon, atol=2e-7)


def test_bad_angles_are_refused() -> None:
    """A text that is no angle is refused with its row; without a place, it is a row without a location."""
    frame = pd.DataFrame({"lat": ["37.78N", "37.76N", "north"], "lon": ["122.41W", "122.45W", "122.43W"]})
    with pytest.raises(InvalidData, match=r"x\['lat'\], row 2 = 'north': must be an angle"):
        gv.Locations(frame, area=BAY)
    frame.loc[2, "lat"] = None
    assert gv.Locations(frame, area=BAY, missing="drop").points(rho=1e-4).n == 2
