"""Where labels and the small map stand so that they cover little, and the scales at which labels are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box
from geoveil.report.scene import Corner, Label, Side

if TYPE_CHECKING:
    import shapely

__all__ = [
    *("FONTS", "Choice", "Frame", "Obstacles", "anchor_of", "around", "box_of", "figure_size", "frames_of"),
    *("free_corner", "place_labels", "text_box_of", "without_overlaps"),
]

#: The size in pixels, the weight and the style of each kind of label.
FONTS: dict[str, tuple[float, int, str]] = {
    "mark": (13.0, 600, "normal"),
    "country": (12.0, 400, "normal"),
    "city": (13.0, 600, "normal"),
    "town": (12.0, 400, "normal"),
    "water": (12.0, 400, "italic"),
}
#: The mean width of a letter as a share of the font size, generously; the pixels between a location and its label,
#: and between a mark, which is larger than other symbols, and its label.
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
#: The costs of standing on the next side, of covering another label, of leaving the frame, of covering a location of
#: the data that the label names, and of covering a location of other data; and the largest number of locations that
#: are counted.
_SIDE, _LABEL, _OUTSIDE, _OWN, _OTHER, _MANY = 0.05, 20.0, 12.0, 0.2, 1.5, 12
#: The largest share of a label on foreign land that costs nothing; the cost of a larger share up to the third number;
#: beyond it, a label costs as much as one that covers another.
_ABROAD, _CROSSING, _LOST = 0.02, 6.0, 0.75


def anchor_of(label: Label) -> tuple[float, float, Literal["start", "middle", "end"]]:
    """Return the anchor of a text at half its height, in pixels east and north of its location, and its alignment.

    Examples
    --------
    >>> anchor_of(Label(0.0, 0.0, "Oslo", "city", "east"))
    (6.0, 0.0, 'start')
    """
    size, side = FONTS[label.kind][0], label.side
    gap = _MARK if label.kind == "mark" and not label.colour else _GAP
    if side == "middle":
        return 0.0, 0.0, "middle"
    up = ("north" in side) - ("south" in side)
    across = side.endswith("east") - side.endswith("west")
    if not across:
        return 0.0, up * (gap + 0.6 * size), "middle"
    near = 0.6 if up else 1.0
    return across * near * gap, up * (near * gap + 0.4 * size), "start" if across > 0 else "end"


def text_box_of(label: Label, pixel: float = np.inf) -> Box:
    """Return the box of a text alone, in pixels from the middle of a map whose pixels are `pixel` metres wide.

    Without `pixel`, it is in pixels from the location of the label.

    Examples
    --------
    >>> [round(end) for end in text_box_of(Label(0.0, 0.0, "Oslo", "city", "east"))]
    [6, -8, 37, 8]
    """
    size = FONTS[label.kind][0]
    x, y, align = anchor_of(label)
    wide, high = _LETTER * size * len(label.text), 1.2 * size
    west = x - {"start": 0.0, "middle": wide / 2, "end": wide}[align]
    return Box(west, y - high / 2, west + wide, y + high / 2).moved(label.x / pixel, label.y / pixel)


def box_of(label: Label, pixel: float = np.inf) -> Box:
    """Return the box of a label and its symbol, in pixels as for `text_box_of`.

    Examples
    --------
    >>> [round(end) for end in box_of(Label(0.0, 0.0, "Oslo", "city", "east"))]
    [-4, -12, 42, 12]
    """
    # Place names of the ground keep more distance from other labels.
    room = 5.0 if label.kind in ("city", "town") else 1.0
    west, south, east, north = text_box_of(label)
    box = min(west - room, -4.0), min(south - 0.8 * room, -4.0), max(east + room, 4.0), max(north + 0.8 * room, 4.0)
    return Box(*box).moved(label.x / pixel, label.y / pixel)


@dataclass(frozen=True)
class Frame:
    """A frame around a view."""

    #: Metres in a pixel.
    pixel: float
    #: The frame, in pixels from the middle of the map.
    box: Box
    #: Whether it is the frame of a page, which has buttons.
    page: bool = False
    #: Boxes that are taken by the scale bar, the buttons and the small map.
    taken: tuple[Box, ...] = ()

    @classmethod
    def of(cls, view: Box, wide: float, high: float, *, page: bool = False, located: Corner | None = None) -> Frame:
        """Return the frame of a given size that shows a view, with the small map in a corner if there is one."""
        pixel = max(view.width / wide, view.height / high)
        x, y = (at / pixel for at in view.middle)
        frame = cls(pixel, Box(-wide / 2, -high / 2, wide / 2, high / 2).moved(x, y), page)
        taken = [frame.corner("south-west", *_SCALE), *([frame.corner("north-east", *_BUTTONS)] if page else [])]
        return replace(frame, taken=(*taken, *([frame.small(located)] if located else [])))

    def corner(self, corner: Corner, wide: float, high: float) -> Box:
        """Return the box in a corner that is `wide` by `high` pixels large."""
        left = self.box.east - wide if corner.endswith("east") else self.box.west
        low = self.box.north - high if "north" in corner else self.box.south
        return Box(left, low, left + wide, low + high)

    def small(self, corner: Corner) -> Box:
        """Return the box of the small map in a corner; on a page it is beside the buttons."""
        aside = _BUTTONS[0] - 8 if self.page and corner == "north-east" else 0.0
        return self.corner(corner, _SMALL, _SMALL).moved(-aside, 0.0)

    def whole(self, label: Label) -> bool:
        """Return whether a label lies inside of the frame; on a page, with its symbol and some room."""
        if self.page:
            return self.box.grown(-4).holds(box_of(label, self.pixel))
        return self.box.grown(-2).holds(text_box_of(label, self.pixel))

    def shown(self, labels: Iterable[Label]) -> Iterator[Label]:
        """Yield the labels in the frame; names of the ground that would be cut off or covered are left out."""
        for label in labels:
            x, y, text = label.x / self.pixel, label.y / self.pixel, text_box_of(label, self.pixel)
            if label.finest <= self.pixel <= label.coarsest and self.box.holds(Box(x, y, x, y)):
                free = self.whole(label) and not any(text.meets(taken) for taken in self.taken)
                if label.group >= 0 or free:
                    yield label


def frames_of(view: Box, pixels: float, *, page: bool, located: Corner | None = None) -> tuple[Frame, ...]:
    """Return the frames in which a view is first seen: those of a page, or that of a figure `pixels` wide.

    Examples
    --------
    >>> [round(frame.pixel) for frame in frames_of(Box(-5e3, -3e3, 5e3, 3e3), 900.0, page=True)]
    [11, 28]
    """
    sizes = _PAGES if page else (figure_size(view, pixels),)
    return tuple(Frame.of(view, *size, page=page, located=located) for size in sizes)


def figure_size(view: Box, pixels: float) -> tuple[float, float]:
    """Return the width and the height in pixels of the map in a figure that is `pixels` wide."""
    wide = pixels - _BESIDE
    return wide, wide * min(max(view.height / view.width, 0.6), 0.95)


@dataclass
class Obstacles:
    """Locations of data that labels should not cover, each with its owner: a track, or all points of a layer."""

    apart: float
    places: list[Floats] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)

    def add(self, *parts: Floats, joined: bool = False) -> int:
        """Add locations, and those between them if they are joined to lines; return the number of their owner."""
        import shapely

        owner = len(self.owners)
        for part in parts:
            if joined and len(np.unique(part, axis=0)) > 1:
                part = shapely.get_coordinates(shapely.segmentize(shapely.LineString(part), _APART * self.apart))
            self.places.append(part[:, :2])
            self.owners.append(owner)
        return owner

    def all(self) -> tuple[Floats, NDArray[np.int64]]:
        """Return all locations and their owners, or an evenly spaced sample if there are very many."""
        places = np.concatenate([np.empty((0, 2)), *self.places])
        owners = np.repeat(np.array(self.owners, dtype=np.int64), [len(part) for part in self.places])
        step = max(1, -(-len(places) // _MOST))
        return places[::step], owners[::step]


@dataclass(frozen=True)
class Choice:
    """The alternatives for a label."""

    #: The alternatives, the best first.
    labels: tuple[Label, ...]
    #: The data that it names; -1 for the ground.
    owner: int = -1
    #: Land, in metres of the map, on which the label should not stand.
    abroad: shapely.Geometry | None = None
    #: The cost from which on the label is left out. By default the label of least cost is always taken.
    most: float = np.inf


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
        return sum(int(frame.small(corner).grown(_BAND).around(places / frame.pixel).sum()) for frame in frames)

    return min(_CORNERS, key=covered)


def place_labels(choices: Iterable[Choice], obstacles: Obstacles, frames: Sequence[Frame]) -> Iterator[Label]:
    """Yield the best label of each choice: one that covers as few earlier labels and as little data as possible.

    Parameters
    ----------
    choices : iterable of Choice
        The alternatives for each label, the most important label first.
    obstacles : Obstacles
        The data.
    frames : sequence of Frame
        The frames in which labels should be whole.
    """
    places, owners = obstacles.all()
    views = [(frame, places / frame.pixel, list[Box]()) for frame in frames]
    for choice in choices:
        best, least = None, choice.most
        for at, label in enumerate(choice.labels):
            cost = _SIDE * at
            for frame, spots, labelled in views:
                text = text_box_of(label, frame.pixel)
                # Costs only grow: most alternatives are given up before their data and their land are counted.
                if cost < least:
                    covered = sum(map(box_of(label, frame.pixel).meets, labelled))
                    outside = (not frame.whole(label)) + sum(map(text.meets, frame.taken))
                    cost += _LABEL * covered + _OUTSIDE * outside
                if cost < least:
                    own = owners[text.around(spots)] == choice.owner
                    cost += _OWN * min(own.sum(), _MANY) + _OTHER * min((~own).sum(), _MANY)
                if cost < least and choice.abroad is not None:
                    cost += _crossing(text.scaled(frame.pixel), choice.abroad)
            if cost < least:
                best, least = label, cost
        if best is not None:
            for frame, _, labelled in views:
                labelled.append(box_of(best, frame.pixel))
            yield best


def _crossing(text: Box, abroad: shapely.Geometry) -> float:
    """Return the cost of a text, given by its box in metres, that stands on foreign land."""
    import shapely

    area = shapely.box(*text)
    share = shapely.area(shapely.intersection(area, abroad)) / shapely.area(area)
    return 0.0 if share <= _ABROAD else _CROSSING if share <= _LOST else _LABEL


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
