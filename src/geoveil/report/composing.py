"""Decide what a map shows: the one place where layers become shapes, legends and labels for every face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.report.arcs import arcs_of
from geoveil.report.backdrop import backdrop
from geoveil.report.classes import classes_of, hexagons
from geoveil.report.formatting import between, lengths, round_below
from geoveil.report.labelling import choose_sides, without_overlaps
from geoveil.report.layers import Floats, Layer
from geoveil.report.map_projection import Box, Projection, view_of
from geoveil.report.outlines import rings_of, split
from geoveil.report.palette import PERSONS, person, shade
from geoveil.report.scene import Group, Key, Label, Scene, Shape, Style
from geoveil.words import counted, metres

__all__ = ["compose"]

#: The largest number of points that are drawn one by one; more are counted in hexagons.
DOTS = 2_000
#: Up to `FEW` points have their circles shown, and up to `SOME` on demand; of more, one circle represents all.
FEW, SOME = 20, 1_000
#: The largest number of marks with labels; more are drawn as points.
LABELS = 60
#: Tracks of more persons than have colours are lines up to this number of points, and counted in hexagons beyond.
_UNCOLOURED = 600
#: The largest number of points of smoothed tracks, and of lines without noise, that are drawn.
_VERTICES = 200_000
#: The largest number of areas that are drawn.
_AREAS = 100
#: The number of names of places in the view that may stand on any side.
_NAMES = 30
#: The number of hexagons across the view, and the largest number of them.
_ACROSS, _HEXAGONS = 36, 6_000
#: The smallest value of a heat map or region that is drawn, over the largest.
_FAINTEST = 0.01
#: The opacity of shades, and the width in pixels of tracks and of the widest arc.
_SHADE, _TRACK, _WIDEST = 0.85, 2.5, 10.0
_DASHES = (6.0, 3.0)


def compose(
    layers: Sequence[Layer],
    *,
    pixels: float = 900.0,
    beyond: bool = True,
    basemap: str | None = None,
    tiles: str | None = None,
) -> Scene | None:
    """Return the scene of some layers; None if no point of them can be drawn.

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
    tiles : str, optional
        The address of map tiles, with {z}, {x} and {y}; they are fetched now and become part of the scene.

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
    ground = backdrop(projection, view, pixels=pixels, beyond=beyond, basemap=basemap, tiles=tiles)
    plan = _Plan(projection, view, pixels)
    drawn = [plan.group(layer) for layer in layers]
    # Shades lie below coasts, borders and roads, so that these are seen; everything else above.
    shaded = [any(shape.style.colour.startswith("shade") for shape in group.shapes) for group in drawn]
    order = sorted(range(len(drawn)), key=lambda i: not shaded[i])
    groups = [drawn[i] for i in order]
    cut = sum(shaded)
    together = (*ground.below, *groups[:cut], *ground.above, *groups[cut:])
    at = {id(group): i for i, group in enumerate(together)}
    own = [replace(label, group=at[id(drawn[label.group])]) for label in plan.labels]
    labels = without_overlaps(_placed(own, ground.labels, view, plan))
    said = ["The map is true to scale at its middle."] if max(view.width, view.height) > 3e6 else []
    remarks = (ground.where, *ground.remarks, *plan.remarks, *said)
    return Scene(
        projection, view, together, labels, ground.graticules, ground.locator, ground.tiles, ground.where,
        ground.source, remarks,
    )  # fmt: skip


def _placed(own: Sequence[Label], names: Sequence[Label], view: Box, plan: _Plan) -> list[Label]:
    """Return labels on sides where they do not cover each other: the first place of the view, then those of layers."""
    x, y = view.middle
    seen = [abs(name.x - x) < view.width / 2 and abs(name.y - y) < view.height / 2 for name in names]
    near = [name for name, inside in zip(names, seen, strict=True) if inside][:_NAMES]
    ordered = [*near[:1], *own, *near[1:]]
    placed = choose_sides(ordered, plan.pixel, plan.symbols(), view)
    known = set(map(id, near))
    return [*placed, *(name for name in names if id(name) not in known)]


#: The colour, the name and the rows of a person, or of all persons of a layer together.
Owned: TypeAlias = tuple[str, str, NDArray[np.bool_]]


@dataclass
class _Plan:
    """The shapes, legends and labels of layers, one after the other."""

    projection: Projection
    view: Box
    pixels: float
    labels: list[Label] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    marked: list[Floats] = field(default_factory=list)
    colours: int = 0
    groups: int = 0

    @property
    def pixel(self) -> float:
        """Metres in a pixel."""
        return max(self.view.width, self.view.height) / self.pixels

    def symbols(self) -> Floats:
        """Return the places of marks, which no label should cover."""
        return np.concatenate(self.marked) if self.marked else np.empty((0, 2))

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
        """Return the colour of a layer without persons; released layers use those of persons in turn."""
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
        self.marked.append(flat[rows])
        # Labels of public locations are on the left, so that they do not cover those of released ones nearby.
        side = "west" if public else "east"
        for i in rows:
            x, y = map(float, flat[i])
            self.labels.append(Label(x, y, layer.texts[i], "mark", side, group=self.groups))  # type: ignore[arg-type]
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
        bands, shapes, keys = [], [], _heading(layer, whose)
        for colour, name, rows in whose:
            number = int(colour.rpartition("-")[2]) if colour.startswith("person") else 0
            faint = many or (layer.persons is None and len(np.unique(parts)) > PERSONS)
            style = Style(
                colour,
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
                # Noise on every point makes a line of zigzags: the points are what was released.
                style = replace(style, width=1.25, opacity=0.55, halo=False)
                shapes += [Shape("line", drawn, style), Shape("dots", (flat[rows],), Style(colour, 5.0, 0.9))]
            elif drawn:
                shapes.append(Shape("line", drawn, style))
            if alone:
                shapes.append(Shape("dots", (np.concatenate(alone),), Style(colour, 5.0)))
            keys.append(Key("line", style, name))
            if len(whose) > 1 and drawn:
                # The name of a person also stands at the end of the track.
                x, y = map(float, drawn[-1][-1])
                self.labels.append(Label(x, y, name, "mark", "east", group=self.groups))
        circles, said = self._circles(layer, flat, whose)
        if layer.expected is not None:
            about = f"the true track is expected within about {metres(layer.expected)} of it (no guarantee)"
            said = [Key("line", replace(bands[0].style, metres=0, width=9.0), f"band: {about}"), *said]
        return [*bands, *circles, *shapes], [*keys, *said]

    def _by_person(self, layer: Layer, known: NDArray[np.bool_]) -> Iterator[Owned]:
        """Return the colour, the name and the rows of each person of a layer; of all together if there are many."""
        present = np.unique(layer.persons[known]) if layer.persons is not None else np.empty(0, dtype=np.int64)
        if layer.persons is None or len(present) > PERSONS or len(layer.names) == 1 or layer.role == "truth":
            # True tracks are recognised as such; whose they are is told by the released ones.
            many = f", {counted(len(present), 'person')}" if len(present) > PERSONS else ""
            yield self._colour(layer), f"{layer.name}{many}", known
            return
        for number, i in enumerate(present):
            yield person(number), layer.names[i], known & (layer.persons == i)
        self.colours = max(self.colours, len(present))

    def _circles(self, layer: Layer, flat: Floats, whose: Sequence[Owned]) -> tuple[list[Shape], list[Key]]:
        """Return the 95% circles of a layer: all of a few points; of more, that nearest to the middle of the view."""
        if layer.radius is None or not any(rows.any() for _, _, rows in whose):
            return [], []
        radius = np.broadcast_to(np.asarray(layer.radius, dtype=float), len(flat))
        every = np.column_stack([flat, radius])
        known = np.any([rows for _, _, rows in whose], axis=0)
        few = known.sum() <= FEW and layer.kind != "lines"
        found = []
        if not few:
            away = np.where(known, np.hypot(*(np.nan_to_num(flat) - self.view.middle).T), np.inf)
            shown = np.arange(len(flat)) == away.argmin()
        for colour, _, rows in whose:
            chosen = rows if few else rows & shown
            if chosen.any():
                found.append(Shape("circles", (every[chosen],), Style(colour, 1.5, 1.0, 0.1)))
            if not few and known.sum() <= SOME:
                found.append(Shape("circles", (every[rows],), Style(colour, 1.0, 0.3), on_demand=True))
        first = next(shape.style for shape in found if not shape.on_demand)
        style = replace(first, colour="text") if few and len(whose) > 1 else first
        said = f"95% of true locations lie within {'their' if few else 'such a'} circle: {lengths(radius[known])}"
        if known.sum() == 1:
            said = f"the true location lies within this circle with probability 95%: {lengths(radius[known])}"
        return found, [Key("circles", style, said)]

    def _density(self, layer: Layer, flat: Floats) -> tuple[list[Shape], list[Key]]:
        """Return points as hexagons, shaded by the number of points in each."""
        import shapely

        width = round_below(max(self.view.width, self.view.height) / _ACROSS * (self.pixels / 900) ** -0.5)
        around = np.array([self.view.width, self.view.height]) * 1.5
        near = (np.abs(flat - self.view.middle) <= around).all(axis=1)
        if not near.all():
            far = counted(int((~near).sum()))
            self.remarks.append(f"{layer.name}: {far} of {counted(len(flat), 'point')} are far outside and not drawn.")
        corners, counts = hexagons(flat[near], width)
        if len(counts) > _HEXAGONS:
            most = np.sort(np.argsort(counts)[-_HEXAGONS:])
            corners, counts = corners[most], counts[most]
        found = classes_of(shapely.polygons(corners), counts, least=1.0, overlapping=False)
        said = f"{layer.name}: points in hexagons {metres(width)} wide"
        shapes, keys = self._shaded(found, said)
        # A circle shows how far the noise reaches; the points themselves are not drawn.
        if layer.radius is not None:
            radius = np.broadcast_to(np.asarray(layer.radius, dtype=float), len(layer.places))
            style = Style("text", 1.5, 1.0)
            said = f"95% of true locations lie within such a circle: {lengths((radius.min(), radius.max()))}"
            shapes.append(Shape("circles", (np.array([[*self.view.middle, float(np.median(radius))]]),), style))
            keys.append(Key("circles", style, said))
        return shapes, keys

    def _shaded(self, classes: Iterator[tuple[int, float, float, object]], said: str) -> tuple[list[Shape], list[Key]]:
        shapes, keys = [], [Key("fill", Style("text"), said)]
        for number, low, high, cells in classes:
            style = Style(shade(number), fill=_SHADE)
            shapes.append(Shape("fill", tuple(rings_of(cells)), style))
            keys.append(Key("fill", style, between(low, high)))
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
        least = _FAINTEST * float(values.max(initial=0.0))
        found = classes_of(cells, values, least=least, overlapping=layer.overlapping) if least > 0 else iter(())
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
            width = max(_WIDEST * float(values[i]) / most, 0.6)
            curve, head = arcs_of(pairs[i, 0], pairs[i, 1])
            shapes.append(Shape("line", (curve,), Style(colour, width, 0.65)))
            shapes.append(Shape("arrows", (head[None],), Style(colour, max(2.2 * width, 7.0), 0.9)))
        places = np.unique(pairs.reshape(-1, 2), axis=0)
        shapes.append(Shape("dots", (places,), Style("public", 4.0)))
        top = round_below(most)
        sizes = [top, top / 2, top / 5] if top / 5 >= float(values.min()) else [top, top / 2]
        keys = [Key("fill", Style("text"), f"{layer.name}: widths are proportional to {layer.counted}")]
        keys += [
            Key("line", Style(colour, _WIDEST * size / most, 0.65), f"{size:,.6g} {layer.counted}") for size in sizes
        ]
        return shapes, keys

    def _area(self, layer: Layer, flat: Floats, known: NDArray[np.bool_]) -> tuple[list[Shape], list[Key]]:
        parts = np.zeros(len(flat), dtype=np.int64) if layer.parts is None else layer.parts
        rings = tuple(split(flat[known], parts[known]))
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
        """Return the rings between which the true outlines of areas lie, by the largest radius of each area."""
        import shapely

        reaches = [float(part.max()) for part in split(radius[:, None], parts)]
        # Rounded or cut corners would not contain the true corner of a box.
        shape = {"join_style": "mitre", "mitre_limit": 5.0}
        bands = []
        for ring, reach in zip(rings, reaches, strict=True):
            body = shapely.make_valid(shapely.Polygon(ring)) if len(ring) > 2 else shapely.MultiPoint(ring).convex_hull
            # The tolerance is far below what can be seen; vertices between corners stay on their lines.
            body = shapely.simplify(body, max(self.view.width, self.view.height) * 1e-5)
            bands += [body.buffer(reach, **shape), body.buffer(-reach, **shape)]
        return tuple(rings_of(bands))


def _heading(layer: Layer, whose: Sequence[Owned]) -> list[Key]:
    """Return the heading of the legend of a layer, if its entries are persons."""
    return [Key("fill", Style("text"), f"{layer.name}:")] if len(whose) > 1 else []
