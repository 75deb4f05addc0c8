"""Lines in GeoPackage and other formats of layers: their vertices are pings without times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from geoveil.errors import InvalidParameter
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats import Batch, LocationFile, ending
from geoveil.geo.formats.output_formats import form_of
from geoveil.geo.geometries import Floats
from geoveil.geo.recordings.track import Track, TrackFormat, own_coordinates, track_of

__all__ = ["LineTracks"]


@dataclass(frozen=True, eq=False)
class LineTracks(TrackFormat):
    """A layer of lines. Its columns are about whole lines, and not read."""

    file: LocationFile

    #: The types of geometries that are lines.
    SHAPES = ("LineString", "MultiLineString")
    shortest = 2

    @classmethod
    def of(cls, file: LocationFile, keep: Sequence[str]) -> LineTracks:
        """Return the form of an opened file of lines."""
        if keep:
            remedy = "Leave it out: columns of lines tell of whole lines, also of what is removed."
            raise InvalidParameter("keep", keep[0], "left out for lines", remedy)
        return cls(file)

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def read(self, path: Path) -> list[Track]:
        import pyproj
        import shapely

        shapes = [batch.geometries[batch.present()] for batch in self.file.batches([]) if len(batch)]
        parts = shapely.get_parts(np.concatenate([np.empty(0, dtype=object), *shapes]))
        lines = [shapely.get_coordinates(part) for part in parts if not part.is_empty]
        if self.file.crs.is_geographic:
            return [track_of(path, line, [None] * len(line), line=True) for line in lines]
        to_degrees = pyproj.Transformer.from_crs(self.file.crs, GEOGRAPHIC, always_xy=True)
        return [
            track_of(path, np.column_stack(to_degrees.transform(*line.T)), [None] * len(line), line=True, native=line)
            for line in lines
        ]

    def in_own_system(self, degrees: Floats) -> Floats | None:
        return own_coordinates(self.file, degrees)

    def write(self, path: Path, pieces: Sequence[Track]) -> None:
        import pyarrow as pa
        from shapely import LineString

        form = replace(form_of(self.file, path, ending(path), ending(self.file.path)), kind="LineString")
        lines = np.array(
            [LineString(each.places if each.native is None else each.native) for each in pieces], dtype=object
        )
        # A table without columns, and with as many rows.
        table = pa.table({"none": pa.nulls(len(lines))}).select([])
        form.write(path, iter([Batch(form, 0, 1.0, lines, table)]), table.schema)
