"""GPX: waypoints, routes and tracks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from geoveil.errors import InvalidFile
from geoveil.geo.areas import GEOGRAPHIC, Floats
from geoveil.geo.files.locations import Batch, Locations
from geoveil.geo.files.texts import numbers

__all__ = ["GPX", "open_gpx"]

#: What a point may hold, in the order that the format asks for.
_FIELDS = (
    *("ele", "time", "course", "speed", "magvar", "geoidheight", "name", "cmt", "desc", "src", "link", "sym", "type"),
    *("fix", "sat", "hdop", "vdop", "pdop", "ageofdgpsdata", "dgpsid", "extensions"),
)
#: Those that hold tags themselves.
_TAGGED = ("link", "extensions")
#: Where a point stands.
_PLACES = ("kind", "track", "segment", "track_name")


def open_gpx(path: Path) -> GPX:
    """Read a GPX file."""
    import pyarrow as pa
    import pyproj

    try:
        root = ElementTree.parse(path).getroot()
    except (LookupError, ValueError, OSError) as problem:
        raise InvalidFile(str(path), str(problem), "XML that can be read", "Write it in UTF-8.") from None
    except ElementTree.ParseError as problem:
        line, column = problem.position
        at = f"line {line}, column {column}"
        raise InvalidFile(str(path), f"{problem.msg} at {at}", "well-formed XML", "Mend the tag there.") from None
    space, _, kind = root.tag.rpartition("}")
    if kind != "gpx":
        raise InvalidFile(str(path), kind, "a GPX file, whose outermost tag is gpx", "Is it of another format?")
    prefix = space + "}" if space else ""
    rows = [_row(point, where, prefix) for point, where in _points(root, prefix)]
    names = [name for name in (*_PLACES, *_FIELDS) if any(name in row for row in rows)]
    columns = {name: pa.int64() if name in ("track", "segment") else pa.string() for name in names}
    file = GPX(
        path=path,
        crs=pyproj.CRS(GEOGRAPHIC),
        columns=columns,
        table=pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in columns.items()}),
        written=[(row["lon"], row["lat"]) for row in rows],
        root=(space.lstrip("{"), root.get("version") or "1.1"),
    )
    if not rows:
        raise InvalidFile(str(path), 0, "at least one waypoint, route point or track point", "There is none.")
    return file


def _points(root: Any, space: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """All points in their order, and where they stand."""
    count = {"rte": 0, "trk": 0}
    for child in root:
        kind = child.tag.removeprefix(space)
        if kind == "wpt":
            yield child, {"kind": "wpt"}
        if kind not in count:
            continue
        count[kind] += 1
        where = {"kind": kind, "track": count[kind]}
        title = child.findtext(f"{space}name")
        if title is not None:
            where["track_name"] = title
        # Points that stand in no segment are one.
        parts = [child, *child.findall(f"{space}trkseg")]
        for segment, part in enumerate(parts):
            for point in part.findall(f"{space}{kind}pt"):
                yield point, {**where, "segment": segment}


def _row(point: Any, where: dict[str, Any], space: str) -> dict[str, Any]:
    row = {**where, "lon": point.get("lon"), "lat": point.get("lat")}
    for child in point:
        name = child.tag.removeprefix(space)
        if name in _TAGGED:
            row[name] = row.get(name, "") + ElementTree.tostring(_unnamed(child, space), encoding="unicode").strip()
        elif name in _FIELDS:
            row[name] = child.text
    return row


def _unnamed(element: Any, space: str) -> Any:
    """An element whose tags of GPX need no prefix, as the file that is written names their space."""
    copy = ElementTree.Element(element.tag.removeprefix(space), element.attrib)
    copy.text, copy.tail = element.text, element.tail
    copy.extend(_unnamed(part, space) for part in element)
    return copy


@dataclass(frozen=True, eq=False, kw_only=True)
class GPX(Locations):
    """Waypoints, routes and tracks; a point's altitude, speed and the like are columns."""

    table: Any
    written: list[tuple[str | None, str | None]]
    root: tuple[str, str]

    extensible = False
    structure = ("kind", "track", "segment")

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa

        batch = Batch(self, 0, 1.0, np.empty((0, 2)), self.table.select([*columns]))
        pairs = [numbers(pa.array(part, pa.string()), ".", batch.name) for part in zip(*self.written, strict=True)]
        yield Batch(self, 0, 1.0, np.column_stack(pairs), self.table.select([*columns]))

    def write(self, path: Path, batches: Iterator[Batch], schema: Any) -> None:
        space, version = self.root
        with path.open("w", encoding="utf-8") as out:
            out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
            named = f" xmlns={quoteattr(space)}" if space else ""
            out.write(f'<gpx version={quoteattr(version)} creator="geoveil"{named}>\n')
            for batch in batches:
                _write_points(out, batch.places, batch.columns.to_pylist())
            out.write("</gpx>\n")


def _write_points(out: Any, places: Floats, rows: list[dict[str, Any]]) -> None:
    """Points in the tags of the routes and segments that they stand in."""
    open_track: tuple[Any, ...] | None = None
    open_segment: int | None = None
    for (lon, lat), row in zip(places.tolist(), rows, strict=True):
        kind = row["kind"]
        track = None if kind == "wpt" else (kind, row["track"])
        if track != open_track or row.get("segment") != open_segment:
            if open_track and open_track[0] == "trk":
                out.write("</trkseg>")
            if open_track and track != open_track:
                out.write(f"</{open_track[0]}>\n")
            if track and track != open_track:
                out.write(f"<{kind}>")
                if row.get("track_name") is not None:
                    out.write(f"<name>{escape(row['track_name'])}</name>")
            if kind == "trk":
                out.write("<trkseg>\n")
            open_track, open_segment = track, row.get("segment")
        tag = kind if kind == "wpt" else f"{kind}pt"
        inner = "".join(_element(name, row.get(name)) for name in _FIELDS)
        out.write(f'<{tag} lat="{lat!r}" lon="{lon!r}">{inner}</{tag}>\n')
    if open_track:
        out.write(("</trkseg>" if open_track[0] == "trk" else "") + f"</{open_track[0]}>\n")


def _element(name: str, text: str | None) -> str:
    if text is None:
        return ""
    return text if name in _TAGGED else f"<{name}>{escape(text)}</{name}>"
