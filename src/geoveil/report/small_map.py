"""A small map as SVG that needs no script and no style sheet, for the card of a release in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

import numpy as np

from geoveil.report.composing import compose
from geoveil.report.formatting import round_below
from geoveil.report.labelling import box_of, fits, moved
from geoveil.report.layers import Floats, Layer
from geoveil.report.palette import LIGHT
from geoveil.report.scene import Key, Scene, Shape
from geoveil.report.svg import shape_svg, text_svg
from geoveil.words import metres

__all__ = ["small_map"]

#: The size of the map in pixels, and the number of labels of the ground.
_WIDTH, _HEIGHT, _NAMES = 360.0, 240.0, 4
#: Opacities of the ground. It has the colour of the text, which is visible on light and on dark backgrounds.
_GROUND = {"land": 0.09, "sea": 0.0, "coast": 0.45, "border": 0.5, "river": 0.2, "road": 0.25, "basemap": 0.3}
_SYMBOLS = {"fill": "■", "line": "━", "dots": "●", "circles": "◯"}


def small_map(layers: Sequence[Layer]) -> str:
    """Return a map and its legend as HTML of about ten kilobytes at most; an empty text if no layer has a location.

    Examples
    --------
    >>> from geoveil.report import Layer
    >>> station = Layer("station", [[-122.39, 37.78]], "marks", "public", texts=("Caltrain",))
    >>> "◆</span> station" in small_map([station]), small_map([])
    (True, '')
    """
    scene = compose(layers, pixels=_WIDTH, beyond=False)
    if scene is None:
        return ""
    pixel = max(scene.view.width / _WIDTH, scene.view.height / _HEIGHT)
    drawn = [
        shape_svg(_in_pixels(shape, scene, pixel), 1, 1.0, _colour)
        for group in scene.groups
        for shape in group.shapes
        if not shape.on_demand and (group.role != "ground" or shape.style.colour in _GROUND)
    ]
    label = "Map of " + ", ".join(layer.name for layer in layers) + f". {scene.where}"
    said = [_legend_entry(key) for group in scene.layers for key in group.keys]
    return (
        f'<figure><svg viewBox="{-_WIDTH / 2:g} {-_HEIGHT / 2:g} {_WIDTH:g} {_HEIGHT:g}" width="{_WIDTH:g}" '
        f'height="{_HEIGHT:g}" role="img" aria-label="{escape(label)}" fill-rule="evenodd">'
        f"{''.join(drawn)}{''.join(_names(scene, pixel))}{_scale_bar(pixel)}</svg>"
        f"<figcaption>{'<br>'.join(said)}<br><small>Map: {escape(scene.source)}</small></figcaption></figure>"
    )


def _colour(name: str) -> str:
    """Return a colour that is visible on light and on dark backgrounds."""
    return LIGHT[name] if name.startswith(("person", "shade")) else "currentColor"


def _in_pixels(shape: Shape, scene: Scene, pixel: float) -> Shape:
    """Return a shape in pixels from the middle of the map."""
    middle = np.array(scene.view.middle)
    parts = []
    for part in shape.parts:
        moved = part.copy()
        moved[:, :2] = (part[:, :2] - middle) / pixel
        if shape.form == "circles":
            moved[:, 2] /= pixel
        parts.append(moved)
    if shape.style.colour in _GROUND:
        parts = [fine for part in parts if len(fine := _simplified(part)) > 1]
    style = replace(shape.style, halo=False, width=shape.style.width * 0.8, metres=shape.style.metres / pixel)
    faint = _GROUND.get(style.colour)
    if faint is not None:
        style = replace(style, opacity=faint * style.opacity, fill=faint * bool(style.fill))
    return replace(shape, parts=tuple(parts), style=style)


def _simplified(line: Floats) -> Floats:
    """Return a line or ring of the ground without details that are smaller than a pixel."""
    import shapely

    if np.ptp(line, axis=0).max() < 1:
        return line[:0]
    return np.asarray(shapely.get_coordinates(shapely.simplify(shapely.LineString(line), 0.5)))


def _names(scene: Scene, pixel: float) -> Iterator[str]:
    """Yield the labels of marks, and of the most important places of the ground that are wholly on the map."""
    east, north = scene.view.middle
    ground = 0
    for label in scene.labels:
        if not label.finest <= pixel <= label.coarsest:
            continue
        label = replace(label, x=(label.x - east) / pixel, y=(label.y - north) / pixel)
        whole = fits(moved(box_of(label), label, 1.0), (-_WIDTH / 2, -_HEIGHT / 2, _WIDTH / 2, _HEIGHT / 2))
        ground += label.group < 0 and whole
        if whole and (label.group >= 0 or ground <= _NAMES):
            hue = LIGHT[label.colour] if label.colour else "currentColor"
            faint = ' fill-opacity=".75"' if label.group < 0 else ""
            place = f'transform="translate({label.x:.1f} {-label.y:.1f})"'
            yield f'<g {place} fill="{hue}"{faint} font-size="11">{text_svg(label)}</g>'


def _legend_entry(key: Key) -> str:
    """Return an entry of the legend with its symbol in its colour."""
    if not key.visible:
        return escape(key.text)
    symbol = "◆" if key.form == "dots" and key.style.marker == "diamond" else _SYMBOLS[key.form]
    return f'<span style="color: {_colour(key.style.colour)}">{symbol}</span> {escape(key.text)}'


def _scale_bar(pixel: float) -> str:
    long = round_below(pixel * _WIDTH / 4)
    left, low = 10 - _WIDTH / 2, _HEIGHT / 2 - 10
    return (
        f'<path d="M{left:g} {low - 4:g}v4h{long / pixel:.1f}v-4" fill="none" stroke="currentColor" '
        'stroke-width="1.5"/>'
        f'<text x="{left:g}" y="{low - 8:g}" fill="currentColor" font-size="11">{metres(long)}</text>'
    )
