"""Tables with a row for each ping: CSV, Excel, GeoParquet, GeoPackage and what else has columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats import Batch, LocationFile, ending, open_locations
from geoveil.geo.formats.output_formats import form_of
from geoveil.geo.recordings.geojson import moments
from geoveil.geo.recordings.track import Track, TrackFormat, check_measured, derived_words, track_of

__all__ = ["TableTracks"]


@dataclass(frozen=True, eq=False)
class TableTracks(TrackFormat):
    """A table: the types of the columns that are released, and how its text is written.

    Parameters
    ----------
    file : LocationFile
        The opened file.
    keep : tuple of str
        The columns that are released: that of times, and those that were named.
    time : str, optional
        The column of times.
    """

    file: LocationFile
    keep: tuple[str, ...]
    time: str | None

    @classmethod
    def of(cls, path: Path, keep: Sequence[str], time: str | None, reading: dict[str, object]) -> TableTracks:
        """Return the form of a file, given the columns to release and that of times, if it is not recognised."""
        file = open_locations(path, **reading)
        if file.points_in_a_row != 1 or file.shape not in ("Point", "Unknown"):
            shape = "an origin and a destination" if file.points_in_a_row != 1 else file.shape
            remedy = "Save lines as GPX or GeoJSON, and give that."
            raise InvalidFile(str(path), shape, "a table with one point in each row", remedy)
        if time is None:
            # A time of departure is that of the whole track.
            named = [str(name) for name in file.time_columns if not derived_words(name)]
            time = named[0] if named else None
        allowed = [name for name in file.columns if name not in file.unsafe]
        for name in keep:
            check_measured(name)
        for name in (*keep, *([time] if time else [])):
            if name not in allowed:
                raise InvalidParameter("keep", name, f"columns that hold no locations: {allowed}", "Leave it out.")
        released = tuple(dict.fromkeys([*([time] if time else []), *keep]))
        return cls(file, released, time)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.keep

    def read(self, path: Path) -> list[Track]:
        import pyarrow as pa
        import pyproj

        batches = [batch for batch in self.file.batches(self.keep) if len(batch)]
        batches = [batch if (there := batch.present()).all() else batch.chosen(there) for batch in batches]
        if not sum(map(len, batches)):
            raise InvalidFile(str(path), "no locations", "a file with locations", "Choose another file.")
        columns = pa.concat_tables([batch.columns for batch in batches])
        places = np.concatenate([batch.pairs for batch in batches])
        attributes = {name: columns[name].to_pylist() for name in self.keep}
        when = moments(attributes[self.time] if self.time else [None] * len(places), self.time or "time")
        if self.file.crs.is_geographic:
            return [track_of(path, places, when, attributes=attributes)]
        to_degrees = pyproj.Transformer.from_crs(self.file.crs, GEOGRAPHIC, always_xy=True)
        degrees = np.column_stack(to_degrees.transform(*places.T))
        return [track_of(path, degrees, when, attributes=attributes, native=places)]

    def write(self, path: Path, pieces: Sequence[Track]) -> None:
        import pyarrow as pa

        form = form_of(self.file, path, ending(path), ending(self.file.path))
        if "encoding" in form.reading:
            # The encoding was found in all rows, also in those that are removed.
            form = replace(form, reading={**form.reading, "encoding": "utf-8"})
        schema = pa.schema([(name, self.file.columns[name]) for name in self.keep])
        held = [piece.places if piece.native is None else piece.native for piece in pieces]
        places = np.concatenate([np.empty((0, 2)), *held])
        rows = {name: [value for piece in pieces for value in piece.attributes[name]] for name in self.keep}
        table = pa.table({name: pa.array(rows[name], field.type) for name, field in zip(rows, schema, strict=True)})
        batch = Batch(form, 0, 1.0, places, table)
        form.check_batch(batch)
        form.write(path, iter([batch]), schema)
