"""Decide what a map shows: layers become shapes, legends and labels here, for pages, figures and small maps alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.report.backdrop import backdrop
from geoveil.report.classes import Class, classes_of, hexagons
from geoveil.report.formatting import between, lengths, round_below
from geoveil.report.labelling import Choice, Obstacles, around, frames_of, free_corner, place_labels, without_overlaps
from geoveil.report.layers import FAINTEST, Floats, Layer
from geoveil.report.map_projection import Box, Projection, view_of
from geoveil.report.palette import PERSONS, ink, person, shade
from geoveil.report.scene import Group, Key, Label, Scene, Shape, Style
from geoveil.text.words import counted, metres

__all__ = ["compose"]

#: The largest number of points that are drawn one by one; more are counted in hexagons.
DOTS = 2_000
#: Up to `FEW` points, all circles are shown. For more points, one circle is shown as an example, and up to `SOME`
#: points the others are shown on demand.
FEW, SOME = 20, 1_000
#: The largest number of marks with labels; more are drawn as points.
LABELS = 60
#: The largest number of points of tracks that are drawn as lines if there are more persons than colours; more points
#: are counted in hexagons.
_UNCOLOURED = 600
#: The largest number of points of smoothed tracks, and of lines without noise, that are drawn as lines.
_VERTICES = 200_000
#: The largest number of areas that are drawn.
_AREAS = 100
#: The number of place names in the view that may stand on any side of their place.
_NAMES = 30
#: The number of hexagons across the view, and the largest number of them.
_ACROSS, _HEXAGONS = 36, 6_000
#: The width in pixels of tracks, and of the widest and the thinnest arc.
_TRACK, _WIDEST, _THINNEST = 2.5, 10.0, 0.8
_DASHES = (6.0, 3.0)
#: The number of vertices of an arc, and the distance of its control point from the straight line between the places,
#: as a share of the line's length; how far from the places the shortest arc begins and ends, as shares of its length.
_CORNERS, _BEND, _BEGIN, _END = 24, 0.3, 0.05, 0.1
#: So many of the largest flows are drawn dark, above the others, and the opacity of these.
_LARGEST, _PALE = 10, 0.3

#: The shapes of a layer and its legend.
Drawn: TypeAlias = tuple[list[Shape], list[Key]]
#: A person, or all persons of a layer together: the colour, the name and the rows in the layer.
Owned: TypeAlias = tuple[str, str, NDArray[np.bool_]]


def compose(
    layers: Sequence[Layer],
    *,
    pixels: float = 900.0,
    beyond: bool = True,
    basemap: str | None = None,
) -> Scene | None:
    """Return the scene that shows some layers; None if none of their points can be drawn.

    Parameters
    ----------
    layers : sequence of Layer
        The layers, the first at the bottom.
    pixels : float
        The approximate width of the map on the screen, which decides how much detail can be seen.
    beyond : bool
        Whether the map has ground far outside of the first view, for a reader who zooms out.
    basemap : str, optional
        The path of the user's own base map.

    Examples
    --------
    >>> from geoveil.report import Layer
    >>> station = Layer("station", [[-122.39, 37.78]], "marks", "public", texts=("Caltrain",))
    >>> scene = compose([station])
    >>> scene.layers[0].name, [label.text for label in scene.labels if label.kind == "mark"]
    ('station', ['Caltrain'])
    >>> compose([]) is None
    True
    """
    if not any(np.isfinite(layer.places).all(axis=1).any() for layer in layers):
        return None
    projection, view = view_of(layers)
    ground, below = backdrop(projection, view, pixels=pixels, beyond=beyond, basemap=basemap)
    towns, water = ([label for label in ground.labels if (label.kind == "water") == wet] for wet in (False, True))
    tracked = any(layer.role == "released" and layer.persons is not None for layer in layers)
    plan = _Plan(projection, view, pixels, [(town.x, town.y) for town in towns[:_NAMES]], tracked)
    drawn = [plan.group(layer) for layer in layers]
    # Areas of data cover roads, rivers and thin borders, so that each class has one tone; coasts are drawn above.
    areas = [group for group in drawn if any(shape.style.colour.startswith("shade") for shape in group.shapes)]
    others = [group for group in drawn if group not in areas]
    groups = (*ground.groups[:below], *areas, *ground.groups[below:], *others)
    locator = ground.locator
    if locator is not None:
        data = np.concatenate([plan.obstacles.all()[0], *plan.cells])
        locator = replace(locator, corner=free_corner(data, view))
    own = [
        replace(
            choice, labels=tuple(replace(label, group=groups.index(drawn[label.group])) for label in choice.labels)
        )
        for choice in plan.choices
    ]
    # The main place comes first, then layers, then other places.
    near = [town for town in towns if view.holds(Box(town.x, town.y, town.x, town.y))][:_NAMES]
    places = [Choice(around(town)) for town in near]
    ordered = [*places[:1], *own, *places[1:], *(Choice(_afloat(name, view)) for name in water)]
    frames = frames_of(view, pixels, page=beyond, located=None if locator is None else locator.corner)
    placed = place_labels(ordered, plan.obstacles, frames)
    known = {town.text for town in near}
    labels = without_overlaps([*placed, *(town for town in towns if town.text not in known)])
    said = ["The map is true to scale at its middle."] if view.side > 3e6 else []
    remarks = (ground.where, *ground.remarks, *plan.remarks, *said)
    return replace(ground, groups=groups, labels=labels, locator=locator, remarks=remarks)


def _afloat(name: Label, view: Box) -> tuple[Label, ...]:
    """Return the name of an ocean in several places of a view."""
    spots = ((i * view.width, j * view.height) for j in (0.3, -0.3, 0.4, -0.4, 0) for i in (0, -0.25, 0.25))
    return tuple(replace(name, x=name.x + east, y=name.y + north) for east, north in spots)


@dataclass(frozen=True, eq=False)
class _Data:
    """A layer in metres of the map, and the rows whose location is known."""

    layer: Layer
    flat: Floats
    known: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """The number of rows whose location is known."""
        return int(self.known.sum())

    @property
    def parts(self) -> NDArray[np.int64]:
        """The part of each row: by default there is one, or one for each person."""
        parts = self.layer.persons if self.layer.parts is None else self.layer.parts
        return np.zeros(len(self.flat), dtype=np.int64) if parts is None else parts

    @property
    def radius(self) -> Floats:
        """The radius at each row."""
        return np.broadcast_to(np.asarray(self.layer.radius, dtype=float), len(self.flat))

    def split(self, rows: NDArray[np.bool_]) -> list[Floats]:
        """Return the locations of some rows of each part, in their order."""
        return _split(self.flat[rows], self.parts[rows])


@dataclass
class _Plan:
    """The shapes, legends and labels of layers, one after the other."""

    projection: Projection
    view: Box
    pixels: float
    named: Sequence[tuple[float, float]] = ()
    released: bool = False
    choices: list[Choice] = field(default_factory=list)
    cells: list[Floats] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    obstacles: Obstacles = field(init=False)
    colours: int = 0
    groups: int = 0

    def __post_init__(self) -> None:
        self.obstacles = Obstacles(self.pixel)

    @property
    def pixel(self) -> float:
        """Metres in a pixel."""
        return self.view.side / self.pixels

    def group(self, layer: Layer) -> Group:
        """Return the shapes and the legend of a layer."""
        flat = self.projection.to_map(layer.places)
        data = _Data(layer, flat, np.asarray(np.isfinite(flat).all(axis=1)))
        if lost := len(flat) - data.count:
            total = counted(len(flat), "point")
            self.remarks.append(f"{layer.name}: {counted(lost)} of {total} are too far away to be drawn.")
        draw = {
            "points": self._points, "marks": self._marks, "lines": self._lines, "area": self._area,
            "grid": self._grid, "flows": self._flows,
        }[layer.kind]  # fmt: skip
        shapes, keys = draw(data)
        self.groups += 1
        return Group(layer.name, layer.role, tuple(shapes), (*keys, *([Key(layer.note)] if layer.note else [])))

    def _colour(self, layer: Layer) -> str:
        """Return the colour of a layer without persons; released layers take the colours of persons in turn."""
        if layer.role != "released":
            return layer.role
        self.colours += 1
        return person(self.colours - 1)

    def _points(self, data: _Data) -> Drawn:
        if data.count > DOTS:
            return self._density(data)
        size = 5.0 if data.count <= SOME else 3.5
        whose = self._by_person(data)
        shapes, keys = [], _heading(data.layer, whose)
        for colour, name, rows in whose:
            style = Style(colour, size, 0.8, marker="square" if data.layer.role == "truth" else "disc")
            shapes.append(Shape("dots", (data.flat[rows],), style))
            self.obstacles.add(data.flat[rows])
            keys.append(Key(name, "dots", style))
        circles, said = self._circles(data, whose)
        return [*circles, *shapes], [*keys, *said]

    def _marks(self, data: _Data) -> Drawn:
        layer, flat = data.layer, data.flat[data.known]
        if len(flat) > LABELS or not layer.texts:
            if len(flat) > LABELS:
                self.remarks.append(f"{layer.name}: {counted(len(flat))} labels are too many and are not drawn.")
            return self._points(data)
        public = layer.role == "public"
        style = Style(self._colour(layer), 11.0, marker="diamond" if public else "disc", halo=True)
        # The locations around the middle of a mark stand for its size.
        for step in ((0, 0), (5, 0), (-5, 0), (0, 5), (0, -5)):
            self.obstacles.add(flat + np.array(step) * self.pixel)
        # Labels of public locations are on the left, so that they do not cover those of released ones nearby.
        for (x, y), i in zip(flat.tolist(), np.flatnonzero(data.known), strict=True):
            label = Label(x, y, layer.texts[i], "mark", "west" if public else "east", group=self.groups)
            self.choices.append(Choice(around(label)))
        circles, said = self._circles(data, [(style.colour, layer.name, data.known)])
        return [*circles, Shape("dots", (flat,), style)], [Key(layer.name, "dots", style), *said]

    def _lines(self, data: _Data) -> Drawn:
        import shapely

        layer = data.layer
        many = layer.persons is not None and len(np.unique(layer.persons)) > PERSONS
        most = _UNCOLOURED if many else _VERTICES if layer.radius is None else DOTS
        if data.count > most and layer.role == "released":
            return self._density(data)
        thin = layer.role != "released"
        faint = many or (layer.persons is None and len(np.unique(data.parts)) > PERSONS)
        whose = self._by_person(data)
        # Tracks that are not released share the colours of persons; the legend of released tracks names the persons.
        beside = thin and len(whose) > 1 and self.released
        bands, shapes, keys = [], [], [] if beside else _heading(layer, whose)
        for colour, name, rows in whose:
            number = int(colour.rpartition("-")[2]) if colour.startswith("person") else 0
            style = Style(
                ink(colour) if beside else colour,
                1.2 if thin or faint else _TRACK,
                0.5 if faint else 0.95,
                dash=_DASHES if number >= PERSONS // 2 else (),
                halo=not (thin or faint),
            )
            tracks = data.split(rows)
            lines = np.array([shapely.LineString(track) for track in tracks if len(track) > 1], dtype=object)
            line = Shape.drawn(shapely.simplify(lines, 0.35 * self.pixel), style)
            if layer.expected is not None:
                band = Style(colour, opacity=0.18, metres=2 * layer.expected)
                bands.append(replace(line, style=band))
            if layer.radius is not None:
                # Noise on every point turns a line into zigzags, so the released points are drawn as well.
                style = replace(style, width=1.25, opacity=0.55, halo=False)
                dots = Shape("dots", (data.flat[rows],), Style(colour, 5.0, 0.9))
                shapes += [replace(line, style=style), dots]
            elif line.parts:
                shapes.append(line)
            if alone := [track for track in tracks if len(track) == 1]:
                shapes.append(Shape("dots", (np.concatenate(alone),), Style(colour, 5.0)))
            owner = self.obstacles.add(*line.parts, joined=True)
            if not beside:
                keys.append(Key(name, "line", style))
                if len(whose) > 1 and line.parts:
                    self.choices.append(self._track_label(name, ink(colour), line.parts, owner))
        if beside:
            keys.append(Key(f"{layer.name}, in the same colours", "line", Style("text", 1.2, 0.95)))
        circles, said = self._circles(data, whose)
        if layer.expected is not None:
            about = f"the expected error, {metres(layer.expected)} to each side (root mean square, no guarantee)"
            band = Style(bands[0].style.colour if len(bands) == 1 else "text", 9.0, 0.3)
            said = [Key(f"band: {about}", "line", band), *said]
        return [*bands, *circles, *shapes], [*keys, *said]

    def _track_label(self, name: str, colour: str, lines: Sequence[Floats], owner: int) -> Choice:
        """Return the possible labels of a person's track: at one of its ends, or beside it."""
        longest = max(lines, key=len)
        beside = [longest[round(share * (len(longest) - 1))] for share in (0.5, 0.25, 0.75, 0.12, 0.88, 0.37, 0.63)]
        spots = np.array([lines[-1][-1], lines[0][0], *beside]).tolist()
        labels = [Label(x, y, name, "mark", "east", group=self.groups, colour=colour) for x, y in spots]
        return Choice(tuple(side for label in labels for side in around(label)), owner)

    def _by_person(self, data: _Data) -> list[Owned]:
        """Return the colour, the name and the rows of each person of a layer; of all together if there are many."""
        layer = data.layer
        present = np.unique(layer.persons[data.known]) if layer.persons is not None else np.empty(0, dtype=np.int64)
        if layer.persons is None or len(present) > PERSONS or len(layer.names) == 1 or layer.role == "truth":
            # True tracks have one colour, which marks them as true; the released tracks tell the persons apart.
            many = f", {counted(len(present), 'person')}" if len(present) > PERSONS else ""
            return [(self._colour(layer), f"{layer.name}{many}", data.known)]
        self.colours = max(self.colours, len(present))
        return [
            (person(number), layer.names[i], data.known & (layer.persons == i)) for number, i in enumerate(present)
        ]

    def _circles(self, data: _Data, whose: Sequence[Owned]) -> Drawn:
        """Return the 95% circles of a layer: all of them for few points, else that nearest to the middle of the view.

        The other circles of up to `SOME` points are drawn on demand.
        """
        if data.layer.radius is None or not data.count:
            return [], []
        every = np.column_stack([data.flat, data.radius])
        few = data.count <= FEW and data.layer.kind != "lines"
        away = np.where(data.known, np.hypot(*(np.nan_to_num(data.flat) - self.view.middle).T), np.inf)
        shown = data.known if few else np.arange(len(away)) == away.argmin()
        circles = []
        for colour, _, rows in whose:
            if (rows & shown).any():
                circles.append(Shape("circles", (every[rows & shown],), Style(colour, 1.5, 1.0, 0.1)))
            if not few and data.count <= SOME:
                circles.append(Shape("circles", (every[rows],), Style(colour, 1.0, 0.3), on_demand=True))
        first = next(shape.style for shape in circles if not shape.on_demand)
        style = replace(first, colour="text") if few and len(whose) > 1 else first
        size = f"radius {lengths(data.radius[data.known])}"
        said = f"95% of true locations lie within {'their' if few else 'such a'} circle: {size}"
        if data.count == 1:
            said = f"the true location lies within this circle with probability 95%: {size}"
        return circles, [Key(said, "circles", style)]

    def _density(self, data: _Data) -> Drawn:
        """Return points as hexagons, shaded by the number of points in each."""
        import shapely

        layer, flat = data.layer, data.flat[data.known]
        width = round_below(self.view.side / _ACROSS * (self.pixels / 900) ** -0.5)
        reach = np.array([self.view.width, self.view.height]) * 1.5
        near = (np.abs(flat - self.view.middle) <= reach).all(axis=1)
        if not near.all():
            far = counted(int((~near).sum()))
            self.remarks.append(f"{layer.name}: {far} of {counted(len(flat), 'point')} are far outside and not drawn.")
        corners, counts = hexagons(flat[near], width)
        if len(counts) > _HEXAGONS:
            most = np.sort(np.argsort(counts)[-_HEXAGONS:])
            corners, counts = corners[most], counts[most]
        middles = corners.mean(axis=1)
        self.cells.append(middles)
        classes = classes_of(shapely.polygons(corners), counts, least=1.0, overlapping=False)
        shapes, keys = _shaded(classes, f"{layer.name}: points in hexagons {metres(width)} wide")
        # An example circle shows how far the noise reaches; the points themselves are not drawn.
        if layer.radius is not None:
            style = Style("text", 1.5, 1.0)
            ends = lengths((data.radius.min(), data.radius.max()))
            x, y = self._away_from_names(middles)
            shapes.append(Shape("circles", (np.array([[x, y, float(np.median(data.radius))]]),), style))
            shapes.append(Shape("dots", (np.array([[x, y]]),), Style("text", 3.5)))
            keys.append(Key(f"95% of true locations lie within such a circle: radius {ends}", "circles", style))
        return shapes, keys

    def _away_from_names(self, cells: Floats) -> tuple[float, float]:
        """Return the middle of a cell for the example circle, far from names: its dot must not look like a town."""
        reach = np.array([self.view.width, self.view.height]) * 0.3
        spots = cells[(np.abs(cells - self.view.middle) <= reach).all(axis=1)]
        names = np.array(self.named).reshape(-1, 2)
        if not len(names) or not len(spots):
            return self.view.middle
        away = np.hypot(*(spots[:, None] - names).transpose(2, 0, 1)).min(axis=1)
        x, y = spots[away.argmax()].tolist()
        return x, y

    def _grid(self, data: _Data) -> Drawn:
        import shapely

        layer, parts = data.layer, data.parts
        assert layer.values is not None
        order, (_, cell) = np.argsort(parts, kind="stable"), np.unique(np.sort(parts), return_inverse=True)
        whole = np.bincount(cell, ~data.known[order]) == 0
        cells = shapely.polygons(shapely.linearrings(np.nan_to_num(data.flat[order]), indices=cell))[whole]
        values = layer.values[whole]
        if layer.overlapping:
            cells = shapely.make_valid(cells)
        least = max(FAINTEST * float(values.max(initial=0.0)), layer.least)
        shades: Iterator[Class] = iter(())
        if least > 0:
            shades = classes_of(cells, values, least=least, overlapping=layer.overlapping, blank=layer.least > 0)
        self.cells.append(shapely.get_coordinates(shapely.centroid(cells[values >= max(least, 1e-300)])))
        shapes, keys = _shaded(shades, f"{layer.name}, in {layer.counted}")
        if layer.overlapping:  # regions have outlines
            shapes.append(replace(Shape.filled(cells, Style("text", 0.75, 0.5)), form="line"))
        return shapes, keys

    def _flows(self, data: _Data) -> Drawn:
        layer = data.layer
        assert layer.values is not None
        pairs = data.flat[np.argsort(data.parts, kind="stable")].reshape(-1, 2, 2)
        whole = np.isfinite(pairs).all(axis=(1, 2))
        pairs, values = pairs[whole], layer.values[whole]
        colour = self._colour(layer)
        if not len(values):
            return [], [Key(layer.name, "line", Style(colour, 2.0))]
        most = float(values.max())

        def arc_style(value: float, opacity: float = 0.8) -> Style:
            return Style(colour, max(_WIDEST * value / most, _THINNEST), opacity)

        # The largest flows come last, above the others.
        order = np.argsort(values, kind="stable")
        opacities = np.where(np.arange(len(order)) < len(order) - _LARGEST, _PALE, 0.8)
        shortest = float(np.linalg.norm(pairs[:, 1] - pairs[:, 0], axis=1).min())
        shapes = [
            shape
            for i, opacity in zip(order, opacities, strict=True)
            for shape in _arc(pairs[i], arc_style(values[i], float(opacity)), shortest)
        ]
        self.obstacles.add(*(shape.parts[0] for shape in shapes if shape.form == "line"))
        keys = [Key(f"{layer.name}: widths are proportional to {layer.counted}")]
        top, thin = round_below(most), _THINNEST / _WIDEST * most
        least = round_below(max(float(values.min()), thin))
        for size in dict.fromkeys((top, round_below((top * least) ** 0.5), least)):
            fewer = " or fewer" if size == least and values.min() < least else ""
            keys.append(Key(f"{size:,.6g} {layer.counted}{fewer}", "line", arc_style(size)))
        if len(order) > _LARGEST:
            keys.append(Key(f"the {_LARGEST} largest are dark, the others pale", "line", arc_style(top, _PALE)))
        # Arcs touch neither their origin nor their destination, so that arrowheads do not cover each other.
        style = Style("public", 4.0)
        shapes.append(Shape("dots", (np.unique(pairs.reshape(-1, 2), axis=0),), style))
        return shapes, [*keys, Key("where arrows begin and end: centres of cells or regions", "dots", style)]

    def _area(self, data: _Data) -> Drawn:
        layer = data.layer
        rings = data.split(data.known)
        self.obstacles.add(*rings[:_AREAS], joined=True)
        name = layer.name
        if len(rings) > _AREAS:
            kept = rings[:: -(-len(rings) // _AREAS)]
            name, rings = f"{name}: {counted(len(kept))} of {counted(len(rings))} drawn", kept
        colour = self._colour(layer)
        style = Style(colour, 2.0 if len(rings) <= FEW else 1.0, 1.0, 0.12)
        shapes, keys = [Shape("fill", tuple(rings), style)], [Key(name, "fill", style)]
        if layer.radius is None:
            return shapes, keys
        radius = data.radius[data.known]
        if len(rings) > FEW:
            return shapes, [*keys, Key(f"with probability 95% each edge is within {lengths(radius)}", "line", style)]
        band = Style(colour, 1.25, 0.9, 0.1, dash=(5.0, 4.0))
        reaches = [float(part.max()) for part in _split(radius, data.parts[data.known])]
        shapes.append(self._bands(rings, reaches, band))
        said = f"with probability 95% the true edge is in this band: within {lengths(radius)}"
        return shapes, [*keys, Key(said, "fill", band)]

    def _bands(self, rings: Sequence[Floats], reaches: Sequence[float], style: Style) -> Shape:
        """Return the bands in which the true outline of each area lies, by its largest radius."""
        import shapely

        edges = []
        for ring, reach in zip(rings, reaches, strict=True):
            body = shapely.make_valid(shapely.Polygon(ring)) if len(ring) > 2 else shapely.MultiPoint(ring).convex_hull
            # Simplifying drops vertices on straight edges; its tolerance is far below what can be seen.
            body = shapely.simplify(body, self.view.side * 1e-5)
            # Rounded or cut corners would not contain the true corner of a box.
            edges += [body.buffer(end, join_style="mitre", mitre_limit=5.0) for end in (reach, -reach)]
        return Shape.filled(np.array(edges), style)


def _heading(layer: Layer, whose: Sequence[Owned]) -> list[Key]:
    """Return the heading of the legend of a layer, if its entries are persons."""
    return [Key(f"{layer.name}:")] if len(whose) > 1 else []


def _shaded(classes: Iterator[Class], heading: str) -> Drawn:
    """Return classes of cells in their shades."""
    shapes, keys, shades = [], [Key(heading)], list(classes)
    for at, (number, low, high, cells) in enumerate(shades, 1):
        style = Style(shade(number), fill=1.0)
        shapes.append(Shape.filled(np.array([cells]), style))
        keys.append(Key(between(low, high, last=at == len(shades)), "fill", style))
    return shapes, keys


def _split(values: Floats, parts: NDArray[np.int64]) -> list[Floats]:
    """Return the values of each part, in their order."""
    order = np.argsort(parts, kind="stable")
    cuts = np.flatnonzero(np.diff(parts[order])) + 1
    return [np.asarray(rows) for rows in np.split(values[order], cuts) if len(rows)]


def _arc(ends: Floats, style: Style, shortest: float) -> tuple[Shape, Shape]:
    """Return the arc between two places, and its arrowhead.

    An arc bends to the left of its direction, so that flows in opposite directions do not cover each other. It ends
    before the destination, so that several arrowheads at one destination can be told apart: a tenth of the length of
    the shortest arc, so that long ones are as close.

    Examples
    --------
    >>> arc, head = _arc(np.array([[0.0, 0.0], [100.0, 0.0]]), Style("public", 2.0), 100.0)
    >>> arc.parts[0].shape, head.parts[0].round(1).tolist(), head.style.width
    ((24, 2), [[90.0, 5.4, -25.6]], 7.0)
    """
    start, end = ends
    across = np.array([start[1] - end[1], end[0] - start[0]])
    control = (start + end) / 2 + _BEND * across
    share = min(shortest / max(float(np.hypot(*across)), 1e-300), 1.0)
    last = 1 - _END * share
    along = np.linspace(_BEGIN * share, last, _CORNERS)[:, None]
    curve = (1 - along) ** 2 * start + 2 * along * (1 - along) * control + along**2 * end
    east, north = (1 - last) * (control - start) + last * (end - control)
    head = np.array([[*curve[-1], np.degrees(np.arctan2(north, east))]])
    large = replace(style, width=max(2.2 * style.width, 7.0), opacity=min(style.opacity + 0.2, 1.0))
    return Shape("line", (curve,), style), Shape("arrows", (head,), large)
