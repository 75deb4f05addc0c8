"""The kinds of answers: the form of each as a value, as a frame, on a map, and its error on the ground.

A query names the kind of its answer, and `kind_of` returns it. No other module asks which kind it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, Union

import numpy as np

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.geo.areas import Area
from geoveil.geo.forms import ArrayForm, Floats, Form
from geoveil.geo.planes import Plane
from geoveil.queries import Answers, Nearest, Query
from geoveil.queries.answer import Value
from geoveil.release.as_layers import degrees
from geoveil.report import Layer

if TYPE_CHECKING:
    import geopandas
    import pandas as pd
    import shapely

    from geoveil.release.answered import Answered, PerPerson

__all__ = ["KINDS", "Frame", "Kind", "LengthKind", "kind_of"]

Frame: TypeAlias = Union["geopandas.GeoDataFrame", "pd.DataFrame"]

#: The largest number of locations with labels; more labels could not be read.
_LABELLED = 30
_MARKS = {"color": "#0f766e"}
_AREAS = {"facecolor": (0.06, 0.46, 0.43, 0.13), "edgecolor": "#0f766e"}
_SHADES = {"cmap": "viridis", "legend": True}


@dataclass(frozen=True)
class Kind:
    """A kind of answer. Subclasses know the form of its values.

    Parameters
    ----------
    name : str
        Its name in queries and certificates.
    style : mapping
        The arguments with which GeoPandas draws it, unless the caller states others; empty if it has no location.
    of_points : bool
        Whether there is a released point for each point of the input.
    of_rows : bool
        Whether values are positions of rows of the input.
    movable : bool
        Whether released coordinates can be replaced by others, as clamping does.
    known_error : bool
        Whether the error bound is known before the answer is.
    raster : bool
        Whether it can be written as a GeoTIFF.
    items : str
        What the question is about: "point" or "trip".
    title : str
        The heading of a report; by default the name of the question.
    error_column : str
        The column of a frame that states the error.
    """

    name: str
    style: Mapping[str, object] = field(default_factory=dict)
    of_points: bool = False
    of_rows: bool = False
    movable: bool = False
    known_error: bool = False
    raster: bool = False
    items: str = "point"
    title: str = ""
    error_column: str = "radius_95"

    def placed(self, query: Query) -> bool:
        """Return whether the answer to a query has locations."""
        return bool(self.style)

    def value(self, form: Form, value: Value) -> Value:
        """Return a value about one person in the form of the input."""
        return value

    def values(self, form: Form, answers: Answers, index: pd.Index) -> Frame:
        """Return the values about many persons as a frame with a row for each, or for each person and rank."""
        raise NotImplementedError

    def moved(self, release: Answered, coords: Floats, form: Form | None) -> Value:
        """Return the value with other coordinates in metres, for kinds that can be moved; `form` if it is at hand."""
        raise InvalidData("release", repr(release), "of points or of one place", "Use Locations.points.")

    def rows(self, release: Answered) -> Frame:
        """Return the released points or answers as rows of a frame, in the coordinate system of the release."""
        return self._row(release) if release.person is None else release.value.reset_index()

    def _row(self, release: Answered) -> Frame:
        """Return an answer that is not about each of several persons as rows of a frame."""
        raise NotImplementedError

    def layers(self, release: Answered, plane: Plane, name: str) -> tuple[Layer, ...]:
        """Return the layers of a map that show the value."""
        return ()

    def ground_error(self, query: Query, error: float, area: Area, *, planned: bool = False) -> float:
        """Convert an error bound from metres of the plane to metres on the ground.

        The plane draws a ground length g as one of shrink·g to stretch·g. queries/ERRORS.md derives the
        bounds.

        Parameters
        ----------
        query : Query
            The question.
        error : float
            The bound in metres of the plane.
        area : Area
            The area of the data.
        planned : bool
            Whether the public location in the question is not known yet: then it can be anywhere in the area.
        """
        return area.ground(error)

    def errors(self, release: Answered, beta: float, *, each: bool) -> PerPerson:
        """Return the error bound of a release on the ground, or that of each person."""
        same = release.answers[0].same_error
        return release._each_person(lambda answer: release._bound(answer, beta, each=each), by_query=same)


class PointsKind(Kind):
    """A released point for each point of the input."""

    def moved(self, release: Answered, coords: Floats, form: Form | None) -> Value:
        return (release.form if form is None else form).replaced(coords)

    def rows(self, release: Answered) -> Frame:
        import geopandas
        import shapely

        value = release.value
        own = ("radius_95", release.guarantee.symbol)
        if isinstance(value, geopandas.GeoDataFrame):
            return value.drop(columns=[name for name in value if name in own])
        if isinstance(value, geopandas.GeoSeries):
            return _with_persons(release, geopandas.GeoDataFrame(geometry=value))
        places = _released_places(release)
        if not release.pairs:
            return _with_persons(release, geopandas.GeoDataFrame(geometry=places))
        form, each = release.form, len(release.pairs)
        columns = {name: form.column(name)[::each] for name in form.names if name not in own}
        if each > 1:
            # A line from the origin of each row to its destination, as in files.
            lines = shapely.linestrings(shapely.get_coordinates(places).reshape(-1, each, 2))
            places = geopandas.GeoSeries(lines, crs=places.crs)
        return geopandas.GeoDataFrame(columns, geometry=places)

    def layers(self, release: Answered, plane: Plane, name: str) -> tuple[Layer, ...]:
        import shapely

        places = degrees(plane, release.placed_coords)
        radii = _radii(release, each=True)
        try:
            whose = release._person_index()
        except InvalidParameter:
            whose = None
        radius: float | Floats | None = None
        if radii is not None:
            # If labels were given apart from the data, the person of a row is not known; the largest radius holds for
            # all.
            radius = float(radii.max()) if whose is None or release.person is None else radii[whose]
        expected = None if release.processing.expected is None else release.expected_error()
        names = () if release.person is None else tuple(map(str, release.person))
        geometries = np.asarray(release.value.geometry if hasattr(release.value, "geom_type") else ())
        persons, parts, each = whose if names else None, None, len(release.pairs)
        if each > 1:
            # A line from the origin of each row to its destination.
            persons, parts = None, np.repeat(np.arange(len(places) // each), each)
        elif len(geometries) and (shapely.get_type_id(geometries) == shapely.GeometryType.LINESTRING).all():
            parts = shapely.get_coordinates(geometries, return_index=True)[1]
            persons = parts if len(names) == len(geometries) else None  # a line for each person
        elif whose is not None and release.is_track:
            parts = whose
            name = name.replace("released points", "released tracks" if len(names) > 1 else "released track")
        names = () if persons is None else names
        how: Literal["lines", "points"] = "points" if parts is None else "lines"
        return (Layer(name, places, how, "released", parts, radius, persons=persons, names=names, expected=expected),)


class PlaceKind(Kind):
    """A location, such as a mean."""

    def moved(self, release: Answered, coords: Floats, form: Form | None) -> Value:
        if isinstance(release.value, np.ndarray):
            return coords[0]
        return type(release.value)(coords[0] if release.plane is None else release.plane.out(coords)[0])

    def value(self, form: Form, value: Value) -> Value:
        return form.place(value)

    def values(self, form: Form, answers: Answers, index: pd.Index) -> Frame:
        import geopandas
        import pandas as pd
        import shapely

        places = form.out(answers.values)
        if isinstance(form, ArrayForm):
            return pd.DataFrame(places, index=index, columns=_axes(answers.persons.first))
        return geopandas.GeoDataFrame(geometry=shapely.points(places), index=index, crs=form.crs)

    def _row(self, release: Answered) -> Frame:
        import geopandas

        return geopandas.GeoDataFrame(geometry=_released_places(release))

    def rows(self, release: Answered) -> Frame:
        import geopandas

        frame = super().rows(release)
        name = None if release.person is None else release.person.name
        if hasattr(frame, "geometry") or {"x", "y"} != {*frame} - {name}:
            return frame
        places = geopandas.points_from_xy(frame["x"], frame["y"])
        return geopandas.GeoDataFrame(frame[[name]], geometry=places, crs=release.crs)

    def layers(self, release: Answered, plane: Plane, name: str) -> tuple[Layer, ...]:
        places = degrees(plane, release.placed_coords)
        labels = (release.query,) if release.person is None else tuple(map(str, release.person))
        return (_labelled(name, places, labels, _radii(release)),)


class BoxKind(Kind):
    """A box: its lower and its upper corner."""

    def value(self, form: Form, value: Value) -> Value:
        return form.box(value)

    def values(self, form: Form, answers: Answers, index: pd.Index) -> Frame:
        import pandas as pd

        columns = [f"{end}{axis}" for end in ("min", "max") for axis in _axes(answers.persons.first)]
        return pd.DataFrame(form.boxes(answers.values), index=index, columns=columns)

    def rows(self, release: Answered) -> Frame:
        import geopandas
        import shapely

        _check_planar(release)
        boxes = shapely.box(*np.asarray(release.value, dtype=float).reshape(-1, 4).T)
        persons = None if release.person is None else super().rows(release)[[release.person.name]]
        return geopandas.GeoDataFrame(persons, geometry=boxes, crs=release.crs)

    def layers(self, release: Answered, plane: Plane, name: str) -> tuple[Layer, ...]:
        import shapely

        boxes = shapely.box(*release.placed_coords.reshape(-1, 4).T)
        return (_outlines(release, plane, name, boxes),)


class BodyKind(Kind):
    """A convex body, such as a hull."""

    def value(self, form: Form, value: Value) -> Value:
        return form.body(value)

    def values(self, form: Form, answers: Answers, index: pd.Index) -> Frame:
        import geopandas
        import pandas as pd

        bodies = form.bodies(answers.values)
        if hasattr(bodies[0], "geom_type"):
            return geopandas.GeoDataFrame(geometry=bodies, index=index, crs=form.crs)
        return pd.DataFrame({answers.persons.first.name: pd.Series(bodies, index=index, dtype=object)})

    def _row(self, release: Answered) -> Frame:
        import geopandas

        _check_planar(release)
        return geopandas.GeoDataFrame(geometry=[release.value], crs=release.crs)

    def layers(self, release: Answered, plane: Plane, name: str) -> tuple[Layer, ...]:
        import shapely

        bodies = [shapely.MultiPoint(answer.value).convex_hull for answer in release.answers]
        return (_outlines(release, plane, name, bodies),)


class NumberKind(Kind):
    """A number, or several numbers."""

    def values(self, form: Form, answers: Answers, index: pd.Index) -> Frame:
        import pandas as pd

        values = answers.values
        return pd.DataFrame(values, index=index, columns=_number_names(answers.persons.first, values.shape[1]))

    def _row(self, release: Answered) -> Frame:
        import pandas as pd

        numbers = np.ravel(release.value)
        return pd.DataFrame([numbers], columns=_number_names(release.answers[0].query, len(numbers)))


class LengthKind(NumberKind):
    """A length, whose error on the ground depends on the length that was released."""

    def ground_error(self, query: Query, error: float, area: Area, *, planned: bool = False) -> float:
        """Return the error of the noise alone; `length_errors` has that of a released length."""
        return error / area.shrink

    def errors(self, release: Answered, beta: float, *, each: bool) -> PerPerson:
        bounds = release._each_person(lambda a: a.error(beta, each=each) + a.query.rounding_error, by_query=True)
        if release.plane is None:
            return bounds
        length = np.asarray(release.value, dtype=float).reshape(np.shape(bounds))
        errors = self.length_errors(release.answers[0].query, np.asarray(bounds), release.plane.area, length)
        return float(errors) if release.person is None else bounds * 0 + errors

    def length_errors(self, query: Query, error: Floats, area: Area, length: Floats) -> Floats:
        """Return the error bounds of released lengths on the ground, given those in metres of the plane."""
        reach = min(_farthest_public_point(query, area), area.radius + float(np.max(length + error)))
        least, most = area.lengths(np.maximum(length - error, 0.0), length + error, reach=reach)
        return np.asarray(np.maximum(most - length, length - least), dtype=float)


class VisitKind(Kind):
    """A row of the input, or none: the first that is near a place."""

    def placed(self, query: Query) -> bool:
        return False

    def value(self, form: Form, value: Value) -> Value:
        return _plain(form.labels(np.array([value]))[0])

    def values(self, form: Form, answers: Answers, index: pd.Index) -> Frame:
        import pandas as pd

        positions = answers.values
        named = np.full(len(positions), None, dtype=object)
        there = np.flatnonzero(positions >= 0)
        labels = form.labels(positions[there])
        for i, label in zip(there.tolist(), map(labels.__getitem__, range(len(there))), strict=True):
            named[i] = _plain(label)
        return pd.DataFrame({answers.persons.first.name: pd.Series(named, index=index, dtype=object)})

    def rows(self, release: Answered) -> Frame:
        """Return rows by their labels, with their locations if these were released."""
        import geopandas

        frame = super().rows(release)
        if release.coords is None:
            return frame
        return geopandas.GeoDataFrame(frame, geometry=_released_places(release))

    def _row(self, release: Answered) -> Frame:
        import pandas as pd

        return pd.DataFrame({release.query: np.atleast_1d(np.array(release.value, dtype=object))})

    def ground_error(self, query: Query, error: float, area: Area, *, planned: bool = False) -> float:
        radius, away = query.threshold, 0.0 if planned else _farthest_public_point(query, area)
        least, most = area.lengths(max(radius - error, 0.0), radius + error, reach=away)
        return float(max(most - radius, radius - least))


class NeighboursKind(VisitKind):
    """Rows of the input in order: those nearest to a place."""

    def placed(self, query: Query) -> bool:
        return getattr(query, "locations", None) is not None

    def value(self, form: Form, value: Value) -> Value:
        return form.labels(value)

    def values(self, form: Form, answers: Answers, index: pd.Index) -> Frame:
        import pandas as pd

        values = answers.values
        k = len(values[0])
        ranks = np.tile(np.arange(1, k + 1), len(values))
        ranked = pd.MultiIndex.from_arrays([index.repeat(k), ranks], names=[index.name, "rank"])
        return pd.DataFrame({answers.persons.first.name: np.asarray(form.labels(np.ravel(values)))}, index=ranked)

    def _row(self, release: Answered) -> Frame:
        frame = super()._row(release)
        frame.insert(0, "rank", np.arange(1, len(frame) + 1))
        return frame

    def layers(self, release: Answered, plane: Plane, name: str) -> tuple[Layer, ...]:
        """Return the locations of neighbours, if these were released too."""
        query = release.answers[0].query
        if release.coords is None:
            return ()
        assert isinstance(query, Nearest)
        places = degrees(plane, release.coords)
        ranks = np.resize(np.arange(1, query.k + 1), len(places))
        return (_labelled(name, places, [*map(str, ranks)], release.place_error(0.05)),)

    def ground_error(self, query: Query, error: float, area: Area, *, planned: bool = False) -> float:
        away = 0.0 if planned else _farthest_public_point(query, area)
        farthest = area.lengths(0.0, area.farthest(None if planned else query.public_points[0]), reach=away)[1]
        return float(area.lengths(0.0, area.stretch * farthest + error, reach=away)[1] - farthest)


#: The kinds of answers, by the names that queries have for them.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        PointsKind("points", {**_MARKS, "markersize": 6, "alpha": 0.7}, of_points=True, movable=True),
        PlaceKind("place", _MARKS, movable=True, known_error=True),
        BoxKind("box", _AREAS, known_error=True),
        BodyKind("body", _AREAS),
        NumberKind("value"),
        LengthKind("length"),
        VisitKind("position", of_rows=True),
        # How much farther neighbours are than the true ones; their places have another error.
        NeighboursKind("positions", _MARKS, of_rows=True, error_column="excess_95"),
        Kind("cells", _SHADES, raster=True, title="Heat map"),
        Kind("regions", _SHADES),
        Kind("flows", _SHADES, items="trip"),
    )
}


def kind_of(query: Query) -> Kind:
    """Return the kind of the answer to a query."""
    return KINDS[query.kind]


def _with_persons(release: Answered, frame: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return points with the person of each, if every person has one point; otherwise it may not be known."""
    if release.person is not None and len(release.person) == release.n:
        frame.insert(0, release.person.name, release.person[release._person_index()])
    return frame


def _released_places(release: Answered) -> geopandas.GeoSeries:
    """Return the released coordinates as points in the system of the release."""
    import geopandas

    _check_planar(release)
    coords = release.placed_coords
    places = coords if release.plane is None else release.plane.out(coords)
    return geopandas.GeoSeries.from_xy(*places.T, crs=release.crs)


def _check_planar(release: Answered) -> None:
    """Refuse points that are not two-dimensional, which a frame of geometries cannot hold."""
    dimension = release.answers[0].query.dimension
    if dimension != 2:
        raise InvalidData("release", f"{dimension} dimensions", "in the plane", "Use release.value, an array.")


def _radii(release: Answered, *, each: bool = False) -> Floats | None:
    """Return the 95% error radius of each person; None where no theorem bounds the error."""
    if not release.processing.bounded:
        return None
    return np.atleast_1d(np.asarray(release.error(0.05, each=each), dtype=float))


def _outlines(release: Answered, plane: Plane, name: str, bodies: Sequence[shapely.Geometry]) -> Layer:
    """Return a layer of areas, with vertices between their corners, since other projections bend their edges."""
    import shapely

    west, south, east, north = shapely.bounds(bodies).T
    fine = shapely.segmentize(bodies, np.maximum(np.maximum(east - west, north - south) / 16, 1.0))
    corners, whose = shapely.get_coordinates(fine, return_index=True)
    radii = _radii(release)
    radius = None if radii is None else radii[whose]
    return Layer(name, degrees(plane, corners), "area", "released", parts=whose, radius=radius)


def _labelled(name: str, places: Floats, labels: Sequence[str], radius: float | Floats | None) -> Layer:
    """Return released locations as marks with labels, or as points if there are too many."""
    if len(places) > _LABELLED:
        return Layer(name, places, "points", "released", radius=radius)
    return Layer(name, places, "marks", "released", radius=radius, texts=tuple(labels))


def _farthest_public_point(query: Query, area: Area) -> float:
    """Return the largest distance from the area's middle to a public point in the question; 0 if there is none."""
    return float(np.hypot(*(query.public_points - area.middle).T).max(initial=0.0))


def _plain(label: Hashable) -> Hashable:
    """Return a label as a Python object, if it is a whole number."""
    return label.item() if isinstance(label, np.integer) else label


def _axes(query: Query) -> list[str]:
    d = query.dimension
    return ["x", "y", "z"][:d] if d <= 3 else [f"x{i}" for i in range(d)]


def _number_names(query: Query, count: int) -> list[str]:
    return [query.name] if count == 1 else [f"value{i}" for i in range(count)]
