"""The map as SVG, in metres east and south, with few paths even for many points.

A browser draws a map in tiles, and for each tile processes all of every path that may reach into it. Shapes that are
far apart are therefore in different paths.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from geoveil.report import colours
from geoveil.report.formatting import round_below
from geoveil.report.layers import Floats
from geoveil.report.map_layout import FEW, SOME, MapLayout, Shapes, rings_of
from geoveil.report.map_projection import Box
from geoveil.words import metres

__all__ = ["map_svg"]

#: The width of the map in pixels that is assumed where no script measures it.
_WIDE = 900.0
#: The approximate number of points in a path, and the largest number of rows and columns of paths.
_TOGETHER, _STRIPS = 300, 8
#: The shape of a mark and the position of its label, for public and for other locations.
_DIAMOND = '<path d="M0-6.5 6.5 0 0 6.5-6.5 0z"/>', 'x="-10" text-anchor="end"'
_DISC = '<circle r="5"/>', 'x="10"'


def map_svg(layout: MapLayout, label: str) -> str:
    """Return the map, with its layers as groups that the page can show and hide."""
    import shapely

    view = layout.view
    # Decimetres are finer than any zoom of a city, and metres are finer than any of a country.
    digits = 1 if max(view.width, view.height) < 1e5 else 0
    middles = shapely.get_coordinates(shapely.centroid(layout.land))
    land = "".join(
        f'<path class="land" d="{_outlines(rings_of(layout.land[some]), 0, closed=True)}"/>'
        for some in _patches(middles)
    )
    layers = [_layer(shapes, i, digits, view.width / _WIDE) for i, shapes in enumerate(layout.shapes)]
    box = f"{view.west:.1f} {-view.north:.1f} {view.width:.1f} {view.height:.1f}"
    return (
        f'<svg viewBox="{box}" role="img" aria-label="{escape(label)}">\n'
        f"{land}\n" + "\n".join(layers) + f"\n{_scale_bar(view)}\n</svg>"
    )


def _scale_bar(view: Box) -> str:
    """Return a scale bar of a round length for the first view."""
    long, pixel = round_below(view.width / 6), view.width / _WIDE
    left, low = view.west + 14 * pixel, -view.south - 14 * pixel
    return (
        f'<g class="scale" data-metres="{long:.15g}"><path d="M{left:.2f} {low - 6 * pixel:.2f}V{low:.2f}h{long:.15g}'
        f'v{-6 * pixel:.2f}"/><g transform="translate({left:.2f} {low - 9 * pixel:.2f}) scale({pixel:.4g})">'
        f"<text>{metres(long)}</text></g></g>"
    )


def _layer(shapes: Shapes, number: int, digits: int, pixel: float) -> str:
    layer = shapes.layer
    inside: list[str] = []
    for i, _, _, cells in shapes.shades:
        shade = f'fill-opacity="{colours.opacity(i):.2f}"'
        inside.append(f'<path class="cell" {shade} d="{_outlines(rings_of(cells), digits, closed=True)}"/>')
    if shapes.rings:
        drawn, fine = _outlines(shapes.rings, digits, closed=layer.kind == "area"), _fine(len(shapes.rings), FEW)
        inside.append(f'<path class="{layer.kind}{fine}" d="{drawn}"/>')
    if shapes.edges:
        inside.append(f'<path class="edge" d="{_outlines(shapes.edges, digits, closed=True)}"/>')
    if len(shapes.more):
        inside.append(f'<path class="circle more" d="{_circles(shapes.more, digits)}"/>')
    inside += [
        f'<circle class="circle" cx="{x:.{digits}f}" cy="{-y:.{digits}f}" r="{r:.{digits}f}"/>'
        for x, y, r in shapes.circles
    ]
    if shapes.marked:
        for (x, y), text in zip(shapes.dots, shapes.texts, strict=True):
            place = f'data-x="{x:.{digits}f}" data-y="{-y:.{digits}f}"'
            move = f'transform="translate({x:.{digits}f} {-y:.{digits}f}) scale({pixel:.4g})"'
            # Labels of public locations are on the left, so that they do not cover those of released ones nearby.
            shape, at = _DIAMOND if layer.role == "public" else _DISC
            inside.append(f'<g class="mark" {place} {move}>{shape}<text {at} y="4.5">{escape(text)}</text></g>')
    elif len(shapes.dots):
        fine = _fine(len(shapes.dots), SOME)
        inside += [
            f'<path class="dots{fine}" d="{_dots(shapes.dots[some], digits)}"/>' for some in _patches(shapes.dots)
        ]
    hue = f"color: var({colours.variable(layer.role, shapes.colour)})"
    return f'<g class="layer {layer.role}" data-layer="{number}" style="{hue}">' + "\n".join(inside) + "</g>"


def _fine(count: int, many: int) -> str:
    """Return the class of finer lines and dots, where there are many."""
    return " fine" if count > many else ""


def _patches(places: Floats) -> Iterator[NDArray[np.intp]]:
    """Return the indices of the points of each path: some hundreds that are near each other."""
    strips = max(1, min(_STRIPS, round(float(np.sqrt(len(places) / _TOGETHER)))))
    for strip in np.array_split(np.argsort(places[:, 0], kind="stable"), strips):
        by_north = strip[np.argsort(places[strip, 1], kind="stable")]
        yield from (np.sort(some) for some in np.array_split(by_north, strips) if len(some))


def _whole(coords: Floats, digits: int) -> NDArray[np.int64]:
    """Return coordinates as integers of the finest unit, whose differences add up without rounding."""
    return np.asarray(np.rint(coords * [1, -1] * 10**digits), dtype=np.int64)


def _text(number: int, digits: int) -> str:
    if digits == 0:
        return str(number)
    text = f"{number / 10**digits:.{digits}f}"
    return text.removesuffix(".0") if digits == 1 else text


def _texts(numbers: NDArray[np.int64], digits: int) -> list[str]:
    return [_text(number, digits) for number in numbers.ravel().tolist()]


def _dots(dots: Floats, digits: int) -> str:
    """Return lines of length zero, whose round ends are dots of the same size at every scale."""
    steps = iter(_texts(np.diff(_whole(dots, digits), axis=0, prepend=0), digits))
    return "".join(f"m{x} {y}h0" for x, y in zip(steps, steps, strict=True))


def _outlines(rings: Sequence[Floats], digits: int, *, closed: bool) -> str:
    """Return each ring as its first point and the steps from each point to the next."""
    if not rings:
        return ""
    places = _whole(np.concatenate(rings), digits)
    steps = np.diff(places, axis=0, prepend=0)
    first = np.zeros(len(places), dtype=bool)
    first[np.cumsum([0, *map(len, rings[:-1])])] = True
    steps[first] = places[first]
    # Neighbours that coincide after rounding are drawn once.
    drawn = first | (steps != 0).any(axis=1)
    texts = _texts(steps[drawn], digits)
    starts = (2 * np.flatnonzero(first[drawn])).tolist()
    end = "z" if closed else ""
    return "".join(
        f"M{texts[start]} {texts[start + 1]}l{' '.join(texts[start + 2 : stop]) or '0 0'}{end}"
        for start, stop in itertools.pairwise([*starts, len(texts)])
    )


def _circles(circles: Floats, digits: int) -> str:
    paths = []
    for x, y, r in circles:
        left, top, wide = f"{x - r:.{digits}f}", f"{-y:.{digits}f}", f"{2 * r:.{digits}f}"
        arc = f"a{r:.{digits}f} {r:.{digits}f} 0 1 0"
        paths.append(f"M{left} {top}{arc} {wide} 0{arc}-{wide} 0")
    return "".join(paths)
