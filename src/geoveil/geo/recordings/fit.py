"""FIT, written by the protocol's own layout: records of the pings that remain, laps of the pieces, one session.

The layout of messages is that of Garmin's published profile. Only the fields that are named here are written.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geoveil.geo.formats.activities import SEMICIRCLE, open_fit
from geoveil.geo.recordings.tcx import recorded, span, timed
from geoveil.geo.recordings.track import Track, TrackFormat, length

__all__ = ["FITTracks"]

#: The beginning of FIT's times.
_EPOCH = np.datetime64("1989-12-31T00:00:00", "s")
#: Base types: their codes, their formats for `struct`, and the value that means none.
_ENUM, _U8, _S8 = (0x00, "B", 0xFF), (0x02, "B", 0xFF), (0x01, "b", 0x7F)
_U16, _U32, _S32 = (0x84, "H", 0xFFFF), (0x86, "I", 0xFFFFFFFF), (0x85, "i", 0x7FFFFFFF)
#: The fields of each message: its number, and for each field its number and base type.
_MESSAGES = {
    "file_id": (0, {"type": (0, _ENUM), "manufacturer": (1, _U16), "product": (2, _U16), "time_created": (4, _U32)}),
    "record": (
        20,
        {
            **{"timestamp": (253, _U32), "position_lat": (0, _S32), "position_long": (1, _S32)},
            **{"altitude": (2, _U16), "heart_rate": (3, _U8), "cadence": (4, _U8), "power": (7, _U16)},
            "temperature": (13, _S8),
        },
    ),
    "event": (21, {"timestamp": (253, _U32), "event": (0, _ENUM), "event_type": (1, _ENUM)}),
    "lap": (
        19,
        {
            **{"message_index": (254, _U16), "timestamp": (253, _U32), "event": (0, _ENUM), "event_type": (1, _ENUM)},
            **{"start_time": (2, _U32), "elapsed": (7, _U32), "timer": (8, _U32), "distance": (9, _U32)},
        },
    ),
    "session": (
        18,
        {
            **{"message_index": (254, _U16), "timestamp": (253, _U32), "event": (0, _ENUM), "event_type": (1, _ENUM)},
            **{"start_time": (2, _U32), "sport": (5, _ENUM), "elapsed": (7, _U32), "timer": (8, _U32)},
            **{"distance": (9, _U32), "first_lap": (25, _U16), "laps": (26, _U16)},
        },
    ),
    "activity": (
        34,
        {
            **{"timestamp": (253, _U32), "timer": (0, _U32), "sessions": (1, _U16), "type": (2, _ENUM)},
            **{"event": (3, _ENUM), "event_type": (4, _ENUM)},
        },
    ),
}
_NUMBERS = {name: local for local, name in enumerate(_MESSAGES)}
#: Altitudes are in fifths of a metre above -500 m.
_SCALED = {"altitude": (5, 500), "heart_rate": (1, 0), "cadence": (1, 0), "power": (1, 0), "temperature": (1, 0)}
#: Codes: an activity, a maker of its own, the timer, a session, a lap, an activity as an event; start, stop.
_ACTIVITY, _DEVELOPMENT, _TIMER, _SESSION, _LAP, _DONE, _START, _STOP = 4, 255, 0, 8, 9, 26, 0, 4
_STOPPED = 1


@dataclass(frozen=True)
class FITTracks(TrackFormat):
    """A FIT file, of whose records these fields are released."""

    keep: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("time", *self.keep)

    def read(self, path: Path) -> list[Track]:
        return recorded(path, open_fit(path), self.keep)

    def write(self, path: Path, pieces: Sequence[Track]) -> None:
        body = bytearray()
        for name, (number, fields) in _MESSAGES.items():
            body += struct.pack("<BBBHB", 0x40 | _NUMBERS[name], 0, 0, number, len(fields))
            for field, (code, letter, _) in fields.values():
                body += struct.pack("<BBB", field, struct.calcsize(letter), code)
        times = [_seconds(when) for when in timed(path, pieces)]
        spans = [span(piece.times) for piece in pieces]
        lengths = [length(piece) for piece in pieces]
        first, last = (times[0][0], times[-1][-1]) if times else (0, 0)
        body += _message("file_id", type=_ACTIVITY, manufacturer=_DEVELOPMENT, product=0, time_created=first)
        for piece, when in zip(pieces, times, strict=True):
            body += _message("event", timestamp=when[0], event=_TIMER, event_type=_START)
            body += self._records(piece, when)
            body += _message("event", timestamp=when[-1], event=_TIMER, event_type=_STOP)
        for at, (when, seconds, metres) in enumerate(zip(times, spans, lengths, strict=True)):
            totals = {"elapsed": seconds * 1000, "timer": seconds * 1000, "distance": metres * 100}
            about = {"message_index": at, "event": _LAP, "event_type": _STOPPED, "start_time": when[0]}
            body += _message("lap", timestamp=when[-1], **about, **totals)
        totals = {"elapsed": (last - first) * 1000, "timer": sum(spans) * 1000, "distance": sum(lengths) * 100}
        about = {"message_index": 0, "event": _SESSION, "event_type": _STOPPED, "start_time": first, "sport": 0}
        body += _message("session", timestamp=last, first_lap=0, laps=len(pieces), **about, **totals)
        about = {"sessions": 1, "type": 0, "event": _DONE, "event_type": _STOPPED}
        body += _message("activity", timestamp=last, timer=sum(spans) * 1000, **about)
        head = struct.pack("<BBHI4s", 14, 0x20, 2147, len(body), b".FIT")
        whole = head + struct.pack("<H", _checksum(head)) + bytes(body)
        path.write_bytes(whole + struct.pack("<H", _checksum(whole)))

    def _records(self, piece: Track, times: Sequence[int]) -> bytes:
        """Return a record of each ping, with the named fields where they have a value that FIT can hold."""
        places = np.rint(piece.places / SEMICIRCLE).astype(np.int64).tolist()
        values = {name: piece.attributes.get(name) or [None] * len(piece) for name in self.keep}
        written = bytearray()
        for row, ((lon, lat), time) in enumerate(zip(places, times, strict=True)):
            # 180° E is the same meridian as 180° W, and FIT has only the second.
            fields = {"timestamp": time, "position_lat": lat, "position_long": -(2**31) if lon == 2**31 else lon}
            for name, each in values.items():
                if each[row] is not None:
                    scale, offset = _SCALED[name]
                    fields[name] = (each[row] + offset) * scale
            written += _message("record", **fields)
        return bytes(written)


def _seconds(times: np.ndarray[tuple[int], np.dtype[np.datetime64]]) -> list[int]:
    """Return times in whole seconds of FIT."""
    seconds: list[int] = ((times.astype("datetime64[s]") - _EPOCH) / np.timedelta64(1, "s")).astype(np.int64).tolist()
    return seconds


def _message(name: str, **values: float) -> bytes:
    """Return a message; a field without a value, or with one that it cannot hold, has the value that means none."""
    _, fields = _MESSAGES[name]
    packed = [bytes([_NUMBERS[name]])]
    for field, (_, (_, letter, none)) in fields.items():
        value = round(values[field]) if field in values else none
        try:
            packed.append(struct.pack(f"<{letter}", value))
        except struct.error:
            packed.append(struct.pack(f"<{letter}", none))
    return b"".join(packed)


def _table() -> Mapping[int, int]:
    """Return the checksum of each byte by itself: CRC-16 with the reversed polynomial A001."""
    fields = {}
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0xA001 if value & 1 else 0)
        fields[byte] = value
    return fields


_CHECKSUMS = _table()


def _checksum(data: bytes) -> int:
    checksum = 0
    for byte in data:
        checksum = (checksum >> 8) ^ _CHECKSUMS[(checksum ^ byte) & 0xFF]
    return checksum
