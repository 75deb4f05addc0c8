"""Tables whose columns hold locations in all the ways that people write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.errors import GeoveilError, InvalidData, InvalidFile, InvalidParameter
from geoveil.geo.formats import open_locations
from tests.formats import BAY
from tests.questions import release_of

FINE = 1e6
LON, LAT = [-122.41, -122.45, -122.40], [37.78, 37.76, 37.75]
PLACED = [*zip(LON, LAT, strict=True)]
POINTS = shapely.points(LON, LAT)
USERS = ["ann", "ann", "bob"]


def table(**columns: Any) -> pd.DataFrame:
    """A table of three rows of two persons."""
    return pd.DataFrame({"user": USERS, **columns})


ENCODED: dict[str, list[Any]] = {
    "wkt": [*shapely.to_wkt(POINTS)],
    "ewkt": [f"SRID=4326;{text}" for text in shapely.to_wkt(POINTS)],
    "geojson": [*shapely.to_geojson(POINTS)],
    "features": [json.dumps({"type": "Feature", "geometry": json.loads(text)}) for text in shapely.to_geojson(POINTS)],
    "hex": [*shapely.to_wkb(POINTS, hex=True)],
    "latlon": [f"{lat},{lon}" for lon, lat in zip(LON, LAT, strict=True)],
    "coordinates": [f"({lat}, {lon})" for lon, lat in zip(LON, LAT, strict=True)],
    "lonlat": [f"{lon} {lat}" for lon, lat in zip(LON, LAT, strict=True)],
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
@pytest.mark.parametrize("name", ENCODED)
def test_text_points_are_released(name: str, ending: str, tmp_path: Path) -> None:
    """Points written as texts are released. In the same column and encoding, with noise, and without an option."""
    path = tmp_path / f"in.{ending}"
    frame = table(**{name: ENCODED[name]})
    getattr(frame, {"csv": "to_csv", "parquet": "to_parquet", "xlsx": "to_excel"}[ending])(path, index=False)
    release = gv.Locations(path, person="user", area=BAY).points(to=tmp_path / f"out.{ending}", rho=FINE)
    loaded = gv.load(release.value).value
    assert loaded.crs == 4326
    assert (shapely.distance(np.asarray(loaded.geometry), POINTS) < 1e-6).all()
    assert not (np.asarray(loaded.geometry) == POINTS).any()
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}[ending]
    assert [*read(release.value).columns] == ["user", name, "radius_95", "rho"]
    assert release.certificate()["file"]["reading"]["geometry"] == name


def test_text_lines_are_released(tmp_path: Path) -> None:
    """Lines written as texts are released.

    Each vertex is a point of the person; the points of MDS routes, a collection of features, as well.
    """
    lines = [shapely.LineString(np.column_stack([LON, LAT]) + 0.001 * i) for i in range(3)]
    features = [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [*at]}} for at in zip(LON, LAT, strict=True)
    ]
    route = json.dumps({"type": "FeatureCollection", "features": features})
    for name, texts in {"geom": [*shapely.to_wkt(lines)], "route": [route] * 3}.items():
        table(**{name: texts}).to_csv(tmp_path / "in.csv", index=False)
        release = gv.Locations(tmp_path / "in.csv", person="user", area=BAY).points(
            to=tmp_path / f"{name}.csv", rho=FINE
        )
        assert release.n == 9
        loaded = gv.load(release.value).value.geometry
        assert shapely.get_num_coordinates(np.asarray(loaded)).tolist() == [3, 3, 3]
        first = shapely.get_coordinates(np.asarray(loaded))[:3]
        assert np.abs(first - np.column_stack([LON, LAT])).max() < 1e-6


def test_geometries_need_a_system(tmp_path: Path) -> None:
    """Geometries that are no degrees need their system. It is not guessed; extended WKT states it."""
    metres = np.asarray(geopandas.GeoSeries(POINTS, crs=4326).to_crs(32610))
    table(geom=[*shapely.to_wkt(metres)]).to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(InvalidParameter, match=r"^crs = None: must be the coordinate system of the column geom"):
        gv.Locations(tmp_path / "in.csv").frame()
    assert gv.Locations(tmp_path / "in.csv", crs=32610).frame().crs == 32610
    table(geom=[f"SRID=32610;{text}" for text in shapely.to_wkt(metres)]).to_csv(tmp_path / "in.csv", index=False)
    assert gv.Locations(tmp_path / "in.csv").frame().crs == 32610


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["POINT (-122.41 37.78)", "POINT (-122.41", ""], r"in\.csv, row 2 = .*location as WKT"),
        (["POINT (-122.41 37.78)"] * 2 + ["POLYGON ((0 0, 1 0, 1 1, 0 0))"], r"row 3 = 'Polygon': must be"),
        (['{"type": "Point", "coordinates": [1, 2]}'] * 2 + ['{"coordinates": [["a"]]}'], r"row 3 = .*as GeoJSON"),
    ],
)
def test_bad_texts_name_rows(texts: list[str], message: str, tmp_path: Path) -> None:
    """Texts that are no locations are refused by row. With what the first rows have."""
    table(geom=texts).to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(InvalidData, match=message):
        gv.Locations(tmp_path / "in.csv", person="user", area=BAY, missing="drop").points(
            to=tmp_path / "out.csv", rho=1e-4
        )


def test_several_geometries_are_refused(tmp_path: Path) -> None:
    """The error lists the options."""
    frame = table(here=ENCODED["wkt"], there=ENCODED["wkt"])
    frame.to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(InvalidFile, match=r'Give geometry="here", or geometry="there"\.'):
        gv.Locations(tmp_path / "in.csv").frame()
    frame = gv.Locations(tmp_path / "in.csv", geometry="there").frame()
    assert (np.asarray(frame.geometry) == POINTS).all()
    release = gv.Locations(tmp_path / "in.csv", person="user", geometry="there", area=BAY).points(
        to=tmp_path / "out.csv", rho=FINE, keep="all"
    )
    assert pd.read_csv(release.value).columns.tolist() == ["user", "there", "radius_95", "rho"]
    with pytest.raises(InvalidParameter, match=r"^geometry = 'user': must be a column of geometries"):
        gv.Locations(tmp_path / "in.csv", geometry="user").frame()
    with pytest.raises(InvalidParameter, match=r"^geometry = 'here': must be given without lat="):
        gv.Locations(tmp_path / "in.csv", geometry="here", lat="user", lon="user").frame()


def trips() -> pd.DataFrame:
    """Trips with an origin and a destination each."""
    return table(
        pickup_longitude=LON,
        pickup_latitude=LAT,
        dropoff_longitude=[lon + 0.01 for lon in LON],
        dropoff_latitude=[lat + 0.02 for lat in LAT],
        distance=[1.5, 2.5, 3.5],
    )


PLACES = ["pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude"]


def saved(frame: pd.DataFrame, path: Path) -> Path:
    """The file with this table."""
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_excel(path, index=False)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
@pytest.mark.parametrize("guarantee", [{"rho": FINE}, {"epsilon": 1e3}])
def test_trips_keep_their_columns(ending: str, guarantee: dict[str, Any], tmp_path: Path) -> None:
    """Both are points of the person of the row: they count, get noise, and are loaded as they were written."""
    path = saved(trips(), tmp_path / f"in.{ending}")
    release = release_of("points", path, person="user", area=BAY, to=tmp_path / f"out.{ending}", **guarantee)
    assert release.n == 6
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}[ending]
    after = read(release.value)
    symbol = next(iter(guarantee))
    assert after.columns.tolist() == ["user", *PLACES, "radius_95", symbol]
    difference = (after[PLACES] - trips()[PLACES]).abs().to_numpy()
    assert difference.min() > 0
    assert difference.max() < 1e-4
    loaded = gv.load(release.value)
    assert loaded.n == 6
    assert loaded.value[PLACES].to_numpy() == pytest.approx(after[PLACES].to_numpy(), abs=1e-9)
    again = loaded.to_file(tmp_path / f"again.{ending}")
    assert read(again)[PLACES].to_numpy() == pytest.approx(after[PLACES].to_numpy(), abs=1e-9)


def test_both_ends_set_noise(tmp_path: Path) -> None:
    """Two points of a row need the noise of two rows; the radius is that of a single point, once."""
    path = saved(trips(), tmp_path / "in.csv")
    both = gv.Locations(path, person="user", area=BAY).points(to=tmp_path / "both.csv", rho=1e-4)
    one = gv.Locations(path, person="user", area=BAY, lat="pickup_latitude", lon="pickup_longitude").points(
        to=tmp_path / "one.csv", rho=1e-4
    )
    wide, narrow = pd.read_csv(both.value)["radius_95"], pd.read_csv(one.value)["radius_95"]
    assert (wide / narrow).to_numpy() == pytest.approx(2**0.5, rel=1e-3)


def test_one_pair_is_released(tmp_path: Path) -> None:
    """The other one is removed, also with keep="all"."""
    path = saved(trips(), tmp_path / "in.csv")
    each: list[dict[str, Any]] = [{"lat": "dropoff_latitude"}, {"lon": "dropoff_longitude"}]
    for named in each:
        target = tmp_path / f"{[*named]}.csv"
        release = release_of("points", path, person="user", area=BAY, to=target, rho=FINE, keep="all", **named)
        assert pd.read_csv(release.value).columns.tolist() == [
            *("user", "dropoff_longitude", "dropoff_latitude", "radius_95", "rho")
        ]
        assert {"pickup_longitude", "pickup_latitude"} <= {*release.removed.columns}


def test_unusual_trip_names(tmp_path: Path) -> None:
    """Trips of unusual names are given by two columns each. Origin first."""
    frame = trips().set_axis(["user", "home_lon", "home_lat", "work_lon", "work_lat", "distance"], axis=1)
    path = saved(frame, tmp_path / "in.csv")
    found = gv.Locations(path, lat=["home_lat", "work_lat"], lon=["home_lon", "work_lon"]).frame()
    assert found.geometry[0].coords[:] == [(LON[0], LAT[0]), (LON[0] + 0.01, LAT[0] + 0.02)]
    refused: list[dict[str, Any]] = [
        {"lat": ["home_lat", "work_lat"], "lon": "home_lon"},
        {"lat": "home_lat", "lon": "home_lat"},
    ]
    for wrong in refused:
        with pytest.raises(InvalidParameter, match=r"^(lat|lon) = "):
            gv.Locations(path, **wrong).frame()


def test_rows_without_one_end(tmp_path: Path) -> None:
    """A row without one end has no location. It is refused by its number, or removed as a whole."""
    frame = trips()
    frame.loc[1, "dropoff_latitude"] = np.nan
    path = saved(frame, tmp_path / "in.csv")
    with pytest.raises(InvalidData, match=r"in\.csv, row 2 = None.*missing=\"drop\""):
        gv.Locations(path, person="user", area=BAY).points(to=tmp_path / "out.csv", rho=1e-4)
    release = gv.Locations(path, person="user", area=BAY, missing="drop").points(to=tmp_path / "out.csv", rho=1e-4)
    assert (release.n, len(pd.read_csv(release.value))) == (4, 2)


def test_outside_ends_name_rows(tmp_path: Path) -> None:
    """An end outside the area is named by its row. Taxis often have a destination at 0, 0."""
    frame = trips()
    frame.loc[2, ["dropoff_longitude", "dropoff_latitude"]] = 0
    path = saved(frame, tmp_path / "in.csv")
    with pytest.raises(GeoveilError, match=r"in\.csv, row 3 = \[0\.0, 0\.0\]"):
        gv.Locations(path, person="user", area=BAY).points(to=tmp_path / "out.csv", rho=1e-4)
    release = gv.Locations(path, person="user", area=BAY, outside="drop").points(to=tmp_path / "out.csv", rho=1e-4)
    assert (release.n, release.removed.outside) == (4, 1)


@pytest.mark.parametrize("ending", [".geojson", ".gpkg", ".parquet", ".tsv", ".xlsx"])
def test_trips_in_other_formats(ending: str, tmp_path: Path) -> None:
    """As lines where the format has geometries, and in their columns where it is a table."""
    path = saved(trips(), tmp_path / "in.csv")
    release = gv.Locations(path, person="user", area=BAY).points(to=tmp_path / f"out{ending}", rho=FINE)
    found = gv.Locations(release.value).frame().geometry
    wanted = trips()[PLACES].to_numpy().reshape(-1, 2)
    assert np.abs(shapely.get_coordinates(np.asarray(found)) - wanted).max() < 1e-4


def test_unknown_systems_are_refused(tmp_path: Path) -> None:
    """Columns X and Y, in degrees or metres, need a system; degrees by name and metres by value as well."""
    path = tmp_path / "in.csv"
    path.write_text("id;X;Y\n1;-122,41;37,78\n")
    with pytest.raises(InvalidParameter, match=r"^crs = None.*columns X and Y\..*crs=4326"):
        gv.Locations(path).frame()
    assert gv.Locations(path, crs=4326).frame().geometry.y.tolist() == [37.78]
    path.write_text("id,lat,lon\n1,4180000,552000\n")
    with pytest.raises(InvalidParameter, match=r"^crs = None.*columns lon and lat"):
        gv.Locations(path).frame()
    assert gv.Locations(path, crs=32610).frame().geometry.x.tolist() == [552_000]


def test_missing_columns_have_candidates(tmp_path: Path) -> None:
    """Columns that are not there are named with candidates. In the words of Python."""
    path = saved(trips(), tmp_path / "in.csv")
    with pytest.raises(
        InvalidParameter, match=r"^lat = 'north'.*Give lat=\"pickup_latitude\" lon=\"pickup_longitude\", or"
    ):
        gv.Locations(path, lat="north", lon="east").frame()


def test_times_are_kept(tmp_path: Path) -> None:
    """Times are kept by name and content. Others that may be times are removed, and named."""
    frame = table(
        lat=LAT, lon=LON, tracked_at=["2024-05-01 08:30"] * 3, last_review=["2024-05-01"] * 3, time=[1, 2, 3]
    )
    path = saved(frame, tmp_path / "in.csv")
    release = gv.Locations(path, person="user", area=BAY).points(to=tmp_path / "out.csv", rho=1e-4)
    assert pd.read_csv(release.value).columns.tolist() == ["user", "lat", "lon", "tracked_at", "radius_95", "rho"]
    assert release.removed.columns == ("last_review", "time")
    assert "last_review" in str(release)
    kept = gv.Locations(path, person="user", area=BAY).points(to=tmp_path / "kept.csv", rho=1e-4, keep=["time"])
    assert pd.read_csv(kept.value)["time"].tolist() == [1, 2, 3]


def test_geometry_bytes_become_text(tmp_path: Path) -> None:
    """Parquet with WKB that no metadata describes."""
    table(geometry=[*shapely.to_wkb(POINTS)]).to_parquet(tmp_path / "in.parquet", index=False)
    for ending in (".parquet", ".csv"):
        release = gv.Locations(tmp_path / "in.parquet", person="user", area=BAY).points(
            to=tmp_path / f"out{ending}", rho=FINE
        )
        loaded = np.asarray(gv.load(release.value).value.geometry)
        assert (shapely.distance(loaded, POINTS) < 1e-6).all()


UNITS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "latitudeE7,longitudeE7": ("E7", [(f"{round(lat * 1e7)}", f"{round(lon * 1e7)}") for lon, lat in PLACED]),
    "lat_e6,lng_e6": ("E6", [(f"{round(lat * 1e6)}", f"{round(lon * 1e6)}") for lon, lat in PLACED]),
    "position_lat,position_long": (
        "semicircles",
        [(f"{round(lat * 2**31 / 180)}", f"{round(lon * 2**31 / 180)}") for lon, lat in PLACED],
    ),
    "lat,lon": ("letters", [(f"{lat}N", f"{-lon}° W") for lon, lat in PLACED]),
    "Latitude,Longitude": (
        "minutes",
        [(f"{int(lat)}°{lat % 1 * 60:.6f}'N", f"W{int(-lon)}°{-lon % 1 * 60:.6f}'") for lon, lat in PLACED],
    ),
}


@pytest.mark.parametrize("names", UNITS)
@pytest.mark.parametrize("ending", ["csv", "parquet", "geojson"])
def test_angle_units_are_released(names: str, ending: str, tmp_path: Path) -> None:
    """Ten-millionths of degrees, semicircles and texts of angles are read, released, and read again."""
    lines = [f"{lat},{lon}" for lat, lon in UNITS[names][1]]
    source, target = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    source.write_text("\n".join([f"{names}", *lines]) + "\n", encoding="utf-8")
    release_of("points", source, area=BAY, to=target, rho=FINE)
    found = shapely.get_coordinates(gv.load(target).value.geometry.array)
    assert np.abs(found - np.array(PLACED)).max() < 1e-3


def test_large_integers_need_names(tmp_path: Path) -> None:
    """Whole numbers that are no degrees may be of two units: each remedy that the error names is followed."""
    lat, lon = UNITS["latitudeE7,longitudeE7"][1][0]
    (tmp_path / "in.csv").write_text(f"lat,lon\n{lat},{lon}\n")
    with pytest.raises(InvalidParameter, match=r"Rename them: latitudeE7 and longitudeE7 .* position_lat and pos"):
        open_locations(tmp_path / "in.csv")
    for names, expected in (("latitudeE7,longitudeE7", 37.78), ("position_lat,position_long", 37.78e7 * 180 / 2**31)):
        (tmp_path / "in.csv").write_text(f"{names}\n{lat},{lon}\n")
        [batch] = open_locations(tmp_path / "in.csv").batches([])
        assert batch.coords[0, 1] == pytest.approx(expected)


def test_bad_angles_name_rows(tmp_path: Path) -> None:
    """A text among angles that is none is named with its row; left empty, its row has no location."""
    text = "lat,lon\n37.78N,122.41W\n37.78N,122.41W\n{},122.41W\n"
    (tmp_path / "in.csv").write_text(text.format("95x"))
    with pytest.raises(InvalidFile, match=r"in\.csv, row 3 = '95x': must be an angle such as 52\.52N"):
        [*open_locations(tmp_path / "in.csv").batches([])]
    (tmp_path / "in.csv").write_text(text.format(""))
    release = release_of("points", tmp_path / "in.csv", area=BAY, to=tmp_path / "out.csv", rho=FINE, missing="drop")
    assert len(pd.read_csv(release.value)) == 2


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"time": 1, "loc": [*place]} for place in PLACED]),
        json.dumps([{"location": {"type": "Point", "coordinates": [*place, 30]}} for place in PLACED]),
        json.dumps([{"latlng": [*place[::-1]]} for place in PLACED]),
        json.dumps([[*place] for place in PLACED]),
        json.dumps({"data": [{"position": [*place]} for place in PLACED]}),
        json.dumps(
            {
                "type": "FeatureCollection",
                "features": [
                    {
                        "type": "Feature",
                        "properties": {},
                        "geometry": {"type": "Point", "coordinates": [str(axis) for axis in place]},
                    }
                    for place in PLACED
                ],
            }
        ),
    ],
)
def test_json_lists_are_places(text: str, tmp_path: Path) -> None:
    """Lists are [longitude, latitude], in records, alone, and as texts in GeoJSON; a name may say otherwise."""
    (tmp_path / "in.json").write_text(text)
    release = release_of("points", tmp_path / "in.json", area=BAY, to=tmp_path / "out.csv", rho=FINE)
    found = shapely.get_coordinates(gv.load(release.value).value.geometry.array)
    assert np.abs(found - np.array(PLACED)).max() < 1e-3


def test_csv_lists_are_places(tmp_path: Path) -> None:
    """Texts in brackets are [longitude, latitude], as in JSON, also where both may be either, and stay so."""
    lines = "".join(f'"[13.4, 52.{i}]"\n' for i in range(3))
    (tmp_path / "in.csv").write_text("location\n" + lines)
    area = gv.local(lat=52.5, lon=13.4, radius=100_000)
    release = release_of("points", tmp_path / "in.csv", area=area, to=tmp_path / "out.csv", rho=FINE)
    found = shapely.get_coordinates(gv.load(release.value).value.geometry.array)
    assert np.abs(found - [[13.4, 52.0 + i / 10] for i in range(3)]).max() < 1e-3
