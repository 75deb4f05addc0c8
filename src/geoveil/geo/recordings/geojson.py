"""GeoJSON: features of points with a time and named properties, and lines, with the times of their points if known.

Programs write the times of a line's points into `coordTimes` or `times`, in the properties of its feature. No other
property of a line is read, as it is about the whole line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.formats.guards import guarded
from geoveil.geo.formats.location_file import readable
from geoveil.geo.formats.records import documents
from geoveil.geo.recognition import may_be_times
from geoveil.geo.recordings.track import (
    Track,
    TrackFormat,
    as_number,
    check_measured,
    derived_words,
    iso_times,
    listed_times,
    track_of,
    with_times,
)

__all__ = ["GeoJSONTracks"]

#: An object of JSON.
Members: TypeAlias = Mapping[str, Any]
_LINE_TIMES = ("coordTimes", "times")


@dataclass(frozen=True)
class GeoJSONTracks(TrackFormat):
    """A GeoJSON file."""

    #: The properties of points that are released; "altitude" is also the third coordinate.
    keep: tuple[str, ...]
    #: The property that holds the time of a point.
    time: str | None
    #: The properties that may hold it, by their names.
    candidates: tuple[str, ...]
    #: Whether the file has one feature in each line.
    sequence: bool

    @classmethod
    def of(cls, path: Path, keep: Sequence[str], time: str | None) -> GeoJSONTracks:
        """Return the form of a file, given the properties to release and that of times, if it is not recognised."""
        guarded(path, "GeoJSON")
        with readable(path, "GeoJSON"):
            points = [properties for shape, _, properties in _shapes(path) if shape == "Point"]
        names = {name for properties in points for name in properties}
        for name in keep:
            check_measured(name)
            if name not in names and name != "altitude":
                allowed = f"properties of points of the file: {', '.join(sorted(names)) or 'it has none'}"
                raise InvalidParameter("keep", name, allowed, "Leave it out.")
        candidates = [name for name in sorted(names) if may_be_times(name) and not derived_words(name)]
        with path.open("rb") as file:
            sequence = path.suffix.lower() not in (".geojson", ".json") or file.read(1) == b"\x1e"
        return cls(tuple(keep), time, () if time else tuple(candidates), sequence)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([self.time or "time", *self.keep]))

    def read(self, path: Path) -> list[Track]:
        guarded(path, "GeoJSON")
        tracks: list[Track] = []
        points: list[list[Any]] = []
        properties: list[Members] = []
        with readable(path, "GeoJSON"):
            for shape, coords, about in _shapes(path):
                if shape == "Point":
                    points.append(coords)
                    properties.append(about)
                elif shape == "LineString":
                    tracks.append(self._line(path, coords, about))
            if points:
                tracks.append(self._points(path, points, properties))
        return tracks

    def _line(self, path: Path, coords: list[list[Any]], about: Members) -> Track:
        listed = next((about[name] for name in _LINE_TIMES if isinstance(about.get(name), list)), None)
        if listed is not None and len(listed) != len(coords):
            raise ValueError(f"a line with {len(coords)} points and {len(listed)} times")
        times = listed_times(listed or [None] * len(coords))
        attributes = {"altitude": list(map(_altitude, coords))} if "altitude" in self.keep else {}
        return track_of(path, [point[:2] for point in coords], times, line=True, attributes=attributes)

    def _points(self, path: Path, coords: list[list[Any]], properties: list[Members]) -> Track:
        names = dict.fromkeys([*([self.time] if self.time else []), *self.candidates, *self.keep])
        attributes = {
            name: [_plain(name, about.get(name)) if name in self.keep else about.get(name) for about in properties]
            for name in names
        }
        if "altitude" in self.keep:
            known = zip(attributes["altitude"], coords, strict=True)
            attributes["altitude"] = [_altitude(point) if value is None else value for value, point in known]
        return track_of(path, [point[:2] for point in coords], [None] * len(coords), attributes=attributes)

    def settled(self, tracks: Sequence[Track]) -> tuple[GeoJSONTracks, list[Track]]:
        # The property of times is released as it is written; the parsed times divide and measure pieces.
        points = [number for number, track in enumerate(tracks) if not track.line]
        if not points:
            return self, [*tracks]
        time, timed = with_times([tracks[number] for number in points], self.candidates, self.time, self.keep)
        settled = {**dict(enumerate(tracks)), **dict(zip(points, timed, strict=True))}
        return replace(self, time=time, candidates=()), [*settled.values()]

    def write(self, path: Path, pieces: Sequence[Track]) -> None:
        features = (feature for piece in pieces for feature in self._features(piece))
        with path.open("w", encoding="utf-8", newline="\n") as out:
            if self.sequence:
                out.writelines(f"{_written(feature)}\n" for feature in features)
                return
            out.write('{"type": "FeatureCollection", "features": [\n')
            for number, feature in enumerate(features):
                out.write((",\n" if number else "") + _written(feature))
            out.write("\n]}\n")

    def _features(self, piece: Track) -> Iterator[Members]:
        if not piece.line:
            for row, place in enumerate(piece.places.tolist()):
                properties = {name: values[row] for name, values in piece.attributes.items()}
                yield _feature("Point", place, properties)
            return
        coords: list[list[float]] = piece.places.tolist()
        heights = piece.attributes.get("altitude")
        if heights is not None:
            known = zip(coords, heights, strict=True)
            coords = [place if height is None else [*place, height] for place, height in known]
        times = {} if np.isnat(piece.times).any() else {"coordTimes": iso_times(piece.times)}
        if len(coords) > 1:
            yield _feature("LineString", coords, times)
        else:
            yield _feature("Point", coords[0], {name: texts[0] for name, texts in times.items()})


def _shapes(path: Path) -> Iterator[tuple[str, list[Any], Members]]:
    """Yield the type and coordinates of each simple geometry, with the properties of its feature."""
    for document in documents(path):
        _check_system(path, document)
        features = document["features"] if document.get("type") == "FeatureCollection" else [document]
        for feature in features:
            inner = feature["geometry"] if feature.get("type") == "Feature" else feature
            for shape in _simple(inner):
                yield (*shape, feature.get("properties") or {})


def _simple(shape: Members | None) -> Iterator[tuple[str, list[Any]]]:
    """Yield the points and lines of a geometry, one by one."""
    if shape is None:
        return
    kind = shape["type"]
    if kind == "GeometryCollection":
        for part in shape["geometries"]:
            yield from _simple(part)
    elif kind.startswith("Multi"):
        for part in shape["coordinates"]:
            yield kind.removeprefix("Multi"), part
    elif shape["coordinates"]:
        yield kind, shape["coordinates"]


def _check_system(path: Path, document: Members) -> None:
    """Refuse the coordinate system of older GeoJSON, unless it is that of longitude and latitude."""
    stated = json.dumps(document.get("crs") or "CRS84")
    if "CRS84" not in stated and "4326" not in stated:
        remedy = "Convert it to longitude and latitude first, or to a GeoPackage."
        raise InvalidFile(str(path), stated, "GeoJSON in longitude and latitude", remedy)


def _altitude(point: Sequence[Any]) -> float | None:
    return as_number(point[2]) if len(point) > 2 else None


def _plain(name: str, value: object) -> object:
    """Return a property; refuse objects and lists, which may hold locations."""
    if isinstance(value, dict | list):
        remedy = "Leave it out, or write what you need of it into properties of their own."
        raise InvalidParameter("keep", name, "a property whose values are texts, numbers or truth values", remedy)
    return value


def _feature(shape: str, coords: Iterable[Any], properties: Members) -> Members:
    return {"type": "Feature", "properties": properties, "geometry": {"type": shape, "coordinates": coords}}


def _written(feature: Members) -> str:
    return json.dumps(feature, ensure_ascii=False)
