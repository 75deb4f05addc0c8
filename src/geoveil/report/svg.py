"""The map as SVG: a unit is a metre, x goes east and y goes south; few paths, however many points there are.

A browser draws a map in tiles, and looks for each tile at every path that may reach into it, all of it. So what is far
apart is in different paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

import numpy as np

from geoveil.report import look
from geoveil.report.content import Floats
from geoveil.report.sheet import FEW, SOME, Shapes, Sheet, rings_of
from geoveil.report.texts import round_below
from geoveil.report.view import Box
from geoveil.words import metres

__all__ = ["map_svg"]

#: How many pixels wide the map is taken to be where no script tells.
_WIDE = 900.0
#: Points in a path, about; and at most so many times so many paths.
_TOGETHER, _STRIPS = 300, 8
#: Marks, and where their labels begin.
_DIAMOND = '<path d="M0-6.5 6.5 0 0 6.5-6.5 0z"/>', 'x="-10" text-anchor="end"'
_DISC = '<circle r="5"/>', 'x="10"'


def map_svg(sheet: Sheet, label: str) -> str:
    """The map, with its layers as groups that a page can show and hide."""
    import shapely

    view = sheet.view
    # A tenth of a metre is less than anyone zooms to, a metre less than can be seen on maps of a country.
    digits = 1 if max(view.width, view.height) < 1e5 else 0
    middles = shapely.get_coordinates(shapely.centroid(sheet.land))
    land = "".join(
        f'<path class="land" d="{_outlines(rings_of(sheet.land[some]), 0, closed=True)}"/>'
        for some in _patches(middles)
    )
    layers = [_layer(shapes, i, digits, view.width / _WIDE) for i, shapes in enumerate(sheet.shapes)]
    box = f"{view.west:.1f} {-view.north:.1f} {view.width:.1f} {view.height:.1f}"
    return (
        f'<svg viewBox="{box}" role="img" aria-label="{escape(label)}">\n'
        f"{land}\n" + "\n".join(layers) + f"\n{_scale_bar(view)}\n</svg>"
    )


def _scale_bar(view: Box) -> str:
    """A bar of a round length, for the first view."""
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
        shade = f'fill-opacity="{look.opacity(i):.2f}"'
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
            # Public places have their labels at the left, so as not to lie on those of what is released near them.
            shape, at = _DIAMOND if layer.role == "public" else _DISC
            inside.append(f'<g class="mark" {place} {move}>{shape}<text {at} y="4.5">{escape(text)}</text></g>')
    elif len(shapes.dots):
        fine = _fine(len(shapes.dots), SOME)
        inside += [
            f'<path class="dots{fine}" d="{_dots(shapes.dots[some], digits)}"/>' for some in _patches(shapes.dots)
        ]
    hue = f"color: var({look.name(layer.role, shapes.colour)})"
    return f'<g class="layer {layer.role}" data-layer="{number}" style="{hue}">' + "\n".join(inside) + "</g>"


def _fine(count: int, many: int) -> str:
    """Many things at once are drawn finer."""
    return " fine" if count > many else ""


def _patches(places: Floats) -> Iterator[Any]:
    """Which places are drawn together: those near each other, some hundreds at a time."""
    strips = max(1, min(_STRIPS, round(float(np.sqrt(len(places) / _TOGETHER)))))
    for strip in np.array_split(np.argsort(places[:, 0], kind="stable"), strips):
        by_north = strip[np.argsort(places[strip, 1], kind="stable")]
        yield from (np.sort(some) for some in np.array_split(by_north, strips) if len(some))


def _whole(coords: Floats, digits: int) -> Any:
    """Coordinates of the picture as whole numbers of its finest unit: differences add up without rounding."""
    return np.rint(coords * [1, -1] * 10**digits).astype(np.int64)


def _text(number: int, digits: int) -> str:
    if digits == 0:
        return str(number)
    text = f"{number / 10**digits:.{digits}f}"
    return text.removesuffix(".0") if digits == 1 else text


def _steps(places: Any, digits: int) -> Iterable[tuple[str, str]]:
    """The first place, then the way from each to the next."""
    for x, y in np.vstack([places[:1], np.diff(places, axis=0)]).tolist():
        yield _text(x, digits), _text(y, digits)


def _dots(dots: Floats, digits: int) -> str:
    """Lines of no length, whose round ends are dots that stay as large at every scale."""
    return "".join(f"m{x} {y}h0" for x, y in _steps(_whole(dots, digits), digits))


def _outlines(rings: Iterable[Floats], digits: int, *, closed: bool) -> str:
    paths = []
    for ring in rings:
        places = _whole(ring, digits)
        # Places that fall together are one.
        places = places[np.r_[True, (np.diff(places, axis=0) != 0).any(axis=1)]]
        x, y = next(iter(_steps(places[:1], digits)))
        rest = " ".join(f"{x} {y}" for x, y in list(_steps(places, digits))[1:])
        paths.append(f"M{x} {y}l{rest or '0 0'}" + ("z" if closed else ""))
    return "".join(paths)


def _circles(circles: Floats, digits: int) -> str:
    paths = []
    for x, y, r in circles:
        left, top, wide = f"{x - r:.{digits}f}", f"{-y:.{digits}f}", f"{2 * r:.{digits}f}"
        arc = f"a{r:.{digits}f} {r:.{digits}f} 0 1 0"
        paths.append(f"M{left} {top}{arc} {wide} 0{arc}-{wide} 0")
    return "".join(paths)
