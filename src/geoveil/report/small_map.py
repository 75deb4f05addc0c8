"""A small map as SVG that needs no script and no style sheet, for the card of a release in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from geoveil.report.composing import compose
from geoveil.report.labelling import Frame
from geoveil.report.layers import Floats, Layer
from geoveil.report.map_projection import Box
from geoveil.report.page import templates
from geoveil.report.scene import Scene, Shape
from geoveil.report.svg import Pen

__all__ = ["small_map"]

#: The map in pixels, and the number of labels of the ground.
_FRAME, _NAMES = Box(-180.0, -120.0, 180.0, 120.0), 4
#: Opacities of the ground. It has the colour of the text, which is visible on light and on dark backgrounds.
_GROUND = {"land": 0.09, "sea": 0.0, "coast": 0.45, "border": 0.5, "river": 0.2, "road": 0.25, "basemap": 0.3}


def small_map(layers: Sequence[Layer]) -> str:
    """Return a map and its legend as HTML of about ten kilobytes at most; an empty text if no layer has a location.

    Examples
    --------
    >>> from geoveil.report import Layer
    >>> station = Layer("station", [[-122.39, 37.78]], "marks", "public", texts=("Caltrain",))
    >>> "◆</span> station" in small_map([station]), small_map([])
    (True, '')
    """
    scene = compose(layers, pixels=_FRAME.width, beyond=False)
    if scene is None:
        return ""
    pixel = max(scene.view.width / _FRAME.width, scene.view.height / _FRAME.height)
    shapes = [
        _in_pixels(shape, scene, pixel)
        for group in scene.groups
        for shape in group.shapes
        if not shape.on_demand and (group.role != "ground" or shape.style.colour in _GROUND)
    ]
    x, y = (at / pixel for at in scene.view.middle)
    # Labels and their symbols may touch the edge.
    labels = list(Frame(pixel, _FRAME.grown(4).moved(x, y), page=True).shown(scene.labels))
    ground = [label for label in labels if label.group < 0]
    return templates().get_template("small_map.html").render(
        scene=scene,
        frame=_FRAME,
        pixel=pixel,
        pen=Pen(1.0, 1, styled=False),
        shapes=shapes,
        labels=[(label, label.x / pixel - x, y - label.y / pixel) for label in labels if label not in ground[_NAMES:]],
        names=", ".join(layer.name for layer in layers),
    )  # fmt: skip


def _in_pixels(shape: Shape, scene: Scene, pixel: float) -> Shape:
    """Return a shape in pixels from the middle of the map; the ground is faint and has no small details."""
    scale = pixel if shape.form == "circles" else 1.0
    parts = [np.column_stack([(part[:, :2] - scene.view.middle) / pixel, part[:, 2:] / scale]) for part in shape.parts]
    style = replace(shape.style, halo=False, width=shape.style.width * 0.8, metres=shape.style.metres / pixel)
    faint = _GROUND.get(style.colour)
    if faint is not None:
        parts = [fine for part in parts if len(fine := _simplified(part)) > 1]
        style = replace(style, opacity=faint * style.opacity, fill=faint * bool(style.fill))
    return replace(shape, parts=tuple(parts), style=style)


def _simplified(line: Floats) -> Floats:
    """Return a line or ring of the ground without details that are smaller than a pixel."""
    import shapely

    if np.ptp(line, axis=0).max() < 1:
        return line[:0]
    return np.asarray(shapely.get_coordinates(shapely.simplify(shapely.LineString(line), 0.5)))
