"""A map before it is drawn: layers as shapes of a plane in metres, no more of them than can be seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil.report.content import Floats, Layer
from geoveil.report.land import land_around
from geoveil.report.look import SHADES
from geoveil.report.texts import lengths, place
from geoveil.report.view import Box, Projection, view_of
from geoveil.words import counted

__all__ = ["FEW", "SOME", "Shapes", "Sheet", "lay_out", "rings_of"]

#: Places of a layer that are drawn; more cannot be told apart.
MOST = 20_000
#: A circle for each of so many places at once, and on demand; beyond that one stands for all.
FEW, SOME = 20, 2_000
#: So many marks have labels; more are drawn as points.
LABELS = 200
#: How much wider than the first view the land is in full detail.
_AROUND = 2.0


@dataclass(frozen=True, eq=False)
class Shapes:
    """A layer in the plane of the map, in metres.

    Parameters
    ----------
    layer : Layer
        What it shows.
    colour : int
        Which of the colours of its role it has.
    dots : array
        (m, 2): the places of points and marks.
    texts : tuple of str
        Labels of the dots, where they are marks.
    rings : tuple of array
        Lines, or the outlines of areas.
    edges : tuple of array
        Between these rings the edges of areas are with probability 95%.
    circles, more : array
        (m, 3): centre and radius of 95% circles; those always shown, and those shown on demand.
    shades : tuple of (int, float, float, geometry)
        Of a grid: which of the shades it is, its least and its largest number, and its cells.
    radius : str
        The 95% radius for the legend.
    """

    layer: Layer
    colour: int
    dots: Floats = field(default_factory=lambda: np.empty((0, 2)))
    texts: tuple[str, ...] = ()
    rings: tuple[Floats, ...] = ()
    edges: tuple[Floats, ...] = ()
    circles: Floats = field(default_factory=lambda: np.empty((0, 3)))
    more: Floats = field(default_factory=lambda: np.empty((0, 3)))
    shades: tuple[tuple[int, float, float, Any], ...] = ()
    radius: str = ""

    @property
    def marked(self) -> bool:
        """Whether its dots are marks with labels."""
        return self.layer.kind == "marks" and len(self.dots) <= LABELS

    @property
    def meaning(self) -> str:
        """What its circles or dashed lines mean."""
        if self.layer.kind == "area":
            return f"edge within {self.radius}, 95%" + (" (dashed)" if self.edges else "")
        return f"each vertex within {self.radius}, 95%" if self.layer.kind == "lines" else f"95% radius {self.radius}"


@dataclass(frozen=True, eq=False)
class Sheet:
    """A map before it is drawn.

    Parameters
    ----------
    projection : Projection
        Its plane.
    view : Box
        What of it is shown first.
    land : array of polygons
        In the plane.
    shapes : tuple of Shapes
        Those of each layer, the first at the bottom.
    remarks : tuple of str
        What is not drawn, and why.
    """

    projection: Projection
    view: Box
    land: Any
    shapes: tuple[Shapes, ...]
    remarks: tuple[str, ...]


def lay_out(layers: Sequence[Layer]) -> Sheet | None:
    """The map of some layers; None if they have no place that a map could show."""
    if not any(np.isfinite(layer.places).all(axis=1).any() for layer in layers):
        return None
    projection, view = view_of(layers)
    remarks = [f"The middle of the map is at {place(projection.lon, projection.lat)}."]
    seen: dict[str, int] = {}
    shapes = []
    for layer in layers:
        colour = seen.setdefault(layer.role, -1) + 1
        seen[layer.role] = colour
        shapes.append(_shapes(layer, colour, projection, view, remarks))
    land = land_around(projection.to_map, projection.lon, projection.lat, _AROUND * max(view.width, view.height))
    if max(view.width, view.height) > 3e6:
        remarks.append("The map is true to scale at its middle.")
    return Sheet(projection, view, land, tuple(shapes), tuple(remarks))


def _shapes(layer: Layer, colour: int, projection: Projection, view: Box, remarks: list[str]) -> Shapes:
    flat = projection.to_map(layer.places)
    known: NDArray[np.bool_] = np.asarray(np.isfinite(flat).all(axis=1))
    lost = int((~known).sum())
    if lost:
        remarks.append(f"{layer.name}: {counted(lost)} of {counted(len(known))} places are beyond the map.")
    parts = np.zeros(len(flat), dtype=np.int64) if layer.parts is None else layer.parts
    radius = None if layer.radius is None else np.broadcast_to(np.asarray(layer.radius, dtype=float), len(flat))
    said = "" if radius is None or not len(radius) else lengths((radius.min(), radius.max()))
    if layer.kind == "grid":
        return Shapes(layer, colour, shades=tuple(_shades(layer, flat, parts)))
    if layer.kind == "area":
        return Shapes(layer, colour, radius=said, **_areas(flat[known], parts[known], radius, known, view))
    rows = np.flatnonzero(known)
    if len(rows) > MOST:
        rows = rows[:: -(-len(rows) // MOST)]
        remarks.append(f"{layer.name}: {counted(len(rows))} of {counted(len(known))} places are drawn.")
    circles, more = np.empty((0, 3)), np.empty((0, 3))
    if radius is not None and len(rows):
        every = np.column_stack([flat[rows], radius[rows]])
        if len(rows) <= FEW and layer.kind != "lines":
            circles = every
        else:
            # The one nearest to the middle of the view stands for all.
            circles = every[[np.hypot(*(flat[rows] - view.middle).T).argmin()]]
            more = every if len(rows) <= SOME else more
    if layer.kind == "lines":
        rings = tuple(_split(flat[rows], parts[rows]))
        return Shapes(layer, colour, rings=rings, circles=circles, more=more, radius=said)
    if layer.kind == "marks" and len(rows) > LABELS:
        remarks.append(f"{layer.name}: {counted(len(rows))} labels are too many to be drawn.")
    texts = tuple(layer.texts[i] for i in rows) if layer.texts else ("",) * len(rows)
    return Shapes(layer, colour, dots=flat[rows], texts=texts, circles=circles, more=more, radius=said)


def rings_of(polygons: Any) -> list[Floats]:
    """The outlines and holes of polygons, as places."""
    import shapely

    return [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(polygons))]


def _split(flat: Floats, parts: NDArray[np.int64]) -> Iterator[Floats]:
    """The places of each part, in the order in which they came."""
    order = np.argsort(parts, kind="stable")
    cuts = np.flatnonzero(np.diff(parts[order])) + 1
    yield from (np.asarray(rows) for rows in np.split(flat[order], cuts) if len(rows))


def _areas(flat: Floats, parts: NDArray[np.int64], radius: Any, known: Any, view: Box) -> dict[str, Any]:
    """Outlines, and the bands in which the true ones are; of many areas, the outlines alone."""
    import shapely

    rings = tuple(_split(flat, parts))
    if radius is None or len(rings) > FEW:
        return {"rings": rings}
    off = [float(part.max()) for part in _split(radius[known][:, None], parts)]
    # Corners that are cut off would not hold the corner of a box.
    shape = {"join_style": "mitre", "mitre_limit": 5.0}
    bands = []
    for ring, reach in zip(rings, off, strict=True):
        body = shapely.make_valid(shapely.Polygon(ring)) if len(ring) > 2 else shapely.MultiPoint(ring).convex_hull
        # Far below what can be seen, so that vertices between corners stay on their lines.
        body = shapely.simplify(body, max(view.width, view.height) * 1e-5)
        bands += [body.buffer(reach, **shape), body.buffer(-reach, **shape)]
    return {"rings": rings, "edges": tuple(rings_of(np.array(bands)))}


def _shades(layer: Layer, flat: Floats, parts: NDArray[np.int64]) -> Iterator[tuple[int, float, float, Any]]:
    """The cells of each shade as one geometry: shades are even in the root of the number, the least is not drawn."""
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
            yield i, low, high, shapely.coverage_union_all(shapely.polygons(cells[chosen]))
