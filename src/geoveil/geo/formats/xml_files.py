"""GPX and KML files, read as a stream; GPX is also written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO, TypeAlias
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.limits import COLUMNS, DEPTH, LINE
from geoveil.geo.formats.location_columns import CoordinatePairs, GeometryColumn
from geoveil.geo.formats.location_file import Batch, FilePart, LocationFile
from geoveil.geo.geometries import Floats
from geoveil.geo.recognition import is_missing

if TYPE_CHECKING:
    import pyarrow as pa
    from shapely import Geometry

__all__ = [
    *("GPX", "KML", "ConvertedGPX", "GPXStream", "check_prolog", "kml_rows", "local_name", "malformed", "open_gpx"),
    "open_kml",
]

#: Rows in a batch: fewer than in other formats, since they are held as Python texts.
_ROWS = 2**16
#: Number of bytes of GPX parsed at once, and largest number of bytes parsed without a complete element.
_BLOCK, _PENDING = 2**18, 2**26


class _Begun(Exception):
    """Raised when the parser reaches the first tag of a document."""


def check_prolog(path: Path, root: str, name: str) -> None:
    """Refuse documents with another root, and those that declare entities, which can expand without limit."""

    def declared(*_: object) -> None:
        allowed = f"{name}, which declares no document type"
        raise InvalidFile(str(path), "<!DOCTYPE", allowed, "Remove the declaration.")

    def begun(tag: str, _: object) -> None:
        kind = tag.rpartition("}")[2]
        if kind != root:
            remedy = "Check the format of the file."
            raise InvalidFile(str(path), kind, f"a {name} file, whose outermost tag is {root}", remedy)
        raise _Begun

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = declared, begun
    try:
        with path.open("rb") as file:
            parser.Parse(file.read(LINE), False)
        raise InvalidFile(str(path), "no tag", "XML that begins with a tag", "Check the format of the file.")
    except _Begun:
        pass
    except expat.ExpatError as problem:
        raise malformed(path, expat.errors.messages[problem.code], problem.lineno, problem.offset) from None


def malformed(path: Path, what: str, line: int, column: int) -> InvalidFile:
    """Return the error of XML that is not well-formed."""
    at = f"line {line}, column {column}"
    return InvalidFile(str(path), f"{what} at {at}", "well-formed XML", "Correct it there.")


# GPX -----------------------------------------------------------------------------------------------------------------

#: The elements of a point, in the order that the format requires.
_FIELDS = (
    *("ele", "time", "course", "speed", "magvar", "geoidheight", "name", "cmt", "desc", "src", "link", "sym", "type"),
    *("fix", "sat", "hdop", "vdop", "pdop", "ageofdgpsdata", "dgpsid", "extensions"),
)
#: Elements of a point that contain further elements.
_TAGGED = ("link", "extensions")
#: Columns that identify the track or route of a point, and the segment.
_PLACES = ("kind", "track", "segment", "track_name")
#: The namespaces of the versions of the format; a file with another one is written with the last.
_SPACES = ("", "http://www.topografix.com/GPX/1/0", "http://www.topografix.com/GPX/1/1")
#: Consecutive points, with the columns that identify their track and segment.
Run: TypeAlias = tuple[list[Element], dict[str, str | int]]


def open_gpx(path: Path) -> GPX:
    """Open a GPX file: parse it once, to find its columns and the names of its tracks."""
    import pyarrow as pa
    import pyproj

    check_prolog(path, "gpx", "GPX")
    stream = GPXStream(path, {})
    tags: set[str] = set()
    for _, runs in stream:
        for points, where in runs:
            tags.update(where)
            tags.update(tag.removeprefix(stream.prefix) for tag in {part.tag for point in points for part in point})
    if not tags:
        allowed = "at least one waypoint, route point or track point"
        raise InvalidFile(str(path), 0, allowed, "Give a file with points.")
    space = stream.prefix[1:-1]
    names = [name for name in (*_PLACES, *_FIELDS) if name in tags]
    return GPX.opened(
        path,
        CoordinatePairs((("lon", "lat"),)),
        pyproj.CRS(GEOGRAPHIC),
        {name: pa.int64() if name in ("track", "segment") else pa.string() for name in names},
        reading={},
        titles=stream.titles,
        space=space if space in _SPACES else _SPACES[-1],
        version=stream.version if stream.version in ("1.0", "1.1") else "1.1",
    )


class GPXStream:
    """The points of a GPX file, parsed block by block; elements are removed from memory once they are read.

    Parameters
    ----------
    path : Path
        The file.
    titles : dict
        The known names of tracks and routes, by kind and number; names that are found are added.
    """

    def __init__(self, path: Path, titles: dict[tuple[str, int], str]) -> None:
        self.path, self.titles = path, titles
        self.prefix, self.version = "", ""
        self._numbers = {"rte": 0, "trk": 0}
        #: The open track or route, and the open segment, to which further points may belong.
        self._track: Element | None = None
        self._part: Element | None = None
        self._segment = 0
        self._took = False

    def __iter__(self) -> Iterator[tuple[float, Iterator[Run]]]:
        """Yield, after each block, the fraction of the file that has been parsed, and runs of new points."""
        builder = ElementTree.TreeBuilder()
        # An element around the root, which gives access to the root while it is parsed.
        around = builder.start("document", {})
        parser = ElementTree.XMLParser(target=builder)
        size = max(self.path.stat().st_size, 1)
        done, taken = 0, 0
        try:
            with self.path.open("rb") as file:
                while block := file.read(_BLOCK):
                    parser.feed(block)
                    done += len(block)
                    if len(around):
                        self._took = False
                        yield min(done / size, 1.0), self._runs(around[0], whole=False)
                        taken = done if self._took else taken
                    if done - taken > _PENDING:
                        allowed = f"GPX with less than {_PENDING} bytes between points"
                        remedy = "Remove elements that are not points."
                        raise InvalidFile(str(self.path), f"at byte {done}", allowed, remedy)
            parser.close()
        except ElementTree.ParseError as problem:
            raise malformed(self.path, problem.msg.partition(":")[0], *problem.position) from None
        yield 1.0, self._runs(around[0], whole=True)

    def _runs(self, root: Element, *, whole: bool) -> Iterator[Run]:
        """Yield the complete points: until the document is whole, all but the last element at each level."""
        space, brace, _ = root.tag.rpartition("}")
        self.prefix, self.version = space + brace, root.get("version", "")
        for child in [*root]:
            kind = child.tag.removeprefix(self.prefix)
            open_ = not whole and child is root[-1]
            if kind == "wpt" and not open_:
                yield [child], {"kind": "wpt"}
            elif kind in self._numbers:
                yield from self._track_runs(child, kind, open_)
        self._forget(root, [*root[-1:]] if not whole else [])

    def _track_runs(self, track: Element, kind: str, open_: bool) -> Iterator[Run]:
        if track is not self._track:
            self._track, self._part, self._segment = track, None, 0
            self._numbers[kind] += 1
        parts = [*track[:-1]] if open_ else [*track]
        key = (kind, self._numbers[kind])
        named = [part for part in parts if part.tag == f"{self.prefix}name"]
        if named:
            self.titles.setdefault(key, named[0].text or "")
        where: dict[str, str | int] = {"kind": kind, "track": key[1]}
        if key in self.titles:
            where["track_name"] = self.titles[key]
        for part in [*track]:
            complete = part in parts
            if part.tag == f"{self.prefix}{kind}pt" and complete:
                # Points outside of segments belong to segment 0.
                yield [part], {**where, "segment": 0}
            elif part.tag == f"{self.prefix}trkseg" and kind == "trk":
                if part is not self._part:
                    self._part, self._segment = part, self._segment + 1
                points = [point for point in part if point.tag == f"{self.prefix}trkpt"]
                last = [] if complete else [*part[-1:]]
                yield [point for point in points if point not in last], {**where, "segment": self._segment}
                self._forget(part, last)
        self._forget(track, [*named, *([*track[-1:]] if open_ else [])])

    def _forget(self, element: Element, kept: list[Element]) -> None:
        """Remove all children of an element except those to keep."""
        self._took = self._took or len(element) > len(kept)
        element[:] = kept


def _values(points: list[Element], where: dict[str, str | int], name: str, space: str) -> list[object]:
    """Return the values of a column for the points of a run."""
    if name in ("lon", "lat"):
        return [point.get(name) for point in points]
    if name in _PLACES:
        return [where.get(name)] * len(points)
    tag = space + name
    if name in _TAGGED:
        return [_texts(point, tag, space) for point in points]
    return [point.findtext(tag) or None for point in points]


def _texts(point: Element, tag: str, space: str) -> str | None:
    """Return the elements of a point that contain further elements, as XML."""
    elements = point.findall(tag)
    for element in elements:
        level = [element]
        for _ in range(DEPTH):
            level = [part for parent in level for part in parent]
        if level:
            raise ValueError(f"elements nested more than {DEPTH} deep in {tag.removeprefix(space)} of a point")
    return "".join(ElementTree.tostring(_unnamed(e, space), encoding="unicode").strip() for e in elements) or None


def _unnamed(element: Element, space: str) -> Element:
    """Copy an element without the namespace of GPX, which the root of the written file declares."""
    copy = ElementTree.Element(element.tag.removeprefix(space), element.attrib)
    copy.text, copy.tail = element.text, element.tail
    copy.extend(_unnamed(part, space) for part in element)
    return copy


@dataclass(frozen=True, eq=False, kw_only=True)
class GPX(LocationFile):
    """A GPX file: waypoints, routes and tracks; altitude, speed and other attributes of points are columns."""

    #: The names of tracks and routes, by kind and number.
    titles: dict[tuple[str, int], str]
    space: str
    version: str

    extensible = False
    structure: ClassVar[tuple[str, ...]] = ("kind", "track", "segment")
    dated = ("time",)

    def _sample(self, columns: Sequence[str]) -> Mapping[str, Sequence[object]]:
        # Elements with others inside hold no times, and may be nested too deeply to be read.
        return super()._sample([name for name in columns if name not in _TAGGED])

    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        import pyarrow as pa

        stream = GPXStream(self.path, dict(self.titles))
        gathered: dict[str, list[object]] = {name: [] for name in columns}
        for share, runs in stream:
            for points, where in runs:
                for name, values in gathered.items():
                    values.extend(_values(points, where, name, stream.prefix))
            count = len(gathered["lon"])
            if count >= _ROWS or (share == 1.0 and count):
                types = {**dict.fromkeys(self.located.names, pa.string()), **self.columns}
                yield FilePart(pa.table({name: pa.array(gathered[name], types[name]) for name in columns}), share)
                gathered = {name: [] for name in columns}

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        with path.open("w", encoding="utf-8", newline="\n") as out:
            out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
            named = f' xmlns="{self.space}"' if self.space else ""
            out.write(f'<gpx version="{self.version}" creator="geoveil"{named}>\n')
            writer = _Writer(out)
            for batch in batches:
                writer.put(batch.places.tolist(), batch.columns)
            writer.leave(None)
            out.write("</gpx>\n")


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvertedGPX(GPX):
    """A GPX file of points of another format: one track, with times as far as they are known."""

    titles: dict[tuple[str, int], str] = field(default_factory=dict)
    space: str = "http://www.topografix.com/GPX/1/1"
    version: str = "1.1"

    structure = ()

    def check_columns(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.dated:
                allowed = "a format that holds the column, as GPX holds times alone, in the column time"
                raise InvalidParameter("target", name, allowed, "Choose a target that ends in .geojson.")

    def check_batch(self, batch: Batch) -> None:
        super().check_batch(batch)
        for row, time in enumerate(_iso_times(batch.columns)):
            if time is not None and not _ISO.match(time):
                allowed = "a time such as 2024-03-01T12:00:00Z, as GPX writes times"
                remedy = "Choose a target that ends in .geojson."
                raise InvalidFile(f"{batch.name(row)}, time", time, allowed, remedy)

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        super().write(path, (self._tracked(batch) for batch in batches), schema)

    def _tracked(self, batch: Batch) -> Batch:
        import pyarrow as pa

        count = len(batch)
        columns = {"kind": pa.repeat("trk", count), "track": pa.repeat(1, count), "segment": pa.repeat(1, count)}
        if "time" in batch.columns.column_names:
            columns["time"] = pa.array(_iso_times(batch.columns), pa.string())
        return replace(batch, places=batch.pairs, columns=pa.table(columns))


#: The beginning of a time of ISO 8601.
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def _iso_times(columns: pa.Table) -> list[str | None]:
    """Return the times of rows as texts, without those that are missing."""
    if "time" not in columns.column_names:
        return []
    values = columns["time"].to_pylist()
    texts = [time.isoformat() if isinstance(time, datetime) else time for time in values]
    return [None if is_missing(text) else str(text).replace("+00:00", "Z") for text in texts]


class _Writer:
    """Writes points within the elements of their tracks, segments and routes.

    Parameters
    ----------
    out : text file
        The file to write to.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._track: tuple[str, int] | None = None
        self._segment: int | None = None

    def leave(self, track: tuple[str, int] | None) -> None:
        """Close the elements that do not contain the next point."""
        if self._track and self._track[0] == "trk":
            self._out.write("</trkseg>")
        if self._track and track != self._track:
            self._out.write(f"</{self._track[0]}>\n")

    def put(self, places: list[list[float]], columns: pa.Table) -> None:
        """Write points, given as pairs of coordinates and a table of their columns."""
        rows = {name: columns[name].to_pylist() for name in columns.column_names}
        fields = [(name, rows[name]) for name in _FIELDS if name in rows]
        nothing = [None] * len(places)
        where = zip(*(rows.get(name, nothing) for name in _PLACES), strict=True)
        for at, ((lon, lat), (kind, number, segment, title)) in enumerate(zip(places, where, strict=True)):
            track = None if kind == "wpt" else (kind, number)
            if track != self._track or segment != self._segment:
                self._enter(track, segment, title)
            tag = kind if kind == "wpt" else f"{kind}pt"
            inner = "".join([_element(name, values[at]) for name, values in fields])
            self._out.write(f'<{tag} lat="{lat!r}" lon="{lon!r}">{inner}</{tag}>\n')

    def _enter(self, track: tuple[str, int] | None, segment: int | None, title: str | None) -> None:
        """Open the elements that contain the next point."""
        self.leave(track)
        if track and track != self._track:
            self._out.write(f"<{track[0]}>" + ("" if title is None else f"<name>{escape(title)}</name>"))
        if track and track[0] == "trk":
            self._out.write("<trkseg>\n")
        self._track, self._segment = track, segment


def _element(name: str, text: str | None) -> str:
    if text is None:
        return ""
    return text if name in _TAGGED else f"<{name}>{escape(text)}</{name}>"


# KML -----------------------------------------------------------------------------------------------------------------

#: Elements of a placemark that are columns; times have columns of these names.
_PLACEMARK = ("name", "description", "address", "phoneNumber")
_TIMES = {"when": "time", "begin": "begin_time", "end": "end_time"}
#: The name of the column of geometries, which no column of the data has.
_GEOMETRY = "(geometry)"
#: A location, or None, and the columns of its row.
Row: TypeAlias = tuple["Geometry | None", dict[str, str]]


def open_kml(path: Path) -> KML:
    """Open a KML file: parse it once, to find its columns."""
    import pyarrow as pa
    import pyproj

    check_prolog(path, "kml", "KML")
    names: dict[str, None] = {}
    kinds = set()
    for place, row in kml_rows(path):
        names.update(dict.fromkeys(row))
        kinds.add("Unknown" if place is None else place.geom_type)
        COLUMNS.check(path, len(names))
    if not kinds:
        raise InvalidFile(str(path), 0, "at least one placemark", "Give a file with placemarks or tracks.")
    return KML.opened(
        path,
        GeometryColumn(_GEOMETRY, "wkb"),
        pyproj.CRS(GEOGRAPHIC),
        dict.fromkeys(names, pa.string()),
        reading={},
        times=frozenset(_TIMES.values()) & frozenset(names),
        kind=kinds.pop() if len(kinds) == 1 else "Unknown",
    )


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def kml_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file: one for each placemark, and one for each point of a track."""
    open_: list[Element] = []
    number = 0
    try:
        for event, element in ElementTree.iterparse(path, ("start", "end")):
            if event == "start":
                open_.append(element)
                continue
            open_.pop()
            if local_name(element) == "Placemark" and not any(local_name(outer) == "Placemark" for outer in open_):
                number += 1
                yield from _placemark(element, number)
                # Placemarks that were read would fill the memory.
                open_[-1].remove(element)
    except ElementTree.ParseError as problem:
        raise malformed(path, problem.msg.partition(":")[0], *problem.position) from None


def _placemark(element: Element, number: int) -> Iterator[Row]:
    row = {"placemark": str(number)}
    for part in element:
        if local_name(part) in _PLACEMARK and part.text and part.text.strip():
            row[local_name(part)] = part.text.strip()
        elif local_name(part) in ("TimeStamp", "TimeSpan"):
            row |= {_TIMES[local_name(each)]: (each.text or "").strip() for each in part if local_name(each) in _TIMES}
        elif local_name(part) == "ExtendedData":
            row |= {name: text for name, text in _data(part) if name not in row}
    tracks = [part for part in element.iter() if local_name(part) == "Track"]
    for track in tracks:
        times = [(part.text or "").strip() for part in track if local_name(part) == "when"]
        places = [_pairs(part.text, " ") for part in track if local_name(part) == "coord"]
        if len(times) not in (0, len(places)):
            raise ValueError(f"placemark {number} has {len(times)} times and {len(places)} points")
        for at, place in enumerate(places):
            yield _shape("Point", place), {**row, **({"time": times[at]} if times else {})}
    if not tracks:
        yield _geometry(element), row


def _data(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the names and values of the data that other programs have added to a placemark."""
    for part in element.iter():
        if local_name(part) == "SimpleData":
            yield part.get("name", "data"), (part.text or "").strip()
        elif local_name(part) == "Data":
            value = next((each.text for each in part if local_name(each) == "value"), None)
            yield part.get("name", "data"), (value or "").strip()


def _geometry(element: Element) -> Geometry | None:
    """Return the geometry of a placemark, or None; one of several parts if it has several."""
    import shapely

    parts = [part for part in element.iter() if local_name(part) in ("Point", "LineString", "Polygon")]
    texts = [next((each.text for each in part.iter() if local_name(each) == "coordinates"), "") for part in parts]
    parsed = [_shape(local_name(part), _pairs(text)) for part, text in zip(parts, texts, strict=True)]
    shapes = [shape for shape in parsed if shape is not None]
    if len(shapes) == 1:
        return shapes[0]
    kinds = {shape.geom_type for shape in shapes}
    several = {"Point": shapely.MultiPoint, "LineString": shapely.MultiLineString, "Polygon": shapely.MultiPolygon}
    if not shapes:
        return None
    return several[kinds.pop()](shapes) if len(kinds) == 1 else shapely.GeometryCollection(shapes)


def _pairs(text: str | None, separator: str = ",") -> Floats:
    """Return the longitudes and latitudes in a text of coordinates, without altitudes."""
    points = [(text or "").split()] if separator == " " else [each.split(",") for each in (text or "").split()]
    return np.array([[float(number) for number in point[:2]] for point in points if point]).reshape(-1, 2)


def _shape(kind: str, pairs: Floats) -> Geometry | None:
    import shapely

    if not len(pairs):
        return None
    if kind == "Point":
        return shapely.Point(pairs[0])
    return shapely.LineString(pairs) if kind == "LineString" else shapely.Polygon(pairs)


@dataclass(frozen=True, eq=False, kw_only=True)
class KML(LocationFile):
    """A KML file: placemarks with points or lines, and tracks, whose points are rows of their own with their times."""

    #: Only the points, and none of the styles, folders and views of a KML file, could be released.
    writable = False

    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        import pyarrow as pa
        import shapely

        rows = kml_rows(self.path)
        while held := [*islice(rows, _ROWS)]:
            table = {name: pa.array([row.get(name) for _, row in held], pa.string()) for name in columns}
            places = np.empty(len(held), dtype=object)
            places[:] = [place for place, _ in held]
            table[_GEOMETRY] = pa.array(shapely.to_wkb(places), pa.binary())
            # How much of the file was read is not known.
            yield FilePart(pa.table(table), 0.5 if len(held) == _ROWS else 1.0)
