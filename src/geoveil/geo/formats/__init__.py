"""Readers and writers of location files: CSV, GPX, GeoJSON, GeoParquet, GeoPackage, Shapefile and cabspotting."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter
from geoveil.geo.formats.cabspotting import open_cabspotting
from geoveil.geo.formats.csv import open_csv
from geoveil.geo.formats.gdal import DRIVERS, open_gdal
from geoveil.geo.formats.gpx import open_gpx
from geoveil.geo.formats.guards import encodable
from geoveil.geo.formats.location_file import Batch, LocationFile, readable
from geoveil.geo.formats.parquet import open_parquet

__all__ = ["Batch", "LocationFile", "ending", "open_locations", "opener_of"]

_OPEN: dict[str, Callable[..., LocationFile]] = {
    **dict.fromkeys(DRIVERS, open_gdal),
    **dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), open_csv),
    **dict.fromkeys((".parquet", ".geoparquet"), open_parquet),
    ".gpx": open_gpx,
}


def ending(path: Path) -> str:
    """Return the ending of a file name, in lower case, which determines its format."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def open_locations(path: str | Path, **reading: Any) -> LocationFile:
    """Open a file of locations and read its columns; its ending determines the format.

    Parameters
    ----------
    path : str or Path
        The path of a file, or of the folder of the cabspotting data.
    **reading
        Options of the format: `crs`; for CSV and Parquet `x`, `y`; for CSV `delimiter`, `decimal`, `encoding`; for
        GeoPackage `layer`.
    """
    path = Path(path)
    opener = opener_of(path)
    given = {name: value for name, value in reading.items() if value is not None}
    taken = set(opener.__kwdefaults__ or {})
    for name in sorted(set(given) - taken):
        allowed = f"left out, as files like {path.name} have no such option"
        raise InvalidParameter(name, given[name], allowed, f"They take {', '.join(sorted(taken)) or 'no options'}.")
    with readable(path, ending(path).lstrip(".") or "cabspotting"):
        return opener(path, **given)


def opener_of(path: Path) -> Callable[..., LocationFile]:
    """Return the function that opens a path, which must be a folder or a regular file."""
    encodable(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        remedy = f"Look in {path.absolute().parent}."
        raise FileUnavailable(str(path), "file not found", "a file that exists", remedy) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InvalidFile(str(path), reason, "a file that can be read", "Check its name and permissions.") from None
    if stat.S_ISDIR(found.st_mode):
        return open_cabspotting
    if not stat.S_ISREG(found.st_mode):
        remedy = "Save the data to a file first, or give - to a command."
        raise InvalidFile(str(path), "a pipe or a device", "a file on the disk, as it is read twice", remedy)
    if ending(path) not in _OPEN:
        known = f"a file that ends in one of {', '.join(_OPEN)}"
        raise InvalidFile(str(path), ending(path), known, "Convert it, or rename it if it is one of these.")
    if not found.st_size:
        raise InvalidFile(str(path), "0 bytes", "a file with locations", "The file is empty: create it again.")
    return _OPEN[ending(path)]
