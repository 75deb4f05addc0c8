"""Recordings of sports watches and bicycle computers: FIT and TCX. Each fix is a row."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from geoveil.errors import FileUnavailable
from geoveil.geo.formats.histories import Fix, fix, fixes_file, milliseconds
from geoveil.geo.formats.location_file import readable
from geoveil.geo.formats.records import Records
from geoveil.geo.formats.xml_files import check_prolog, local_name, malformed

__all__ = ["SEMICIRCLE", "open_fit", "open_tcx"]

# FIT -----------------------------------------------------------------------------------------------------------------

#: Degrees of a semicircle, the unit of angles in FIT.
SEMICIRCLE = 180 / 2**31
#: The columns of a fix, each with the names of its field, the more precise one first.
_FIELDS = {
    "altitude": ("enhanced_altitude", "altitude"),
    "speed": ("enhanced_speed", "speed"),
    **{name: (name,) for name in ("distance", "heart_rate", "cadence", "power", "temperature")},
}


def open_fit(path: Path) -> Records:
    """Open a FIT file, which is held in memory; records without a position are left out."""
    fitdecode = _fitdecode(path)
    with readable(path, "FIT", "It may be cut off: copy it from the device again."):
        fixes = [*_fit(fitdecode, path)]
    return fixes_file(path, fixes, "FIT")


def _fitdecode(path: Path) -> ModuleType:
    try:
        return importlib.import_module("fitdecode")
    except ImportError:
        remedy = "Use pip install 'geoveil[devices]', or save the recording as GPX."
        problem = "this is a FIT file, and fitdecode is not installed"
        raise FileUnavailable(path.name, problem, "readable", remedy) from None


def _fit(fitdecode: ModuleType, path: Path) -> Iterator[Fix]:
    # Fields that makers define themselves are often defined wrongly, and are not used.
    how = {"check_crc": fitdecode.CrcCheck.RAISE, "error_handling": fitdecode.ErrorHandling.IGNORE}
    with fitdecode.FitReader(path, **how) as reader:
        for frame in reader:
            if frame.frame_type != fitdecode.FIT_FRAME_DATA or frame.name != "record":
                continue

            def value(*names: str, record: object = frame) -> object:
                values = (record.get_value(name, fallback=None) for name in names)  # type: ignore[attr-defined]
                return next((each for each in values if each is not None), None)

            lat, lon = (value(name) for name in ("position_lat", "position_long"))
            if not (isinstance(lat, int) and isinstance(lon, int)):
                continue
            columns = {name: number(value(*fields)) for name, fields in _FIELDS.items()}
            yield from fix(lat * SEMICIRCLE, lon * SEMICIRCLE, milliseconds(value("timestamp")), **columns)


def number(value: object) -> float | None:
    """Return a number, or None for whatever else a device wrote."""
    return float(value) if isinstance(value, int | float) else None


# TCX -----------------------------------------------------------------------------------------------------------------

_NUMBERS = {"AltitudeMeters": "altitude", "DistanceMeters": "distance", "Cadence": "cadence"}


def open_tcx(path: Path) -> Records:
    """Open a TCX file, whose points are held in memory; those without a position are left out."""
    check_prolog(path, "TrainingCenterDatabase", "TCX")
    with readable(path, "TCX"):
        fixes = [*_trackpoints(path)]
    return fixes_file(path, fixes, "TCX")


def _trackpoints(path: Path) -> Iterator[Fix]:
    outer: list[Element] = []
    laps = 0
    try:
        for event, element in ElementTree.iterparse(path, ("start", "end")):
            name = local_name(element)
            if event == "start":
                laps += name == "Lap"
                outer.append(element)
                continue
            outer.pop()
            if name == "Trackpoint":
                sport = next((part.get("Sport") for part in outer if local_name(part) == "Activity"), None)
                yield from _trackpoint(element, sport, laps or None)
                # Points that were read would fill the memory.
                outer[-1].remove(element)
    except ElementTree.ParseError as problem:
        raise malformed(path, problem.msg.partition(":")[0], *problem.position) from None


def _trackpoint(point: Element, sport: str | None, lap: int | None) -> Iterator[Fix]:
    texts = {local_name(part): (part.text or "").strip() for part in point.iter()}
    inner = {local_name(part): [*part] for part in point}
    heart = next((part.text for part in inner.get("HeartRateBpm", ()) if local_name(part) == "Value"), None)
    columns = {column: float(texts[name]) for name, column in _NUMBERS.items() if texts.get(name)}
    columns |= {"heart_rate": float(heart)} if heart else {}
    lat, lon = (texts.get(name) or None for name in ("LatitudeDegrees", "LongitudeDegrees"))
    yield from fix(lat, lon, milliseconds(texts.get("Time")), sport=sport, lap=lap, **columns)
