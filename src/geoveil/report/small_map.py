"""A small map as SVG that needs no script and stays small: many points are counted in squares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from numpy.typing import NDArray

from geoveil.report.formatting import lengths, round_below
from geoveil.report.land import land_around
from geoveil.report.layers import Floats, Layer, Role
from geoveil.report.map_layout import rings_of
from geoveil.report.map_projection import Projection, view_of
from geoveil.words import counted, metres

__all__ = ["small_map"]

#: The size of the map and the side of the squares in which points are counted, in pixels.
_WIDTH, _HEIGHT, _SIDE = 360, 240, 4
#: The largest number of points that are drawn one by one, of places with a 95% circle, and of labels.
_DOTS, _CIRCLES, _LABELS = 600, 20, 10
#: The largest number of lines or areas, and of their vertices, that are drawn.
_OUTLINES, _VERTICES = 100, 3000
#: The number of points from which the part of the map that is shown is chosen.
_VIEWED = 10_000
#: The number of shades of squares.
_SHADES = 5
#: Colours that are seen on light and on dark backgrounds.
_COLOURS: dict[Role, str] = {"released": "#0d9488", "public": "currentColor", "truth": "#dc2626"}


@dataclass(frozen=True)
class _Frame:
    """The part of the map that is shown: its projection, the north-western corner, and metres in a pixel."""

    projection: Projection
    west: float
    north: float
    pixel: float

    def pixels(self, flat: Floats) -> Floats:
        """Return metres of the map as pixels east and south of the north-western corner."""
        return np.asarray((flat - [self.west, self.north]) * [1 / self.pixel, -1 / self.pixel])


def small_map(layers: Sequence[Layer]) -> str:
    """Return a map and its legend as HTML of at most some ten kilobytes; an empty text if no layer has a location.

    Examples
    --------
    >>> from geoveil.report import Layer
    >>> station = Layer("station", [[-122.39, 37.78]], "marks", "public", texts=("Caltrain",))
    >>> "◆ station" in small_map([station]), small_map([])
    (True, '')
    """
    if not any(np.isfinite(layer.places).all(axis=1).any() for layer in layers):
        return ""
    projection, view = view_of([_thinned(layer) for layer in layers])
    x, y = view.middle
    pixel = max(view.width / _WIDTH, view.height / _HEIGHT)
    frame = _Frame(projection, x - pixel * _WIDTH / 2, y + pixel * _HEIGHT / 2, pixel)
    said: list[str] = []
    drawn = "".join(_layer(layer, frame, said) for layer in layers)
    label = "Map of " + ", ".join(layer.name for layer in layers)
    legend = "<br>".join(map(escape, said))
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(label)}" fill="none">{_land(frame)}{drawn}{_scale_bar(frame)}</svg>'
        f"<figcaption>{legend}</figcaption></figure>"
    )


def _thinned(layer: Layer) -> Layer:
    """Return a layer with fewer points, evenly chosen."""
    if layer.kind != "points" or len(layer.places) <= _VIEWED:
        return layer
    some = slice(None, None, -(-len(layer.places) // _VIEWED))
    radius = layer.radius[some] if isinstance(layer.radius, np.ndarray) else layer.radius
    return replace(layer, places=layer.places[some], radius=radius)


def _land(frame: _Frame) -> str:
    import shapely

    reach = frame.pixel * _WIDTH / 2
    land = land_around(frame.projection.to_map, frame.projection.lon, frame.projection.lat, 1.5 * reach, beyond=False)
    flat = shapely.transform(shapely.union_all(land), frame.pixels)
    seen = shapely.clip_by_rect(shapely.simplify(flat, 0.5), -1, -1, _WIDTH + 1, _HEIGHT + 1)
    outlines = "".join(_path(ring, closed=True) for ring in rings_of(seen) if len(ring) > 3)
    return f'<path d="{outlines}" fill="currentColor" fill-opacity=".09" fill-rule="evenodd"/>' if outlines else ""


def _layer(layer: Layer, frame: _Frame, said: list[str]) -> str:
    """Return the shapes of a layer, and say what they are."""
    import shapely

    flat = frame.pixels(frame.projection.to_map(layer.places))
    known: NDArray[np.bool_] = np.asarray(np.isfinite(flat).all(axis=1))
    parts = np.zeros(len(flat), dtype=np.int64) if layer.parts is None else layer.parts
    hue = _COLOURS[layer.role]
    if layer.kind == "grid":
        assert layer.values is not None
        corners = flat[np.argsort(parts, kind="stable")].reshape(len(layer.values), -1, 2)
        said.append(f"■ {layer.name}: the stronger the colour, the more")
        if not len(corners):
            return ""
        # As large as a cell, or as several of them.
        cell = float(np.nanmedian(np.ptp(corners, axis=1)))
        return _squares(corners.mean(axis=1), layer.values, hue, cell * np.ceil(_SIDE / cell), np.nanmin(flat, axis=0))
    count = len(np.unique(parts))
    outlined = layer.kind == "area" or (layer.kind == "lines" and known.sum() <= _VERTICES and count <= _OUTLINES)
    if outlined:
        rings = list(_split(flat[known], parts[known]))
        drawn = rings[:: -(-len(rings) // _OUTLINES)]
        part = f": {counted(len(drawn))} of {counted(len(rings))} drawn" if len(drawn) < len(rings) else ""
        said.append(f"{'▭' if layer.kind == 'area' else '∿'} {layer.name}{part}{_error(layer)}")
        closed = layer.kind == "area"
        fill = f' fill="{hue}" fill-opacity=".15"' if closed else ""
        # An area of one place, or a track of one point, is no line.
        fine = shapely.simplify([shapely.LineString(np.vstack([ring, ring[-1:]])) for ring in drawn], 0.3)
        paths = "".join(_path(shapely.get_coordinates(line), closed=closed) for line in fine)
        return f'<path d="{paths}" stroke="{hue}" stroke-width="1.5" stroke-linejoin="round"{fill}/>'
    places = flat[known]
    if len(places) > _DOTS:
        said.append(f"■ {layer.name}: the stronger the colour, the more{_error(layer)}")
        return _squares(places, np.ones(len(places)), hue) + _circles(layer, flat, known, frame, hue)
    said.append(f"{'◆' if layer.role == 'public' else '●'} {layer.name}{_error(layer)}")
    if layer.role == "public":
        diamonds = "".join(f"M{x - 4:.1f} {y:.1f}l4-4 4 4-4 4z" for x, y in places)
        marks = f'<path d="{diamonds}" fill="{hue}"/>'
    else:
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
        size = 7 if layer.kind == "marks" else 4
        marks = f'<path d="{dots}" stroke="{hue}" stroke-width="{size}" stroke-linecap="round" stroke-opacity=".8"/>'
    return _circles(layer, flat, known, frame, hue) + marks + _labels(layer, flat, known)


def _error(layer: Layer) -> str:
    """Return the 95% error radius of a layer, in words."""
    if layer.radius is None or not np.size(layer.radius):
        return ""
    said = lengths(np.atleast_1d(np.asarray(layer.radius, dtype=float)))
    if layer.kind in ("area", "lines"):
        return f", {'edge' if layer.kind == 'area' else 'each vertex'} within {said} (95%)"
    return f", circle: error radius {said} (95%)"


def _circles(layer: Layer, flat: Floats, known: NDArray[np.bool_], frame: _Frame, hue: str) -> str:
    """Return the 95% circles of a few places; of more, the one nearest to the middle of the map."""
    if layer.radius is None:
        return ""
    radius = np.broadcast_to(np.asarray(layer.radius, dtype=float), len(flat))[known] / frame.pixel
    places = flat[known]
    if len(places) > _CIRCLES:
        nearest = np.hypot(*(places - [_WIDTH / 2, _HEIGHT / 2]).T).argmin()
        places, radius = places[[nearest]], radius[[nearest]]
    return "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" stroke="{hue}" fill="{hue}" fill-opacity=".07"/>'
        for (x, y), r in zip(places, radius, strict=True)
    )


def _labels(layer: Layer, flat: Floats, known: NDArray[np.bool_]) -> str:
    if layer.kind != "marks" or not layer.texts or len(flat) > _LABELS:
        return ""
    return "".join(
        f'<text x="{flat[i, 0] + 7:.1f}" y="{flat[i, 1] + 4:.1f}" fill="currentColor" font-size="11">'
        f"{escape(layer.texts[i])}</text>"
        for i in np.flatnonzero(known)
    )


def _squares(places: Floats, weights: Floats, hue: str, side: float = _SIDE, origin: Floats | None = None) -> str:
    """Return squares, the more weight the stronger their colour; neighbours in a row of one shade are one line.

    Parameters
    ----------
    places, weights : array
        The points and what each of them counts.
    hue : str
        The colour.
    side : float
        The side of a square, in pixels.
    origin : array, optional
        A corner of a square; by default that of the map.
    """
    x, y = (0.0, 0.0) if origin is None else (float(end % side) - side for end in origin)
    rows, columns = (int(extent / side) + 2 for extent in (_HEIGHT, _WIDTH))
    column, row = np.floor((places - [x, y]) / side).T
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    at = row[inside].astype(np.int64) * columns + column[inside].astype(np.int64)
    sums = np.bincount(at, weights[inside], minlength=rows * columns).reshape(rows, columns)
    most = float(sums.max())
    if most <= 0:
        return ""
    # A single point is seen; of a heat map, which is an estimate, very small numbers are not.
    to = np.ceil if origin is None else np.rint
    shades = to(np.sqrt(sums / most) * _SHADES).astype(int)
    found = []
    for shade in range(1, _SHADES + 1):
        # A run begins where the shade does and its western neighbour does not have it.
        same = np.pad((shades == shade).astype(np.int8), ((0, 0), (1, 1)))
        step = np.diff(same, axis=1)
        (row, first), (_, last) = np.nonzero(step == 1), np.nonzero(step == -1)
        ends = np.column_stack([x + first * side, y + (row + 0.5) * side, x + last * side]).tolist()
        lines = "".join(f"M{west:.4g} {middle:.4g}H{east:.4g}" for west, middle, east in ends)
        if lines:
            found.append(f'<path d="{lines}" stroke-opacity="{0.9 * shade / _SHADES:.2f}"/>')
    return f'<g stroke="{hue}" stroke-width="{side:.4g}" shape-rendering="crispEdges">{"".join(found)}</g>'


def _scale_bar(frame: _Frame) -> str:
    long = round_below(frame.pixel * _WIDTH / 4)
    end, low = 10 + long / frame.pixel, _HEIGHT - 10
    return (
        f'<path d="M10 {low - 4}v4H{end:.1f}v-4" stroke="currentColor" stroke-width="1.5"/>'
        f'<text x="10" y="{low - 8}" fill="currentColor" font-size="11">{metres(long)}</text>'
    )


def _split(flat: Floats, parts: NDArray[np.int64]) -> Iterator[Floats]:
    """Return the rows of each part, in their order."""
    order = np.argsort(parts, kind="stable")
    cuts = np.flatnonzero(np.diff(parts[order])) + 1
    yield from (np.asarray(rows) for rows in np.split(flat[order], cuts) if len(rows))


def _path(ring: Floats, *, closed: bool) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in ring) + ("z" if closed else "")
