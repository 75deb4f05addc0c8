"""Files that are not read are named as what they are, and the remedies lead to a file that is read."""

from __future__ import annotations

import gzip
import io
import pickle
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import geoveil as gv
from geoveil.errors import InvalidFile
from geoveil.geo.formats import open_locations
from tests.questions import release_of

BERLIN = gv.local(lat=52.52, lon=13.4, radius=50_000)
TABLE = "time,lat,lon\n2024-03-01T12:00:00Z,52.52,13.4\n2024-03-01T12:01:00Z,52.53,13.4\n"
ZEROS = bytes(300)


def zipped(**members: str) -> bytes:
    """An archive in memory; two underscores in a name stand for a slash, one at the end for a point."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/").replace("_DOT_", "."), text)
    return held.getvalue()


#: The first bytes of files, and what they are called.
UNREAD: dict[str, tuple[bytes, str]] = {
    "x.osm.pbf": (b"\0\0\0\x0d\n\x09OSMHeader" + ZEROS, "a map of OpenStreetMap"),
    "x.osm": (b'<?xml version="1.0"?><osm version="0.6"></osm>', "a map of OpenStreetMap"),
    "x.laz": (b"LASF" + ZEROS, "a point cloud"),
    "x.nc": (b"CDF\x01" + ZEROS, "a NetCDF file"),
    "four.nc": (b"\x89HDF\r\n\x1a\n" + ZEROS, "a NetCDF file"),
    "x.h5": (b"\x89HDF\r\n\x1a\n" + ZEROS, "an HDF5 file"),
    "x.heic": (b"\0\0\0\x18ftypheic" + ZEROS, "a picture"),
    "x.jpg": (b"\xff\xd8\xff\xe0\0\x10JFIF" + ZEROS, "a picture"),
    "x.pdf": (b"%PDF-1.7\n1 0 obj\n", "a document"),
    "renamed.csv": (b"%PDF-1.7\n1 0 obj\n", "a document"),
    "renamed.gpkg.json": (b"%PDF-1.7\n1 0 obj\n", "a document"),
    "x.html": (b"<!DOCTYPE html><html></html>", "a document"),
    "x.docx": (zipped(word__document_DOT_xml="<a/>"), "a document"),
    "x.ods": (zipped(content_DOT_xml="<a/>"), "an OpenDocument spreadsheet"),
    "x.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + ZEROS, "an old Excel file"),
    "x.rds": (gzip.compress(b"X\n\0\0\0\x03" + ZEROS), "a file of R"),
    "x.feather": (b"ARROW1\0\0" + ZEROS, "an Arrow or Feather file"),
    "x.7z": (b"7z\xbc\xaf'\x1c" + ZEROS, "an archive"),
    "x.topojson": (b'{"type": "Topology", "objects": {}}', "a TopoJSON file"),
    "x.gml": (b'<?xml version="1.0"?><gml:FeatureCollection xmlns:gml="g"/>', "a GML file"),
}


@pytest.mark.parametrize("name", UNREAD)
def test_unread_formats_are_named(name: str, tmp_path: Path) -> None:
    """The error names the format and a way to convert it, and does not call the file damaged."""
    content, kind = UNREAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidFile, match=f"= '{kind}") as caught:
        open_locations(tmp_path / name)
    assert "create it again" not in str(caught.value)


def test_databases_are_saved(tmp_path: Path) -> None:
    """An SQLite database is named, and tiles are; saved as CSV, the database is read."""
    frame = pd.read_csv(io.StringIO(TABLE))
    for name, kind in (
        ("x.sqlite", "an SQLite database"),
        ("x", "an SQLite database"),
        ("x.mbtiles", "tiles of a map"),
    ):
        with sqlite3.connect(tmp_path / name) as store:
            frame.to_sql("fixes", store, index=False)
        store.close()
        with pytest.raises(InvalidFile, match=f"= '{kind}"):
            open_locations(tmp_path / name)
    store = sqlite3.connect(tmp_path / "x.sqlite")
    pd.read_sql("SELECT * FROM fixes", store).to_csv(tmp_path / "out.csv", index=False)
    store.close()
    assert len(gv.Locations(tmp_path / "out.csv").frame()) == 2


def test_pickles_are_saved(tmp_path: Path) -> None:
    """The remedies for files of Python and Arrow are followed."""
    frame = pd.read_csv(io.StringIO(TABLE))
    frame.to_pickle(tmp_path / "x.pkl")
    frame.to_feather(tmp_path / "x.feather")
    for name, remedy in (("x.pkl", "to_parquet or to_csv"), ("x.feather", "read_feather")):
        with pytest.raises(InvalidFile, match=remedy):
            open_locations(tmp_path / name)
    pickle.loads((tmp_path / "x.pkl").read_bytes()).to_parquet(tmp_path / "a.parquet")
    pd.read_feather(tmp_path / "x.feather").to_parquet(tmp_path / "b.parquet")
    assert len(gv.Locations(tmp_path / "a.parquet").frame()) == len(gv.Locations(tmp_path / "b.parquet").frame()) == 2


def test_archives_are_unpacked(tmp_path: Path) -> None:
    """A tar file is named, and its file is read once it is unpacked; a folder of Esri is named."""
    (tmp_path / "points.csv").write_text(TABLE)
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "points.csv", "points.csv")
    with pytest.raises(InvalidFile, match=r"an archive.*Unpack it"):
        open_locations(tmp_path / "x.tar.gz")
    with tarfile.open(tmp_path / "x.tar.gz") as archive:
        (tmp_path / "out").mkdir()
        archive.extractall(tmp_path / "out", filter="data")
    assert len(gv.Locations(tmp_path / "out" / "points.csv").frame()) == 2
    (tmp_path / "x.gdb").mkdir()
    with pytest.raises(InvalidFile, match=r"a file geodatabase.*as \.gpkg"):
        open_locations(tmp_path / "x.gdb")


def test_several_files_are_asked(tmp_path: Path) -> None:
    """An archive of several tables asks which, and reads the one that is named as its layer."""
    path = tmp_path / "two.zip"
    path.write_bytes(zipped(records_DOT_csv=TABLE, more__other_DOT_csv=TABLE.replace("52.53", "52.54")))
    with pytest.raises(InvalidFile, match=r'records\.csv, more/other\.csv.*Name one of them, such as layer="records'):
        open_locations(path)
    for name, lat in (("records.csv", 52.53), ("more/other.csv", 52.54)):
        [batch] = open_locations(path, layer=name).batches([])
        assert batch.coords[1, 1] == lat
    release_of("points", path, area=BERLIN, to=tmp_path / "out.csv", rho=1.0, layer="records.csv")
    assert len(pd.read_csv(tmp_path / "out.csv")) == 2


META = (
    '<archive xmlns="http://rs.tdwg.org/dwc/text/"><core ignoreHeaderLines="1"><files><location>occurrence.txt'
    "</location></files></core><extension><files><location>media.txt</location></files></extension></archive>"
)


def test_darwin_core_is_read(tmp_path: Path) -> None:
    """The occurrences of a Darwin Core archive are read, whatever other tables it has."""
    lines = "".join(f"{i}\t52.{i}\t13.4\t2024-03-01\n" for i in range(5))
    occurrences = f"id\tdecimalLatitude\tdecimalLongitude\teventDate\n{lines}"
    path = tmp_path / "dwca.zip"
    path.write_bytes(zipped(meta_DOT_xml=META, occurrence_DOT_txt=occurrences, media_DOT_txt="id\turl\n"))
    found = open_locations(path)
    [batch] = found.batches([*found.columns])
    assert batch.coords.tolist() == [[13.4, 52 + i / 10] for i in range(5)]
    assert "eventDate" in found.recognised.times


def test_timetables_are_public(tmp_path: Path) -> None:
    """The stops of GTFS are called public; they and its shapes can be named."""
    path = tmp_path / "gtfs.zip"
    stops = "stop_id,stop_lat,stop_lon\n1,52.5,13.4\n"
    shapes = "shape_id,shape_pt_lat,shape_pt_lon\n1,52.5,13.4\n"
    path.write_bytes(zipped(stops_DOT_txt=stops, trips_DOT_txt="trip_id\n1\n", shapes_DOT_txt=shapes))
    remedy = r'GTFS.*stops are public.*layer="shapes\.txt" if the lines.*, or layer="stops\.txt" if its stops'
    with pytest.raises(InvalidFile, match=remedy):
        open_locations(path)
    for name in ("shapes.txt", "stops.txt"):
        [batch] = open_locations(path, layer=name).batches([])
        assert batch.coords.tolist() == [[13.4, 52.5]]
