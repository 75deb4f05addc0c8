"""From file to file, and files as frames."""

from __future__ import annotations

import os
import warnings
from collections.abc import Set
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geoveil._types import Columns, CrsLike, Epsilon, Method, MetricLike, Missing, Outside, Progress, Rho, Short
from geoveil._types import Path as PathLike
from geoveil.answering.charging import Charger, LedgerCharger, NoCharger, account_names, check_ledger, note_charge
from geoveil.answering.person_counts import PersonCounts
from geoveil.answering.pipeline import answer
from geoveil.answering.streaming import FilePoints, FileRelease, no_locations
from geoveil.arithmetic import steady
from geoveil.budget import SPENT, Ledger
from geoveil.errors import GeoveilWarning, InvalidFile, InvalidParameter
from geoveil.geo import AreaLike, Plane
from geoveil.geo.columns import choose
from geoveil.geo.formats import LocationFile, ending, open_locations
from geoveil.geo.formats.atomic import certificate_path, replaced_files, staging_folder
from geoveil.geo.formats.fingerprints import files_of
from geoveil.geo.formats.location_file import readable
from geoveil.geo.geometries import count_missing
from geoveil.geo.planes import plane_of
from geoveil.noise import source_of
from geoveil.privacy import CGP, Guarantee, promise

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

__all__ = ["FileRelease", "frame_of", "points_file", "read", "rehearse"]


@steady()
def points_file(
    source: PathLike,
    target: PathLike,
    *,
    keep: Columns = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    metric: MetricLike = None,
    method: Method = "best",
    by: str | None = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    rng: np.random.Generator | None = None,
    ledger: Ledger | None = None,
    subject: str | None = None,
    short: Short = "refuse",
    x: str | None = None,
    y: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    layer: str | None = None,
    progress: Progress | None = None,
) -> FileRelease:
    r"""Release every point of a file, into a file of the same format and coordinate system.

    Parameters
    ----------
    source : str or Path
        CSV (also .tsv and .gz), GPX, GeoJSON, GeoParquet, Parquet with columns of coordinates, GeoPackage, Shapefile,
        or a folder of the cabspotting data.
    target : str or Path
        The released file, beside which its certificate is written. Both appear at the end, whole, or not at all.
    keep : list of columns or "all", optional
        Columns that are released unchanged, besides times and the column named by `by`. The others are removed, since
        they may reveal places; the release's `removed.columns` names them. "all" excludes columns whose names suggest
        places ("lat", "city"). Columns of geometries, bytes or nested values are never released.
    rho, epsilon, metric, method, area, outside, missing, rng : optional
        As for `points`.
    by : str, optional
        The column that names the person of each row. Without it all points are taken as one person's.
    crs : coordinate system, as pyproj accepts it, optional
        The coordinate system of the file, where the file does not state it: WGS 84 if columns are called longitude
        and latitude.
    ledger : Ledger, optional
        The ledger in which each person's budget is charged, all in one transaction, before anything is drawn. It keeps
        the digest of the output; a second run is charged again.
    subject : str, optional
        With a ledger: the name of the account; with `by` the labels are the names, after this and a slash if given.
    short : {"refuse", "skip"}
        With a ledger: whether persons without enough budget stop the release, or are left out and listed as
        `removed.persons`.
    x, y : str, optional
        The columns of a CSV or Parquet file that hold coordinates, longitude as x, where they are not found by name.
    delimiter, decimal, encoding : str, optional
        The format of a CSV file: the separator of fields (found in the header), the decimal mark ("."), and the
        encoding ("utf-8").
    layer : str, optional
        The layer of a GeoPackage with several.
    progress : callable, optional
        Called from time to time with the share of the work that is done, from 0 to 1.

    Returns
    -------
    FileRelease
        Its value is the path of the released file. `geoveil.load` returns a release with the points themselves.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import geoveil as gv
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = ["user,lat,lon,note", "ann,37.78,-122.41,home", "ann,37.79,-122.42,work", "bob,37.76,-122.45,home"]
    >>> _ = (folder / "trips.csv").write_text("\n".join(rows))
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> gv.points_file(folder / "trips.csv", folder / "released.csv", by="user", rho=5e-5, area=bay)
    Release of points: 3 points, taken as those of 2 persons
      guarantee  5e-05-CGP per m² under dist_inf, for each person
      mechanism  Gaussian of scale 141.5 m (first person)
      error      at most 245 m to 384 m for each person with probability 95%
      exact      yes
      removed    the column note (keep= releases columns unchanged)
    >>> (folder / "released.csv").read_text().splitlines()[0]
    'user,lat,lon,radius_95,rho'
    """
    guarantee, noise = promise(rho, epsilon, metric), source_of(rng)
    check_ledger(ledger, by=by, subject=subject, short=short)
    told: Progress = progress or (lambda share: None)
    reading = {"x": x, "y": y, "delimiter": delimiter, "decimal": decimal, "encoding": encoding, "layer": layer}
    file = open_locations(Path(source), crs=crs, **reading)
    inquiry = _inquiry(file, guarantee, method, by, area, outside, missing, keep)
    target = _checked_target(Path(target), file)
    # A column that cannot be read is refused before anything is charged.
    inquiry.count(told, every_column=ledger is not None)
    if inquiry.placed:
        inquiry.kept, inquiry.removed = _columns(file, by, keep, guarantee.symbol, places=inquiry.placed)
    if formulas := [name for name in inquiry.kept if name in inquiry.formulas]:
        message = f"{target}: texts in {', '.join(formulas)} begin as formulas do, and a spreadsheet would run them."
        warnings.warn(message, GeoveilWarning, stacklevel=2)
    charger = _charger(inquiry, ledger, subject, short)
    release: FileRelease | None = None
    try:
        with staging_folder(target) as folder:
            release = answer(inquiry.into(folder / target.name, target), noise, charger, progress=told)
    except BaseException as problem:
        if release is not None and release.entry is not None:
            # The file was charged for and written, but not put in its place.
            note_charge(problem, SPENT)
        if isinstance(problem, OSError):
            raise _unwritable(target, problem) from None
        raise
    told(1.0)
    return release


def _unwritable(target: Path, problem: OSError) -> InvalidFile:
    """Return the error of a target that cannot be written, which says whether it was charged for."""
    remedy = "Check that there is room on the disk and that you may write there."
    refused = InvalidFile(str(target), str(problem), "a file that can be written", remedy, charged="nothing")
    if SPENT in getattr(problem, "__notes__", []):
        note_charge(refused, SPENT)
    return refused


def _inquiry(
    file: LocationFile,
    guarantee: Guarantee,
    method: str,
    by: str | None,
    area: AreaLike,
    outside: Outside,
    missing: Missing,
    keep: Columns,
) -> FilePoints:
    """Check what is asked about a file, as far as its header tells."""
    plane = plane_of(file.crs, area, stated_by=_system_of(file))
    kept, removed = _columns(file, by, keep, guarantee.symbol)
    return FilePoints(
        file=file,
        plane=plane,
        guarantee=guarantee,
        method=method,
        people=PersonCounts(by),
        outside=outside,
        missing=missing,
        kept=kept,
        removed=removed,
    )


def rehearse(
    source: PathLike,
    *,
    by: str | None = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    method: Method = "best",
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    **reading: str | None,
) -> FilePoints:
    """Do all that `points_file` does before it charges, so that what it would refuse is refused now.

    Parameters
    ----------
    source : str or Path
        The file.
    by, area, crs, method, outside, missing : optional
        As for `points_file`.
    **reading : str, optional
        As for `points_file`: x, y, delimiter, decimal, encoding, layer.

    Returns
    -------
    FilePoints
        It knows the number of points of each person.
    """
    file = open_locations(Path(source), crs=crs, **reading)
    inquiry = _inquiry(file, CGP(rho=1), method, by, area, outside, missing, None)
    inquiry.count(lambda share: None, every_column=True)
    if inquiry.placed:
        _columns(file, by, None, inquiry.guarantee.symbol, places=inquiry.placed)
    return inquiry


def _charger(inquiry: FilePoints, ledger: Ledger | None, subject: str | None, short: Short) -> Charger:
    """Return who is charged for the points of a file."""
    if ledger is None:
        return NoCharger()
    people = inquiry.people
    labels = None if people.by is None else people.persons.to_pylist()
    return LedgerCharger(ledger, account_names(subject, labels), short=short)


def _system_of(file: LocationFile) -> str:
    """Return how errors name the coordinate system of a file."""
    return f"the coordinate system of {file.path.name}"


def _checked_target(target: Path, file: LocationFile) -> Path:
    own = {_identity(path) for path in (file.path, *files_of(file.path))}
    if not own.isdisjoint(map(_identity, replaced_files(target))):
        allowed = "a file other than the source, and not one that is part of it"
        raise InvalidParameter("target", str(target), allowed, "Choose another name.")
    if file.path.is_dir():
        if target.exists():
            raise InvalidFile(str(target), "a folder or file that exists", "a new folder", "Choose another name.")
    elif ending(target) != ending(file.path):
        allowed = f"a file that ends in {ending(file.path)}, as the source does"
        raise InvalidParameter(
            "target", str(target), allowed, "gv.save(gv.load(target), path) then writes it in another format."
        )
    if target.suffix.lower() == ".shp" and target.suffix != ".shp":
        raise InvalidParameter("target", str(target), "a file that ends in .shp, in lower case", "Rename it.")
    beside = certificate_path(target)
    if beside.is_dir():
        raise InvalidFile(str(beside), "a folder", "free for the certificate", "Remove it, or choose another name.")
    return target


def _identity(path: Path) -> str:
    """Return a text that all names of one file share: links are followed, and Windows does not tell A from a."""
    return os.path.normcase(os.path.realpath(path))


def _columns(
    file: LocationFile, by: str | None, keep: Columns, symbol: str, places: Set[str] = frozenset()
) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns that are released unchanged, and those that are removed; `places` are texts of geometries."""
    import pyarrow as pa

    unsafe = file.unsafe | places
    safe = [name for name in file.columns if name not in unsafe]
    if by is not None and not (isinstance(by, str) and by in safe):
        remedy = "Leave it out if all rows are one person's."
        raise InvalidParameter("by", by, f"a column of {file.path.name}, one of {safe}", remedy)
    if by is not None:
        kind = file.columns[by]
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        usable = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        numbers_too = (pa.types.is_boolean, pa.types.is_float32, pa.types.is_float64, pa.types.is_decimal)
        if not any(test(plain) for test in (*usable, *numbers_too, pa.types.is_temporal)):
            raise InvalidParameter("by", by, f"a column of texts or numbers; this one is {kind}", "Convert it first.")
    always = [*file.time_columns, *(name for name in file.structure if name in file.columns)]
    kept, left = choose([*file.columns], times=always, by=by, keep=keep, places=unsafe)
    for name in kept:
        if file.extensible and name.casefold() in ("radius_95", symbol):
            raise InvalidParameter("keep", name, "columns without this name: released ones have it", "Rename it.")
    return kept, left


@steady()
def read(
    path: PathLike,
    *,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    x: str | None = None,
    y: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    layer: str | None = None,
) -> geopandas.GeoDataFrame:
    r"""Read a file of locations.

    Parameters
    ----------
    path : str or Path
        CSV, GPX, GeoJSON, GeoParquet, Parquet with columns of coordinates, GeoPackage, Shapefile, or a folder of the
        cabspotting data.
    area : Area from `local`, code or name of a projected system, or name of a region, optional
        The area to whose plane locations are projected, chosen from public knowledge. Without it the file's own
        system is kept.
    outside : {"refuse", "clamp"}
        With `area`: what is done about points outside of it.
    missing : {"refuse", "drop"}
        What is done about rows without a location.
    crs, x, y, delimiter, decimal, encoding, layer : optional
        As for `points_file`.

    Returns
    -------
    geopandas.GeoDataFrame
        The locations and all columns except those of bytes, nested values and other geometries. The index is the
        position of a row in the file. It contains the true locations.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import geoveil as gv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trips.csv"
    >>> _ = path.write_text("user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n")
    >>> trips = gv.read(path, area=gv.local(lat=37.77, lon=-122.42, radius=50_000))
    >>> gv.points(trips, by="user", rho=5e-5).value.columns.tolist()
    ['user', 'geometry']
    """
    reading = {"x": x, "y": y, "delimiter": delimiter, "decimal": decimal, "encoding": encoding, "layer": layer}
    file = open_locations(Path(path), crs=crs, **reading)
    plane = None if area is None else plane_of(file.crs, area, released=False, stated_by=_system_of(file))
    return frame_of(file, plane, outside, missing)


def frame_of(
    file: LocationFile, plane: Plane | None = None, outside: Outside = "refuse", missing: Missing = "refuse"
) -> geopandas.GeoDataFrame:
    """Return the whole file as a frame, in its own coordinate system or in a plane."""
    import geopandas
    import pandas as pd
    import pyarrow as pa
    import shapely

    safe = [name for name in file.columns if name not in file.unsafe]
    tables, geometries, rows = [], [], []
    for batch in file.batches(safe):
        there = batch.present
        if count_missing(there, missing, batch.name):
            batch = batch.chosen(there)
        if plane is not None and len(batch):
            batch = batch.moved(plane.enter(batch.coords, outside, batch.name_of_point).values)
        tables.append(batch.columns)
        rows.append(batch.first + (np.arange(len(batch)) if batch.numbers is None else batch.numbers))
        geometries.append(batch.places if batch.shaped else shapely.points(batch.places))
    if not sum(map(len, rows)):
        raise no_locations(file)
    index = np.concatenate(rows) if missing == "drop" else pd.RangeIndex(sum(map(len, rows)))
    with readable(file.path, type(file).__name__, "A column cannot be read: remove it."):
        columns = pa.concat_tables(tables).to_pandas(ignore_metadata=True)
    # A table without columns has lost its number of rows.
    columns = columns.set_axis(index) if len(columns.columns) else pd.DataFrame(index=index)
    for name in file.times:
        if columns[name].dtype.kind not in "mM":
            columns[name] = _datetimes(columns[name])
    system = file.crs if plane is None else plane.area.crs
    name = next(name for name in chain(["geometry", "place"], map("place_{}".format, count(2))) if name not in columns)
    places = geopandas.GeoSeries(np.concatenate(geometries), crs=system, index=columns.index)
    return geopandas.GeoDataFrame(columns.assign(**{name: places}), geometry=name, crs=system)


def _datetimes(texts: pd.Series) -> pd.Series:
    """Return texts as pandas times if all of them are times, in UTC if their zones differ; else the texts."""
    import pandas as pd

    for zone in (False, True):
        try:
            return pd.to_datetime(texts, format="ISO8601", utc=zone)
        except ValueError:
            continue
    return texts
