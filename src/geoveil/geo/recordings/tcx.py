"""TCX: an activity whose laps are the pieces that remain, with totals of these pieces alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geoveil.errors import InvalidFile
from geoveil.geo.formats.activities import open_tcx
from geoveil.geo.formats.records import Records
from geoveil.geo.recordings.track import Times, Track, TrackFormat, iso_times, length, number_text, track_of

__all__ = ["TCXTracks", "recorded", "span", "timed"]

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<TrainingCenterDatabase '
    'xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2">\n<Activities>\n'
)
_WATTS = (
    '<Extensions><TPX xmlns="http://www.garmin.com/xmlschemas/ActivityExtension/v2"><Watts>{}</Watts></TPX>'
    "</Extensions>"
)


@dataclass(frozen=True)
class TCXTracks(TrackFormat):
    """A TCX file, of whose points these attributes are released."""

    keep: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("time", *self.keep)

    def read(self, path: Path) -> list[Track]:
        return recorded(path, open_tcx(path), self.keep)

    def write(self, path: Path, pieces: Sequence[Track]) -> None:
        times = timed(path, pieces)
        first = iso_times(times[0][:1])[0] if times else ""
        with path.open("w", encoding="utf-8", newline="\n") as out:
            out.write(f'{_HEAD}<Activity Sport="Other">\n<Id>{first}</Id>\n')
            for piece, when in zip(pieces, times, strict=True):
                out.write(
                    f'<Lap StartTime="{iso_times(when[:1])[0]}"><TotalTimeSeconds>{number_text(span(when))}'
                    f"</TotalTimeSeconds><DistanceMeters>{length(piece):.1f}</DistanceMeters><Calories>0</Calories>"
                    "<Intensity>Active</Intensity><TriggerMethod>Manual</TriggerMethod>\n<Track>\n"
                )
                out.writelines(self._points(piece))
                out.write("</Track>\n</Lap>\n")
            out.write("</Activity>\n</Activities>\n</TrainingCenterDatabase>\n")

    def _points(self, piece: Track) -> list[str]:
        lines = []
        values = {name: piece.attributes.get(name) or [None] * len(piece) for name in self.keep}
        for row, ((lon, lat), time) in enumerate(zip(piece.places.tolist(), iso_times(piece.times), strict=True)):
            there = {name: number_text(each[row]) for name, each in values.items() if each[row] is not None}
            line = (
                f"<Trackpoint><Time>{time}</Time><Position><LatitudeDegrees>{lat!r}</LatitudeDegrees>"
                f"<LongitudeDegrees>{lon!r}</LongitudeDegrees></Position>"
            )
            if "altitude" in there:
                line += f"<AltitudeMeters>{there['altitude']}</AltitudeMeters>"
            if "heart_rate" in there:
                line += f"<HeartRateBpm><Value>{there['heart_rate']}</Value></HeartRateBpm>"
            if "cadence" in there:
                line += f"<Cadence>{there['cadence']}</Cadence>"
            if "power" in there:
                line += _WATTS.format(there["power"])
            lines.append(f"{line}</Trackpoint>\n")
        return lines


def recorded(path: Path, records: Records, keep: Sequence[str]) -> list[Track]:
    """Return the track of a recording that was read into a table: its fixes, times and named attributes."""
    table = records.table
    names = set(table.column_names)
    places = np.column_stack([table["longitude"].to_numpy(), table["latitude"].to_numpy()])
    when = np.full(len(table), np.datetime64("NaT"), dtype="datetime64[us]")
    if "time" in names:
        when = table["time"].to_numpy().astype("datetime64[us]")
    attributes = {name: table[name].to_pylist() if name in names else [None] * len(table) for name in keep}
    return [track_of(path, places, when, attributes=attributes)]


def timed(path: Path, pieces: Sequence[Track]) -> list[Times]:
    """Return the times of pieces; refuse pings without a time, which the format cannot hold."""
    if any(np.isnat(piece.times).any() for piece in pieces):
        allowed = f"a time for each point, as {path.suffix[1:].upper()} has one"
        raise InvalidFile(str(path), "a point without a time", allowed, "Name an output that ends in .gpx.")
    return [piece.times for piece in pieces]


def span(times: Times) -> float:
    """Return the seconds from the first time to the last."""
    return float((times[-1] - times[0]) / np.timedelta64(1, "s"))
