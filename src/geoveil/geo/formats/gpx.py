"""GPX: waypoints, routes and tracks, read and written as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from geoveil.errors import InvalidFile
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.coordinates import numbers
from geoveil.geo.formats.limits import DEPTH, LINE
from geoveil.geo.formats.location_file import Batch, LocationFile

__all__ = ["GPX", "open_gpx"]

#: The elements of a point, in the order that the format asks for.
_FIELDS = (
    *("ele", "time", "course", "speed", "magvar", "geoidheight", "name", "cmt", "desc", "src", "link", "sym", "type"),
    *("fix", "sat", "hdop", "vdop", "pdop", "ageofdgpsdata", "dgpsid", "extensions"),
)
#: Those that hold tags themselves.
_TAGGED = ("link", "extensions")
#: Columns that say in which track or route, and in which segment of it, a point stands.
_PLACES = ("kind", "track", "segment", "track_name")
#: Points in a batch: they are Python's texts, of which fewer fit into memory than of other formats' numbers.
_ROWS = 2**16
#: Bytes that are parsed at once, and bytes that may be parsed before a point is complete.
_BLOCK, _PENDING = 2**18, 2**26
#: The namespaces that the format has had; a file with another one is written with the last.
_SPACES = ("", "http://www.topografix.com/GPX/1/0", "http://www.topografix.com/GPX/1/1")


def open_gpx(path: Path) -> GPX:
    """Parse a GPX file once, to find its columns and the names of its tracks."""
    import pyarrow as pa
    import pyproj

    _check_prolog(path)
    stream = _Stream(path, {})
    found: set[str] = set()
    for _, runs in stream:
        for points, where in runs:
            found.update(where)
            found.update(tag.removeprefix(stream.prefix) for tag in {part.tag for point in points for part in point})
    if not found:
        raise InvalidFile(str(path), 0, "at least one waypoint, route point or track point", "There is none.")
    space = stream.prefix[1:-1]
    return GPX(
        path=path,
        crs=pyproj.CRS(GEOGRAPHIC),
        columns={
            name: pa.int64() if name in ("track", "segment") else pa.string()
            for name in (*_PLACES, *_FIELDS)
            if name in found
        },
        titles=stream.titles,
        space=space if space in _SPACES else _SPACES[-1],
        version=stream.version if stream.version in ("1.0", "1.1") else "1.1",
    )


class _Begun(Exception):
    """The first tag of a document has been reached."""


def _check_prolog(path: Path) -> None:
    """Refuse another document than GPX, and one that declares entities: these can grow without end."""

    def declared(*_: Any) -> None:
        raise InvalidFile(str(path), "<!DOCTYPE", "GPX, which declares no document type", "Remove the declaration.")

    def begun(name: str, _: Any) -> None:
        kind = name.rpartition("}")[2]
        if kind != "gpx":
            remedy = "Is it of another format?"
            raise InvalidFile(str(path), kind, "a GPX file, whose outermost tag is gpx", remedy)
        raise _Begun

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = declared, begun
    try:
        with path.open("rb") as file:
            parser.Parse(file.read(LINE), False)
        raise InvalidFile(str(path), "no tag", "XML that begins with a tag", "Is it of another format?")
    except _Begun:
        pass
    except expat.ExpatError as problem:
        raise _malformed(path, expat.errors.messages[problem.code], problem.lineno, problem.offset) from None


def _malformed(path: Path, what: str, line: int, column: int) -> InvalidFile:
    at = f"line {line}, column {column}"
    return InvalidFile(str(path), f"{what} at {at}", "well-formed XML", "Mend the tag there.")


class _Stream:
    """The points of a GPX file, parsed bit by bit; elements are forgotten when they have been taken.

    Parameters
    ----------
    path : Path
        The file.
    titles : dict
        The names of tracks and routes by kind and number, as far as they are known; those that are found are added.
    """

    def __init__(self, path: Path, titles: dict[tuple[str, int], str]) -> None:
        self.path, self.titles = path, titles
        self.prefix, self.version = "", ""
        self._numbers = {"rte": 0, "trk": 0}
        #: The track or route, and the segment, of which more points may follow.
        self._track: Any = None
        self._part: Any = None
        self._segment = 0
        self._took = False

    def __iter__(self) -> Iterator[tuple[float, Iterator[Run]]]:
        """Yield, after each bit, the share of the file that has been parsed, and its points in runs."""
        builder = ElementTree.TreeBuilder()
        # An element around the document's own, through which that is seen while it grows.
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
                        raise InvalidFile(str(self.path), f"at byte {done}", allowed, "Remove what is not a point.")
            parser.close()
        except ElementTree.ParseError as problem:
            raise _malformed(self.path, problem.msg.partition(":")[0], *problem.position) from None
        yield 1.0, self._runs(around[0], whole=True)

    def _runs(self, root: Any, *, whole: bool) -> Iterator[Run]:
        """Take the points that are complete, which all are but the last element at each level, unless it is whole."""
        space, brace, _ = root.tag.rpartition("}")
        self.prefix, self.version = space + brace, root.get("version")
        for child in [*root]:
            kind = child.tag.removeprefix(self.prefix)
            open_ = not whole and child is root[-1]
            if kind == "wpt" and not open_:
                yield [child], {"kind": "wpt"}
            elif kind in self._numbers:
                yield from self._track_runs(child, kind, open_)
        self._forget(root, [*root[-1:]] if not whole else [])

    def _track_runs(self, track: Any, kind: str, open_: bool) -> Iterator[Run]:
        if track is not self._track:
            self._track, self._part, self._segment = track, None, 0
            self._numbers[kind] += 1
        parts = [*track[:-1]] if open_ else [*track]
        key = (kind, self._numbers[kind])
        named = [part for part in parts if part.tag == f"{self.prefix}name"]
        if named:
            self.titles.setdefault(key, named[0].text or "")
        where: dict[str, Any] = {"kind": kind, "track": key[1]}
        if key in self.titles:
            where["track_name"] = self.titles[key]
        for part in [*track]:
            complete = part in parts
            if part.tag == f"{self.prefix}{kind}pt" and complete:
                # Points that stand in no segment are one.
                yield [part], {**where, "segment": 0}
            elif part.tag == f"{self.prefix}trkseg" and kind == "trk":
                if part is not self._part:
                    self._part, self._segment = part, self._segment + 1
                points = [point for point in part if point.tag == f"{self.prefix}trkpt"]
                last = [] if complete else [*part[-1:]]
                yield [point for point in points if point not in last], {**where, "segment": self._segment}
                self._forget(part, last)
        self._forget(track, [*named, *([*track[-1:]] if open_ else [])])

    def _forget(self, element: Any, kept: list[Any]) -> None:
        """Remove what an element holds, but for a few parts."""
        self._took = self._took or len(element) > len(kept)
        element[:] = kept


#: Points in their order, with the columns that say where they stand.
Run: TypeAlias = tuple[list[Any], dict[str, Any]]


def _values(points: list[Any], where: dict[str, Any], name: str, space: str) -> list[Any]:
    """Return the values of a column for points that stand at one place."""
    if name in ("lon", "lat"):
        return [point.get(name) for point in points]
    if name in _PLACES:
        return [where.get(name)] * len(points)
    tag = space + name
    if name in _TAGGED:
        return [_texts(point, tag, space) for point in points]
    return [point.findtext(tag) or None for point in points]


def _texts(point: Any, tag: str, space: str) -> str | None:
    """Write the elements of a point that hold tags themselves, as XML."""
    found = point.findall(tag)
    for element in found:
        level = [element]
        for _ in range(DEPTH):
            level = [part for parent in level for part in parent]
        if level:
            raise ValueError(f"tags within tags, more than {DEPTH} deep, in {tag.removeprefix(space)} of a point")
    return "".join(ElementTree.tostring(_unnamed(e, space), encoding="unicode").strip() for e in found) or None


def _unnamed(element: Any, space: str) -> Any:
    """Copy an element, without the prefix of GPX's own tags: the file that is written names their space."""
    copy = ElementTree.Element(element.tag.removeprefix(space), element.attrib)
    copy.text, copy.tail = element.text, element.tail
    copy.extend(_unnamed(part, space) for part in element)
    return copy


@dataclass(frozen=True, eq=False, kw_only=True)
class GPX(LocationFile):
    """Waypoints, routes and tracks; a point's altitude, speed and the like are columns."""

    #: The names of tracks and routes, by their kind and number.
    titles: dict[tuple[str, int], str]
    space: str
    version: str

    extensible = False
    structure = ("kind", "track", "segment")

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        stream = _Stream(self.path, dict(self.titles))
        gathered: dict[str, list[Any]] = {name: [] for name in ("lon", "lat", "kind", *columns)}
        first = 0
        for share, runs in stream:
            for points, where in runs:
                for name, values in gathered.items():
                    values.extend(_values(points, where, name, stream.prefix))
            count = len(gathered["kind"])
            if count >= _ROWS or (share == 1.0 and count):
                yield self._batch(gathered, columns, first, share)
                first += count
                gathered = {name: [] for name in gathered}

    def _batch(self, gathered: dict[str, list[Any]], columns: Sequence[str], first: int, share: float) -> Batch:
        import pyarrow as pa

        # A table without any column would not know how many rows it has: there is always the kind.
        names = dict.fromkeys(["kind", *columns])
        table = pa.table({name: pa.array(gathered[name], self.columns[name]) for name in names}).select([*columns])
        batch = Batch(self, first, share, np.empty((0, 2)), table)
        pairs = [numbers(pa.array(gathered[name], pa.string()), ".", batch.name) for name in ("lon", "lat")]
        return Batch(self, first, share, np.column_stack(pairs), table)

    def write(self, path: Path, batches: Iterator[Batch], schema: Any) -> None:
        with path.open("w", encoding="utf-8", newline="\n") as out:
            out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
            named = f' xmlns="{self.space}"' if self.space else ""
            out.write(f'<gpx version="{self.version}" creator="geoveil"{named}>\n')
            writer = _Writer(out)
            for batch in batches:
                writer.put(batch.places.tolist(), batch.columns)
            writer.leave(None)
            out.write("</gpx>\n")


class _Writer:
    """Writes points in the tags of the routes and segments that they stand in.

    Parameters
    ----------
    out : text file
        Where they go.
    """

    def __init__(self, out: Any) -> None:
        self._out = out
        self._track: tuple[str, int] | None = None
        self._segment: int | None = None

    def leave(self, track: tuple[str, int] | None) -> None:
        """Close the tags that do not hold the next point."""
        if self._track and self._track[0] == "trk":
            self._out.write("</trkseg>")
        if self._track and track != self._track:
            self._out.write(f"</{self._track[0]}>\n")

    def put(self, places: list[list[float]], columns: Any) -> None:
        """Write points, given as pairs of coordinates and a table of what goes with them."""
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
        """Open the tags that hold the next point."""
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
