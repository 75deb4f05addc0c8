"""Folders with a text file for each track: the Geolife data (.plt of OziExplorer) and the cabspotting data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from geoveil.errors import InvalidFile
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.location_columns import CoordinatePairs
from geoveil.geo.formats.location_file import Batch, FilePart, LocationFile, readable
from geoveil.geo.geometries import Floats
from geoveil.geo.seconds import TimeColumn
from geoveil.geo.texts import numbers

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PLT", "Cabspotting", "open_cabspotting", "open_plt", "tracks_in"]

#: Lines before the points of a .plt file, of which the second names the datum, and the longest such line in bytes.
_HEADER, _LONG = 6, 2**12
#: The day that days are counted from.
_EPOCH = np.datetime64("1899-12-30T00:00:00")
#: The name of the folder of a user's tracks in the Geolife data.
_TRACKS = "trajectory"
_LOCATED = CoordinatePairs((("longitude", "latitude"),))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Tracks(LocationFile):
    """Text files without a header, of which each is one batch."""

    files: list[Path]

    #: The number of lines before the points, the names of the fields, and the delimiter between them.
    before: ClassVar[int] = 0
    fields: ClassVar[tuple[str, ...]]
    delimiter: ClassVar[str] = ","

    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        for count, file in enumerate(self.files, start=1):
            with readable(file, type(self).__name__, self.remedy):
                table = self._table(file, self._texts(file), columns)
            yield FilePart(table.select([*columns]), count / len(self.files), file)

    def _texts(self, path: Path) -> pa.Table:
        """Read the fields of the points as texts; a track may have no points."""
        import pyarrow as pa
        import pyarrow.csv as pc

        with path.open("rb") as file:
            for _ in range(self.before):
                file.readline(_LONG)
            if not file.read(_LONG).strip():
                return pa.table({name: pa.array([], pa.string()) for name in self.fields})
        return pc.read_csv(
            path,
            pc.ReadOptions(column_names=self.fields, skip_rows=self.before),
            pc.ParseOptions(delimiter=self.delimiter),
            pc.ConvertOptions(column_types=dict.fromkeys(self.fields, pa.string()), strings_can_be_null=False),
        )

    @abstractmethod
    def _table(self, file: Path, texts: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Return the columns of a track, given its fields as texts."""


# Geolife -------------------------------------------------------------------------------------------------------------


def tracks_in(folder: Path) -> list[Path]:
    """Return the .plt files of a folder and of those in it, in order."""
    return sorted(track for track in folder.rglob("*") if track.suffix.lower() == ".plt" and track.is_file())


def open_plt(path: Path) -> PLT:
    """Open a .plt file, or a folder of them with the user in the path."""
    import pyarrow as pa
    import pyproj

    tracks = tracks_in(path) if path.is_dir() else [path]
    users = [user for user in (_user(path, track) for track in tracks) if user is not None]
    types = {
        **({"user": pa.string()} if len(users) == len(tracks) else {}),
        **{"trajectory": pa.string(), "time": pa.timestamp("s", "UTC"), "altitude": pa.float64()},
    }
    _check_header(tracks[0])
    return PLT.opened(path, _LOCATED, pyproj.CRS(GEOGRAPHIC), types, reading={}, files=tracks)


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
class PLT(_Tracks):
    """Tracks with a time in UTC and an altitude in feet."""

    #: A table holds the tracks of all users in one file, and the columns of the guarantee.
    writable = False
    before = _HEADER
    fields = ("latitude", "longitude", "break", "altitude", "days", "date", "clock")
    remedy = "After six lines come: latitude, longitude, 0, altitude, days, date, time."

    def _table(self, file: Path, texts: pa.Table, columns: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        def values(field: str) -> Floats:
            return numbers(texts[field], ".", lambda row: f"{file.name}, row {row + 1}")

        _check_header(file)
        table = {name: texts[name] for name in _LOCATED.names}
        table |= {"trajectory": pa.repeat(file.stem, len(texts))}
        table |= {"user": pa.repeat(str(_user(self.path, file)), len(texts))}
        if "time" in columns:
            table["time"] = _times(values("days"))
        if "altitude" in columns:
            table["altitude"] = pa.array(values("altitude"), from_pandas=True)
        return pa.table(table)


def _times(days: Floats) -> pa.Array:
    """Return times in whole seconds; days are written with ten decimals, a hundred-thousandth of a second."""
    import pyarrow as pa

    known = np.isfinite(days) & (np.abs(days) < 1e6)
    seconds = np.round(np.where(known, days, 0) * 86_400).astype("timedelta64[s]")
    return pa.array(_EPOCH + seconds, pa.timestamp("s", "UTC"), mask=~known)


# Cabspotting ---------------------------------------------------------------------------------------------------------


def open_cabspotting(path: Path) -> Cabspotting:
    """Open the folder of the cabspotting data."""
    import pyarrow as pa
    import pyproj

    taxis = sorted(taxi for taxi in path.glob("new_*.txt") if taxi.is_file())
    if not taxis:
        remedy = "Give a file, or the folder of the cabspotting data, which has files new_*.txt."
        raise InvalidFile(str(path), "a folder without new_*.txt", "a file of locations", remedy)
    types = dict.fromkeys(("cab", "occupied", "time"), pa.string())
    return Cabspotting.opened(path, _LOCATED, pyproj.CRS(GEOGRAPHIC), types, reading={}, files=taxis)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cabspotting(_Tracks):
    """The files of all taxis, one batch per taxi; the column `cab` holds its name."""

    extensible = False
    fields = ("latitude", "longitude", "occupied", "time")
    delimiter = " "
    remedy = "Its lines are: latitude longitude occupied time."

    @property
    def numbered(self) -> frozenset[str]:
        """The column `cab` if its values are the numbers of the files, as in a release without the names of taxis."""
        named = [taxi.stem.removeprefix("new_") for taxi in self.files]
        numbers_only = all(name.isascii() and name.isdigit() for name in named)
        return frozenset({"cab"} if numbers_only and [*map(int, named)] == [*range(1, len(named) + 1)] else ())

    @property
    def time_columns(self) -> list[TimeColumn]:
        return [TimeColumn("time", "s")]

    def _table(self, file: Path, texts: pa.Table, columns: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        return texts.append_column("cab", pa.repeat(file.stem.removeprefix("new_"), len(texts)))

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        path.mkdir()
        number, digits = 0, len(str(len(self.files)))
        # Taxis without rows are left out, since the name of a taxi, possibly a pseudonym, is taken from its rows.
        for _, batch in zip(self.files, batches, strict=True):
            rows = batch.columns.to_pydict()
            if not len(batch):
                continue
            # The name of a file would release the name of its taxi: without the column, files have numbers.
            number += 1
            name = f"new_{rows['cab'][0]}.txt" if "cab" in rows else f"new_{number:0{digits}}.txt"
            occupied = rows.get("occupied", ["nan"] * len(batch))
            lines = zip(batch.places.tolist(), occupied, rows["time"], strict=True)
            text = "".join(f"{lat!r} {lon!r} {busy} {time}\n" for (lon, lat), busy, time in lines)
            (path / name).write_text(text, encoding="utf-8", newline="\n")
