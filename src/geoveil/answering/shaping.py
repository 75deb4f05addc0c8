"""Shape: turn an answer in metres into the form of the input. No other module switches on the kind of answer."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from geoveil.answering.intake import People
from geoveil.facts import Reason, Unchanged
from geoveil.geo import Form
from geoveil.geo.disclosure import sampled, unchanged_columns
from geoveil.geo.forms import ArrayForm, Floats
from geoveil.queries import Answer, Answers, Query

__all__ = ["Shaped", "SplitColumns", "shape_answer", "shape_answers"]

#: The columns of a frame that are released unchanged, each with its reason, and those that are removed.
SplitColumns: TypeAlias = tuple[dict[Hashable, Reason], tuple[Hashable, ...]]


class Shaped(NamedTuple):
    """An answer in the form of the input.

    Parameters
    ----------
    value : object
        The value of the release.
    coords : array, optional
        Released coordinates in metres of the plane.
    removed : tuple
        The columns of a frame of released points that were removed.
    unchanged : tuple of Unchanged
        The columns of a frame of released points that are as they were, or the labels of persons in an answer's frame.
    scales : array, optional
        The scale of the noise of each released point, if it differs between the points of a person.
    """

    value: Any
    coords: Floats | None
    removed: tuple[Hashable, ...] = ()
    unchanged: tuple[Unchanged, ...] = ()
    scales: Floats | None = None


def shape_answer(form: Form, answer: Answer, columns: SplitColumns) -> Shaped:
    """Return the answer about one person in the form of the input."""
    if answer.query.kind == "points":
        units = answer.query.units
        return _points(form, answer.value, columns, answer.query.point_scales(None if units is None else units.each))
    return Shaped(None if answer.value is None else _value(form, answer), answer.coords)


def shape_answers(form: Form, answers: Answers, people: People, columns: SplitColumns) -> Shaped:
    """Return the answers about many persons: their points in the order of the input, or a frame."""
    if answers.persons.first.kind == "points":
        some = len(people.rows) < len(form.coords)
        kept = form.chosen(np.sort(people.rows)) if some else form
        scales = answers.persons.first.point_scales(answers.persons.units)
        scales = None if scales is None else _in_input_order(scales, people)
        return _points(kept, _in_input_order(answers.values, people), columns, scales)
    return Shaped(_frame(form, answers, people), answers.coords, unchanged=_labels(form, people))


def _labels(form: Form, people: People) -> tuple[Unchanged, ...]:
    """Return the labels of persons, which are the index of a frame of answers, unless they are pseudonyms."""
    if people.pseudonyms is not None:
        return ()
    name = people.labels.name
    labels = people.labels[sampled(len(people.labels))]
    return unchanged_columns({name: labels}, {name: "person"}, np.empty((0, 2)), form.plane)


def _points(form: Form, coords: Floats, columns: SplitColumns, scales: Floats | None) -> Shaped:
    """Return released points, with the columns of a table that are released unchanged."""
    kept, removed = columns
    return Shaped(form.points(coords, kept), coords, removed, form.unchanged(kept, coords), scales)


def _value(form: Form, answer: Answer) -> Any:
    """Return the value about one person."""
    value = answer.value
    match answer.query.kind:
        case "place":
            return form.place(value)
        case "box":
            return form.box(value)
        case "body":
            return form.body(value)
        case "positions":
            return form.labels(value)
        case "position":
            return _plain(form.labels(np.array([value]))[0])
        case _:
            return value


def _frame(form: Form, answers: Answers, people: People) -> Any:
    """Return a frame with a row for each person, and for neighbours with a row for each person and rank."""
    import geopandas
    import pandas as pd

    query, values, index = answers.persons.first, answers.values, people.released
    match query.kind:
        case "positions":
            k = len(values[0])
            ranks = np.tile(np.arange(1, k + 1), len(values))
            ranked = pd.MultiIndex.from_arrays([index.repeat(k), ranks], names=[index.name, "rank"])
            return pd.DataFrame({query.name: np.asarray(form.labels(np.ravel(values)))}, index=ranked)
        case "position":
            return pd.DataFrame({query.name: pd.Series(_names(form, values), index=index, dtype=object)})
        case "place" if not isinstance(form, ArrayForm):
            import shapely

            return geopandas.GeoDataFrame(geometry=shapely.points(form.out(values)), index=index, crs=form.crs)
        case "place":
            return pd.DataFrame(form.out(values), index=index, columns=_axes(query))
        case "box":
            columns = [f"min{axis}" for axis in _axes(query)] + [f"max{axis}" for axis in _axes(query)]
            return pd.DataFrame(form.boxes(values), index=index, columns=columns)
        case "length" | "value" if values.shape[1] == 1:
            return pd.DataFrame({query.name: values[:, 0]}, index=index)
        case "length" | "value":
            return pd.DataFrame(values, index=index, columns=[f"value{i}" for i in range(values.shape[1])])
        case _:
            bodies = form.bodies(values)
            if hasattr(bodies[0], "geom_type"):
                return geopandas.GeoDataFrame(geometry=bodies, index=index, crs=form.crs)
            return pd.DataFrame({query.name: pd.Series(bodies, index=index, dtype=object)})


def _in_input_order(values: Floats, people: People) -> Floats:
    """Return rows, which come grouped by person, in the order of the input's points."""
    coords = np.empty_like(values)
    whole = people.rows.max() == len(values) - 1
    coords[people.rows if whole else np.argsort(np.argsort(people.rows))] = values
    return coords


def _names(form: Form, positions: Any) -> Any:
    """Return the label of each position as an object; None for negative positions."""
    named = np.full(len(positions), None, dtype=object)
    there = np.flatnonzero(positions >= 0)
    labels = form.labels(positions[there])
    for i, label in zip(there.tolist(), map(labels.__getitem__, range(len(there))), strict=True):
        named[i] = _plain(label)
    return named


def _plain(label: Any) -> Any:
    """Return a label as a Python object, if it is a whole number."""
    return label.item() if isinstance(label, np.integer) else label


def _axes(query: Query) -> list[str]:
    d = query.dimension
    return ["x", "y", "z"][:d] if d <= 3 else [f"x{i}" for i in range(d)]
