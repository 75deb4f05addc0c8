"""Formats that strangers have: spreadsheets, tracks of Geolife, KML, records, archives, and files with odd names."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import openpyxl
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.budget import Ledger
from geoveil.errors import FileUnavailable, InvalidData, InvalidFile, InvalidParameter
from geoveil.geo.formats import ending, open_locations, targets
from geoveil.requests.file_request import check_times
from tests.command_line import LOCAL
from tests.formats import BAY, people
from tests.questions import release_of

SMALL = 0.001  # noise of a few metres, so that released points are near the true ones


def table() -> Any:
    """Points as a plain table."""
    frame = people(12)
    rest = pd.DataFrame(frame.drop(columns="geometry"))
    return rest.assign(lat=frame.geometry.y, lon=frame.geometry.x)


def released(source: Path, target: Path, **how: Any) -> Any:
    """Release a file and load what was written."""
    release_of("points", source, area=BAY, to=target, rho=1.0, **how)
    return gv.load(target).value


def near(found: Any, frame: Any) -> bool:
    """Whether the points of two frames are within a few metres, row by row."""
    there, here = (shapely.get_coordinates(each.geometry.array) for each in (found, frame))
    return bool(len(there) == len(here) and np.abs(there - here).max() < SMALL)


PLT = "Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n0,2,255,My Track,0,0,2,8421376\r\n0\r\n"


def plt(path: Path, places: Any) -> None:
    """Write a track of Geolife: one point a minute."""
    lines = [
        f"{place.y:.6f},{place.x:.6f},0,492,{39744.1201851852 + i / 1440:.10f},2008-10-23,02:53:04\r\n"
        for i, place in enumerate(places)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PLT + "".join(lines), newline="")


KML = (
    '<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2">'
    "<Document><Folder>{}</Folder></Document></kml>"
)
POINT = (
    "<Placemark><name>ann</name><TimeStamp><when>2024-05-01T08:00:00Z</when></TimeStamp>"
    "<ExtendedData><Data name='mode'><value>bike</value></Data></ExtendedData>"
    "<Point><coordinates>-122.41,37.78,12</coordinates></Point></Placemark>"
)
TRACK = (
    "<Placemark><name>bob</name><gx:Track><when>2024-05-01T08:00:00Z</when><when>2024-05-01T08:01:00Z</when>"
    "<gx:coord>-122.42 37.77 0</gx:coord><gx:coord>-122.43 37.76 0</gx:coord></gx:Track></Placemark>"
)
LINE = (
    "<Placemark><name>eve</name><LineString><coordinates>-122.4,37.7 -122.41,37.71</coordinates></LineString>"
    "</Placemark>"
)


def kml(path: Path, *placemarks: str) -> Path:
    """Write placemarks."""
    path.write_text(KML.format("".join(placemarks)))
    return path


TARGETS = [".csv", ".tsv", ".txt", ".csv.gz", ".xlsx", ".parquet", ".geojson", ".geojsonl", ".gpkg", ".shp", ".fgb"]


@pytest.mark.slow
@pytest.mark.parametrize("end", TARGETS)
@pytest.mark.parametrize("start", [".csv", ".gpkg", ".parquet", ".xlsx"])
def test_target_ending_is_format(start: str, end: str, tmp_path: Path) -> None:
    """Points, persons and times go from any format to any other, with a certificate that belongs to the file."""
    frame = people(12)
    source = tmp_path / f"trips{start}"
    if start == ".csv":
        table().to_csv(source, index=False)
    elif start == ".xlsx":
        table().to_excel(source, index=False)
    elif start == ".gpkg":
        frame.to_file(source)
    else:
        frame.to_parquet(source)
    found = released(source, tmp_path / f"out{end}", person="user")
    assert near(found, frame)
    assert found["user"].tolist() == frame["user"].tolist()
    assert pd.to_datetime(found["time"], utc=True).tolist() == pd.to_datetime(frame["time"], utc=True).tolist()
    assert {"radius_95", "rho"} <= {*found.columns}
    assert "address" not in found.columns


@pytest.mark.parametrize("end", [".csv", ".xlsx", ".parquet", ".geojson", ".gpkg", ".fgb", ".shp"])
def test_lines_in_any_format(end: str, tmp_path: Path) -> None:
    """Tables have a column of WKT for them; lines of several parts are lines too."""
    lines = [
        shapely.MultiLineString([[(-122.4, 37.7), (-122.41, 37.71)], [(-122.5, 37.7), (-122.51, 37.72)]]),
        shapely.MultiLineString([[(-122.3, 37.7), (-122.31, 37.71)]]),
    ]
    frame = geopandas.GeoDataFrame({"user": ["ann", "bob"]}, geometry=lines, crs=4326)
    frame.to_file(tmp_path / "lines.geojson")
    found = released(tmp_path / "lines.geojson", tmp_path / f"out{end}", person="user")
    assert near(found, frame)


def test_unfit_targets_are_refused(tmp_path: Path) -> None:
    """A target that cannot hold the columns is refused before anything is charged.

    A shapefile would cut long names; other endings are not written.
    """
    rows = table().rename(columns={"user": "a_very_long_name"})
    rows.to_csv(tmp_path / "trips.csv", index=False)
    how: dict[str, Any] = {"rho": 1.0, "area": BAY, "person": "a_very_long_name"}
    with Ledger(tmp_path / "budget.db") as ledger:
        for label in rows["a_very_long_name"].unique():
            ledger.create(label, rho=10)
        with pytest.raises(InvalidParameter, match=r"at most 10 bytes.*\.gpkg"):
            release_of("points", tmp_path / "trips.csv", ledger=ledger, to=tmp_path / "out.shp", **how)
        with pytest.raises(InvalidParameter, match=r"ends in \.csv, \.xlsx"):
            release_of("points", tmp_path / "trips.csv", ledger=ledger, to=tmp_path / "out.kml", **how)
        assert all(ledger.account(label).spent == 0 for label in rows["a_very_long_name"].unique())
    assert not [*tmp_path.glob("out*")]


def test_unfit_shapefiles_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes and texts that a shapefile cannot hold are refused before anything is charged.

    Also if each batch of rows has geometries of one type; lines and lines of several parts are of one.
    """
    monkeypatch.setattr("geoveil.geo.formats.gdal.ROWS", 1)
    line = shapely.LineString([(-122.3, 37.7), (-122.31, 37.71)])
    shapes = {"mixed": [line, line.centroid], "lines": [shapely.MultiLineString([line]), line], "long": [line, line]}
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("ann", rho=10)
        for name, geometry in shapes.items():
            note = ["short", "x" * 300 if name == "long" else ""]
            frame = geopandas.GeoDataFrame({"note": note}, geometry=geometry, crs=4326)
            frame.to_file(tmp_path / f"{name}.gpkg")
        how: dict[str, Any] = {"rho": 1.0, "area": BAY, "keep": ["note"], "ledger": ledger, "subject": "ann"}
        with pytest.raises(InvalidParameter, match=r"^target = \['LineString', 'Point'\].*several types.*\.gpkg"):
            release_of("points", tmp_path / "mixed.gpkg", to=tmp_path / "out.shp", **how)
        with pytest.raises(InvalidFile, match=r"row 2, note.*at most 254 bytes"):
            release_of("points", tmp_path / "long.gpkg", to=tmp_path / "out.shp", **how)
        assert ledger.account("ann").spent == 0
        release_of("points", tmp_path / "lines.gpkg", to=tmp_path / "out.shp", **how)
        assert near(geopandas.read_file(tmp_path / "out.shp"), geopandas.read_file(tmp_path / "lines.gpkg"))


def test_spreadsheets_keep_types(tmp_path: Path) -> None:
    """Dates and numbers of a spreadsheet stay what they are.

    Texts that begin like formulas stay texts, and nobody is told to beware of them.
    """
    times = pd.date_range("2024-05-01 08:00", periods=12, freq="min")
    notes = ["=1+1", "+41 44 000", "@x", *["plain"] * 9]
    rows = table().assign(time=times, count=range(12), note=notes, share=0.5)
    rows.to_parquet(tmp_path / "trips.parquet")
    gv.Locations(tmp_path / "trips.parquet", person="user", area=BAY).points(
        to=tmp_path / "out.xlsx", rho=1.0, keep=["count", "note", "share"]
    )
    found = pd.read_excel(tmp_path / "out.xlsx")
    assert found["time"].tolist() == times.tolist()
    assert found["count"].tolist() == [*range(12)]
    assert found["note"].tolist() == notes
    cells = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    assert {cell.data_type for cell in cells["G"][1:]} <= {"s", "n"}
    assert not any(cell.data_type == "f" for row in cells.rows for cell in row)


def test_sheets_are_layers(tmp_path: Path) -> None:
    """One sheet that is not empty is taken; of several, one is named."""
    path = tmp_path / "trips.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame().to_excel(book, sheet_name="cover", index=False)
        table().to_excel(book, sheet_name="trips", index=False)
    assert len(gv.Locations(path).frame()) == 12
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"a": [1]}).to_excel(book, sheet_name="about", index=False)
        table().to_excel(book, sheet_name="trips", index=False)
    with pytest.raises(InvalidParameter, match=r"layer.*'about', 'trips'"):
        gv.Locations(path).frame()
    assert len(gv.Locations(path, layer="trips").frame()) == 12


def test_spreadsheets_need_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without openpyxl the error names the extra to install."""
    table().to_excel(tmp_path / "trips.xlsx", index=False)
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(FileUnavailable, match=r"geoveil\[excel\]"):
        gv.Locations(tmp_path / "trips.xlsx").frame()


def test_geolife_tracks(tmp_path: Path) -> None:
    """Six header lines are skipped; equal names of files in folders of two users are two tracks."""
    frame = people(12)
    for user, rows in (("000", frame.geometry[:5]), ("001", frame.geometry[5:])):
        plt(tmp_path / "Geolife" / "Data" / user / "Trajectory" / "20081023025304.plt", rows)
    found = released(tmp_path / "Geolife", tmp_path / "out.csv", person="user")
    assert near(found, frame)
    assert found["user"].tolist() == ["000"] * 5 + ["001"] * 7
    assert found["time"].tolist()[:2] == ["2008-10-23 02:53:04Z", "2008-10-23 02:54:04Z"]
    plt(tmp_path / "one.plt", frame.geometry)
    assert gv.Locations(tmp_path / "one.plt").frame().columns.tolist() == [
        "trajectory",
        "time",
        "altitude",
        "geometry",
    ]
    plt(tmp_path / "none.plt", [])
    with pytest.raises(InvalidFile, match="at least one"):
        gv.Locations(tmp_path / "none.plt", area=BAY).points(to=tmp_path / "x.csv", rho=1.0)
    with pytest.raises(InvalidParameter, match=r"ends in \.csv"):
        gv.Locations(tmp_path / "one.plt", area=BAY).points(to=tmp_path / "x.plt", rho=1.0)
    (tmp_path / "old.plt").write_text(PLT.replace("WGS 84", "NAD27 CONUS"))
    with pytest.raises(InvalidFile, match="WGS 84"):
        gv.Locations(tmp_path / "old.plt").frame()


def test_changing_tracks_are_noticed(tmp_path: Path) -> None:
    """The files of all users belong to the source."""
    plt(tmp_path / "data" / "a" / "Trajectory" / "1.plt", people(5).geometry)

    def progress(share: float) -> None:
        if 0 < share < 0.9:
            plt(tmp_path / "data" / "b" / "Trajectory" / "1.plt", people(5).geometry)

    with pytest.raises(InvalidFile, match="unchanged while it is read"):
        gv.Locations(tmp_path / "data", area=BAY, progress=progress).points(to=tmp_path / "out.csv", rho=1.0)


def test_kml_placemarks_and_tracks(tmp_path: Path) -> None:
    """A point of a track is a row with its time; data that was added is a column."""
    found = released(kml(tmp_path / "a.kml", POINT, TRACK), tmp_path / "out.csv", person="name", keep=["mode"])
    assert found["name"].tolist() == ["ann", "bob", "bob"]
    assert found["time"].tolist()[2] == "2024-05-01T08:01:00Z"
    assert found["mode"].tolist()[0] == "bike"
    points = geopandas.GeoSeries.from_xy([-122.41, -122.42, -122.43], [37.78, 37.77, 37.76])
    assert near(found, points)
    mixed = released(kml(tmp_path / "b.kml", POINT, LINE), tmp_path / "mixed.gpkg", person="name")
    assert mixed.geom_type.tolist() == ["Point", "LineString"]
    with pytest.raises(InvalidFile, match="at least one placemark"):
        gv.Locations(kml(tmp_path / "c.kml")).frame()
    (tmp_path / "d.kml").write_text("<!DOCTYPE kml [<!ENTITY a 'b'>]>" + KML.format(POINT).partition("?>")[2])
    with pytest.raises(InvalidFile, match="no document type"):
        gv.Locations(tmp_path / "d.kml").frame()


def test_polygons_are_refused(tmp_path: Path) -> None:
    """Corners of an area are nobody's locations."""
    boxes = geopandas.GeoDataFrame({"user": ["ann"]}, geometry=[shapely.box(-122.5, 37.7, -122.4, 37.8)], crs=4326)
    boxes.to_file(tmp_path / "homes.gpkg")
    with pytest.raises(InvalidData, match=r"row 1 = 'Polygon'.*representative_point"):
        gv.Locations(tmp_path / "homes.gpkg", area=BAY).points(to=tmp_path / "out.gpkg", rho=1.0)


@pytest.mark.parametrize("form", ["list", "lines", "nested"])
def test_records_are_a_table(form: str, tmp_path: Path) -> None:
    """A list of objects, an object in each line, and coordinates within an object."""
    rows = table().drop(columns="address").to_dict("records")
    path = tmp_path / "trips.json"
    if form == "lines":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        if form == "nested":
            rows = [{**row, "location": {"lat": row.pop("lat"), "lng": row.pop("lon")}, "tags": ["x"]} for row in rows]
        path.write_text(json.dumps(rows))
    found = released(path, tmp_path / "out.csv", person="user")
    assert near(found, people(12))
    assert found["user"].tolist() == people(12)["user"].tolist()
    for name, text in (("a.json", "[1, 2]"), ("b.json", "[]"), ("c.json", '[{"lat": 1}, ')):
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidFile):
            gv.Locations(tmp_path / name).frame()


def _zip(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def test_archives_of_one_file(tmp_path: Path) -> None:
    """A zipped shapefile, KMZ, and .gz of anything; the unpacked file is gone afterwards."""
    frame = people(12)
    (tmp_path / "parts").mkdir()
    frame.to_file(tmp_path / "parts" / "t.shp")
    parts = {f"data/{part.name}": part.read_bytes() for part in (tmp_path / "parts").iterdir()}
    shape = _zip(tmp_path / "trips.shp.zip", **parts, **{"readme.txt": b"about, this"})
    assert near(released(shape, tmp_path / "out.gpkg", person="user"), frame)
    kmz = _zip(tmp_path / "a.kmz", **{"doc.kml": KML.format(POINT).encode(), "icon.png": b"x"})
    assert len(gv.Locations(kmz).frame()) == 1
    frame.to_file(tmp_path / "t.geojson")
    (tmp_path / "t.geojson.gz").write_bytes(gzip.compress((tmp_path / "t.geojson").read_bytes()))
    assert near(gv.Locations(tmp_path / "t.geojson.gz").frame(), frame)
    opened = open_locations(tmp_path / "t.geojson.gz")
    folder = opened.path.parent
    assert folder.is_dir()
    del opened
    assert not folder.exists()


def test_harmful_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files of locations, none, paths that lead outside, and more bytes than the limit."""
    csv = table().to_csv(index=False).encode()
    for files in ({"a.csv": csv, "b.csv": csv}, {"a.png": b"x"}, {"a.zip": csv}):
        with pytest.raises(InvalidFile, match="one file of locations"):
            gv.Locations(_zip(tmp_path / "x.zip", **files)).frame()
    outside = _zip(tmp_path / "x.zip", **{"../../evil.csv": csv})
    assert len(gv.Locations(outside).frame()) == 12
    assert not (tmp_path.parent / "evil.csv").exists()
    monkeypatch.setattr("geoveil.geo.formats.archives.UNPACKED", 2**20)
    for name in ("bomb.zip", "bomb.txtx.gz"):
        if name.endswith("zip"):
            _zip(tmp_path / name, **{"a.csv": b"lat,lon\n" + b"1.0,2.0\n" * 10**6})
        else:
            (tmp_path / name).write_bytes(gzip.compress(b"lat,lon\n" + b"1.0,2.0\n" * 10**6))
        with pytest.raises(InvalidFile, match="GEOVEIL_MAX_EXPANSION"):
            gv.Locations(tmp_path / name).frame()
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04" + bytes(50))
    with pytest.raises(InvalidFile, match=r"broken\.zip"):
        gv.Locations(tmp_path / "broken.zip").frame()
    monkeypatch.setattr("geoveil.geo.formats.excel.UNPACKED", 2**20)
    _zip(tmp_path / "bomb.xlsx", **{"xl/workbook.xml": b" " * 10**7})
    with pytest.raises(InvalidFile, match="GEOVEIL_MAX_EXPANSION"):
        gv.Locations(tmp_path / "bomb.xlsx").frame()


def test_ambiguous_flatgeobuf_is_refused(tmp_path: Path) -> None:
    """Its header has a zero byte before any text, so that GDAL finds the words of no other driver."""
    text = b"<OGRVRTDataSource><OGRVRTLayer name='x'><SrcDataSource>/etc/passwd</SrcDataSource></OGRVRTLayer>"
    (tmp_path / "x.fgb").write_bytes(b"fgb\x03fgb\x01" + text + b"</OGRVRTDataSource>")
    with pytest.raises(InvalidFile, match="header of less than"):
        gv.Locations(tmp_path / "x.fgb").frame()


@pytest.mark.parametrize("name", ["trips.dat", "trips", "trips.geo", "trips.bin"])
def test_odd_names_by_content(name: str, tmp_path: Path) -> None:
    """Texts, GeoJSON and Parquet are read whatever they are called."""
    path = tmp_path / name
    if name.endswith("geo"):
        people(12).to_file(path, driver="GeoJSON")
    elif name.endswith("bin"):
        people(12).to_parquet(path)
    else:
        table().to_csv(path, index=False, sep=";")
    assert near(gv.Locations(path).frame(), people(12))


def test_wrong_endings_are_told(tmp_path: Path) -> None:
    """The error names the ending that belongs to the content, or all that are read."""
    people(12).to_file(tmp_path / "a.gpkg")
    table().to_excel(tmp_path / "b.xlsx", index=False)
    for name, right in (("a.gpkg", "gpkg"), ("b.xlsx", "xlsx")):
        for wrong in ("x.foo", "x.geojson", "x.parquet"):
            (tmp_path / wrong).write_bytes((tmp_path / name).read_bytes())
            with pytest.raises(InvalidFile, match=rf"Rename it, so that it ends in \.{right}"):
                gv.Locations(tmp_path / wrong).frame()
    (tmp_path / "y.foo").write_text("nothing")
    with pytest.raises(InvalidFile, match=r"one of \.csv.*\.xlsx.*\.gpkg.*\.kml.*\.plt.*\.zip"):
        gv.Locations(tmp_path / "y.foo").frame()


EMPTY: dict[str, str | None] = {
    **{"zero.csv": "", "blank.csv": "\n\n", "header.csv": "user,lat,lon\n", "open.csv": "lat,lon", "zero.xlsx": ""},
    **{"none.geojson": '{"type": "FeatureCollection", "features": []}', "none.gpx": '<gpx version="1.1"></gpx>'},
    **{"none.geojsonl": " \n", "zero.plt": "", "none.gpkg": None, "none.shp": None, "none.parquet": None},
    **{"none.fgb": None, "none.xlsx": None},
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_files_are_refused(name: str, tmp_path: Path) -> None:
    """No bytes, a header alone, no features: always an error that names the file, never a crash."""
    path, text, nobody = tmp_path / name, EMPTY[name], people(12).iloc[:0]
    if text is not None:
        path.write_text(text)
    elif name.endswith("xlsx"):
        table().iloc[:0].to_excel(path, index=False)
    elif name.endswith("parquet"):
        nobody.to_parquet(path)
    else:
        nobody.to_file(path)
    asked: list[Callable[[], object]] = [
        lambda: gv.Locations(path).frame(),
        lambda: gv.Locations(path, area=BAY).points(to=tmp_path / f"out{path.suffix}", rho=1.0),
    ]
    for ask in asked:
        with pytest.raises(InvalidFile, match=name.replace(".", r"\.")):
            ask()


def test_empty_frames_are_refused() -> None:
    """A frame, a column of geometries and an array without points."""
    nobody = people(12).iloc[:0]
    for x in (nobody, nobody.geometry, nobody.set_index(pd.DatetimeIndex([], name="t"))):
        with pytest.raises(InvalidData, match="at least one point"):
            gv.Locations(x, area=BAY).points(rho=1.0)
    with pytest.raises(InvalidData, match="at least one point"):
        gv.Locations(nobody, person="user", area=BAY).points(rho=1.0)


def test_geoparquet_index_is_column(tmp_path: Path) -> None:
    """As movingpandas writes it: times as the index, which smoothing finds."""
    frame = people(12)
    times = pd.DatetimeIndex(pd.to_datetime(frame["time"]), name="t")
    path = tmp_path / "moving.parquet"
    frame.drop(columns="time").set_index(times).to_parquet(path)
    assert "t" in gv.Locations(path).frame().columns
    check_times(open_locations(path), ["t"])
    found = released(path, tmp_path / "out.parquet", person="user")
    assert found["t"].tolist() == times.tolist()


def test_endings_and_targets(tmp_path: Path) -> None:
    """Two endings of packed tables count as one; a source that is not written goes into a table first."""
    assert ending(Path("a.CSV.GZ")) == ".csv.gz"
    assert ending(Path("a.geojson.gz")) == ".gz"
    for name, first in (("a.plt", ".csv"), ("a.kml", ".csv"), ("a.zip", ".csv"), ("a.gpx", ".gpx"), ("a.fgb", ".fgb")):
        (tmp_path / name).write_text("x")
        assert targets(tmp_path / name)[0] == first


def test_path_into_archive(tmp_path: Path, run: Any) -> None:
    """`data.zip/sub/b.csv` is the file of this name in the archive, for Python and for commands."""
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("a.csv", "user,lat,lon\nann,37.77,-122.42\n")
        archive.writestr("sub/b.csv", "user,lat,lon\nbob,37.78,-122.41\nbob,37.79,-122.41\n")
    inner = tmp_path / "data.zip" / "sub" / "b.csv"
    assert gv.Locations(inner).frame().user.tolist() == ["bob", "bob"]
    done = run("points", str(inner), *LOCAL, "--hide", "200m", "--person", "user", "-o", str(tmp_path / "b.csv"))
    assert done.code == 0, done.err
    assert pd.read_csv(tmp_path / "b.csv").user.tolist() == ["bob", "bob"]
    with pytest.raises(InvalidParameter, match="left out if the path names a file in the archive"):
        gv.Locations(inner, layer="a.csv")
    with pytest.raises(InvalidFile, match=r"Name one of them, such as layer=\"a\.csv\"") as refused:
        gv.Locations(tmp_path / "data.zip" / "c.csv")
    assert refused.value.argument == str(tmp_path / "data.zip")
    # The remedy works on the archive that caused the error.
    assert gv.Locations(tmp_path / "data.zip", layer="a.csv").frame().user.tolist() == ["ann"]
