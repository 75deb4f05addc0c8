"""GPX files: waypoints, routes and tracks, read and written as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

import numpy as np

from geoveil.errors import InvalidFile
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.limits import DEPTH
from geoveil.geo.formats.location_file import Batch, LocationFile
from geoveil.geo.formats.xml_prolog import check_prolog, malformed
from geoveil.geo.written_numbers import numbers

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["GPX", "open_gpx"]

#: The elements of a point, in the order that the format requires.
_FIELDS = (
    *("ele", "time", "course", "speed", "magvar", "geoidheight", "name", "cmt", "desc", "src", "link", "sym", "type"),
    *("fix", "sat", "hdop", "vdop", "pdop", "ageofdgpsdata", "dgpsid", "extensions"),
)
#: Elements of a point that contain further elements.
_TAGGED = ("link", "extensions")
#: Columns that identify the track or route of a point, and the segment.
_PLACES = ("kind", "track", "segment", "track_name")
#: Points in a batch: fewer than in other formats, since they are held as Python texts.
_ROWS = 2**16
#: Number of bytes parsed at once, and largest number of bytes parsed without a complete point.
_BLOCK, _PENDING = 2**18, 2**26
#: The namespaces of the versions of the format; a file with another one is written with the last.
_SPACES = ("", "http://www.topografix.com/GPX/1/0", "http://www.topografix.com/GPX/1/1")


def open_gpx(path: Path) -> GPX:
    """Open a GPX file: parse it once, to find its columns and the names of its tracks."""
    import pyarrow as pa
    import pyproj

    check_prolog(path, "gpx")
    stream = _Stream(path, {})
    found: set[str] = set()
    for _, runs in stream:
        for points, where in runs:
            found.update(where)
            found.update(tag.removeprefix(stream.prefix) for tag in {part.tag for point in points for part in point})
    if not found:
        raise InvalidFile(
            str(path), 0, "at least one waypoint, route point or track point", "Give a file with points."
        )
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


class _Stream:
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
                        raise InvalidFile(
                            str(self.path), f"at byte {done}", allowed, "Remove elements that are not points."
                        )
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
        where: dict[str, Any] = {"kind": kind, "track": key[1]}
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


#: Consecutive points, with the columns that identify their track and segment.
Run: TypeAlias = tuple[list[Element], dict[str, Any]]


def _values(points: list[Element], where: dict[str, Any], name: str, space: str) -> list[Any]:
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
    found = point.findall(tag)
    for element in found:
        level = [element]
        for _ in range(DEPTH):
            level = [part for parent in level for part in parent]
        if level:
            raise ValueError(f"elements nested more than {DEPTH} deep in {tag.removeprefix(space)} of a point")
    return "".join(ElementTree.tostring(_unnamed(e, space), encoding="unicode").strip() for e in found) or None


def _unnamed(element: Element, space: str) -> Element:
    """Copy an element without the namespace of GPX, which the root of the written file declares."""
    copy = ElementTree.Element(element.tag.removeprefix(space), element.attrib)
    copy.text, copy.tail = element.text, element.tail
    copy.extend(_unnamed(part, space) for part in element)
    return copy


@dataclass(frozen=True, eq=False, kw_only=True)
class GPX(LocationFile):
    """A GPX file; altitude, speed and other attributes of points are columns."""

    #: The names of tracks and routes, by kind and number.
    titles: dict[tuple[str, int], str]
    space: str
    version: str

    extensible = False
    structure = ("kind", "track", "segment")
    dated = ("time",)

    def _sample(self, columns: Sequence[str]) -> dict[str, list[Any]]:
        # Elements with others inside hold no times, and may be nested too deeply to be read.
        return super()._sample([name for name in columns if name not in _TAGGED])

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

        # The kind is always included, since a table without columns would have no number of rows.
        names = dict.fromkeys(["kind", *columns])
        table = pa.table({name: pa.array(gathered[name], self.columns[name]) for name in names}).select([*columns])
        batch = Batch(self, first, share, np.empty((0, 2)), table)
        pairs = [numbers(pa.array(gathered[name], pa.string()), ".", batch.name) for name in ("lon", "lat")]
        return Batch(self, first, share, np.column_stack(pairs), table)

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
