"""The map of a report as a figure for print: PNG or PDF."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.errors import InvalidData
from geoveil.report import colours
from geoveil.report.certificate_table import headline
from geoveil.report.document import Report
from geoveil.report.formatting import WARNING, number, round_below
from geoveil.report.map_layout import MapLayout, Shapes, lay_out, rings_of
from geoveil.words import metres

if TYPE_CHECKING:
    import shapely
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.patches import PathPatch

    from geoveil.report.land import Polygons

__all__ = ["draw"]

#: The number of letters of a title that fit on a line.
_LONGEST = 80
_TEXT, _QUIET, _WARN = "#1b2227", "#566069", "#b91c1c"


def draw(path: Path, report: Report) -> None:
    """Draw the map of a report into a file, in the format of its extension."""
    from matplotlib.figure import Figure

    layout = lay_out(report.layers, beyond=False)
    if layout is None:
        raise InvalidData("report", report.title, "one with a location on a map", "Use a path that ends in .html.")
    wide, high = 9.0, 9.0 * min(max(layout.view.height / layout.view.width, 0.55), 0.9)
    top = 0.75 + 0.3 * len(report.warnings)
    below = 0.15 + 0.21 * sum(1 + len(shapes.shades) for shapes in layout.shapes)
    figure = Figure(figsize=(wide, high + top + below))
    axes = figure.add_axes((0.02, below / (high + top + below), 0.96, high / (high + top + below)))
    _map(axes, layout, 0.96 * wide / high)
    inch = 1 / (high + top + below)
    for at, warning in enumerate(report.warnings):
        banner = {"facecolor": _WARN, "edgecolor": _WARN, "pad": 6}
        how: dict[str, Any] = {"color": "w", "weight": "bold", "ha": "center", "va": "center", "parse_math": False}
        said = textwrap.shorten(warning, _LONGEST, placeholder=" …")
        figure.text(0.5, 1 - (0.2 + 0.3 * at) * inch, said, bbox=banner, **how)
    title = textwrap.shorten(report.title, _LONGEST, placeholder=" …")
    figure.text(0.02, 1 - (top - 0.38) * inch, title, color=_TEXT, size=13, weight="bold", parse_math=False)
    promise = headline(report.facts)
    figure.text(0.02, 1 - (top - 0.14) * inch, promise, color=_QUIET, size=9, parse_math=False)
    handles = [handle for shapes in layout.shapes for handle in _handles(shapes)]
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.01, 0.0), "borderpad": 0.2}
    legend = figure.legend(handles, ["name"] * len(handles), frameon=False, fontsize=8.5, **place)
    # matplotlib hides labels that begin with an underscore, and reads dollars as formulas.
    for text, handle in zip(legend.get_texts(), handles, strict=True):
        text.set(text=handle.get_label(), parse_math=False)
    source = "Land: Natural Earth, public domain"
    figure.text(0.98, 0.1 * inch, source, color=_QUIET, size=7, ha="right")
    # Without a date, equal reports give equal files.
    metadata: dict[str, Any] = {"Title": (f"{WARNING} " if report.shows_truth else "") + report.title}
    if path.suffix.lower() == ".pdf":
        metadata["CreationDate"] = None
    figure.savefig(path, dpi=150, metadata=metadata)


def _map(axes: Axes, layout: MapLayout, ratio: float) -> None:
    """Draw the map; `ratio` is the width of the axes over their height."""
    from matplotlib.collections import PolyCollection

    x, y = layout.view.middle
    high = max(layout.view.height, layout.view.width / ratio)
    wide = high * ratio
    axes.set(xlim=(x - wide / 2, x + wide / 2), ylim=(y - high / 2, y + high / 2), xticks=[], yticks=[])
    axes.set_facecolor(colours.SEA[0])
    for spine in axes.spines.values():
        spine.set_color("#c4ccd2")
    axes.add_patch(_patch(layout.land, facecolor=colours.LAND[0], edgecolor=colours.LAND[0], linewidth=0.7))
    for shapes in layout.shapes:
        hue, layer = colours.colour(shapes.layer.role, shapes.colour), shapes.layer
        for i, _, _, cells in shapes.shades:
            axes.add_patch(_patch(cells, facecolor=hue, linewidth=0, alpha=colours.opacity(i)))
        if layer.kind == "area":
            axes.add_collection(PolyCollection(shapes.rings, facecolor=(hue, 0.13), edgecolor=hue, linewidth=1.5))
        else:
            for ring in shapes.rings:
                axes.plot(*ring.T, color=hue, linewidth=1.2, alpha=0.85)
        for ring in shapes.edges:
            axes.plot(*ring.T, color=hue, linewidth=0.9, linestyle=(0, (5, 4)))
        _circles(axes, shapes, hue)
        small = 7.0 if shapes.marked else 3.0
        edge = "w" if shapes.marked else "none"
        axes.plot(*shapes.dots.T, _marker(shapes), color=hue, markersize=small, markeredgecolor=edge, alpha=0.8)
        for place, text in zip(shapes.dots, shapes.texts, strict=True) if shapes.marked else ():
            # As on the page, labels of public locations are on the left.
            left = layer.role == "public"
            side: dict[str, Any] = {"xytext": (-7 if left else 7, -3), "ha": "right" if left else "left"}
            how: dict[str, Any] = {"textcoords": "offset points", "color": _TEXT, "size": 8.5, "annotation_clip": True}
            axes.annotate(text, place, **side, **how, parse_math=False)
    _scale_bar(axes, layout)


def _patch(polygons: shapely.Geometry | Polygons, **style: Any) -> PathPatch:
    """Return polygons with holes as one patch of matplotlib."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    rings = rings_of(polygons)
    if not rings:
        return PathPatch(Outline(np.empty((0, 2))), **style)
    return PathPatch(Outline.make_compound_path(*(Outline(ring, closed=True) for ring in rings)), **style)


def _circles(axes: Axes, shapes: Shapes, hue: str) -> None:
    from matplotlib.patches import Circle

    for x, y, radius in shapes.circles:
        axes.add_patch(Circle((x, y), radius, facecolor=(hue, 0.07), edgecolor=hue, linewidth=1.1))


def _scale_bar(axes: Axes, layout: MapLayout) -> None:
    (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
    long = round_below((east - west) / 5)
    x, y, tick = west + 0.02 * (east - west), south + 0.03 * (north - south), 0.008 * (north - south)
    axes.plot([x, x, x + long, x + long], [y + tick, y, y, y + tick], color=_TEXT, linewidth=1.5)
    axes.text(x, y + 1.6 * tick, metres(long), color=_TEXT, size=8.5, weight="bold")


def _handles(shapes: Shapes) -> list[Artist]:
    """Return the entries of a layer in the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    layer, hue = shapes.layer, colours.colour(shapes.layer.role, shapes.colour)
    label = layer.name + (f" · {shapes.meaning}" if shapes.radius else "")
    if layer.kind == "grid":
        named = [Line2D([], [], linestyle="", label=label)]
        return named + [
            Patch(facecolor=(hue, colours.opacity(i)), label=f"{number(low)} to {number(high)}")
            for i, low, high, _ in shapes.shades
        ]
    if layer.kind == "area":
        return [Patch(facecolor=(hue, 0.13), edgecolor=hue, label=label)]
    if layer.kind == "lines":
        return [Line2D([], [], color=hue, label=label)]
    return [Line2D([], [], color=hue, marker=_marker(shapes), linestyle="", markersize=5, label=label)]


def _marker(shapes: Shapes) -> str:
    """Return the marker of a layer, also recognised by readers who cannot see its colour."""
    return {"truth": "s", "public": "D" if shapes.marked else "o", "released": "o"}[shapes.layer.role]
