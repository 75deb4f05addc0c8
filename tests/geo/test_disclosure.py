"""Columns that reveal locations are found by their names, by their values, and by how closely they follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pyproj
import pytest

import geoveil as gv
from geoveil.errors import GeoveilWarning, InvalidParameter
from geoveil.facts import Unchanged
from geoveil.geo import disclosure
from geoveil.geo.disclosure import followed_share
from geoveil.geo.location_values import location_values
from geoveil.geo.planes import plane_of
from tests.formats import BAY, people
from tests.questions import release_of

PLANE = plane_of(pyproj.CRS(4326), BAY)
RNG = np.random.default_rng(7)
LON, LAT = RNG.uniform(-122.6, -122.3, 400), RNG.uniform(37.6, 37.9, 400)
PLACES = np.column_stack([LON, LAT])
DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz"


def geohash(lon: float, lat: float, length: int = 7) -> str:
    """Encode a place by halving the globe, as its inventor did."""
    low, high = [-180.0, -90.0], [180.0, 90.0]
    bits = ""
    for at in range(5 * length):
        axis, place = at % 2, (lon, lat)[at % 2]
        middle = (low[axis] + high[axis]) / 2
        bits += "1" if place >= middle else "0"
        (low if place >= middle else high)[axis] = middle
    return "".join(DIGITS[int(bits[i : i + 5], 2)] for i in range(0, len(bits), 5))


LOOKS: dict[str, tuple[Any, str]] = {
    "longitudes": (LON, "longitudes of the area"),
    "latitudes": (LAT, "latitudes of the area"),
    "two decimals": (np.round(LAT, 2), "latitudes of the area"),
    "single precision": (LAT.astype("float32"), "latitudes of the area"),
    "with missing values": (np.where(np.arange(400) % 3, LAT, np.nan), "latitudes of the area"),
    "numbers as texts": ([f"{x:.5f}" for x in LON], "longitudes of the area"),
    "decimal commas": ([f"{x:.5f}".replace(".", ",") for x in LON], "longitudes of the area"),
    "degrees E7": ((LAT * 1e7).astype("int64"), "latitudes of the area, times 10^7"),
    "categories": (pd.Categorical(np.round(LAT, 2)), "latitudes of the area"),
    "complex numbers": (LON + 1j * LAT, "longitudes of the area"),
    "beyond 180": (LON + 360, "longitudes of the area"),
    "pairs": ([f"{y:.4f};{x:.4f}" for x, y in PLACES], "texts with coordinates of the area"),
    "pairs in words": ([f"lat {y:.4f}, lng: {x:.4f} (gps)" for x, y in PLACES], "texts with coordinates of the area"),
    "few pairs": (
        [f"{y:.4f} {x:.4f}" if i % 10 == 0 else f"note {i}" for i, (x, y) in enumerate(PLACES)],
        "texts with",
    ),
    "tuples": (pd.Series([(float(x), float(y)) for x, y in PLACES]), "longitudes of the area"),
    "geohashes": ([geohash(x, y) for x, y in PLACES], "geohashes"),
    "capital geohashes": ([geohash(x, y, 9).upper() for x, y in PLACES], "geohashes"),
    "plus codes": (["849VQHFJ+X6", "849VQHGM+2C", "QHFJ+X6 San Francisco"], "plus codes"),
    "minutes": (["37°46'29\"N", "122° 25' 9.9\" W", "37.7749° N"], "degrees, minutes and seconds"),
    "H3 texts": (["8928308280fffff", "89283082803ffff", "872830829ffffff"], "H3 cells"),
    "H3 numbers": ([0x8928308280FFFFF, 0x89283082803FFFF], "H3 cells"),
    "grid references": (["10SEG5114681234", "10S EG 51 80", "10SEG5280"], "grid references (MGRS)"),
    "quadkeys": (["0230102021", "0230102023", "02301020232"], "map tiles (quadkeys)"),
    "three words": (["///filled.count.soap", "index.home.raft"], "what3words addresses"),
}
HARMLESS: dict[str, Any] = {
    "speeds": RNG.uniform(0, 40, 400),
    "counts": np.arange(400),
    "whole degrees": np.full(400, 37),
    "identifiers": [f"u{i}" for i in range(400)],
    "hexadecimal": [f"{int(i):08x}" for i in RNG.integers(2**31, size=400)],
    "15 digits": [f"8{int(i):014x}" for i in RNG.integers(2**50, size=400)],
    "times": pd.date_range("2024-01-01", periods=400, freq="min"),
    "texts of times": [f"2024-01-01T08:{i % 60:02d}:00.125Z" for i in range(400)],
    "temperatures": [f"{t:.1f} °C now" for t in RNG.uniform(0, 30, 400)],
    "notes": ["home", "work", "12.50, 3.20 paid"] * 10,
    "booleans": [True, False] * 20,
    "nothing": [None] * 5,
    "empty": [],
}


@pytest.mark.parametrize("name", LOOKS)
def test_locations_are_recognised(name: str) -> None:
    """Coordinates in any notation, and codes of places, are known by the values alone."""
    values, kind = LOOKS[name]
    assert location_values(values, PLANE).startswith(kind)


def test_tuples_are_recognised() -> None:
    """Parts of a value are looked at as columns of their own, also if they are numbers of numpy."""
    assert location_values([*zip(LAT, LON, strict=True)], PLANE) == "latitudes of the area"
    assert location_values(pd.arrays.IntervalArray.from_arrays(LAT, LAT + 1), PLANE) == "latitudes of the area"


def test_one_precise_pair_suffices() -> None:
    """A single note with the coordinates of a home reveals it."""
    notes = [f"note {i}" for i in range(400)]
    assert location_values(notes, PLANE) == ""
    notes.append(f"seen at {LAT[0]:.5f}, {LON[0]:.5f}")
    assert location_values(notes, PLANE) == "texts with coordinates of the area"


@pytest.mark.parametrize("name", HARMLESS)
def test_other_values_are_not(name: str) -> None:
    """Numbers, identifiers, times and texts are not taken for locations."""
    assert location_values(HARMLESS[name], PLANE) == ""


def test_projected_coordinates_are_recognised() -> None:
    """Eastings and northings of the data's own system, where the area makes them narrow."""
    plane = plane_of(pyproj.CRS(32610), BAY)
    northing = RNG.uniform(4.16e6, 4.2e6, 50)
    assert location_values(northing, plane) == "northings of the area"
    assert location_values(northing, PLANE) == ""


def test_antimeridian_coordinates_are_recognised() -> None:
    """Longitudes of an area around 180 degrees are on both sides."""
    plane = plane_of(pyproj.CRS(4326), gv.local(lat=-17.8, lon=179.9, radius=100_000))
    assert location_values([179.512, -179.688, 179.9], plane) == "longitudes of the area"
    assert location_values([12.5, 0.25], plane) == ""


def test_dependent_columns_are_found() -> None:
    """Monotone functions, rotated axes, labels of regions and identifiers of venues follow; noise does not."""
    venue = RNG.integers(150, size=400)
    homes = np.column_stack([RNG.uniform(-122.6, -122.3, 150), RNG.uniform(37.6, 37.9, 150)])
    assert followed_share(np.exp(LON), PLACES) > 0.99
    assert followed_share(LON - LAT, PLACES) > 0.8
    assert followed_share(np.where(LON > -122.45, "east", "west"), PLACES) > 0.5
    assert followed_share([f"venue {i}" for i in venue], homes[venue]) > 0.9
    assert followed_share(pd.Categorical(venue), homes[venue]) > 0.9
    for unrelated in (RNG.normal(size=400), venue, np.arange(400), [f"id {i}" for i in range(400)], np.ones(400)):
        assert followed_share(unrelated, PLACES) == 0


def test_destination_columns_are_found() -> None:
    """A column that follows the destination is found. Of rows with an origin and a destination, both count."""
    ends = np.hstack([PLACES, PLACES[::-1]])
    assert followed_share(-3 * LAT[::-1], ends) > 0.9
    assert followed_share(-3 * LAT[::-1], PLACES) == 0
    table = pd.DataFrame({"start_lon": LON, "start_lat": LAT, "end_lon": LON[::-1], "end_lat": LAT[::-1]})
    with pytest.raises(InvalidParameter, match="'b': it follows the locations"):
        gv.Locations(table.assign(b=-3 * LAT[::-1]), area=BAY).points(keep="all", rho=1e-4)


def test_row_counts_tell_nothing() -> None:
    """The order of rows is public, so that a counter beside a straight track tells nothing."""
    track = np.column_stack([np.arange(200.0), np.arange(200.0)])
    assert followed_share(np.arange(1000, 1200), track) == 0
    assert followed_share(np.arange(200)[::-1], track) == 0
    assert followed_share(np.arange(200) * 1e-4 + 37.7, track) > 0.9


def hidden(**columns: Any) -> Any:
    """A frame of 60 places with harmless names of columns."""
    return people().drop(columns="address").assign(**columns)


def check_all_is_refused(**columns: Any) -> None:
    """`keep="all"` refuses a frame and names each of the columns and the two ways on."""
    with pytest.raises(InvalidParameter) as refused:
        gv.Locations(hidden(note="x", **columns), area=BAY).points(keep="all", rho=1e-4)
    assert all(repr(name) in str(refused.value) for name in columns)
    assert "'note'" not in str(refused.value)
    assert "name the columns" in str(refused.value)
    assert "drop these columns" in str(refused.value)


def test_all_refuses_revealing_columns() -> None:
    """All refuses columns that reveal locations.

    Whatever they are called: true coordinates, texts of them, and labels of places.
    """
    frame = people()
    lon, lat = frame.geometry.x, frame.geometry.y
    check_all_is_refused(a=lat)
    check_all_is_refused(b=lon.to_numpy() * 7 + 3, c=[geohash(x, y) for x, y in zip(lon, lat, strict=True)])
    check_all_is_refused(code=pd.Categorical((lat > 37.75).map({True: "n", False: "s"})))


def test_a_refusal_costs_nothing(tmp_path: Path) -> None:
    """Sessions and files refuse before they charge, and no file is written."""
    frame = hidden(a=people().geometry.y)
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("u0", "u1", "u2", rho=1)
    session = gv.Locations(frame, person="user", area=BAY).session(ledger=ledger)
    with pytest.raises(InvalidParameter, match="'a': its values look like latitudes"):
        session.points(rho=1e-4, keep="all")
    frame.to_parquet(tmp_path / "in.parquet")
    how: Any = {"rho": 1e-4, "area": BAY, "person": "user", "ledger": ledger}
    with pytest.raises(InvalidParameter, match="'a': its values look like latitudes"):
        release_of("points", tmp_path / "in.parquet", to=tmp_path / "out.parquet", keep="all", **how)
    assert not (tmp_path / "out.parquet").exists()
    assert ledger.account("u0").spent == 0


@pytest.mark.parametrize("name", ["in.csv", "in.parquet", "in.gpkg", "in.geojson"])
def test_all_refuses_in_files(name: str, tmp_path: Path) -> None:
    """A venue of one place each, and a text with coordinates, are refused in every format; named, they are stated."""
    frame = people(400).drop(columns="address")
    venue = np.arange(400) // 4
    frame = frame.set_geometry(frame.geometry.iloc[venue * 4].reset_index(drop=True)).assign(v=venue * 31 % 97)
    frame["w"] = [f"{p.y:.5f}/{p.x:.5f}" for p in frame.geometry]
    path, target = tmp_path / name, tmp_path / name.replace("in", "out")
    if name == "in.csv":
        table = pd.DataFrame(frame.drop(columns="geometry"))
        table.assign(lat=frame.geometry.y, lon=frame.geometry.x).to_csv(path, index=False)
    elif name == "in.parquet":
        frame.to_parquet(path)
    else:
        frame.to_file(path)
    how: Any = {"person": "user", "rho": 1.0, "area": BAY}
    with pytest.raises(InvalidParameter, match=r"'v': it follows the locations.*'w': its values look like texts"):
        release_of("points", path, to=target, keep="all", **how)
    with pytest.warns(GeoveilWarning, match="'[vw]' is released unchanged, since it was named"):
        release = release_of("points", path, to=target, keep=["all", "v", "w"], **how)
    told = json.loads(target.with_name(target.name + ".certificate.json").read_text())["unchanged"]
    follow = "its values follow the released locations closely"
    assert {column["name"]: (column["reason"], column["warnings"]) for column in told} == {
        "user": ("person", []),
        "time": ("time", []),
        "v": ("named", [follow]),
        "w": ("named", ["its values look like texts with coordinates of the area", follow]),
    }
    assert gv.load(target).unchanged == release.unchanged


def test_truth_is_not_written() -> None:
    """With noise that hides the locations, the certificate does not say that a column follows the true ones."""
    frame = hidden(a=people().geometry.x.rank())
    with pytest.warns(GeoveilWarning, match="follows the locations closely"):
        release = gv.Locations(frame, area=BAY, outside="clamp").points(keep=["a"], rho=1e-12)
    assert release.unchanged[-1] == Unchanged("a", "named", ())
    assert "follow" not in json.dumps(release.certificate())


def test_every_column_has_reasons() -> None:
    """Persons, times, columns that were named and an index that is released: the facts list all of them."""
    frame = hidden(note="x").set_index(pd.Index([7 * i % 61 for i in range(60)], name="row"))
    release = gv.Locations(frame, person="user", area=BAY).points(keep=["note"], rho=1e-4)
    reasons = {column.name: column.reason for column in release.facts().unchanged}
    assert reasons == {"user": "person", "time": "time", "note": "named", "row": "structure"}
    assert "unchanged  user (person), time (time), note (named), row (structure)" in repr(release)
    assert "WARN" not in repr(release).upper()
    assert [column.name for column in gv.Locations(frame, person="user", area=BAY).mean(rho=1e-4).unchanged] == [
        "user"
    ]


def test_named_coordinates_are_stated() -> None:
    """A named coordinate is stated everywhere. In the facts, the repr, the words and the certificate."""
    frame = hidden(dropoff_lat=people().geometry.y)
    with pytest.warns(GeoveilWarning, match="its name says that it holds coordinates, and its values"):
        release = gv.Locations(frame, area=BAY).points(keep=["dropoff_lat"], rho=1e-4)
    said = "dropoff_lat is released unchanged, and its name says that it holds coordinates"
    assert said in repr(release)
    assert said in release.certificate()["words"]
    assert release.certificate()["unchanged"][-1]["warnings"][0] == "its name says that it holds coordinates"


@pytest.mark.slow
def test_warnings_are_red(tmp_path: Path) -> None:
    """The page has a banner and a row in red, and so has the card; without warnings there is neither."""
    for keep, red in ((["city"], True), (None, False)):
        release = gv.Locations(hidden(city="<b>SF"), area=BAY).points(keep=keep, rho=1e-2)
        release.report(tmp_path / "page.html", overwrite=True)
        page, card = (tmp_path / "page.html").read_text(), release._repr_html_()
        said = "Warning: the column city is released unchanged, and its name suggests locations."
        assert (f'<div class="banner" role="alert">{said}</div>' in page) == red
        assert ('<tr class="warning"><th scope="row">Warning</th>' in page) == red
        assert ('<dt class="warning">warning</dt><dd class="warning">the column city' in card) == red


def test_planted_keep_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `keep="all"` that writes what it should refuse fails the check above."""
    latitudes = people().geometry.y
    check_all_is_refused(a=latitudes)
    monkeypatch.setattr(disclosure, "suspicions", lambda *_: [])
    with pytest.raises(pytest.fail.Exception):
        check_all_is_refused(a=latitudes)


def test_the_sample_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of many rows, some are looked at, the same ones each time."""
    monkeypatch.setattr(disclosure, "SAMPLE", 50)
    seen = []
    right = disclosure.followed_share

    def counted(values: Any, places: Any) -> float:
        seen.append((len(values), len(places)))
        return right(values, places)

    monkeypatch.setattr(disclosure, "followed_share", counted)
    frame = geopandas.GeoDataFrame(people(500).assign(note=[f"n{i}" for i in range(500)]))
    gv.Locations(frame, person="user", area=BAY).points(keep=["note"], rho=1.0)
    frame.to_parquet(tmp_path / "in.parquet")
    gv.Locations(tmp_path / "in.parquet", person="user", area=BAY).points(
        to=tmp_path / "out.parquet", keep=["note"], rho=1.0
    )
    assert seen == [(50, 50)] * 4


def test_geoseries_index_is_stated() -> None:
    """The index of a GeoSeries is stated. Its labels are released unchanged, and may be coordinates."""
    labels = [f"{y:.5f};{x:.5f}" for x, y in PLACES[:20]]
    homes = geopandas.GeoSeries.from_xy(LON[:20], LAT[:20], index=labels, crs=4326)
    (stated,) = gv.Locations(homes, area=BAY).points(rho=1e-4).facts().unchanged
    assert (stated.name, stated.reason) == ("index", "structure")
    assert stated.warnings == ("its values look like texts with coordinates of the area",)


def test_answer_labels_are_listed() -> None:
    """Labels of persons in the frame of an answer are listed.

    They are its index; labels that look like places get a warning, and pseudonyms are not listed.
    """
    labels = [geohash(x, y) for x, y in PLACES]
    frame = pd.DataFrame({"who": labels, "lat": LAT, "lon": LON})
    told = gv.Locations(frame, person="who", area=BAY).mean(rho=1e-4).certificate()["unchanged"]
    assert [(column["name"], column["reason"]) for column in told] == [("who", "person")]
    assert "geohashes" in told[0]["warnings"][0]
    assert (
        gv.Locations(frame, person="who", pseudonyms=True, area=BAY).center(rho=1e-4).certificate()["unchanged"] == []
    )
    metres = gv.Locations(1000 * PLACES, person=labels, crs="metres").mean(rho=1e-4)
    assert [column.name for column in metres.unchanged] == ["person"]
