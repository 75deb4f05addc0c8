"""A scene drawn by matplotlib: figures for print as PNG, SVG or PDF, and axes for further use."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from geoveil.errors import InvalidData
from geoveil.report.composing import compose
from geoveil.report.document import Report
from geoveil.report.formatting import WARNING, round_below, with_units
from geoveil.report.labelling import FONTS, Frame, anchor_of, figure_size
from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box
from geoveil.report.palette import LIGHT
from geoveil.report.plain_words import summary
from geoveil.report.scene import Graduated, Key, Label, Locator, Scene, Shape, Style
from geoveil.text.words import metres

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch
    from matplotlib.patheffects import withStroke

__all__ = ["draw", "draw_credit", "draw_scene", "handles_of", "legend_of"]

#: A pixel of the scene in points, and in millimetres.
_POINT, _MM = 0.75, 25.4 / 96
#: The width of a figure in millimetres, unless the caller states one.
WIDTH = 180.0
_TEXT, _QUIET, _WARN, _FRAME = LIGHT["text"], "#566069", "#b91c1c", "#8b979f"
_MARKERS = {"disc": "o", "square": "s", "diamond": "D"}
#: The side of the small map of the surroundings, in pixels, and the least width of a figure that has one.
_LOCATOR, _ROOM = 100.0, 300.0
#: The corner of a legend that is placed.
Place: TypeAlias = Literal["upper left", "lower left"]


def draw(path: Path, report: Report) -> None:
    """Draw the map of a report into a file, in the format of its extension."""
    import matplotlib
    from matplotlib.figure import Figure

    width = (report.width or WIDTH) / _MM
    scene = compose(report.layers, pixels=width, beyond=False, basemap=report.basemap)
    if scene is None:
        raise InvalidData("report", report.title, "one with a location on a map", "Use a path that ends in .html.")
    title = textwrap.wrap(report.title, int(width // 9.5), max_lines=2, placeholder=" …")
    words = " ".join(f"{name}: {text}" for name, text in summary(report.facts)[1:])
    said = textwrap.wrap(with_units(words), int((width - 16) // 6.8))
    warnings = [line for text in report.warnings for line in textwrap.wrap(text, int(width // 8.2))]
    across = 2 if width > 500 and sum(len(group.keys) for group in scene.layers) > 3 else 1
    # matplotlib fills the first column first.
    half = -(-sum(len(group.keys) for group in scene.layers) // across)
    map_width, map_height = figure_size(scene.view, width)
    source = textwrap.wrap(f"Map: {scene.source}", int((width - 12) // 5.3))
    # Fonts are part of the file: as TrueType in PDF, as outlines in SVG; equal scenes give equal files.
    with matplotlib.rc_context(
        {"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "geoveil", "font.size": 12 * _POINT}
    ):
        handles = handles_of(scene, int((width / across - 45) // 6.4))
        lines = [str(handle.get_label()).count("\n") + 1 for handle in handles]
        below = 24.0 + 16.5 * max(sum(lines[:half]), sum(lines[half:])) + 8.0 + 12.0 * len(source)
        y = height = 26.0 * len(warnings) + 20.0 * len(title) + 15.5 * len(said) + 14.0 + map_height + below
        figure = Figure(figsize=(width / 96, height / 96))

        def write(x: float, y: float, text: str, size: float, color: str = _QUIET, **style: object) -> None:
            """Write a line at pixels from the left and from the bottom."""
            written = figure.text(x / width, y / height, text, size=size * _POINT, color=color, parse_math=False)
            written.set(**style)

        for line in warnings:
            banner = {"facecolor": _WARN, "edgecolor": _WARN, "pad": 3.5}
            write(width / 2, y - 14, line, 13, "w", weight="bold", ha="center", va="center", bbox=banner)
            y -= 26
        for line in title:
            write(8, y - 20, line, 17, _TEXT, weight="bold")
            y -= 20
        for line in said:
            write(8, y - 18, line, 12)
            y -= 15.5
        axes = figure.add_axes((44 / width, below / height, map_width / width, map_height / height))
        draw_scene(axes, scene)
        legend_of(figure, handles, "lower left", (2 / width, (4 + 12 * len(source)) / height), columns=across)
        # The licences of the ground require the credits: they are never cut off.
        for at, line in enumerate(reversed(source)):
            write(width - 6, 4 + 12 * at, line, 9, ha="right")
        # Without a date, equal reports give equal files.
        metadata: dict[str, str | None] = {"Title": (f"{WARNING} " if report.shows_truth else "") + report.title}
        if path.suffix.lower() != ".png":
            metadata["CreationDate" if path.suffix.lower() == ".pdf" else "Date"] = None
        figure.savefig(path, dpi=200, metadata=metadata)


def draw_scene(axes: Axes, scene: Scene, to_axes: Callable[[Floats], Floats] = np.asarray) -> None:
    """Draw a scene into axes, without its legend.

    Parameters
    ----------
    axes : matplotlib Axes
        The axes; their limits and ticks become those of the map.
    scene : Scene
        The scene.
    to_axes : callable, optional
        Takes (n, 2) metres of the map to the coordinates of the axes, which are the same by default.
    """
    window = axes.get_window_extent()
    dpi = axes.get_figure().dpi  # type: ignore[union-attr]
    wide, high = window.width / dpi * 96, window.height / dpi * 96
    locator = scene.locator if wide >= _ROOM else None
    frame = Frame.of(scene.view, wide, high, located=locator.corner if locator else None)
    box, (x, y) = frame.box.scaled(frame.pixel), scene.view.middle
    canvas = _Canvas(axes, to_axes, frame.pixel)
    (west, _), (east, _), (_, south), (_, north) = to_axes(
        np.array([[box.west, y], [box.east, y], [x, box.south], [x, box.north]])
    )
    canvas.prepare(west, east, south, north, _FRAME)
    axes.set_aspect(float((east - west) / wide * high / (north - south)), adjustable="box")
    for number, group in enumerate(scene.groups, 1):
        for at, shape in enumerate(group.shapes):
            if not shape.on_demand:
                canvas.shape(shape, 1 + 1e-2 * number + 1e-5 * at)
    canvas.graticule(scene, box, 1 + 1e-2 * scene.ground + 9e-3)
    if locator is not None:
        inset = replace(frame, box=frame.box.grown(-8)).corner(locator.corner, _LOCATOR, _LOCATOR)
        left, low = (inset.west - frame.box.west) / wide, (inset.south - frame.box.south) / high
        _draw_locator(axes.inset_axes((left, low, _LOCATOR / wide, _LOCATOR / high)), locator)
    for label in frame.shown(scene.labels):
        canvas.label(label)
    canvas.scale_bar(box)


def draw_credit(axes: Axes, scene: Scene) -> None:
    """Write the credits for the ground upwards along the right edge of axes, where nothing else is drawn."""
    text = "\n".join(textwrap.wrap(f"Map: {scene.source}", 75))
    written = axes.annotate(text, (1.0, 0.0), (3.0, 0.0), "axes fraction", textcoords="offset points")
    written.set(color=_QUIET, size=8 * _POINT, rotation=90, va="bottom", parse_math=False)


def _draw_locator(axes: Axes, locator: Locator) -> None:
    canvas = _Canvas(axes, np.asarray, 2 * locator.half / _LOCATOR)
    canvas.prepare(-locator.half, locator.half, -locator.half, locator.half, LIGHT["coast"])
    axes.set(xticks=[], yticks=[])
    for number, shape in enumerate(locator.shapes):
        canvas.shape(shape, 1 + number / 1000)
    for label in locator.labels:
        canvas.label(label, _LOCATOR / 120)


@dataclass(frozen=True)
class _Canvas:
    """Axes, the function from metres of the map to their coordinates, and the metres in a pixel."""

    axes: Axes
    move: Callable[[Floats], Floats]
    pixel: float

    def prepare(self, west: float, east: float, south: float, north: float, edge: str) -> None:
        """Set the limits of the axes, and the colours of the sea and of the frame."""
        self.axes.set(xlim=(west, east), ylim=(south, north), facecolor=LIGHT["sea"])
        self.axes.set_autoscale_on(False)
        for spine in self.axes.spines.values():
            spine.set(color=edge, linewidth=0.6)

    def shape(self, shape: Shape, level: float) -> None:
        """Draw a shape above all shapes of lower levels, whichever matplotlib artist draws it."""
        from matplotlib.collections import LineCollection
        from matplotlib.colors import to_rgba

        style, hue, size = shape.style, LIGHT[shape.style.colour], shape.style.width * _POINT
        if shape.form == "dots":
            (dots,) = self.axes.plot(*self.move(shape.parts[0]).T, color=hue, alpha=style.opacity, linestyle="")
            dots.set(marker=_MARKERS[style.marker], markersize=size, markeredgewidth=0.8 * style.halo, zorder=level)
            if style.halo:
                dots.set(markeredgecolor=LIGHT["halo"])
        elif shape.form == "arrows":
            for x, y, angle in np.concatenate(shape.parts):
                (head,) = self.axes.plot(*self.move(np.array([[x, y]])).T, color=hue, alpha=style.opacity)
                head.set(marker=(3, 0, angle - 90), markersize=size, markeredgewidth=0, linestyle="", zorder=level)
        elif shape.form in ("fill", "circles"):
            # One patch has all outlines, so that holes are not filled.
            if rings := _rings(shape):
                patch = _patch(map(self.move, rings), closed=True)
                patch.set(facecolor=to_rgba(hue, style.fill), linewidth=size, zorder=level)
                patch.set(edgecolor=to_rgba(hue, style.opacity) if style.width else "none")
                patch.set(linestyle=(0, style.dash) if style.dash else "solid")
                self.axes.add_patch(patch)
        else:
            lines = [self.move(part) for part in shape.parts]
            width = style.metres / self.pixel if style.metres else style.width
            # One path is one stroke: where a line crosses itself it does not become darker.
            patch = _patch(lines, closed=False)
            patch.set(fill=False, edgecolor=hue, linewidth=width * _POINT, alpha=style.opacity)
            patch.set(linestyle=_dashes(style, width), capstyle="butt" if style.dash else "round", zorder=level)
            if style.halo:
                bright = LineCollection(lines, colors=LIGHT["halo"], linewidths=(width + 2) * _POINT, alpha=0.9)
                bright.set(capstyle=patch.get_capstyle(), joinstyle="round", zorder=level)
                self.axes.add_collection(bright)
            self.axes.add_patch(patch)

    def graticule(self, scene: Scene, box: Box, level: float) -> None:
        """Draw meridians and parallels, with their degrees at the frame."""
        axes = self.axes
        axes.set(xticks=[], yticks=[])
        axes.tick_params(length=2.5, width=0.5, labelsize=10.5 * _POINT, color=_FRAME, labelcolor=_QUIET, pad=2)
        for graticule in scene.graticules:
            if graticule.finest <= self.pixel < graticule.coarsest:
                for lines, axis, set_ticks in (
                    (graticule.meridians, 0, axes.set_xticks), (graticule.parallels, 1, axes.set_yticks),
                ):  # fmt: skip
                    for _, line in lines:
                        axes.plot(*self.move(line).T, color=LIGHT["graticule"], linewidth=0.4, alpha=0.6, zorder=level)
                    names, places = _ticks(lines, box, axis, self.pixel)
                    set_ticks(self.move(places)[:, axis], names)
        for text in axes.get_yticklabels():
            text.set(rotation=90, va="center")

    def label(self, label: Label, scale: float = 1.0) -> None:
        """Write a label, with a halo; `scale` makes it smaller."""
        size, weight, slant = FONTS[label.kind]
        across, up, align = anchor_of(label)
        usual = {"mark": "text", "water": "water"}.get(label.kind, "place")
        place = self.move(np.array([[label.x, label.y]]))
        if label.kind in ("city", "town"):
            self.axes.plot(*place.T, "o", color=LIGHT["place"], markersize=2.6, markeredgewidth=0)
        offset = across * _POINT * scale, up * _POINT * scale
        text = self.axes.annotate(label.text, place[0], offset, textcoords="offset points", parse_math=False)
        # Of weights above 600, matplotlib's fonts have 700 only.
        text.set(size=size * _POINT * scale, weight=700 if weight >= 600 else weight, style=slant)
        text.set(ha={"start": "left", "end": "right"}.get(align, "center"), va="center_baseline")
        text.set(
            color=LIGHT[label.colour or usual], path_effects=_halo(1.8, "sea" if label.kind == "water" else "halo")
        )

    def scale_bar(self, box: Box) -> None:
        """Draw a bar of a round length, and an arrow to the north."""
        pixel, move = self.pixel, self.move
        long = round_below(min(120.0, box.width / pixel / 3) * pixel)
        x, y, tick = box.west + 10 * pixel, box.south + 10 * pixel, 5 * pixel
        bar = np.array([[x, y + tick], [x, y], [x + long, y], [x + long, y + tick]])
        halo = _halo(2.6, "halo")
        self.axes.plot(*move(bar).T, color=_TEXT, linewidth=1.2, solid_joinstyle="miter", zorder=4, path_effects=halo)
        for text, east, north in ((metres(long), x, y + 1.5 * tick), ("N", x + 13 * pixel, y + 26 * pixel)):
            place = move(np.array([[east, north]]))[0]
            written = self.axes.text(place[0], place[1], text, va="bottom", color=_TEXT, weight="bold")
            written.set(size=12 * _POINT, path_effects=halo)
        arrow = np.array([[0, 16], [-5, 0], [0, 3], [5, 0], [0, 16]]) * pixel + [x + 5 * pixel, y + 26 * pixel]
        self.axes.fill(*move(arrow).T, color=_TEXT, linewidth=0.3, zorder=4)


def _halo(width: float, colour: str) -> list[withStroke]:
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground=LIGHT[colour])]


def _dashes(style: Style, width: float) -> str | tuple[float, tuple[float, ...]]:
    """Return dashes as matplotlib takes them, in units of the width of the line."""
    return (0, tuple(length / max(width, 1) for length in style.dash)) if style.dash else "solid"


def _rings(shape: Shape) -> Sequence[Floats]:
    if shape.form == "fill":
        return [part for part in shape.parts if len(part) > 2]
    turn = np.linspace(0, 2 * np.pi, 73)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    return [np.array([x, y]) + r * circle for x, y, r in np.concatenate(shape.parts)]


def _patch(parts: Iterable[Floats], *, closed: bool) -> PathPatch:
    """Return rings or lines as one patch of matplotlib."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    outlines = [Outline(part, closed=closed) for part in parts] or [Outline(np.empty((0, 2)))]
    return PathPatch(Outline.make_compound_path(*outlines), joinstyle="round")


def _ticks(lines: Graduated, box: Box, axis: int, pixel: float) -> tuple[list[str], Floats]:
    """Return the names of lines and the places at which they cross an edge of the map: the southern or western one.

    A line is left out if its name would leave the edge or is too close to another one. If none is left, because all
    are near the ends of the edge, the one nearest to its middle is returned.

    Examples
    --------
    >>> lines = [(name, np.array([[x, -9.0], [x, 9.0]])) for name, x in (("9° E", 4), ("10° E", 100), ("11° E", 120))]
    >>> _ticks(tuple(lines), Box(0.0, 0.0, 300.0, 200.0), 0, 1.0)
    (['10° E'], array([[100.,   0.]]))
    """
    import shapely

    corner = (box.east, box.south) if axis == 0 else (box.west, box.north)
    edge = shapely.LineString([(box.west, box.south), corner])
    crossings = ((name, shapely.get_coordinates(shapely.LineString(line) & edge)[:1]) for name, line in lines)
    crossed = sorted(((name, place[0]) for name, place in crossings if len(place)), key=lambda tick: tick[1][axis])
    low, high = box[axis], box[axis + 2]
    kept: list[tuple[str, Floats]] = []
    for name, place in crossed:
        half = 3.2 * len(name) * pixel
        apart = np.inf if not kept else place[axis] - kept[-1][1][axis]
        if low + half <= place[axis] <= high - half and apart > 2 * half + 8 * pixel:
            kept.append((name, place))
    kept = kept or sorted(crossed, key=lambda tick: abs(tick[1][axis] - (low + high) / 2))[:1]
    return [name for name, _ in kept], np.array([place for _, place in kept]).reshape(-1, 2)


def handles_of(scene: Scene, letters: int) -> list[Artist]:
    """Return the entries of the legend, wrapped to lines of at most `letters` letters."""
    return [_handle(key, group.role == "truth", letters) for group in scene.layers for key in group.keys]


def _handle(key: Key, truth: bool, letters: int) -> Artist:
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    style, hue = key.style, LIGHT[key.style.colour]
    text = "\n".join(textwrap.wrap(with_units(f"TRUE: {key.text}" if truth else key.text), letters))
    handle: Artist = Line2D([], [], linestyle="", label=text)
    if key.visible and key.form == "line":
        handle.set(color=hue, linewidth=style.width * _POINT, alpha=style.opacity)
        handle.set(linestyle=_dashes(style, style.width))
    elif key.visible and key.form == "fill":
        handle = Patch(facecolor=to_rgba(hue, style.fill), edgecolor=hue if style.width else "none", label=text)
        handle.set(linestyle=_dashes(style, style.width), linewidth=0.8)
    elif key.visible:
        circle = key.form == "circles"
        handle.set(marker="o" if circle else _MARKERS[style.marker], markersize=8 if circle else 5)
        handle.set(markerfacecolor=to_rgba(hue, 0.12 if circle else 1.0), markeredgecolor=hue)
    return handle


def legend_of(
    target: Figure | Axes, handles: Sequence[Artist], place: Place, corner: tuple[float, float], *, columns: int = 1
) -> None:
    """Add a legend to a figure or axes, whose `place`, such as "upper left", is at a corner."""
    if not handles:
        return
    legend = target.legend(
        handles, ["name"] * len(handles), ncols=columns, columnspacing=1.2, frameon=False, fontsize=12 * _POINT,
        labelspacing=0.35, handlelength=1.8, loc=place, bbox_to_anchor=corner, borderaxespad=0.0,
    )  # fmt: skip
    # matplotlib hides labels that begin with an underscore, and reads dollars as formulas.
    for text, handle in zip(legend.get_texts(), handles, strict=True):
        text.set(text=handle.get_label(), parse_math=False)
