"""KML files: placemarks with points, lines, or tracks with times; read as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from geoveil.errors import InvalidFile
from geoveil.geo.areas import Floats
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.limits import COLUMNS
from geoveil.geo.formats.location_file import Batch, LocationFile
from geoveil.geo.formats.xml_prolog import check_prolog, malformed

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KML", "open_kml"]

#: Rows in a batch: fewer than in other formats, since they are held as Python texts.
_ROWS = 2**16
#: Elements of a placemark that are columns; times have columns of these names.
_TEXTS = ("name", "description", "address", "phoneNumber")
_TIMES = {"when": "time", "begin": "begin_time", "end": "end_time"}
#: A location, or None, and the columns of its row.
Row: TypeAlias = tuple[Any, dict[str, str]]


def open_kml(path: Path) -> KML:
    """Open a KML file: parse it once, to find its columns."""
    import pyarrow as pa
    import pyproj

    check_prolog(path, "kml")
    found: dict[str, None] = {}
    kinds = set()
    for place, row in _rows(path):
        found.update(dict.fromkeys(row))
        kinds.add("Unknown" if place is None else place.geom_type)
        COLUMNS.check(path, len(found))
    if not kinds:
        raise InvalidFile(str(path), 0, "at least one placemark", "Give a file with placemarks or tracks.")
    return KML(
        path=path,
        crs=pyproj.CRS(GEOGRAPHIC),
        columns=dict.fromkeys(found, pa.string()),
        times=frozenset(_TIMES.values()) & frozenset(found),
        kind=kinds.pop() if len(kinds) == 1 else "Unknown",
    )


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file: one for each placemark, and one for each point of a track."""
    open_: list[Element] = []
    number = 0
    try:
        for event, element in ElementTree.iterparse(path, ("start", "end")):
            if event == "start":
                open_.append(element)
                continue
            open_.pop()
            if _name(element) == "Placemark" and not any(_name(outer) == "Placemark" for outer in open_):
                number += 1
                yield from _placemark(element, number)
                # Placemarks that were read would fill the memory.
                open_[-1].remove(element)
    except ElementTree.ParseError as problem:
        raise malformed(path, problem.msg.partition(":")[0], *problem.position) from None


def _placemark(element: Element, number: int) -> Iterator[Row]:
    row = {"placemark": str(number)}
    for part in element:
        if _name(part) in _TEXTS and part.text and part.text.strip():
            row[_name(part)] = part.text.strip()
        elif _name(part) in ("TimeStamp", "TimeSpan"):
            row |= {_TIMES[_name(each)]: (each.text or "").strip() for each in part if _name(each) in _TIMES}
        elif _name(part) == "ExtendedData":
            row |= {name: text for name, text in _data(part) if name not in row}
    tracks = [part for part in element.iter() if _name(part) == "Track"]
    for track in tracks:
        times = [(part.text or "").strip() for part in track if _name(part) == "when"]
        places = [_pairs(part.text, " ") for part in track if _name(part) == "coord"]
        if len(times) not in (0, len(places)):
            raise ValueError(f"placemark {number} has {len(times)} times and {len(places)} points")
        for at, place in enumerate(places):
            yield _shape("Point", place), {**row, **({"time": times[at]} if times else {})}
    if not tracks:
        yield _geometry(element), row


def _data(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the names and values of the data that other programs have added to a placemark."""
    for part in element.iter():
        if _name(part) == "SimpleData":
            yield part.get("name", "data"), (part.text or "").strip()
        elif _name(part) == "Data":
            value = next((each.text for each in part if _name(each) == "value"), None)
            yield part.get("name", "data"), (value or "").strip()


def _geometry(element: Element) -> Any:
    """Return the geometry of a placemark, or None; one of several parts if it has several."""
    import shapely

    shapes = [
        _shape(_name(part), _pairs(next((each.text for each in part.iter() if _name(each) == "coordinates"), "")))
        for part in element.iter()
        if _name(part) in ("Point", "LineString", "Polygon")
    ]
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


def _shape(kind: str, pairs: Floats) -> Any:
    import shapely

    if not len(pairs):
        return None
    if kind == "Point":
        return shapely.Point(pairs[0])
    return shapely.LineString(pairs) if kind == "LineString" else shapely.Polygon(pairs)


@dataclass(frozen=True, eq=False, kw_only=True)
class KML(LocationFile):
    """A KML file; a track's points are rows of their own, with their times."""

    kind: str

    #: Only the points, and none of the styles, folders and views of a KML file, could be released.
    writable = False

    @property
    def shape(self) -> str:
        return self.kind

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        size, first, held = self.path.stat().st_size, 0, list[Row]()
        for row in _rows(self.path):
            held.append(row)
            if len(held) == _ROWS:
                yield self._batch(held, columns, first, 0.5 if size else 1.0)
                first += len(held)
                held = []
        yield self._batch(held, columns, first, 1.0)

    def _batch(self, rows: list[Row], columns: Sequence[str], first: int, share: float) -> Batch:
        import pyarrow as pa

        names = [*columns, "placemark"]  # a table without columns has no number of rows
        table = pa.table({name: pa.array([row.get(name) for _, row in rows], pa.string()) for name in names})
        places = np.empty(len(rows), dtype=object)
        places[:] = [place for place, _ in rows]
        return Batch(self, first, share, places, table.select([*columns]))

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        raise NotImplementedError("Placemarks are written in another format.")
