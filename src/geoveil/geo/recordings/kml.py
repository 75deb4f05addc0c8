"""KML: points of tracks with times (gx:Track, or a placemark for each point), and lines.

Styles and names are not read. Points without a time are pins, and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geoveil.geo.formats.location_file import readable
from geoveil.geo.formats.xml_files import check_prolog, kml_rows
from geoveil.geo.recordings.track import Track, TrackFormat, iso_times, track_of

__all__ = ["KMLTracks"]

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2" '
    'xmlns:gx="http://www.google.com/kml/ext/2.2">\n<Document>\n'
)


@dataclass(frozen=True)
class KMLTracks(TrackFormat):
    """A KML file. Its points have no attributes but their times."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ("time",)

    def read(self, path: Path) -> list[Track]:
        import shapely

        check_prolog(path, "kml", "KML")
        lines: list[Track] = []
        points: list[tuple[float, float]] = []
        times: list[str | None] = []
        with readable(path, "KML"):
            for place, row in kml_rows(path):
                parts: Any = [] if place is None else shapely.get_parts(place)
                if place is not None and place.geom_type == "Point":
                    if row.get("time"):
                        points.append((place.x, place.y))
                        times.append(row["time"])
                    continue
                for part in parts:
                    if part.geom_type == "LineString":
                        coords = shapely.get_coordinates(part)
                        lines.append(track_of(path, coords, [None] * len(coords), line=True))
            return [*([track_of(path, points, times)] if points else []), *lines]

    def write(self, path: Path, pieces: Sequence[Track]) -> None:
        with path.open("w", encoding="utf-8", newline="\n") as out:
            out.write(_HEAD)
            for piece in pieces:
                places = piece.places.tolist()
                out.write("<Placemark>")
                if np.isnat(piece.times).any():
                    shape = "LineString" if len(piece) > 1 else "Point"
                    text = " ".join(f"{lon!r},{lat!r}" for lon, lat in places)
                    out.write(f"<{shape}><coordinates>{text}</coordinates></{shape}>")
                else:
                    out.write("<gx:Track>\n")
                    out.writelines(f"<when>{time}</when>\n" for time in iso_times(piece.times))
                    out.writelines(f"<gx:coord>{lon!r} {lat!r}</gx:coord>\n" for lon, lat in places)
                    out.write("</gx:Track>")
                out.write("</Placemark>\n")
            out.write("</Document>\n</kml>\n")
