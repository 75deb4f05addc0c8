"""The ground around a location: land, water, borders, roads and names in metres of a map, finest nearby."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geoveil.report.ground.names import Places, places_around, where
from geoveil.report.ground.packed import has_ground, packed_file
from geoveil.report.layers import Floats, Geometries

__all__ = ["DETAILS", "FARTHEST", "Ground", "Ranked", "ground_around"]

#: Metres from the middle of an azimuthal map beyond which nothing is drawn: shapes are unrecognisable there.
FARTHEST = 1.5e7
#: The reach of a map divided by the size of its smallest details, which is about a pixel of the first view; the same
#: for the ground outside of the first view.
DETAILS, _AROUND = 1000.0, 600.0
#: The reach of each level of detail, divided by that of the next finer one.
_COARSER = 8.0
#: The smallest reach of a map, in metres, at which roads of each rank are drawn, and the largest at which any roads
#: are. Their straight parts are at most 1.5, 5, 15 and 40 km long; their real course bends, as a closer view would
#: show.
_FROM, _ROADS = np.array([0.0, 4e3, 2.5e4, 8e4]), 2.5e5
#: In metres: roads shorter than the first number that join no others look like errors and are left out; lines join if
#: they are closer to each other than the second number.
_STUMP, _JOINED = 4e3, 200.0
#: Metres in a degree of a meridian.
_DEGREE = 111_195
#: The files of geoveil-ground.
_LAYERS = ("land", "water", "borders", "rivers", "roads")


class Ranked(NamedTuple):
    """Shapes in metres of a map, and the rank of each: 0 is the most important."""

    shapes: Geometries
    ranks: NDArray[np.int64]

    def of_rank(self, rank: int) -> Geometries:
        """Return the shapes of one rank."""
        return np.asarray(self.shapes[self.ranks == rank])


@dataclass(frozen=True, eq=False)
class Ground:
    """What lies around a location, in metres of a map. Without geoveil-ground, names of places on a plain sheet."""

    #: Land, and the lakes and wide rivers on it; the plain sheet is land.
    land: Geometries
    water: Geometries
    #: Borders of countries, of rank 0, and of states and provinces, of rank 1.
    borders: Ranked
    #: Rivers and main roads.
    rivers: Ranked
    roads: Ranked
    #: Cities, towns and villages, the most important first.
    places: Places
    #: Where the location is, in a sentence.
    where: str


def ground_around(
    to_map: Callable[[Floats], Floats],
    lon: float,
    lat: float,
    reach: float,
    *,
    beyond: bool = True,
    farthest: float = FARTHEST,
    details: float = DETAILS,
) -> Ground:
    """Return the ground around a location, in full detail nearby and coarser farther away.

    Without geoveil-ground, only names of places are known.

    Parameters
    ----------
    to_map : callable
        Projects (n, 2) degrees to metres of the map, and (lon, lat) to (0, 0).
    lon, lat : float
        The middle of the map, in degrees.
    reach : float
        Half the side of the square with full detail, in metres.
    beyond : bool
        Whether the ground outside of this square is returned as well.
    farthest : float
        Half the side of the square beyond which nothing is returned, in metres.
    details : float
        The reach over the size of the smallest details.

    Examples
    --------
    >>> from geoveil.report.map_projection import Projection
    >>> kansas = Projection(-98.0, 39.0)
    >>> ground = ground_around(kansas.to_map, -98.0, 39.0, 1000.0, beyond=False)
    >>> ground.where, [float(piece.area) for piece in ground.land]
    ('13 km east of Lincoln, Kansas, United States.', [4000000.0])
    """
    squares, reach = [(0.0, min(reach, FARTHEST))], min(reach, FARTHEST)
    while beyond and squares[-1][1] < min(farthest, FARTHEST):
        squares.append((squares[-1][1], min(_COARSER * squares[-1][1], farthest, FARTHEST)))

    def shapes_of(name: str) -> Ranked:
        # Outside of the view there would be many roads, which tell a reader no more than towns do.
        drawn = squares[: reach <= _ROADS] if name == "roads" else squares
        parts = [(np.empty(0, dtype=object), np.empty(0, dtype=np.int64))]
        for inner, outer in drawn:
            parts.append(_square(name, to_map, lon, lat, inner, outer, outer / (_AROUND if inner else details)))
        return Ranked(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    layers = tuple(map(shapes_of, _LAYERS)) if has_ground() else _sheet(squares[-1][1])
    land, water, borders, rivers, roads = layers
    places = places_around(to_map, lon, lat, squares)
    return Ground(land.shapes, water.shapes, borders, rivers, roads, places, where(lon, lat))


def _sheet(reach: float) -> tuple[Ranked, ...]:
    """Return layers with nothing on them, but for one piece of land as wide as the map."""
    import shapely

    nothing = Ranked(np.empty(0, dtype=object), np.empty(0, dtype=np.int64))
    sheet = Ranked(np.array([shapely.box(-reach, -reach, reach, reach)]), np.zeros(1, dtype=np.int64))
    return sheet, *[nothing] * (len(_LAYERS) - 1)


def _square(
    name: str, to_map: Callable[[Floats], Floats], lon: float, lat: float, inner: float, reach: float, detail: float
) -> tuple[Geometries, NDArray[np.int64]]:
    """Return the shapes of a file in a square, without those in the inner square, and their ranks."""
    import shapely

    # A shape may lie in a corner of the square.
    shapes, ranks = packed_file(name).near(detail, lon, lat, min(1.5 * reach, FARTHEST))
    if name == "roads":
        drawn = _FROM[ranks] <= reach
        shapes, ranks = shapes[drawn], np.zeros_like(ranks[drawn])
    if not len(shapes):
        return shapes, ranks
    area = shapely.get_type_id(shapes[0]) == 3
    cells = area and packed_file(name).level(detail) == 0
    if cells:
        # Pieces with so short an outline are smaller than a detail.
        large = shapely.length(shapes) > 3.5 * detail / _DEGREE
        shapes = _simplified_cells(shapes[large], detail / 2e5)
    else:
        shapes = shapely.simplify(shapes, detail / 2e5, preserve_topology=False)
        some = shapely.length(shapes) > 0
        shapes, ranks = shapes[some], ranks[some]
    # Edges are straight in degrees, and bent on the map.
    flat = shapely.transform(shapely.segmentize(shapes, 0.1 if cells else 1.0), to_map)
    if name == "roads":
        flat, ranks = (column[_without_stumps(flat)] for column in (flat, ranks))
    flat = shapely.clip_by_rect(_valid(flat) if area else flat, -reach, -reach, reach, reach)
    if area:
        # Pieces are joined, so that their edges are not seen; cells nearby also where they do not quite meet.
        joined = shapely.union_all(_valid(flat), grid_size=detail / 8 if cells and not inner else None)
        flat, ranks = np.array([joined]), np.zeros(1, dtype=np.int64)
    if inner:
        flat = shapely.difference(flat, shapely.box(-inner, -inner, inner, inner))
    flat, row = shapely.get_parts(shapely.simplify(flat, detail), return_index=True)
    flat, inside = shapely.get_parts(flat, return_index=True)
    size, least = (shapely.area(flat), detail**2) if area else (shapely.length(flat), 0.0)
    kept = (shapely.get_type_id(flat) == (3 if area else 1)) & (size > least)
    return flat[kept], ranks[row[inside][kept]]


def _simplified_cells(cells: Geometries, tolerance: float) -> Geometries:
    """Return cells with simplified coasts, `tolerance` degrees off at most; cells that vanish are dropped.

    Corners on the edges of cells are kept: a gap between neighbouring cells would look like a coast.
    """
    import shapely

    if not len(cells):
        return cells
    polygon = shapely.GeometryType.POLYGON
    _, corners, (ends, owners) = shapely.to_ragged_array(cells)
    fixed = (corners == np.rint(corners)).any(axis=1)
    fixed[ends[:-1]] = fixed[ends[1:] - 1] = True
    at = np.flatnonzero(fixed)
    begins, stops = at[:-1], at[1:] + 1
    # From the last corner of a ring no line leads to the first of the next.
    within = ~np.isin(stops - 1, ends[:-1])
    begins, stops = begins[within], stops[within]
    sizes = stops - begins
    rows = np.repeat(stops - np.cumsum(sizes), sizes) + np.arange(sizes.sum())
    lines = shapely.linestrings(corners[rows], indices=np.repeat(np.arange(len(sizes)), sizes))
    coasts, line = shapely.get_coordinates(
        shapely.simplify(lines, tolerance, preserve_topology=False), return_index=True
    )
    # A line begins where the one before it ended: that corner is kept once.
    ring = np.searchsorted(ends, begins, side="right") - 1
    kept = np.r_[line[1:] == line[:-1], True] | np.isin(stops, ends)[line]
    coasts, ring = coasts[kept], ring[line[kept]]
    count = np.bincount(ring, minlength=len(ends) - 1)
    owner = np.searchsorted(owners, np.arange(len(count)), side="right") - 1
    whole = (count >= 4) & (count[owners[owner]] >= 4)
    sizes = np.bincount(owner[whole], minlength=len(cells))
    offsets = (np.r_[0, np.cumsum(count[whole])], np.r_[0, np.cumsum(sizes[sizes > 0])])
    return np.asarray(shapely.from_ragged_array(polygon, coasts[whole[ring]], offsets), dtype=object)


def _without_stumps(roads: Geometries) -> NDArray[np.bool_]:
    """Return which lines belong to roads that are long enough, counted with all lines that they join."""
    import shapely

    pairs = shapely.STRtree(roads).query(roads, predicate="dwithin", distance=_JOINED)
    road = _components(len(roads), *pairs)
    return np.asarray(np.bincount(road, shapely.length(roads))[road] >= _STUMP)


def _components(count: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smallest member of the component of each of `count` nodes; edges are given in both directions.

    scipy has this too, but its import takes longer than all roads of a map.

    Examples
    --------
    >>> _components(5, np.array([0, 3, 3, 4]), np.array([3, 0, 4, 3])).tolist()
    [0, 1, 2, 0, 0]
    """
    least = np.arange(count)
    while True:
        before = least.copy()
        np.minimum.at(least, first, least[second])
        # A node takes the label of its label's component, so that long chains need few rounds.
        least = least[least]
        if np.array_equal(least, before):
            return least


def _valid(shapes: Geometries) -> Geometries:
    """Return shapes after those that are not valid were repaired, in the same array."""
    import shapely

    wrong = ~shapely.is_valid(shapes)
    shapes[wrong] = shapely.make_valid(shapes[wrong])
    return shapes
