"""Recordings of rides in every format, as devices and programs write them: with whatever tells about the whole ride.

Totals, bounds, names, start times, laps, numbers of points, speeds, headings and cumulative distances are all there,
and all of them are worked out from every point. What a release must not contain is thereby in every file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import geopandas
import numpy as np
import pandas as pd
import pyproj
import shapely

from geoveil.geo.geometries import Floats

__all__ = ["RIDES", "START", "Fix", "frame", "make", "offset", "straight"]

START = datetime(2024, 3, 1, 7, 0, tzinfo=UTC)
_EARTH = pyproj.Geod(ellps="WGS84")
_FIT_EPOCH = 631_065_600


class Fix(NamedTuple):
    """A point of a ride: degrees, seconds since the start, altitude and heart rate."""

    lon: float
    lat: float
    seconds: float
    altitude: float = 400.0
    heart: int = 120

    @property
    def time(self) -> str:
        return (START + timedelta(seconds=self.seconds)).isoformat().replace("+00:00", "Z")


def offset(lon: float, lat: float, east: float, north: float) -> tuple[float, float]:
    """Return the longitude and latitude of a place some metres away."""
    azimuth, far = np.degrees(np.arctan2(east, north)), float(np.hypot(east, north))
    there = _EARTH.fwd(lon, lat, azimuth, far)
    return float(there[0]), float(there[1])


def straight(home: tuple[float, float], bearing: float = 60.0, points: int = 60, step: float = 50.0) -> list[Fix]:
    """Return a ride that begins at a place and leads straight away from it, with a point every ten seconds."""
    lon, lat = home
    places = [_EARTH.fwd(lon, lat, bearing, i * step)[:2] for i in range(points)]
    return [Fix(*place, 10.0 * i, 400.0 + i % 7, 110 + i % 30) for i, place in enumerate(places)]


def _cumulative(ride: Sequence[Fix]) -> Floats:
    lon, lat = np.array([fix[:2] for fix in ride]).T
    steps = _EARTH.line_lengths(lon, lat) if len(ride) > 1 else []
    return np.concatenate([[0.0], np.cumsum(steps)])


def _gpx(ride: Sequence[Fix], path: Path) -> None:
    """Two segments, metadata with time and bounds, a waypoint at home, and the extensions of a Garmin."""
    lon, lat = np.array([fix[:2] for fix in ride]).T
    far = _cumulative(ride)
    half = len(ride) // 2
    points = [
        f'<trkpt lat="{fix.lat!r}" lon="{fix.lon!r}"><ele>{fix.altitude}</ele><time>{fix.time}</time>'
        f"<cmt>{i} of {len(ride)}</cmt><extensions><gpxtpx:TrackPointExtension><gpxtpx:hr>{fix.heart}</gpxtpx:hr>"
        f"<gpxtpx:speed>{far[i] / (i + 1)}</gpxtpx:speed><gpxtpx:course>{far[i] % 360}</gpxtpx:course>"
        "</gpxtpx:TrackPointExtension></extensions></trkpt>"
        for i, fix in enumerate(ride)
    ]
    path.write_text(
        '<?xml version="1.0"?><gpx version="1.1" creator="Ride" xmlns="http://www.topografix.com/GPX/1/1" '
        'xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v1"><metadata><name>From home</name>'
        f'<time>{ride[0].time}</time><bounds minlat="{lat.min()}" minlon="{lon.min()}" maxlat="{lat.max()}" '
        f'maxlon="{lon.max()}"/></metadata><wpt lat="{ride[0].lat}" lon="{ride[0].lon}"><name>Home</name></wpt>'
        f"<trk><name>{far[-1]:.3f} m</name><desc>{len(ride)} points</desc><number>{len(ride)}</number>"
        f"<trkseg>{''.join(points[:half])}</trkseg><trkseg>{''.join(points[half:])}</trkseg></trk></gpx>"
    )


def _tcx(ride: Sequence[Fix], path: Path) -> None:
    """Laps of ten points with their totals, and the cumulative distance at each point."""
    far, laps = _cumulative(ride), []
    for first in range(0, len(ride), 10):
        part = ride[first : first + 10]
        points = [
            f"<Trackpoint><Time>{fix.time}</Time><Position><LatitudeDegrees>{fix.lat!r}</LatitudeDegrees>"
            f"<LongitudeDegrees>{fix.lon!r}</LongitudeDegrees></Position><AltitudeMeters>{fix.altitude}"
            f"</AltitudeMeters><DistanceMeters>{far[first + i]}</DistanceMeters>"
            f"<HeartRateBpm><Value>{fix.heart}</Value></HeartRateBpm></Trackpoint>"
            for i, fix in enumerate(part)
        ]
        laps.append(
            f'<Lap StartTime="{part[0].time}"><TotalTimeSeconds>{part[-1].seconds - part[0].seconds}'
            f"</TotalTimeSeconds><DistanceMeters>{far[first + len(part) - 1] - far[first]}</DistanceMeters>"
            f"<Calories>{len(ride)}</Calories><Track>{''.join(points)}</Track></Lap>"
        )
    path.write_text(
        '<?xml version="1.0"?><TrainingCenterDatabase '
        'xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Activities><Activity Sport="Biking">'
        f"<Id>{ride[0].time}</Id>{''.join(laps)}<Notes>From home</Notes></Activity></Activities>"
        "</TrainingCenterDatabase>"
    )


def _crc(data: bytes) -> int:
    found = 0
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = (found >> 1) ^ (0xA001 if found & 1 else 0)
    return found


def _fit(ride: Sequence[Fix], path: Path) -> None:
    """A file_id with the serial number and the start, records with cumulative distance and speed, and a session."""
    far = _cumulative(ride)

    def defined(local: int, number: int, *fields: tuple[int, int, int]) -> bytes:
        each = b"".join(struct.pack("BBB", *field) for field in fields)
        return struct.pack("<BBBHB", 0x40 | local, 0, 0, number, len(fields)) + each

    when = [round(START.timestamp() + fix.seconds) - _FIT_EPOCH for fix in ride]
    body = defined(0, 0, (0, 1, 0), (3, 4, 0x8C), (4, 4, 0x86)) + struct.pack(
        "<BBII", 0, 4, 12345 + len(ride), when[0]
    )
    body += defined(1, 20, (253, 4, 0x86), (0, 4, 0x85), (1, 4, 0x85), (2, 2, 0x84), (3, 1, 0x02), (5, 4, 0x86))
    for i, fix in enumerate(ride):
        lat, lon = (round(degrees * 2**31 / 180) for degrees in (fix.lat, fix.lon))
        body += struct.pack(
            "<BIiiHBI", 1, when[i], lat, lon, round((fix.altitude + 500) * 5), fix.heart, round(far[i] * 100)
        )
    body += defined(2, 18, (253, 4, 0x86), (2, 4, 0x86), (3, 4, 0x85), (4, 4, 0x85), (9, 4, 0x86))
    lat, lon = (round(degrees * 2**31 / 180) for degrees in (ride[0].lat, ride[0].lon))
    body += struct.pack("<BIIiiI", 2, when[-1], when[0], lat, lon, round(far[-1] * 100))
    head = struct.pack("<BBHI4s", 14, 0x20, 2147, len(body), b".FIT")
    whole = head + struct.pack("<H", _crc(head)) + body
    path.write_bytes(whole + struct.pack("<H", _crc(whole)))


def _kml(ride: Sequence[Fix], path: Path) -> None:
    """A gx:Track, a view that looks at home, a pin at home, and a description with totals."""
    far = _cumulative(ride)
    whens = "".join(f"<when>{fix.time}</when>" for fix in ride)
    coords = "".join(f"<gx:coord>{fix.lon!r} {fix.lat!r} {fix.altitude}</gx:coord>" for fix in ride)
    home = f"{ride[0].lon},{ride[0].lat}"
    path.write_text(
        '<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2" '
        'xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><name>From home</name>'
        f"<LookAt><longitude>{ride[0].lon}</longitude><latitude>{ride[0].lat}</latitude></LookAt>"
        f"<Placemark><name>Home</name><Point><coordinates>{home}</coordinates></Point></Placemark>"
        f"<Placemark><name>{len(ride)} points</name><description>{far[-1]} m from {ride[0].time}</description>"
        f"<gx:Track>{whens}{coords}</gx:Track></Placemark></Document></kml>"
    )


def _lines(ride: Sequence[Fix], path: Path) -> None:
    """GeoJSON with the ride as a line, a bounding box, and properties of the whole ride."""
    lon, lat = np.array([fix[:2] for fix in ride]).T
    about = {"name": "From home", "distance": _cumulative(ride)[-1], "time": ride[0].time, "points": len(ride)}
    line = [[fix.lon, fix.lat, fix.altitude] for fix in ride]
    feature = {
        "type": "Feature",
        "id": len(ride),
        "bbox": [lon.min(), lat.min(), lon.max(), lat.max()],
        "properties": {**about, "coordTimes": [fix.time for fix in ride]},
        "geometry": {"type": "LineString", "coordinates": line},
    }
    box = [lon.min(), lat.min(), lon.max(), lat.max()]
    path.write_text(json.dumps({"type": "FeatureCollection", "bbox": box, "features": [feature]}))


def _points(ride: Sequence[Fix], path: Path) -> None:
    """GeoJSON with a feature for each point, with its number and the cumulative distance."""
    far = _cumulative(ride)
    features = [
        {
            "type": "Feature",
            "id": i,
            "properties": {
                **{"index": i, "of": len(ride), "distance": far[i], "time": fix.time},
                **{"altitude": int(fix.altitude) if fix.altitude % 2 == 0 else fix.altitude, "heart_rate": fix.heart},
            },
            "geometry": {"type": "Point", "coordinates": [fix.lon, fix.lat]},
        }
        for i, fix in enumerate(ride)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def _table(ride: Sequence[Fix]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "index": range(len(ride)),
            "time": [fix.time for fix in ride],
            "latitude": [fix.lat for fix in ride],
            "longitude": [fix.lon for fix in ride],
            "altitude": [fix.altitude for fix in ride],
            "heart_rate": [fix.heart for fix in ride],
            "distance": _cumulative(ride),
            "note": [f"{len(ride)} points"] * len(ride),
        }
    )


def _csv(ride: Sequence[Fix], path: Path) -> None:
    """A table with the number of each row, the cumulative distance, and a note about the whole ride."""
    _table(ride).to_csv(path, index=False)


def frame(ride: Sequence[Fix]) -> geopandas.GeoDataFrame:
    """Return a ride as a frame, with what a table says about the whole ride."""
    table = _table(ride)
    points = shapely.points(table[["longitude", "latitude"]].to_numpy())
    timed = table.drop(columns=["longitude", "latitude"]).assign(time=pd.to_datetime(table["time"], format="ISO8601"))
    return geopandas.GeoDataFrame(timed, geometry=points, crs=4326)


def _gpkg(ride: Sequence[Fix], path: Path) -> None:
    """A GeoPackage whose layer is named after the place where the ride begins."""
    frame(ride).to_file(path, layer="from_home", driver="GPKG")


def _line_layer(ride: Sequence[Fix], path: Path) -> None:
    """A GeoPackage with the whole ride as a line, in metres of a national system, and what is known about it."""
    line = shapely.LineString([fix[:2] for fix in ride]) if len(ride) > 1 else shapely.LineString()
    about = {
        "name": [f"{len(ride)} points from home"],
        "start": [ride[0].time],
        "length": [float(_cumulative(ride)[-1])],
    }
    geopandas.GeoDataFrame(about, geometry=[line], crs=4326).to_crs(2056).to_file(path, layer="from_home")


def _parquet(ride: Sequence[Fix], path: Path) -> None:
    frame(ride).to_parquet(path)


#: The makers of recordings, by the name of the kind; what follows the last hyphen is the ending.
RIDES: Mapping[str, Callable[[Sequence[Fix], Path], None]] = {
    "gpx": _gpx,
    "tcx": _tcx,
    "fit": _fit,
    "kml": _kml,
    "lines-geojson": _lines,
    "points-geojson": _points,
    "csv": _csv,
    "gpkg": _gpkg,
    "lines-gpkg": _line_layer,
    "parquet": _parquet,
}


def make(kind: str, ride: Sequence[Fix], folder: Path, name: str) -> Path:
    """Write a ride into a folder, and return the file."""
    path = folder / f"{name}.{kind.rpartition('-')[2]}"
    RIDES[kind](ride, path)
    return path
