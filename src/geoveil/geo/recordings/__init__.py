"""Tracks as pings: read from a file of any format, and written anew from the pings that remain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from geoveil.errors import InvalidParameter
from geoveil.geo.formats import READ, ending, open_locations, opener_of
from geoveil.geo.formats.gdal import open_gdal
from geoveil.geo.recordings.fit import FITTracks
from geoveil.geo.recordings.geojson import GeoJSONTracks
from geoveil.geo.recordings.gpx import GPXTracks
from geoveil.geo.recordings.kml import KMLTracks
from geoveil.geo.recordings.lines import LineTracks
from geoveil.geo.recordings.tables import TableTracks
from geoveil.geo.recordings.tcx import TCXTracks
from geoveil.geo.recordings.track import Track, TrackFormat, length, point_attributes

__all__ = ["Track", "TrackFormat", "length", "recordings_in", "released_ending", "track_format"]

_RECORDINGS: dict[str, Callable[[tuple[str, ...]], TrackFormat]] = {
    **{".gpx": GPXTracks, ".tcx": TCXTracks, ".fit": FITTracks},
    ".kml": lambda keep: KMLTracks(),
}


def recordings_in(path: Path) -> list[Path]:
    """Return the files of tracks in a folder and the folders in it, in order; a file by itself.

    Files whose names begin with a dot, certificates and files of other kinds are passed over.
    """
    if not path.is_dir():
        return [path]
    files = (each for each in path.rglob("*") if each.is_file() and ending(each) in READ)
    shown = (each for each in files if not any(part.startswith(".") for part in each.relative_to(path).parts))
    return sorted(each for each in shown if not each.name.endswith(".certificate.json"))


def track_format(path: Path, keep: Sequence[str] = (), time: str | None = None, **reading: object) -> TrackFormat:
    """Return the format of a file of tracks.

    Parameters
    ----------
    path : Path
        The file.
    keep : sequence of str
        The attributes of pings that are released besides places and times.
    time : str, optional
        The column of times of a table, if it is not recognised.
    **reading
        The options with which a table is read.
    """
    opener, known = opener_of(path), _RECORDINGS.get(ending(path))
    if known is not None:
        attributes = point_attributes(keep)
        if attributes and ending(path) == ".kml":
            remedy = "Leave it out, or save the tracks as GPX."
            raise InvalidParameter("keep", attributes[0], "left out for KML, which has no attributes here", remedy)
        return known(attributes)
    if opener is open_gdal and "json" in path.suffix.lower():
        return GeoJSONTracks.of(path, keep, time)
    file = open_locations(path, **reading)
    return LineTracks.of(file, keep) if file.shape in LineTracks.SHAPES else TableTracks.of(file, keep, time)


def released_ending(path: Path) -> str:
    """Return the ending of the released file: that of the source, or of GeoJSON if such files are not written."""
    from geoveil.geo.formats import targets

    return ending(path) if ending(path) in _RECORDINGS else targets(path)[0]
