"""Release files to files, and read files as frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from geoveil._types import (
    Columns,
    CoordinateColumns,
    CrsLike,
    Epsilon,
    Method,
    MetricLike,
    Missing,
    Outside,
    Progress,
    Pseudonyms,
    Rho,
    Short,
    UnitLike,
)
from geoveil._types import Path as PathLike
from geoveil.answering.charging import account_names, check_ledger
from geoveil.answering.intake import take_in
from geoveil.answering.loading import frame_of, load
from geoveil.answering.preparation import Concern, concerns_of, prepare, rehearse, system_of
from geoveil.answering.streaming import FileRelease
from geoveil.answering.units import unit_of
from geoveil.arithmetic import steady
from geoveil.budget import Ledger
from geoveil.certificates import KeyLike, signing_key
from geoveil.errors import InvalidParameter, Message, warn
from geoveil.foreign_names import foreign_names_refused
from geoveil.geo import AreaLike
from geoveil.geo.formats import open_locations
from geoveil.geo.planes import plane_of
from geoveil.noise import source_of
from geoveil.privacy import Duration, as_duration, promise

if TYPE_CHECKING:
    import geopandas

__all__ = [
    "Concern",
    "FileRelease",
    "account_names",
    "frame_of",
    "load",
    "points_file",
    "read",
    "rehearse",
    "take_in",
    "unit_of",
]


@steady()
@foreign_names_refused
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
    unit: UnitLike = None,
    times: str | Sequence[str] | None = None,
    thin: Duration | None = None,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing = "refuse",
    where: str | None = None,
    pseudonyms: Pseudonyms = False,
    rng: np.random.Generator | None = None,
    ledger: Ledger | None = None,
    subject: str | None = None,
    short: Short = "refuse",
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    geometry: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    names: str | Sequence[str] | None = None,
    layer: str | None = None,
    sign: KeyLike = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    confirm: Callable[[Sequence[Concern]], None] | None = None,
) -> FileRelease:
    r"""Release every point of a file, into a file of the same coordinate system.

    Parameters
    ----------
    source : str or Path
        CSV (also .tsv, .txt and .gz), Excel, Parquet and GeoParquet, GeoJSON (also one feature per line), GPX, KML,
        GeoPackage, Shapefile, FlatGeobuf, a track of Geolife (.plt), any of these alone in a .zip file, or a folder of
        the Geolife or the cabspotting data.
    target : str or Path
        The released file, in the format of its ending, beside which its certificate is written. Both appear at the
        end, whole, or not at all.
    keep : list of columns or "all", optional
        Columns that are released unchanged, besides times and the column named by `by`. The others are removed, since
        they may reveal places; the release's `removed.columns` names them. "all" excludes columns whose names suggest
        places ("lat", "city") and refuses those that hold locations or follow them closely; `["all", "venue"]` names
        one of these to release it. Columns of geometries, bytes or nested values are never released.
    rho, epsilon, metric, method, area, outside, missing, where, pseudonyms, rng : optional
        As for `points`.
    by : str, optional
        The column that names the person of each row. Without it all points belong to one person.
    unit : str or timedelta, optional
        What is hidden together: a length of time such as "1 day", or "point". By default all points of a
        person. As for `points`.
    times : str, or a list of them, optional
        With a length of time as `unit`, or with `thin`: the column of times. Rows with an origin and a destination
        have two. It may be left out if it is recognised.
    thin : str, timedelta or number, optional
        Keep only the first row of each person in every interval of this length, as for `points`.
    crs : coordinate system, as pyproj accepts it, optional
        The coordinate system of the file, where the file does not state it: WGS 84 if columns are called longitude
        and latitude.
    ledger : Ledger, optional
        The ledger in which each person's budget is charged, all in one transaction, before anything is drawn. It keeps
        the digest of the output; a second run is charged again.
    subject : str, optional
        With a ledger: the name of the account. With `by`, each person's label is the name of an account, after this
        name and a slash if it is given.
    short : {"refuse", "skip"}
        With a ledger: whether persons without enough budget stop the release, or are left out and listed as
        `removed.persons`.
    lat, lon : str, or two of them, optional
        The columns of a CSV or Parquet file that hold latitude and longitude, or northing and easting with `crs`,
        where they are not recognised. Rows with an origin and a destination have two columns of each.
    geometry : str, optional
        The column of a CSV or Parquet file that holds geometries as WKT, WKB or GeoJSON, or texts such as
        "37.77,-122.42", where it is not recognised.
    delimiter, decimal, encoding : str, optional
        The format of a CSV file, where it is not recognised: the separator of fields, the decimal mark, and the
        encoding (by default UTF-8 or, if the file is not valid UTF-8, Latin-1).
    names : list of str, or str, optional
        The names of the columns of a CSV file without a header, in their order; a text has commas between them.
    layer : str, optional
        The layer of a GeoPackage, or the sheet of an Excel file, with several.
    sign : SigningKey, or path of a private key, optional
        The key that signs the certificate; see `geoveil.verify`.
    overwrite : bool
        Whether an existing target is replaced, with its certificate; otherwise it is refused before anything is
        charged.
    progress : callable, optional
        Called from time to time with the share of the work that is done, from 0 to 1.
    confirm : callable, optional
        Called once before anything is charged, with a list of `Concern` for the owner: empty, or one that says that
        the noise is large and what helps. It may raise an exception to stop the release. Without it they are warnings
        (`GeoveilWarning`).

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
    Release of points: 3 points of 2 persons
      guarantee  104 m hidden at 75% for each person (CGP with ρ = 5e-05 per m²)
      mechanism  Gaussian of scale 141.5 m (first person)
      error      at most 245 m to 384 m for each person with probability 95%
      exact      yes
      removed    the column note (keep= releases columns unchanged)
      unchanged  user (person)
    >>> (folder / "released.csv").read_text().splitlines()[0]
    'user,lat,lon,radius_95,rho'
    """
    asked = unit_of(unit, metric, by=by)
    if asked.persons is not None:
        allowed = 'a length of time such as "1 day", or "point"'
        raise InvalidParameter("unit", unit, allowed, Message("Name the column of persons with {by}."))
    guarantee, noise = promise(rho, epsilon, asked.metric), source_of(rng)
    key = signing_key(sign)
    check_ledger(ledger, by=by, subject=subject, short=short)
    told: Progress = progress or (lambda share: None)
    reading = {"lat": lat, "lon": lon, "geometry": geometry, "delimiter": delimiter, "decimal": decimal}
    reading |= {"encoding": encoding, "names": names, "layer": layer}
    prepared = prepare(
        source,
        target,
        guarantee=guarantee,
        noise=noise,
        method=method,
        by=by,
        times=times,
        thin=None if thin is None else as_duration("thin", thin),
        area=area,
        crs=crs,
        outside=outside,
        missing=missing,
        where=where,
        pseudonyms=pseudonyms,
        keep=keep,
        ledger=ledger,
        subject=subject,
        short=short,
        reading=reading,
        key=key,
        overwrite=overwrite,
        progress=told,
    )
    concerns = concerns_of(prepared.inquiry)
    if confirm is not None:
        confirm(concerns)
    elif concerns:
        warn(" ".join(map(str, concerns)))
    return prepared.release(told)


@steady()
@foreign_names_refused
def read(
    path: PathLike,
    *,
    area: AreaLike = None,
    crs: CrsLike = None,
    outside: Outside = "refuse",
    missing: Missing | Literal["keep"] = "refuse",
    where: str | None = None,
    lat: CoordinateColumns = None,
    lon: CoordinateColumns = None,
    geometry: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    names: str | Sequence[str] | None = None,
    layer: str | None = None,
) -> geopandas.GeoDataFrame:
    r"""Read a file of locations.

    Parameters
    ----------
    path : str or Path
        As for `points_file`.
    area : Area from `local`, code or name of a projected system, or name of a region, optional
        The area to whose plane locations are projected, chosen from public knowledge. Without it the file's own
        system is kept.
    outside : {"refuse", "clamp", "drop"}
        With `area`: what is done about points outside of it, as for `points`.
    missing : {"refuse", "drop", "keep"}
        What is done about rows without a location: "keep" keeps them, and a later question treats them.
    where : str, optional
        A condition on columns of the file that selects its rows, as for `points`. The certificate of a later release
        states a filter, and the rows that were removed, only if they are given to the question itself.
    crs, lat, lon, geometry, delimiter, decimal, encoding, names, layer : optional
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
    reading = {"lat": lat, "lon": lon, "geometry": geometry, "delimiter": delimiter, "decimal": decimal}
    reading |= {"encoding": encoding, "names": names, "layer": layer}
    file = open_locations(Path(path), crs=crs, **reading)
    plane = None if area is None else plane_of(file.crs, area, released=False, stated_by=system_of(file))
    return frame_of(file, plane, outside, missing, where)
