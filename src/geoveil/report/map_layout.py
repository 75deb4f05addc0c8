"""The layout of a map: layers as shapes in metres of its projection, limited to what can be seen."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.report.colours import SHADES
from geoveil.report.formatting import lengths, location
from geoveil.report.land import Polygons, land_around
from geoveil.report.layers import Floats, Layer
from geoveil.report.map_projection import Box, Projection, view_of
from geoveil.words import counted

if TYPE_CHECKING:
    import shapely

    #: The number of a shade, its smallest and largest value, and the union of its cells.
    Shade: TypeAlias = tuple[int, float, float, shapely.Geometry]

__all__ = ["FEW", "SOME", "MapLayout", "Shapes", "lay_out", "rings_of"]

#: The largest number of points of a layer that are drawn; more could not be distinguished.
MOST = 20_000
#: Up to `FEW` points have their circles shown, and up to `SOME` on demand; of more, one circle represents all.
FEW, SOME = 20, 2_000
#: The largest number of marks with labels; more are drawn as points.
LABELS = 200
#: The width of the square with land in full detail over that of the first view.
_AROUND = 2.0


@dataclass(frozen=True, eq=False)
class Shapes:
    """The shapes of a layer, in metres of the map.

    Parameters
    ----------
    layer : Layer
        The layer.
    colour : int
        The index of its colour among those of its role.
    dots : array
        (m, 2): the positions of points and marks.
    texts : tuple of str
        The labels of the dots, where they are marks.
    rings : tuple of array
        Lines, or the outlines of areas.
    edges : tuple of array
        The rings between which the true edges of areas lie with probability 95%.
    circles, more : array
        (m, 3): the centres and radii of 95% circles that are always shown, and that are shown on demand.
    shades : tuple of (int, float, float, geometry)
        Of a grid: the number of each shade, its smallest and largest value, and the union of its cells.
    radius : str
        The 95% error radius for the legend.
    """

    layer: Layer
    colour: int
    dots: Floats = field(default_factory=lambda: np.empty((0, 2)))
    texts: tuple[str, ...] = ()
    rings: tuple[Floats, ...] = ()
    edges: tuple[Floats, ...] = ()
    circles: Floats = field(default_factory=lambda: np.empty((0, 3)))
    more: Floats = field(default_factory=lambda: np.empty((0, 3)))
    shades: tuple[Shade, ...] = ()
    radius: str = ""

    @property
    def marked(self) -> bool:
        """Whether its dots are marks with labels."""
        return self.layer.kind == "marks" and len(self.dots) <= LABELS

    @property
    def meaning(self) -> str:
        """The meaning of its circles or dashed lines."""
        if self.layer.kind == "area":
            return f"edge within {self.radius}, 95%" + (" (dashed)" if self.edges else "")
        return f"each vertex within {self.radius}, 95%" if self.layer.kind == "lines" else f"95% radius {self.radius}"


@dataclass(frozen=True, eq=False)
class MapLayout:
    """A map, ready to be drawn.

    Parameters
    ----------
    projection : Projection
        Its projection.
    view : Box
        The box that is shown first.
    land : array of polygons
        The land, in metres of the map.
    shapes : tuple of Shapes
        The shapes of each layer, the first at the bottom.
    remarks : tuple of str
        Sentences about the map, such as what is not drawn and why.
    """

    projection: Projection
    view: Box
    land: Polygons
    shapes: tuple[Shapes, ...]
    remarks: tuple[str, ...]


def lay_out(layers: Sequence[Layer], *, beyond: bool = True) -> MapLayout | None:
    """Return the map of some layers; None if no point of them can be drawn.

    Parameters
    ----------
    layers : sequence of Layer
        The layers, the first at the bottom.
    beyond : bool
        Whether the map has land far outside of the first view, for a reader who zooms out.
    """
    if not any(np.isfinite(layer.places).all(axis=1).any() for layer in layers):
        return None
    projection, view = view_of(layers)
    remarks = [f"The middle of the map is at {location(projection.lon, projection.lat)}."]
    seen: dict[str, int] = {}
    shapes = []
    for layer in layers:
        colour = seen.setdefault(layer.role, -1) + 1
        seen[layer.role] = colour
        shapes.append(_shapes(layer, colour, projection, view, remarks))
    land = _land(projection.lon, projection.lat, _AROUND * max(view.width, view.height), beyond)
    if max(view.width, view.height) > 3e6:
        remarks.append("The map is true to scale at its middle.")
    return MapLayout(projection, view, land, tuple(shapes), tuple(remarks))


@functools.lru_cache(maxsize=4)
def _land(lon: float, lat: float, reach: float, beyond: bool) -> Polygons:
    """Return the land of a map, which is the same whenever one release is drawn."""
    land = land_around(Projection(lon, lat).to_map, lon, lat, reach, beyond=beyond)
    land.setflags(write=False)
    return land


def _shapes(layer: Layer, colour: int, projection: Projection, view: Box, remarks: list[str]) -> Shapes:
    flat = projection.to_map(layer.places)
    known: NDArray[np.bool_] = np.asarray(np.isfinite(flat).all(axis=1))
    lost = int((~known).sum())
    if lost:
        remarks.append(f"{layer.name}: {counted(lost)} of {counted(len(known))} points are too far away to be drawn.")
    parts = np.zeros(len(flat), dtype=np.int64) if layer.parts is None else layer.parts
    radius = None if layer.radius is None else np.broadcast_to(np.asarray(layer.radius, dtype=float), len(flat))
    said = "" if radius is None or not len(radius) else lengths((radius.min(), radius.max()))
    if layer.kind == "grid":
        return Shapes(layer, colour, shades=tuple(_shades(layer, flat, parts)))
    if layer.kind == "area":
        rings = tuple(_split(flat[known], parts[known]))
        edges = () if radius is None or len(rings) > FEW else _bands(rings, radius[known], parts[known], view)
        return Shapes(layer, colour, radius=said, rings=rings, edges=edges)
    rows = np.flatnonzero(known)
    if len(rows) > MOST:
        rows = rows[:: -(-len(rows) // MOST)]
        remarks.append(f"{layer.name}: {counted(len(rows))} of {counted(len(known))} points are drawn.")
    circles, more = np.empty((0, 3)), np.empty((0, 3))
    if radius is not None and len(rows):
        every = np.column_stack([flat[rows], radius[rows]])
        if len(rows) <= FEW and layer.kind != "lines":
            circles = every
        else:
            # The circle nearest to the middle of the view represents all.
            circles = every[[np.hypot(*(flat[rows] - view.middle).T).argmin()]]
            more = every if len(rows) <= SOME else more
    if layer.kind == "lines":
        rings = tuple(_split(flat[rows], parts[rows]))
        return Shapes(layer, colour, rings=rings, circles=circles, more=more, radius=said)
    if layer.kind == "marks" and len(rows) > LABELS:
        remarks.append(f"{layer.name}: {counted(len(rows))} labels are too many and are not drawn.")
    texts = tuple(layer.texts[i] for i in rows) if layer.texts else ("",) * len(rows)
    return Shapes(layer, colour, dots=flat[rows], texts=texts, circles=circles, more=more, radius=said)


def rings_of(polygons: shapely.Geometry | Polygons) -> list[Floats]:
    """Return the coordinates of the outlines and holes of polygons."""
    import shapely

    return [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(polygons))]


def _split(flat: Floats, parts: NDArray[np.int64]) -> Iterator[Floats]:
    """Return the rows of each part, in their order."""
    order = np.argsort(parts, kind="stable")
    cuts = np.flatnonzero(np.diff(parts[order])) + 1
    yield from (np.asarray(rows) for rows in np.split(flat[order], cuts) if len(rows))


def _bands(rings: Sequence[Floats], radius: Floats, parts: NDArray[np.int64], view: Box) -> tuple[Floats, ...]:
    """Return the rings between which the true outlines of areas lie, by the largest radius of each area."""
    import shapely

    off = [float(part.max()) for part in _split(radius[:, None], parts)]
    # Rounded or cut corners would not contain the true corner of a box.
    shape = {"join_style": "mitre", "mitre_limit": 5.0}
    bands = []
    for ring, reach in zip(rings, off, strict=True):
        body = shapely.make_valid(shapely.Polygon(ring)) if len(ring) > 2 else shapely.MultiPoint(ring).convex_hull
        # The tolerance is far below what can be seen; vertices between corners stay on their lines.
        body = shapely.simplify(body, max(view.width, view.height) * 1e-5)
        bands += [body.buffer(reach, **shape), body.buffer(-reach, **shape)]
    return tuple(rings_of(np.array(bands)))


def _shades(layer: Layer, flat: Floats, parts: NDArray[np.int64]) -> Iterator[Shade]:
    """Return each shade of a grid: its number, its smallest and largest value, and the union of its cells.

    Shades are equally wide in the square root of the value; the lowest is not drawn.
    """
    import shapely

    assert layer.values is not None
    order, (_, cell) = np.argsort(parts, kind="stable"), np.unique(np.sort(parts), return_inverse=True)
    whole = np.bincount(cell, ~np.isfinite(flat[order]).all(axis=1)) == 0
    cells = shapely.linearrings(np.nan_to_num(flat[order]), indices=cell)
    most = float(layer.values.max(initial=0.0))
    shade = np.rint(np.sqrt(layer.values / most) * SHADES) * whole if most > 0 else np.zeros(len(layer.values))
    for i in range(1, SHADES + 1):
        chosen = shade == i
        if chosen.any():
            low, high = (most * (min(i + half, SHADES) / SHADES) ** 2 for half in (-0.5, 0.5))
            join = shapely.union_all if layer.overlapping else shapely.coverage_union_all
            yield i, low, high, join(shapely.make_valid(shapely.polygons(cells[chosen])))
