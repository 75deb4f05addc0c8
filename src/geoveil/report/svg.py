"""A scene as SVG, in metres east and south, with few paths even for many points.

A browser draws a map in tiles, and for each tile it processes the whole of every path that may reach into the tile.
Dots that are far apart are therefore in different paths; their group makes them transparent together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html import escape

import numpy as np
from numpy.typing import NDArray

from geoveil.report.formatting import round_below
from geoveil.report.labelling import anchor_of, box_of, font_of
from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box
from geoveil.report.scene import Graticule, Key, Label, Locator, Scene, Shape, Style
from geoveil.words import metres

__all__ = ["key_svg", "locator_svg", "map_svg", "shape_svg", "text_svg"]

#: The width of the map in pixels that is assumed where no script measures it.
_WIDE = 900.0
#: The approximate number of points in a path, and the largest number of rows and columns of paths.
_TOGETHER, _STRIPS = 300, 8
#: The outlines of large dots, in units of their size.
_MARKERS = {
    "disc": '<circle r=".5"/>',
    "square": '<path d="M-.4-.4H.4V.4H-.4z"/>',
    "diamond": '<path d="M0-.6.6 0 0 .6-.6 0z"/>',
}
#: From this size on, in pixels, dots are drawn one by one.
_LARGE = 8.0


def variable(colour: str) -> str:
    """Return the CSS variable of a colour of the palette."""
    return f"var(--{colour})"


def map_svg(scene: Scene, label: str) -> str:
    """Return the map, with its layers as groups that the page can show and hide."""
    view = scene.view
    # Decimetres are finer than any zoom into a city can show, and metres finer than any zoom into a country.
    digits = 1 if view.side < 1e5 else 0
    pixel = view.width / _WIDE
    drawn = []
    for number, group in enumerate(scene.groups):
        # Metres are precise enough for the ground.
        fine = 0 if group.role == "ground" and view.width > 2e4 else digits
        draw = _coarse if group.role == "ground" else shape_svg
        inside = "\n".join(draw(shape, fine, pixel) for shape in group.shapes)
        drawn.append(f'<g class="layer {group.role}" data-layer="{number}">{inside}</g>')
    drawn[scene.ground : scene.ground] = [_graticule(graticule, pixel, digits) for graticule in scene.graticules]
    box = f"{view.west:.1f} {-view.north:.1f} {view.width:.1f} {view.height:.1f}"
    return (
        f'<svg viewBox="{box}" role="img" aria-label="{escape(label)}">\n'
        + "\n".join(drawn)
        + '<g class="names">'
        + "".join(_label(each, pixel, digits) for each in scene.labels)
        + f"</g>\n{_scale_bar(view)}\n</svg>"
    )


def _coarse(shape: Shape, digits: int, pixel: float) -> str:
    """Return the elements of a shape of the ground; the farther it reaches, the coarser is the unit of coordinates."""
    reach = max((float(np.abs(part).max()) for part in shape.parts if len(part)), default=1.0)
    unit = 10.0 ** max(0, int(np.log10(max(reach, 1.0) / 2e4)))
    if unit == 1 or shape.form not in ("fill", "line"):
        return shape_svg(shape, digits, pixel)
    drawn = shape_svg(replace(shape, parts=tuple(part / unit for part in shape.parts)), 0, pixel)
    return f'<g transform="scale({unit:g})">{drawn}</g>'


def _scale_bar(view: Box) -> str:
    """Return a scale bar of a round length for the first view, and an arrow to the north."""
    long, pixel = round_below(view.width / 6), view.width / _WIDE
    left, low = view.west + 14 * pixel, -view.south - 14 * pixel
    return (
        f'<g class="scale" data-metres="{long:.15g}"><path d="M{left:.2f} {low - 6 * pixel:.2f}V{low:.2f}h{long:.15g}'
        f'v{-6 * pixel:.2f}"/><g transform="translate({left:.2f} {low - 9 * pixel:.2f}) scale({pixel:.4g})">'
        f'<text>{metres(long)}</text><path class="north" d="M5-42 0-26l5-3 5 3z"/>'
        '<text x="14" y="-28">N</text></g></g>'
    )


def shape_svg(shape: Shape, digits: int, pixel: float, colour: Callable[[str], str] = variable) -> str:
    """Return the elements of a shape; coordinates have `digits` decimal places, and a pixel is `pixel` metres wide."""
    style, hue = shape.style, colour(shape.style.colour)
    hidden = ' class="more"' if shape.on_demand else ""
    if shape.form == "dots":
        return _dots_svg(shape.parts[0], style, hue, colour("halo"), digits, pixel)
    if shape.form == "circles":
        rows = np.concatenate(shape.parts)
        how = f'style="fill: {hue}; stroke: {hue}" {_attributes(style)}'
        if shape.on_demand:
            return f'<path{hidden} {how} d="{_circles(rows, digits)}"/>'
        return "".join(
            f'<circle class="circle" cx="{x:.{digits}f}" cy="{-y:.{digits}f}" r="{r:.{digits}f}" {how}/>'
            for x, y, r in rows
        )
    if shape.form == "arrows":
        heads = ""
        for x, y, angle in np.concatenate(shape.parts):
            turned = f'<path transform="rotate({-angle:.0f}) scale({style.width:.1f})" d="M0 0-1-.45-.75 0-1 .45z"/>'
            heads += _spot(
                x, y, digits, pixel, f'<g fill-opacity="{style.opacity:g}" style="fill: {hue}">{turned}</g>'
            )
        return heads
    closed = shape.form == "fill"
    path = _outlines(shape.parts, digits, closed=closed)
    if not path:
        return ""
    edge = ""
    if style.halo:
        bright = _attributes(Style("halo", style.width + 2, 0.9))
        edge = f'<path style="stroke: {colour("halo")}" fill="none" {bright} d="{path}"/>'
    filled = f"fill: {hue}; " if closed and style.fill else "fill: none; "
    drawn = f"stroke: {hue}" if style.width or style.metres else ""
    return f'{edge}<path{hidden} style="{filled}{drawn}" {_attributes(style)} d="{path}"/>'


def _attributes(style: Style) -> str:
    """Return the attributes of lines and fillings."""
    attributes = []
    if style.metres:
        attributes.append(f'class="band" stroke-width="{style.metres:.1f}"')
    elif style.width:
        attributes.append(f'stroke-width="{style.width:g}"')
    if style.opacity != 1 and (style.width or style.metres):
        attributes.append(f'stroke-opacity="{style.opacity:g}"')
    if style.fill not in (0, 1):
        attributes.append(f'fill-opacity="{style.fill:g}"')
    if style.fill == 0:
        attributes.append('fill-opacity="0"')
    if style.dash:
        attributes.append(f'stroke-dasharray="{" ".join(f"{length:g}" for length in style.dash)}"')
    return " ".join(attributes)


def _dots_svg(dots: Floats, style: Style, hue: str, halo: str, digits: int, pixel: float) -> str:
    if style.width >= _LARGE:
        paint = f"fill: {hue}; stroke: {halo}; stroke-width: 1.5px"
        shape = f'<g style="{paint}" transform="scale({style.width:g})">{_MARKERS[style.marker]}</g>'
        return "".join(_spot(x, y, digits, pixel, shape) for x, y in dots)
    cap = "square" if style.marker == "square" else "round"
    paths = "".join(f'<path class="dots" d="{_dots(dots[some], digits)}"/>' for some in _patches(dots))
    # The group makes all dots transparent together: they do not become darker where paths meet.
    how = f'fill="none" stroke-width="{style.width:g}" stroke-linecap="{cap}" opacity="{style.opacity:g}"'
    return f'<g style="stroke: {hue}" {how}>{paths}</g>'


def _spot(x: float, y: float, digits: int, pixel: float, inside: str, kind: str = "spot", more: str = "") -> str:
    """Return a group at a place of the map, whose content has a fixed size on the screen."""
    east, south = f"{x:.{digits}f}", f"{-y:.{digits}f}"
    move = f'transform="translate({east} {south}) scale({pixel:.4g})"'
    return f'<g class="{kind}" data-x="{east}" data-y="{south}"{more} {move}>{inside}</g>'


def text_svg(label: Label, hue: str = "") -> str:
    """Return the text of a label, and the dot of a place, around its location; `hue` is an attribute of the text."""
    size, _, _ = font_of(label.kind)
    x, up, anchor = anchor_of(label)
    dot = '<circle r="2"/>' if label.kind in ("city", "town") else ""
    return f'{dot}<text x="{x:g}" y="{0.35 * size - up:.1f}" text-anchor="{anchor}"{hue}>{escape(label.text)}</text>'


def _label(label: Label, pixel: float, digits: int) -> str:
    hue = f' style="fill: {variable(label.colour)}"' if label.colour else ""
    west, south, east, north = box_of(label)
    shown = "" if label.finest <= pixel <= label.coarsest else " off"
    box = f' data-box="{west:.0f} {-north:.0f} {east:.0f} {-south:.0f}" data-of="{label.group}"'
    kind, more = f"spot name {label.kind}{shown}", f"{_scales(label)}{box}"
    return _spot(label.x, label.y, digits, pixel, text_svg(label, hue), kind, more)


def _scales(shown: Label | Graticule) -> str:
    """Return the attributes for the scales at which something is shown."""
    finest = f' data-finest="{shown.finest:.4g}"' if shown.finest else ""
    return finest if np.isinf(shown.coarsest) else f'{finest} data-coarsest="{shown.coarsest:.4g}"'


def _graticule(graticule: Graticule, pixel: float, digits: int) -> str:
    """Return the lines of a graticule; the page writes their names at its frame."""
    shown = "" if graticule.finest <= pixel < graticule.coarsest else " off"
    lines = "".join(
        f'<path data-name="{escape(name)}" data-way="{way}" d="{_outlines((line,), digits, closed=False)}"/>'
        for way, found in (("meridian", graticule.meridians), ("parallel", graticule.parallels))
        for name, line in found
    )
    return f'<g class="graticule{shown}"{_scales(graticule)}>{lines}</g>'


def locator_svg(locator: Locator) -> str:
    """Return the small map of the surroundings."""
    half = locator.half
    pixel = 2 * half / 120
    inside = "".join(shape_svg(shape, 0, pixel) for shape in locator.shapes)
    names = "".join(_label(label, pixel, 0) for label in locator.labels)
    return (
        f'<svg viewBox="{-half:.0f} {-half:.0f} {2 * half:.0f} {2 * half:.0f}" aria-hidden="true">'
        f"{inside}{names}</svg>"
    )


def key_svg(key: Key) -> str:
    """Return the symbol of an entry of the legend; empty if it has none."""
    if not key.visible:
        return ""
    style, hue, large = key.style, variable(key.style.colour), max(key.style.width, 6)
    inside = {
        "fill": f'<rect x="3" y="3" width="20" height="12" style="fill: {hue}; stroke: {hue}" {_attributes(style)}/>',
        "line": f'<path d="M2 9H24" fill="none" style="stroke: {hue}" {_attributes(style)}/>',
        "circles": f'<circle cx="13" cy="9" r="7.5" style="fill: {hue}; stroke: {hue}" {_attributes(style)}/>'
        f'<circle cx="13" cy="9" r="1.5" style="fill: {hue}"/>',
        "dots": f'<g style="fill: {hue}" transform="translate(13 9) scale({large:g})">{_MARKERS[style.marker]}</g>',
    }[key.form]
    return f'<svg viewBox="0 0 26 18" aria-hidden="true">{inside}</svg>'


def _patches(places: Floats) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of the points of each path: a few hundred points that are near each other."""
    strips = max(1, min(_STRIPS, round(float(np.sqrt(len(places) / _TOGETHER)))))
    for strip in np.array_split(np.argsort(places[:, 0], kind="stable"), strips):
        by_north = strip[np.argsort(places[strip, 1], kind="stable")]
        yield from (np.sort(some) for some in np.array_split(by_north, strips) if len(some))


def _whole(coords: Floats, digits: int) -> NDArray[np.int64]:
    """Return coordinates as whole numbers of the finest unit, so that their differences add up without rounding."""
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
    rings = [ring for ring in rings if len(ring)]
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
