"""Comma-separated values, whatever the separator, with two columns of coordinates."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.files.locations import Batch, Locations
from geoveil.geo.files.texts import coordinate_columns, numbers, texts

__all__ = ["CSV", "open_csv"]

#: Bytes that are read at once.
_BLOCK = 2**23


def open_csv(
    path: Path,
    *,
    source_crs: Any = None,
    x: str | None = None,
    y: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
) -> CSV:
    """Look at the header of a CSV file."""
    import pyarrow as pa
    import pyproj

    if decimal not in (".", ","):
        raise InvalidParameter("decimal", decimal, "'.' or ','", "It stands before the decimals of a number.")
    try:
        with pa.input_stream(path) as stream:
            head = stream.read(2**16).decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="strict")
    except (UnicodeDecodeError, LookupError) as problem:
        remedy = 'Give encoding=, such as "latin-1" for files of older Windows programs.'
        raise InvalidFile(str(path), str(problem), f"text in {encoding}", remedy) from None
    line = head.splitlines()[0] if head.strip() else ""
    if not line:
        raise InvalidFile(str(path), "", "a header and rows", "The file is empty.")
    if delimiter is None:
        delimiter = "\t" if path.name.endswith(".tsv") else max(",;\t|", key=line.count)
    names = next(csv.reader([line], delimiter=delimiter))
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InvalidFile(str(path), twice, "columns of different names", "Rename them.")
    x, y, crs = coordinate_columns(path, names, x, y, source_crs)
    reading = {"x": x, "y": y, "delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    system = pyproj.CRS.from_user_input(crs)
    return CSV(
        path=path,
        crs=system,
        columns={name: pa.string() for name in names if name not in (x, y)},
        reading={**reading, "source_crs": system.to_string()},
        order=names,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class CSV(Locations):
    """A text file with a header; fields stay the texts they are."""

    order: list[str]

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa
        import pyarrow.csv as pc

        x, y = self.reading["x"], self.reading["y"]
        size, first = max(self.path.stat().st_size, 1), 0
        try:
            with pa.OSFile(str(self.path)) as raw, self._unpacked(raw) as stream:
                reader = pc.open_csv(
                    stream,
                    pc.ReadOptions(block_size=_BLOCK, encoding=self.reading["encoding"]),
                    pc.ParseOptions(delimiter=self.reading["delimiter"], newlines_in_values=True),
                    pc.ConvertOptions(
                        include_columns=[*columns, x, y],
                        column_types=dict.fromkeys(self.order, pa.string()),
                        strings_can_be_null=False,
                    ),
                )
                for part in reader:
                    table = pa.table(part)
                    batch = Batch(
                        self, first, min(raw.tell() / size, 1.0), np.empty((0, 2)), table.select(list(columns))
                    )
                    pairs = [numbers(part[name], self.reading["decimal"], batch.name) for name in (x, y)]
                    yield Batch(self, first, batch.share, np.column_stack(pairs), batch.columns)
                    first += len(table)
        except (pa.ArrowException, OSError) as problem:
            remedy = "Mend the row, or give delimiter= or encoding=."
            raise self.failed(problem, remedy) from None

    def _unpacked(self, raw: Any) -> Any:
        import pyarrow as pa

        return pa.CompressedInputStream(raw, "gzip") if self.path.name.endswith(".gz") else raw

    def write(self, path: Path, batches: Iterator[Batch], schema: Any) -> None:
        import pyarrow as pa

        decimal, pair = self.reading["decimal"], (self.reading["x"], self.reading["y"])
        kept = [name for name in self.order if name in schema.names or name in pair]
        names = [*kept, *(name for name in schema.names if name not in kept)]
        with (
            pa.OSFile(str(path), "wb") as raw,
            pa.CompressedOutputStream(raw, "gzip") if path.name.endswith(".gz") else raw as stream,
        ):
            self._write_lines(stream, [pa.array([name]) for name in names])
            for batch in batches:
                fields = dict(zip(batch.columns.column_names, batch.columns.columns, strict=True))
                fields |= dict(zip(pair, (pa.array(part) for part in batch.places.T.copy()), strict=True))
                self._write_lines(stream, [texts(fields[name], decimal) for name in names])

    def _write_lines(self, stream: Any, fields: list[Any]) -> None:
        """Rows of fields; those with a separator, a quotation mark or a line's end in them are quoted."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not len(fields[0]):
            return
        delimiter = self.reading["delimiter"]
        odd = f'[{re.escape(delimiter)}"\r\n]'
        quoted = []
        for field in fields:
            marked = pc.match_substring_regex(field, odd)
            if pc.any(marked).as_py():
                inner = pc.replace_substring(field, '"', '""')
                field = pc.if_else(marked, pc.binary_join_element_wise('"', inner, '"', ""), field)
            quoted.append(field.combine_chunks() if isinstance(field, pa.ChunkedArray) else field)
        lines = pc.binary_join_element_wise(*quoted, delimiter)
        whole = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")[0].as_py()
        stream.write((whole + "\n").encode(self.reading["encoding"]))
