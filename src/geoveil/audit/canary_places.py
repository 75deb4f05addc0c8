"""Where canaries are: pairs of places A and B, in all directions, at several distances and places of the area.

Most pairs are so far apart that a tool which keeps its claim leaves them hard to tell apart. The others are two metres
apart, on both sides of an edge of a grid: whoever tells those apart knows that the tool rounds what it reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np

from geoveil.errors import InvalidParameter, Message
from geoveil.geo.coordinate_systems import GEOGRAPHIC, system_of
from geoveil.geo.geometries import Floats, Index
from geoveil.geo.planes import Plane
from geoveil.privacy import CGP, GP

__all__ = [
    "BESIDE",
    "DECIMALS",
    "GRIDS",
    "PAIR",
    "Sites",
    "at_pairs",
    "degrees_plane",
    "quarter_of",
    "strength_of",
    "usual_distance",
]

#: Decimals of the degrees of canaries: about a centimetre.
DECIMALS = 7
#: The name of pairs at a distance; others have the name of a grid.
PAIR = "pair"
#: Distances of pairs, in units of that at which the claim is tested best.
_APART = (0.5, 0.75, 1.0)
#: The share of canaries at the edges of grids.
_AT_EDGES = 0.35
#: Canaries in each pair of places: those on one side have exactly the same coordinates.
_TOGETHER = 8
#: Half the distance of places at the edge of a grid, in metres, and its largest value in units of the usual distance.
BESIDE, _NEAR = 1.0, 0.01
#: The names of the quarters of an area.
_QUARTERS = ("east", "north", "west", "south")

#: A function from a longitude and a latitude to the nearest corner of a grid, and a step in degrees across it.
Corner = Callable[[float, float], tuple[float, float, float, float]]


@dataclass(frozen=True)
class Edges:
    """A grid to whose cells tools round places.

    Parameters
    ----------
    name : str
        What a tool that rounds to it does.
    corner : callable
        From a longitude and a latitude to a corner or edge nearby, and the direction across it, in degrees.
    share : float
        Its share of the canaries at edges: a grid with small cells needs more.
    needs : str, optional
        The library that knows the grid.
    """

    name: str
    corner: Corner
    share: float
    needs: str | None = None


def _rounded(decimals: int) -> Corner:
    """Return the corners between numbers that are rounded to different ones."""
    step = 10.0**-decimals

    def corner(lon: float, lat: float) -> tuple[float, float, float, float]:
        return (math.floor(lon / step) + 0.5) * step, (math.floor(lat / step) + 0.5) * step, 1.0, 1.0

    return corner


def _multiples(step_lon: float, step_lat: float) -> Corner:
    """Return the corners of cells whose edges are multiples of a number of degrees."""

    def corner(lon: float, lat: float) -> tuple[float, float, float, float]:
        return round(lon / step_lon) * step_lon, round(lat / step_lat) * step_lat, 1.0, 1.0

    return corner


def _tile(lon: float, lat: float, zoom: int = 14) -> tuple[float, float, float, float]:
    """Return the corner of a tile of web maps; tiles of higher zooms have it too."""
    count = 2**zoom
    north = math.asinh(math.tan(math.radians(lat))) / math.pi
    x, y = round((lon + 180) / 360 * count), round((1 - north) / 2 * count)
    return x / count * 360 - 180, math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * y / count)))), 1.0, 1.0


def _hexagon(resolution: int) -> Corner:
    """Return the middle of an edge of an H3 cell, and the direction across it."""

    def corner(lon: float, lat: float) -> tuple[float, float, float, float]:
        import h3

        ring = h3.cell_to_boundary(h3.latlng_to_cell(lat, lon, resolution))
        (south, west), (north, east) = ring[0], ring[1]
        shrink = math.cos(math.radians(lat))
        # Across an edge that runs (east - west, north - south), in metres of the ground.
        return (west + east) / 2, (south + north) / 2, (north - south) / shrink, -(east - west) * shrink

    return corner


#: The grids, and what share of the canaries at edges is at each: the finer, the more are needed beside the noise.
GRIDS = (
    Edges("rounded to 3 decimals", _rounded(3), 0.40),
    Edges("truncated to 2 or 3 decimals", _multiples(0.01, 0.01), 0.25),
    Edges("rounded to 2 decimals", _rounded(2), 0.08),
    # Corners of cells of 6 characters are corners of all longer ones.
    Edges("of geohash cells with 6 or more characters", _multiples(360 / 2**15, 180 / 2**15), 0.13),
    Edges("of tiles of web maps", _tile, 0.03),
    Edges("of H3 cells of resolution 8", _hexagon(8), 0.03, "h3"),
    Edges("of H3 cells of resolution 9", _hexagon(9), 0.08, "h3"),
)


@dataclass(frozen=True, eq=False)
class Sites:
    """Pairs of places, and who is at which pair.

    Parameters
    ----------
    ends : (s, 2, 2) array
        Longitude and latitude of A and of B of each pair, in degrees.
    kinds : sequence of str
        "pair", or the name of the grid on whose edge the pair is.
    site : array of int
        The pair of each canary.
    """

    ends: Floats = field(repr=False)
    kinds: Sequence[str] = field(repr=False)
    site: Index = field(repr=False)

    @classmethod
    def chosen(
        cls, count: int, claim: CGP | GP, plane: Plane, rng: np.random.Generator, around: Floats | None = None
    ) -> Sites:
        """Choose pairs for so many canaries.

        Parameters
        ----------
        count : int
            The number of canaries.
        claim : CGP or GP
            What the tool claims, from which the distances follow.
        plane : Plane
            The plane of the area, and of degrees.
        rng : Generator
            The source of the places.
        around : (m, 2) array, optional
            Places in metres of the plane near which the pairs are, such as those of a crowd.
        """
        usual, area = usual_distance(claim), plane.area
        free = 0.9 * area.radius - usual
        if free < usual:
            allowed = f"at least {2.3 * usual:,.0f} m in radius, for places {usual:,.0f} m apart"
            raise InvalidParameter("area", area.name, allowed, Message("Give a larger {area}."))
        edges = count - at_pairs(count)
        pairs = max(1, math.ceil((count - edges) / _TOGETHER))
        # In all directions evenly, whatever the number of pairs; in no order.
        angles = rng.permutation((np.arange(pairs) + rng.random()) * 2 * np.pi / pairs)
        apart = usual * np.array(_APART)[rng.permutation(np.arange(pairs) % len(_APART))]
        half = apart[:, None] / 2 * np.column_stack([np.cos(angles), np.sin(angles)])
        middles = _middles(pairs, plane, rng, free, usual, around)
        ends = [plane.degrees(middles - half), plane.degrees(middles + half)]
        kinds, site = [PAIR] * pairs, rng.permutation(np.arange(count - edges) % pairs)
        degrees = plane.degrees(_middles(edges, plane, rng, free, usual, around)) if edges else np.empty((0, 2))
        beside = min(BESIDE, _NEAR * usual)
        names, one, other = _at_edges(degrees, beside, plane, rng)
        both = np.stack([np.concatenate([ends[0], one]), np.concatenate([ends[1], other])], axis=1)
        return cls(np.round(both, DECIMALS), [*kinds, *names], np.concatenate([site, pairs + np.arange(edges)]))

    def places(self, sides: Index) -> Floats:
        """Return the longitude and latitude of each canary, given its side: 0 for A, 1 for B."""
        return np.asarray(self.ends[self.site, sides])

    def metres(self, plane: Plane) -> Floats:
        """Return the ends of pairs in metres of a plane, as an array like `ends`."""
        return plane.into(self.ends.reshape(-1, 2)).reshape(self.ends.shape)


def _middles(
    count: int, plane: Plane, rng: np.random.Generator, free: float, usual: float, around: Floats | None
) -> Floats:
    """Return places spread over the area, or near given ones."""
    angles, reach = rng.random(count) * 2 * np.pi, np.sqrt(rng.random(count))
    way = reach[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    if around is None or not len(around):
        return np.asarray(plane.area.middle + free * way)
    near = around[rng.integers(len(around), size=count)] + 1.5 * usual * way
    away = near - plane.area.middle
    # Places of a crowd at the rim are moved inwards.
    return np.asarray(plane.area.middle + away * np.minimum(1, free / np.maximum(np.hypot(*away.T), 1))[:, None])


def _at_edges(
    degrees: Floats, beside: float, plane: Plane, rng: np.random.Generator
) -> tuple[list[str], Floats, Floats]:
    """Return the grid of each place, and two places near it on both sides of an edge of that grid."""
    known = [grid for grid in GRIDS if grid.needs is None or find_spec(grid.needs) is not None]
    shares = np.array([grid.share for grid in known])
    bounds = np.round(np.cumsum(shares) / shares.sum() * len(degrees)).astype(int)
    which = np.searchsorted(bounds, np.arange(len(degrees)), side="right")
    one, other, names = np.empty_like(degrees), np.empty_like(degrees), []
    for row, (lon, lat) in enumerate(degrees.tolist()):
        grid = known[int(which[row])]
        east, north, right, up = grid.corner(lon, lat)
        if plane.area.outside(plane.into(np.array([[east, north]])), times=0.99)[0]:
            # The next corner of a coarse grid is not in a small area.
            grid = GRIDS[0]
            east, north, right, up = grid.corner(lon, lat)
        # A step of `beside` metres along (right, up), whose lengths are those of degrees on the ground.
        step = beside / (111_195 * math.hypot(right * math.cos(math.radians(lat)), up))
        sign = 1 if rng.random() < 0.5 else -1
        one[row] = east - sign * step * right, north - sign * step * up
        other[row] = east + sign * step * right, north + sign * step * up
        names.append(grid.name)
    return names, one, other


def at_pairs(count: int) -> int:
    """Return how many of so many canaries are at a distance from each other, and not at the edges of grids."""
    return count - round(count * _AT_EDGES)


def degrees_plane(plane: Plane) -> Plane:
    """Return the plane of the same area for longitudes and latitudes."""
    return Plane(system_of("crs", GEOGRAPHIC), plane.area)


def usual_distance(claim: CGP | GP) -> float:
    """Return the distance in metres at which a claim is tested best: 2/√(2ρ), or 2/ε."""
    budget = float(claim.budget)
    return 2 / math.sqrt(2 * budget) if claim.power == 2 else 2 / budget


def strength_of(claim: CGP | GP) -> float:
    """Return 1/√ρ, or 1/ε: the length in metres at which a claim says something."""
    budget = float(claim.budget)
    return float(budget ** (-1 / claim.power))


def quarter_of(places: Floats, plane: Plane) -> list[str]:
    """Return the part of the area in which each place is: "middle", "north" and so on, given metres."""
    away = places - plane.area.middle
    turn = np.round(np.arctan2(away[:, 1], away[:, 0]) / (np.pi / 2)).astype(int) % 4
    inner = np.hypot(*away.T) < plane.area.radius / 3
    return ["middle" if near else _QUARTERS[int(way)] for near, way in zip(inner, turn, strict=True)]
