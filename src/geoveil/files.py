"""From file to file: locations are read, released and written in batches, in two passes."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Set
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, Unpack
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from geoveil.answering.how import FileHow, Reading, file_question, known, reader
from geoveil.answering.person_counts import Crowd
from geoveil.answering.streaming import FileRelease, Work, nothing
from geoveil.arithmetic import steady
from geoveil.budget import SPENT, Charge, Ledger
from geoveil.errors import GeoveilWarning, InvalidFile, InvalidParameter
from geoveil.geo import Plane
from geoveil.geo.columns import choose
from geoveil.geo.formats import LocationFile, ending, open_locations
from geoveil.geo.formats.atomic import certificate_path, replaced_files, staging_folder, write_certificate
from geoveil.geo.formats.fingerprints import digest, files_of
from geoveil.geo.formats.location_file import readable
from geoveil.geo.geometries import count_missing
from geoveil.geo.plain_values import is_text
from geoveil.geo.planes import plane_of
from geoveil.noise import source_of
from geoveil.privacy import CGP, Guarantee, promise

__all__ = ["FileRelease", "frame_of", "points_file", "read", "rehearsed"]

Floats = NDArray[np.float64]


@file_question
@steady()
def points_file(
    source: Any,
    target: Any,
    *,
    keep: Any = None,
    progress: Callable[[float], None] | None = None,
    ledger: Ledger | None = None,
    subject: str | None = None,
    short: Literal["refuse", "skip"] = "refuse",
    **how: Unpack[FileHow],
) -> FileRelease:
    r"""Release every point of a file, into a file of the same format and coordinate system.

    Parameters
    ----------
    source : str or Path
        CSV (also .tsv and .gz), GPX, GeoJSON, GeoParquet, Parquet with columns of coordinates, GeoPackage, Shapefile,
        or a folder of the cabspotting data.
    target : str or Path
        Where the released file goes, and its certificate beside it. Both appear at the end, whole, or not at all.
    keep : list of columns or "all", optional
        Which columns are released unchanged, beside times and the one named by `by`. The others are removed, as they
        may give places away; the release's `removed.columns` names them. "all" is without columns whose names tell
        places ("lat", "city"); those that hold geometries, bytes or nested values are never released.
    progress : callable, optional
        Is told now and then how much has been done, from 0 to 1.
    ledger : Ledger, optional
        Where each person's budget is charged, all in one transaction, before anything is drawn. It keeps the digest of
        the output; a second run is charged again.
    subject : str, optional
        With a ledger: whose account it is; with `by` the labels are the subjects, after this and a slash if given.
    short : {"refuse", "skip"}
        With a ledger: whether people without enough budget stop the release, or are removed; the release's
        `removed.persons` names them.

    Returns
    -------
    FileRelease
        Its value is the path of the released file. `gv.load` gives a release with the points themselves.

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
    guarantee = promise(how.get("rho"), how.get("epsilon"), how.get("metric"))
    known(how, FileHow)
    for name, given, default in (("subject", subject, None), ("short", short, "refuse")):
        if ledger is None and given != default:
            raise InvalidParameter(name, given, "left out without a ledger", "Give ledger=.")
    work, kept, left = _work(source, guarantee, keep, progress, how)
    target = _checked_target(Path(target), work.file)
    # What cannot be read is refused before anything is charged.
    work.count(also=kept if ledger is not None else ())
    if work.placed:
        kept, left = _columns(work.file, work.crowd.by, keep, guarantee.symbol, places=work.placed)
    if work.formulas & {*kept}:
        named = ", ".join(name for name in kept if name in work.formulas)
        told = f"{target}: texts in {named} begin as formulas do, and a spreadsheet would run them."
        warnings.warn(told, GeoveilWarning, stacklevel=2)
    charge: Charge | None = None
    try:
        with staging_folder(target) as folder:
            charge, stated = (None, {}) if ledger is None else _charged(work, ledger, subject, short)
            work.write(folder / target.name, kept)
            release = work.release(target, kept, left, digest(folder / target.name), **stated)
            write_certificate(folder / target.name, release.certificate())
            if ledger is not None and charge is not None:
                ledger.store(charge, json.dumps({"id": release.id, "sha256": release.digest}))
    except OSError as problem:
        remedy = "Is there room, and may one write there? Nothing was released."
        refused = InvalidFile(str(target), str(problem), "a file that can be written", remedy)
        _note(refused, charge)
        raise refused from None
    except BaseException as problem:
        _note(problem, charge)
        raise
    work.progress(1.0)
    return release


def _work(
    source: Any, guarantee: Guarantee, keep: Any, progress: Callable[[float], None] | None, how: FileHow
) -> tuple[Work, list[str], tuple[str, ...]]:
    """Open a file and check what is asked about it; the work, and the columns that are released and removed."""
    noise, by = source_of(how.get("rng")), how.get("by")
    file = open_locations(source, **{name: how.get(name) for name in Reading.__annotations__})
    plane = plane_of(file.crs, how.get("area"))
    kept, left = _columns(file, by, keep, guarantee.symbol)
    work = Work(
        file=file,
        plane=plane,
        guarantee=guarantee,
        method=how.get("method", "best"),
        crowd=Crowd(by),
        outside=how.get("outside", "refuse"),
        missing=how.get("missing", "refuse"),
        noise=noise,
        progress=progress or (lambda _: None),
        texts=[name for name in kept if is_text(file.columns[name])],
    )
    return work, kept, left


def rehearsed(source: Any, **how: Unpack[FileHow]) -> Work:
    """Do all that `points_file` does before it charges: whatever it refuses of a file is refused here.

    Parameters
    ----------
    source : str or Path
        The file.
    **how
        As for `points_file`; the budget may be left out.

    Returns
    -------
    Work
        It knows the number of points of each person.
    """
    work, kept, _ = _work(source, CGP(rho=1), None, None, how)
    work.count(also=kept)
    if work.placed:
        _columns(work.file, work.crowd.by, None, work.guarantee.symbol, places=work.placed)
    return work


def _charged(
    work: Work, ledger: Ledger, subject: str | None, short: Literal["refuse", "skip"]
) -> tuple[Charge, dict[str, Any]]:
    """Charge every person of a file, or leave out those who have too little; what the release says of it."""
    if work.crowd.by is None:
        if subject is None:
            raise InvalidParameter("subject", None, "given with a ledger", "It is whose budget is charged.")
        names = [subject]
    else:
        before = "" if subject is None else f"{subject}/"
        names = [f"{before}{label}" for label in work.crowd.persons.to_pylist()]
    identity = uuid4().hex
    parameters = {"by": work.crowd.by, "file": work.file.path.name, work.guarantee.symbol: str(work.guarantee.budget)}
    charge = ledger.charge(names, work.guarantee, query="points", parameters=parameters, release=identity, short=short)
    if charge.skipped:
        work.skipped = np.isin(np.array(names, dtype=object), charge.skipped)
        work.skipped_names = charge.skipped
    return charge, {"id": identity, "entry": charge.entry}


def _note(problem: BaseException, charge: Charge | None) -> None:
    """Say of an error that what was charged before it is spent."""
    if charge is not None:
        problem.add_note(SPENT)


def _checked_target(target: Path, file: LocationFile) -> Path:
    own = {_identity(path) for path in (file.path, *files_of(file.path))}
    if not own.isdisjoint(map(_identity, replaced_files(target))):
        allowed = "another file than the source, and none that belongs to it"
        raise InvalidParameter("target", str(target), allowed, "Both are needed.")
    if file.path.is_dir():
        if target.exists():
            raise InvalidFile(str(target), "something that is there", "a new folder", "Choose another name.")
    elif ending(target) != ending(file.path):
        allowed = f"a file that ends in {ending(file.path)}, as the source does"
        raise InvalidParameter("target", str(target), allowed, "Convert one of them with another tool.")
    if target.suffix.lower() == ".shp" and target.suffix != ".shp":
        raise InvalidParameter("target", str(target), "a file that ends in .shp, in small letters", "Rename it.")
    beside = certificate_path(target)
    if beside.is_dir():
        raise InvalidFile(str(beside), "a folder", "free for the certificate", "Remove it, or choose another name.")
    return target


def _identity(path: Path) -> str:
    """Return a text that all names of one file share: links are followed, and Windows does not tell A from a."""
    return os.path.normcase(os.path.realpath(path))


def _columns(
    file: LocationFile, by: Any, keep: Any, symbol: str, places: Set[str] = frozenset()
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


@reader
@steady()
def read(
    path: Any,
    *,
    area: Any = None,
    outside: str = "refuse",
    missing: str = "refuse",
    **reading: Unpack[Reading],
) -> Any:
    r"""Read a file of locations.

    Parameters
    ----------
    path : str or Path
        CSV, GPX, GeoJSON, GeoParquet, Parquet with columns of coordinates, GeoPackage, Shapefile, or a folder of the
        cabspotting data.
    area : Area from `local`, what pyproj takes as a projected system, or a region's name, optional
        The plane to project it to, chosen from public knowledge. Without it the file's own system is kept.
    outside : {"refuse", "clamp"}
        With `area`: what becomes of places outside of its area.
    missing : {"refuse", "drop"}
        What becomes of rows without a place.

    Returns
    -------
    geopandas.GeoDataFrame
        Places and columns, but for those of bytes, of nested values and of other geometries. The index is the position
        of a row in the file. Nothing is private yet.

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
    known(reading, Reading)
    file = open_locations(path, **reading)
    plane = None if area is None else plane_of(file.crs, area, released=False)
    return frame_of(file, plane, outside, missing)


def frame_of(file: LocationFile, plane: Plane | None = None, outside: str = "refuse", missing: str = "refuse") -> Any:
    """All of a file as a frame, in its own system or in a plane."""
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
        raise nothing(file)
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


def _datetimes(texts: Any) -> Any:
    """Times as pandas has them, where all of them are such; with different zones, those of Greenwich."""
    import pandas as pd

    for zone in (False, True):
        try:
            return pd.to_datetime(texts, format="ISO8601", utc=zone)
        except ValueError:
            continue
    return texts
