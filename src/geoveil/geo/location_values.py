"""Recognise values that are locations by themselves: coordinates, and codes of places such as geohashes."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.areas import Area
from geoveil.geo.columns import Values, in_full
from geoveil.geo.geometries import Floats

if TYPE_CHECKING:
    import pandas as pd

    from geoveil.geo.planes import Plane

__all__ = ["any_location_values", "location_values", "numbers_of"]

#: The number of distinct values that are looked at together.
_DISTINCT = 2000
#: The least number of distinct coordinates that are found among other numbers.
_HIDDEN = 20
#: The share of values that must be in the range of a coordinate or be codes, and of texts that must have coordinates.
_NEARLY_ALL, _SOME = 0.95, 0.05
#: Ranges of degrees wider than this contain many numbers that are no coordinates.
_WIDE = 10.0

_NUMBER = r"[-+]?\d{1,3}[.,]\d{2,}"
#: A pair of numbers with enough decimals to tell streets apart: one in a column of notes is enough.
_PRECISE = re.compile(r"[.,]\d{4,}")
_PAIR = re.compile(rf"({_NUMBER})[^\d+-]{{0,12}}[^\d.+-]?({_NUMBER})")
_GEOHASH = re.compile(r"[0-9b-hjkmnp-z]{4,12}", re.IGNORECASE)
_BASE32 = "0123456789bcdefghjkmnpqrstuvwxyz"
_H3 = re.compile(r"(0x)?0?8[0-9a-f]{14}", re.IGNORECASE)
#: Codes and notations of places that are recognised by their form, with the share of values that must have it.
_FORMS = (
    ("degrees, minutes and seconds", r"\d+(\.\d+)?\s*°\s*(\d.*)?[NSEWO]", _SOME),
    ("plus codes", r"[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,7}\b.*", _SOME),
    ("grid references (MGRS)", r"\d{1,2}[C-HJ-NP-X]\s?[A-HJ-NP-Z]{2}\s?(\d\d|\d{4}|\d{6}|\d{8}|\d{10})", 0.5),
    ("map tiles (quadkeys)", r"[0-3]{10,24}", _NEARLY_ALL),
    ("what3words addresses", r"(///)?[^\W\d_]{3,}\.[^\W\d_]{3,}\.[^\W\d_]{3,}", _NEARLY_ALL),
)

#: What every text with one of these forms, a pair of coordinates, a geohash or an H3 cell matches.
_PERHAPS = r"°|\+|\..+\.|\d[.,]\d\d|^\s*\d{1,2}[A-Za-z]\s?[A-Za-z]{2}|^\s*[0-9A-Za-z]{4,24}\s*$"


def location_values(values: Values, plane: Plane | None) -> str:
    """Return what kind of locations the values of a column look like, such as "latitudes of the area", or "".

    The answer depends on these values and the stated area, never on the locations that get noise.

    Parameters
    ----------
    values : array or Series
        The values of some rows of a column.
    plane : Plane, optional
        The plane of the stated area and the coordinate system of the data; None if neither is known.

    Examples
    --------
    >>> from geoveil.geo.planes import plane_of
    >>> import pyproj
    >>> plane = plane_of(pyproj.CRS(4326), gv.local(lat=40.75, lon=-73.98, radius=30_000))
    >>> location_values([-73.98123, -73.99], plane), location_values(["dr5ru7", "dr5rud"], plane)
    ('longitudes of the area', 'geohashes')
    >>> location_values([12.5, 8.0], plane)
    ''
    """
    import pandas as pd

    column = in_full(values).dropna().drop_duplicates()
    # Evenly spaced: the first rows of a table may be unlike all others.
    column = column.iloc[np.linspace(0, len(column) - 1, min(len(column), _DISTINCT)).astype(np.intp)]
    for part in _parts(column):
        if held := location_values(part, plane):
            return held
    if not len(column) or pd.api.types.is_bool_dtype(column.dtype) or column.dtype.kind in "mM":
        return ""
    if _are_h3(column):
        return "H3 cells"
    if column.dtype.kind == "c":
        parts = column.to_numpy()
        return _coordinate(parts.real, plane) or _coordinate(parts.imag, plane)
    numbers = numbers_of(column)
    if numbers is not None:
        held = _coordinate(numbers, plane)
        if held or pd.api.types.is_numeric_dtype(column.dtype):
            return held
    return _text(column.astype(str), plane)


def any_location_values(values: Values, plane: Plane | None) -> str:
    """Return what kind of locations some values of a column look like, wherever they are in it, or "".

    `location_values` tells what a column holds as a whole. This one also finds coordinates among other values: the
    first rows may be empty or have a mark such as 0. Its time grows with the number of distinct values.

    Parameters
    ----------
    values, plane
        As for `location_values`, with all rows of the column.

    Examples
    --------
    >>> import pyproj
    >>> from geoveil.geo.planes import plane_of
    >>> plane = plane_of(pyproj.CRS(4326), gv.local(lat=40.75, lon=-73.98, radius=30_000))
    >>> counts, latitudes = np.arange(5000.0), np.linspace(40.6, 40.9, 101)
    >>> any_location_values(np.append(counts, latitudes), plane), any_location_values(counts / 100, plane)
    ('latitudes of the area', '')
    """
    import pandas as pd

    column = in_full(values).dropna().drop_duplicates()
    if held := location_values(column, plane):
        return held
    if not len(column) or column.dtype.kind in "bmMc":
        return ""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return _hidden_coordinate(column.to_numpy(dtype=float), plane)
    texts = column.astype(str)
    # Numbers beside a mark such as "n/a"; a comma may be the decimal mark.
    numbers = pd.to_numeric(texts.str.replace(",", ".", n=1, regex=False), errors="coerce").to_numpy(dtype=float)
    if held := _hidden_coordinate(numbers, plane):
        return held
    # The forms of texts are costly, and most columns have nothing of them.
    like, precise = (texts.str.contains(form).to_numpy(dtype=bool) for form in (_PERHAPS, _PRECISE.pattern))
    for start in range(0, len(column), _DISTINCT):
        block = slice(start, start + _DISTINCT)
        if (like[block].mean() >= _SOME or precise[block].any()) and (held := location_values(texts[block], plane)):
            return held
    return ""


def _hidden_coordinate(numbers: Floats, plane: Plane | None) -> str:
    """Return which coordinate is among other numbers, or "".

    Coordinates of the area are dense in its range and not beside it. Other numbers, such as prices or sorted
    durations, are as dense in three times the range.
    """
    if plane is None:
        return ""
    numbers = numbers[np.isfinite(numbers)]
    for coordinate in (*_ranges(plane.area), *_own_ranges(plane)):
        width = coordinate.high - coordinate.low
        around = numbers[_Range("", coordinate.low - width, coordinate.high + width).holds(numbers)]
        inside = around[coordinate.holds(around)]
        fine = inside != np.round(inside)
        if fine.sum() >= _HIDDEN and len(inside) >= _NEARLY_ALL * len(around):
            return f"{coordinate.name} of the area"
    return ""


def _parts(column: pd.Series) -> list[list[Any]]:
    """Return the first, second, ... parts of tuples, and the two ends of intervals; none of single values."""
    import pandas as pd

    several = [value for value in column if isinstance(value, tuple | pd.Interval)]
    whole = [value if isinstance(value, tuple) else (value.left, value.right) for value in several]
    return [[value[at] for value in whole if at < len(value)] for at in range(max(map(len, whole), default=0))]


def numbers_of(column: pd.Series) -> Floats | None:
    """Return a column as numbers, or None if some of its values are none; a comma may be the decimal mark."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype) or column.dtype.kind == "c":
        return None
    if column.dtype.kind in "mM":
        return np.asarray(column.rank().to_numpy(), dtype=float)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return np.asarray(column.to_numpy().astype(float))
    texts = column.astype(str)
    numbers = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    if np.isnan(numbers).any():
        numbers = pd.to_numeric(texts.str.replace(",", ".", n=1, regex=False), errors="coerce").to_numpy(dtype=float)
    return None if np.isnan(numbers).any() else numbers


@dataclass(frozen=True)
class _Range:
    """The values of a coordinate in the area, with a margin."""

    name: str
    low: float
    high: float
    #: Degrees of longitude, which repeat after 360.
    circular: bool = False

    def holds(self, numbers: Floats) -> NDArray[np.bool_]:
        if self.circular:
            return np.asarray((numbers - self.low) % 360 <= self.high - self.low) & (np.abs(numbers) <= 360)
        return np.asarray((numbers >= self.low) & (numbers <= self.high))


def _coordinate(numbers: Floats, plane: Plane | None) -> str:
    """Return which coordinate numbers look like, or ""."""
    if plane is None or not np.isfinite(numbers).any():
        return ""
    numbers = numbers[np.isfinite(numbers)]
    whole = numbers == np.round(numbers)
    degrees, own = _ranges(plane.area), _own_ranges(plane)
    for coordinate in degrees:
        # Whole numbers are counts, unless they are degrees times a power of ten, as some devices write them.
        fine = np.abs(numbers * 1000 - np.round(numbers * 1000)) > 1e-7
        enough = fine if coordinate.high - coordinate.low > _WIDE else ~whole
        if enough.mean() >= 0.5 and coordinate.holds(numbers).mean() >= _NEARLY_ALL:
            return f"{coordinate.name} of the area"
        for power in (5, 6, 7):
            if whole.all() and np.abs(numbers).min() > 10**power and _all_in(coordinate, numbers / 10**power):
                return f"{coordinate.name} of the area, times 10^{power}"
    for coordinate in own:
        # A range around zero, or a wide one, contains many numbers that are no coordinates.
        narrow = coordinate.high - coordinate.low <= 0.2 * abs(coordinate.high + coordinate.low) / 2
        if narrow and _all_in(coordinate, numbers):
            return f"{coordinate.name} of the area"
    return ""


def _all_in(coordinate: _Range, numbers: Floats) -> bool:
    return bool(coordinate.holds(numbers).mean() >= _NEARLY_ALL)


@functools.lru_cache(maxsize=64)
def _ranges(area: Area) -> tuple[_Range, _Range]:
    """Return the latitudes and longitudes of an area, with a quarter of their width as a margin."""
    if area.disc is not None:
        lat, lon, radius = area.disc
        up = min(1.25 * radius / 111_000, 90.0)
        across = min(up / max(math.cos(math.radians(min(abs(lat) + up, 89.0))), 1e-3), 180.0)
        return _Range("latitudes", lat - up, lat + up), _Range("longitudes", lon - across, lon + across, circular=True)
    import pyproj

    from geoveil.geo.planes import Plane

    lon, lat = _rim(Plane(pyproj.CRS(4326), area)).T
    lon = np.degrees(np.unwrap(np.radians(lon)))
    return _widened("latitudes", lat), _widened("longitudes", lon, circular=True)


def _own_ranges(plane: Plane) -> tuple[_Range, ...]:
    """Return the eastings and northings of the area in the data's own system, if that has any."""
    if plane.crs.is_geographic:
        return ()
    x, y = _rim(plane).T
    return _widened("eastings", x), _widened("northings", y)


def _rim(plane: Plane) -> Floats:
    """Return points on the edge of the square of an area, in the coordinate system of the data."""
    (left, bottom), (right, top) = plane.area.low, plane.area.high
    t = np.linspace(0, 1, 21)
    along, up = left + t * (right - left), bottom + t * (top - bottom)
    ends = np.repeat([left, right], 21), np.repeat([bottom, top], 21)
    edge = np.column_stack([np.concatenate([along, along, ends[0]]), np.concatenate([ends[1], up, up])])
    return np.asarray(plane.out(edge))


def _widened(name: str, numbers: Floats, *, circular: bool = False) -> _Range:
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    margin = (high - low) / 8
    return _Range(name, low - margin, high + margin, circular)


def _text(texts: pd.Series, plane: Plane | None) -> str:
    """Return what kind of locations texts contain, or ""."""
    trimmed = [text.strip() for text in texts]
    for name, form, share in _FORMS:
        if np.mean([re.fullmatch(form, text, re.IGNORECASE) is not None for text in trimmed]) >= share:
            return name
    if plane is None:
        return ""
    lat, lon = _ranges(plane.area)
    pairs = [_PAIR.search(text) for text in trimmed]
    numbers = np.array(
        [[float(part.replace(",", ".")) for part in pair.groups()] for pair in pairs if pair is not None]
    )
    if len(numbers):
        first, second = numbers.T
        inside = (lat.holds(first) & lon.holds(second)) | (lon.holds(first) & lat.holds(second))
        precise = [all(map(_PRECISE.search, pair.groups())) for pair in pairs if pair is not None]
        if inside.sum() >= _SOME * len(trimmed) or (inside & precise).any():
            return "texts with coordinates of the area"
    hashes = [_decoded(text) for text in trimmed if _GEOHASH.fullmatch(text)]
    if len(hashes) >= 0.8 * len(trimmed) and lat.high - lat.low <= 6 * _WIDE:
        across, up = np.array(hashes).T
        if (lat.holds(up) & lon.holds(across)).mean() >= 0.8:
            return "geohashes"
    return ""


def _decoded(geohash: str) -> tuple[float, float]:
    """Return longitude and latitude of the middle of a geohash's cell."""
    bits = "".join(f"{_BASE32.index(letter):05b}" for letter in geohash.lower())
    east, north = bits[::2], bits[1::2]
    return (
        -180 + 360 * (int(east, 2) + 0.5) / 2 ** len(east),
        -90 + 180 * (int(north, 2) + 0.5) / 2 ** len(north),
    )


def _are_h3(column: pd.Series) -> bool:
    """Return whether all values are indices of H3 cells, as texts or as numbers."""
    if column.dtype.kind in "iu":
        cells = [int(value) for value in column if value > 2**58]
    elif column.dtype.kind == "f":
        return False
    else:
        cells = [int(text, 16) for text in map(str, column) if _H3.fullmatch(text.strip())]
    return len(cells) == len(column) and all(map(_is_h3, cells))


def _is_h3(cell: int) -> bool:
    """Return whether a number is an H3 cell: mode 1, one of 122 base cells, a digit below 7 per level, then sevens."""
    level = cell >> 52 & 15
    digits = [cell >> 3 * (14 - at) & 7 for at in range(15)]
    used, unused = digits[:level], digits[level:]
    return cell >> 59 == 1 and (cell >> 45 & 127) < 122 and max(used, default=0) < 7 and min(unused, default=7) == 7
