"""Where labels and the small map stand so that they cover little, and the scales at which labels are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box
from geoveil.report.scene import Corner, Label, Side

__all__ = [
    *("Choice", "Frame", "Obstacles", "anchor_of", "around", "box_of", "fits", "font_of", "frames_of", "free_corner"),
    *("moved", "place_labels", "text_box_of", "without_overlaps"),
]

#: West, south, east and north, in pixels.
Bounds: TypeAlias = tuple[float, float, float, float]

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
_SIDES: tuple[Side, ...] = (
    "east", "west", "north", "south", "north-east", "south-east", "north-west", "south-west",
)  # fmt: skip
#: The sizes in pixels of the map on a page, in a wide window and on a phone; and the space beside a map in a figure.
_PAGES, _BESIDE = ((1200.0, 558.0), (358.0, 558.0)), 52.0
#: The width in pixels of the figure for which the corner of the small map is chosen.
_FIGURE = 400.0
#: The widths and heights in pixels of the corners that the scale bar and the buttons of a page take, and the side of
#: the small map.
_SCALE, _BUTTONS, _SMALL = (150.0, 66.0), (64.0, 140.0), 112.0
#: The pixels around data that should stay free as well, because tracks have bands.
_BAND = 12.0
#: The corners that the small map may take; the scale bar is in the fourth.
_CORNERS: tuple[Corner, ...] = ("south-east", "north-west", "north-east")
#: The pixels between two of the locations that represent a line, and the largest number of locations in all.
_APART, _MOST = 5.0, 30_000
#: The costs of covering another label, of leaving the frame, of covering a location of the data that the label names,
#: and of covering a location of other data; and the largest number of locations that are counted.
_LABEL, _OUTSIDE, _OWN, _OTHER, _MANY = 20.0, 12.0, 0.2, 1.5, 12


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


def text_box_of(label: Label) -> Bounds:
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


def box_of(label: Label) -> Bounds:
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


@dataclass(frozen=True)
class Frame:
    """A frame around a view.

    Parameters
    ----------
    pixel : float
        Metres in a pixel.
    box : tuple of float
        West, south, east and north, in pixels from the middle of the map.
    page : bool
        Whether it is the frame of a page, which has buttons.
    taken : tuple of tuple of float
        Boxes that are taken by the scale bar, the buttons and the small map.
    """

    pixel: float
    box: Bounds
    page: bool = False
    taken: tuple[Bounds, ...] = ()

    def corner(self, corner: Corner | str, wide: float, high: float) -> Bounds:
        """Return the box in a corner that is `wide` by `high` pixels large."""
        west, south, east, north = self.box
        left, low = east - wide if corner.endswith("east") else west, north - high if "north" in corner else south
        return left, low, left + wide, low + high

    def small(self, corner: Corner) -> Bounds:
        """Return the box of the small map in a corner; on a page it is beside the buttons."""
        west, south, east, north = self.corner(corner, _SMALL, _SMALL)
        aside = _BUTTONS[0] - 8 if self.page and corner == "north-east" else 0.0
        return west - aside, south, east - aside, north


def frames_of(view: Box, pixels: float, *, page: bool, located: Corner | None = None) -> tuple[Frame, ...]:
    """Return the frames in which a view is first seen: those of a page, or that of a figure `pixels` wide.

    Examples
    --------
    >>> [round(frame.pixel) for frame in frames_of(Box(-5e3, -3e3, 5e3, 3e3), 900.0, page=True)]
    [11, 28]
    """
    wide = pixels - _BESIDE
    sizes = _PAGES if page else ((wide, wide * min(max(view.height / view.width, 0.6), 0.95)),)
    found = []
    for across, up in sizes:
        pixel = max(view.width / across, view.height / up)
        x, y = (at / pixel for at in view.middle)
        frame = Frame(pixel, (x - across / 2, y - up / 2, x + across / 2, y + up / 2), page)
        taken = [frame.corner("south-west", *_SCALE), *([frame.corner("north-east", *_BUTTONS)] if page else [])]
        taken += [frame.small(located)] if located else []
        found.append(replace(frame, taken=tuple(taken)))
    return tuple(found)


@dataclass
class Obstacles:
    """Locations of data that labels should not cover, each with its owner: a track, or all points of a layer."""

    apart: float
    places: list[Floats] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)

    def add(self, owner: int, *parts: Floats, joined: bool = False) -> None:
        """Add locations, and those between them if they are joined to lines."""
        import shapely

        for part in parts:
            if joined and len(np.unique(part, axis=0)) > 1:
                part = shapely.get_coordinates(shapely.segmentize(shapely.LineString(part), _APART * self.apart))
            self.places.append(part[:, :2])
            self.owners.append(owner)

    def all(self) -> tuple[Floats, NDArray[np.int64]]:
        """Return all locations and their owners, or an evenly spaced sample if there are very many."""
        places = np.concatenate([np.empty((0, 2)), *self.places])
        owners = np.repeat(np.array(self.owners, dtype=np.int64), [len(part) for part in self.places])
        step = max(1, -(-len(places) // _MOST))
        return places[::step], owners[::step]


@dataclass(frozen=True)
class Choice:
    """The alternatives for a label, the best first, and the data that it names; -1 for the ground."""

    labels: tuple[Label, ...]
    owner: int = -1


def around(label: Label) -> tuple[Label, ...]:
    """Return copies of a label on every side of its location, its present side first."""
    if label.side == "middle":
        return (label,)
    return tuple(replace(label, side=side) for side in dict.fromkeys((label.side, *_SIDES)))


def free_corner(places: Floats, view: Box) -> Corner:
    """Return the corner with the least data, for the small map: the same corner on pages and in figures.

    Examples
    --------
    >>> view = Box(-5e3, -5e3, 5e3, 5e3)
    >>> free_corner(np.array([[4.5e3, -4.5e3]]), view), free_corner(np.empty((0, 2)), view)
    ('north-west', 'south-east')
    """
    frames = (*frames_of(view, 0.0, page=True), *frames_of(view, _FIGURE, page=False))

    def covered(corner: Corner) -> int:
        boxes = [(frame.pixel, *frame.small(corner)) for frame in frames]
        return sum(
            int(_inside(places / pixel, (west - _BAND, south - _BAND, east + _BAND, north + _BAND)).sum())
            for pixel, west, south, east, north in boxes
        )

    return min(_CORNERS, key=covered)


def place_labels(choices: Sequence[Choice], obstacles: Obstacles, frames: Sequence[Frame]) -> list[Label]:
    """Return the best label of each choice: one that covers as few earlier labels and as little data as possible.

    Parameters
    ----------
    choices : sequence of Choice
        The alternatives for each label, the most important label first.
    obstacles : Obstacles
        The data.
    frames : sequence of Frame
        The frames in which labels should be whole.
    """
    places, owners = obstacles.all()
    seen = [places / frame.pixel for frame in frames]
    placed: list[Label] = []
    for choice in choices:
        best, least = choice.labels[0], np.inf
        for at, label in enumerate(choice.labels):
            cost = 0.05 * at
            for frame, spots in zip(frames, seen, strict=True):
                cost += _cost(label, frame, placed)
                own = owners[_inside(spots, moved(text_box_of(label), label, frame.pixel))] == choice.owner
                cost += _OWN * min(own.sum(), _MANY) + _OTHER * min((~own).sum(), _MANY)
            if cost < least:
                best, least = label, cost
        placed.append(best)
    return placed


def _cost(label: Label, frame: Frame, placed: Sequence[Label]) -> float:
    """Return the cost of covering other labels, and of leaving the frame or its free part."""
    box, text = (moved(of(label), label, frame.pixel) for of in (box_of, text_box_of))
    covered = sum(_meet(box, moved(box_of(other), other, frame.pixel)) for other in placed)
    whole = fits(box, frame.box, room=4) if frame.page else fits(text, frame.box, room=2)
    return _LABEL * covered + _OUTSIDE * (not whole) + _OUTSIDE * sum(_meet(text, taken) for taken in frame.taken)


def moved(box: Bounds, label: Label, pixel: float) -> Bounds:
    """Return a box around a label's location in pixels from the middle of the map; a pixel is `pixel` metres wide."""
    x, y = label.x / pixel, label.y / pixel
    return box[0] + x, box[1] + y, box[2] + x, box[3] + y


def fits(box: Bounds, frame: Bounds, taken: Sequence[Bounds] = (), room: float = 0.0) -> bool:
    """Return whether a box lies in a frame, at least `room` pixels from its edges, and on no box that is taken."""
    inside = box[0] >= frame[0] + room and box[1] >= frame[1] + room
    inside = inside and box[2] <= frame[2] - room and box[3] <= frame[3] - room
    return inside and not any(_meet(box, other) for other in taken)


def _inside(places: Floats, box: Bounds) -> NDArray[np.bool_]:
    return np.asarray(((places > box[:2]) & (places < box[2:])).all(axis=1))


def _meet(one: Bounds, other: Bounds) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def without_overlaps(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Return labels with the coarsest scale at which each is shown, so that none ever covers an earlier one.

    A label has a fixed size on the screen and contains its location. Two labels therefore overlap at all scales
    coarser than the one at which they touch, and at no finer scale.
    """
    kept: list[Label] = []
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
            kept.append(replace(label, coarsest=float(coarsest[j])))
    return tuple(kept)
