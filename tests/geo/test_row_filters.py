"""Filters of rows: what they select, and what they refuse."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pyproj
import pytest
from hypothesis import given

import geoveil as gv
from geoveil.errors import GeoveilWarning, InvalidData, InvalidFile, InvalidParameter
from geoveil.geo.planes import plane_of
from geoveil.geo.row_filters import RowFilter

TRIPS = pa.table(
    {
        "mode": ["bike", "car", "", "bike", None],
        "hour": [7, 8, 9, None, 11],
        "cost": ["1.5", " 2", "", "10", "3"],
        "ok": [True, False, None, True, True],
        "valid": ["True", "false", "TRUE", "", "yes"],
        "day": pa.array([datetime.date(2024, 1, d) for d in range(1, 6)]),
        "when": pa.array([datetime.datetime(2024, 1, d, tzinfo=datetime.UTC) for d in range(1, 6)]),
        "location.id": ["a", "b", "c", "d", "e"],
        "my mode": pa.array(["x", "y", "x", "y", "x"]).dictionary_encode(),
    }
)
KINDS = dict(zip(TRIPS.column_names, TRIPS.schema.types, strict=True))

SELECTED = {
    "mode = 'bike'": [0, 3],
    'mode = "bike"': [0, 3],
    "mode == 'bike'": [0, 3],
    "'bike' = mode": [0, 3],
    "MODE = 'bike'": [0, 3],
    "mode != 'bike'": [1],
    "not mode = 'bike'": [1],
    "mode is null": [2, 4],
    "mode is not null": [0, 1, 3],
    "mode in ('bike', 'car')": [0, 1, 3],
    "mode not in ('bike')": [1],
    "mode like 'b%'": [0, 3],
    "mode ilike 'B%'": [0, 3],
    "hour between 8 and 9": [1, 2],
    "hour >= 8 and hour < 11": [1, 2],
    "8 <= hour": [1, 2, 4],
    "hour > -1": [0, 1, 2, 4],
    "hour > 7.5": [1, 2, 4],
    "cost > 1.5": [1, 3, 4],
    "cost = 2": [1],
    "ok": [0, 3, 4],
    "not ok": [1],
    "ok = false or hour = 9": [1, 2],
    "valid = true": [0, 2],
    "day >= '2024-01-04'": [3, 4],
    "\"when\" < '2024-01-02'": [0],
    "\"when\" < '2024-01-02T00:30:00+01:00'": [0],
    "location.id = 'c'": [2],
    "\"my mode\" = 'x' and (hour = 7 or hour = 11)": [0, 4],
}


@pytest.mark.parametrize(("text", "rows"), SELECTED.items())
def test_filters_follow_sql(text: str, rows: list[int]) -> None:
    """Comparisons with what is missing, such as an empty text, are unknown, and such rows are not selected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeoveilWarning)
        found = RowFilter(text, KINDS).rows(TRIPS)
    assert found.nonzero()[0].tolist() == rows


REFUSED = {
    "": "Leave it out",
    "mode =": "such as",
    "mode = 'a'; drop table trips": "such as",
    "mode = (select 1)": "not a text, a number",
    "upper(mode) = 'BIKE'": "is not a column",
    "hour + 1 = 8": "is not a column",
    "1 = 1": "is not a column",
    "mode = hour": "not a text, a number",
    "mode = ''": "is null",
    "hour = 'seven'": "holds numbers",
    "ok = 1": "holds true and false",
    "day = 'soon'": "is not a time",
    "hour like '1%'": "compares texts",
    "mod = 'bike'": "Did you mean 'mode'",
    "speed_limit = 3": r"is not one of \['mode'",
    "exists (select 1)": "not allowed",
    "case when ok then true end": "not allowed",
    "mode in (select mode from trips)": "not allowed",
}


@pytest.mark.parametrize(("text", "why"), REFUSED.items())
def test_other_sql_is_refused(text: str, why: str) -> None:
    """Functions, arithmetic, queries, unknown columns and values of another kind are refused."""
    with pytest.raises(InvalidParameter, match=why) as refused:
        RowFilter(text, KINDS)
    assert refused.value.argument == "where"


@pytest.mark.parametrize("name", ["lat", "pickup_longitude", "geometry", "Lon"])
def test_location_columns_are_refused(name: str) -> None:
    """Which rows such a filter selects would reveal locations."""
    with pytest.raises(InvalidParameter, match="holds locations"):
        RowFilter(f"{name} > 3", {**KINDS, name: pa.float64()}, {"geometry"})
    with pytest.raises(InvalidParameter, match="holds locations"):
        RowFilter(f"{name} > 3", KINDS, {"geometry"})


def test_geometry_texts_are_refused() -> None:
    """A column whose texts are geometries is refused when its rows are read."""
    table = pa.table({"note": ["POINT (1 2)", "b"]})
    with pytest.raises(InvalidParameter, match="holds locations"):
        RowFilter("note = 'b'", {"note": pa.string()}).rows(table)


LATITUDES = np.linspace(40.6, 40.9, 500)
AROUND: Any = plane_of(pyproj.CRS(4326), gv.local(lat=40.75, lon=-73.98, radius=30_000))


@pytest.mark.parametrize("first", [np.zeros(4000), np.full(4000, np.nan), np.arange(4000.0), np.arange(4000) / 7])
@pytest.mark.parametrize("as_text", [False, True])
def test_far_coordinates_are_found(first: Any, as_text: bool) -> None:
    """A filter is refused if its column holds coordinates in any of its rows, as numbers or as texts."""
    values = np.concatenate([first, LATITUDES, first])
    table = pa.table({"v": pa.array(values).cast(pa.string()) if as_text else values})
    with pytest.raises(InvalidParameter, match="'v' holds locations"):
        RowFilter("v is not null", {"v": table["v"].type}).rows(table, plane=AROUND)


@pytest.mark.parametrize(
    "places",
    [
        ["40.7501, -73.9812"],
        [f"dr5ru{a}{b}" for a in "bcdefghjkm" for b in "0123456789"],
        [f"87G8{a}{b}23+GF" for a in "PQRV" for b in "23456789CFGHJMPQRVWX"],
    ],
    ids=["pair", "geohashes", "plus codes"],
)
def test_far_texts_are_found(places: list[str]) -> None:
    """Places in texts far down.

    The same for a pair of coordinates, geohashes and plus codes after thousands of other texts.
    """
    table = pa.table({"v": [f"trip-{i}" for i in range(6000)] + places})
    with pytest.raises(InvalidParameter, match="'v' holds locations"):
        RowFilter("v is not null", {"v": pa.string()}).rows(table, plane=AROUND)


@pytest.mark.parametrize(
    "values", [np.linspace(0, 100, 20_000), np.sort(np.random.default_rng(1).gamma(3, 5, 20_000))]
)
def test_sorted_numbers_are_allowed(values: Any) -> None:
    """Durations and prices that pass through the latitudes of the area remain usable."""
    assert RowFilter("v > 3", {"v": pa.float64()}).rows(pa.table({"v": values}), plane=AROUND).any()


def test_file_filters_see_all(tmp_path: Path) -> None:
    """Coordinates after the first thousands of rows are noticed in a table and in a file."""
    frame = pd.DataFrame({"lat": 40.75, "lon": -73.98, "v": np.concatenate([np.zeros(4000), LATITUDES])})
    frame.to_csv(tmp_path / "in.csv", index=False)
    area = gv.local(lat=40.75, lon=-73.98, radius=30_000)
    with pytest.raises(InvalidParameter, match="'v' holds locations"):
        gv.Locations(frame, where="v > 40.7", area=area).mean(rho=1e-3)
    with pytest.raises(InvalidParameter, match="'v' holds locations"):
        gv.Locations(tmp_path / "in.csv", where="v > 40.7", area=area).points(to=tmp_path / "out.csv", rho=1e-3)
    assert not (tmp_path / "out.csv").exists()


def test_suspicious_names_warn() -> None:
    """A column whose name suggests places is warned of. That rows satisfy the filter is public."""
    with pytest.warns(GeoveilWarning, match="city"):
        RowFilter("city = 'Bern'", {"city": pa.string()})


def test_bad_numbers_are_named() -> None:
    """The error names the row, the column and the text."""
    table = pa.table({"cost": ["1", "two"]})
    with pytest.raises(InvalidData, match=r"^row 1, cost = 'two'"):
        RowFilter("cost > 1", {"cost": pa.string()}).rows(table, lambda row: f"row {row}")


def test_python_numbers_are_refused() -> None:
    """Python reads 1_0 as ten, and pyarrow does not: the row is named."""
    with pytest.raises(InvalidData, match=r"x\[1\], v = '1_0': must be a number"):
        RowFilter("v > 3", {"v": pa.string()}).rows(pa.table({"v": ["1", "1_0"]}))


def test_decimal_commas() -> None:
    """A German spreadsheet writes 2,5."""
    table = pa.table({"cost": ["2,5", "3,5"]})
    assert RowFilter("cost > 3", {"cost": pa.string()}, decimal=",").rows(table).tolist() == [False, True]


@pytest.mark.slow
@given(st.text(max_size=40))
def test_any_text_is_handled(text: str) -> None:
    """Nothing else is raised, whatever is written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeoveilWarning)
        try:
            found: Any = RowFilter(text, KINDS).columns
        except InvalidParameter as problem:
            found = problem.argument
    assert found == "where" or set(found) <= set(KINDS)


def test_no_trips_left(tmp_path: Path) -> None:
    """Rows with two ends of which none satisfies a filter are refused in words."""
    path = tmp_path / "trips.csv"
    path.write_text("user,start_lat,start_lon,end_lat,end_lon\na,47.3,8.5,47.4,8.5\n")
    with pytest.raises(InvalidFile, match="1 do not satisfy the filter"):
        gv.Locations(path, where="user = 'b'").frame()
