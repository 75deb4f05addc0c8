"""Logs of receivers: NMEA 0183, and IGC of gliders. Each fix is a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import xor
from pathlib import Path

from geoveil.errors import InvalidFile
from geoveil.geo.formats.histories import Fix, fix, fixes_file, milliseconds
from geoveil.geo.formats.location_file import readable
from geoveil.geo.formats.records import Records

__all__ = ["IGC", "NMEA", "open_igc", "open_nmea"]

#: Longest line in bytes; NMEA allows 82, and logs put a time of their own before it.
_LONG = 2**12
#: The first lines of these files; some logs begin with comments.
NMEA = re.compile(rb"(?:#[^\n]*\n)*(?:[^$\n]{0,80}\$[A-Z]{2}[A-Z]{3},[^\n]*\n){2}")
IGC = re.compile(rb"A[A-Z0-9]{3}[^\n]*\n(?:[A-Z][^\n]*\n)*?H[FO]DTE")


def _lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        while line := file.readline(_LONG):
            if len(line) == _LONG:
                raise InvalidFile(str(path), line[:40], f"lines of less than {_LONG} bytes", "Check its format.")
            yield line.decode("ascii", errors="replace").strip()


# NMEA ----------------------------------------------------------------------------------------------------------------

_SENTENCE = re.compile(r"\$(..RMC,[^*]*)(?:\*([0-9A-F]{2}))?", re.IGNORECASE)


def open_nmea(path: Path) -> Records:
    """Open a log of NMEA sentences: rows are those of type RMC, which have a date, with a fix and a right checksum."""
    with readable(path, "NMEA"):
        fixes = [row for line in _lines(path) for row in _rmc(line)]
    return fixes_file(path, fixes, "NMEA with RMC sentences")


def _rmc(line: str) -> Iterator[Fix]:
    sentence = _SENTENCE.search(line)
    if sentence is None or (sentence[2] and reduce(xor, sentence[1].encode(errors="replace")) != int(sentence[2], 16)):
        return
    fields: list[str] = sentence[1].split(",")
    _, clock, status, lat, north, lon, east, *more = [*fields, *[""] * 10]
    if status != "A" or not lat or not lon:
        return
    when = datetime.strptime(more[2] + clock[:6] + "+0000", "%d%m%y%H%M%S%z") + timedelta(
        seconds=float(f"0{clock[6:]}")
    )
    yield from fix(_angle(lat, north), _angle(lon, east), milliseconds(when))


def _angle(text: str, letter: str) -> float:
    """Return degrees of degrees and minutes without a mark between them, such as 5231.2."""
    whole = text.partition(".")[0]
    size = int(whole[:-2]) + float(text[len(whole) - 2 :]) / 60
    return -size if letter in "SW" else size


# IGC -----------------------------------------------------------------------------------------------------------------

_DATE = re.compile(r"H[FO]DTE(?:DATE)?:?\s*(\d{6})", re.IGNORECASE)
_FIX = re.compile(r"B(\d{6})(\d{4})(\d{3})([NS])(\d{5})(\d{3})([EW])[AV](-\d{4}|\d{5})(-\d{4}|\d{5})")
_DAY = timedelta(days=1)


def open_igc(path: Path) -> Records:
    """Open the log of a flight recorder; fixes past midnight are of the next day."""
    with readable(path, "IGC"):
        fixes = [*_flight(path)]
    return fixes_file(path, fixes, "IGC")


def _flight(path: Path) -> Iterator[Fix]:
    day = last = None
    for line in _lines(path):
        if stated := _DATE.match(line):
            day, last = datetime.strptime(stated[1], "%d%m%y").replace(tzinfo=UTC), None
        elif record := _FIX.match(line):
            if day is None:
                raise ValueError("a fix before the line HFDTE with the date")
            clock = datetime.strptime(record[1], "%H%M%S").replace(tzinfo=UTC)
            if last is not None and clock < last - _DAY / 2:
                day += _DAY
            last = clock
            when = day + (clock - clock.replace(hour=0, minute=0, second=0))
            lat, lon = _angle(f"{record[2]}.{record[3]}", record[4]), _angle(f"{record[5]}.{record[6]}", record[7])
            yield from fix(lat, lon, milliseconds(when), altitude=float(record[9]), pressure_altitude=float(record[8]))
