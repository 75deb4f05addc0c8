"""Map tiles, only from a server that the user has named: they are fetched once and become part of the map.

A tile server learns the area of the map, the address of this computer and the time. It learns nothing when somebody
opens the page later.
"""

from __future__ import annotations

import math

import numpy as np

from geoveil._version import __version__
from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.report.map_projection import Box, Projection
from geoveil.report.scene import Tile

__all__ = ["check_tiles", "fetch_tiles", "source_of_tiles"]

#: The pixels of a tile, the largest number of tiles of a map, the finest level, and seconds to wait for one.
_SIDE, _MOST, _FINEST, _WAIT = 256, 64, 19, 20.0
#: The width of the widest map, in metres, whose tiles fit together; and the latitude where Web Mercator ends.
_WIDEST, _NORTHMOST = 1e6, 85.05
#: The extent that tiles cover, divided by that of the first view.
_AROUND = 1.4


def check_tiles(url: str, argument: str = "tiles") -> None:
    """Refuse an address that cannot be the address of map tiles."""
    import urllib.parse

    scheme = urllib.parse.urlsplit(url).scheme
    if scheme not in ("https", "http", "file") or not all(part in url for part in ("{z}", "{x}", "{y}")):
        remedy = "Use an address such as https://tiles.example.org/{z}/{x}/{y}.png."
        raise InvalidParameter(argument, url, "an https address with {z}, {x} and {y}", remedy)


def source_of_tiles(url: str) -> str:
    """Return the name of a tile server, for the line that names the sources of a map."""
    import urllib.parse

    return f"Tiles: {urllib.parse.urlsplit(url).hostname or 'local files'}"


def fetch_tiles(url: str, projection: Projection, view: Box, pixels: float) -> tuple[Tile, ...]:
    """Return the tiles of a map and its margins, at the level whose pixels are about as large as those of the map."""
    from concurrent.futures import ThreadPoolExecutor

    check_tiles(url)
    if max(view.width, view.height) > _WIDEST or abs(projection.lat) > _NORTHMOST - 1:
        shown = f"{view.width / 1000:,.0f} km at latitude {projection.lat:.0f}"
        raise InvalidParameter("tiles", shown, "a map of at most 1,000 km, away from the poles", "Leave tiles out.")
    finest = _level(projection.lat, max(view.width, view.height) / pixels)
    for level in range(finest, -1, -1):
        found = _covering(projection, view, level)
        if len(found) <= _MOST:
            break
    with ThreadPoolExecutor(4) as pool:
        images = list(pool.map(lambda at: _fetched(url, level, *at), found))
    return tuple(Tile(image, _matrix(projection, level, *at)) for image, at in zip(images, found, strict=True))


def _level(lat: float, pixel: float) -> int:
    """Return the level whose pixels are at most a little larger than `pixel` metres."""
    whole = 2 * math.pi * 6378137.0 * math.cos(math.radians(lat)) / _SIDE
    return min(max(math.ceil(math.log2(whole / pixel) - 0.4), 0), _FINEST)


def _covering(projection: Projection, view: Box, level: int) -> list[tuple[int, int]]:
    """Return the column and row of each tile of a level that lies in a view or its margins."""
    half = np.array([view.width, view.height]) / 2 * _AROUND
    edge = np.linspace(-1, 1, 9)
    across, down = np.meshgrid(edge, edge)
    lon, lat = projection.all_to_degrees(np.column_stack([across.ravel(), down.ravel()]) * half + view.middle).T
    lon = projection.lon + (lon - projection.lon + 180) % 360 - 180
    count = 2**level
    column = np.floor((lon + 180) / 360 * count).astype(int)
    lat = np.radians(np.clip(lat, -_NORTHMOST, _NORTHMOST))
    row = np.clip(np.floor((1 - np.arcsinh(np.tan(lat)) / np.pi) / 2 * count).astype(int), 0, count - 1)
    return [(int(x), int(y)) for y in range(row.min(), row.max() + 1) for x in range(column.min(), column.max() + 1)]


def _matrix(
    projection: Projection, level: int, column: int, row: int
) -> tuple[float, float, float, float, float, float]:
    """Return the matrix that takes the unit square, with y to the south, to the place of a tile on the map."""
    count = 2**level
    x = np.array([column, column + 1, column]) / count
    y = np.array([row, row, row + 1]) / count
    lat = np.degrees(np.arctan(np.sinh(np.pi * (1 - 2 * y))))
    start, east, south = projection.to_map(np.column_stack([360 * x - 180, lat])) * [1, -1]
    (a, b), (c, d), (e, f) = east - start, south - start, start
    return float(a), float(b), float(c), float(d), float(e), float(f)


def _fetched(url: str, level: int, column: int, row: int) -> bytes:
    import urllib.request

    address = url.replace("{z}", str(level)).replace("{x}", str(column % 2**level)).replace("{y}", str(row))
    request = urllib.request.Request(address, headers={"User-Agent": f"geoveil/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=_WAIT) as answer:
            image: bytes = answer.read()
    except OSError as problem:
        raise InvalidFile(
            address, str(problem), "a tile that can be fetched", "Check the address of --tiles."
        ) from None
    if not image.startswith((b"\x89PNG", b"\xff\xd8", b"RIFF")):
        raise InvalidFile(address, image[:12], "a PNG, JPEG or WebP image", "Use an address of raster tiles.")
    return image
