"""A DataFrame as a table of locations: its columns, and the query plan that selects those a question needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geoveil._types import CoordinateColumns, CrsLike
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.geo.coordinate_systems import GEOGRAPHIC, own_system
from geoveil.geo.disclosure import SAMPLE
from geoveil.geo.formats import wkb
from geoveil.geo.formats.limits import check_names
from geoveil.geo.formats.location_columns import GeometryColumn, LocationColumns, locate
from geoveil.geo.formats.parquet import Parquet
from geoveil.geo.geometries import Index
from geoveil.geo.seconds import EPOCH, EPOCH_UNITS, UNITS, ReadTimes, check_numbers
from geoveil.spark.parquet_parts import ParquetParts, parts_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["TIME", "FrameColumns", "check_times", "first_rows", "open_frame", "time_of"]

#: The prefix of the columns that are added to those of a DataFrame, and the one of times in microseconds.
_OWN = "_geoveil_"
TIME = f"{_OWN}time"
#: The class of Spark that reads plain Parquet.
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
#: The fields of a `FrameColumns` that are not sent to workers.
_LEFT = {"head": None, "parts": None}


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameColumns(Parquet):
    """The columns of a DataFrame, whose rows are read like those of a Parquet file."""

    #: Its first rows; workers do not get them.
    head: pa.Table = field(default=None, repr=False)
    #: Whether the column of geometries is described as such, so that a release is GeoParquet.
    geo: bool = False
    #: The files of a table that is no more than Parquet files, where workers can read them for themselves.
    parts: ParquetParts | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "recognised"} | _LEFT

    def _sample(self, columns: Sequence[str]) -> dict[str, list[Any]]:
        return dict(self.head.select([*columns]).to_pydict())


def _geo(spark: SparkSession, frame: DataFrame) -> dict[str, Any] | None:
    """Return the description of the geometries in the footer of a Parquet file; None if there is none."""
    jvm: Any = spark._jvm
    hadoop = jvm.org.apache.hadoop.fs.Path
    files = frame.inputFiles()
    if not files:
        return None
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    source = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(hadoop(files[0]), configuration)
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source)
    try:
        described = reader.getFileMetaData().getKeyValueMetaData().get("geo")
    finally:
        reader.close()
    return None if described is None else dict(json.loads(described))


def first_rows(frame: DataFrame, rows: int) -> pa.Table:
    """Return the first rows of a DataFrame, of which none passes through a shuffle.

    `limit(rows).toArrow()` would write those of each partition to a shuffle file, to bring them into one partition.
    """
    from pyspark.sql import DataFrame

    spark, own = frame.sparkSession, frame._jdf
    # Rows stay in Java: Python has no times before the year 1 and after 9999.
    taken = spark._jsparkSession.createDataFrame(own.takeAsList(rows), own.schema())
    return DataFrame(taken, spark).toArrow()


def open_frame(
    frame: DataFrame, *, lat: CoordinateColumns, lon: CoordinateColumns, geometry: str | None, crs: CrsLike
) -> tuple[DataFrame, FrameColumns]:
    """Return a DataFrame with plain columns, and the description of its columns, locations and coordinate system."""
    plain = _is_parquet(frame)
    files, account = (frame.inputFiles(), _geo(frame.sparkSession, frame)) if plain else ([], None)
    if account is not None and account["primary_column"] not in frame.columns:
        account = None
    path = Path("DataFrame")
    check_names(path, frame.columns)
    if taken := [column for column in frame.columns if column.startswith(_OWN)]:
        raise InvalidData(taken[0], "DataFrame", f"named without the prefix {_OWN}", "Rename the column.")
    frame, native = _plain_geometries(frame)
    head = first_rows(frame, SAMPLE)
    columns = {each.name: each.type for each in head.schema}
    described = None if account is None else account["primary_column"]
    if described is None and len(native) == 1 and lat is None and lon is None and geometry is None:
        described = next(iter(native))
    if described is not None and geometry in (None, described):
        known = native.get(described) if account is None else account["columns"][described].get("crs", GEOGRAPHIC)
        located: LocationColumns = GeometryColumn(described, "wkb")
        system = own_system(path, known, crs)
    else:
        sample = {each: head[each].slice(0, 1000).to_pylist() for each in columns}
        located, system = locate(path, sample, columns, lat=lat, lon=lon, geometry=geometry, crs=crs)
    unsafe = {each.name for each in head.schema if wkb.may_hold_places(each)} | {*native}
    if account is not None:
        unsafe |= {*account["columns"]}
    return frame, FrameColumns.opened(
        path,
        located,
        system,
        columns,
        unsafe=unsafe,
        head=head,
        geo=described is not None and located.names == (described,),
        parts=parts_of(files, head.schema) if files else None,
    )


def _is_parquet(frame: DataFrame) -> bool:
    """Return whether a DataFrame is columns of Parquet files, with all of their rows, and not cached."""
    # Selected again, so that Spark plans it with the tables that are cached by now.
    plan: Any = frame.select("*")._jdf.queryExecution().optimizedPlan()
    if plan.nodeName() == "Project":
        chosen = plan.projectList()
        if any(chosen.apply(i).getClass().getSimpleName() != "AttributeReference" for i in range(chosen.size())):
            return False
        plan = plan.child()
    if plan.nodeName() != "LogicalRelation" or plan.relation().getClass().getSimpleName() != "HadoopFsRelation":
        return False
    # Delta and others derive formats of their own from Parquet, and leave out rows.
    return str(plan.relation().fileFormat().getClass().getName()) == _PARQUET


def _plain_geometries(frame: DataFrame) -> tuple[DataFrame, dict[str, int | None]]:
    """Return a DataFrame whose geometries, of Sedona or of Spark itself, are well-known binary.

    With it come the names of their columns, and the code of the coordinate system where the type states it.
    """
    from pyspark.sql import functions as F

    # Sedona's type is a user-defined one of this name, and Spark's own is called after its coordinate system.
    native = {
        each.name: code if isinstance(code := getattr(each.dataType, "srid", None), int) and code > 0 else None
        for each in frame.schema
        if type(each.dataType).__name__ in ("GeometryType", "GeographyType", "GeometryUDT")
    }
    for name in native:
        quoted = "`" + name.replace("`", "``") + "`"
        frame = frame.withColumn(name, F.expr(f"ST_AsBinary({quoted})"))
    return frame, native


def time_of(frame: DataFrame, name: str) -> tuple[Column, int | None]:
    """Return the time of each row in microseconds, from a column of times or of numbers; null if it has none.

    With it comes the number of units in a second, if it is a column of numbers and nobody has stated their unit.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    quoted = "`" + name.replace("`", "``") + "`"
    kind, column = frame.schema[name].dataType, F.col(quoted)
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column), None
    if isinstance(kind, T.TimestampNTZType):
        begin = F.to_timestamp_ntz(F.lit("1970-01-01"))
        return F.timestamp_diff("MICROSECOND", begin, column), None
    if isinstance(kind, T.DateType):
        return F.unix_date(column).cast("bigint") * 86_400_000_000, None
    if not isinstance(kind, T.NumericType):
        allowed = f"a column of times or of numbers; {name} is {kind.simpleString()}"
        remedy = f"Convert it first: df.withColumn({name!r}, F.to_timestamp({name!r}))."
        raise InvalidParameter("times", name, allowed, remedy)
    numbers = F.when(~F.isnan(column.cast("double")), column.cast("double"))
    ends: Any = frame.agg(F.min(numbers), F.max(numbers)).head()
    first, last = (0.0, 0.0) if ends[0] is None else ends
    stated = getattr(name, "unit", None)
    unit = 1 if stated is None else UNITS[stated]
    for each in EPOCH_UNITS[1:] if stated is None else ():
        if first >= EPOCH[0] * each and last <= EPOCH[1] * each:
            unit = each
    if stated is None and unit == 1 and max(abs(first), abs(last)) > EPOCH[1]:
        allowed = "numbers of seconds, or of milliseconds, microseconds or nanoseconds since 1970, the same for all"
        raise InvalidParameter("times", name, allowed, "Remove rows whose time is wrong.")
    return _whole_microseconds(
        quoted, numbers, unit, exact=isinstance(kind, T.IntegralType)
    ), unit if stated is None else None


def check_times(span: tuple[int, int], moments: Index, per_second: int | None, stretch: int, name: str) -> None:
    """Refuse times from which the points of a stretch of time cannot be counted beyond doubt, as in memory.

    Parameters
    ----------
    span : (int, int)
        The first and the last time in microseconds.
    moments : array of int
        Some of the times.
    per_second : int, optional
        For numbers: how many of them were taken to be a second.
    stretch : int
        The length of the stretch in microseconds.
    name : str
        The column of times.
    """
    if per_second is not None:
        check_numbers(*span, per_second, name)
    ReadTimes(moments, None, name).for_units(stretch)


def _whole_microseconds(quoted: str, numbers: Column, per_second: int, *, exact: bool) -> Column:
    """Return times as whole microseconds, as `geoveil.geo.seconds.whole_microseconds` rounds them.

    Doubles are rounded as there, but for the product with a fraction of a second, which is rounded once: so moving
    times by whole seconds moves what is returned by as much, exactly.
    """
    from pyspark.sql import functions as F

    size = per_second // 10**6
    if size > 1:
        # "div" and "pmod" of whole numbers lose no digits.
        whole = f"bigint({quoted})" if exact else f"bigint(floor(nanvl(double({quoted}), null)))"
        rest = f"pmod({whole}, {size})"
        return F.expr(f"({whole} - {rest}) div {size} + if(2 * {rest} >= {size}, 1, 0)")
    size = 10**6 // per_second
    if exact:
        return F.expr(f"bigint({quoted}) * {size}")
    seconds = F.floor(numbers)
    return seconds * size + F.floor((numbers - seconds) * size + 0.5)
