"""Tables with a row for each ping: CSV, Excel, GeoParquet, GeoPackage and what else has columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path

import numpy as np

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats import Batch, LocationFile, ending
from geoveil.geo.formats.output_formats import form_of
from geoveil.geo.geometries import Floats
from geoveil.geo.recognition import may_be_times
from geoveil.geo.recordings.track import (
    Track,
    TrackFormat,
    check_measured,
    derived_words,
    own_coordinates,
    track_of,
    with_times,
)

__all__ = ["TableTracks"]


@dataclass(frozen=True, eq=False)
class TableTracks(TrackFormat):
    """A table: the types of the columns that are released, and how its text is written."""

    #: The opened file.
    file: LocationFile
    #: The columns that are released: those that were named, and that of times.
    keep: tuple[str, ...]
    #: The column of times.
    time: str | None
    #: The columns that may hold times, by their names.
    candidates: tuple[str, ...]

    @classmethod
    def of(cls, file: LocationFile, keep: Sequence[str], time: str | None) -> TableTracks:
        """Return the form of a file, given the columns to release and that of times, if it is not recognised."""
        if file.points_in_a_row != 1 or file.shape not in ("Point", "Unknown"):
            shape = "an origin and a destination" if file.points_in_a_row != 1 else file.shape
            raise _no_points(file.path, shape)
        allowed = [name for name in file.columns if name not in file.unsafe]
        for name in keep:
            check_measured(name)
        for name in (*keep, *([time] if time else [])):
            if name not in allowed:
                raise InvalidParameter("keep", name, f"columns that hold no locations: {allowed}", "Leave it out.")
        # A time of departure is that of the whole track.
        candidates = [name for name in allowed if may_be_times(name) and not derived_words(name)]
        released = tuple(dict.fromkeys([*([time] if time else []), *keep]))
        return cls(file, released, time, () if time else tuple(candidates))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.keep

    def read(self, path: Path) -> list[Track]:
        import pyarrow as pa
        import pyproj

        names = tuple(dict.fromkeys([*self.candidates, *self.keep]))
        batches = [batch for batch in self.file.batches(names) if len(batch)]
        batches = [batch if (there := batch.present()).all() else batch.chosen(there) for batch in batches]
        others = {shape for batch in batches for shape in batch.types} - {"Point"}
        if others:
            raise _no_points(path, " and ".join(sorted(others)))
        if not sum(map(len, batches)):
            raise InvalidFile(str(path), "no locations", "a file with locations", "Choose another file.")
        columns = pa.concat_tables([batch.columns for batch in batches])
        places = np.concatenate([batch.pairs for batch in batches])
        attributes = {name: columns[name].to_pylist() for name in names}
        when = [None] * len(places)
        if self.file.crs.is_geographic:
            return [track_of(path, places, when, attributes=attributes)]
        to_degrees = pyproj.Transformer.from_crs(self.file.crs, GEOGRAPHIC, always_xy=True)
        degrees = np.column_stack(to_degrees.transform(*places.T))
        return [track_of(path, degrees, when, attributes=attributes, native=places)]

    def settled(self, tracks: Sequence[Track]) -> tuple[TableTracks, list[Track]]:
        time, timed = with_times(tracks, self.candidates, self.time, self.keep)
        released = tuple(dict.fromkeys([*([time] if time else []), *self.keep]))
        if not self.file.typed:
            for name in released:
                values = iter(_own_type([value for track in timed for value in track.attributes[name]]))
                timed = [
                    replace(track, attributes={**track.attributes, name: [*islice(values, len(track))]})
                    for track in timed
                ]
        return replace(self, keep=released, time=time, candidates=()), timed

    def in_own_system(self, degrees: Floats) -> Floats | None:
        return own_coordinates(self.file, degrees)

    def write(self, path: Path, pieces: Sequence[Track]) -> None:
        import pyarrow as pa

        form = form_of(self.file, path, ending(path), ending(self.file.path))
        if "encoding" in form.reading:
            # The encoding was found in all rows, also in those that are removed.
            form = replace(form, reading={**form.reading, "encoding": "utf-8"})
        held = [piece.places if piece.native is None else piece.native for piece in pieces]
        places = np.concatenate([np.empty((0, 2)), *held])
        rows = {name: [value for piece in pieces for value in piece.attributes[name]] for name in self.keep}
        types = {name: self.file.columns[name] for name in rows}
        if not self.file.typed:
            empty = {name for name, values in rows.items() if all(value is None for value in values)}
            types = {name: pa.string() if name in empty else pa.array(values).type for name, values in rows.items()}
        held_columns = {name: pa.array(values, types[name]) for name, values in rows.items()}
        # A table without columns has as many rows.
        table = pa.table({**held_columns, "": pa.nulls(len(places))}).select([*held_columns])
        batch = Batch(form, 0, 1.0, places, table)
        form.check_batch(batch)
        form.write(path, iter([batch]), table.schema)


def _no_points(path: Path, shape: str) -> InvalidFile:
    remedy = "Save lines as GPX or GeoJSON, or as a layer of lines alone, and give that."
    return InvalidFile(str(path), shape, "a table with one point in each row", remedy)


def _own_type(values: Sequence[object]) -> list[object]:
    """Return values with the type that they have by themselves.

    In a file that does not state types, values of removed rows may have made decimals or texts of them.
    """
    for read in (_truth, _whole, _number, _moment):
        try:
            return [None if value is None else read(value) for value in values]
        except (ValueError, OverflowError):
            continue
    return [None if value is None else str(value) for value in values]


def _truth(value: object) -> bool:
    if str(value) not in ("True", "False"):
        raise ValueError
    return str(value) == "True"


def _whole(value: object) -> int:
    number = _number(value)
    if number != int(number) or abs(number) >= 2**53:
        raise ValueError
    return int(number)


def _number(value: object) -> float:
    """Return a number; a text only if it is how Python writes the number."""
    number = float(str(value))
    if isinstance(value, bool) or str(value) not in (str(number), str(number).removesuffix(".0")):
        raise ValueError
    return number


def _moment(value: object) -> datetime:
    """Return a time; a text only if it is how a time of a spreadsheet is written."""
    moment = datetime.fromisoformat(str(value))
    if str(value) not in (str(moment), str(moment.date())):
        raise ValueError
    return moment
