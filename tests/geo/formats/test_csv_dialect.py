"""CSV files are read as people write them: delimiters, decimal commas, encodings, comments, quoted fields."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import pytest

import geoveil as gv
from geoveil.errors import GeoveilWarning, InvalidFile, InvalidParameter
from geoveil.geo.formats.csv import dialect_of
from tests.formats import BAY

ROWS = [("ann", "37.78", "-122.41"), ("bob", "37.76", "-122.45")]
FILES: dict[str, str | bytes] = {
    "plain": "user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n",
    "semicolons": "user;lat;lon\nann;37.78;-122.41\nbob;37.76;-122.45\n",
    "decimal commas": "user;lat;lon\nann;37,78;-122,41\nbob;37,76;-122,45\n",
    "quoted decimal commas": 'user,lat,lon\nann,"37,78","-122,41"\nbob,"37,76","-122,45"\n',
    "tabs": "user\tlat\tlon\nann\t37.78\t-122.41\nbob\t37.76\t-122.45\n",
    "bars": "user|lat|lon\nann|37.78|-122.41\nbob|37.76|-122.45\n",
    "spaces": "user lat lon\nann 37.78 -122.41\nbob 37.76 -122.45\n",
    "commas in names": '"user, or name";lat;lon\nann;37.78;-122.41\nbob;37.76;-122.45\n',
    "byte order mark": "user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n".encode("utf-8-sig"),
    "UTF-16": "user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n".encode("utf-16"),
    "Windows": "user,lat,lon\r\nann,37.78,-122.41\r\nbob,37.76,-122.45\r\n",
    "comments": "# Exported today\n# by a program, yes\nuser,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n",
    "comment after a mark": "# Exported\nuser,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n".encode("utf-8-sig"),
    "header as comment": "# made by x\n# user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n",
    "separator": "sep=;\nuser;lat;lon\nann;37.78;-122.41\nbob;37.76;-122.45\n",
    "empty lines": "\n\nuser,lat,lon\n\nann,37.78,-122.41\nbob,37.76,-122.45\n\n",
    "quoted": '"user","lat","lon"\n"ann","37.78","-122.41"\n"bob","37.76","-122.45"\n',
    "no last end": "user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45",
    "packed": gzip.compress(b"user;lat;lon\nann;37.78;-122.41\nbob;37.76;-122.45\n"),
}


@pytest.mark.parametrize("kind", FILES)
def test_dialects_need_no_option(kind: str, tmp_path: Path) -> None:
    """Files are read without an option.

    They are released in the same dialect, without comments, and the release is read again.
    """
    content = FILES[kind]
    path = tmp_path / ("in.csv.gz" if kind == "packed" else "in.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = gv.Locations(path).frame()
    person = next(name for name in frame if "user" in name)
    assert frame[person].tolist() == ["ann", "bob"]
    assert frame.geometry.y.tolist() == [37.78, 37.76]
    assert frame.geometry.x.tolist() == [-122.41, -122.45]
    release = gv.Locations(path, person=person, area=BAY).points(to=tmp_path / f"out{''.join(path.suffixes)}", rho=1e6)
    loaded = gv.load(release.value).value
    assert loaded[person].tolist() == ["ann", "bob"]
    assert (loaded.get_coordinates() - frame.get_coordinates()).abs().to_numpy().max() < 1e-6


def test_latin_1_is_told(tmp_path: Path) -> None:
    """Files that are not in UTF-8 are read as Latin 1 and that is told.

    Their bytes come back; an encoding that is given is not changed.
    """
    path = tmp_path / "in.csv"
    path.write_bytes("user,lat,lon\nJosé,37.78,-122.41\n".encode("latin-1"))
    with pytest.warns(GeoveilWarning, match=r"in\.csv is not written in UTF-8: it is read as Latin-1"):
        release = gv.Locations(path, person="user", area=BAY).points(to=tmp_path / "out.csv", rho=1e-4)
    assert release.value.read_bytes().splitlines()[1].startswith(b"Jos\xe9,")
    assert gv.load(release.value).person.tolist() == ["José"]
    with pytest.raises(InvalidFile, match=r'text in utf-8.*encoding="latin-1"'):
        gv.Locations(path, encoding="utf-8").frame()


def test_sample_cuts_last_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A character of two bytes, or a field, at the end of the first bytes is no mistake of the file."""
    path = tmp_path / "in.csv"
    path.write_bytes(b"user,lat,lon\n" + "é,37.78,-122.41\n".encode() * 100)
    for size in range(30, 60):
        monkeypatch.setattr("geoveil.geo.formats.csv._HEAD", size)
        dialect = dialect_of(path, None, None)
        assert dialect.names == ["user", "lat", "lon"]
        assert {*dialect.sample["user"]} <= {"é"}
        assert {*dialect.sample["lon"]} <= {"-122.41"}


def test_long_fields_are_read(tmp_path: Path) -> None:
    """A line of many points is longer than Python's csv module allows by default, whose limit stays."""
    import csv

    limit = csv.field_size_limit()
    line = "LINESTRING (" + ", ".join(f"-122.{i:06d} 37.7" for i in range(300_000, 320_000)) + ")"
    path = tmp_path / "in.csv"
    path.write_text(f'user,geom\nann,"{line}"\n')
    assert len(gv.Locations(path).frame().geometry[0].coords) == 20_000
    assert csv.field_size_limit() == limit


def test_thousands_after_a_comma(tmp_path: Path) -> None:
    """Three digits after a comma may be thousands. The decimal mark is then asked for."""
    path = tmp_path / "in.csv"
    path.write_text("user;lat;lon\nann;37,781;-122,415\n")
    with pytest.raises(InvalidFile, match=r'must be a number\. Give decimal=","'):
        gv.Locations(path).frame()
    assert gv.Locations(path, decimal=",").frame().geometry.y.tolist() == [37.781]


def test_missing_headers_are_told(tmp_path: Path) -> None:
    """The first row of data is not taken as names; the remedy shows the option, and what follows from it works."""
    path = tmp_path / "events.csv"
    path.write_text(
        "7\t2010-10-19T23:55:27Z\t37.78\t-122.41\t22847\n7\t2010-10-18T22:17:43Z\t37.76\t-122.45\t420315\n"
    )
    with pytest.raises(InvalidFile, match=r"a header.*first line.*names=") as refused:
        gv.Locations(path).frame()
    assert "7" in str(refused.value)
    names = ["user", "time", "lat", "lon", "place"]
    release = gv.Locations(path, person="user", names=names, area=BAY).points(to=tmp_path / "out.csv", rho=1e6)
    text = release.value.read_text().splitlines()
    assert text[0].split("\t") == ["user", "time", "lat", "lon", "radius_95", "rho"]
    assert len(text) == 3
    assert gv.load(release.value).value.geometry.x.round(3).tolist() == [-122.41, -122.45]
    with pytest.raises(InvalidParameter, match=r"^names = .*5 names"):
        gv.Locations(path, names=["user", "lat", "lon"]).frame()
