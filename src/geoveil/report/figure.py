"""A scene drawn by matplotlib: figures for print as PNG, SVG or PDF, and axes for further use."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.errors import InvalidData
from geoveil.report.composing import compose
from geoveil.report.document import Report
from geoveil.report.formatting import WARNING, round_below, with_units
from geoveil.report.labelling import anchor_of, fits, font_of, moved, text_box_of
from geoveil.report.layers import Floats
from geoveil.report.palette import LIGHT
from geoveil.report.plain_words import summary
from geoveil.report.scene import Key, Label, Locator, Scene, Shape
from geoveil.words import metres

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.patches import PathPatch

__all__ = ["draw", "draw_credit", "draw_scene", "handles_of", "legend_of"]

#: A pixel of the scene in points, and in millimetres.
_POINT, _MM = 0.75, 25.4 / 96
#: The width of a figure in millimetres, unless the caller states one.
WIDTH = 180.0
_TEXT, _QUIET, _WARN = LIGHT["text"], "#566069", "#b91c1c"
_MARKERS = {"disc": "o", "square": "s", "diamond": "D"}
#: The side of the small map of the surroundings, in pixels, and the least width of a figure that has one.
_LOCATOR, _ROOM = 100.0, 300.0
#: Fonts are part of the file: as TrueType in PDF, as outlines in SVG; equal scenes give equal files.
_EMBEDDED: Any = {"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "geoveil"}

#: A function that takes metres of the map to coordinates of the axes.
Move = Callable[[Floats], Floats]


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
    handles = handles_of(scene, int((width / across - 45) // 6.4))
    # matplotlib fills the first column first.
    lines = [str(handle.get_label()).count("\n") + 1 for handle in handles]
    half = -(-len(lines) // across)
    rows = max(sum(lines[:half]), sum(lines[half:]))
    map_width, map_height = width - 52.0, (width - 52.0) * min(max(scene.view.height / scene.view.width, 0.6), 0.95)
    top = 26.0 * len(warnings) + 20.0 * len(title) + 15.5 * len(said) + 14.0
    source = textwrap.wrap(f"Map: {scene.source}", int((width - 12) // 5.3))
    below = 24.0 + 16.5 * rows + 8.0 + 12.0 * len(source)
    height = top + map_height + below
    with matplotlib.rc_context({**_EMBEDDED, "font.size": 12 * _POINT}):
        figure = Figure(figsize=(width / 96, height / 96))

        def write(x: float, y: float, text: str, size: float, **style: Any) -> None:
            """Write a line at pixels from the left and from the bottom."""
            figure.text(x / width, y / height, text, size=size * _POINT, parse_math=False, **style)

        y = height
        for line in warnings:
            banner = {"facecolor": _WARN, "edgecolor": _WARN, "pad": 3.5}
            write(width / 2, y - 14, line, 13, color="w", weight="bold", ha="center", va="center", bbox=banner)
            y -= 26
        for line in title:
            write(8, y - 20, line, 17, color=_TEXT, weight="bold")
            y -= 20
        for line in said:
            write(8, y - 18, line, 12, color=_QUIET)
            y -= 15.5
        axes = figure.add_axes((44 / width, below / height, map_width / width, map_height / height))
        draw_scene(axes, scene)
        corner = (2 / width, (4 + 12 * len(source)) / height)
        legend_of(figure, handles, columns=across, loc="lower left", bbox_to_anchor=corner, borderaxespad=0.0)
        # The licences of the ground require the credits: they are never cut off.
        for at, line in enumerate(reversed(source)):
            write(width - 6, 4 + 12 * at, line, 9, color=_QUIET, ha="right")
        # Without a date, equal reports give equal files.
        metadata: dict[str, Any] = {"Title": (f"{WARNING} " if report.shows_truth else "") + report.title}
        ending = path.suffix.lower()
        if ending != ".png":
            metadata["CreationDate" if ending == ".pdf" else "Date"] = None
        figure.savefig(path, dpi=200, metadata=metadata)


def draw_scene(axes: Axes, scene: Scene, to_axes: Move | None = None) -> None:
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
    move: Move = (lambda flat: flat) if to_axes is None else to_axes
    window = axes.get_window_extent()
    dpi = axes.get_figure().dpi  # type: ignore[union-attr]
    wide, high = window.width / dpi * 96, window.height / dpi * 96
    pixel = max(scene.view.width / wide, scene.view.height / high)
    x, y = scene.view.middle
    half = np.array([wide, high]) * pixel / 2
    box = (x - half[0], y - half[1], x + half[0], y + half[1])
    corners = move(np.array([[box[0], y], [box[2], y], [x, box[1]], [x, box[3]]]))
    axes.set(xlim=corners[:2, 0], ylim=corners[2:, 1], facecolor=LIGHT["sea"])
    axes.set_autoscale_on(False)
    across, up = corners[1, 0] - corners[0, 0], corners[3, 1] - corners[2, 1]
    axes.set_aspect(float(across / wide * high / up), adjustable="box")
    for spine in axes.spines.values():
        spine.set(color="#8b979f", linewidth=0.6)
    for number, group in enumerate(scene.groups, 1):
        for at, shape in enumerate(group.shapes):
            if not shape.on_demand:
                _draw_shape(axes, shape, move, pixel, 1 + 1e-2 * number + 1e-5 * at)
    _draw_graticule(axes, scene, move, pixel, box, 1 + 1e-2 * scene.ground + 9e-3)
    frame = (box[0] / pixel, box[1] / pixel, box[2] / pixel, box[3] / pixel)
    taken = [(frame[0], frame[1], frame[0] + 150, frame[1] + 62)]
    if scene.locator is not None and wide >= _ROOM:
        left, low = _draw_locator(axes, scene.locator, wide, high)
        west, south = frame[0] + left, frame[1] + low
        taken.append((west - 6, south - 6, west + _LOCATOR + 6, south + _LOCATOR + 6))
    for label in scene.labels:
        # A place name of the ground that would be cut off or covered is left out.
        text = moved(text_box_of(label), label, pixel)
        seen = box[0] <= label.x <= box[2] and box[1] <= label.y <= box[3]
        if label.finest <= pixel <= label.coarsest and seen and (label.group >= 0 or fits(text, frame, taken, room=2)):
            _write_label(axes, label, move)
    _draw_scale_bar(axes, move, pixel, box)


def draw_credit(axes: Axes, scene: Scene) -> None:
    """Write the credits for the ground upwards along the right edge of axes, where nothing else is drawn."""
    how: dict[str, Any] = {"color": _QUIET, "size": 8 * _POINT, "rotation": 90, "va": "bottom", "parse_math": False}
    text = "\n".join(textwrap.wrap(f"Map: {scene.source}", 75))
    axes.annotate(text, (1.0, 0.0), (3.0, 0.0), "axes fraction", textcoords="offset points", **how)


def _draw_shape(axes: Axes, shape: Shape, move: Move, pixel: float, level: float) -> None:
    """Draw a shape above all shapes of lower levels, whichever matplotlib artist draws it."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    style, hue = shape.style, LIGHT[shape.style.colour]
    if shape.form == "dots":
        edge = {"markeredgecolor": LIGHT["halo"], "markeredgewidth": 0.8} if style.halo else {"markeredgewidth": 0}
        how: dict[str, Any] = {"color": hue, "alpha": style.opacity, "linestyle": "", "zorder": level, **edge}
        axes.plot(*move(shape.parts[0]).T, marker=_MARKERS[style.marker], markersize=style.width * _POINT, **how)
    elif shape.form == "arrows":
        for x, y, angle in np.concatenate(shape.parts):
            marker: Any = (3, 0, angle - 90)
            how = {"color": hue, "alpha": style.opacity, "markeredgewidth": 0, "linestyle": "", "zorder": level}
            axes.plot(*move(np.array([[x, y]])).T, marker=marker, markersize=style.width * _POINT, **how)
    elif shape.form in ("fill", "circles"):
        # One patch has all outlines, so that holes are not filled.
        if rings := _rings(shape):
            dash: Any = (0, style.dash) if style.dash else "solid"
            outline = to_rgba(hue, style.opacity) if style.width else "none"
            how = {"facecolor": to_rgba(hue, style.fill), "edgecolor": outline, "linewidth": style.width * _POINT}
            axes.add_patch(_patch(map(move, rings), closed=True, linestyle=dash, zorder=level, **how))
    else:
        lines = [move(part) for part in shape.parts]
        width = style.metres / pixel if style.metres else style.width
        dash = (0, tuple(length / max(width, 1) for length in style.dash)) if style.dash else "solid"
        how = {"capstyle": "butt" if style.dash else "round", "joinstyle": "round", "zorder": level}
        if style.halo:
            bright: dict[str, Any] = {"colors": LIGHT["halo"], "linewidths": (width + 2) * _POINT, "alpha": 0.9}
            axes.add_collection(LineCollection(lines, **bright, **how))
        # One path is one stroke: where a line crosses itself it does not become darker.
        how |= {"edgecolor": hue, "linewidth": width * _POINT, "alpha": style.opacity, "linestyle": dash}
        axes.add_patch(_patch(lines, closed=False, fill=False, **how))


def _rings(shape: Shape) -> Sequence[Floats]:
    if shape.form == "fill":
        return [part for part in shape.parts if len(part) > 2]
    turn = np.linspace(0, 2 * np.pi, 73)
    around = np.column_stack([np.cos(turn), np.sin(turn)])
    return [np.array([x, y]) + r * around for x, y, r in np.concatenate(shape.parts)]


def _patch(parts: Iterable[Floats], *, closed: bool, **style: Any) -> PathPatch:
    """Return rings or lines as one patch of matplotlib."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    outlines = [Outline(part, closed=closed) for part in parts] or [Outline(np.empty((0, 2)))]
    return PathPatch(Outline.make_compound_path(*outlines), **{"joinstyle": "round", **style})


def _draw_graticule(axes: Axes, scene: Scene, move: Move, pixel: float, box: Sequence[float], level: float) -> None:
    """Draw meridians and parallels, with their degrees at the frame."""
    shown = [each for each in scene.graticules if each.finest <= pixel < each.coarsest]
    axes.set(xticks=[], yticks=[])
    axes.tick_params(length=2.5, width=0.5, labelsize=10.5 * _POINT, color="#8b979f", labelcolor=_QUIET, pad=2)
    for graticule in shown:
        for lines, at, edge, ticks in (
            (graticule.meridians, 1, box[1], axes.set_xticks),
            (graticule.parallels, 0, box[0], axes.set_yticks),
        ):
            found = [(name, crossing(line, at, edge), line) for name, line in lines]
            low, high = (box[0], box[2]) if at else (box[1], box[3])
            inside = [(name, met) for name, met, _ in found if met is not None and low < met < high]
            for _, _, line in found:
                axes.plot(*move(line).T, color=LIGHT["graticule"], linewidth=0.4, alpha=0.6, zorder=level)
            spaced = _spaced([(name, (met - low) / pixel) for name, met in inside], (high - low) / pixel)
            places = np.array([[low + met * pixel, edge][:: 1 if at else -1] for _, met in spaced]).reshape(-1, 2)
            ticks(move(places)[:, 0 if at else 1], [name for name, _ in spaced])
    for text in axes.get_yticklabels():
        text.set(rotation=90, va="center")


def _spaced(ticks: Sequence[tuple[str, float]], long: float) -> list[tuple[str, float]]:
    """Return the ticks of an edge, `long` pixels long, without those whose texts leave the edge or are too close.

    If none is left, because all ticks are near the ends of the edge, the one nearest to its middle is returned.

    Examples
    --------
    >>> _spaced([("12° N", 4.0), ("13° N", 100.0), ("14° N", 120.0)], 300.0)
    [('13° N', 100.0)]
    """
    kept: list[tuple[str, float]] = []
    for name, at in sorted(ticks, key=lambda tick: tick[1]):
        half = 3.2 * len(name)
        if half <= at <= long - half and (not kept or at - kept[-1][1] > 2 * half + 8):
            kept.append((name, at))
    return kept or sorted(ticks, key=lambda tick: abs(tick[1] - long / 2))[:1]


def crossing(line: Floats, at: int, edge: float) -> float | None:
    """Return the position along an edge of the map at which a line crosses it; None if it does not.

    Parameters
    ----------
    line : array
        (n, 2): the line.
    at : int
        0 for a vertical edge, 1 for a horizontal one.
    edge : float
        The coordinate of the edge.

    Examples
    --------
    >>> crossing(np.array([[0.0, 0.0], [10.0, 20.0]]), 1, 10.0)
    5.0
    """
    off = line[:, at] - edge
    found = np.flatnonzero(off[:-1] * off[1:] <= 0)
    if not len(found):
        return None
    i = int(found[0])
    share = 0.0 if off[i] == off[i + 1] else off[i] / (off[i] - off[i + 1])
    return float(line[i, 1 - at] + share * (line[i + 1, 1 - at] - line[i, 1 - at]))


def _write_label(axes: Axes, label: Label, move: Move, scale: float = 1.0) -> None:
    """Write a label, with a halo; `scale` makes it smaller."""
    from matplotlib.patheffects import withStroke

    size, weight, slant = font_of(label.kind)
    across, up, align = anchor_of(label)
    offset = across * _POINT * scale, up * _POINT * scale
    usual = {"mark": "text", "water": "water"}.get(label.kind, "place")
    colour = LIGHT[label.colour or usual]
    place = move(np.array([[label.x, label.y]]))
    if label.kind in ("city", "town"):
        axes.plot(*place.T, "o", color=LIGHT["place"], markersize=2.6, markeredgewidth=0)
    how: dict[str, Any] = {
        "ha": {"start": "left", "end": "right"}.get(align, "center"),
        "va": "center_baseline",
        "path_effects": [withStroke(linewidth=1.8, foreground=LIGHT["sea" if label.kind == "water" else "halo"])],
    }
    weight = 700 if weight >= 600 else weight  # the next weight that matplotlib's fonts have
    style: dict[str, Any] = {"size": size * _POINT * scale, "weight": weight, "style": slant, "color": colour}
    axes.annotate(label.text, place[0], offset, textcoords="offset points", parse_math=False, **how, **style)


def _draw_scale_bar(axes: Axes, move: Move, pixel: float, box: Sequence[float]) -> None:
    """Draw a bar of a round length, and an arrow to the north."""
    from matplotlib.patheffects import withStroke

    long = round_below(min(120.0, (box[2] - box[0]) / pixel / 3) * pixel)
    x, y, tick = box[0] + 10 * pixel, box[1] + 10 * pixel, 5 * pixel
    bar = np.array([[x, y + tick], [x, y], [x + long, y], [x + long, y + tick]])
    halo: dict[str, Any] = {"path_effects": [withStroke(linewidth=2.6, foreground=LIGHT["halo"])]}
    axes.plot(*move(bar).T, color=_TEXT, linewidth=1.2, solid_joinstyle="miter", zorder=4, **halo)
    text: dict[str, Any] = {"color": _TEXT, "size": 12 * _POINT, "weight": "bold", **halo}
    (left, low), (east, up) = move(np.array([[x, y + 1.5 * tick], [x + 13 * pixel, y + 26 * pixel]]))
    axes.text(left, low, metres(long), va="bottom", **text)
    axes.text(east, up, "N", va="bottom", **text)
    arrow = np.array([[0, 16], [-5, 0], [0, 3], [5, 0], [0, 16]]) * pixel + [x + 5 * pixel, y + 26 * pixel]
    axes.fill(*move(arrow).T, color=_TEXT, linewidth=0.3, zorder=4)


def _draw_locator(axes: Axes, locator: Locator, wide: float, high: float) -> tuple[float, float]:
    """Draw the small map into its corner; return the pixels from the left and from the bottom at which it begins."""
    side = _LOCATOR
    left = wide - side - 8 if locator.corner.endswith("east") else 8.0
    low = high - side - 8 if locator.corner.startswith("north") else 8.0
    inset = axes.inset_axes((left / wide, low / high, side / wide, side / high))
    inset.set(xlim=(-locator.half, locator.half), ylim=(-locator.half, locator.half), xticks=[], yticks=[])
    inset.set(facecolor=LIGHT["sea"])
    inset.set_autoscale_on(False)
    for spine in inset.spines.values():
        spine.set(color=LIGHT["coast"], linewidth=0.6)
    for number, shape in enumerate(locator.shapes):
        _draw_shape(inset, shape, lambda flat: flat, 2 * locator.half / side, 1 + number / 1000)
    for label in locator.labels:
        _write_label(inset, label, lambda flat: flat, side / 120)
    return left, low


def handles_of(scene: Scene, letters: int) -> list[Artist]:
    """Return the entries of the legend, wrapped to lines of at most `letters` letters."""
    return [_handle(key, group.role == "truth", letters) for group in scene.layers for key in group.keys]


def _handle(key: Key, truth: bool, letters: int) -> Artist:
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    style, hue = key.style, LIGHT[key.style.colour]
    text = "\n".join(textwrap.wrap(with_units(f"TRUE: {key.text}" if truth else key.text), letters))
    dash: Any = (0, tuple(length / max(style.width, 1) for length in style.dash)) if style.dash else "solid"
    if not key.visible:
        return Line2D([], [], linestyle="", label=text)
    if key.form == "line":
        width = style.width * _POINT
        return Line2D([], [], color=hue, linewidth=width, alpha=style.opacity, linestyle=dash, label=text)
    if key.form == "fill":
        edge = hue if style.width else "none"
        return Patch(facecolor=to_rgba(hue, style.fill), edgecolor=edge, linestyle=dash, linewidth=0.8, label=text)
    circle = key.form == "circles"
    how: dict[str, Any] = {"markerfacecolor": to_rgba(hue, 0.12 if circle else 1.0), "markeredgecolor": hue}
    marker = "o" if circle else _MARKERS[style.marker]
    return Line2D([], [], marker=marker, linestyle="", markersize=8 if circle else 5, label=text, **how)


def legend_of(target: Any, handles: Sequence[Artist], *, columns: int = 1, **place: Any) -> None:
    """Add a legend to a figure or axes."""
    if not handles:
        return
    how: dict[str, Any] = {"frameon": False, "fontsize": 12 * _POINT, "labelspacing": 0.35, "handlelength": 1.8}
    legend = target.legend(handles, ["name"] * len(handles), ncols=columns, columnspacing=1.2, **how, **place)
    # matplotlib hides labels that begin with an underscore, and reads dollars as formulas.
    for text, handle in zip(legend.get_texts(), handles, strict=True):
        text.set(text=handle.get_label(), parse_math=False)
