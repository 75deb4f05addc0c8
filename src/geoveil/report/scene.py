"""A scene: everything that a map shows, in order, with styles. The page and the figure draw it and decide nothing.

Coordinates are metres of the scene's projection, east and north of its middle; `Scene.as_dict` gives them in degrees,
for other programs. Widths and sizes are pixels of a screen with 96 pixels per inch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

import numpy as np

from geoveil.report import palette
from geoveil.report.layers import Floats, Geometries, Role
from geoveil.report.map_projection import Box, Projection

__all__ = [
    *("Corner", "Form", "Graduated", "Graticule", "Group", "Key", "Label", "Locator", "Marker", "Scene", "Shape"),
    *("Side", "Style"),
]

#: Filled outlines; lines; dots of one size; circles as rows of x, y and radius; arrowheads as rows of x, y and angle.
Form: TypeAlias = Literal["fill", "line", "dots", "circles", "arrows"]
#: The form of dots.
Marker: TypeAlias = Literal["disc", "square", "diamond"]
#: The side of a location on which its label stands, and a corner of the map.
Side: TypeAlias = Literal[
    "east", "west", "north", "south", "north-east", "south-east", "north-west", "south-west", "middle"
]
Corner: TypeAlias = Literal["south-east", "north-west", "north-east", "south-west"]
#: Lines with their names.
Graduated: TypeAlias = tuple[tuple[str, Floats], ...]


@dataclass(frozen=True)
class Style:
    """How a shape is drawn."""

    #: A name of the palette.
    colour: str
    #: The width of lines and outlines, or the size of dots and arrowheads, in pixels; 0 for no line.
    width: float = 0.0
    #: The opacity of lines and dots.
    opacity: float = 1.0
    #: The opacity of the inside.
    fill: float = 0.0
    #: The lengths of dashes and gaps, in pixels.
    dash: tuple[float, ...] = ()
    #: The form of dots.
    marker: Marker = "disc"
    #: The width of lines in metres on the ground, in place of pixels.
    metres: float = 0.0
    #: Whether lines have a bright edge, so that they stand out from others below.
    halo: bool = False


@dataclass(frozen=True, eq=False)
class Shape:
    """Shapes of one form and style, in metres of the map."""

    #: Their form.
    form: Form
    #: The rings or lines, each (n, 2); for dots one array (n, 2); for circles and arrows one array (n, 3).
    parts: tuple[Floats, ...]
    #: How they are drawn.
    style: Style
    #: Whether they are shown only when a reader asks for them.
    on_demand: bool = False

    @classmethod
    def filled(cls, polygons: Geometries, style: Style) -> Shape:
        """Return the outlines and holes of polygons as one shape."""
        import shapely

        rings = shapely.get_rings(shapely.get_parts(polygons))
        return cls("fill", tuple(shapely.get_coordinates(ring) for ring in rings), style)

    @classmethod
    def drawn(cls, lines: Geometries, style: Style) -> Shape:
        """Return lines, without those that are empty, as one shape."""
        import shapely

        parts = shapely.get_parts(lines)
        return cls("line", tuple(shapely.get_coordinates(part) for part in parts[~shapely.is_empty(parts)]), style)


@dataclass(frozen=True)
class Key:
    """An entry of the legend: its text, and a symbol in the form and style of the shapes that it explains.

    A heading or a note has no symbol.
    """

    text: str
    form: Form = "fill"
    style: Style = Style("text")

    @property
    def visible(self) -> bool:
        """Whether it has a symbol."""
        return bool(self.style.width or self.style.fill)


@dataclass(frozen=True, eq=False)
class Group:
    """Shapes that are shown and hidden together."""

    #: The name of the group; for a layer, its heading in the legend.
    name: str
    #: What it shows.
    role: Role | Literal["ground"]
    #: The shapes, the first at the bottom.
    shapes: tuple[Shape, ...]
    #: Its legend; empty for the ground.
    keys: tuple[Key, ...] = ()

    @property
    def circles_on_demand(self) -> int:
        """The number of circles that are shown only when a reader asks for them."""
        return sum(len(part) for shape in self.shapes if shape.on_demand for part in shape.parts)


@dataclass(frozen=True)
class Label:
    """A text on the map, with the scales at which it overlaps no label that is more important."""

    #: The location that it names, in metres of the map.
    x: float
    y: float
    #: The text.
    text: str
    #: What it names, which decides its style.
    kind: Literal["mark", "country", "city", "town", "water"]
    #: Where it stands relative to the location.
    side: Side
    #: The smallest and the largest number of metres per pixel at which it is shown.
    finest: float = 0.0
    coarsest: float = float("inf")
    #: The group with which it is shown and hidden; -1 for the ground.
    group: int = -1
    #: A name of the palette, such as that of the track which it names; by default that of its kind.
    colour: str = ""


@dataclass(frozen=True, eq=False)
class Graticule:
    """Meridians and parallels of one spacing, each with its text at the frame, such as "122° W".

    They are shown from `finest` to `coarsest` metres per pixel.
    """

    meridians: Graduated
    parallels: Graduated
    finest: float
    coarsest: float


@dataclass(frozen=True, eq=False)
class Locator:
    """A small map of the surroundings, with a frame or a dot where the map is."""

    #: Half of its side, in metres.
    half: float
    #: Its shapes, in metres of the map.
    shapes: tuple[Shape, ...]
    #: Its texts.
    labels: tuple[Label, ...] = ()
    #: The corner of the map in which it is drawn: one with little data.
    corner: Corner = "south-east"


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that a map shows."""

    #: The projection, whose middle is (0, 0).
    projection: Projection
    #: The box that is shown first.
    view: Box
    #: The ground and the layers, the first at the bottom.
    groups: tuple[Group, ...]
    #: All texts, the most important first.
    labels: tuple[Label, ...]
    #: Meridians and parallels, those for the widest view first.
    graticules: tuple[Graticule, ...]
    #: A small map of the surroundings.
    locator: Locator | None
    #: Where the map is, in a sentence.
    where: str
    #: The credits for the data of the ground.
    source: str
    #: Sentences about the map, such as what is not drawn and why.
    remarks: tuple[str, ...]

    @property
    def layers(self) -> tuple[Group, ...]:
        """The groups that are not ground."""
        return tuple(group for group in self.groups if group.role != "ground")

    @property
    def ground(self) -> int:
        """The number of groups of the ground below all layers; meridians are drawn above them."""
        first = (i for i, group in enumerate(self.groups) if group.role != "ground")
        return next(first, len(self.groups))

    def as_dict(self) -> dict[str, object]:
        """Return the scene as data for JSON: GeoJSON features in degrees with their styles, legend and palettes.

        Circles are points with the property `radius` in metres, arrowheads points with the property `angle`.
        """
        view = self.view
        return {
            "middle": [self.projection.lon, self.projection.lat],
            "bounds": [*self.projection.to_degrees(*view[:2]), *self.projection.to_degrees(*view[2:])],
            "palettes": {"light": palette.LIGHT, "dark": palette.DARK},
            "groups": [
                {
                    "name": group.name,
                    "role": group.role,
                    "type": "FeatureCollection",
                    "features": [feature for shape in group.shapes for feature in self._features(shape)],
                    "legend": [asdict(key) for key in group.keys],
                }
                for group in self.groups
            ],
            "labels": [self._label(label) for label in self.labels],
            "where": self.where,
            "source": self.source,
            "remarks": list(self.remarks),
        }

    def _label(self, label: Label) -> dict[str, object]:
        told = asdict(label)
        [at] = self._degrees(np.array([[told.pop("x"), told.pop("y")]]))
        return {**told, "coarsest": None if np.isinf(label.coarsest) else label.coarsest, "coordinates": at}

    def _degrees(self, flat: Floats) -> list[list[float]]:
        """Return places of the map in degrees, rounded to a decimetre, without a jump at the antimeridian."""
        rounded: list[list[float]] = self.projection.all_to_degrees(flat).round(6).tolist()
        return rounded

    def _features(self, shape: Shape) -> Iterator[dict[str, object]]:
        style = {**asdict(shape.style), "on_demand": shape.on_demand, "form": shape.form}

        def feature(kind: str, coordinates: object, **more: float) -> dict[str, object]:
            geometry = {"type": kind, "coordinates": coordinates}
            return {"type": "Feature", "geometry": geometry, "properties": {**style, **more}}

        if shape.form in ("circles", "arrows"):
            name = "radius" if shape.form == "circles" else "angle"
            for row in np.concatenate(shape.parts):
                yield feature("Point", self._degrees(row[None, :2])[0], **{name: float(row[2])})
        elif shape.form == "fill":
            polygons = _polygons([part for part in shape.parts if len(part) > 2])
            yield feature("MultiPolygon", [[self._degrees(ring) for ring in polygon] for polygon in polygons])
        elif shape.form == "line":
            yield feature("MultiLineString", [self._degrees(part) for part in shape.parts])
        else:
            yield feature("MultiPoint", self._degrees(shape.parts[0]))


def _polygons(rings: list[Floats]) -> list[list[Floats]]:
    """Return rings as polygons, each an outline and its holes: a ring inside of an odd number of others is a hole."""
    import shapely

    bodies = np.array([shapely.Polygon(ring) for ring in rings])
    if not len(bodies):
        return []
    areas = shapely.area(bodies)
    inner, outer = shapely.STRtree(bodies).query(bodies, predicate="covered_by")
    larger = areas[outer] > areas[inner]
    inner, outer = inner[larger], outer[larger]
    depth = np.bincount(inner, minlength=len(bodies))
    polygons = {i: [rings[i]] for i in np.flatnonzero(depth % 2 == 0).tolist()}
    for i in np.flatnonzero(depth % 2).tolist():
        around = outer[inner == i]
        owner = int(around[areas[around].argmin()])
        if owner in polygons:
            polygons[owner].append(rings[i])
    return list(polygons.values())
