"""GPX: the points of tracks and routes. Waypoints, names, metadata and bounds are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from geoveil.geo.formats.location_file import readable
from geoveil.geo.formats.xml_files import GPXStream, check_prolog, local_name
from geoveil.geo.recordings.track import ATTRIBUTES, Track, TrackFormat, as_number, iso_times, number_text, track_of

__all__ = ["GPXTracks"]

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="geoveil" '
    'xmlns="http://www.topografix.com/GPX/1/1"{}>\n<trk>\n'
)
_EXTENSION = ' xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v1"'
#: The elements of Garmin's extension, in its order, and the attributes that they hold.
_EXTENDED = {"atemp": "temperature", "hr": "heart_rate", "cad": "cadence"}


@dataclass(frozen=True)
class GPXTracks(TrackFormat):
    """A GPX file, of whose points these attributes are released."""

    keep: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("time", *self.keep)

    def read(self, path: Path) -> list[Track]:
        check_prolog(path, "gpx", "GPX")
        points: dict[tuple[object, object], list[Element]] = {}
        prefix = ""
        with readable(path, "GPX"):
            stream = GPXStream(path, {})
            for _, runs in stream:
                for run, where in runs:
                    if where["kind"] != "wpt":
                        points.setdefault((where["kind"], where["track"]), []).extend(run)
                prefix = stream.prefix
            return [self._track(path, track, f"{prefix}time") for track in points.values() if track]

    def _track(self, path: Path, points: list[Element], time: str) -> Track:
        places = [(point.get("lon"), point.get("lat")) for point in points]
        attributes = {name: [_value(point, name) for point in points] for name in self.keep}
        return track_of(path, places, [point.findtext(time) for point in points], attributes=attributes)

    def write(self, path: Path, pieces: Sequence[Track]) -> None:
        extended = [(tag, name) for tag, name in _EXTENDED.items() if name in self.keep]
        with path.open("w", encoding="utf-8", newline="\n") as out:
            out.write(_HEAD.format(_EXTENSION if extended else ""))
            for piece in pieces:
                inner = [f"<time>{time}</time>" if time else "" for time in iso_times(piece.times)]
                if "altitude" in self.keep:
                    heights = _elements(piece, "ele", "altitude")
                    inner = [height + time for height, time in zip(heights, inner, strict=True)]
                if "power" in self.keep or extended:
                    inner = [first + more for first, more in zip(inner, self._extensions(piece), strict=True)]
                out.write("<trkseg>\n")
                out.writelines(
                    f'<trkpt lat="{lat!r}" lon="{lon!r}">{each}</trkpt>\n'
                    for (lon, lat), each in zip(piece.places.tolist(), inner, strict=True)
                )
                out.write("</trkseg>\n")
            out.write("</trk>\n</gpx>\n")

    def _extensions(self, piece: Track) -> list[str]:
        """Return the extensions of each point, as programs of Garmin and others write them."""
        power = _elements(piece, "power", "power") if "power" in self.keep else [""] * len(piece)
        named = [_elements(piece, f"gpxtpx:{tag}", name) for tag, name in _EXTENDED.items() if name in self.keep]
        inner = ["".join(each) for each in zip(*named, strict=True)] if named else [""] * len(piece)
        tag = "gpxtpx:TrackPointExtension"
        held = [f"<{tag}>{each}</{tag}>" if each else "" for each in inner]
        whole = [first + more for first, more in zip(power, held, strict=True)]
        return [f"<extensions>{each}</extensions>" if each else "" for each in whole]


def _value(point: Element, name: str) -> float | None:
    """Return an attribute of a point: of the point itself, or of its extensions."""
    names = {name, *ATTRIBUTES[name]}
    texts = (part.text for part in point.iter() if local_name(part).lower() in names)
    return next((number for text in texts if (number := as_number(text)) is not None), None)


def _elements(piece: Track, tag: str, name: str) -> list[str]:
    values = piece.attributes.get(name) or [None] * len(piece)
    return ["" if value is None else f"<{tag}>{number_text(value)}</{tag}>" for value in values]
