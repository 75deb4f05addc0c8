"""Shape: turn an answer in metres into the form of the input, as its kind does."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

import numpy as np

from geoveil.answering.intake import People
from geoveil.facts import Reason, Unchanged
from geoveil.geo import Form
from geoveil.geo.disclosure import sampled, unchanged_columns
from geoveil.geo.forms import Floats
from geoveil.queries import Answer, Answers
from geoveil.queries.answer import Value
from geoveil.release.kinds import kind_of

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

    value: Value
    coords: Floats | None
    removed: tuple[Hashable, ...] = ()
    unchanged: tuple[Unchanged, ...] = ()
    scales: Floats | None = None


def shape_answer(form: Form, answer: Answer, columns: SplitColumns) -> Shaped:
    """Return the answer about one person in the form of the input."""
    kind = kind_of(answer.query)
    if kind.of_points:
        units = answer.query.units
        return _points(form, answer.value, columns, answer.query.point_scales(None if units is None else units.each))
    return Shaped(None if answer.value is None else kind.value(form, answer.value), answer.coords)


def shape_answers(form: Form, answers: Answers, people: People, columns: SplitColumns) -> Shaped:
    """Return the answers about many persons: their points in the order of the input, or a frame."""
    kind = kind_of(answers.persons.first)
    if kind.of_points:
        some = len(people.rows) < len(form.coords)
        kept = form.chosen(np.sort(people.rows)) if some else form
        scales = answers.persons.first.point_scales(answers.persons.units)
        scales = None if scales is None else _in_input_order(scales, people)
        return _points(kept, _in_input_order(answers.values, people), columns, scales)
    return Shaped(kind.values(form, answers, people.released), answers.coords, unchanged=_labels(form, people))


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


def _in_input_order(values: Floats, people: People) -> Floats:
    """Return rows, which come grouped by person, in the order of the input's points."""
    coords = np.empty_like(values)
    whole = people.rows.max() == len(values) - 1
    coords[people.rows if whole else np.argsort(np.argsort(people.rows))] = values
    return coords
