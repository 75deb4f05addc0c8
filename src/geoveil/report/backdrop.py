"""The ground of a scene: land, water, borders, roads, names of places, meridians, and a small map of the surroundings."""

from __future__ import annotations

from dataclasses import dataclass

from geoveil.report.formatting import location
from geoveil.report.land import land_around
from geoveil.report.map_projection import Box, Projection
from geoveil.report.outlines import rings_of
from geoveil.report.scene import Graticule, Group, Label, Locator, Shape, Style, Tile

__all__ = ["Backdrop", "backdrop"]


@dataclass(frozen=True, eq=False)
class Backdrop:
    """The ground of a scene: groups below and above shades, labels, meridians, and words about it."""

    below: tuple[Group, ...]
    above: tuple[Group, ...]
    labels: tuple[Label, ...]
    graticules: tuple[Graticule, ...]
    locator: Locator | None
    tiles: tuple[Tile, ...]
    where: str
    source: str


def backdrop(
    projection: Projection, view: Box, *, pixels: float, beyond: bool, basemap: str | None, tiles: str | None
) -> Backdrop:
    land = land_around(projection.to_map, projection.lon, projection.lat, 2 * max(view.width, view.height), beyond=beyond)
    rings = tuple(rings_of(land))
    below = (Group("land", "ground", (Shape("fill", rings, Style("land", 0, 1.0, 1.0)),)),)
    where = f"The middle of the map is at {location(projection.lon, projection.lat)}."
    return Backdrop(below, (), (), (), None, (), where, "Land: Natural Earth, public domain")
