"""Shapes and labels as SVG, with few paths even for many points.

A browser draws a map in tiles, and for each tile it processes the whole of every path that may reach into the tile.
Dots that are far apart are therefore in different paths; their group makes them transparent together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from numpy.typing import NDArray

from geoveil.report.labelling import FONTS, anchor_of, box_of
from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box
from geoveil.report.palette import LIGHT
from geoveil.report.scene import Graticule, Group, Label, Shape, Style

__all__ = ["MARKERS", "Pen", "attributes"]

#: The width of the map in pixels that is assumed where no script measures it.
_WIDE = 900.0
#: The approximate number of points in a path, and the largest number of rows and columns of paths.
_TOGETHER, _STRIPS = 300, 8
#: The outlines of large dots, in units of their size.
MARKERS = {
    "disc": '<circle r=".5"/>',
    "square": '<path d="M-.4-.4H.4V.4H-.4z"/>',
    "diamond": '<path d="M0-.6.6 0 0 .6-.6 0z"/>',
}
#: From this size on, in pixels, dots are drawn one by one.
_LARGE = 8.0


@dataclass(frozen=True)
class Pen:
    """Writes shapes and labels, in metres east and south."""

    #: The width of a pixel.
    pixel: float
    #: The number of decimal places of coordinates.
    digits: int = 0
    #: Whether a style sheet defines the colours. Without one, colours are visible on light and dark backgrounds.
    styled: bool = True

    @classmethod
    def of(cls, view: Box) -> Pen:
        """Return the pen for a page that first shows a view."""
        # Decimetres are finer than any zoom into a city can show, and metres finer than any zoom into a country.
        return cls(view.width / _WIDE, 1 if view.side < 1e5 else 0)

    def colour(self, name: str) -> str:
        """Return a colour of the palette for CSS."""
        if self.styled:
            return f"var(--{name})"
        return LIGHT[name] if name.startswith(("person", "shade", "ink")) else "currentColor"

    def group(self, group: Group) -> str:
        """Return the elements of a group; metres are precise enough for the ground."""
        fine = 0 if _WIDE * self.pixel > 2e4 else self.digits
        write = replace(self, digits=fine)._coarse if group.role == "ground" else self.shape
        return "\n".join(map(write, group.shapes))

    def _coarse(self, shape: Shape) -> str:
        """Return the elements of a shape of the ground; the farther it reaches, the coarser is the unit."""
        reach = max((float(np.abs(part).max()) for part in shape.parts if len(part)), default=1.0)
        unit = 10.0 ** max(0, int(np.log10(max(reach, 1.0) / 2e4)))
        if unit == 1 or shape.form not in ("fill", "line"):
            return self.shape(shape)
        drawn = replace(self, digits=0).shape(replace(shape, parts=tuple(part / unit for part in shape.parts)))
        return f'<g transform="scale({unit:g})">{drawn}</g>'

    def shape(self, shape: Shape) -> str:
        """Return the elements of a shape."""
        style, hue, digits = shape.style, self.colour(shape.style.colour), self.digits
        hidden = ' class="more"' if shape.on_demand else ""
        if shape.form == "dots":
            return self._dots(shape.parts[0], style)
        if shape.form == "circles":
            rows = np.concatenate(shape.parts)
            how = f'style="fill: {hue}; stroke: {hue}" {attributes(style)}'
            if shape.on_demand:
                return f'<path{hidden} {how} d="{self._circles(rows)}"/>'
            return "".join(
                f'<circle class="circle" cx="{x:.{digits}f}" cy="{-y:.{digits}f}" r="{r:.{digits}f}" {how}/>'
                for x, y, r in rows
            )
        if shape.form == "arrows":
            paint = f'<g fill-opacity="{style.opacity:g}" style="fill: {hue}"><path d="M0 0-1-.45-.75 0-1 .45z"'
            return "".join(
                self.spot(x, y, f'{paint} transform="rotate({-angle:.0f}) scale({style.width:.1f})"/></g>')
                for x, y, angle in np.concatenate(shape.parts)
            )
        closed = shape.form == "fill"
        path = self.outlines(shape.parts, closed=closed)
        if not path:
            return ""
        edge = ""
        if style.halo:
            bright = attributes(Style("halo", style.width + 2, 0.9))
            edge = f'<path style="stroke: {self.colour("halo")}" fill="none" {bright} d="{path}"/>'
        filled = f"fill: {hue}; " if closed and style.fill else "fill: none; "
        drawn = f"stroke: {hue}" if style.width or style.metres else ""
        return f'{edge}<path{hidden} style="{filled}{drawn}" {attributes(style)} d="{path}"/>'

    def _dots(self, dots: Floats, style: Style) -> str:
        hue = self.colour(style.colour)
        if style.width >= _LARGE:
            paint = f"fill: {hue}; stroke: {self.colour('halo')}; stroke-width: 1.5px"
            shape = f'<g style="{paint}" transform="scale({style.width:g})">{MARKERS[style.marker]}</g>'
            return "".join(self.spot(x, y, shape) for x, y in dots)
        paths = ""
        for rows in _patches(dots):
            # Lines of length zero have round ends, which are dots of the same size at every scale.
            steps = iter(self._texts(np.diff(self._whole(dots[rows]), axis=0, prepend=0)))
            path = "".join(f"m{x} {y}h0" for x, y in zip(steps, steps, strict=True))
            paths += f'<path class="dots" d="{path}"/>'
        # The group makes all dots transparent together: they do not become darker where paths meet.
        cap = "square" if style.marker == "square" else "round"
        how = f'fill="none" stroke-width="{style.width:g}" stroke-linecap="{cap}" opacity="{style.opacity:g}"'
        return f'<g style="stroke: {hue}" {how}>{paths}</g>'

    def spot(self, x: float, y: float, inside: str, kind: str = "spot", more: str = "") -> str:
        """Return a group at a place of the map, whose content has a fixed size on the screen."""
        east, south = f"{x:.{self.digits}f}", f"{-y:.{self.digits}f}"
        move = f'transform="translate({east} {south}) scale({self.pixel:.4g})"'
        return f'<g class="{kind}" data-x="{east}" data-y="{south}"{more} {move}>{inside}</g>'

    def label(self, label: Label) -> str:
        """Return a label, with its box for a script that moves the map."""
        west, south, east, north = box_of(label)
        box = f' data-box="{west:.0f} {-north:.0f} {east:.0f} {-south:.0f}" data-of="{label.group}"'
        hidden, scales = self.scales(label)
        return self.spot(label.x, label.y, self.text(label), f"spot name {label.kind}{hidden}", scales + box)

    def text(self, label: Label) -> str:
        """Return the text of a label, and the dot of a place, around its location."""
        x, up, anchor = anchor_of(label)
        dot = '<circle r="2"/>' if label.kind in ("city", "town") else ""
        hue = f' style="fill: {self.colour(label.colour)}"' if label.colour else ""
        y = 0.35 * FONTS[label.kind][0] - up
        return f'{dot}<text x="{x:g}" y="{y:.1f}" text-anchor="{anchor}"{hue}>{escape(label.text)}</text>'

    def scales(self, shown: Label | Graticule) -> tuple[str, str]:
        """Return the class of something that is hidden at first, and the attributes for the scales that show it."""
        finest = f' data-finest="{shown.finest:.4g}"' if shown.finest else ""
        coarsest = "" if np.isinf(shown.coarsest) else f' data-coarsest="{shown.coarsest:.4g}"'
        return "" if shown.finest <= self.pixel <= shown.coarsest else " off", finest + coarsest

    def outlines(self, rings: Sequence[Floats], *, closed: bool = False) -> str:
        """Return each ring or line as its first point and the steps from each point to the next."""
        rings = [ring for ring in rings if len(ring)]
        if not rings:
            return ""
        places = self._whole(np.concatenate(rings))
        steps = np.diff(places, axis=0, prepend=0)
        first = np.zeros(len(places), dtype=bool)
        first[np.cumsum([0, *map(len, rings[:-1])])] = True
        steps[first] = places[first]
        # Neighbours that coincide after rounding are drawn once.
        drawn = first | (steps != 0).any(axis=1)
        texts = self._texts(steps[drawn])
        starts = (2 * np.flatnonzero(first[drawn])).tolist()
        end = "z" if closed else ""
        return "".join(
            f"M{texts[start]} {texts[start + 1]}l{' '.join(texts[start + 2 : stop]) or '0 0'}{end}"
            for start, stop in itertools.pairwise([*starts, len(texts)])
        )

    def _circles(self, circles: Floats) -> str:
        paths, digits = [], self.digits
        for x, y, r in circles:
            left, top, wide = f"{x - r:.{digits}f}", f"{-y:.{digits}f}", f"{2 * r:.{digits}f}"
            arc = f"a{r:.{digits}f} {r:.{digits}f} 0 1 0"
            paths.append(f"M{left} {top}{arc} {wide} 0{arc}-{wide} 0")
        return "".join(paths)

    def _whole(self, coords: Floats) -> NDArray[np.int64]:
        """Return coordinates as whole numbers of the finest unit: their differences add up without rounding."""
        return np.asarray(np.rint(coords * [1, -1] * 10**self.digits), dtype=np.int64)

    def _texts(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return whole numbers of the finest unit as text."""
        if self.digits == 0:
            return list(map(str, numbers.ravel().tolist()))
        scaled = (numbers.ravel() / 10**self.digits).tolist()
        return [f"{number:.{self.digits}f}".removesuffix(".0") for number in scaled]


def attributes(style: Style) -> str:
    """Return the attributes of lines and fillings."""
    wide = bool(style.width or style.metres)
    listed = {
        "class": "band" if style.metres else "",
        "stroke-width": f"{style.metres:.1f}" if style.metres else f"{style.width:g}" if style.width else "",
        "stroke-opacity": f"{style.opacity:g}" if wide and style.opacity != 1 else "",
        "fill-opacity": f"{style.fill:g}" if style.fill != 1 else "",
        "stroke-dasharray": " ".join(f"{length:g}" for length in style.dash),
    }
    return " ".join(f'{name}="{value}"' for name, value in listed.items() if value)


def _patches(places: Floats) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of the points of each path: a few hundred points that are near each other."""
    strips = max(1, min(_STRIPS, round(float(np.sqrt(len(places) / _TOGETHER)))))
    for strip in np.array_split(np.argsort(places[:, 0], kind="stable"), strips):
        by_north = strip[np.argsort(places[strip, 1], kind="stable")]
        yield from (np.sort(some) for some in np.array_split(by_north, strips) if len(some))
