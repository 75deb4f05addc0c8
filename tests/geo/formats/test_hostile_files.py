"""Files that are made to harm: opening one requests no address, crashes nothing, and takes little memory."""

from __future__ import annotations

import gzip
import json
import os
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import geoveil as gv
from geoveil.errors import GeoveilError, InvalidFile, InvalidParameter
from geoveil.geo.formats import csv as csv_files
from geoveil.geo.formats import guards, limits, open_locations, wkb
from geoveil.geo.formats import parquet as parquet_files
from geoveil.geo.formats import xml_files as gpx_files
from tests import fuzz
from tests.formats import BAY, FORMATS, make, people
from tests.questions import release_of
from tests.systems import POSIX

pytestmark = pytest.mark.slow

POINT = {"type": "Feature", "properties": {"user": "a"}, "geometry": {"type": "Point", "coordinates": [-122.4, 37.7]}}


@pytest.fixture
def requests() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server on this machine, and the requests that it gets."""
    found: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                found.append(connection.recv(1000))
                connection.sendall(b"HTTP/1.0 404 Not Found\r\n\r\n")

    server = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}", found
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(10)


def linked(address: str, kind: str = "link", member: str = "href") -> dict[str, Any]:
    """A coordinate system of GeoJSON that is to be found at an address."""
    return {"type": kind, "properties": {member: f"{address}/crs"}}


def collection(**more: Any) -> str:
    """A collection of one feature, with further members before it."""
    return json.dumps({"type": "FeatureCollection", **more, "features": [POINT]})


def virtual(address: str) -> str:
    """A file of GDAL's own format that refers to another one."""
    inner = f"<OGRVRTLayer name='a'><SrcDataSource>/vsicurl/{address}/a.geojson</SrcDataSource></OGRVRTLayer>"
    return f"<OGRVRTDataSource>{inner}</OGRVRTDataSource>"


def of_geometry(address: str) -> str:
    """GeoJSON in which a geometry states the system."""
    geometry = {**POINT["geometry"], "crs": linked(address)}  # type: ignore[dict-item]
    return json.dumps({"type": "FeatureCollection", "features": [{**POINT, "geometry": geometry}]})


#: Files that ask GDAL to request an address, by their names.
REQUESTING: dict[str, Callable[[str], str]] = {
    "link.geojson": lambda at: collection(crs=linked(at)),
    "url.geojson": lambda at: collection(crs=linked(at, "url", "url")),
    "capitals.json": lambda at: collection(CRS=linked(at, "LINK", "HREF")),
    "escaped.geojson": lambda at: collection(crs=linked(at)).replace('"crs"', '"\\u0063r\\u0053"'),
    "last.geojson": lambda at: collection()[:-1] + f', "crs": {json.dumps(linked(at))}}}',
    "padded.geojson": lambda at: collection(crs=linked(at)).replace('"crs":', '"crs"' + " " * 9_000_000 + ":"),
    "far.geojson": lambda at: collection(note="x" * 9_000_000, crs=linked(at)),
    "long.geojson": lambda at: collection(crs={"note": "x" * 9_000, **linked(at)}),
    "geometry.geojson": of_geometry,
    "lines.geojson": lambda at: "\n".join([json.dumps(POINT), json.dumps({**POINT, "crs": linked(at)})]),
    "vrt.geojson": virtual,
    "vrt.gpkg": virtual,
    "vrt.shp": virtual,
    "wfs.json": lambda at: f"<OGRWFSDataSource><URL>{at}/wfs</URL></OGRWFSDataSource>",
    "stream.json": lambda at: json.dumps(
        {"type": "gdal_streamed_alg", "command_line": f"gdal vector convert /vsicurl/{at}/a.geojson stream"}
    ),
}


@pytest.mark.parametrize("name", REQUESTING)
def test_opening_requests_nothing(name: str, requests: tuple[str, list[bytes]], tmp_path: Path) -> None:
    """Opening a file requests no address in it.

    GeoJSON with a linked coordinate system, and GDAL's files of addresses under other names, are refused.
    """
    address, found = requests
    (tmp_path / name).write_text(REQUESTING[name](address))
    with pytest.raises(InvalidFile, match=name):
        gv.Locations(tmp_path / name, area=BAY).points(to=tmp_path / f"out{Path(name).suffix}", rho=1e-4)
    assert not found


def test_server_notices_requests(requests: tuple[str, list[bytes]], tmp_path: Path) -> None:
    """The test server notices the request that GDAL itself makes."""
    import pyogrio

    address, found = requests
    (tmp_path / "link.geojson").write_text(collection(crs=linked(address)))
    pyogrio.read_info(tmp_path / "link.geojson")
    assert found


@pytest.mark.parametrize("system", [4269, 4267])
def test_proj_requests_no_grid(system: int, requests: tuple[str, list[bytes]], tmp_path: Path) -> None:
    """PROJ requests no grid of the true locations, also where the environment allows it to use the network."""
    address, found = requests
    path, _ = make("trips.gpkg", tmp_path, people(n=5).set_crs(system, allow_override=True))
    code = (
        "import geoveil as gv\nbay = gv.local(lat=37.77, lon=-122.42, radius=50_000)\n"
        f"gv.Locations({str(path)!r}, person='user', area=bay).points(to={str(tmp_path / 'out.gpkg')!r}, rho=1e-4)\n"
        "import pyproj\nassert pyproj.network.is_network_enabled()"
    )
    allowed = {"PROJ_NETWORK": "ON", "PROJ_NETWORK_ENDPOINT": address, "PROJ_USER_WRITABLE_DIRECTORY": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **allowed}, timeout=120)
    assert not found


@pytest.mark.parametrize(
    "stated",
    [None, {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}],
    ids=["nothing", "a name"],
)
def test_plain_systems_are_read(stated: Any, tmp_path: Path) -> None:
    """Systems without an address are read, and so are columns called crs, link, href and url."""
    feature = {
        **POINT,
        "properties": {"crs": "link", "type": "link", "url": "http://127.0.0.1:9", "href": {"type": "url"}},
    }
    whole = {"type": "FeatureCollection", "crs": stated, "features": [feature]}
    (tmp_path / "a.geojson").write_text(json.dumps(whole, indent=1))
    assert len(gv.Locations(tmp_path / "a.geojson").frame()) == 1


@pytest.mark.parametrize("size", [400, 4096 * 3])
def test_systems_across_blocks(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinate system may be cut in two by the end of a block."""
    monkeypatch.setattr(guards, "_BLOCK", size)
    monkeypatch.setattr(guards, "_SYSTEM", 150)
    for pad in range(0, 900, 7):
        path = tmp_path / "a.geojson"
        path.write_text(collection(note="x" * pad, crs=linked("http://127.0.0.1:9")))
        with pytest.raises(InvalidFile, match="given by name"):
            open_locations(path)


def test_feature_lines_read_whole(tmp_path: Path) -> None:
    """A sequence of features is one file; what GDAL would read in part is refused."""
    lines = [json.dumps(POINT)] * 3
    for text in ("\n".join(lines), "".join(f"\x1e{line}\n" for line in lines), "\n\n".join(lines) + "\n"):
        (tmp_path / "a.geojson").write_text(text)
        assert len(gv.Locations(tmp_path / "a.geojson").frame()) == 3
    broken = [
        f"{lines[0]}\n{{broken\n{lines[0]}\n",
        f"{lines[0]}\n{lines[0][:-4]}",
        f"{lines[0]}\n{collection()}\n5\n",
    ]
    for text in ("\ufeff" + "\n".join(lines), f"{collection()}\n{lines[0]}", *broken):
        (tmp_path / "a.geojson").write_text(text)
        with pytest.raises(InvalidFile, match=r"a\.geojson"):
            gv.Locations(tmp_path / "a.geojson").frame()


def test_virtual_tables_are_refused(tmp_path: Path) -> None:
    """A virtual table reads another file; the index of places is the only one that is allowed."""
    path, _ = make("trips.gpkg", tmp_path)
    assert len(gv.Locations(path).frame()) == 60
    with sqlite3.connect(path) as store:
        store.execute("CREATE VIRTUAL TABLE other USING fts5(a)")
    store.close()
    with pytest.raises(InvalidFile, match=r"'other'.*virtual"):
        gv.Locations(path).frame()
    with sqlite3.connect(tmp_path / "plain.gpkg") as store:
        store.execute("CREATE TABLE a (b)")
    store.close()
    with pytest.raises(InvalidFile, match="another SQLite database"):
        gv.Locations(tmp_path / "plain.gpkg").frame()


@pytest.mark.parametrize(
    "name", ["http://127.0.0.1:9/a.geojson", "/vsicurl/http://127.0.0.1:9/a.shp", "/vsizip/a.zip/a.shp"]
)
def test_addresses_are_no_paths(name: str, tmp_path: Path) -> None:
    """Addresses and virtual files are refused for reading and for writing."""
    path, told = make("trips.geojson", tmp_path)
    with pytest.raises(InvalidFile, match="file not found"):
        gv.Locations(name).frame()
    with pytest.raises((InvalidFile, InvalidParameter)):
        release_of("points", path, to=name, rho=1e-4, **told)


@pytest.mark.parametrize("name", ["a!b.gpkg", "a;b.shp"])
def test_gdal_names_are_refused(name: str, tmp_path: Path) -> None:
    """Names that GDAL takes otherwise are refused. To read and, before anything is charged, to write."""
    path, told = make(f"trips{Path(name).suffix}", tmp_path)
    (tmp_path / name).write_bytes(path.read_bytes())
    with pytest.raises(InvalidFile, match="Rename it"):
        gv.Locations(tmp_path / name).frame()
    with pytest.raises(InvalidFile, match="Rename it"):
        release_of("points", path, to=tmp_path / f"out-{name}", rho=1e-4, **told)


@pytest.mark.parametrize(
    "name", ["a b.csv", "ü.geojson", "a%20b?c#d.gpkg", "--help.shp", "a'b\"c.parquet", "new\nline.gpx"]
)
def test_odd_names_are_names(name: str, tmp_path: Path) -> None:
    """Spaces, letters of other languages, and signs that mean something elsewhere."""
    suffix = Path(name).suffix
    path, told = make({".parquet": "wkb.parquet"}.get(suffix, f"trips{suffix}"), tmp_path)
    (tmp_path / "out").mkdir()
    release_of("points", path, to=tmp_path / "out" / name, rho=1e-4, **told)
    assert gv.load(tmp_path / "out" / name).n == 60


def test_non_utf8_names_are_refused(tmp_path: Path) -> None:
    """Names that are not UTF-8 are refused for reading and for writing, in every format."""
    path, _ = make("trips.csv", tmp_path)
    odd = tmp_path / os.fsdecode(b"\xff.csv")
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("ann", rho=1)
        with pytest.raises(InvalidFile, match="a path in UTF-8"):
            gv.Locations(path, area=BAY).session(ledger=ledger, subject="ann").points(to=odd, rho=1e-4)
        assert ledger.account("ann").spent == 0
    with pytest.raises(InvalidFile, match="a path in UTF-8"):
        gv.Locations(odd).frame()


@pytest.mark.parametrize("encoding", ["base64", "rot13", "zlib", "undefined", 5, ""])
def test_other_encodings_are_refused(encoding: Any, tmp_path: Path) -> None:
    """Encodings that are not those of texts are refused. Python knows some that are no encodings of texts."""
    path, _ = make("trips.csv", tmp_path)
    with pytest.raises(InvalidParameter, match=r"^encoding = "):
        gv.Locations(path, encoding=encoding).frame()


def test_commands_refuse_input_first(tmp_path: Path) -> None:
    """Commands refuse what is read before what is written.

    With the exit code of data; a certificate does not go into a folder.
    """
    path, _ = make("trips.csv", tmp_path)
    area = ["--area", "37.77,-122.42,50km", "--rho", "1e-4"]
    for source in ("/dev/stdin", str(tmp_path / "none.xyz"), str(tmp_path / "none.csv")):
        code, said = fuzz.ran(["points", source, "-o", str(tmp_path / "out.csv"), *area])
        assert (code, source in said) == (3, True)
    target, certificate = str(tmp_path / "out.csv"), str(tmp_path)
    code, _ = fuzz.ran(["points", str(path), "-o", target, "--certificate", certificate, *area])
    assert code == 3
    assert [p.name for p in tmp_path.iterdir()] == ["trips.csv"]


def test_grid_systems_are_refused(tmp_path: Path) -> None:
    """PROJ would open or request a grid of shifts that a coordinate system names."""
    import pyproj

    (tmp_path / "trips.csv").write_text("e,n\n1,2\n")
    for grid in ("http://127.0.0.1:9/grid.tif", "/etc/grid.gsb", "@../grid.gsb"):
        system = f"+proj=longlat +ellps=bessel +nadgrids={grid} +no_defs +type=crs"
        with pytest.raises(InvalidFile, match="names no grid file"):
            gv.Locations(tmp_path / "trips.csv", lat="n", lon="e", crs=system).frame()
        path = geoparquet(tmp_path / "a.parquet", None, crs=pyproj.CRS(system).to_json_dict())
        with pytest.raises(InvalidFile, match="names no grid file"):
            gv.Locations(path).frame()


def nested(depth: int, inner: bytes, kind: int = 7) -> bytes:
    """A geometry within collections, as well-known binary."""
    return struct.pack("<BII", 1, kind, 1) * depth + inner


def geoparquet(path: Path, *geometries: bytes | None, **more: Any) -> Path:
    """A GeoParquet file of such geometries."""
    described = {"encoding": "WKB", "geometry_types": [], **more}
    account = {"version": "1.1.0", "primary_column": "g", "columns": {"g": described}}
    table = pa.table({"g": pa.array(geometries, pa.binary())})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(account)}), path)
    return path


@pytest.mark.parametrize("kind", [4, 5, 6, 7])
def test_nested_geometries_are_refused(kind: int, tmp_path: Path) -> None:
    """GEOS calls itself for each level, and would end the program without an error."""
    point = shapely.to_wkb(shapely.Point(-122.4, 37.7))
    second = struct.pack("<BII", 1, 7, 2) + point + nested(200_000, point, kind)
    for deep in (nested(200_000, point, kind), nested(200_000, b"", kind), second):
        path = geoparquet(tmp_path / "deep.parquet", point, deep)
        with pytest.raises(InvalidFile, match=r"row 2 .*more than 64 deep"):
            gv.Locations(path).frame()


@pytest.mark.parametrize(
    "shape",
    [
        shapely.MultiPoint([[i, i / 7] for i in range(90)]),
        shapely.MultiPoint([[i, i / 7, 3] for i in range(90)]),
        shapely.MultiPolygon(
            [shapely.box(3 * i, 0, 3 * i + 1, 1) - shapely.box(3 * i + 0.2, 0.2, 3 * i + 0.4, 0.4) for i in range(9)]
        ),
        shapely.MultiLineString([[[i, 0], [i, 1]] for i in range(50)]),
        shapely.GeometryCollection(
            [shapely.GeometryCollection([shapely.Point(i, 1), shapely.box(0, 0, 1, i + 1)]) for i in range(50)]
        ),
    ],
    ids=lambda shape: shape.geom_type + "Z" * shape.has_z,
)
@pytest.mark.parametrize(
    "how", [{"byte_order": 0}, {"byte_order": 1}, {"flavor": "iso"}, {"include_srid": True}], ids=str
)
def test_large_geometries_are_read(shape: Any, how: dict[str, Any]) -> None:
    """Large geometries are read in any order of bytes, however altitudes and systems are marked."""
    data = shapely.to_wkb(shapely.set_srid(shape, 4326), **how)
    assert len(data) > 9 * limits.DEPTH
    assert not wkb._is_deep(data)
    assert wkb._is_deep(nested(64, data))
    assert not wkb._is_deep(data[: len(data) // 2])


def test_many_columns_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with too many columns are refused, also if names repeat; the environment can raise the limit."""
    names = [f"c{i}" for i in range(20_000)]
    csv, parquet = tmp_path / "wide.csv", tmp_path / "wide.parquet"
    csv.write_text(",".join(["lat", "lon", *names, "c7"]) + "\n" + "1," * 20_002 + "1\n")
    pq.write_table(pa.table({name: [1.0] for name in ("lat", "lon", *names)}), parquet)
    for path in (csv, parquet):
        with pytest.raises(InvalidFile, match=r"at most 16384 columns.*GEOVEIL_MAX_COLUMNS"):
            gv.Locations(path).frame()
    monkeypatch.setenv("GEOVEIL_MAX_COLUMNS", "30000")
    with pytest.raises(InvalidFile, match=r"\['c7'\].*different names"):
        gv.Locations(csv).frame()
    assert open_locations(parquet).columns.keys() == {*names}
    monkeypatch.setenv("GEOVEIL_MAX_COLUMNS", "many")
    with pytest.raises(InvalidParameter, match="GEOVEIL_MAX_COLUMNS = 'many'"):
        gv.Locations(csv).frame()


def test_zip_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that grows when unpacked is refused. Beyond some size, by more than a hundredfold."""
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"lat,lon\n" + b"37.7,-122.4\n" * 200_000))
    assert len(gv.Locations(path).frame()) == 200_000
    monkeypatch.setattr(csv_files, "UNPACKED", 2**20)
    with pytest.raises(InvalidFile, match=r"bomb.*at most 100 bytes unpacked.*GEOVEIL_MAX_EXPANSION"):
        gv.Locations(path).frame()
    monkeypatch.setenv("GEOVEIL_MAX_EXPANSION", "2000")
    assert len(gv.Locations(path).frame()) == 200_000


def test_endless_headers_are_refused(tmp_path: Path) -> None:
    """A header of a packed file that does not end is refused after some megabytes."""
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a" * 50_000_000))
    with pytest.raises(InvalidFile, match="a header of less than"):
        gv.Locations(tmp_path / "a.csv.gz").frame()


def test_parquet_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Parquet file whose metadata tell of too much data is refused."""
    table = pa.table({"lat": [37.7] * 500_000, "lon": [-122.4] * 500_000})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    assert len(gv.Locations(tmp_path / "a.parquet").frame()) == 500_000
    monkeypatch.setattr(parquet_files, "UNPACKED", 2**20)
    with pytest.raises(InvalidFile, match=r"at most 100 bytes unpacked.*GEOVEIL_MAX_EXPANSION"):
        gv.Locations(tmp_path / "a.parquet").frame()


def test_large_metadata_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large metadata of Parquet files is refused before it is parsed."""
    path, _ = make("plain.parquet", tmp_path)
    monkeypatch.setenv("GEOVEIL_MAX_METADATA", "1000")
    with pytest.raises(InvalidFile, match=r"1000 bytes of metadata.*GEOVEIL_MAX_METADATA"):
        gv.Locations(path).frame()


GPX = '<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">{}</gpx>'
WAYPOINT = '<wpt lat="37.7" lon="-122.4">{}</wpt>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(encoding: str, tmp_path: Path) -> None:
    """Entities of entities would fill the memory; others name files."""
    levels = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    for declared in (f'<!ENTITY e0 "aaaaaaaaaa">{levels}', '<!ENTITY e9 SYSTEM "/etc/passwd">'):
        text = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE gpx [{declared}]>'
        (tmp_path / "bomb.gpx").write_text(text + GPX.format(WAYPOINT.format("<name>&e9;</name>")), encoding=encoding)
        with pytest.raises(InvalidFile, match="declares no document type"):
            gv.Locations(tmp_path / "bomb.gpx").frame()


def test_deep_tags_are_refused(tmp_path: Path) -> None:
    """Tags within tags are refused or left behind. Deep ones in what is read are an error and no crash."""
    deep = "<extensions>" + "<a>" * 100_000 + "</a>" * 100_000 + "</extensions>"
    (tmp_path / "deep.gpx").write_text(GPX.format(WAYPOINT.format(deep)))
    with pytest.raises(InvalidFile, match="more than 64 deep"):
        gv.Locations(tmp_path / "deep.gpx").frame()
    gv.Locations(tmp_path / "deep.gpx", area=BAY).points(to=tmp_path / "out.gpx", rho=1e-4)
    assert "extensions" not in (tmp_path / "out.gpx").read_text()


def test_endless_gpx_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPX file in which no element ends is refused, as it would be held in memory."""
    monkeypatch.setattr(gpx_files, "_PENDING", 2**20)
    for text in (WAYPOINT.format("<name>" + "x" * 2**21 + "</name>"), WAYPOINT.format("<a></a>" * 2**19)):
        (tmp_path / "long.gpx").write_text(GPX.format(WAYPOINT.format("") + text))
        with pytest.raises(InvalidFile, match="bytes between points"):
            gv.Locations(tmp_path / "long.gpx").frame()


def test_gpx_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points, tracks, segments and names are the same for blocks of any size."""
    path, _ = make("trips.gpx", tmp_path, people(n=12))
    more = WAYPOINT.format("<name>é</name><link href='a'><text>b</text></link>") + (
        '<rte><rtept lat="37.6" lon="-122.5"/><rtept lat="37.6" lon="-122.4"><name/></rtept><name>late</name></rte>'
        '<trk><name>two</name><trkseg/><trkseg><trkpt lat="37.7" lon="-122.4"><ele>1</ele></trkpt></trkseg></trk>'
    )
    path.write_text(path.read_text().replace("</gpx>", more + "</gpx>"))
    whole = gv.Locations(path).frame()
    assert whole["track_name"].tolist()[-3:] == ["late", "late", "two"]
    assert whole["segment"].tolist()[-3:] == [0, 0, 2]
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr(gpx_files, "_BLOCK", size)
        monkeypatch.setattr(gpx_files, "_ROWS", 5)
        assert gv.Locations(path).frame().equals(whole)
        gv.Locations(path, area=BAY, outside="clamp", overwrite=True).points(
            to=tmp_path / "out.gpx", rho=1e6, keep="all"
        )
        # Elevations tell places, and are released only by name.
        columns = [name for name in whole if name not in ("geometry", "time", "ele")]
        after = gv.Locations(tmp_path / "out.gpx").frame()
        assert (
            after[columns].astype(str).equals(whole[columns].astype(str).assign(segment=after["segment"].astype(str)))
        )


def test_source_targets_are_refused(tmp_path: Path) -> None:
    """A target that belongs to the source is refused.

    Parts of a shapefile whose name differs in capitals alone, a certificate, or a link to the source.
    """
    path, told = make("trips.shp", tmp_path)
    (tmp_path / "trips.SHP").write_bytes(path.read_bytes())
    path.unlink()
    with pytest.raises(InvalidParameter, match="part of it"):
        release_of("points", tmp_path / "trips.SHP", to=path, rho=1e-4, **told)
    assert (tmp_path / "trips.dbf").exists()
    path, told = make("trips.csv", tmp_path)
    (tmp_path / "link.csv").symlink_to(path)
    with pytest.raises(InvalidParameter, match="a file other than the source"):
        release_of("points", path, to=tmp_path / "link.csv", rho=1e-4, **told)


@POSIX
def test_pipes_are_refused(tmp_path: Path) -> None:
    """A file is read twice: what cannot be is refused, and so is a name that leads nowhere."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "device.csv"):
        with pytest.raises(InvalidFile, match="a pipe or a device"):
            gv.Locations(tmp_path / name).frame()
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere")
    for name in ("loop.csv", "gone.csv", "a\0b.csv", "a" * 300 + ".csv"):
        with pytest.raises(InvalidFile, match=r"a file that|file not found"):
            gv.Locations(tmp_path / name).frame()
    path, told = make("trips.csv", tmp_path)
    release_of("points", path, to=tmp_path / "loop.csv", overwrite=True, rho=1e-4, **told)
    assert gv.load(tmp_path / "loop.csv").n == 60


def crafted(folder: Path) -> dict[str, tuple[Path, str | None]]:
    """Files that are empty, damaged or odd in one way each, with the column of persons."""
    found: dict[str, tuple[Path, str | None]] = {}

    def put(name: str, content: bytes | str, by: str | None = "user") -> None:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        found[name] = folder / name, by

    def table(name: str, **columns: Any) -> None:
        pq.write_table(pa.table(columns), folder / name)
        found[name] = folder / name, "user"

    def features(name: str, *geometries: Any) -> None:
        put(
            name, json.dumps({"type": "FeatureCollection", "features": [{**POINT, "geometry": g} for g in geometries]})
        )

    put("header.csv", "user,lat,lon\n")
    put("mark.csv", b"\xef\xbb\xbfuser,lat,lon\na,37.7,-122.4\n")
    put("utf16.csv", "user,lat,lon\na,37.7,-122.4\n".encode("utf-16"))
    put("latin.csv", "user,lat,lon\nJos\xe9,37.7,-122.4\n".encode("latin-1"))
    put("zero.csv", b"user,lat,lon\na\0,37.7,-122.4\n")
    put("quote.csv", 'user,lat,lon\n"a,37.7,-122.4\n')
    put("blank.csv", "\n\n\n")
    put("infinite.csv", "user,lat,lon\na,inf,-122.4\n")
    put("packed.csv.gz", "user,lat,lon\na,37.7,-122.4\n")
    put("nobody.csv", "user,lat,lon\n,37.7,-122.4\n")
    put("spaces.csv", "user,lat,lon\na,37.7,-122.4\na ,37.7,-122.4\n")
    put("taken.csv", "user,lat,lon,rho\na,37.7,-122.4,1\n", "rho")
    put("empty.geojson", '{"type": "FeatureCollection", "features": []}')
    put("latin.geojson", collection().replace('"a"', '"Jos\xe9"').encode("latin-1"))
    put("utf16.geojson", collection().encode("utf-16"))
    put("list.json", "[1, 2]")
    put("deep.geojson", collection().replace('"a"', "[" * 100_000 + "]" * 100_000))
    shapes = '{"type": "GeometryCollection", "geometries": ['
    put("shapes.geojson", f'{{"type": "Feature", "properties": {{}}, "geometry": {shapes * 5000}{"]}" * 5000}}}', None)
    features("polygon.geojson", {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]})
    features("nowhere.geojson", None)
    features("texts.geojson", {"type": "Point", "coordinates": ["a", "b"]})
    features("short.geojson", {"type": "Point", "coordinates": [1]})
    features("mixed.geojson", POINT["geometry"], {"type": "GeometryCollection", "geometries": []})
    table(
        "none.parquet", user=pa.array([], pa.string()), lat=pa.array([], pa.float64()), lon=pa.array([], pa.float64())
    )
    table("columnless.parquet")
    table("lists.parquet", user=["a"], lat=[[1.0]], lon=[[2.0]])
    table("bytes.parquet", user=["a"], lat=[b"x"], lon=[b"y"])
    table("truth.parquet", user=["a"], lat=[True], lon=[False])
    table("nobody.parquet", user=pa.array([None], pa.null()), lat=[37.7], lon=[-122.4])
    table("encoded.parquet", user=pa.array([b"\xff"], pa.binary()).view(pa.string()), lat=[37.7], lon=[-122.4])
    point = shapely.to_wkb(shapely.Point(-122.4, 37.7))
    for name, account in {
        "geo-list": "[]",
        "geo-deep": "[" * 100_000,
        "geo-bytes": b"\xff",
        "geo-columns": '{"primary_column": "g", "columns": []}',
        "geo-primary": '{"primary_column": ["g"], "columns": {}}',
        "geo-system": '{"primary_column": "g", "columns": {"g": {"encoding": "WKB", "crs": {"a": 1}}}}',
        "geo-point": '{"primary_column": "g", "columns": {"g": {"encoding": "point"}}}',
        "geo-boxes": '{"primary_column": "g", "columns": {"g": {"encoding": "WKB", "covering": {"bbox": {"": 1}}}}}',
    }.items():
        described = pa.table({"user": ["a"], "g": [point]}).replace_schema_metadata({"geo": account})
        pq.write_table(described, folder / f"{name}.parquet")
        found[name] = folder / f"{name}.parquet", "user"
    put("deep.gpx", GPX.format(WAYPOINT.format("<extensions>" + "<a>" * 9999 + "</a>" * 9999 + "</extensions>")), None)
    put("unknown.gpx", '<?xml version="1.0" encoding="klingon"?>' + GPX.format(WAYPOINT.format("")), None)
    put("half.gpx", GPX.format('<wpt lon="-122.4"/>'), None)
    message = {"_type": "location", "lat": 37.7, "lon": -122.4, "tst": 1_700_000_000}
    put("nan.json", json.dumps([{**message, "lat": float("nan")}]), None)
    put("infinite.json", json.dumps([{**message, "lat": float("inf")}]), None)
    put("times.json", json.dumps([{**message, "tst": -(10**18)}]), None)
    put("deep.json", json.dumps([message])[:-1] + "," + "[" * 100_000 + "]" * 100_001, None)
    put("cut.rec", "2024-03-01T12:00:00Z\t*  \t" + json.dumps(message)[:-5], None)
    put("latin.rec", b"2024-03-01T12:00:00Z\t*  \t" + json.dumps(message).encode() + b"\n\xe9{", None)
    put("Records.json", json.dumps({"locations": [{"latitudeE7": "9" * 5000, "longitudeE7": 1}]}), None)
    put(
        "Timeline.json", json.dumps({"semanticSegments": [{"timelinePath": [{"point": "9" * 10**6 + "°, 1°"}]}]}), None
    )
    put("wide.json", json.dumps([{f"c{i}": i for i in range(20_000)}]), None)
    put("bomb.tcx", '<!DOCTYPE a [<!ENTITY e "x">]><TrainingCenterDatabase>&e;</TrainingCenterDatabase>', None)
    put("deep.tcx", "<TrainingCenterDatabase>" + "<Trackpoint>" * 50_000, None)
    put("head.fit", b"\x0e\x20\x63\x08\xff\xff\xff\xff.FIT\0\0" + b"\x40" * 100, None)
    damage = {".dbf": b"", ".prj": b"garbage", ".cpg": b"klingon", ".shx": b""}
    for suffix, content in {**damage, ".dbf.3": b"\3" * 40, ".prj.0": b"", ".prj.255": b"\xff\xfe\0"}.items():
        (folder / f"shapes{suffix}").mkdir()
        path, _ = make("trips.shp", folder / f"shapes{suffix}", people(n=5))
        path.with_suffix(suffix[:4]).write_bytes(content)
        found[f"shapes{suffix}"] = path, "user"
    people(n=3).iloc[:0].to_file(folder / "none.gpkg")
    found["none.gpkg"] = folder / "none.gpkg", "user"
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    os.mkfifo(folder / "pipe.csv")
    (folder / "folder.csv").mkdir()
    (folder / "cabs").mkdir()
    (folder / "cabs" / "new_a.txt").write_text("")
    for name in ("loop.csv", "pipe.csv", "folder.csv", "missing.csv", "cabs"):
        found[name] = folder / name, "cab" if name == "cabs" else "user"
    return found


@POSIX
def test_odd_files_are_refused(tmp_path: Path) -> None:
    """No command fails in an unexpected way, and `check` says "Ready." of no file that `points` refuses."""
    (tmp_path / "out").mkdir()
    refused = 0
    for name, (path, by) in crafted(tmp_path).items():
        told: dict[str, Any] = {} if by is None else {"person": by}
        codes: dict[str, int] = {}
        for command in fuzz.commands(path, told, tmp_path / "out")[:2]:
            args = [arg for arg in command if arg not in ("--missing", "drop", "--keep", "all")]
            codes[args[0]], said = fuzz.ran(args)
            assert codes[args[0]] in (0, 2, 3), (name, args[0], said)
        assert codes["points"] == 0 or codes["check"] != 0, name
        refused += codes["points"] != 0
    assert refused > 40


def test_changed_certificates_are_refused(tmp_path: Path) -> None:
    """A certificate is refused, whatever replaces any part of it."""
    path, told = make("trips.csv", tmp_path, people(n=5))
    release_of("points", path, to=tmp_path / "out.csv", rho=1e-4, **told)
    beside = tmp_path / "out.csv.certificate.json"
    sound = json.loads(beside.read_text())
    odd = [[], {}, "x", "9" * 5000, {"a": [1]}, {"path": "/etc/passwd"}, {"encoding": 3}, -1, 1e300]
    accounts = [{**sound, name: value} for name in ("person", "expected_error", "file", "area") for value in odd]
    accounts += [{**sound, "file": {**sound["file"], name: value}} for name in sound["file"] for value in odd]
    accounts += [{**sound, "area": {**sound["area"], name: value}} for name in sound["area"] for value in odd]
    for text in [*map(json.dumps, accounts), "[" * 100_000]:
        beside.write_text(text)
        try:
            loaded = gv.load(tmp_path / "out.csv")
        except GeoveilError:
            continue
        assert loaded.n == 5
    with pytest.raises(InvalidFile, match="certificate"):
        gv.load(tmp_path / "out.csv")
    gv.Ledger(tmp_path / "budget.db").close()
    for text in ("[" * 100_000, "[]", "5", "\xff"):
        beside.write_bytes(text.encode("latin-1"))
        assert fuzz.ran(["budget", "verify", str(tmp_path / "budget.db"), str(beside)])[0] == 3


STRANGERS = Path("/work/shared/data/strangers")


@pytest.mark.filterwarnings("ignore:.*points belong to one person")
@pytest.mark.skipif(not STRANGERS.is_dir(), reason=f"the files of other programs are not in {STRANGERS}")
@pytest.mark.parametrize(
    "name",
    [
        *("airbnb.csv", "cerknicko-jezero.gpx", "geolife.parquet", "gpx1.1_with_all_fields.gpx", "stops.gpkg"),
        *("track-with-empty-segment.gpx", "triplegs.geojson"),
    ],
)
def test_other_programs_files(name: str, tmp_path: Path) -> None:
    """Files of other programs are read and released.

    Real ones, in any place: points outside of the area are moved to its edge.
    """
    if not (STRANGERS / name).exists():
        pytest.skip(f"{name} is not among the files of other programs")
    frame = gv.Locations(STRANGERS / name, missing="drop").frame()
    x, y = frame.geometry.iloc[0].coords[0][:2]
    area = gv.local(lat=round(y), lon=round(x), radius=1_000_000)
    target = tmp_path / name
    release = gv.Locations(STRANGERS / name, area=area, outside="clamp", missing="drop").points(to=target, rho=1e-4)
    assert release.n == shapely.get_num_coordinates(frame.geometry.array).sum()
    assert gv.load(target).n == release.n


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_changed_files_are_refused(name: str, tmp_path: Path) -> None:
    """Files with changed bytes are refused with a message. In a process of its own, whose crash would be noticed."""
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz", name, "120", "1", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr


def test_failure_search_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that fails in its own way is reported."""
    path, told = make("trips.csv", tmp_path)

    def fail(*_: Any, **__: Any) -> None:
        raise KeyError("planted")

    monkeypatch.setattr("geoveil.answering.row_rules.shows_places", fail)
    (tmp_path / "out").mkdir()
    codes = [fuzz.ran(args)[0] for args in fuzz.commands(path, told, tmp_path / "out")]
    assert 1 in codes
