"""Labels that do not overlap: the side of each, and the scales at which it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box
from geoveil.report.scene import Label

__all__ = ["box_of", "choose_sides", "font_of", "without_overlaps"]

#: The size in pixels, the weight and the style of each kind of label.
_FONTS: dict[str, tuple[float, int, str]] = {
    "mark": (13.0, 600, "normal"),
    "country": (13.0, 500, "normal"),
    "city": (13.0, 600, "normal"),
    "town": (12.0, 400, "normal"),
    "water": (12.0, 400, "italic"),
}
#: The width of a letter over the size of the font, a generous mean; the space between a location and its label.
_LETTER, _GAP = 0.6, 6.0
_SIDES: tuple[Literal["east", "west", "north", "south"], ...] = ("east", "west", "north", "south")


def font_of(kind: str) -> tuple[float, int, str]:
    """Return the size in pixels, the weight and the style of the font of a kind of label."""
    return _FONTS[kind]


def box_of(label: Label) -> tuple[float, float, float, float]:
    """Return west, south, east and north of a label and its symbol, in pixels from its location.

    Examples
    --------
    >>> [round(end) for end in box_of(Label(0.0, 0.0, "Oslo", "city", "east"))]
    [-4, -13, 49, 13]
    """
    size = _FONTS[label.kind][0]
    roomy = label.kind in ("city", "town")  # names of the ground keep some distance
    wide, high = _LETTER * size * len(label.text) + (12 if roomy else 2), (2.0 if roomy else 1.4) * size
    if label.side == "east":
        return -4.0, -high / 2, _GAP + wide, high / 2
    if label.side == "west":
        return -_GAP - wide, -high / 2, 4.0, high / 2
    low, top = {"north": (-4.0, _GAP + high), "south": (-_GAP - high, 4.0)}.get(label.side, (-high / 2, high / 2))
    return -wide / 2, low, wide / 2, top


def choose_sides(labels: Sequence[Label], pixel: float, taken: Floats, view: Box) -> list[Label]:
    """Return labels, each on the first side where it is in the view and covers no other and no symbol.

    The side that a label has comes first.

    Parameters
    ----------
    labels : sequence of Label
        The labels, the most important first.
    pixel : float
        Metres in a pixel at which they are placed.
    taken : array
        (n, 2): locations of symbols that no label should cover, in metres.
    view : Box
        The box in which labels should be whole.
    """
    frame = np.array([view.west, view.south, view.east, view.north]) / pixel
    placed: list[Label] = []
    boxes: list[Floats] = []
    symbols = [np.concatenate([spot / pixel - 5, spot / pixel + 5]) for spot in taken]
    for label in labels:
        own = np.array([label.x, label.y]) / pixel
        others = [spot for spot in symbols if np.abs(spot[:2] + 5 - own).max() > 0.5]
        best, fewest = label, np.inf
        for side in dict.fromkeys((label.side, *_SIDES)):
            tried = replace(label, side=side)
            box = np.array(box_of(tried)) + np.tile(own, 2)
            covered = sum(_meet(box, other) for other in boxes) * 3 + sum(_meet(box, other) for other in others)
            covered += 2 * bool((box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any())
            if covered < fewest:
                best, fewest = tried, covered
        placed.append(best)
        boxes.append(np.array(box_of(best)) + np.tile(own, 2))
    return placed


def _meet(one: Floats, other: Floats) -> bool:
    return bool((one[:2] < other[2:]).all() and (other[:2] < one[2:]).all())


def without_overlaps(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Return labels with the scales up to which they are shown, so that none ever covers one before it.

    A label has a fixed size on the screen and contains its location. Two of them therefore overlap at all scales
    coarser than one at which they touch, and at no finer one.
    """
    found: list[Label] = []
    boxes = np.array([box_of(label) for label in labels]).reshape(-1, 4)
    at = np.array([[label.x, label.y] for label in labels]).reshape(-1, 2)
    coarsest = np.array([label.coarsest for label in labels])
    finest = np.array([label.finest for label in labels])
    for j, label in enumerate(labels):
        if j:
            step = at[j] - at[:j]
            # The room between the locations of two labels that touch, in pixels, by the side on which one stands.
            room = np.where(step > 0, boxes[:j, 2:] - boxes[j, :2], boxes[j, 2:] - boxes[:j, :2])
            touch = (np.abs(step) / room).max(axis=1)
            hindered = (touch < coarsest[:j]) & (finest[:j] < coarsest[j])
            coarsest[j] = min([coarsest[j], *touch[hindered]])
        if coarsest[j] > max(finest[j], 0):
            found.append(replace(label, coarsest=float(coarsest[j])))
    return tuple(found)
