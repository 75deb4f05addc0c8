"""The taxis of the cabspotting folder, cleaned for the experiments and cached as Parquet."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidFile
from geoveil.geo.formats.atomic import write_atomically
from geoveil.mechanisms.mechanism import Floats
from geoveil.paper.experiments.procedures import Procedure

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Taxis", "load", "plausible"]

Positions: TypeAlias = NDArray[np.int64]

#: The largest plausible speed in metres a minute, of trajectories and of the locations that are asked about.
FASTEST, FASTEST_ASKED = 3000.0, 1500.0
#: Trajectories with fewer or more points are not used.
SHORTEST, LONGEST = 5_000, 30_000


@dataclass(frozen=True)
class Taxis:
    """Cleaned trajectories, and the locations that are asked about."""

    #: The points of each taxi in the order of time, by its name.
    tracks: dict[str, Floats]
    #: Their times in seconds.
    times: dict[str, Positions]
    #: The centres of all squares of 1 m that a taxi has visited.
    squares: Floats

    @property
    def names(self) -> list[str]:
        """The names of the taxis, in order."""
        return list(self.tracks)

    def place(self, rng: np.random.Generator) -> Floats:
        """Choose a location to ask about."""
        return np.asarray(self.squares[rng.integers(len(self.squares))])


def load(folder: Path, procedure: Procedure, cache: Path, digest: str) -> Taxis:
    """Read and clean a folder of taxis, or read them from the cache.

    Parameters
    ----------
    folder : Path
        A folder of `new_*.txt` files, each with lines of latitude, longitude, occupied and time, the newest first.
    procedure : Procedure
        The procedure, which determines the projection and the speeds.
    cache : Path
        The folder of cleaned taxis.
    digest : str
        The digest of the folder, so that a cache of another one is not used.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kept = cache / f"taxis-{procedure.name}-{digest[:16]}.parquet"
    asked = cache / f"squares-{procedure.name}-{digest[:16]}.parquet"
    if not (kept.exists() and asked.exists()):
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            cleaned = list(threads.map(partial(_clean, procedure), _files(folder)))
        used = [taxi for taxi in cleaned if SHORTEST <= len(taxi.track) <= LONGEST]
        if not used:
            allowed = f"one with trajectories of {SHORTEST} to {LONGEST} points"
            raise InvalidFile(str(folder), "a folder", allowed, "Give the folder of the cabspotting data.")
        of = np.repeat(np.arange(len(used), dtype=np.int32), [len(taxi.track) for taxi in used])
        x, y = np.concatenate([taxi.track for taxi in used]).T
        seconds = np.concatenate([taxi.seconds for taxi in used])
        table = pa.table({"taxi": _column(of), "x": _column(x), "y": _column(y), "time": _column(seconds)})
        _write(kept, table.replace_schema_metadata({"taxis": "\n".join(taxi.name for taxi in used)}))
        squares = _distinct(np.concatenate([taxi.visited for taxi in cleaned]))
        _write(asked, pa.table({"square": _column(squares)}))
    table = pq.ParquetFile(kept).read()
    names = table.schema.metadata[b"taxis"].decode().split("\n")
    ends = np.searchsorted(_array(table["taxi"]), np.arange(1, len(names)))
    places = np.column_stack([_array(table["x"]), _array(table["y"])])
    return Taxis(
        tracks=dict(zip(names, np.split(places, ends), strict=True)),
        times=dict(zip(names, np.split(_array(table["time"]), ends), strict=True)),
        squares=_centres(_array(pq.ParquetFile(asked).read()["square"])),
    )


def plausible(places: Floats, seconds: Positions, fastest: float, procedure: Procedure) -> Positions:
    """Return the positions of the points that a taxi can have reached without exceeding a speed in metres a minute.

    A point is removed if it is too far from the last one that was kept, or not later. Nearly all points follow their
    predecessor plausibly. For all others at once, the next point is searched that follows their predecessor plausibly;
    the points in between are removed, unless an earlier gap extends beyond them.
    """

    def follow(here: Positions, last: Positions) -> NDArray[np.bool_]:
        elapsed = procedure.elapsed(seconds[here] - seconds[last])
        away = np.hypot(*(places[here] - places[last]).T)
        return np.asarray((elapsed != 0) & (away <= fastest / 60 * elapsed))

    every = np.arange(len(places))
    doubtful = 1 + np.flatnonzero(~follow(every[1:], every[:-1]))
    ends = doubtful.copy()
    unsettled = np.arange(len(doubtful))
    while len(unsettled):
        ends[unsettled] += 1
        unsettled = unsettled[ends[unsettled] < len(places)]
        unsettled = unsettled[~follow(ends[unsettled], doubtful[unsettled] - 1)]
    keep = np.ones(len(places), dtype=bool)
    kept = -1
    for first, end in zip(doubtful.tolist(), ends.tolist(), strict=True):
        if first > kept:
            keep[first:end] = False
            kept = end
    return np.flatnonzero(keep)


class _Cleaned(NamedTuple):
    """The cleaned track of one taxi, and the squares that it has visited by the stricter limit of speed."""

    name: str
    track: Floats
    seconds: Positions
    visited: Positions


def _clean(procedure: Procedure, file: Path) -> _Cleaned:
    latitude, longitude, seconds = _read(file)
    order = np.argsort(seconds, kind="stable")
    order = order[procedure.stretch(seconds[order])]
    places, seconds = procedure.plane(latitude[order], longitude[order]), seconds[order]
    kept = plausible(places, seconds, FASTEST, procedure)
    visited = _squares(places[plausible(places, seconds, FASTEST_ASKED, procedure)])
    return _Cleaned(file.stem.removeprefix("new_"), places[kept], seconds[kept], visited)


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder that are not empty."""
    files = [file for file in sorted(folder.glob("new_*.txt")) if file.stat().st_size]
    if not files:
        raise InvalidFile(str(folder), "a folder", "one of new_*.txt files", "Give the cabspotting folder.")
    return files


def _read(file: Path) -> tuple[Floats, Floats, Positions]:
    """Return latitude, longitude and time, the newest last."""
    import pyarrow as pa
    import pyarrow.csv as pc

    columns = {"latitude": pa.float64(), "longitude": pa.float64(), "occupied": pa.string(), "time": pa.int64()}
    try:
        table = pc.read_csv(
            file,
            pc.ReadOptions(column_names=list(columns), use_threads=False),
            pc.ParseOptions(delimiter=" "),
            pc.ConvertOptions(column_types=columns, include_columns=["latitude", "longitude", "time"], null_values=[]),
        )
    except (pa.ArrowException, OSError) as problem:
        remedy = "Its lines are: latitude longitude occupied time."
        raise InvalidFile(str(file), str(problem), "a file of the cabspotting data", remedy) from None
    latitude, longitude, seconds = (_array(column)[::-1] for column in table.columns)
    return latitude, longitude, seconds


def _array(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return a column without gaps as an array; other ways import pandas, which takes as long as the reading."""
    return np.from_dlpack(column.combine_chunks())


def _column(values: NDArray[Any]) -> pa.Array:
    """Return an array as a column."""
    import pyarrow as pa

    memory = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, memory])


def _write(path: Path, table: pa.Table) -> None:
    import pyarrow.parquet as pq

    write_atomically(
        path, lambda temporary: pq.write_table(table, temporary, compression="none", use_dictionary=["taxi"])
    )


def _squares(places: Floats) -> Positions:
    """Return the distinct squares of 1 m that contain points, as one integer each, which sorts faster than two."""
    column, row = np.floor(places).astype(np.int64).T
    return _distinct((column << 32) + row)


def _centres(squares: Positions) -> Floats:
    column = (squares + 2**31) >> 32
    return np.column_stack([column, squares - (column << 32)]) + 0.5


def _distinct(numbers: Positions) -> Positions:
    numbers = np.sort(numbers)
    return np.asarray(numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])])
