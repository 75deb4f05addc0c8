"""The cabspotting folder: one text file per taxi, with latitude, longitude, occupancy and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geoveil.errors import InvalidFile
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.formats.location_file import Batch, LocationFile, readable
from geoveil.geo.seconds import TimeColumn
from geoveil.geo.written_numbers import numbers

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Cabspotting", "open_cabspotting"]

_FIELDS = ["latitude", "longitude", "occupied", "time"]


def open_cabspotting(path: Path) -> Cabspotting:
    """Open the folder of the cabspotting data."""
    import pyarrow as pa
    import pyproj

    taxis = sorted(taxi for taxi in path.glob("new_*.txt") if taxi.is_file())
    if not taxis:
        remedy = "Give a file, or the folder of the cabspotting data, which has files new_*.txt."
        raise InvalidFile(str(path), "a folder without new_*.txt", "a file of locations", remedy)
    columns = {"cab": pa.string(), "occupied": pa.string(), "time": pa.string()}
    return Cabspotting(path=path, crs=pyproj.CRS(GEOGRAPHIC), columns=columns, taxis=taxis)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cabspotting(LocationFile):
    """The files of all taxis, one batch per taxi; the column `cab` holds its name."""

    taxis: list[Path]

    extensible = False

    @property
    def numbered(self) -> frozenset[str]:
        """The column `cab` if its values are the numbers of the files, as in a release without the names of taxis."""
        named = [taxi.stem.removeprefix("new_") for taxi in self.taxis]
        numbers_only = all(name.isascii() and name.isdigit() for name in named)
        return frozenset({"cab"} if numbers_only and [*map(int, named)] == [*range(1, len(named) + 1)] else ())

    @property
    def time_columns(self) -> list[TimeColumn]:
        return [TimeColumn("time", "s")]

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa
        import pyarrow.csv as pc

        first = 0
        for count, taxi in enumerate(self.taxis, start=1):
            with readable(taxi, "cabspotting", "Its lines are: latitude longitude occupied time."):
                if taxi.stat().st_size == 0:  # a taxi without points
                    table = pa.table({name: pa.array([], pa.string()) for name in _FIELDS})
                else:
                    table = pc.read_csv(
                        taxi,
                        pc.ReadOptions(column_names=_FIELDS),
                        pc.ParseOptions(delimiter=" "),
                        pc.ConvertOptions(column_types=dict.fromkeys(_FIELDS, pa.string()), strings_can_be_null=False),
                    )

            def name(row: int, taxi: Path = taxi) -> str:
                return f"{taxi.name}, row {row + 1}"

            places = [numbers(table[column].combine_chunks(), ".", name) for column in ("longitude", "latitude")]
            table = table.append_column("cab", pa.repeat(taxi.stem.removeprefix("new_"), len(table)))
            yield Batch(self, first, count / len(self.taxis), np.column_stack(places), table.select([*columns]))
            first += len(table)

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        path.mkdir()
        number, digits = 0, len(str(len(self.taxis)))
        # Taxis without rows are left out, since the name of a taxi, possibly a pseudonym, is taken from its rows.
        for _, batch in zip(self.taxis, batches, strict=True):
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
