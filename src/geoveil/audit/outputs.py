"""What a tool made of a file of canaries: its rows, all their columns, and which canary each row is about."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geoveil.audit.canary_places import PAIR, degrees_plane
from geoveil.audit.order import UNSURE, order_seen
from geoveil.audit.secret import Made, Secret
from geoveil.errors import InvalidFile
from geoveil.geo.formats import ending, open_locations
from geoveil.geo.geometries import Floats, Index
from geoveil.geo.planes import Plane
from geoveil.text.words import counted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ReleasedFile", "about", "outputs_in"]

#: The share of canaries' labels in a column by which it is taken for that of persons.
_SOME = 0.02
#: Digests by which tools replace labels: whoever knows a label can compute them.
_DIGESTS = ("md5", "sha1", "sha256")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
#: Endings of files that are read as a text.
_TEXTS = (".csv", ".tsv", ".txt", ".gpx", ".kml", ".geojson", ".geojsonl", ".json", ".xml")
#: Where the rows of a text begin.
_ROWS = {
    ".gpx": re.compile("<(?:trk|wpt|rte)[ >]"),
    ".kml": re.compile("<Placemark"),
    ".geojson": re.compile('"features"'),
}
#: What is said of rows that were matched by their order.
_BY_ORDER = "by the order of rows, as no column has their labels"
#: The most bytes of side files that are searched.
_MOST = 2**24


@dataclass(frozen=True, eq=False)
class ReleasedFile:
    """A released file beside what was made.

    Parameters
    ----------
    path : Path
        The released file.
    made : Made
        The file of canaries of which it was made.
    metres : (m, 2) array
        The released points in metres of the plane of the area.
    degrees : (m, 2) array
        The same as longitude and latitude.
    rows : array of int
        The row of each released point.
    columns : DataFrame
        All columns but the locations, a row for each point.
    person : array of int
        The canary of each point; -1 for other persons.
    matched : str
        How rows were matched to canaries, in words.
    notes : tuple of str
        What else was noticed.
    """

    path: Path
    made: Made
    metres: Floats = field(repr=False)
    degrees: Floats = field(repr=False)
    rows: Index = field(repr=False)
    columns: pd.DataFrame = field(repr=False)
    person: Index = field(repr=False)
    matched: str
    notes: tuple[str, ...] = ()

    @cached_property
    def counts(self) -> Index:
        """The number of released points of each canary."""
        return np.bincount(self.person[self.person >= 0], minlength=len(self.made.persons))

    @cached_property
    def first(self) -> Index:
        """The first released point of each canary; -1 if it has none."""
        found = np.full(len(self.made.persons), -1)
        there = np.flatnonzero(self.person >= 0)[::-1]
        found[self.person[there]] = there
        return found

    def means(self) -> Floats:
        """Return the mean released point of each canary in metres; NaN if it has none."""
        own = self.person >= 0
        sums = [np.bincount(self.person[own], part, len(self.made.persons)) for part in self.metres[own].T]
        with np.errstate(invalid="ignore"):
            return np.asarray(np.column_stack(sums) / self.counts[:, None])

    def header(self) -> list[float]:
        """Return the numbers in the file before its rows, in its metadata, and in the files beside it."""
        texts = []
        kind = ending(self.path)
        if kind in _TEXTS:
            text = self.path.read_text(encoding="utf-8", errors="replace")[:_MOST]
            begin = _ROWS[kind].search(text) if kind in _ROWS else None
            lines = [line for line in text.splitlines()[:1000] if line.startswith(("#", "//"))]
            texts.append(text[: begin.start()] if begin else "\n".join(lines))
        elif kind in (".parquet", ".geoparquet") and self.path.is_file():
            import pyarrow.parquet as pq

            metadata = pq.read_schema(self.path).metadata or {}
            texts += [value.decode("utf-8", "replace") for value in metadata.values()]
        stem = self.path.name.split(".")[0]
        for beside in sorted(self.path.absolute().parent.glob(f"{stem}.*")):
            if (
                beside.is_file()
                and beside.name != self.path.name
                and beside.suffix.lower() in (*_TEXTS, ".log", ".prj", ".qmd", ".md")
            ):
                texts.append(beside.read_text(encoding="utf-8", errors="replace")[:_MOST])
        return [float(number) for text in texts for number in _NUMBER.findall(text)]


def outputs_in(paths: Sequence[Path]) -> list[Path]:
    """Return the released files that paths name: files, and all files of folders."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(part for part in path.iterdir() if part.is_file()) if path.is_dir() else [path]
        found += [part for part in inside if not path.is_dir() or _is_released(part)]
    if not found:
        named = ", ".join(map(str, paths))
        raise InvalidFile(named, "no file of locations", "what the tool made of the canaries", "Give its files.")
    return found


def _is_released(path: Path) -> bool:
    hidden = path.name.startswith(".") or path.name.endswith(".certificate.json")
    return not hidden and ending(path) in (
        ".csv",
        ".tsv",
        ".gpx",
        ".kml",
        ".geojson",
        ".parquet",
        ".gpkg",
        ".shp",
        ".fgb",
        ".xlsx",
        ".json",
    )


def about(path: Path, secret: Secret, plane: Plane, crs: object = None) -> ReleasedFile:
    """Read a released file, and find the canaries in it."""
    columns, degrees, rows = _read(path, crs)
    _check_sides(path, degrees, plane)
    metres = degrees_plane(plane).into(degrees)
    there = np.isfinite(metres).all(axis=1)
    columns, degrees, rows, metres = columns[there].reset_index(drop=True), degrees[there], rows[there], metres[there]
    made, person, matched, notes = _match(path, columns, rows, secret)
    found = ReleasedFile(path, made, metres, degrees, rows, columns, person, matched, notes)
    return _in_order(found, secret, plane) if matched == _BY_ORDER else found


def _check_sides(path: Path, degrees: Floats, plane: Plane) -> None:
    """Refuse latitudes in place of longitudes: most points are far away, and in the area if they are exchanged."""
    within = []
    for points in (degrees, degrees[:, ::-1]):
        valid = points[np.abs(points[:, 1]) < 90]
        away = np.hypot(*(degrees_plane(plane).into(valid) - plane.area.middle).T) if len(valid) else np.empty(0)
        within.append((away < 2 * plane.area.radius).sum() / len(points))
    if within[0] < 0.1 and within[1] > 0.5:
        allowed = f"longitude and latitude in {plane.area.name}"
        raise InvalidFile(str(path), "latitude and longitude look swapped", allowed, "Exchange the columns.")


def _in_order(found: ReleasedFile, secret: Secret, plane: Plane) -> ReleasedFile:
    """Return a file whose rows were matched by their order, or refuse one in which that order is not seen."""
    # Tools that round release points at the edges of grids, near places to which they do not belong.
    pairs = np.array([kind == PAIR for kind in secret.kinds])[found.made.site]
    there = found.first[(found.first >= 0) & pairs]
    middles = secret.sites(found.made).metres(degrees_plane(plane)).mean(axis=1)
    places = middles[found.made.site[found.person[there]]]
    seen = order_seen(found.metres[there], places) if len(there) else "unknown"
    if seen in ("no", "unknown"):
        problem = "Nothing could be tested: rows do not belong to the persons in this order"
        if seen == "unknown":
            problem += ", or the noise is too large to tell"
        allowed = f"rows with the labels of canaries, or in the order of {found.made.name}"
        remedy = "Let the tool keep a column of persons. Check that this is the secret of the file that the tool read."
        raise InvalidFile(str(found.path), problem, allowed, remedy)
    if seen == "unsure":
        return replace(found, notes=(*found.notes, UNSURE))
    return found


def _read(path: Path, crs: object) -> tuple[pd.DataFrame, Floats, Index]:
    """Return the columns of each point of a file, its longitude and latitude, and its row."""
    import pyarrow as pa

    file = open_locations(path, crs=crs)
    plane = None
    tables, points, rows, first = [], [], [], 0
    for batch in file.batches([*file.columns]):
        some = batch.chosen(batch.present())
        if len(some):
            tables.append(some.columns.take(pa.array(some.rows)))
            points.append(some.coords)
            rows.append(first + np.flatnonzero(batch.present())[some.rows])
        first += len(batch)
    if not tables:
        seen = f"none of {counted(first, 'row')} has a position"
        raise InvalidFile(str(path), seen, "a released point for each canary", "Give what the tool released.")
    coords = np.concatenate(points)
    if not file.crs.is_geographic or file.crs.to_epsg() != 4326:
        import pyproj

        plane = pyproj.Transformer.from_crs(file.crs, "EPSG:4326", always_xy=True)
        coords = np.column_stack(plane.transform(*coords.T))
    return pa.concat_tables(tables).to_pandas(ignore_metadata=True), coords, np.concatenate(rows)


def _match(path: Path, columns: pd.DataFrame, rows: Index, secret: Secret) -> tuple[Made, Index, str, tuple[str, ...]]:
    """Return the file of canaries that was released, and the canary of each point, -1 for none."""
    for digest in (None, *_DIGESTS):
        best = _best_column(columns, secret, digest)
        if best is not None:
            name, made, person = best
            notes = []
            missing = len(made.persons) - len(np.unique(person[person >= 0]))
            if missing:
                notes.append(f"{missing:,} of {len(made.persons):,} persons have no released point")
            if digest is not None:
                notes.append(f"labels became their {digest} digests that anybody can compute who knows the labels")
            return made, person, f"by the column {name}", tuple(notes)
    fitting = [made for made in secret.made if _stem(made.name) in path.name] or list(secret.made)
    made = fitting[0]
    if len(fitting) > 1 or (len(rows) and int(rows.max()) + 1 != made.size) or not len(rows):
        allowed = f"rows with the labels of canaries, or {made.size:,} rows in the order of {made.name}"
        remedy = (
            "Let the tool keep a column of persons, or all rows in their order. Without either nothing can be said."
        )
        few = _best_column(columns, secret, None, least=0.0)
        seen = f"{len(np.unique(rows)):,} rows without these labels"
        if few is not None:
            name, made, person = few
            seen = f"{len(np.unique(person[person >= 0])):,} of {len(made.persons):,} persons in the column {name}"
        raise InvalidFile(str(path), seen, allowed, remedy)
    owner = np.full(made.size, -1)
    for ping in range(secret.pings):
        owner[made.rows + ping] = np.arange(len(made.persons))
    note = (
        "labels were changed: rows were matched by their order; if the tool moves rows among neighbours, less is found"
    )
    return made, owner[rows], _BY_ORDER, (note,)


def _best_column(
    columns: pd.DataFrame, secret: Secret, digest: str | None, least: float = _SOME
) -> tuple[str, Made, Index] | None:
    """Return the column with labels, or their digests, of most canaries of one file; that file; and who is where."""
    known: dict[str, tuple[int, int]] = {}
    for file, made in enumerate(secret.made):
        for number, label in enumerate(made.persons):
            known[label if digest is None else hashlib.new(digest, label.encode()).hexdigest()] = file, number
    best, most = None, 0
    for name in columns.columns:
        found = [known.get(_as_label(value), (-1, -1)) for value in columns[name].tolist()]
        files, numbers = np.array(found, dtype=np.int64).reshape(-1, 2).T
        for file in np.unique(files[files >= 0]).tolist():
            person = np.where(files == file, numbers, -1)
            hits = len(np.unique(person[person >= 0]))
            if hits > max(most, least * len(secret.made[file].persons)):
                best, most = (str(name), secret.made[file], person), hits
    return best


def _as_label(value: object) -> str:
    """Return a value as a label: a number that a tool made of a whole one keeps its name."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _stem(name: str) -> str:
    return name.split(".")[0]
