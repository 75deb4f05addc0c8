"""Tracks of OziExplorer (.plt), as in the Geolife data: one file, or a folder of them with the user in the path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geoveil.errors import InvalidFile
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.location_file import Batch, LocationFile, readable
from geoveil.geo.written_numbers import numbers

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PLT", "open_plt", "tracks_in"]

#: Lines before the points; the second names the datum.
_HEADER = 6
#: Longest header in bytes.
_LONG = 2**12
_FIELDS = ["latitude", "longitude", "break", "altitude", "days", "date", "clock"]
#: The day that days are counted from.
_EPOCH = np.datetime64("1899-12-30T00:00:00")
#: The name of the folder of a user's tracks in the Geolife data.
_TRACKS = "trajectory"


def tracks_in(folder: Path) -> list[Path]:
    """Return the .plt files of a folder and of those in it, in order."""
    return sorted(track for track in folder.rglob("*") if track.suffix.lower() == ".plt" and track.is_file())


def open_plt(path: Path) -> PLT:
    """Open a .plt file, or a folder of them."""
    import pyarrow as pa
    import pyproj

    tracks = tracks_in(path) if path.is_dir() else [path]
    users = [_user(path, track) for track in tracks]
    known = [user for user in users if user is not None]
    columns = {
        **({"user": pa.string()} if len(known) == len(tracks) else {}),
        "trajectory": pa.string(),
        "time": pa.timestamp("s", "UTC"),
        "altitude": pa.float64(),
    }
    _check_header(tracks[0])
    return PLT(
        path=path,
        crs=pyproj.CRS(GEOGRAPHIC),
        columns=columns,
        times=frozenset({"time"}),
        tracks=list(zip(tracks, users, strict=True)),
    )


def _user(root: Path, track: Path) -> str | None:
    """Return the user of a track: the folder around the folder Trajectory, or else the first one in the root."""
    parts = track.absolute().parts[:-1]
    if parts[-1].casefold() == _TRACKS and len(parts) > 2:
        return parts[-2]
    within = track.relative_to(root).parts[:-1] if root.is_dir() else ()
    return within[0] if within else None


def _check_header(track: Path) -> None:
    """Refuse a file without the six lines of a header, and one in another datum than WGS 84."""
    with track.open("rb") as file:
        lines = [file.readline(_LONG).strip() for _ in range(_HEADER)]
    if lines[1].replace(b" ", b"").upper() != b"WGS84":
        allowed = "WGS 84 in the second of six lines before the points"
        remedy = "Give a track of OziExplorer or Geolife, or save the points as a .csv file with a header."
        raise InvalidFile(str(track), lines[1][:40], allowed, remedy)


@dataclass(frozen=True, eq=False, kw_only=True)
class PLT(LocationFile):
    """Tracks with a time in UTC and an altitude in feet, one batch per file."""

    tracks: list[tuple[Path, str | None]]

    #: A table holds the tracks of all users in one file, and the columns of the guarantee.
    writable = False

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa

        first = 0
        for count, (track, user) in enumerate(self.tracks, start=1):
            with readable(track, ".plt", "After six lines come: latitude, longitude, 0, altitude, days, date, time."):
                _check_header(track)
                table = _points(track)

            def name(row: int, track: Path = track) -> str:
                return f"{track.name}, row {row + 1}"

            texts = {field: table[field].combine_chunks() for field in _FIELDS[:5]}
            places = np.column_stack([numbers(texts[field], ".", name) for field in ("longitude", "latitude")])
            found: dict[str, pa.Array] = {"trajectory": pa.repeat(track.stem, len(table))}
            if "user" in columns:
                found["user"] = pa.repeat(str(user), len(table))
            if "time" in columns:
                found["time"] = _times(numbers(texts["days"], ".", name))
            if "altitude" in columns:
                found["altitude"] = pa.array(numbers(texts["altitude"], ".", name), from_pandas=True)
            yield Batch(self, first, count / len(self.tracks), places, pa.table(found).select([*columns]))
            first += len(table)

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        raise NotImplementedError("Tracks are written as a table.")


def _points(track: Path) -> pa.Table:
    """Read the fields of the points as texts; a track may have no points."""
    import pyarrow as pa
    import pyarrow.csv as pc

    with track.open("rb") as file:
        for _ in range(_HEADER):
            file.readline(_LONG)
        if not file.read(_LONG).strip():
            return pa.table({name: pa.array([], pa.string()) for name in _FIELDS})
    return pc.read_csv(
        track,
        pc.ReadOptions(column_names=_FIELDS, skip_rows=_HEADER),
        convert_options=pc.ConvertOptions(
            column_types=dict.fromkeys(_FIELDS, pa.string()), strings_can_be_null=False, include_columns=_FIELDS[:5]
        ),
    )


def _times(days: np.ndarray[tuple[int], np.dtype[np.float64]]) -> pa.Array:
    """Return times in whole seconds; days are written with ten decimals, a hundred-thousandth of a second."""
    import pyarrow as pa

    known = np.isfinite(days) & (np.abs(days) < 1e6)
    seconds = np.round(np.where(known, days, 0) * 86_400).astype("timedelta64[s]")
    return pa.array(_EPOCH + seconds, pa.timestamp("s", "UTC"), mask=~known)
