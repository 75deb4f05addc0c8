"""Readers and writers of location files: tables, Excel, GPX, GeoJSON, GeoParquet, GeoPackage, Shapefile and others."""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter, Message
from geoveil.geo.formats.activities import open_fit, open_tcx
from geoveil.geo.formats.archives import ARCHIVES, unpack, within_archive
from geoveil.geo.formats.csv import open_csv
from geoveil.geo.formats.excel import open_excel
from geoveil.geo.formats.fingerprints import files_of
from geoveil.geo.formats.gdal import DRIVERS, open_gdal
from geoveil.geo.formats.guards import encodable
from geoveil.geo.formats.histories import history_in, open_history
from geoveil.geo.formats.location_file import Batch, LocationFile, readable
from geoveil.geo.formats.output_formats import CONVERTED
from geoveil.geo.formats.parquet import open_parquet
from geoveil.geo.formats.receivers import IGC, NMEA, open_igc, open_nmea
from geoveil.geo.formats.records import are_records, open_records
from geoveil.geo.formats.tracks import open_cabspotting, open_plt, tracks_in
from geoveil.geo.formats.unread_formats import named_error, unread_format
from geoveil.geo.formats.xml_files import open_gpx, open_kml

__all__ = ["READ", "Batch", "LocationFile", "ending", "open_locations", "opener_of", "targets"]

Opener: TypeAlias = Callable[..., LocationFile]

#: Logs of receivers, which are texts: the ending of each, its opener, and the pattern of its first bytes.
_LOGS: dict[str, tuple[Opener, re.Pattern[bytes]]] = {".nmea": (open_nmea, NMEA), ".igc": (open_igc, IGC)}
_OPEN: dict[str, Opener] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"), open_csv),
    ".xlsx": open_excel,
    **dict.fromkeys((".parquet", ".geoparquet"), open_parquet),
    **dict.fromkeys(DRIVERS, open_gdal),
    ".gpx": open_gpx,
    ".kml": open_kml,
    ".plt": open_plt,
    ".rec": open_history,
    ".fit": open_fit,
    ".tcx": open_tcx,
    **{name: opener for name, (opener, _) in _LOGS.items()},
}
#: The endings of files that are read.
READ = (*_OPEN, *ARCHIVES)
#: Endings of formats of devices, which are released as GeoJSON.
_DEVICES = (".rec", ".fit", ".tcx", *_LOGS)
#: Endings of formats that are read and not written: they are released in another format.
_READ_ONLY = (*ARCHIVES, ".kml", ".plt", *_DEVICES)
_WHERE = ("crs", "geometry", "lat", "lon")
#: The options of openers that take some.
_OPTIONS: dict[Opener, tuple[str, ...]] = {
    **dict.fromkeys((open_parquet, open_records), _WHERE),
    open_csv: ("crs", "decimal", "delimiter", "encoding", "geometry", "lat", "lon", "names"),
    open_excel: ("crs", "geometry", "lat", "layer", "lon"),
    open_gdal: ("crs", "layer"),
}
#: Formats that are recognised by content, whatever the name of the file; others need their ending.
_NAMELESS = (
    *(".csv", ".parquet", ".geojson", ".json", ".rec", ".fit", ".tcx", ".gpx", ".kml", ".plt", ".gz", ".zip"),
    *_LOGS,
)
#: Number of first bytes by which the format of a file is recognised.
_HEAD = 2**12
#: First bytes of binary formats, and the ending of each.
_HEADS = {
    b"PAR1": ".parquet",
    b"SQLite format 3\0": ".gpkg",
    b"\x00\x00\x27\x0a": ".shp",
    b"fgb\x03fgb": ".fgb",
    b"\x1f\x8b": ".gz",
}
_ROOT = re.compile(rb"<(?:\w+:)?(gpx|kml|TrainingCenterDatabase)\b")
_ROOTS = {b"gpx": ".gpx", b"kml": ".kml", b"TrainingCenterDatabase": ".tcx"}
_GEOJSON = re.compile(rb"""^\s*\x1e?\s*\{.*"(type|features|geometry)"\s*:""", re.DOTALL)
_PLT = re.compile(rb"^[^\n]*\n\s*WGS ?84\s*\n[^\n]*\n[^\n]*\n[^\n]*\n[^\n]*\n", re.IGNORECASE)


def ending(path: Path) -> str:
    """Return the ending of a file name, in lower case, which determines its format."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    whole = "".join(suffixes[-2:])
    if suffixes[-1:] == [".gz"]:
        return whole if whole in _OPEN else ".gz"
    return "".join(suffixes[-1:])


def targets(path: Path) -> list[str]:
    """Return the endings of files that a source can be released to; the first is the usual one."""
    if path.is_dir():
        return [*CONVERTED] if tracks_in(path) else ["", *CONVERTED]
    own = ending(path)
    usual = ".geojson" if own in _DEVICES else own
    return [*dict.fromkeys([*([usual] if usual in _OPEN and usual not in _READ_ONLY else []), *CONVERTED])]


def open_locations(path: str | Path, **reading: object) -> LocationFile:
    """Open a file of locations and read its columns; its ending, or else its content, determines the format.

    Parameters
    ----------
    path : str or Path
        The path of a file, of a file in an archive (`data.zip/records.csv`), or of a folder of the cabspotting or the
        Geolife data.
    **reading
        Options of the format: `crs`; for tables `lat`, `lon`, `geometry`; for CSV `delimiter`, `decimal`, `encoding`;
        for GeoPackage and Excel `layer`, which is also the name of a file in an archive.
    """
    path, inner = within_archive(Path(path))
    if inner is not None and reading.get("layer") is not None:
        raise InvalidParameter(
            "layer", reading["layer"], "left out if the path names a file in the archive", "Omit it."
        )
    if inner is not None:
        reading["layer"] = inner
    opener = opener_of(path)
    given = {name: value for name, value in reading.items() if value is not None}
    if opener is _open_archive:
        return _open_archive(path, **given)
    taken = _OPTIONS.get(opener, ())
    for name in sorted(set(given).difference(taken)):
        allowed = f"left out, as files like {path.name} have no such option"
        options = ", ".join(f"{{{option}}}" for option in taken)
        raise InvalidParameter(name, given[name], allowed, Message(f"They take {options or 'no options'}."))
    try:
        with readable(path, ending(path).lstrip(".") or "location"):
            return opener(path, **given)
    except InvalidFile:
        kind = unread_format(path)
        # A GeoPackage is an SQLite database.
        if kind is not None and ending(path) != ".gpkg" and not _is_geopackage(path):
            raise named_error(path, kind) from None
        actual = None if path.is_dir() else _ending_by_content(path)
        # Logs of receivers are recognised by content, whatever their ending.
        read = actual in _LOGS and opener is _OPEN[actual]
        if actual not in (None, ".csv") and not read and not _belongs(actual, ending(path)):
            remedy = f"Rename it, so that it ends in {actual}."
            raise InvalidFile(str(path), f"content of a {actual} file", f"a {ending(path)} file", remedy) from None
        raise


def _belongs(actual: str, stated: str) -> bool:
    """Return whether a file of this ending may have content of this format."""
    if actual == ".gz" or actual in DRIVERS:
        return stated.endswith(actual) or {*DRIVERS.get(actual, ())} == {*DRIVERS.get(stated, ())} != set()
    return _OPEN.get(actual) is _OPEN.get(stated)


def opener_of(path: Path) -> Opener:
    """Return the function that opens a path, which must be a folder or a regular file, or in an archive."""
    path, _ = within_archive(path)
    encodable(path)
    try:
        state = path.stat()
    except FileNotFoundError:
        remedy = f"The folder is {path.absolute().parent}."
        raise FileUnavailable(str(path), "file not found", "a file that exists", remedy) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InvalidFile(str(path), reason, "a file that can be read", "Check its name and permissions.") from None
    if stat.S_ISDIR(state.st_mode):
        if any(part.suffix.lower() == ".parquet" for part in files_of(path)):
            return open_parquet
        if (kind := unread_format(path)) is not None:
            raise named_error(path, kind)
        return open_plt if tracks_in(path) else open_cabspotting
    if not stat.S_ISREG(state.st_mode):
        remedy = "Save the data to a file first, or give - to a command."
        raise InvalidFile(str(path), "a pipe or a device", "a file on the disk, as it is read twice", remedy)
    if not state.st_size:
        raise InvalidFile(str(path), "0 bytes", "a file with locations", "The file is empty: create it again.")
    if ending(path) in _OPEN:
        return _opener_of_format(path, ending(path))
    return _open_archive if ending(path) in ARCHIVES else _opener_by_content(path)


def _opener_of_format(path: Path, known: str) -> Opener:
    """Return the function that opens a file of a known format.

    JSON is GeoJSON, records, or a location history; a text is a table, or the log of a receiver.
    """
    if known == ".txt" and (actual := _ending_by_content(path)) in _LOGS:
        return _OPEN[actual]
    if "json" not in known:
        return _OPEN[known]
    if history_in(path) is not None:
        return open_history
    return open_records if are_records(path) else open_gdal


def _opener_by_content(path: Path) -> Opener:
    """Return the function that opens a file whose ending is not known."""
    actual = _ending_by_content(path)
    kind = unread_format(path)
    if kind is not None and (actual in (None, ".gz", ".zip", ".gpkg", ".geojson")) and not _is_geopackage(path):
        raise named_error(path, kind)
    if actual in _NAMELESS:
        return _open_archive if actual in ARCHIVES else _opener_of_format(path, actual)
    shown = ending(path) or "no ending"
    if actual is not None:
        remedy = f"Rename it, so that it ends in {actual}."
        raise InvalidFile(str(path), shown, f"a file that ends in {actual}, as its content is of that format", remedy)
    known = f"a file that ends in one of {', '.join(READ)}"
    raise InvalidFile(str(path), shown, known, "Convert it, or rename it if it is one of these.")


def _open_archive(path: Path, **reading: object) -> LocationFile:
    """Unpack the one file of locations in an archive, and open it."""
    wanted = reading.get("layer")
    inner, held, named = unpack(path, _OPEN, wanted if isinstance(wanted, str) else None)
    if named:
        reading.pop("layer")
    if ending(inner) in ARCHIVES:
        raise InvalidFile(str(path), inner.name, "an archive that contains no archive", "Unpack it.")
    try:
        return replace(open_locations(inner, **reading), held=held)
    except InvalidFile as problem:
        # The error names the archive: the unpacked file no longer exists when the error is read.
        problem.argument = problem.argument.replace(str(inner), f"{path}: {inner.name}")
        raise


def _ending_by_content(path: Path) -> str | None:
    """Return the ending that belongs to the content of a file, or None if it is not recognised."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    for begun, belonging in _HEADS.items():
        if head.startswith(begun):
            return belonging
    if head[8:12] == b".FIT":
        return ".fit"
    if head.startswith(b"PK\x03\x04"):
        return _in_archive(path)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        root = _ROOT.search(text)
        return _ROOTS[root[1]] if root else None
    if (name := history_in(path)) is not None:
        return ".rec" if name == "OwnTracks" and text[:1].isdigit() else ".json"
    if _GEOJSON.match(text):
        return ".geojson"
    if text.startswith((b"{", b"[")):
        return ".json"
    if _PLT.match(text):
        return ".plt"
    for name, (_, begins) in _LOGS.items():
        if begins.match(text):
            return name
    header = text.partition(b"\n")[0]
    return ".csv" if b"\0" not in head and any(mark in header for mark in b",;\t|") else None


def _is_geopackage(path: Path) -> bool:
    """Return whether the first bytes are those of an SQLite database whose application is GeoPackage."""
    if path.is_dir():
        return False
    with path.open("rb") as file:
        head = file.read(72)
    return head.startswith(b"SQLite format 3\0") and head[68:72] in (b"GPKG", b"GP10", b"GP11")


def _in_archive(path: Path) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            return ".xlsx" if "xl/workbook.xml" in archive.namelist() else ".zip"
    except (zipfile.BadZipFile, OSError):
        return None
