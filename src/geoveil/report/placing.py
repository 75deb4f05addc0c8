"""Positions of labels and of the small map that cover little data, in every frame in which a map is first seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from geoveil.report.labelling import SIDES, box_of, text_box_of
from geoveil.report.layers import Floats
from geoveil.report.map_projection import Box
from geoveil.report.scene import Corner, Label

__all__ = ["Choice", "Frame", "Obstacles", "around", "frames_of", "free_corner", "place_labels"]

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
    box: tuple[float, float, float, float]
    page: bool = False
    taken: tuple[tuple[float, float, float, float], ...] = ()

    def corner(self, corner: Corner | str, wide: float, high: float) -> tuple[float, float, float, float]:
        """Return the box in a corner that is `wide` by `high` pixels large."""
        west, south, east, north = self.box
        left, low = east - wide if corner.endswith("east") else west, north - high if "north" in corner else south
        return left, low, left + wide, low + high

    def small(self, corner: Corner) -> tuple[float, float, float, float]:
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
    return tuple(replace(label, side=side) for side in dict.fromkeys((label.side, *SIDES)))


def free_corner(places: Floats, view: Box) -> Corner:
    """Return the corner with the least data, for the small map: the same corner on pages and in figures.

    Examples
    --------
    >>> view = Box(-5e3, -5e3, 5e3, 5e3)
    >>> free_corner(np.array([[4.5e3, -4.5e3]]), view), free_corner(np.empty((0, 2)), view)
    ('north-west', 'south-east')
    """
    frames = (*frames_of(view, 0.0, page=True), *frames_of(view, _FIGURE, page=False))

    def covered(corner: Corner) -> float:
        boxes = [np.array(frame.small(corner)) + np.array([-_BAND, -_BAND, _BAND, _BAND]) for frame in frames]
        return sum(float(_inside(places / frame.pixel, box).sum()) for frame, box in zip(frames, boxes, strict=True))

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
                own = owners[_inside(spots, _moved(text_box_of(label), label, frame.pixel))] == choice.owner
                cost += _OWN * min(own.sum(), _MANY) + _OTHER * min((~own).sum(), _MANY)
            if cost < least:
                best, least = label, cost
        placed.append(best)
    return placed


def _cost(label: Label, frame: Frame, placed: Sequence[Label]) -> float:
    """Return the cost of covering other labels, and of leaving the frame or its free part."""
    box, text = (_moved(of(label), label, frame.pixel) for of in (box_of, text_box_of))
    covered = sum(_meet(box, _moved(box_of(other), other, frame.pixel)) for other in placed)
    west, south, east, north = frame.box
    edge, room = (box, 4) if frame.page else (text, 2)
    outside = edge[0] < west + room or edge[1] < south + room or edge[2] > east - room or edge[3] > north - room
    return _LABEL * covered + _OUTSIDE * (outside + sum(_meet(text, taken) for taken in frame.taken))


def _moved(box: Sequence[float], label: Label, pixel: float) -> tuple[float, float, float, float]:
    x, y = label.x / pixel, label.y / pixel
    return box[0] + x, box[1] + y, box[2] + x, box[3] + y


def _inside(places: Floats, box: Sequence[float]) -> NDArray[np.bool_]:
    west, south, east, north = box
    x, y = places.T
    return np.asarray((x > west) & (x < east) & (y > south) & (y < north))


def _meet(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
