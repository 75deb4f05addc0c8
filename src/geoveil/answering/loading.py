"""Load released files: a file and its certificate become a release with its points in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from geoveil._types import Missing, Order, Outside
from geoveil._types import Path as PathLike
from geoveil.answering.counted_rows import no_locations
from geoveil.answering.intake import in_the_plane
from geoveil.budget import Entry
from geoveil.certificates import read_certificate
from geoveil.errors import InvalidFile
from geoveil.facts import NONE
from geoveil.geo import Plane
from geoveil.geo.areas import Area
from geoveil.geo.entering import form_of
from geoveil.geo.formats import Batch, LocationFile, ending, open_locations
from geoveil.geo.formats.atomic import certificate_path
from geoveil.geo.formats.fingerprints import digest
from geoveil.geo.formats.location_columns import CoordinatePairs
from geoveil.geo.formats.location_file import readable
from geoveil.geo.formats.side_files import side_files
from geoveil.geo.geometries import Index
from geoveil.geo.row_locations import Pairs
from geoveil.geo.seconds import joined_times, part_of_times, time_column
from geoveil.geo.texts import numbers
from geoveil.host.arithmetic import steady
from geoveil.privacy import Metric, stretch_sizes
from geoveil.queries import Persons, Points, answers_without_values
from geoveil.release import Release
from geoveil.release.answered import provenance_of

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

__all__ = ["LoadedRelease", "frame_of", "load", "rows_of"]

#: The options with which a file is read, as certificates state them.
READING = {"crs", "lat", "lon", "geometry", "delimiter", "decimal", "encoding", "layer"}


@dataclass(frozen=True, eq=False, repr=False)
class LoadedRelease(Release):
    """A release that was read from a file."""

    #: The file, opened.
    file: LocationFile = field(kw_only=True)

    def _endings(self) -> tuple[str, ...]:
        # The file may have a format that no frame can be written to, such as GPX.
        return (*super()._endings(), ending(self.file.path))

    def _write(self, path: Path) -> dict[str, Any]:
        """Write the release; in the format of its file, that file again with the release's current places."""
        import pyarrow as pa

        if ending(path) != ending(self.file.path):
            return super()._write(path)

        coords, plane = self.coords, self.plane
        assert coords is not None
        assert plane is not None
        columns = [name for name in self.file.columns if self.processing.bounded or name != "radius_95"]
        places = plane.out(coords)

        def batches() -> Iterator[Batch]:
            first = 0
            for batch in self.file.batches(columns):
                last = first + len(batch.rows)
                yield batch.moved(places[first:last])
                first = last

        self.file.write(path, batches(), pa.schema([(name, self.file.columns[name]) for name in columns]))
        return self.file.reading


@steady()
def load(path: PathLike) -> Release:
    r"""Read a released file and its certificate, as a release that can be smoothed, clamped, remapped and counted.

    Parameters
    ----------
    path : str or Path
        A file that `Locations.points` or `Release.to_file` wrote; its certificate must be beside it.

    Returns
    -------
    Release
        Its value is a GeoDataFrame; of rows with several places each, a DataFrame with their columns.

    Examples
    --------
    >>> _ = (folder / "trips.csv").write_text("user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n")
    >>> _ = gv.Locations(folder / "trips.csv", person="user", area=bay).points(to=folder / "released.csv", rho=5e-5)
    >>> gv.load(folder / "released.csv").guarantee
    CGP(rho=5e-05)
    """
    import pandas as pd
    import pyarrow as pa

    path = Path(path)
    beside = certificate_path(path)
    certificate = read_certificate(beside)
    changed = "The file or its certificate was changed since the release: get both anew."
    try:
        if certificate["area"] is None:
            raise ValueError("it states no area")
        area = Area.certified(certificate["area"])
        stated = provenance_of(certificate, area)
        guarantee, file, by, method = (
            stated.guarantee,
            certificate["file"],
            certificate["person"],
            certificate["method"],
        )
        sha256, reading, rounding = file["sha256"], dict(file["reading"]), float(certificate["rounding"])
        kind, release_id = file.get("kind", "points"), certificate["id"]
        ordered: Order = "public" if "their order" in certificate["public"] else "hidden"
        entry = None if certificate["entry"] is None else Entry(**certificate["entry"])
        if not {*reading} <= READING or not isinstance(by, str | None):
            raise ValueError(reading, by)
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise InvalidFile(str(beside), repr(problem), "the certificate of a released file", changed) from None
    if kind != "points":
        raise InvalidFile(str(path), certificate["query"], "a file of released points", "Read answers with geopandas.")
    # Compared before the file is opened: SQLite would change it if a journal is beside it.
    if digest(path) != sha256:
        raise InvalidFile(str(path), "another digest", "the file that its certificate is about", changed)
    for other in side_files(path).read:
        remedy = "Remove it: it was not released, and programs would read it together with the released file."
        raise InvalidFile(str(path), other.name, "a released file without others that change it", remedy)
    # A format such as GPX does not hold the numbers of rows, where each row is another person.
    opened = open_locations(path, **reading).with_persons(by)
    if by is not None and by not in opened.columns:
        raise InvalidFile(str(beside), by, "a column of the released file", changed)
    frame, pairs = rows_of(opened)
    for name in ("radius_95", guarantee.symbol):
        if name in frame and reading.get("decimal"):
            texts = pa.array(frame[name], pa.string())
            frame[name] = numbers(texts, reading["decimal"], lambda row: f"{path.name}, row {row + 1}")
    if guarantee.symbol in frame and (frame[guarantee.symbol] != float(guarantee.budget)).any():
        raise InvalidFile(str(beside), str(guarantee), f"the {guarantee.symbol} that the file states", changed)
    plane = Plane(opened.crs, area)
    form = form_of(frame, plane, pairs)
    coords, rows = form.coords.values, form.rows
    codes, persons = (np.zeros(len(rows), int), None) if by is None else pd.factorize(frame[by].to_numpy()[rows])
    working = in_the_plane(guarantee, area)
    sizes = _unit_sizes(guarantee.metric, stated.times, frame, rows, codes, path)
    by_person = np.argsort(codes, kind="stable")
    queries = Persons.by_size(
        np.bincount(codes),
        lambda n, units: Points(n, 2, working, method, rounding=rounding, units=units, order=ordered),
        None if sizes is None else sizes[by_person],
    )
    return LoadedRelease(
        frame,
        answers=answers_without_values(queries),
        point_scales=queries.first.point_scales(sizes),
        coords=coords,
        plane=plane,
        pairs=pairs,
        person=None if persons is None else pd.Index(persons, name=by),
        file=opened,
        entry=entry,
        id=release_id,
        **{**vars(stated), "n": len(rows)},
    )


def frame_of(
    file: LocationFile,
    plane: Plane | None = None,
    outside: Outside = "refuse",
    missing: Missing | Literal["keep"] = "refuse",
    where: str | None = None,
) -> geopandas.GeoDataFrame:
    """Return a file as a frame, in its own coordinate system or in a plane. With missing="keep" all rows remain."""
    import geopandas

    columns, batches = _read(file, plane, outside, missing, where)
    system = file.crs if plane is None else plane.area.crs
    name = next(name for name in chain(["geometry", "place"], map("place_{}".format, count(2))) if name not in columns)
    shapes = np.concatenate([batch.geometries for batch in batches])
    places = geopandas.GeoSeries(shapes, crs=system, index=columns.index)
    return geopandas.GeoDataFrame(columns.assign(**{name: places}), geometry=name, crs=system)


def rows_of(file: LocationFile, missing: Missing | Literal["keep"] = "refuse") -> tuple[pd.DataFrame, Pairs]:
    """Return the rows of a file as a caller would have them in memory, and their columns of coordinates.

    Several places of a row have columns of their own, which remain; other rows are those of `frame_of`.
    """
    located = file.located
    if not isinstance(located, CoordinatePairs) or located.points == 1:
        return frame_of(file, missing=missing), ()
    columns, batches = _read(file, missing=missing)
    numbers = np.concatenate([batch.places for batch in batches]).T
    columns = columns.assign(**dict(zip(located.names, numbers, strict=True)))
    return columns[[name for name in file.order if name in columns]], located.pairs


def _read(
    file: LocationFile,
    plane: Plane | None = None,
    outside: Outside = "refuse",
    missing: Missing | Literal["keep"] = "refuse",
    where: str | None = None,
) -> tuple[pd.DataFrame, list[Batch]]:
    """Read a file into memory: the columns besides the locations, and the batches with the locations."""
    import pandas as pd
    import pyarrow as pa

    safe = [name for name in file.columns if name not in file.unsafe]
    tables, batches, rows, removed = [], [], [], NONE
    chosen = file.row_filter(where)
    for batch in file.batches(safe):
        if missing != "keep":
            batch, less = batch.selected(plane, where=chosen, missing=missing, outside=outside)
            removed += less
        if plane is not None and len(batch):
            batch = batch.moved(plane.enter(batch.coords, outside, batch.name_of_point).values)
        tables.append(batch.columns)
        rows.append(batch.first + (np.arange(len(batch)) if batch.numbers is None else batch.numbers))
        batches.append(batch)
    if not sum(map(len, rows)):
        raise no_locations(file, removed)
    gaps = missing == "drop" or outside == "drop" or chosen is not None
    index = np.concatenate(rows) if gaps else pd.RangeIndex(sum(map(len, rows)))
    with readable(file.path, type(file).__name__, "A column cannot be read: remove it."):
        columns = pa.concat_tables(tables).to_pandas(ignore_metadata=True)
    # pandas does not know the number of rows of a table without columns.
    columns = columns.set_axis(index) if len(columns.columns) else pd.DataFrame(index=index)
    for name in file.times:
        if columns[name].dtype.kind not in "mM":
            columns[name] = _datetimes(columns[name])
    return columns, batches


def _datetimes(texts: pd.Series) -> pd.Series:
    """Return texts as pandas times if all of them are times, in UTC if their zones differ; else the texts."""
    import pandas as pd

    for zone in (False, True):
        try:
            return pd.to_datetime(texts, format="ISO8601", utc=zone)
        except ValueError:
            continue
    return texts


def _unit_sizes(
    metric: Metric, times: tuple[str, ...] | None, frame: pd.DataFrame, rows: Index, codes: Index, path: Path
) -> Index | None:
    """Return the number of points in the largest unit of each released point, from the times in the file."""
    if not metric.of_unit:
        return None
    if metric.persons:
        allowed = "a file whose units belong to the persons in its column of persons"
        remedy = "A file does not name a crowd's persons: release points by person, with a length of time as the unit."
        raise InvalidFile(str(path), str(metric), allowed, remedy)
    columns = [time_column(name, frame) for name in times or ()]
    if metric.stretch is None or not columns or not {*columns} <= {*frame}:
        allowed = "a file with the times from which its units were counted"
        raise InvalidFile(str(path), list(times or ()), allowed, "Release it again with its column of times.")
    parts = [part_of_times(frame[name], name) for name in columns]
    moments = joined_times(parts, ", ".join(columns)).microseconds
    each = moments[rows] if len(columns) == 1 else moments.reshape(len(columns), -1).T.ravel()
    return stretch_sizes(each, metric.stretch, codes)
