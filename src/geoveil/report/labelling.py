"""Labels that do not overlap: the box of each, and the scales at which it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from geoveil.report.scene import Label, Side

__all__ = ["SIDES", "anchor_of", "box_of", "font_of", "text_box_of", "without_overlaps"]

#: The size in pixels, the weight and the style of each kind of label.
_FONTS: dict[str, tuple[float, int, str]] = {
    "mark": (13.0, 600, "normal"),
    "country": (12.0, 400, "normal"),
    "city": (13.0, 600, "normal"),
    "town": (12.0, 400, "normal"),
    "water": (12.0, 400, "italic"),
}
#: The mean width of a letter as a share of the font size, generously; the pixels between a location and its label,
#: and between a mark and its label.
_LETTER, _GAP, _MARK = 0.6, 6.0, 10.0
#: The sides of a location on which its label may stand, the best first.
SIDES: tuple[Side, ...] = (
    "east", "west", "north", "south", "north-east", "south-east", "north-west", "south-west",
)  # fmt: skip


def font_of(kind: str) -> tuple[float, int, str]:
    """Return the size in pixels, the weight and the style of the font of a kind of label."""
    return _FONTS[kind]


def anchor_of(label: Label) -> tuple[float, float, Literal["start", "middle", "end"]]:
    """Return the anchor of a text at half its height, in pixels east and north of its location, and its alignment.

    Examples
    --------
    >>> anchor_of(Label(0.0, 0.0, "Oslo", "city", "east"))
    (6.0, 0.0, 'start')
    """
    size, gap, side = _FONTS[label.kind][0], _gap(label), label.side
    if side == "middle":
        return 0.0, 0.0, "middle"
    up = ("north" in side) - ("south" in side)
    across = side.endswith("east") - side.endswith("west")
    if not across:
        return 0.0, up * (gap + 0.6 * size), "middle"
    near = 0.6 if up else 1.0
    return across * near * gap, up * (near * gap + 0.4 * size), "start" if across > 0 else "end"


def _gap(label: Label) -> float:
    """Return the pixels between a location and its text; marks are larger than other symbols."""
    return _MARK if label.kind == "mark" and not label.colour else _GAP


def text_box_of(label: Label) -> tuple[float, float, float, float]:
    """Return west, south, east and north of a text alone, in pixels from its location.

    Examples
    --------
    >>> [round(end) for end in text_box_of(Label(0.0, 0.0, "Oslo", "city", "east"))]
    [6, -8, 37, 8]
    """
    size = _FONTS[label.kind][0]
    x, y, align = anchor_of(label)
    wide, high = _LETTER * size * len(label.text), 1.2 * size
    west = x - {"start": 0.0, "middle": wide / 2, "end": wide}[align]
    return west, y - high / 2, west + wide, y + high / 2


def box_of(label: Label) -> tuple[float, float, float, float]:
    """Return west, south, east and north of a label and its symbol, in pixels from its location.

    Examples
    --------
    >>> [round(end) for end in box_of(Label(0.0, 0.0, "Oslo", "city", "east"))]
    [-4, -12, 42, 12]
    """
    # Place names of the ground keep more distance from other labels.
    room = 5.0 if label.kind in ("city", "town") else 1.0
    west, south, east, north = text_box_of(label)
    return min(west - room, -4.0), min(south - 0.8 * room, -4.0), max(east + room, 4.0), max(north + 0.8 * room, 4.0)


def without_overlaps(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Return labels with the coarsest scale at which each is shown, so that none ever covers an earlier one.

    A label has a fixed size on the screen and contains its location. Two labels therefore overlap at all scales
    coarser than the one at which they touch, and at no finer scale.
    """
    found: list[Label] = []
    boxes = np.array([box_of(label) for label in labels]).reshape(-1, 4)
    at = np.array([[label.x, label.y] for label in labels]).reshape(-1, 2)
    coarsest = np.array([label.coarsest for label in labels])
    finest = np.array([label.finest for label in labels])
    for j, label in enumerate(labels):
        if j:
            step = at[j] - at[:j]
            # The pixels between the locations of two labels that touch, by axis: they depend on the order of the two.
            room = np.where(step > 0, boxes[:j, 2:] - boxes[j, :2], boxes[j, 2:] - boxes[:j, :2])
            touch = (np.abs(step) / room).max(axis=1)
            hindered = (touch < coarsest[:j]) & (finest[:j] < coarsest[j])
            coarsest[j] = min([coarsest[j], *touch[hindered]])
        if coarsest[j] > max(finest[j], 0):
            found.append(replace(label, coarsest=float(coarsest[j])))
    return tuple(found)
