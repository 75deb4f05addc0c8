"""The types of arguments that users give, named once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union

from numpy.typing import ArrayLike, NDArray

from geoveil.privacy import Guarantee, Metric
from geoveil.privacy.exact import Number

if TYPE_CHECKING:
    import geopandas
    import pandas as pd
    import pyproj
    import shapely

__all__ = [
    "Columns",
    "CoordinateColumns",
    "Count",
    "CrsLike",
    "Epsilon",
    "Function",
    "Hide",
    "Labels",
    "Length",
    "LocationsLike",
    "Method",
    "MetricLike",
    "Missing",
    "Order",
    "Outside",
    "Path",
    "PlaceLike",
    "Progress",
    "Pseudonyms",
    "Region",
    "RegionsLike",
    "Rho",
    "ShapeLike",
    "Short",
    "Times",
]

#: A budget as the distance in metres that is hidden at 75%.
Hide: TypeAlias = float | str | None
#: A budget for concentrated geo-privacy, per square metre; as a guarantee, a CGP.
Rho: TypeAlias = Number | Guarantee | None
#: A budget for pure geo-privacy, per metre; as a guarantee, a GP.
Epsilon: TypeAlias = Number | Guarantee | None
MetricLike: TypeAlias = str | Metric | None
#: A length in metres, or a text such as "500m".
Length: TypeAlias = float | str


class ArrowStream(Protocol):
    """A table of any library that offers the Arrow C stream interface: polars, pyarrow, DuckDB, Ibis."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class GeoInterface(Protocol):
    """Features or a geometry of any library, as GeoJSON has them."""

    @property
    def __geo_interface__(self) -> Any: ...


class Trajectories(Protocol):
    """Trajectories of MovingPandas."""

    def to_point_gdf(self) -> Any: ...


class LazyRows(Protocol):
    """A table that is computed when it is collected, as a LazyFrame of polars is."""

    def collect(self) -> Any: ...


#: A table with columns of coordinates.
Table: TypeAlias = Union["pd.DataFrame", ArrowStream, LazyRows, "Sequence[Mapping[str, Any]]"]
#: Points: an (n, d) array, a table, a shapely geometry, a frame, or what other libraries make of these.
LocationsLike: TypeAlias = Union[
    "ArrayLike",
    "Table",
    "shapely.Geometry",
    "geopandas.GeoSeries",
    "geopandas.GeoDataFrame",
    GeoInterface,
    Trajectories,
]
#: A public place: coordinates, a text of latitude and longitude, a shapely Point, or a frame of one.
PlaceLike: TypeAlias = Union["ArrayLike", "shapely.Point", "geopandas.GeoSeries", "geopandas.GeoDataFrame"]
#: A public place, line or area.
ShapeLike: TypeAlias = Union["PlaceLike", "shapely.Geometry"]
#: A public region.
Region: TypeAlias = Union["shapely.Polygon", "shapely.MultiPolygon"]
#: Public regions: a frame of polygons, a list of them, the path of a file, or cells of H3 such as "h3:8".
RegionsLike: TypeAlias = Union["geopandas.GeoDataFrame", "geopandas.GeoSeries", "Sequence[Region]", "Path"]
#: The person of each point: the name of a column, or one label for each point.
Labels: TypeAlias = Union["str", "Sequence[Any]", "NDArray[Any]", "pd.Series", "pd.Index", None]
#: The public time of each point: the name of a column, one for each point of a row, or one time for each row.
Times: TypeAlias = Union["str", "Sequence[Any]", "NDArray[Any]", "pd.Series", "pd.Index", None]
#: Columns that are released unchanged.
Columns: TypeAlias = Sequence[str] | Literal["all"] | None
#: The column of latitudes, or of longitudes; several where a row has several points.
CoordinateColumns: TypeAlias = str | Sequence[str] | None
#: A coordinate system, as pyproj accepts it.
CrsLike: TypeAlias = Union["pyproj.CRS", "str", "int", "dict[str, Any]", None]

#: The algorithm: the one with the least noise, or one for CGP and GP at once.
Method: TypeAlias = Literal["best", "both"]
#: Whether the order, or the number, of a person's points is public.
Order: TypeAlias = Literal["public", "hidden"]
Count: TypeAlias = Literal["public", "hidden"]
Outside: TypeAlias = Literal["refuse", "clamp", "drop"]
Missing: TypeAlias = Literal["refuse", "drop"]
#: Whether persons get pseudonyms, or the key file that keeps them.
Pseudonyms: TypeAlias = bool | str | PathLike[str]
Short: TypeAlias = Literal["refuse", "skip"]

#: A user's function of an (n, d) array in metres, with a number or a vector as its value.
Function: TypeAlias = Callable[[Any], "ArrayLike"]
#: A function that is called with the share of the work that is done, from 0 to 1.
Progress: TypeAlias = Callable[[float], None]
Path: TypeAlias = str | PathLike[str]
