"""Decide what a map shows: layers become shapes, legends and labels here, for pages, figures and small maps alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.report.arcs import arcs_of
from geoveil.report.backdrop import Backdrop, backdrop
from geoveil.report.classes import classes_of, hexagons
from geoveil.report.formatting import between, lengths, round_below
from geoveil.report.labelling import (
    Choice,
    Frame,
    Obstacles,
    around,
    frames_of,
    free_corner,
    place_labels,
    without_overlaps,
)
from geoveil.report.layers import FAINTEST, Floats, Layer
from geoveil.report.map_projection import Box, Projection, view_of
from geoveil.report.outlines import rings_of, split
from geoveil.report.palette import PERSONS, ink, person, shade
from geoveil.report.scene import Group, Key, Label, Scene, Shape, Style
from geoveil.words import counted, metres

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
    ground = backdrop(projection, view, pixels=pixels, beyond=beyond, basemap=basemap)
    tracked = any(layer.role == "released" and layer.persons is not None for layer in layers)
    plan = _Plan(projection, view, pixels, [(label.x, label.y) for label in ground.labels[:_NAMES]], tracked)
    drawn = [plan.group(layer) for layer in layers]
    # Areas of data cover roads, rivers and thin borders, so that each class has one tone; coasts are drawn above.
    shaded = [any(shape.style.colour.startswith("shade") for shape in group.shapes) for group in drawn]
    order = sorted(range(len(drawn)), key=lambda i: not shaded[i])
    groups = [drawn[i] for i in order]
    cut = sum(shaded)
    together = (*ground.below, *groups[:cut], *ground.above, *groups[cut:])
    at = {id(group): i for i, group in enumerate(together)}
    own = [_with_positions(choice, lambda group: at[id(drawn[group])]) for choice in plan.choices]
    locator = ground.locator
    if locator is not None:
        data = np.concatenate([plan.obstacles.all()[0], *plan.cells])
        locator = replace(locator, corner=free_corner(data, view))
    frames = frames_of(view, pixels, page=beyond, located=None if locator is None else locator.corner)
    labels = without_overlaps(_placed(own, ground, view, plan.obstacles, frames))
    said = ["The map is true to scale at its middle."] if view.side > 3e6 else []
    remarks = (ground.where, *ground.remarks, *plan.remarks, *said)
    return Scene(projection, view, together, labels, ground.graticules, locator, ground.where, ground.source, remarks)


def _with_positions(choice: Choice, position: Callable[[int], int]) -> Choice:
    """Return a choice whose labels refer to their group by its position in the scene."""
    return replace(choice, labels=tuple(replace(label, group=position(label.group)) for label in choice.labels))


def _placed(
    own: Sequence[Choice], ground: Backdrop, view: Box, obstacles: Obstacles, frames: Sequence[Frame]
) -> list[Label]:
    """Return labels, placed to cover neither each other nor data: the main place, then layers, then other places."""
    x, y = view.middle
    seen = [abs(name.x - x) < view.width / 2 and abs(name.y - y) < view.height / 2 for name in ground.labels]
    near = [Choice(around(name)) for name, inside in zip(ground.labels, seen, strict=True) if inside][:_NAMES]
    ordered = [*near[:1], *own, *near[1:]]
    if ground.ocean:
        spots = [
            (x + i * view.width, y + j * view.height) for j in (0.3, -0.3, 0.4, -0.4, 0) for i in (0, -0.25, 0.25)
        ]
        ordered.append(Choice(tuple(Label(*spot, ground.ocean, "water", "middle") for spot in spots)))
    placed = place_labels(ordered, obstacles, frames)
    known = {choice.labels[0].text for choice in near}
    return [*placed, *(name for name in ground.labels if name.text not in known)]


#: A person, or all persons of a layer together: the colour, the name and the rows in the layer.
Owned: TypeAlias = tuple[str, str, NDArray[np.bool_]]


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
    owners: int = 0

    def __post_init__(self) -> None:
        self.obstacles = Obstacles(self.pixel)

    @property
    def pixel(self) -> float:
        """Metres in a pixel."""
        return self.view.side / self.pixels

    def _owner(self) -> int:
        """Return a new number that identifies data with its own label."""
        self.owners += 1
        return self.owners

    def group(self, layer: Layer) -> Group:
        """Return the shapes and the legend of a layer."""
        flat = self.projection.to_map(layer.places)
        known: NDArray[np.bool_] = np.asarray(np.isfinite(flat).all(axis=1))
        lost = int((~known).sum())
        if lost:
            total = counted(len(known), "point")
            self.remarks.append(f"{layer.name}: {counted(lost)} of {total} are too far away to be drawn.")
        draw = {
            "points": self._points, "marks": self._marks, "lines": self._lines, "area": self._area,
            "grid": self._grid, "flows": self._flows,
        }[layer.kind]  # fmt: skip
        shapes, keys = draw(layer, flat, known)
        note = (Key("fill", Style("text"), layer.note),) if layer.note else ()
        self.groups += 1
        return Group(layer.name, layer.role, tuple(shapes), (*keys, *note))

    def _colour(self, layer: Layer) -> str:
        """Return the colour of a layer without persons; released layers take the colours of persons in turn."""
        if layer.role != "released":
            return layer.role
        self.colours += 1
        return person(self.colours - 1)

    def _points(self, layer: Layer, flat: Floats, known: NDArray[np.bool_]) -> tuple[list[Shape], list[Key]]:
        if known.sum() > DOTS:
            return self._density(layer, flat[known])
        marker = "square" if layer.role == "truth" else "disc"
        size = 5.0 if known.sum() <= SOME else 3.5
        style = Style("", size, 0.8, marker=marker)  # type: ignore[arg-type]
        whose = list(self._by_person(layer, known))
        shapes, keys = [], _heading(layer, whose)
        for colour, name, rows in whose:
            own = replace(style, colour=colour)
            shapes.append(Shape("dots", (flat[rows],), own))
            self.obstacles.add(self._owner(), flat[rows])
            keys.append(Key("dots", own, name))
        circles, said = self._circles(layer, flat, whose)
        return [*circles, *shapes], [*keys, *said]

    def _marks(self, layer: Layer, flat: Floats, known: NDArray[np.bool_]) -> tuple[list[Shape], list[Key]]:
        rows = np.flatnonzero(known)
        if len(rows) > LABELS or not layer.texts:
            if len(rows) > LABELS:
                self.remarks.append(f"{layer.name}: {counted(len(rows))} labels are too many and are not drawn.")
            return self._points(replace(layer, kind="points"), flat, known)
        public = layer.role == "public"
        style = Style(self._colour(layer), 11.0, marker="diamond" if public else "disc", halo=True)
        dots = Shape("dots", (flat[rows],), style)
        # The locations around the middle of a mark stand for its size.
        for step in ((0, 0), (5, 0), (-5, 0), (0, 5), (0, -5)):
            self.obstacles.add(self._owner(), flat[rows] + np.array(step) * self.pixel)
        # Labels of public locations are on the left, so that they do not cover those of released ones nearby.
        side = "west" if public else "east"
        for i in rows:
            x, y = map(float, flat[i])
            label = Label(x, y, layer.texts[i], "mark", side, group=self.groups)  # type: ignore[arg-type]
            self.choices.append(Choice(around(label)))
        circles, said = self._circles(layer, flat, [(style.colour, layer.name, known)])
        return [*circles, dots], [Key("dots", style, layer.name), *said]

    def _lines(self, layer: Layer, flat: Floats, known: NDArray[np.bool_]) -> tuple[list[Shape], list[Key]]:
        import shapely

        many = layer.persons is not None and len(np.unique(layer.persons)) > PERSONS
        most = _UNCOLOURED if many else _VERTICES if layer.radius is None else DOTS
        if known.sum() > most and layer.role == "released":
            return self._density(layer, flat[known])
        parts = layer.parts if layer.parts is not None else layer.persons
        parts = np.zeros(len(flat), dtype=np.int64) if parts is None else parts
        thin = layer.role != "released"
        whose = list(self._by_person(layer, known))
        # Tracks that are not released share the colours of persons; the legend of released tracks names the persons.
        beside = thin and len(whose) > 1 and self.released
        bands, shapes, keys = [], [], [] if beside else _heading(layer, whose)
        for colour, name, rows in whose:
            number = int(colour.rpartition("-")[2]) if colour.startswith("person") else 0
            faint = many or (layer.persons is None and len(np.unique(parts)) > PERSONS)
            style = Style(
                ink(colour) if beside else colour,
                1.2 if thin or faint else _TRACK,
                0.5 if faint else 0.95,
                dash=_DASHES if number >= PERSONS // 2 else (),
                halo=not (thin or faint),
            )
            lines = [line for line in split(flat[rows], parts[rows]) if len(line) > 1]
            drawn = tuple(
                shapely.get_coordinates(shapely.simplify(shapely.LineString(line), 0.35 * self.pixel))
                for line in lines
            )
            alone = [line for line in split(flat[rows], parts[rows]) if len(line) == 1]
            if layer.expected is not None:
                band = Style(colour, opacity=0.18, metres=2 * layer.expected)
                bands.append(Shape("line", drawn, band))
            if layer.radius is not None:
                # Noise on every point turns a line into zigzags, so the released points are drawn as well.
                style = replace(style, width=1.25, opacity=0.55, halo=False)
                shapes += [Shape("line", drawn, style), Shape("dots", (flat[rows],), Style(colour, 5.0, 0.9))]
            elif drawn:
                shapes.append(Shape("line", drawn, style))
            if alone:
                shapes.append(Shape("dots", (np.concatenate(alone),), Style(colour, 5.0)))
            if not beside:
                keys.append(Key("line", style, name))
            owner = self._owner()
            self.obstacles.add(owner, *drawn, joined=True)
            if len(whose) > 1 and drawn and not beside:
                self.choices.append(self._track_label(name, ink(colour), drawn, owner))
        if beside:
            keys.append(Key("line", Style("text", 1.2, 0.95), f"{layer.name}, in the same colours"))
        circles, said = self._circles(layer, flat, whose)
        if layer.expected is not None:
            about = f"the expected error, {metres(layer.expected)} to each side (root mean square, no guarantee)"
            band = Style(bands[0].style.colour if len(bands) == 1 else "text", 9.0, 0.3)
            said = [Key("line", band, f"band: {about}"), *said]
        return [*bands, *circles, *shapes], [*keys, *said]

    def _track_label(self, name: str, colour: str, drawn: Sequence[Floats], owner: int) -> Choice:
        """Return the possible labels of a person's track: at one of its ends, or beside it."""
        longest = max(drawn, key=len)
        some = [longest[round(share * (len(longest) - 1))] for share in (0.5, 0.25, 0.75, 0.12, 0.88, 0.37, 0.63)]
        spots = [drawn[-1][-1], drawn[0][0], *some]
        kept = [Label(float(x), float(y), name, "mark", "east", group=self.groups, colour=colour) for x, y in spots]
        return Choice(tuple(label for spot in kept for label in around(spot)), owner)

    def _by_person(self, layer: Layer, known: NDArray[np.bool_]) -> Iterator[Owned]:
        """Return the colour, the name and the rows of each person of a layer; of all together if there are many."""
        present = np.unique(layer.persons[known]) if layer.persons is not None else np.empty(0, dtype=np.int64)
        if layer.persons is None or len(present) > PERSONS or len(layer.names) == 1 or layer.role == "truth":
            # True tracks have one colour, which marks them as true; the released tracks tell the persons apart.
            many = f", {counted(len(present), 'person')}" if len(present) > PERSONS else ""
            yield self._colour(layer), f"{layer.name}{many}", known
            return
        for number, i in enumerate(present):
            yield person(number), layer.names[i], known & (layer.persons == i)
        self.colours = max(self.colours, len(present))

    def _circles(self, layer: Layer, flat: Floats, whose: Sequence[Owned]) -> tuple[list[Shape], list[Key]]:
        """Return the 95% circles of a layer: all of them for few points, else that nearest to the middle of the view.

        The other circles of up to `SOME` points are example on demand.
        """
        if layer.radius is None or not any(rows.any() for _, _, rows in whose):
            return [], []
        radius = np.broadcast_to(np.asarray(layer.radius, dtype=float), len(flat))
        every = np.column_stack([flat, radius])
        known = np.any([rows for _, _, rows in whose], axis=0)
        few = known.sum() <= FEW and layer.kind != "lines"
        drawn = []
        if not few:
            away = np.where(known, np.hypot(*(np.nan_to_num(flat) - self.view.middle).T), np.inf)
            example = np.arange(len(flat)) == away.argmin()
        for colour, _, rows in whose:
            chosen = rows if few else rows & example
            if chosen.any():
                drawn.append(Shape("circles", (every[chosen],), Style(colour, 1.5, 1.0, 0.1)))
            if not few and known.sum() <= SOME:
                drawn.append(Shape("circles", (every[rows],), Style(colour, 1.0, 0.3), on_demand=True))
        first = next(shape.style for shape in drawn if not shape.on_demand)
        style = replace(first, colour="text") if few and len(whose) > 1 else first
        size = f"radius {lengths(radius[known])}"
        said = f"95% of true locations lie within {'their' if few else 'such a'} circle: {size}"
        if known.sum() == 1:
            said = f"the true location lies within this circle with probability 95%: {size}"
        return drawn, [Key("circles", style, said)]

    def _density(self, layer: Layer, flat: Floats) -> tuple[list[Shape], list[Key]]:
        """Return points as hexagons, shaded by the number of points in each."""
        import shapely

        width = round_below(self.view.side / _ACROSS * (self.pixels / 900) ** -0.5)
        around = np.array([self.view.width, self.view.height]) * 1.5
        near = (np.abs(flat - self.view.middle) <= around).all(axis=1)
        if not near.all():
            far = counted(int((~near).sum()))
            self.remarks.append(f"{layer.name}: {far} of {counted(len(flat), 'point')} are far outside and not drawn.")
        corners, counts = hexagons(flat[near], width)
        if len(counts) > _HEXAGONS:
            most = np.sort(np.argsort(counts)[-_HEXAGONS:])
            corners, counts = corners[most], counts[most]
        self.cells.append(corners.mean(axis=1))
        found = classes_of(shapely.polygons(corners), counts, least=1.0, overlapping=False)
        said = f"{layer.name}: points in hexagons {metres(width)} wide"
        shapes, keys = self._shaded(found, said)
        # An example circle shows how far the noise reaches; the points themselves are not drawn.
        if layer.radius is not None:
            radius = np.broadcast_to(np.asarray(layer.radius, dtype=float), len(layer.places))
            style = Style("text", 1.5, 1.0)
            said = f"95% of true locations lie within such a circle: radius {lengths((radius.min(), radius.max()))}"
            x, y = self._away_from_names(corners.mean(axis=1))
            shapes.append(Shape("circles", (np.array([[x, y, float(np.median(radius))]]),), style))
            shapes.append(Shape("dots", (np.array([[x, y]]),), Style("text", 3.5)))
            keys.append(Key("circles", style, said))
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

    def _shaded(self, classes: Iterator[tuple[int, float, float, object]], said: str) -> tuple[list[Shape], list[Key]]:
        shapes, keys = [], [Key("fill", Style("text"), said)]
        shades = list(classes)
        for number, low, high, cells in shades:
            style = Style(shade(number), fill=1.0)
            shapes.append(Shape("fill", tuple(rings_of(cells)), style))
            keys.append(Key("fill", style, between(low, high, last=cells is shades[-1][-1])))
        return shapes, keys

    def _grid(self, layer: Layer, flat: Floats, known: NDArray[np.bool_]) -> tuple[list[Shape], list[Key]]:
        import shapely

        assert layer.values is not None
        parts = np.zeros(len(flat), dtype=np.int64) if layer.parts is None else layer.parts
        order, (_, cell) = np.argsort(parts, kind="stable"), np.unique(np.sort(parts), return_inverse=True)
        whole = np.bincount(cell, ~known[order]) == 0
        cells = shapely.polygons(shapely.linearrings(np.nan_to_num(flat[order]), indices=cell))[whole]
        values = layer.values[whole]
        if layer.overlapping:
            cells = shapely.make_valid(cells)
        least = max(FAINTEST * float(values.max(initial=0.0)), layer.least)
        how = {"overlapping": layer.overlapping, "blank": layer.least > 0}
        found = classes_of(cells, values, least=least, **how) if least > 0 else iter(())
        self.cells.append(shapely.get_coordinates(shapely.centroid(cells[values >= max(least, 1e-300)])))
        shapes, keys = self._shaded(found, f"{layer.name}, in {layer.counted}")
        if layer.overlapping:  # regions have outlines
            outlines = Style("text", 0.75, 0.5)
            shapes.append(Shape("line", tuple(rings_of(cells)), outlines))
        return shapes, keys

    def _flows(self, layer: Layer, flat: Floats, known: NDArray[np.bool_]) -> tuple[list[Shape], list[Key]]:
        assert layer.values is not None
        assert layer.parts is not None
        pairs = flat[np.argsort(layer.parts, kind="stable")].reshape(-1, 2, 2)
        whole = np.isfinite(pairs).all(axis=(1, 2))
        pairs, values = pairs[whole], layer.values[whole]
        colour = self._colour(layer)
        if not len(values):
            return [], [Key("line", Style(colour, 2.0), layer.name)]
        most = float(values.max())
        shapes = []
        # The largest flows come last, above the others.
        for i in np.argsort(values, kind="stable"):
            width = max(_WIDEST * float(values[i]) / most, _THINNEST)
            curve, head = arcs_of(pairs[i, 0], pairs[i, 1])
            shapes.append(Shape("line", (curve,), Style(colour, width, 0.65)))
            shapes.append(Shape("arrows", (head[None],), Style(colour, max(2.2 * width, 7.0), 0.9)))
        keys = [Key("fill", Style("text"), f"{layer.name}: widths are proportional to {layer.counted}")]
        top, thin = round_below(most), _THINNEST / _WIDEST * most
        least = round_below(max(float(values.min()), thin))
        for size in dict.fromkeys((top, round_below((top * least) ** 0.5), least)):
            fewer = " or fewer" if size == least and values.min() < least else ""
            style = Style(colour, max(_WIDEST * size / most, _THINNEST), 0.65)
            keys.append(Key("line", style, f"{size:,.6g} {layer.counted}{fewer}"))
        self.obstacles.add(self._owner(), *(shape.parts[0] for shape in shapes if shape.form == "line"))
        # Arcs touch neither their origin nor their destination, so that arrowheads do not cover each other.
        places, style = np.unique(pairs.reshape(-1, 2), axis=0), Style("public", 4.0)
        shapes.append(Shape("dots", (places,), style))
        return shapes, [*keys, Key("dots", style, "where arrows begin and end: centres of cells or regions")]

    def _area(self, layer: Layer, flat: Floats, known: NDArray[np.bool_]) -> tuple[list[Shape], list[Key]]:
        parts = np.zeros(len(flat), dtype=np.int64) if layer.parts is None else layer.parts
        rings = tuple(split(flat[known], parts[known]))
        self.obstacles.add(self._owner(), *rings[:_AREAS], joined=True)
        name = layer.name
        if len(rings) > _AREAS:
            some = rings[:: -(-len(rings) // _AREAS)]
            name, rings = f"{name}: {counted(len(some))} of {counted(len(rings))} drawn", some
        colour = self._colour(layer)
        style = Style(colour, 2.0 if len(rings) <= FEW else 1.0, 1.0, 0.12)
        shapes, keys = [Shape("fill", rings, style)], [Key("fill", style, name)]
        if layer.radius is None:
            return shapes, keys
        radius = np.broadcast_to(np.asarray(layer.radius, dtype=float), len(flat))
        said = f"with probability 95% the true edge is in this band: within {lengths(radius[known])}"
        band = Style(colour, 1.25, 0.9, 0.1, dash=(5.0, 4.0))
        if len(rings) <= FEW:
            edges = self._bands(rings, radius[known], parts[known])
            shapes.append(Shape("fill", edges, band))
            keys.append(Key("fill", band, said))
        else:
            keys.append(Key("line", style, f"with probability 95% each edge is within {lengths(radius[known])}"))
        return shapes, keys

    def _bands(self, rings: Sequence[Floats], radius: Floats, parts: NDArray[np.int64]) -> tuple[Floats, ...]:
        """Return the outer and inner rings between which the true outline of each area lies, by its largest radius."""
        import shapely

        reaches = [float(part.max()) for part in split(radius[:, None], parts)]
        # Rounded or cut corners would not contain the true corner of a box.
        shape = {"join_style": "mitre", "mitre_limit": 5.0}
        bands = []
        for ring, reach in zip(rings, reaches, strict=True):
            body = shapely.make_valid(shapely.Polygon(ring)) if len(ring) > 2 else shapely.MultiPoint(ring).convex_hull
            # Simplifying drops vertices on straight edges; its tolerance is far below what can be seen.
            body = shapely.simplify(body, self.view.side * 1e-5)
            bands += [body.buffer(reach, **shape), body.buffer(-reach, **shape)]
        return tuple(rings_of(bands))


def _heading(layer: Layer, whose: Sequence[Owned]) -> list[Key]:
    """Return the heading of the legend of a layer, if its entries are persons."""
    return [Key("fill", Style("text"), f"{layer.name}:")] if len(whose) > 1 else []
